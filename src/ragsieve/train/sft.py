"""Supervised fine-tuning of an LLM by LoRA: prompts with the replies that they should get."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

try:
    import peft
    import torch
    import transformers
    from huggingface_hub import snapshot_download
    from torch.nn.utils.rnn import pad_sequence
    from transformers.pytorch_utils import Conv1D
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "peft", extra="train") from error

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.base import Prompt
from ragsieve.models.loading import loaded
from ragsieve.models.seq2seq import Seq2Seq
from ragsieve.models.store import NAMED
from ragsieve.models.transformers import Transformers
from ragsieve.train.resuming import Clock, last_checkpoint

MAX_SAMPLES = 10_000  # appendix A
MAX_TOKENS = 7168  # of an input; appendix A
IGNORED = -100  # a label that the loss leaves out

Row = dict[str, list[int]]
Log = list[dict[str, float]]


class Sample(NamedTuple):
    """A prompt and the reply to learn for it."""

    prompt: Prompt
    target: str


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How an LLM is tuned; the defaults are the paper's for models of 7 billion weights and more.

    Args:
        rank: Of LoRA's matrices, on all linear layers; its alpha is twice that. At least 1.
        layers: Upper share of the layers that is tuned, in (0, 1]; those below run without
            gradients and keep nothing, so that 1/3 takes about half the time. Of an encoder-decoder
            the decoder is above.
        lr: Learning rate at its height, after a warm-up of 5 % of the steps.
        epochs: How often all samples are read; at least 1.
        max_steps: Fewer steps than that makes; no limit where None.
        batch_size: Samples of a step on one device; at least 1.
        checks: How often validation looks, in equal steps; the best look is kept. At least 1.
        seed: Of the first weights and the order of samples.

    Raises:
        InputError: If an option breaks its rule.

    Source: FineFilter (arXiv 2502.11811v4), appendix A; rank and layers are ours.
    """

    rank: int = 16
    layers: float = 1.0
    lr: float = 5e-4
    epochs: int = 16
    max_steps: int | None = None
    batch_size: int = 4
    checks: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rank", "epochs", "max_steps", "batch_size", "checks"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value!r}")
        if not 0 < self.layers <= 1:
            raise InputError(f"layers must lie in (0, 1], got {self.layers!r}")
        if not 0 < self.lr < math.inf:
            raise InputError(f"lr must be positive, got {self.lr!r}")


def tune(
    folder: Path,
    samples: Sequence[Sample],
    validation: Sequence[Sample],
    *,
    llm: Transformers,
    tuning: Tuning,
    about: Mapping[str, Any],
    measure: Callable[[Transformers], Mapping[str, Any]] | None = None,
) -> Log:
    """Write a PEFT adapter with which ``llm`` gives the samples' replies; what happened, as a log.

    The loss is the cross-entropy of the targets' tokens. What is read is token for token what the
    model reads when it is asked. A run that was killed goes on from its last checkpoint, which lies
    beside ``folder`` until the run ends. Under ``accelerate launch`` all processes call this, and
    one of them writes.

    Args:
        folder: Becomes ``adapter_config.json``, ``adapter_model.safetensors`` and ``recipe.json``,
            which says what made it, from what and how it went.
        samples: To learn from; those over `MAX_TOKENS` or over the model's context are left out,
            and all behind the first `MAX_SAMPLES`.
        validation: By whose loss the best state is chosen.
        llm: The model to tune; without an adapter.
        tuning: How.
        about: What the recipe says of the part beside: its name, its options.
        measure: Figures of a model, for the recipe: taken of ``llm`` without and with the adapter.

    Returns:
        Entries with ``step``, ``epoch``, ``seconds`` and either ``loss`` (of training, with
        ``lr`` and ``tokens`` read so far) or ``validation_loss``.

    Raises:
        InputError: If there is no sample or no validation that fits.
        ModelError: If the model cannot be loaded.
    """
    if llm.adapter:
        raise InputError(f"llm must have no adapter yet, got {llm.adapter!r}")
    rows = _rows(samples[:MAX_SAMPLES], llm, "samples")
    checked = _rows(validation, llm, "validation")
    work = _work(folder, rows, llm, tuning)
    trainer = transformers.Trainer(
        model=_with_lora(llm, tuning),
        args=_arguments(work, len(rows), llm, tuning),
        train_dataset=rows,
        eval_dataset=checked,
        data_collator=_batch if isinstance(llm, Seq2Seq) else _right_aligned,
        callbacks=[Clock()],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=last_checkpoint(work))
    log = [entry for known in trainer.state.log_history if (entry := _entry(known))]
    if trainer.is_world_process_zero():
        _save(trainer.model, folder, llm)
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        tuned = replace(llm, adapter=str(folder))
        figures = {"before": measure(llm), "after": measure(tuned)} if measure else {}
        counts = {"samples": len(rows), "validation": len(checked)}
        _write_recipe(folder, llm, {**about, **counts, **asdict(tuning), **figures, "log": log})
        shutil.rmtree(work, ignore_errors=True)
    return log


