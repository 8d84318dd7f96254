"""Loading local models: quietly, with errors of one line, and all in one thread."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from ragsieve.errors import ModelError, needs_extra

with needs_extra("local"):
    import torch
    from tokenizers import Tokenizer
    from torch.nn.utils.rnn import pad_sequence
    from transformers.utils import logging as _logging

from ragsieve.models.files import loading, log_loading, snapshot
from ragsieve.models.reopen import Reopened, once
from ragsieve.schema import Count, Options
from ragsieve.trace import Usage, record_usage
from ragsieve_research.models import reflection, store

SMALL = 500_000_000
BATCH_TOKENS = 2**13
Dtype = Literal["auto", "bfloat16", "float32"]
_ADAPTER = "adapter_model.safetensors"

logging: Any = _logging  # its functions have no types

T = TypeVar("T")


@dataclass(frozen=True)
class LocalModel(Reopened):
    """Base of local models: the place of the weights, and where they compute.

    Args:
        model: A named model (`ragsieve models list`), a folder, or a hub id.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.
    """

    model: str
    device: str | None = field(default=None, kw_only=True)
    lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _files: ClassVar[Sequence[str]] = ()  # patterns of what is fetched from the hub

    @property
    def used_device(self) -> str:
        return self.device or available_device()

    @once
    def folder(self) -> Path:
        return fetched(self.model, self._files)


@dataclass(frozen=True)
class PreciseModel(Options, LocalModel):
    """A local model with a choice of precision.

    Args:
        dtype: One of `Dtype`; see `precision`.

    Raises:
        InputError: If ``dtype`` is none of them.
    """

    dtype: Dtype = field(default="auto", kw_only=True)

    @property
    def computed_dtype(self) -> str:
        return precision(self.dtype, self.used_device)


@dataclass(frozen=True)
class BatchedModel(PreciseModel):
    """A local model that computes several texts together, within a bound of memory.

    Args:
        batch_tokens: Tokens that are computed together at most, with those of padding and, of an
            LLM, those that it may write; what is longer than that is computed alone.

    Raises:
        InputError: If ``batch_tokens`` is under 1.
    """

    batch_tokens: Count = field(default=BATCH_TOKENS, kw_only=True)


def fitting(batch_tokens: int, longest: int) -> int:
    """Number of rows, padded to the ``longest``, that fit a batch; at least 1."""
    return max(1, batch_tokens // max(1, longest))


def loaded(name: str, load: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result of ``load``, without its bars and warnings.

    Raises:
        ModelError: If it fails; one line that names the model.
    """
    with loading(name), _quiet():
        return load(*args, **options)


def pretrained(
    name: str, kind: Any, source: str, dtype: str, *, rule: str = "", **options: Any
) -> Any:
    """A model of transformers from safetensors, ready to compute, on the CPU.

    Args:
        name: What it is called in errors.
        kind: Its class, as ``AutoModel``.
        source: A folder, or a hub id.
        dtype: Of its weights.
        rule: What it must be so that no weight is missing; missing ones are made up where empty.
        options: Of ``from_pretrained``.

    Raises:
        ModelError: If it cannot be loaded, or lacks weights.
    """
    log_loading(name)
    model, read = compute(
        loaded,
        name,
        kind.from_pretrained,
        source,
        dtype=getattr(torch, dtype),
        use_safetensors=True,
        output_loading_info=True,
        **options,
    )
    if rule and (missing := sorted(read["missing_keys"])):
        raise ModelError(f"model {name!r} must {rule}, it lacks {missing[0]}")
    return model.eval()


def compute(function: Callable[..., T], *args: Any, **options: Any) -> T:
    """Run ``function`` in the one thread in which all local models compute.

    OpenMP keeps its own workers for every thread that computes. With more of them than cores it
    lets them sleep between any two products, and decoding takes twice as long.
    """
    return computing(function, *args, **options).result()


