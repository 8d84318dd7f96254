"""From questions to a folder that `ragsieve.models.pruner` reads: train, calibrate, check.

WORK/train.jsonl, calibration.jsonl, checking.jsonl    the questions
WORK/plan.json                                         what the run is of
WORK/base                                              the checkpoint that it goes on from
WORK/run                                               its own checkpoints, and the log
WORK/checkpoint, WORK/pruner                           what was learned, and its folder
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ragsieve.files import replace_lines
from ragsieve.models.pruner import BUNDLED, CONFIG, FILES, NET, SETTINGS, TOKENIZER, Pruner
from ragsieve.models.windows import Layout, Window, WindowTokenizer
from ragsieve_research.models import store
from ragsieve_research.train.artifacts import check_free, model_dir
from ragsieve_research.train.evidence import RULE, SALT, Record, Share, records, share_of
from ragsieve_research.train.plans import PrunerPlan
from ragsieve_research.train.promises import (
    check_shares,
    figures,
    fill_shares,
    promise,
    recalibrated,
)
from ragsieve_research.train.pruner_samples import labelled
from ragsieve_research.train.run import Run, check_same_run

if TYPE_CHECKING:
    from ragsieve_research.train.pruner import OnStep

FEW = 200  # questions under which a warning is given
HELD_OUT = 500  # questions to calibrate on at most, and to check on
USUAL = 0.95  # the promise that is checked, where it can be made
_TYPICAL = 48  # windows on which ranges of activations are measured
_PREFIX = "pruner:"
_USE = """\
A sentence pruner for ragsieve: an encoder reads question and passage once, and gives each sentence
the probability that it is evidence, and the passage the probability that it answers.

    ragsieve filter --pruner pruner:FOLDER -q "…" notes.txt

`model.onnx` gives two logits a token: a sentence's is the mean of the first ones of its tokens, the
passage's is the second one of the first token."""


