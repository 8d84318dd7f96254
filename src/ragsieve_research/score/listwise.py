"""Listwise reranking: a model orders a list of segments, window by window."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ragsieve.errors import BadReply, InputError, ModelError
from ragsieve.models.base import LLM, ListwiseReranker, Prompt
from ragsieve.models.wrap import unwrap
from ragsieve.prompts import render, titled
from ragsieve.schema import Count, Options, check_options
from ragsieve.score.base import Scorer
from ragsieve.trace import note
from ragsieve.types import Query, Segment, rounded
from ragsieve_research.models.choices import odds
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import Field, numbers, read_fields
from ragsieve_research.prompts import first_words, fitting, numbered

Mode = Literal["write", "first"]

MAX_WORDS = 300
"""Words of a passage that an LLM reads to rank it, fewer where they do not fit its context."""

_ORDER = Field("identifiers in order, as in [2] > [1]", numbers(10**9), ("order", "ranking"))
_PLACE = re.compile(r"\[(\d{1,9})\]")


@dataclass(frozen=True)
class Listwise(Scorer):
    """A segment's place in the order that a model gives the list, in (0, 1]: the first of n has 1.

    The place r, from 0, of n scores 1 - r/n. Of a list longer than a window the last segments are
    ordered first, then a window that begins ``step`` before; so the best of each goes on into the
    next, up to the head of the list.

    Args:
        ranker: Orders a window: `Permuting` with an LLM, or a model trained for it.
        window: Segments that are ordered at once; at least 2.
        step: By which the window moves towards the head; at least 1, at most ``window``.
        passes: How often it moves there, each time down to what the one before has put in front; at
            least 1.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails, or gives no order of the list.

    Source: RankGPT (arXiv 2304.09542), section 3.2, "Sliding Window Strategy"; 20 and 10.
    """

    ranker: ListwiseReranker
    window: Annotated[int, Meta(ge=2)] = 20
    step: Count = 10
    passes: Count = field(default=1, kw_only=True)
    name: ClassVar[str] = "listwise"

    def __post_init__(self) -> None:
        check_options(self)
        if self.step > self.window:
            raise InputError(f"step must be from 1 to window={self.window}, got {self.step!r}")

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Places as shares, ``(len(segments),)``."""
        texts = [titled(s) for s in segments]
        order = list(range(len(texts)))
        for first in (n * (self.window - self.step) for n in range(self.passes)):
            end = len(order)
            while True:
                start = max(first, end - self.window)
                order[start:end] = self._ordered(query, texts, order[start:end])
                if start == first:
                    break
                end -= self.step
        scores = np.empty(len(order), np.float32)
        scores[order] = 1 - np.arange(len(order)) / len(order)
        return scores

    def _ordered(self, query: Query, texts: Sequence[str], window: list[int]) -> list[int]:
        if len(window) < 2:
            return window
        (places,) = self.ranker.rank([query.text], [[texts[place] for place in window]])
        if sorted(places) != [*range(len(window))]:
            raise ModelError(f"an order must have each of {len(window)} once, got {places!r:.100}")
        return [window[place] for place in places]


