"""Training of the part of a clue reader that sees the hand-made inputs alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from ragsieve.models.clue_net import Prior
from ragsieve.train.clue_data import Item, loss, padded, spread

WIDTH = 32
EPOCHS, QUESTIONS = 25, 32
LEARNING_RATE, WEIGHT_DECAY, DROPOUT = 3e-3, 0.02, 0.15


class _Learner(torch.nn.Module):
    """A `Prior` that drops out, with its loss."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__()
        inputs = torch.from_numpy(np.concatenate([item.inputs for item in items]))
        self.prior = Prior(inputs.shape[1], WIDTH)
        self.prior.mean.copy_(inputs.mean(0))
        self.prior.scale.copy_(inputs.std(0) + 1e-3)
        for place in (2, 5):
            self.prior.net[place] = torch.nn.Dropout(DROPOUT)

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss and logits of questions."""
        logits = spread(self.prior(inputs), labels)
        return {"loss": loss(logits, labels), "logits": logits}


def _batch(items: Sequence[Item]) -> dict[str, torch.Tensor]:
    inputs = torch.from_numpy(np.concatenate([item.inputs for item in items]))
    return {"inputs": inputs, "labels": padded(item.targets for item in items)}


def undivided(arguments: transformers.TrainingArguments) -> transformers.TrainingArguments:
    """The same, with no batch cut up among the devices of one process."""
    arguments._n_gpu = min(1, arguments.n_gpu)  # sentences of a batch are not one a row
    return arguments


def train_prior(items: Sequence[Item], *, seed: int, work: Path) -> Prior:
    """A net over hand-made inputs; it takes seconds, so it is trained anew where a run resumes."""
    transformers.set_seed(seed)
    learner = _Learner(items)
    arguments = transformers.TrainingArguments(
        output_dir=str(work),
        per_device_train_batch_size=QUESTIONS,
        num_train_epochs=EPOCHS,
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        lr_scheduler_type="cosine",
        warmup_steps=0.3,  # of all
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        seed=seed,
        remove_unused_columns=False,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    data: Any = list(items)
    trainer = transformers.Trainer(learner, undivided(arguments), _batch, data)
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return learner.prior.cpu().eval()
