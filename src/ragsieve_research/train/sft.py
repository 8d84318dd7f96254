"""Supervised fine-tuning of an LLM by LoRA, on prompts with replies."""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ragsieve.errors import InputError, needs_extra

with needs_extra("train"):
    import peft
    import torch
    import transformers
    from torch.nn.utils.rnn import pad_sequence
    from transformers.pytorch_utils import Conv1D

from ragsieve import models
from ragsieve.models.base import Prompt
from ragsieve.schema import Count, Options, Positive, Share
from ragsieve_research.artifacts.weights import sha256_in
from ragsieve_research.models.loading import fetched, loaded
from ragsieve_research.models.seq2seq import Seq2Seq
from ragsieve_research.models.store import NAMED
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.train import resuming
from ragsieve_research.train.artifacts import recipe_of
from ragsieve_research.train.resuming import QUIET, Log, checkpoints
from ragsieve_research.train.run import Run

MAX_SAMPLES = 10_000  # appendix A
MAX_TOKENS = 7168  # of an input; appendix A
IGNORED = -100  # a label that the loss leaves out

Row = dict[str, list[int]]
Measure = Callable[[Transformers], Mapping[str, Any]]


class PromptSample(NamedTuple):
    """A prompt and the reply to learn for it."""

    prompt: Prompt
    target: str


@dataclass(frozen=True, kw_only=True)
class Tuning(Options):
    """Options of tuning an LLM; defaults are the paper's for models of 7 billion weights and more.

    Args:
        rank: Of LoRA's matrices, on all linear layers; its alpha is twice that. At least 1.
        layers: Upper share of the layers that is tuned, in (0, 1]; those below run without
            gradients and keep nothing, so that 1/3 takes about half the time. Of an encoder-decoder
            the decoder is above.
        lr: Learning rate at its height, after a warm-up of 5 % of the steps.
        epochs: How often all samples are read; at least 1.
        batch_size: Samples of a step on one device; at least 1.
        checks: How often validation looks, in equal steps; the best look is kept. At least 1.
        seed: Of the first weights and the order of samples.

    Raises:
        InputError: If an option breaks its rule.

    Source: FineFilter (arXiv 2502.11811v4), appendix A; rank and layers are ours.
    """

    rank: Count = 16
    layers: Share = 1.0
    lr: Positive = 5e-4
    epochs: Count = 16
    batch_size: Count = 4
    checks: Count = 16
    seed: int = 0


