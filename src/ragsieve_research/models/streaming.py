"""Replies of local models while they are written: tokens out of their thread, then their text."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue


def stream_tokens(start: Callable[[Callable[[int], None]], Future[object]]) -> Iterator[int]:
    """Yield the tokens that some work passes on while it runs elsewhere; raises what it raises.

    Args:
        start: Starts the work, which calls its argument with each token. Once nobody listens any
            more, that call raises, so that the work ends.
    """
    tokens: SimpleQueue[int | None] = SimpleQueue()
    listening = True

    def on_token(token: int) -> None:
        if not listening:
            raise CancelledError
        tokens.put(token)

    work = start(on_token)
    work.add_done_callback(lambda _: tokens.put(None))
    try:
        while (token := tokens.get()) is not None:
            yield token
        work.result()
    finally:
        listening = False


def as_text(
    tokens: Iterable[int], decode: Callable[[list[int]], str], *, by_words: bool = False
) -> Generator[str, None, int]:
    """Yield pieces of the text of tokens, joined what ``decode`` makes of all; returns how many.

    Args:
        tokens: One by one.
        decode: The text of tokens. Later ones may complete the last character, nothing before it.
        by_words: Whether later ones may change the last word, too, and the space before it.
    """
    seen: list[int] = []
    shown = 0
    for token in tokens:
        seen.append(token)
        text = decode(seen)
        text = text[: max(text.rfind(" "), 0)] if by_words else text.rstrip("\ufffd")
        if len(text) > shown:
            yield text[shown:]
            shown = len(text)
    if rest := decode(seen)[shown:]:
        yield rest
    return len(seen)
