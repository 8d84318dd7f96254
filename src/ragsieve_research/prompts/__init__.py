"""Templates of the papers' stages, which `ragsieve.prompts.render` finds, and texts as they quote.

Passages stand in a prompt as JSON strings or numbered lines, as many of their words as fit.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import FRAME
from ragsieve.trace import note

WORD = 8  # characters that count as a word, where a text has no spaces

T = TypeVar("T")


def numbered(texts: Sequence[str]) -> str:
    """Texts as a list ``[1] …``, each on one line, so that none can pass for another's line."""
    return "\n".join(f"[{n}] {' '.join(text.split())}" for n, text in enumerate(texts, 1))


def quoted(text: str) -> str:
    """A text as a JSON string on one line: it ends where its quotes end, whatever it holds."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def shown(text: str, chars: int) -> str:
    """The same of a text's first so many characters, with a mark where there are more."""
    return quoted(text if len(text) <= chars else f"{text[:chars]} …")


def first_words(text: str, words: int) -> str:
    """The first so many words of a text, on one line."""
    return " ".join(text[: WORD * words].split()[:words])


def words_in(text: str) -> int:
    """Of how many words `first_words` reads all of a text."""
    return max(len(text.split()), -(-len(text) // WORD))


def begun(text: str, words: int) -> str:
    """The first so many words of a text as a JSON string, with a mark where there are more."""
    return quoted(text if words_in(text) <= words else f"{first_words(text, words)} …")


def fitting(
    llm: LLM, make: Callable[[int], Prompt], words: int, reply: int, *, least: int = 1
) -> Prompt:
    """The prompt of ``make`` with so many words of each passage, fewer where they do not fit.

    Args:
        llm: Whose context prompt and reply share.
        make: The prompt with the first so many words of each passage.
        words: So many at most; at least 1.
        reply: Tokens of the reply.
        least: So many in any case, also where they do not fit.
    """
    budget = llm.context - reply - FRAME

    def size(prompt: Prompt) -> int:
        return sum(llm.count([turn.content for turn in prompt]))

    prompt = make(words)
    if (used := size(prompt)) > budget:
        frame = size(make(least))
        while used > budget and words > least:
            share = (budget - frame) / max(1, used - frame)
            words = max(least, min(words - 1, least + int((words - least) * share)))
            prompt = make(words)
            used = size(prompt)
        note(f"{words} words of each passage are read: more do not fit the context")
    return prompt


def batched_by_size(items: Sequence[T], sizes: Sequence[int], limit: int) -> Iterator[list[T]]:
    """Items in runs whose sizes sum to at most ``limit``, in order; a larger item is alone."""
    run: list[T] = []
    left = limit
    for item, size in zip(items, sizes, strict=True):
        if run and size > left:
            yield run
            run, left = [], limit
        run.append(item)
        left -= size
    if run:
        yield run
