"""Training of a clue reader: an encoder that reads question and passages in one pass.

`ragsieve.models.clues` says what the folder holds. The encoder learns by itself, and so does a net
over the hand-made inputs; their logits are added.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

try:
    import accelerate
    import torch
    import transformers
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="train") from error

from ragsieve.errors import InputError, ModelError
from ragsieve.models import store
from ragsieve.models.clue_features import NAMES
from ragsieve.models.clue_net import CALIBRATION, WEIGHTS, Head, Prior, states
from ragsieve.models.clue_windows import Layout, Window
from ragsieve.models.clues import RECIPE, setter
from ragsieve.models.loading import fast_precision, found_device, loaded
from ragsieve.train import clue_prior
from ragsieve.train.clue_data import DOCUMENTS, Item, loss, spread
from ragsieve.train.clue_fit import QUESTIONS, Learner, claim, fit
from ragsieve.train.lessons import Lesson, check_usable
from ragsieve.train.packing import differences, judge, write

LAYOUT = Layout(size=256, question=64, title=24, sentence=200, overlap=64)
WIDTH, DROPOUT = 64, 0.1  # of the head
HEAD_LEARNING_RATE, WEIGHT_DECAY = 1e-3, 0.01
_LAYER = re.compile(r"(?:^|\.)layers?\.(\d+)\.")


class Trained(NamedTuple):
    """How training went.

    Args:
        log: In order, each with ``step``, ``epoch`` and ``seconds``, and with either ``loss``, the
            mean since the last, or ``validation``, the mean AUC inside a question, in [0, 1].
        figures: Of the folder on validation: `ragsieve.train.clue_figures.figures`.
    """

    log: list[dict[str, float]]
    figures: dict[str, dict[str, float]]


@dataclass(frozen=True)
class _Options:
    """What a folder depends on, beside its lessons; see `train_clues`."""

    encoder: str
    epochs: int
    learning_rate: float
    rank: int
    feedback: float
    layout: Layout
    seed: int

    def __post_init__(self) -> None:
        for name in ("epochs", "rank"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be over 0, got {self.learning_rate!r}")
        if not 0 <= self.feedback <= 1:
            raise InputError(f"feedback must be from 0 to 1, got {self.feedback!r}")


def train_clues(
    folder: Path,
    lessons: Sequence[Lesson],
    validation: Sequence[Lesson],
    *,
    work: Path,
    encoder: str = "minilm",
    epochs: int = 2,
    learning_rate: float = 1e-4,
    rank: int = 32,
    feedback: float = 0.0,
    layout: Layout = LAYOUT,
    seed: int = 0,
) -> Trained:
    """Train a clue reader, and write a folder that ``models.load("clues:FOLDER")`` reads.

    All layers but the first sixth are tuned in full; the epoch with the best mean AUC inside a
    validation question stays, and what it has learnt is kept as a difference of a low rank. A run
    that was killed goes on from its last epoch. Several processes (``accelerate launch``) share the
    work; the first writes the folder.

    Args:
        folder: Where the result is written; it appears when all is done.
        lessons: To learn from: those with both clues and other sentences.
        validation: Those of the same kind choose the epoch; all calibrate probabilities.
        work: Folder for checkpoints of this run, and of no other.
        encoder: A name, folder or hub id of a BERT-like encoder.
        epochs: At least 1.
        learning_rate: Of the encoder, over 0; the head behind it has 1e-3.
        rank: Of what is kept, at least 1: 32 is 2.4 MB for MiniLM.
        feedback: How much less a clue counts that the generator did not answer from alone: 0 not
            at all, 1 it is neither a clue nor none.
        layout: Windows that the encoder reads.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule, no lesson of either kind has both clues and other
            sentences, or ``work`` holds another run.
        ModelError: If the encoder cannot be loaded or tuned.

    Source: One pass as in Provence (arXiv 2501.16214), on the targets of FineFilter's extractor
        (arXiv 2502.11811v4, section 4.1).
    """
    options = _Options(encoder, epochs, learning_rate, rank, feedback, layout, seed)
    check_usable(lessons, validation)
    claim(work, options, lessons)
    where = store.resolve(encoder)
    sets = setter(encoder, where)
    learned = [Item.of(lesson, sets, feedback) for lesson in lessons if lesson.usable]
    checked = [Item.of(lesson, sets) for lesson in validation if lesson.usable]
    transformers.set_seed(seed)
    learner = _Learner(_encoder(options, where), sets.padding)
    before = {name: weight.detach().clone() for name, weight in learner.tuned()}
    log = fit(learner, learned, checked, sets, options, work)
    prior = clue_prior.train_prior(learned, seed=seed, work=work / "prior")
    state = accelerate.PartialState()
    if state.is_main_process:
        _write(work / "made", learner, before, prior, options, len(learned))
        judge(work / "made", validation)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (WEIGHTS, CALIBRATION, RECIPE):  # a folder with a recipe is whole
            shutil.copyfile(work / "made" / name, folder / name)
    state.wait_for_everyone()
    recipe = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
    return Trained(log, recipe["validation"])


def _encoder(options: _Options, where: Path | str) -> torch.nn.Module:
    """The encoder, of which only what is tuned asks for gradients."""
    config = loaded(options.encoder, transformers.AutoConfig.from_pretrained, str(where))
    longest, holds = options.layout.longest, config.max_position_embeddings
    if longest > holds:
        raise InputError(
            f"layout has windows of {longest} tokens, {options.encoder!r} reads {holds}"
        )
    for name in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, name):
            setattr(config, name, 0.0)
    load = transformers.AutoModel.from_pretrained
    wanted = {"config": config, "dtype": torch.float32, "use_safetensors": True}
    encoder: torch.nn.Module = loaded(options.encoder, load, str(where), **wanted)
    tuned = 0
    for name, weight in encoder.named_parameters():
        layer = _LAYER.search(name)
        weight.requires_grad = bool(layer and int(layer[1]) >= config.num_hidden_layers // 6)
        tuned += weight.requires_grad
    if not tuned:
        raise ModelError(f"model {options.encoder!r} has no layers that could be tuned")
    return encoder


class _Learner(Learner):
    """An encoder and a head that drops out, with their loss."""

    def __init__(self, encoder: Any, padding: int) -> None:
        super().__init__()
        self.encoder, self.padding = encoder, padding
        self.in_bfloat16 = fast_precision(found_device()) == "bfloat16"
        self.head = Head(encoder.config.hidden_size, WIDTH, len(NAMES), clue_prior.WIDTH)
        self.head.prior.requires_grad_(False)  # it learns by itself
        self.head.mix[0] = torch.nn.Dropout(DROPOUT)
        self.head.mix.append(torch.nn.Dropout(DROPOUT))
        torch.nn.init.constant_(self.head.cos_scale, 6.0)
        torch.nn.init.zeros_(self.head.out.weight)
        torch.nn.init.constant_(self.head.out.bias, -1.0)

    def forward(self, windows: Sequence[Window], labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss and logits of questions."""
        found = states(self.encoder, windows, self.padding, self.in_bfloat16)
        logits = spread(self.head.of_states(*found), labels)
        return {"loss": loss(logits, labels), "logits": logits}

    def tuned(self) -> list[tuple[str, torch.nn.Parameter]]:
        """Weights of the encoder that learn, by their names in a folder."""
        named = self.encoder.named_parameters(prefix="encoder")
        return [(name, weight) for name, weight in named if weight.requires_grad]

    def optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        """Of encoder and head, each at its rate."""
        own = [weight for weight in self.head.parameters() if weight.requires_grad]
        groups = [
            {"params": own, "lr": HEAD_LEARNING_RATE},
            {"params": [weight for _, weight in self.tuned()], "lr": learning_rate},
        ]
        return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)


def _write(
    folder: Path,
    learner: _Learner,
    before: Mapping[str, torch.Tensor],
    prior: Prior,
    options: _Options,
    questions: int,
) -> None:
    """The folder, before calibration."""
    learner.head.prior = prior
    head = {name: value.detach().cpu().half() for name, value in learner.head.state_dict().items()}
    after = {name: weight.detach() for name, weight in learner.tuned()}
    tensors = {**head, **differences(before, after, options.rank)}
    write(folder, tensors, options.encoder, options.layout, _told(options, questions))


def _told(options: _Options, questions: int) -> dict[str, Any]:
    """How a folder was made, for people."""
    return {
        "questions": questions,
        "epochs": options.epochs,
        "learning_rate": options.learning_rate,
        "rank": options.rank,
        "feedback": options.feedback,
        "seed": options.seed,
        "batch_questions": QUESTIONS,
        "documents_at_most": DOCUMENTS,
        "head_learning_rate": HEAD_LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
        "inputs_net_epochs": clue_prior.EPOCHS,
        "calibration": "Platt's two numbers, fitted on all validation questions",
    }