def tunable(name: str) -> Transformers:
    """The local model that ``name`` says, reading at most `MAX_TOKENS`.

    Raises:
        InputError: If it is none that can be tuned here.
    """
    llm = models.load(name)
    if not isinstance(llm, Transformers):
        raise InputError(f"llm must be a local one, transformers:… or seq2seq:…, got {name!r}")
    return replace(llm, max_context=min(MAX_TOKENS, llm.context))


def row(sample: Sample, llm: Transformers) -> Row:
    """The tokens of a sample as a model is trained on them: the reply ends the turn.

    Of an encoder-decoder ``input_ids`` are the prompt's tokens and ``labels`` the reply's; of
    others both have all tokens, and the labels of the prompt's are `IGNORED`.
    """
    prompt = llm._encode(sample.prompt)
    reply = [*llm._plain([sample.target])[0], llm._tokenizer.eos_token_id]
    if isinstance(llm, Seq2Seq):
        return {"input_ids": prompt, "labels": reply}
    return {"input_ids": prompt + reply, "labels": [IGNORED] * len(prompt) + reply}


def _rows(samples: Sequence[Sample], llm: Transformers, name: str) -> list[Row]:
    most = min(MAX_TOKENS, llm.context)
    rows = [r for s in samples if len((r := row(s, llm))["input_ids"]) <= most]
    if not rows:
        raise InputError(f"{name} must hold one that fits {most} tokens, got {len(samples)}")
    return rows


def _work(folder: Path, rows: Sequence[Row], llm: Transformers, tuning: Tuning) -> Path:
    """Where checkpoints lie; another run's are never taken up."""
    said = repr((llm.identity, tuning, rows)).encode()
    return folder.with_name(f".{folder.name}.{hashlib.sha256(said).hexdigest()[:12]}.work")


def _with_lora(llm: Transformers, tuning: Tuning) -> Any:
    kind = isinstance(llm, Seq2Seq)
    auto = transformers.AutoModelForSeq2SeqLM if kind else transformers.AutoModelForCausalLM
    dtype = getattr(torch, llm._dtype)
    model = loaded(llm.model, auto.from_pretrained, llm._folder, dtype=dtype, use_safetensors=True)
    model.config.use_cache = False
    transformers.set_seed(tuning.seed)
    config = peft.LoraConfig(
        task_type="SEQ_2_SEQ_LM" if kind else "CAUSAL_LM",
        r=tuning.rank,
        lora_alpha=2 * tuning.rank,
        target_modules=_tuned(model, tuning.layers),
    )
    return peft.get_peft_model(model, config)


def _tuned(model: torch.nn.Module, share: float) -> list[str]:
    """Names of the linear maps in the upper ``share`` of the layers, at least in one layer.

    A layer is the first numbered module on the way down: ``model.layers.7``, ``decoder.block.7``.
    """
    found: dict[str, list[str]] = {}
    for name, module in model.named_modules():
        layer = re.match(r"(?:[^.]+\.)*?\d+\.", name)
        if layer and isinstance(module, torch.nn.Linear | Conv1D):
            found.setdefault(layer[0], []).append(name)
    upper = list(found)[-max(1, round(share * len(found))) :]
    return [name for layer in upper for name in found[layer]]