def computing(function: Callable[..., T], *args: Any, **options: Any) -> Future[T]:
    """The same, not waited for."""
    return _thread().submit(function, *args, **options)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="ragsieve-compute")


os.register_at_fork(after_in_child=_thread.cache_clear)


def available_device() -> str:
    """An accelerator if there is one."""
    return "cuda" if store.has_accelerator() else "cpu"


def precision(dtype: str, device: str) -> str:
    """The one of `Dtype` that ``"auto"`` stands for: float32 on a CPU, else bfloat16.

    In float32 the same input gives the same numbers to about 1e-5 whatever is computed beside it,
    on any processor; in bfloat16 to about 1e-2, at half to two thirds of the time.
    """
    if dtype != "auto":
        return dtype
    return "float32" if torch.device(device).type == "cpu" else "bfloat16"


def batches(
    rows: Sequence[Sequence[int]], batch_tokens: int, pad: int, device: Any
) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
    """Rows of token ids, those of about one length together: their places, ids and mask."""
    order = sorted(range(len(rows)), key=lambda n: -len(rows[n]))  # little padding
    while order:
        count = fitting(batch_tokens, len(rows[order[0]]))
        part, order = order[:count], order[count:]
        tensors = [torch.tensor(rows[n], device=device) for n in part]
        ids = pad_sequence(tensors, batch_first=True, padding_value=pad)
        mask = pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True)
        yield part, ids, mask


def cached(model: Any, states: Any) -> dict[str, Any]:
    """A cache by the name that a model takes it by: ``cache`` from transformers 5.24 on."""
    known = "cache" in signature(model.forward).parameters
    return {"cache" if known else "past_key_values": states}


def own_tokenizer(tokenizer: Any, *, plain: bool) -> Tokenizer:
    """A copy of a fast tokenizer's inside that neither pads nor truncates.

    Args:
        tokenizer: A tokenizer of transformers.
        plain: Whether control tokens in a text are text like any other, but for reflection tokens.
    """
    return reflection.retokenized(tokenizer.backend_tokenizer.to_str(), plain=plain)


def over(limit: int) -> str:
    """The trace's note on a text that is longer than what is read of it."""
    return f"a text has over {limit} tokens: only these count"


def record_texts(identity: str, sizes: Sequence[int], limit: int, *, embedded: bool) -> None:
    """Record the tokens of texts that are read up to ``limit``; a note says which are longer."""
    note = over(limit)
    record_usage(
        [
            Usage(identity, min(size, limit), note=note * (size > limit), embedded=embedded)
            for size in sizes
        ]
    )


def is_small(config: Any) -> bool:
    """Whether a model has under 500 million weights: attention and nets four times its width."""
    return bool(config.num_hidden_layers * 12 * config.hidden_size**2 < SMALL)


def fetched(model: str, files: Sequence[str]) -> Path:
    """Find a model: its folder, or what the hub has of such files of it.

    Raises:
        ModelError: If the hub has no such model, or cannot be reached.
    """
    with _quiet():
        return store.fetched(model, files)


def adapted(model: Any, name: str, folder: str) -> Any:
    """``model`` with a PEFT adapter merged into its weights.

    Args:
        model: A model of transformers.
        name: What the adapter is called in errors.
        folder: Where it lies, or its hub id.

    Raises:
        ModelError: If it has no safetensors, does not fit the model, or cannot be merged.
        MissingExtra: If peft is not installed.
    """
    with needs_extra("local"):
        import peft

    def merge() -> Any:
        files = ["adapter_config.json", _ADAPTER]
        there = folder if Path(folder).is_dir() else snapshot(folder, files)
        if not Path(there, _ADAPTER).is_file():  # peft would read a pickle instead
            raise OSError(f"it must hold {_ADAPTER}")
        return peft.PeftModel.from_pretrained(model, there).merge_and_unload()

    return loaded(name, merge)


@contextmanager
def _quiet() -> Iterator[None]:
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
