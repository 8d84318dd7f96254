"""LLMLingua and LongLLMLingua: keep unexpected tokens, or those that the question explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.select.order import By
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.types import Answer, Document, Query, Segment
from ragsieve_research.answer.whole import WholeReader
from ragsieve_research.score.surprisal import Expected, Surprisal
from ragsieve_research.systems.lingua import Keep, Prune

_WORD = re.compile(r"\w+")
_GAP = re.compile(r"[^\w.!?\n]*(?:\w+[^\w.!?\n]*){0,3}")  # what may be missing inside a name
_CUT = 3  # characters from which a part of a word is found again
_MOST = 32  # characters that a word gets back at either end


@system("llmlingua", needs="LLM", paper="arXiv 2310.05736", calls="surprisals")
def llmlingua(
    llm: LLM,
    *,
    pruner: LLM | None = None,
    rate: float = 0.5,
    coarse: float = 2.0,
    max_tokens: int | None = None,
) -> System:
    """Keep the tokens that a language model does not expect, whatever is asked.

    Args:
        llm: The generator.
        pruner: A language model that has `surprisals`; ``llm`` where None.
        rate: Share of the tokens of all documents that stays, in [0, 1]; not used where there is
            ``max_tokens``.
        coarse: Budgets that the documents have together of which tokens are kept; at least 1.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: LLMLingua (arXiv 2310.05736), section 4: budget controller, iterative token-level
        compression.
    Differs: As `longllmlingua`. No language model is tuned to the generator's style. Instruction
        and question are the reader's, and stay whole.
    """
    reads, reader = pruner or llm, Reader(llm)
    keep = rate if max_tokens is None else max_tokens
    prune = Prune(reads, reader, keep=keep, asks=False, coarse=coarse, spread=0.0)
    ranked = (Surprisal(reads, "mean"), select.Order("document"))
    return System(Pipeline(*ranked, prune, Keep(reader, keep)), reader).with_budget(max_tokens)


@system("longllmlingua", needs="LLM", paper="arXiv 2310.06839", calls="surprisals")
def longllmlingua(
    llm: LLM,
    *,
    pruner: LLM | None = None,
    rate: float = 0.5,
    coarse: float = 2.0,
    spread: float = 0.3,
    order: By = "score",
    max_tokens: int | None = None,
) -> System:
    """Keep documents that make the question expected, and of them the tokens it explains.

    Args:
        llm: The generator.
        pruner: A language model that has `surprisals`; ``llm`` where None.
        rate: Share of the tokens of all documents that stays, in [0, 1]; not used where there is
            ``max_tokens``.
        coarse: Budgets that the documents have together of which tokens are kept; at least 1.
        spread: How much larger a share the best document keeps than the mean, and how much smaller
            a one the last; in [0, 1].
        order: In which documents are pruned and read; the paper's is best first.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: LongLLMLingua (arXiv 2310.06839), section 4: question-aware coarse and fine
        compression, reordering, dynamic ratios, subsequence recovery (see `Recovering`).
    Differs: Shares are linear from plus to minus ``spread``, so that their mean is the budget's.
        What is read together ends with a word; titles and what stands between documents are read
        and not cut. What was kept is read before the rest as far as it fits half a context, the
        question always. Spans that pass the budget in the generator's tokens go, least worth first.
        The authors' package (llmlingua 0.2.2) keeps a token by the worth of the one behind it, has
        one threshold for all that was read or not yet read, by which later segments keep less than
        their share, and leaves whole what is behind the last full segment.
    """
    reads = pruner or llm
    keep = rate if max_tokens is None else max_tokens
    reader = Recovering(llm)
    prune = Prune(reads, reader, keep=keep, coarse=coarse, spread=spread)
    ranked = (Expected(reads), select.Order(order))
    return System(Pipeline(*ranked, prune, Keep(reader, keep)), reader).with_budget(max_tokens)


class Recovering(WholeReader):
    """A `Reader` whose answers get back what was cut where they were read off the evidence.

    The longest runs of an answer's words that follow one another in the kept spans are replaced by
    what stands there in the document: from the first of them to the last, whole words. Between two
    words that begin with a capital or a digit at most three come back, none across the end of a
    sentence; between others none.

    Source: LongLLMLingua (arXiv 2310.06839), section 4.4: subsequence recovery.
    Differs: Places are known, as kept tokens are spans, so that nothing is searched in the
        document. The paper does not bound what comes back, which turns "the island" into more.
    """

    def answers(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[Answer]:
        """As `Reader.answers`; ``reply`` stays as it was."""
        return [
            replace(answer, text=recovered(answer.text, answer.segments))
            for answer in super().answers(query, groups)
        ]


class _Kept(NamedTuple):
    word: str
    document: Document
    start: int
    end: int


def recovered(answer: str, segments: Sequence[Segment]) -> str:
    """``answer`` with what was cut between and inside words that were read off ``segments``."""
    kept = [
        _Kept(m.group(), s.document, s.start + m.start(), s.start + m.end())
        for s in segments
        for m in _WORD.finditer(s.text)
    ]
    places: dict[str, list[int]] = {}
    for place, known in enumerate(kept):
        places.setdefault(known.word, []).append(place)
    matches = list(_WORD.finditer(answer))
    words = [match.group() for match in matches]
    parts, last, at = [], 0, 0
    while at < len(matches):
        runs = [_run(kept, place, words, at) for place in places.get(words[at], ())]
        if not runs:
            at += 1
            continue
        best = max(runs, key=lambda run: (len(run), run[0].start - run[-1].end))
        whole = _whole(best)
        if _WORD.findall(whole) != words[at : at + len(best)]:
            parts += [answer[last : matches[at].start()], whole]
            last = matches[at + len(best) - 1].end()
        at += len(best)
    return "".join([*parts, answer[last:]])


def _run(kept: Sequence[_Kept], place: int, words: Sequence[str], at: int) -> list[_Kept]:
    """The kept words from ``place`` on that are those from ``at`` on, if little was cut between."""
    run = [kept[place]]
    for n in range(1, min(len(kept) - place, len(words) - at)):
        known = kept[place + n]
        if known.word != words[at + n] or not _near(run[-1], known):
            break
        run.append(known)
    return run


def _near(one: _Kept, other: _Kept) -> bool:
    """Whether two words follow one another in a document, or a name goes on over what was cut."""
    if one.document != other.document or one.end > other.start:
        return False
    between = one.document.text[one.end : other.start]
    name = not (one.word[0].islower() or other.word[0].islower())
    return bool(_GAP.fullmatch(between)) if name else not _WORD.search(between)


def _whole(run: Sequence[_Kept]) -> str:
    """The document's text from the first word to the last, cut words whole."""
    text, start, end = run[0].document.text, run[0].start, run[-1].end
    if len(run) > 1 or end - start >= _CUT:
        while start and text[start - 1].isalnum() and run[0].start - start < _MOST:
            start -= 1
        while end < len(text) and text[end].isalnum() and end - run[-1].end < _MOST:
            end += 1
    return text[start:end]