@dataclass(frozen=True)
class Permuting(Options):
    """An LLM that orders passages: a `ListwiseReranker`.

    Written orders are numbers in a row, with or without brackets, behind a label or alone. An
    unreadable reply is requested once more, then the order of the input stands. In what can be
    read, identifiers that are missing follow in that order, and those that come again or name no
    passage are left out; the trace counts such replies.

    Args:
        llm: Orders.
        mode: ``"write"``: the order is written out, as in the paper. ``"first"``: one pass gives
            the probability of each identifier as the reply, and these are the order; the model
            must be able to `choose`.

    Raises:
        InputError: If an option breaks its rule.
        Unsupported: If the model cannot do what the mode asks of it.
        ModelError: If it fails.

    Source: RankGPT (arXiv 2304.09542), section 3.1 and appendix A; FIRST (arXiv 2406.15657),
        section 3, for ``"first"``.
    Differs: Passages stand in one turn, not one each with a reply between. Identifiers in a
        passage's text are written with parentheses. In the paper's code any digits of a reply are
        read, and there is no second request. FIRST trains its model and reads one letter a passage;
        one that is not trained so may prefer the first identifier whatever is behind it.
    """

    llm: LLM
    mode: Mode = "write"

    @property
    def identity(self) -> str:
        """The LLM's."""
        return self.llm.identity

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[int]]:
        """See `ListwiseReranker.rank`."""
        prompts = [self._fitting(*item) for item in zip(questions, texts, strict=True)]
        sizes = [len(group) for group in texts]
        return (self._first if self.mode == "first" else self._written)(prompts, sizes)

    def _first(self, prompts: Sequence[Prompt], sizes: Sequence[int]) -> list[list[int]]:
        options = [[f"[{n}]" for n in range(1, size + 1)] for size in sizes]
        pairs = zip(odds(self.llm, prompts, options), sizes, strict=True)
        rows = [readable(row, [1.0] * n, "the order stays as given") for row, n in pairs]
        return [np.argsort([-rounded(p) for p in row], kind="stable").tolist() for row in rows]

    def _written(self, prompts: Sequence[Prompt], sizes: Sequence[int]) -> list[list[int]]:
        return [self._order(*item) for item in zip(prompts, sizes, strict=True)]

    def _order(self, prompt: Prompt, size: int) -> list[int]:
        (reply,) = complete_parsed(
            self.llm, [prompt], partial(_chain, size=size), max_tokens=_order_tokens(size)
        )
        same = f"the order of {size} stays as given"
        return _repaired(readable(reply, [*range(1, size + 1)], same), size)

    def _fitting(self, question: str, texts: Sequence[str]) -> Prompt:
        """The prompt with as many words of each text as fit."""
        make = partial(_prompt, question, texts)
        return fitting(self.llm, make, MAX_WORDS, _order_tokens(len(texts)))


def as_reranker(ranker: LLM | ListwiseReranker, mode: Mode = "write") -> ListwiseReranker:
    """A model trained to order lists as it is; an LLM by `Permuting`."""
    if hasattr(unwrap(ranker), "rank"):  # of a wrapper one cannot see it
        return cast(ListwiseReranker, ranker)
    return Permuting(cast(LLM, ranker), mode)


def _order_tokens(size: int) -> int:
    """Tokens of an order of so many: brackets, digits and the sign between, each one at most."""
    return 8 * size + 8


def _prompt(question: str, texts: Sequence[str], words: int) -> Prompt:
    plain = [_PLACE.sub(r"(\1)", first_words(text, words)) for text in texts]
    return render("permute", question=question, documents=numbered(plain), most=str(len(texts)))


def _chain(reply: str, size: int) -> list[int]:
    reply = re.sub(r"(?<=[\]\d])[ >,\n]+\Z", "", reply)
    whole, _, last = reply.rpartition("[")
    was_cut = whole and (not last or last.isdigit())  # in the middle of an identifier
    (order,) = read_fields(whole.rstrip(" >,") if was_cut else reply, _ORDER)
    if not {*order} & {*range(1, size + 1)}:
        raise BadReply(_ORDER.rule, reply)
    return list(order)


def _repaired(numbers: Sequence[int], size: int) -> list[int]:
    """Each place from 0 to ``size`` - 1 once: those that are named, then the others."""
    named = list(dict.fromkeys(n - 1 for n in numbers if 1 <= n <= size))
    known = {*named}
    missing = [place for place in range(size) if place not in known]
    if missing or len(named) < len(numbers):
        extra = len(numbers) - len(named)
        note(f"an order of {size} lacked {len(missing)} and named {extra} too many: repaired")
    return [*named, *missing]
