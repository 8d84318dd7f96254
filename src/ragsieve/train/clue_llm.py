"""Training of a clue reader on a language model: LoRA on its middle layers, and a head.

`ragsieve.models.clue_llm` says what the folder holds. The language model learns by itself, and so
does a net over the hand-made inputs; their logits are added.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

try:
    import accelerate
    import peft
    import torch
    import transformers
    from peft.tuners.lora import LoraLayer
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="train") from error

from ragsieve.errors import InputError, ModelError
from ragsieve.models import store
from ragsieve.models.clue_features import NAMES
from ragsieve.models.clue_llm import ClueLLM, MarkHead, lower_layers, mark_setter, states
from ragsieve.models.clue_net import CALIBRATION, WEIGHTS, Prior
from ragsieve.models.clue_windows import Layout, Window
from ragsieve.models.clues import RECIPE
from ragsieve.models.loading import fast_precision, found_device
from ragsieve.train import clue_prior
from ragsieve.train.clue_data import DOCUMENTS, Item, Questions, loss, spread
from ragsieve.train.clue_fit import QUESTIONS, Learner, claim, fit
from ragsieve.train.clues import Trained
from ragsieve.train.lessons import Lesson, check_usable
from ragsieve.train.packing import judge, write

LAYOUT = Layout(size=512, question=64, title=24, sentence=200, overlap=64)
RANK, ALPHA = 16, 32  # of LoRA
WIDTH, DROPOUT = 64, 0.1  # of the head
HEAD_LEARNING_RATE, WEIGHT_DECAY = 1e-3, 0.01
MEASURED = 32  # questions whose states tell the head how large states are
CHOOSING = 64  # validation questions that choose the epoch, at most
_LAYER = re.compile(r"(?:[^.]+\.)*?\d+\.")  # the first numbered module on the way down


@dataclass(frozen=True)
class _Options:
    """What a folder depends on, beside its lessons; see `train_clue_llm`."""

    llm: str
    epochs: int
    learning_rate: float
    depth: float
    layers: float
    feedback: float
    seed: int
    layout: Layout = LAYOUT

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, got {self.epochs!r}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be over 0, got {self.learning_rate!r}")
        for name in ("depth", "layers"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must be over 0 to 1, got {getattr(self, name)!r}")
        if not 0 <= self.feedback <= 1:
            raise InputError(f"feedback must be from 0 to 1, got {self.feedback!r}")


def train_clue_llm(
    folder: Path,
    lessons: Sequence[Lesson],
    validation: Sequence[Lesson],
    *,
    work: Path,
    llm: str = "smollm2",
    epochs: int = 2,
    learning_rate: float = 5e-4,
    depth: float = 2 / 3,
    layers: float = 1 / 3,
    feedback: float = 0.0,
    seed: int = 0,
) -> Trained:
    """Train a clue reader, and write a folder that ``models.load("clue_llm:FOLDER")`` reads.

    The epoch with the best mean AUC inside a validation question stays. A run that was killed goes
    on from its last epoch. Several processes (``accelerate launch``) share the work; the first
    writes the folder.

    Args:
        folder: Where the result is written; it appears when all is done.
        lessons: To learn from: those with both clues and other sentences.
        validation: The first 64 of the same kind choose the epoch; all calibrate probabilities.
        work: Folder for checkpoints of this run, and of no other.
        llm: A name, folder or hub id of a causal language model.
        epochs: At least 1.
        learning_rate: Of the language model, over 0; the head behind it has 1e-3.
        depth: Share of its layers that are read, over 0 to 1: the last ones are for the next word.
            Of SmolLM2's 30, untrained, layer 20 tells clues best: .80 AUC by a linear map, .70 the
            last one.
        layers: Share of the layers read that are tuned, the upper ones, over 0 to 1; what lies
            below is computed without gradients.
        feedback: How much less a clue counts that the generator did not answer from alone: 0 not
            at all, 1 it is neither a clue nor none.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule, no lesson of either kind has both clues and other
            sentences, or ``work`` holds another run.
        ModelError: If the language model cannot be loaded or tuned.

    Source: One pass as in Provence (arXiv 2501.16214), on the targets of FineFilter's extractor
        (arXiv 2502.11811v4, section 4.1); LoRA as in FineFilter, appendix A.
    """
    options = _Options(llm, epochs, learning_rate, depth, layers, feedback, seed)
    check_usable(lessons, validation)
    claim(work, options, lessons)
    where = store.resolve(llm)
    sets = mark_setter(llm, where)
    learned = [Item.of(lesson, sets, feedback) for lesson in lessons if lesson.usable]
    usable = [lesson for lesson in validation if lesson.usable][:CHOOSING]
    checked = [Item.of(lesson, sets) for lesson in usable]
    transformers.set_seed(seed)
    learner = _Learner(_adapting(options, where))
    some = Questions(learned[:MEASURED], sets, options.layout, seed=seed)
    learner.measure([row["windows"] for row in map(some.__getitem__, range(len(some)))])
    log = fit(learner, learned, checked, sets, options, work)
    prior = clue_prior.train_prior(learned, seed=seed, work=work / "prior")
    state = accelerate.PartialState()
    if state.is_main_process:
        _write(work / "made", learner, prior, options, len(learned))
        judge(work / "made", validation, ClueLLM)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (WEIGHTS, CALIBRATION, RECIPE):  # a folder with a recipe is whole
            shutil.copyfile(work / "made" / name, folder / name)
    state.wait_for_everyone()
    recipe = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
    return Trained(log, recipe["validation"])


def _adapting(options: _Options, where: Path | str) -> Any:
    """The language model with an adapter that does nothing yet, which alone asks for gradients."""
    dtype = fast_precision(found_device())
    llm = lower_layers(options.llm, where, options.depth, dtype)
    linear = [n for n, module in llm.named_modules() if isinstance(module, torch.nn.Linear)]
    found: dict[str, list[str]] = {}
    for name in linear:
        if layer := _LAYER.match(name):
            found.setdefault(layer[0], []).append(name)
    if not found:
        raise ModelError(f"model {options.llm!r} has no layers of linear maps to be tuned")
    upper = list(found.values())[-max(1, round(options.layers * len(found))) :]
    targets = [name for names in upper for name in names]
    config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=targets)
    return peft.get_peft_model(llm, config)


class _Learner(Learner):
    """A language model with an adapter, and a head that drops out, with their loss."""

    def __init__(self, llm: Any) -> None:
        super().__init__()
        self.llm = llm
        self.head = MarkHead(2 * llm.config.hidden_size, WIDTH, len(NAMES), clue_prior.WIDTH)
        self.head.prior.requires_grad_(False)  # it learns by itself
        self.head.mix[1] = torch.nn.Dropout(DROPOUT)
        torch.nn.init.zeros_(self.head.out.weight)
        torch.nn.init.constant_(self.head.out.bias, -1.0)
        cast(Any, self).register_state_dict_post_hook(_without_frozen)

    def forward(self, windows: Sequence[Window], labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss and logits of questions."""
        logits = spread(self.head.of_states(states(self.llm, windows)), labels)
        return {"loss": loss(logits, labels), "logits": logits}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take what learns from a checkpoint, which holds nothing else."""
        frozen = {n: weight for n, weight in self.named_parameters() if not weight.requires_grad}
        return super().load_state_dict({**frozen, **state_dict}, strict, assign)

    @torch.no_grad()
    def measure(self, questions: Sequence[Sequence[Window]]) -> None:
        """Tell the head mean and deviation of the states of some questions."""
        self.llm.eval()
        found = torch.cat([states(self.llm, windows) for windows in questions])
        self.head.mean.copy_(found.mean(0))
        self.head.scale.copy_(found.std(0) + 1e-3)

    def optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        """Of adapter and head, each at its rate."""
        groups = [
            {"params": _learning(self.head), "lr": HEAD_LEARNING_RATE},
            {"params": _learning(self.llm), "lr": learning_rate},
        ]
        return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)

    def differences(self) -> dict[str, torch.Tensor]:
        """What the adapter adds to each weight, as two thin matrices."""
        found = {}
        for name, layer in self.llm.base_model.model.named_modules():
            if isinstance(layer, LoraLayer):
                up, down = layer.lora_B["default"].weight, layer.lora_A["default"].weight
                found[f"encoder.{name}.weight.up"] = up * layer.scaling["default"]
                found[f"encoder.{name}.weight.down"] = down
        return found


def _learning(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    return [weight for weight in module.parameters() if weight.requires_grad]


def _without_frozen(module: torch.nn.Module, found: dict[str, Any], prefix: str, _: Any) -> None:
    """Leave out of a checkpoint what does not learn."""
    for name, weight in module.named_parameters(prefix.removesuffix(".")):
        if not weight.requires_grad:
            found.pop(name, None)


def _write(
    folder: Path, learner: _Learner, prior: Prior, options: _Options, questions: int
) -> None:
    """The folder, before calibration."""
    learner.head.prior = prior
    tensors = {**learner.head.state_dict(), **learner.differences()}
    packed = {name: value.detach().cpu().half().contiguous() for name, value in tensors.items()}
    write(folder, packed, options.llm, options.layout, _told(options, questions))
    _add(folder / RECIPE, {"depth": options.depth})


def _told(options: _Options, questions: int) -> dict[str, Any]:
    """How a folder was made, for people."""
    return {
        "questions": questions,
        "epochs": options.epochs,
        "learning_rate": options.learning_rate,
        "lora_rank": RANK,
        "lora_alpha": ALPHA,
        "layers": options.layers,
        "feedback": options.feedback,
        "seed": options.seed,
        "batch_questions": QUESTIONS,
        "documents_at_most": DOCUMENTS,
        "head_learning_rate": HEAD_LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
        "inputs_net_epochs": clue_prior.EPOCHS,
        "calibration": "Platt's two numbers, fitted on all validation questions",
    }


def _add(file: Path, values: dict[str, Any]) -> None:
    known = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**known, **values}, indent=1) + "\n", encoding="utf-8")