def make_pruner(
    folder: Path, plan: PrunerPlan, run: Run, *, on_step: OnStep | None = None
) -> dict[str, Any]:
    """Train a sentence pruner on questions, and write it to ``folder``.

    Three quarters of the questions are learned from; a salted hash keeps back an eighth to
    calibrate the thresholds and an eighth to check. Of a named data set these two halve its part
    validation (`ragsieve_research.train.evidence.share_of`). A run that was killed goes on.

    Args:
        folder: New, or one of an earlier training.
        plan: How.
        run: Questions with documents, and evidence or answers; see
            `ragsieve_research.train.evidence`.
        on_step: See `ragsieve_research.train.pruner.train_pruner`.

    Returns:
        What ``recipe.json`` says: among others figures ``before`` (of a pruner as base) and
        ``after``, both on the questions to check, at the promise ``keep_answer``.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, an option
            breaks its rule, or there are too few questions to calibrate on.
        ModelError: If the base cannot be loaded.
    """
    check_free(folder, "pruner")
    base, work = _base(plan.base), run.work  # a missing one is named before data are read
    layout = base.settings.layout if base else _layout(plan.base)
    parts = _divided(plan, run)
    from ragsieve_research.train.export import export  # the library of training takes ten seconds
    from ragsieve_research.train.pruner import train_pruner
    from ragsieve_research.train.restore import restore

    if (count := sum(map(len, parts.values()))) < FEW:
        run.warn(f"{count} questions are few: with under {FEW}, the pruner may end no better")
    if base and not (work / "base" / SETTINGS).is_file():
        restore(base.folder, work / "base")
    questions = parts["train"]
    train_pruner(
        work / "checkpoint",
        questions,
        work=work / "run",
        encoder=str(work / "base") if base else plan.base,
        batch=plan.batch,
        learning_rate=plan.learning_rate,
        steps=-(-plan.epochs * len(questions) // plan.batch),
        seed=plan.seed,
        layout=layout,
        on_progress=on_step,
    )
    windows = _typical(questions, work / "checkpoint" / TOKENIZER, layout)
    exported = (work / "pruner").resolve()
    shutil.rmtree(exported, ignore_errors=True)
    export(work / "checkpoint", exported, layout=layout, windows=windows)
    promised = promise(exported, recalibrated(exported, {"own": parts["calibration"]})["own"])
    recipe = _judged(exported, parts["checking"], base, promised, plan)
    described = _described(recipe, plan.base)
    with model_dir(folder, recipe, plan, run.sources, **described) as fresh:
        for name in FILES:
            shutil.copyfile(exported / name, fresh / name)
    return recipe


def _divided(plan: PrunerPlan, run: Run) -> dict[Share, list[Record]]:
    """The questions of each part; the folder is noted to be of them, or checked."""
    parts: dict[Share, list[Record]] = {share: [] for share in get_args(Share)}
    own = set[str]()
    for source in run.sources:
        for record in records([source], "all"):
            if share := share_of(record["question"], named=source.entry is not None):
                parts[share].append(record)
                own |= set() if source.entry else {record["id"]}
    fresh = plan.base in (*BUNDLED, "minilm")  # which have seen no question of one's own
    if fresh and (moved := fill_shares(parts, own)):
        run.warn(f"{moved} questions are held back beside an eighth each: fewer would be too few")
    most = {"train": plan.limit, "calibration": HELD_OUT, "checking": HELD_OUT}
    for share, some in parts.items():
        random.Random(plan.seed).shuffle(some)
        parts[share] = some[: most[share]]
    check_shares(parts)
    texts = {s: "".join(json.dumps(one) + "\n" for one in some) for s, some in parts.items()}
    digest = hashlib.sha256("\n".join(texts.values()).encode()).hexdigest()
    check_same_run(run.work, {**asdict(plan), "questions": digest})
    for share, text in texts.items():
        replace_lines(run.path(share), [text.encode()])
    return parts


def _base(name: str) -> Pruner | None:
    """The pruner that a training goes on from; None where it is a bare encoder."""
    if name.startswith(_PREFIX):
        return Pruner(name.removeprefix(_PREFIX))
    return Pruner(name) if name in BUNDLED or Path(name, NET).is_file() else None


def _layout(encoder: str) -> Layout:
    """The usual windows, or as long ones as the encoder reads."""
    config = json.loads((store.fetched(encoder, [CONFIG]) / CONFIG).read_text(encoding="utf-8"))
    usual = Layout()
    return Layout(size=min(usual.size, config.get("max_position_embeddings", usual.size)))


def _typical(questions: Sequence[Record], tokenizer: Path, layout: Layout) -> list[Window]:
    """A window of each of some questions."""
    reader = WindowTokenizer.read(tokenizer, layout)
    typical: list[Window] = []
    for record in questions[:_TYPICAL]:
        passages = [passage for passage, _ in labelled(record)][:1]
        typical += [some[0] for some in reader.lay(record["question"], passages).windows if some]
    return typical


def _judged(
    exported: Path,
    checked: Sequence[Record],
    base: Pruner | None,
    promised: Sequence[float],
    plan: PrunerPlan,
) -> dict[str, Any]:
    """Description of the pruner: how it was made, its promises, and its figures."""
    keep_answer = max(promise for promise in promised if promise <= USUAL)
    both = {"before": base, "after": Pruner(str(exported))}
    settings = json.loads((exported / SETTINGS).read_text(encoding="utf-8"))
    return {
        "about": "A sentence pruner: ragsieve filter --pruner pruner:FOLDER",
        "training": asdict(plan),
        "split": {"salt": SALT, "rule": RULE},
        "calibrated_on": settings["calibrated_on"]["own"],
        "promises": [*promised],
        "keep_answer": keep_answer,
        **{name: figures(one, checked, keep_answer) for name, one in both.items() if one},
    }


def _described(recipe: Mapping[str, Any], base: str) -> dict[str, Any]:
    """Sections of the model card beside the recipe."""
    lowest, *_, highest = recipe["promises"]
    return {
        "title": "A sentence pruner",
        "use": _USE,
        "base": base,
        "library": "ragsieve",
        "measured": "On questions of the same data that nothing was fitted to, at "
        f"`keep_answer={recipe['keep_answer']}`: the mean AUC inside a question, the share of "
        "questions whose evidence survives, and the share of words that stay.",
        "more": {
            "Thresholds": f"`keep_answer` from {lowest} to {highest}, by conformal risk control "
            f"on {recipe['calibrated_on']} other questions.",
            "Where it began": f"It goes on from `{base}`.",
        },
    }
