"""Models that several threads share for the time of a block: batched, and remembered in a file."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ragsieve.models.wrap import is_concurrent

Share = Callable[[Any], Any]

_JOINED = 256  # items of a batch at most, where nobody knows how many call
_JOIN_S = 0.002  # until calls that were answered together have come again


def batch_of(model: Any) -> tuple[int, float]:
    """Items of a model that are one batch, at most, and seconds to wait for others."""
    if hasattr(model, "complete"):  # takes seconds: it pays to wait for who embeds
        return 32, 0.2
    one_by_one = hasattr(model, "prune") or hasattr(model, "rank")  # one question at a time
    return (1, 0.0) if one_by_one else (2048, 0.02)


@contextmanager
def sharing(callers: int | None, *, cache: Path | None = None) -> Iterator[Share]:
    """Yield a function that shares a model among ``callers`` threads, until the block ends.

    Args:
        callers: Threads that will call; a single one needs no batches. None: nobody knows how many;
            calls are joined while the model is busy, none waits for others who may not come, and
            the end of the block for none of them.
        cache: A file that remembers replies, where wanted; see `ragsieve.models.cache`.
    """
    with ExitStack() as stack:

        def share(model: Any) -> Any:
            size, wait = batch_of(model)
            if callers is None:
                size, wait = min(size, _JOINED), _JOIN_S
            if callers != 1 and not is_concurrent(model):
                from ragsieve.models.batcher import DynamicBatcher

                shared = DynamicBatcher(model, max_batch=size, wait_s=wait, callers=callers or 1)
                model = stack.enter_context(shared) if callers else shared
            if cache is None:
                return model
            from ragsieve.models.cache import Cached  # which not every run needs

            return stack.enter_context(Cached(model, cache))

        try:
            yield share
        except KeyboardInterrupt:
            stack.pop_all()  # closing would wait for what the models are at
            raise
