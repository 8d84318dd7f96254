"""From questions to a folder that `ragsieve.models.pruner` reads: train, calibrate, check.

WORK/train.jsonl, calibration.jsonl, checking.jsonl    the questions
WORK/run.json                                          what the run is of
WORK/base                                              the checkpoint that it goes on from
WORK/run                                               its own checkpoints, and the log
WORK/checkpoint, WORK/made                             what was learned, and its folder
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ragsieve.datasets import Dataset
from ragsieve.errors import InputError
from ragsieve.models.loading import fetched
from ragsieve.models.pruner import BUNDLED, CONFIG, FILES, NET, SETTINGS, TOKENIZER, Pruner
from ragsieve.models.windows import Layout, Window, WindowTokenizer
from ragsieve.train.artifacts import atomic_dir, check_counts, check_free
from ragsieve.train.evidence import RULE, SALT, Record, Share, records, share_of
from ragsieve.train.export import export
from ragsieve.train.promises import figures, possible, promise, scored
from ragsieve.train.pruner import labelled, train_pruner
from ragsieve.train.restore import restore
from ragsieve.train.risk import Scored
from ragsieve.trained.card import hub_id, markdown_table

logger = logging.getLogger(__name__)

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


@dataclass(frozen=True, kw_only=True)
class PrunerPlan:
    """How a sentence pruner is made.

    Args:
        base: What it goes on from: ``"pruner"``, which comes with the package, ``"pruner:"`` with a
            folder or hub id, a pruner's folder; or the name, folder or hub id of an encoder.
        limit: Only so many questions to learn from; all where None.
        epochs: How often each is read; at least 1.
        batch: Questions a step; at least 1.
        learning_rate: At its height, over 0.
        seed: Of all chance.

    Raises:
        InputError: If a count is under 1.
    """

    base: str = "pruner"
    limit: int | None = None
    epochs: int = 3
    batch: int = 4
    learning_rate: float = 3e-5
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, "limit", "epochs", "batch")


def make_pruner(
    folder: Path,
    sources: Sequence[Dataset],
    plan: PrunerPlan,
    *,
    work: Path,
    warn: Callable[[str], object] = logger.warning,
    on_progress: Callable[[int, int, float], object] | None = None,
) -> dict[str, Any]:
    """Train a sentence pruner on questions, and write it to ``folder``.

    Three quarters of the questions are learned from; a salted hash keeps back an eighth to
    calibrate the thresholds and an eighth to check. A run that was killed goes on.

    Args:
        folder: New, or one of an earlier training.
        sources: Questions with documents, and evidence or answers; see `ragsieve.train.evidence`.
        plan: How.
        work: Folder of this training, and of no other; made where missing.
        warn: Told what is amiss, in a line.
        on_progress: See `ragsieve.train.pruner.train_pruner`.

    Returns:
        What ``recipe.json`` says: among others ``figures`` ``before`` (of a pruner as base) and
        ``after``, both on the questions to check, at the promise ``keep_answer``.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, an option
            breaks its rule, or there are too few questions to calibrate on.
        ModelError: If the base cannot be loaded.
    """
    check_free(folder, "pruner")
    parts = _claimed(work, sources, plan)
    if (many := sum(map(len, parts.values()))) < FEW:
        warn(f"{many} questions are few: with under {FEW}, the pruner may end no better")
    base = _base(plan.base)
    if base is None:
        start, layout = plan.base, _layout(plan.base)
    else:
        start, layout = str(work / "base"), Layout(**base.settings["layout"])
        if not (work / "base" / SETTINGS).is_file():
            restore(base.folder, work / "base")
    taught = parts["train"]
    train_pruner(
        work / "checkpoint",
        taught,
        work=work / "run",
        encoder=start,
        batch=plan.batch,
        learning_rate=plan.learning_rate,
        steps=-(-plan.epochs * len(taught) // plan.batch),
        seed=plan.seed,
        layout=layout,
        on_progress=on_progress,
    )
    windows = _typical(taught, work / "checkpoint" / TOKENIZER, layout)
    shutil.rmtree(work / "made", ignore_errors=True)
    export(work / "checkpoint", work / "made", layout=layout, windows=windows)
    made = Pruner(str((work / "made").resolve()))
    promised = promise(work / "made", scored(made, parts["calibration"]))
    recipe = _judged(work / "made", parts["checking"], base, promised, plan)
    with atomic_dir(folder, recipe, _card(recipe, plan, sources)) as fresh:
        for name in FILES:
            shutil.copyfile(work / "made" / name, fresh / name)
    return recipe


def _claimed(work: Path, sources: Sequence[Dataset], plan: PrunerPlan) -> dict[Share, list[Record]]:
    """The questions of each part; ``work`` is noted to be of them, or checked."""
    parts: dict[Share, list[Record]] = {share: [] for share in get_args(Share)}
    for record in records(sources):
        parts[share_of(record["question"])].append(record)
    for some in parts.values():
        random.Random(plan.seed).shuffle(some)
    parts["train"] = parts["train"][: plan.limit]
    for share in ("calibration", "checking"):
        parts[share] = parts[share][:HELD_OUT]
    for share, some in parts.items():
        if not some:
            raise InputError(f"data must have questions with known evidence, got none for {share}")
    possible([_unscored(record) for record in parts["calibration"]])
    texts = {s: "".join(json.dumps(one) + "\n" for one in some) for s, some in parts.items()}
    digest = hashlib.sha256("\n".join(texts.values()).encode()).hexdigest()
    told = json.dumps({**asdict(plan), "questions": digest}, indent=1)
    note = work / "run.json"
    if note.is_file() and note.read_text(encoding="utf-8") != told:
        raise InputError(f"work must be a new folder or this run's, got another's: {str(work)!r}")
    work.mkdir(parents=True, exist_ok=True)
    for share, text in texts.items():
        (work / f"{share}.jsonl").write_text(text, encoding="utf-8")
    note.write_text(told, encoding="utf-8")
    return parts


def _unscored(record: Record) -> Scored:
    """A question that no pruner has read yet, for whether it has evidence."""
    labels = np.concatenate([[0.0], *(labels for _, labels in labelled(record))])
    return Scored(np.zeros(len(labels)), labels == 1)


def _base(name: str) -> Pruner | None:
    """The pruner that a training goes on from; None where it is a bare encoder."""
    if name.startswith(_PREFIX):
        return Pruner(name.removeprefix(_PREFIX))
    return Pruner(name) if name in BUNDLED or Path(name, NET).is_file() else None


def _layout(encoder: str) -> Layout:
    """The usual windows, or as long ones as the encoder reads."""
    config = json.loads((fetched(encoder, [CONFIG]) / CONFIG).read_text(encoding="utf-8"))
    usual = Layout()
    return Layout(size=min(usual.size, config.get("max_position_embeddings", usual.size)))


def _typical(questions: Sequence[Record], tokenizer: Path, layout: Layout) -> list[Window]:
    """A window of each of some questions."""
    reader = WindowTokenizer.read(tokenizer, layout)
    found: list[Window] = []
    for record in questions[:_TYPICAL]:
        passages = [passage for passage, _ in labelled(record)][:1]
        found += [some[0] for some in reader.lay(record["question"], passages).windows if some]
    return found


def _judged(
    made: Path,
    checked: Sequence[Record],
    base: Pruner | None,
    promised: Sequence[float],
    plan: PrunerPlan,
) -> dict[str, Any]:
    """What is told of the pruner: how it was made, its promises, and its figures."""
    keep_answer = max(promise for promise in promised if promise <= USUAL)
    both = {"before": base, "after": Pruner(str(made.resolve()))}
    settings = json.loads((made / SETTINGS).read_text(encoding="utf-8"))
    return {
        "about": "A sentence pruner: ragsieve filter --pruner pruner:FOLDER",
        "training": asdict(plan),
        "split": {"salt": SALT, "rule": RULE},
        "calibrated_on": settings["calibrated_on"]["own"],
        "promises": [*promised],
        "keep_answer": keep_answer,
        "figures": {name: figures(one, checked, keep_answer) for name, one in both.items() if one},
    }


def _card(recipe: Mapping[str, Any], plan: PrunerPlan, sources: Sequence[Dataset]) -> str:
    """The model card: base, data and figures."""
    hub = hub_id(plan.base)
    header = f'---\nlibrary_name: ragsieve\nbase_model: "{hub}"\n---\n' if hub else ""
    rows = [(row, *values.values()) for row, values in recipe["figures"].items()]
    names = next(iter(recipe["figures"].values()))
    licences = [(s.name, s.entry.licence if s.entry else "the user's own") for s in sources]
    promises = recipe["promises"]
    return (
        f"{header}# A sentence pruner\n\n{_USE}\n\n## How good it is\n\nOn questions of the same "
        f"data that nothing was fitted to, at `keep_answer={recipe['keep_answer']}`: the mean AUC "
        "inside a question, the share of questions whose evidence survives, and the share of "
        f"words that stay.\n\n{markdown_table(('', *names), rows)}\n"
        f"Thresholds: `keep_answer` from {promises[0]} to {promises[-1]}, by conformal risk "
        f"control on {recipe['calibrated_on']} other questions.\n\n"
        f"## What it was trained on\n\nIt goes on from `{plan.base}`.\n\n"
        f"{markdown_table(('data', 'licence'), licences)}\n"
        f"## How it was trained\n\n{markdown_table(('option', 'value'), [*asdict(plan).items()])}"
    )