def tune(
    folder: Path,
    samples: Sequence[PromptSample],
    validation: Sequence[PromptSample],
    *,
    llm: Transformers,
    tuning: Tuning,
    about: Mapping[str, Any],
    measure: Measure | None = None,
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
    rows = _rows(samples[:MAX_SAMPLES], llm, "train")
    checked = _rows(validation, llm, "validation")
    work = checkpoints(folder, llm.identity, tuning, rows)
    trainer = transformers.Trainer(
        model=with_lora(llm, tuning),
        args=arguments(work, len(rows), llm, tuning),
        train_dataset=rows,
        eval_dataset=checked,
        data_collator=_batch if isinstance(llm, Seq2Seq) else right_aligned,
    )
    counts = {"samples": len(rows), "validation": len(checked)}
    return finish(trainer, folder, work, llm, {**about, **counts, **asdict(tuning)}, measure)


def finish(
    trainer: transformers.Trainer,
    folder: Path,
    work: Path,
    llm: Transformers,
    recipe: Mapping[str, Any],
    measure: Measure | None = None,
) -> Log:
    """Run a trainer, and write its adapter with ``recipe.json``; the log, as of `tune`.

    Args:
        trainer: Ready to train.
        folder: Becomes the adapter.
        work: Its checkpoints, removed at the end.
        llm: The base model.
        recipe: What ``recipe.json`` says beside base, libraries, figures and log.
        measure: See `tune`.
    """

    def values() -> dict[str, Any]:
        tuned = replace(llm, adapter=str(folder))
        figures = {"before": measure(llm), "after": measure(tuned)} if measure else {}
        return {
            "base": _public_name(llm),
            "base_sha256": sha256_in(fetched(llm.model, ["*.safetensors"])),
            "made_with": {name: version(name) for name in ("torch", "transformers", "peft")},
            **recipe,
            **figures,
        }

    return resuming.finish(trainer, folder, work, save=partial(_save, llm=llm), recipe=values)


def tune_once(
    run: Run,
    llm: Transformers,
    samples: Sequence[Sequence[PromptSample]],
    *,
    tuning: Tuning,
    about: Mapping[str, Any],
    measure: Measure | None = None,
) -> Path:
    """Path of a run's adapter, trained with `tune` where an earlier start has not.

    Args:
        run: Where it works.
        llm: The model to tune.
        samples: To learn from, and of validation.
        tuning: See `tune`; so for ``about`` and ``measure``.
        about: What the recipe says beside.
        measure: Figures of a model.
    """
    adapter = run.adapter(llm.identity, tuning, about, samples)
    if not recipe_of(adapter):
        tune(adapter, *samples, llm=llm, tuning=tuning, about=about, measure=measure)
    return adapter


def tunable(name: str, option: str = "llm") -> Transformers:
    """The local model that ``name`` says, reading at most `MAX_TOKENS`.

    Raises:
        InputError: If it is none that can be tuned here.
    """
    llm = models.load(name)
    if not isinstance(llm, Transformers):
        rule = "must be a local one, transformers:… or seq2seq:…"
        raise InputError(f"{option} {rule}, got {name!r}")
    return replace(llm, max_context=min(MAX_TOKENS, llm.context))


def row(sample: PromptSample, llm: Transformers) -> Row:
    """The tokens of a sample as a model is trained on them: the reply ends the turn.

    Of an encoder-decoder ``input_ids`` are the prompt's tokens and ``labels`` the reply's; of
    others both have all tokens, and the labels of the prompt's are `IGNORED`.
    """
    prompt = llm.encode(sample.prompt)
    reply = [*llm.plain([sample.target])[0], llm.tokenizer.eos_token_id]
    if isinstance(llm, Seq2Seq):
        return {"input_ids": prompt, "labels": reply}
    return {"input_ids": prompt + reply, "labels": [IGNORED] * len(prompt) + reply}


def _rows(samples: Sequence[PromptSample], llm: Transformers, name: str) -> list[Row]:
    rows = [row(sample, llm) for sample in samples]
    return fitting(rows, [len(r["input_ids"]) for r in rows], llm, name)


def fitting(rows: Sequence[Row], sizes: Sequence[int], llm: Transformers, name: str) -> list[Row]:
    """The rows whose size in tokens fits the model.

    Raises:
        InputError: If none does; it names the part, ``name``.
    """
    most = min(MAX_TOKENS, llm.context)
    fits = [row for row, size in zip(rows, sizes, strict=True) if size <= most]
    if not fits:
        raise InputError(
            f"{name} must have at least 1 prompt with its reply in {most} tokens, "
            f"got 0 of {len(rows)}"
        )
    return fits


def base_model(llm: Transformers, seed: int) -> Any:
    """The model to train, from here on by ``seed``."""
    seq2seq = isinstance(llm, Seq2Seq)
    auto = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    dtype = getattr(torch, llm.computed_dtype)
    model = loaded(llm.model, auto.from_pretrained, llm.folder, dtype=dtype, use_safetensors=True)
    model.config.use_cache = False
    transformers.set_seed(seed)
    return model


def with_lora(llm: Transformers, tuning: Tuning) -> Any:
    model = base_model(llm, tuning.seed)
    config = peft.LoraConfig(
        task_type="SEQ_2_SEQ_LM" if isinstance(llm, Seq2Seq) else "CAUSAL_LM",
        r=tuning.rank,
        lora_alpha=2 * tuning.rank,
        target_modules=_tuned(model, tuning.layers),
    )
    return peft.get_peft_model(model, config)


def _tuned(model: torch.nn.Module, share: float) -> list[str]:
    """Names of the linear maps in the upper ``share`` of the layers, at least in one layer.

    A layer is the first numbered module on the way down: ``model.layers.7``, ``decoder.block.7``.
    """
    layers: dict[str, list[str]] = {}
    for name, module in model.named_modules():
        layer = re.match(r"(?:[^.]+\.)*?\d+\.", name)
        if layer and isinstance(module, torch.nn.Linear | Conv1D):
            layers.setdefault(layer[0], []).append(name)
    upper = list(layers)[-max(1, round(share * len(layers))) :]
    return [name for layer in upper for name in layers[layer]]


def arguments(
    work: Path, samples: int, llm: Transformers, tuning: Tuning
) -> transformers.TrainingArguments:
    """The trainer's options for so many samples."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))  # as torchrun and accelerate set it
    steps = tuning.epochs * math.ceil(samples / (tuning.batch_size * processes))
    every = math.ceil(steps / tuning.checks)
    cpu = torch.device(llm.used_device).type == "cpu"
    together = 1 if cpu else tuning.batch_size  # a processor gains nothing by more, and pads
    return transformers.TrainingArguments(
        output_dir=str(work),
        num_train_epochs=tuning.epochs,
        per_device_train_batch_size=together,
        per_device_eval_batch_size=together,
        gradient_accumulation_steps=tuning.batch_size // together,
        train_sampling_strategy="random" if cpu else "group_by_length",
        learning_rate=tuning.lr,
        warmup_steps=0.05,
        bf16=llm.computed_dtype == "bfloat16",
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
        **QUIET,
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


def right_aligned(rows: Sequence[Row]) -> dict[str, Any]:
    """A batch whose logits are made for the targets only: of a prompt they would fill gigabytes."""
    batch = _batch(rows, side="left")
    # one place more: the token before the first target foretells it
    kept = 1 + max(sum(n != IGNORED for n in r["labels"]) for r in rows)
    places = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    labels = batch["labels"][:, -kept:]
    return {**batch, "labels": labels, "position_ids": places, "logits_to_keep": kept}


def _save(model: Any, folder: Path, llm: Transformers) -> None:
    """Write the adapter in the base's precision, under the base's public name."""
    config = model.peft_config["default"]
    config.base_model_name_or_path = _public_name(llm)
    config.target_modules = sorted(config.target_modules)  # a set has another order each time
    dtype = getattr(torch, llm.computed_dtype)
    weights = {k: v.to(dtype) for k, v in peft.get_peft_model_state_dict(model).items()}
    options = {"safe_serialization": True, "selected_adapters": ["default"]}  # no reference of DPO
    model.save_pretrained(folder, state_dict=weights, **options)
    (folder / "README.md").unlink(missing_ok=True)  # peft's empty card


def _public_name(llm: Transformers) -> str:
    return NAMED[llm.model].hub.partition("@")[0] if llm.model in NAMED else llm.model
