"""Training of a pruner: an encoder that scores a passage and labels its tokens in one pass.

`ragsieve.models.provence` says what the folder holds.

WORK/train.jsonl, validation.jsonl    the questions, with the documents that are read
WORK/run                              checkpoints
WORK/folder                           what was learned
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

try:
    import accelerate
    import torch
    import transformers
    from safetensors.torch import save_file
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="train") from error

from torch.nn import functional

from ragsieve.datasets import Dataset
from ragsieve.errors import InputError
from ragsieve.models import store
from ragsieve.models.clue_net import TOGETHER
from ragsieve.models.clue_windows import Layout, Window
from ragsieve.models.loading import fast_precision, found_device, loaded
from ragsieve.models.provence import Provence
from ragsieve.models.provence_net import (
    WEIGHTS,
    PassageSetter,
    TwoHeads,
    layout_for,
    passage_setter,
)
from ragsieve.train.clue_data import NOTHING, Item, passages, spread
from ragsieve.train.clue_figures import Judged, figures
from ragsieve.train.clue_fit import Learner, claim, fit
from ragsieve.train.clues import HEAD_LEARNING_RATE, WEIGHT_DECAY, Trained
from ragsieve.train.lessons import Lesson, check_usable, lessons
from ragsieve.train.making import (
    PARTS,
    RECIPE,
    card,
    check_counts,
    check_free,
    first_documents,
    recipe_of,
    whole,
    write_questions,
)

RANKING = 0.5  # what a passage's loss counts against its tokens'
_USE = """\
One pass ranks a passage and says which of its sentences answer (Provence, arXiv 2501.16214). Inside
a question, `auc` is how often a sentence with the answer comes before another, and `recall_3` how
often one is among the first three.

    ragsieve ask --system provence --clues provence:FOLDER …"""


@dataclass(frozen=True, kw_only=True)
class ProvencePlan:
    """How a pruner is made.

    Args:
        encoder: What it begins from: a name, folder or hub id of a BERT-like encoder.
        documents: So many of the first documents of a question are read; at least 1.
        limit: Only so many questions to learn from, and a fifth of that to choose by; all where
            None.
        epochs: How often all questions are read; at least 1.
        learning_rate: Of the encoder, over 0.
        seed: Of all chance.

    Raises:
        InputError: If ``documents`` or ``limit`` is under 1.
    """

    encoder: str = "minilm"
    documents: int = 5
    limit: int | None = None
    epochs: int = 4
    learning_rate: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, "documents", "limit")


def make_provence(
    folder: Path, sources: Sequence[Dataset], plan: ProvencePlan, *, work: Path
) -> dict[str, Any]:
    """Train a pruner on questions with documents, and write it to ``folder``.

    ``models.load(f"provence:{folder}")`` is the pruner. A run that was killed goes on from its last
    epoch.

    Args:
        folder: New, or one of an earlier training.
        sources: Questions with documents and gold answers, divided by a salted hash.
        plan: How.
        work: Folder of this training, and of no other; made where missing.

    Returns:
        What ``recipe.json`` says: among others ``validation``; see `train_provence`.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, an option
            breaks its rule, or there is nothing to learn.
        ModelError: If the encoder cannot be loaded.

    Source: See `train_provence`.
    """
    check_free(folder, "pruner")
    write_questions(sources, work, plan.limit, first_documents(plan.documents))
    taught, checked = (lessons(work / f"{part}.jsonl") for part in PARTS)
    made = work / "folder"
    train_provence(
        made,
        taught,
        checked,
        work=work / "run",
        encoder=plan.encoder,
        epochs=plan.epochs,
        learning_rate=plan.learning_rate,
        seed=plan.seed,
    )
    recipe = recipe_of(made)
    found = recipe["validation"].items()
    told = card(
        f"A pruner made of {plan.encoder}",
        _USE,
        {data: {k: v for k, v in row.items() if k != "questions"} for data, row in found},
        base=plan.encoder,
        library="ragsieve",
        plan=plan,
        sources=sources,
    )
    with whole(folder, recipe, told) as fresh:
        shutil.copytree(made, fresh, dirs_exist_ok=True)
    return recipe


@dataclass(frozen=True)
class _Options:
    """What a folder depends on, beside its lessons; see `train_provence`."""

    encoder: str
    epochs: int
    learning_rate: float
    layout: Layout
    seed: int

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, got {self.epochs!r}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be over 0, got {self.learning_rate!r}")


def train_provence(
    folder: Path,
    lessons: Sequence[Lesson],
    validation: Sequence[Lesson],
    *,
    work: Path,
    encoder: str = "minilm",
    epochs: int = 4,
    learning_rate: float = 1e-4,
    seed: int = 0,
) -> Trained:
    """Train a pruner, and write a folder that ``models.load("provence:FOLDER")`` reads.

    A token's label is that of its sentence: whether it is a clue; a passage's, whether it has one.
    The epoch with the best mean AUC inside a validation question stays. A run that was killed goes
    on from its last epoch. Several processes (``accelerate launch``) share the work; the first
    writes the folder.

    Args:
        folder: Where the result is written; it appears when all is done.
        lessons: To learn from: those with both clues and other sentences.
        validation: Those of the same kind choose the epoch.
        work: Folder for checkpoints of this run, and of no other.
        encoder: A name, folder or hub id of a BERT-like encoder, as MiniLM or DeBERTa-v3.
        epochs: At least 1.
        learning_rate: Of the encoder, over 0; the heads have 1e-3.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule, no lesson of either kind has both clues and other
            sentences, or ``work`` holds another run.
        ModelError: If the encoder cannot be loaded.

    Source: Provence (arXiv 2501.16214), section 3: labels of tokens by cross-entropy, jointly with
        the passage's score.
    Differs: Labels say where a gold answer stands, not what an LLM cited; the passage's score
        learns whether there is one, by cross-entropy, where the paper keeps near the scores of a
        reranker, from which it starts, by their squared difference, times 0.05; learning rates are
        for a small encoder and few questions, the paper's is 3e-6 for 400 million weights.
    """
    check_usable(lessons, validation)
    where = store.resolve(encoder)
    config = loaded(encoder, transformers.AutoConfig.from_pretrained, str(where))
    options = _Options(encoder, epochs, learning_rate, layout_for(config), seed)
    claim(work, options, lessons)
    sets = passage_setter(encoder, where)
    learned = [Item.of(lesson, sets) for lesson in lessons if lesson.usable]
    checked = [Item.of(lesson, sets) for lesson in validation if lesson.usable]
    transformers.set_seed(seed)
    load, wanted = transformers.AutoModel.from_pretrained, {"use_safetensors": True}
    own = loaded(encoder, load, str(where), dtype=torch.float32, **wanted)
    learner = _Learner(TwoHeads(own), sets)
    log = fit(learner, learned, checked, sets, options, work)
    state = accelerate.PartialState()
    if state.is_main_process:
        _write(work / "made", learner.net, where)
        told = {"questions": len(learned), **asdict(options), "ranking": RANKING}
        _judge(work / "made", validation, told)
        rest = shutil.ignore_patterns(RECIPE)
        shutil.copytree(work / "made", folder, ignore=rest, dirs_exist_ok=True)
        shutil.copyfile(work / "made" / RECIPE, folder / RECIPE)  # a folder with it is whole
    state.wait_for_everyone()
    return Trained(log, recipe_of(folder)["validation"])


class _Learner(Learner):
    """The net, with its loss."""

    def __init__(self, net: TwoHeads, sets: PassageSetter) -> None:
        super().__init__()
        self.net, self.padding = net, sets.padding
        net.in_bfloat16 = fast_precision(found_device()) == "bfloat16"

    def forward(self, windows: Sequence[Window], labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss of windows, and the mean keep-probabilities of their questions' sentences."""
        wanted = (labels[labels > NOTHING] > 0).float()  # (n_sentences,)
        means = torch.zeros_like(wanted)
        ordered = sorted(windows, key=lambda window: -len(window.ids))  # little padding
        parts = [ordered[at : at + TOGETHER] for at in range(0, len(ordered), TOGETHER)]
        found = [self._labelled(part, wanted, means) for part in parts]
        tokens, token_labels, ranks, holding = (
            torch.cat(some) for some in zip(*found, strict=True)
        )
        cross = functional.binary_cross_entropy_with_logits
        loss = cross(tokens, token_labels) + RANKING * cross(ranks, holding)
        return {"loss": loss, "logits": spread(means, labels)}

    def _labelled(
        self, windows: Sequence[Window], wanted: torch.Tensor, means: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Logits and labels of the windows' tokens, then of their passages; ``means`` is filled."""
        size = max(len(window.ids) for window in windows)
        ranks, tokens = self.net(*self.net.batch(windows, self.padding, size))
        labels = torch.full_like(tokens, NOTHING)
        holding = torch.zeros_like(ranks)
        keep = torch.sigmoid(tokens.detach())
        for row, window in enumerate(windows):
            for n, start, end in window.spans:
                labels[row, start:end] = wanted[n]
                means[n] = keep[row, start:end].mean() if end > start else 0.0
                holding[row] = max(holding[row], wanted[n])
        read = labels > NOTHING
        return tokens[read], labels[read], ranks, holding

    def optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        """Of encoder and heads, each at its rate."""
        own = {id(weight) for weight in self.net.encoder.parameters()}
        heads = [weight for weight in self.net.parameters() if id(weight) not in own]
        groups = [
            {"params": heads, "lr": HEAD_LEARNING_RATE},
            {"params": [*self.net.encoder.parameters()], "lr": learning_rate},
        ]
        return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)


def _write(folder: Path, net: TwoHeads, encoder: Path | str) -> None:
    """The folder, before its recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    load = transformers.PreTrainedTokenizerFast.from_pretrained
    loaded(str(encoder), load, str(encoder)).save_pretrained(folder)
    net.encoder.config.save_pretrained(folder)
    save_file({name: tensor.cpu() for name, tensor in net.tensors().items()}, folder / WEIGHTS)


def _judge(folder: Path, validation: Sequence[Lesson], told: dict[str, Any]) -> None:
    """Note in the recipe how it was made, and its figures."""
    reader = Provence(str(folder.resolve()))
    asked = [lesson.query.text for lesson in validation]
    found = reader.clues(asked, [passages(lesson) for lesson in validation])
    recipe = {
        "about": "One pass over question and passage scores the passage and labels its tokens",
        "target": "the sentence holds a gold answer, normalised, at word boundaries",
        "training": told,
        "validation": figures(map(Judged.of, validation, found)),
    }
    text = json.dumps(recipe, indent=1) + "\n"
    (folder / RECIPE).write_text(text, encoding="utf-8")
