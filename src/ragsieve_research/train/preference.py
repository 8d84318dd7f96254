"""Direct preference optimisation (DPO) of a LoRA adapter: of two replies, the better one."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from ragsieve.errors import InputError, needs_extra

with needs_extra("train"):
    import peft
    from datasets import Dataset
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.dpo_trainer import DPOTrainer

from ragsieve.models.base import Prompt
from ragsieve_research.models.loading import loaded
from ragsieve_research.models.seq2seq import Seq2Seq
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.train import sft
from ragsieve_research.train.resuming import Log, checkpoints

STRENGTH = 0.1  # DPO's beta: how dear it is to leave the reference


class PreferencePair(NamedTuple):
    """A prompt with a better and a worse reply."""

    prompt: Prompt
    best: str
    worst: str


def prefer(
    folder: Path,
    pairs: Sequence[PreferencePair],
    validation: Sequence[PreferencePair],
    *,
    llm: Transformers,
    adapter: Path,
    tuning: sft.Tuning,
    about: Mapping[str, Any],
) -> Log:
    """Write an adapter that prefers the better replies, starting from one that is tuned already.

    What it starts from is the reference, too. Tokens, checkpoints, seeds and what is written are
    those of `ragsieve_research.train.sft.tune`; the loss is TRL's. A run that was killed goes on.

    Args:
        folder: Becomes the adapter with its ``recipe.json``.
        pairs: To learn from; those over the model's context are left out.
        validation: By whose loss the best state is chosen.
        llm: The base model, without an adapter; no encoder-decoder.
        adapter: A PEFT adapter of it: where learning starts.
        tuning: How; ``rank`` and ``layers`` are those of ``adapter``, whatever is said here.
        about: What the recipe says beside.

    Returns:
        Entries as of `ragsieve_research.train.sft.tune`; those of validation have ``accuracy``,
        too: how often the better reply gained more than the worse one, in [0, 1].

    Raises:
        InputError: If an option breaks its rule, or no pair or no validation fits.
        ModelError: If the model or its adapter cannot be loaded.

    Source: Direct Preference Optimization (arXiv 2305.18290), section 4.
    """
    if isinstance(llm, Seq2Seq) or llm.adapter:
        raise InputError(f"llm must be a causal model without an adapter, got {llm!r}")
    rows, checked = (
        preference_rows(pairs, llm, "train"),
        preference_rows(validation, llm, "validation"),
    )
    start = (adapter / "adapter_model.safetensors").read_bytes()
    work = checkpoints(folder, llm.identity, tuning, rows, start)
    trainer = _Preferring(
        model=_started(llm, adapter, tuning),
        args=_arguments(work, len(rows), llm, tuning),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(checked),
        processing_class=copy.deepcopy(llm.tokenizer),  # it gets a token to pad with
    )
    counts = {"pairs": len(rows), "validation": len(checked)}
    recipe = {**about, **counts, **asdict(tuning), "strength": STRENGTH}
    return sft.finish(trainer, folder, work, llm, recipe)


class _Preferring(DPOTrainer):
    """TRL's, on tokens that are those the model reads when asked, and telling nobody of it."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        """As it is: TRL would take a document's text for control tokens of the chat."""
        return dataset

    def _send_telemetry(self) -> None:
        """Not sent."""


def preference_rows(pairs: Sequence[PreferencePair], llm: Transformers, name: str) -> list[sft.Row]:
    rows, sizes = [], []
    for pair in pairs[: sft.MAX_SAMPLES]:
        prompt = llm.encode(pair.prompt)
        replies = [[*ids, llm.tokenizer.eos_token_id] for ids in llm.plain(pair[1:])]
        rows.append({"prompt_ids": prompt, "chosen_ids": replies[0], "rejected_ids": replies[1]})
        sizes.append(len(prompt) + max(map(len, replies)))
    return sft.fitting(rows, sizes, llm, name)


def _started(llm: Transformers, adapter: Path, tuning: sft.Tuning) -> Any:
    model, start = sft.base_model(llm, tuning.seed), peft.PeftModel.from_pretrained
    return loaded(str(adapter), start, model, str(adapter), is_trainable=True)


def _arguments(work: Path, pairs: int, llm: Transformers, tuning: sft.Tuning) -> DPOConfig:
    plain = sft.arguments(work, pairs, llm, tuning)
    options = {f.name: getattr(plain, f.name) for f in fields(plain) if f.init}
    options["train_sampling_strategy"] = "random"
    return DPOConfig(**options, beta=STRENGTH, max_length=None)
