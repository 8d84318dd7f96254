"""Direct preference optimisation (DPO) of a LoRA adapter: of two replies, the better one."""

from __future__ import annotations

import copy
import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

try:
    import peft
    import torch
    import transformers
    from datasets import Dataset
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.dpo_trainer import DPOTrainer
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "trl", extra="train") from error

from ragsieve.errors import InputError
from ragsieve.models.base import Prompt
from ragsieve.models.loading import loaded
from ragsieve.models.seq2seq import Seq2Seq
from ragsieve.models.transformers import Transformers
from ragsieve.train import sft
from ragsieve.train.resuming import Clock, last_checkpoint

Row = dict[str, list[int]]


class Pair(NamedTuple):
    """A prompt with a better and a worse reply."""

    prompt: Prompt
    best: str
    worst: str


def prefer(
    folder: Path,
    pairs: Sequence[Pair],
    validation: Sequence[Pair],
    *,
    llm: Transformers,
    adapter: Path,
    tuning: sft.Tuning,
    about: Mapping[str, Any],
    strength: float = 0.1,
) -> sft.Log:
    """Write an adapter that prefers the better replies, starting from one that is tuned already.

    What it starts from is the reference, too. Tokens, checkpoints, seeds and what is written are
    those of `ragsieve.train.sft.tune`; the loss is TRL's. A run that was killed goes on.

    Args:
        folder: Becomes the adapter with its ``recipe.json``.
        pairs: To learn from; those over the model's context are left out.
        validation: By whose loss the best state is chosen.
        llm: The base model, without an adapter; no encoder-decoder.
        adapter: A PEFT adapter of it: where learning starts.
        tuning: How; ``rank`` and ``layers`` are those of ``adapter``, whatever is said here.
        about: What the recipe says beside.
        strength: DPO's beta: how dear it is to leave the reference; over 0.

    Returns:
        Entries as of `ragsieve.train.sft.tune`; those of validation have ``accuracy``, too: how
        often the better reply gained more than the worse one, in [0, 1].

    Raises:
        InputError: If an option breaks its rule, or no pair or no validation fits.
        ModelError: If the model or its adapter cannot be loaded.

    Source: Direct Preference Optimization (arXiv 2305.18290), section 4.
    """
    if isinstance(llm, Seq2Seq) or llm.adapter:
        raise InputError(f"llm must be a causal model without an adapter, got {llm!r}")
    if not strength > 0:
        raise InputError(f"strength must be over 0, got {strength!r}")
    rows, checked = _rows(pairs, llm, "pairs"), _rows(validation, llm, "validation")
    start = (adapter / "adapter_model.safetensors").read_bytes()
    said = repr((llm.identity, tuning, strength, rows)).encode() + start
    work = folder.with_name(f".{folder.name}.{hashlib.sha256(said).hexdigest()[:12]}.work")
    trainer = _Preferring(
        model=_started(llm, adapter, tuning),
        args=_arguments(work, len(rows), llm, tuning, strength),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(checked),
        processing_class=copy.deepcopy(llm._tokenizer),  # it gets a token to pad with
        callbacks=[Clock()],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=last_checkpoint(work))
    log = [entry for known in trainer.state.log_history if (entry := _entry(known))]
    if trainer.is_world_process_zero():
        tuned: Any = trainer.model
        tuned.delete_adapter("ref")
        sft._save(tuned, folder, llm)
        known = {**asdict(tuning), "strength": strength, "log": log}
        counts = {"pairs": len(rows), "validation": len(checked)}
        sft._write_recipe(folder, llm, {**about, **counts, **known})
        shutil.rmtree(work, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    return log


class _Preferring(DPOTrainer):
    """TRL's, on tokens that are those the model reads when asked, and telling nobody of it."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        """As it is: TRL would take a document's text for control tokens of the chat."""
        return dataset

    def _send_telemetry(self) -> None:
        """Not sent."""


def _rows(pairs: Sequence[Pair], llm: Transformers, name: str) -> list[Row]:
    most = min(sft.MAX_TOKENS, llm.context)
    rows = []
    for pair in pairs[: sft.MAX_SAMPLES]:
        prompt = llm._encode(pair.prompt)
        replies = [[*ids, llm._tokenizer.eos_token_id] for ids in llm._plain(pair[1:])]
        if len(prompt) + max(map(len, replies)) <= most:
            rows.append(
                {"prompt_ids": prompt, "chosen_ids": replies[0], "rejected_ids": replies[1]}
            )
    if not rows:
        raise InputError(f"{name} must hold one that fits {most} tokens, got {len(pairs)}")
    return rows


def _started(llm: Transformers, adapter: Path, tuning: sft.Tuning) -> Any:
    model = loaded(
        llm.model,
        transformers.AutoModelForCausalLM.from_pretrained,
        llm._folder,
        dtype=getattr(torch, llm._dtype),
        use_safetensors=True,
    )
    model.config.use_cache = False
    transformers.set_seed(tuning.seed)
    start = peft.PeftModel.from_pretrained
    return loaded(str(adapter), start, model, str(adapter), is_trainable=True)


def _arguments(
    work: Path, pairs: int, llm: Transformers, tuning: sft.Tuning, strength: float
) -> DPOConfig:
    plain = sft._arguments(work, pairs, llm, tuning)
    known = {f.name: getattr(plain, f.name) for f in fields(plain) if f.init}
    return DPOConfig(
        **{**known, "train_sampling_strategy": "random"}, beta=strength, max_length=None
    )


def _entry(known: Mapping[str, Any]) -> dict[str, float]:
    found = sft._entry(known)
    if "eval_rewards/accuracies" in known:
        found["accuracy"] = known["eval_rewards/accuracies"]
    return found
