"""Training of a sentence pruner: one encoder over question and passage, two logits a token.

Channel 0 of a token says whether its sentence is kept (the mean over the sentence's tokens counts),
channel 1 of the first token whether the passage answers. The checkpoint is an ordinary one of
transformers for token classification.

WORK/checkpoint-…    the last one of transformers' Trainer, with its log
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragsieve.errors import ModelError, needs_extra

with needs_extra("train"):
    import torch
    import transformers
    from torch.nn import functional

from ragsieve.models.windows import Layout, Window, WindowTokenizer
from ragsieve.schema import Count, check_number
from ragsieve_research.models import store
from ragsieve_research.models.loading import fetched, loaded
from ragsieve_research.train.pruner_samples import PrunerSample, Samples
from ragsieve_research.train.resuming import QUIET, run_trainer

TOGETHER = {"cpu": 4}  # windows that are computed together; more take longer on a CPU
SAVE_STEPS = 100
OnStep = Callable[[int, int, float], object]
Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class PrunerNet(torch.nn.Module):
    """An encoder for token classification, with the loss of a question (`loss` where None)."""

    def __init__(self, encoder: Any, padding: int, question_loss: Loss | None = None) -> None:
        super().__init__()
        self.encoder, self.padding = encoder, padding
        self.question_loss = question_loss or loss

    def forward(self, samples: Sequence[PrunerSample]) -> torch.Tensor:
        """Mean loss of the samples."""
        windows = [(n, at) for n, s in enumerate(samples) for at in range(len(s.windows))]
        windows.sort(key=lambda place: len(samples[place[0]].windows[place[1]].ids))
        sentences = [[torch.tensor(0.0)] * len(s.labels) for s in samples]
        passages: list[list[Any]] = [[None] * len(s.windows) for s in samples]
        together = TOGETHER.get(self.encoder.device.type, 64)
        for first in range(0, len(windows), together):
            part = windows[first : first + together]
            some = [samples[n].windows[at] for n, at in part]
            logits = self.logits(some)
            for row, (n, at), window in zip(logits, part, some, strict=True):
                passages[n][at] = row[0, 1]
                for place, start, end in window.spans:
                    if end > start:
                        sentences[n][place] = row[start:end, 0].mean()
        losses = [
            self.question_loss(
                torch.stack(a), torch.tensor(s.labels), torch.stack(b), torch.tensor(s.holds)
            )
            for a, b, s in zip(sentences, passages, samples, strict=True)
        ]
        return torch.stack(losses).mean()

    def logits(self, windows: Sequence[Window]) -> torch.Tensor:
        """Of every token, ``(len(windows), longest, 2)``."""
        device = self.encoder.device
        size = max(len(w.ids) for w in windows)
        rows = {
            "input_ids": [[*w.ids, *[self.padding] * (size - len(w.ids))] for w in windows],
            "attention_mask": [[1] * len(w.ids) + [0] * (size - len(w.ids)) for w in windows],
        }
        if getattr(self.encoder.config, "type_vocab_size", 0) > 1:
            rows["token_type_ids"] = [[*w.types, *[1] * (size - len(w.ids))] for w in windows]
        inputs = {name: torch.tensor(row, device=device) for name, row in rows.items()}
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16_is_fast(device)):
            logits: torch.Tensor = self.encoder(**inputs).logits
        return logits.float()


def bfloat16_is_fast(device: torch.device) -> bool:
    """Whether products in bfloat16 take less time than in float32.

    A CPU without instructions for them takes 39 times as long (AVX2, 1024 x 384 by 384 x 1536).
    """
    if device.type != "cpu":
        return True
    cpu = torch.cpu
    return bool(cpu._is_amx_tile_supported() or cpu._is_avx512_bf16_supported())


def loss(
    sentences: torch.Tensor, labels: torch.Tensor, passages: torch.Tensor, holds: torch.Tensor
) -> torch.Tensor:
    """Evidence against the other sentences by softmax, plus cross-entropy of both logits."""
    labels, holds = labels.to(sentences.device), holds.to(sentences.device)
    good, other = sentences[labels == 1], sentences[labels == 0]
    total = 0.0 * passages.sum()  # there is a gradient, also where no label is known
    total = total + 0.5 * _crossed(passages[holds == 1], passages[holds == 0])
    total = total + _crossed(good, other)
    if len(good) and len(other):
        total = total + functional.softplus(other.logsumexp(0) - good).mean()
    return total


def _crossed(good: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in which both labels count alike."""
    missed = functional.softplus(-good).mean() if len(good) else good.new_zeros(())
    wrong = functional.softplus(other).mean() if len(other) else other.new_zeros(())
    return 0.5 * (missed + wrong)