def _arguments(
    work: Path, samples: int, llm: Transformers, tuning: Tuning
) -> transformers.TrainingArguments:
    processes = int(os.environ.get("WORLD_SIZE", "1"))  # as torchrun and accelerate set it
    steps = tuning.epochs * math.ceil(samples / (tuning.batch_size * processes))
    every = math.ceil(min(steps, tuning.max_steps or steps) / tuning.checks)
    cpu = torch.device(llm._device).type == "cpu"
    together = 1 if cpu else tuning.batch_size  # a processor gains nothing by more, and pads
    return transformers.TrainingArguments(
        output_dir=str(work),
        num_train_epochs=tuning.epochs,
        max_steps=tuning.max_steps if tuning.max_steps and tuning.max_steps < steps else -1,
        per_device_train_batch_size=together,
        per_device_eval_batch_size=together,
        gradient_accumulation_steps=tuning.batch_size // together,
        train_sampling_strategy="random" if cpu else "group_by_length",
        learning_rate=tuning.lr,
        warmup_steps=0.05,
        bf16=llm._dtype == "bfloat16",
        use_cpu=cpu,
        eval_strategy="steps",
        eval_steps=every,
        save_steps=every,
        save_total_limit=1,  # beside the best one
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        prediction_loss_only=True,
        logging_steps=max(1, every // 5),
        include_num_input_tokens_seen="non_padding",
        seed=tuning.seed,
        report_to=[],
        disable_tqdm=True,
        log_level="error",
    )


def _batch(rows: Sequence[Row], side: str = "right") -> dict[str, Any]:
    """Rows as tensors of one width, padded at ``side``."""

    def padded(values: Sequence[Sequence[int]], empty: int) -> torch.Tensor:
        tensors = [torch.tensor(v) for v in values]
        return pad_sequence(tensors, batch_first=True, padding_value=empty, padding_side=side)

    tokens = [r["input_ids"] for r in rows]
    return {
        "input_ids": padded(tokens, 0),
        "attention_mask": padded([[1] * len(t) for t in tokens], 0),
        "labels": padded([r["labels"] for r in rows], IGNORED),
    }


def _right_aligned(rows: Sequence[Row]) -> dict[str, Any]:
    """A batch whose logits are made for the targets only: of a prompt they would fill gigabytes."""
    batch = _batch(rows, side="left")
    # one place more: the token before the first target foretells it
    kept = 1 + max(sum(n != IGNORED for n in r["labels"]) for r in rows)
    places = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    labels = batch["labels"][:, -kept:]
    return {**batch, "labels": labels, "position_ids": places, "logits_to_keep": kept}


_NAMES = {
    "step": "step",
    "epoch": "epoch",
    "seconds": "seconds",
    "loss": "loss",
    "eval_loss": "validation_loss",
    "learning_rate": "lr",
    "num_input_tokens_seen": "tokens",
}


def _entry(known: Mapping[str, Any]) -> dict[str, float]:
    """A log entry of transformers in our words; empty where it holds no loss."""
    if not {"loss", "eval_loss"} & known.keys():
        return {}
    return {ours: known[theirs] for theirs, ours in _NAMES.items() if theirs in known}


def _save(model: Any, folder: Path, llm: Transformers) -> None:
    """Write the adapter in the base's precision, under the base's public name."""
    config = model.peft_config["default"]
    config.base_model_name_or_path = _base_name(llm)
    config.target_modules = sorted(config.target_modules)  # a set has another order each time
    dtype = getattr(torch, llm._dtype)
    weights = {k: v.to(dtype) for k, v in peft.get_peft_model_state_dict(model).items()}
    model.save_pretrained(folder, state_dict=weights, safe_serialization=True)
    Path(folder, "README.md").unlink(missing_ok=True)  # peft's empty card


def _write_recipe(folder: Path, llm: Transformers, known: Mapping[str, Any]) -> None:
    recipe = {
        "base": _base_name(llm),
        "base_sha256": _sha256(llm),
        "made_with": {name: version(name) for name in ("torch", "transformers", "peft")},
        **known,
    }
    text = json.dumps(recipe, indent=1, ensure_ascii=False) + "\n"
    Path(folder, "recipe.json").write_text(text, encoding="utf-8")


def _base_name(llm: Transformers) -> str:
    return NAMED[llm.model].hub.partition("@")[0] if llm.model in NAMED else llm.model


def _sha256(llm: Transformers) -> str:
    """Of the base's weights; of several files, of their sums in order of their names."""
    folder = Path(llm._folder)
    if not folder.is_dir():  # the hub's, and already here
        folder = Path(
            snapshot_download(llm.model, allow_patterns="*.safetensors", local_files_only=True)
        )
    sums = []
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            sums.append(hashlib.file_digest(file, "sha256").hexdigest())
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