def rate(step: int, steps: int, height: float) -> float:
    """The learning rate: a warm-up, a plateau, and a linear fall over the last fifth."""
    fall = max(1, steps // 5)
    return height * min(1.0, (step + 1) / min(200, fall), max(0.0, (steps - step) / fall))


def train_pruner(
    folder: Path,
    records: Sequence[Mapping[str, Any]],
    *,
    work: Path,
    encoder: str = "minilm",
    batch: int = 4,
    learning_rate: float = 1e-4,
    steps: int | None = None,
    seed: int = 0,
    layout: Layout | None = None,
    on_progress: OnStep | None = None,
) -> None:
    """Train a sentence pruner, and write its checkpoint to ``folder``.

    Several processes (``accelerate launch``) share the work. A run that was killed goes on from its
    last checkpoint; so does one that is given more ``steps``.

    Args:
        folder: Where the checkpoint is written when all is done.
        records: Questions in the order in which they are read, once where ``steps`` is None.
        work: Folder for checkpoints of this run, and of no other.
        encoder: A name, folder or hub id of a BERT-like encoder.
        batch: Questions a step and process; at least 1.
        learning_rate: At its height, over 0.
        steps: How many; as many as read every question once where None.
        seed: Of all chance.
        layout: Of windows; the default where None.
        on_progress: Called after each step with the numbers of steps done and of all, and the loss.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the encoder cannot be loaded.
    """
    check_number("batch", batch, Count)
    transformers.set_seed(seed)
    own = _encoder(encoder)
    file = fetched(encoder, ["tokenizer.json"]) / "tokenizer.json"
    samples = Samples(WindowTokenizer.read(file, layout), seed=seed)
    arguments = _arguments(work, batch, steps, seed)
    many = batch * arguments.world_size
    steps = steps or math.ceil(len(records) / many)
    arguments.max_steps = steps
    net = PrunerNet(own, own.config.pad_token_id or 0)
    learned = [w for w in net.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=learning_rate, weight_decay=0.01)
    schedule = _Schedule(optimizer, lambda step: rate(step, steps, 1.0))
    trainer = _Trainer(
        model=net,
        args=arguments,
        train_dataset=_Turns(records, samples, steps * many),
        data_collator=lambda some: {"batch": _Batch([s for s in some if s.labels])},
        optimizers=(optimizer, schedule),
        callbacks=[_Steps(on_progress)],
    )
    run_trainer(trainer, work)
    if trainer.is_world_process_zero():
        _publish(own, encoder, folder)
    trainer.accelerator.wait_for_everyone()


def _arguments(
    work: Path, batch: int, steps: int | None, seed: int
) -> transformers.TrainingArguments:
    arguments = transformers.TrainingArguments(
        output_dir=str(work),
        max_steps=steps or 1,
        per_device_train_batch_size=batch,
        train_sampling_strategy="sequential",
        max_grad_norm=1.0,
        save_steps=SAVE_STEPS,
        save_total_limit=1,
        logging_steps=1,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        seed=seed,
        **QUIET,
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # several are for several processes
    return arguments


@dataclass(frozen=True)
class _Turns(torch.utils.data.Dataset[PrunerSample]):
    """Questions in the order in which they are read, each time as another sample."""

    records: Sequence[Mapping[str, Any]]
    samples: Samples
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, turn: int) -> PrunerSample:
        return self.samples.of(self.records[turn % len(self.records)], turn)


class _Schedule(torch.optim.lr_scheduler.LambdaLR):
    """Goes on where a run with other ``steps`` ended, by the rates of this one."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the step up, and set its rate: the optimizer has the other run's."""
        super().load_state_dict(state_dict)
        for group, base, scale in zip(
            self.optimizer.param_groups, self.base_lrs, self.lr_lambdas, strict=True
        ):
            group["lr"] = base * scale(self.last_epoch)


@dataclass(frozen=True)
class _Batch:
    """Samples of a step; in a list a trainer would look for tensors."""

    samples: list[PrunerSample]


class _Trainer(transformers.Trainer):
    """That of transformers, with the loss that `PrunerNet` gives."""

    def compute_loss(self, model: Any, inputs: Any, *_: Any, **__: Any) -> Any:
        """Mean loss of the samples."""
        return model(inputs["batch"].samples)


@dataclass(frozen=True)
class _Steps(transformers.TrainerCallback):
    """Says how far a training is."""

    on_progress: OnStep | None

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """After each step."""
        if self.on_progress and "loss" in (logs := more["logs"]):
            self.on_progress(state.global_step, state.max_steps, logs["loss"])


def _publish(own: Any, name: str, folder: Path) -> None:
    """Write a checkpoint of transformers: the encoder as it is now, and its tokenizer."""
    loaded(name, own.save_pretrained, folder)
    load = transformers.PreTrainedTokenizerFast.from_pretrained
    loaded(name, load, str(store.resolve(name))).save_pretrained(folder)


def _encoder(name: str) -> Any:
    """The encoder with a head of two logits a token, a new one where it has none or another.

    Its embeddings do not learn.
    """
    load = transformers.AutoModelForTokenClassification.from_pretrained
    options = {
        "num_labels": 2,
        "id2label": {0: "KEEP", 1: "ANSWERS"},
        "label2id": {"KEEP": 0, "ANSWERS": 1},
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "attn_implementation": "eager",  # on a CPU its gradient takes half the time
        "use_safetensors": True,
        "ignore_mismatched_sizes": True,  # a head of one label, of a cross-encoder
        "output_loading_info": True,
    }
    own, told = loaded(name, load, str(store.resolve(name)), dtype=torch.float32, **options)
    if wrong := [n for n, *_ in told["mismatched_keys"] if not n.startswith("classifier.")]:
        raise ModelError(
            f"{name!r} has weights of another shape than its config.json says: {wrong[0]}"
        )
    own.get_input_embeddings().weight.requires_grad_(False)
    return own
