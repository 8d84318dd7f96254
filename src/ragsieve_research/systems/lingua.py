"""Shared parts of the LLMLinguas: documents and tokens cut to a budget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Annotated

from msgspec import Meta

from ragsieve.models.base import LLM, Nats
from ragsieve.schema import Count, Probability, check_options
from ragsieve.system import ReaderLike, best_first, fit
from ragsieve.trace import note, record_drop
from ragsieve.types import Query, Segment
from ragsieve_research.prompts import batched_by_size
from ragsieve_research.systems.budget import Budgeted, check_keep, tokens_of

_WORD = re.compile(r"\s*\S{1,32}")  # what a tokenizer reads alike alone and in its text
_BREAK = ("\n", "\n")  # between texts; tokenizers read the two apart where a word follows
_LEAST = 1e-6  # by which what goes falls short of what stays, where both are worth the same


@dataclass(frozen=True)
class Prune:
    """Cut scored documents into runs of tokens that go or stay, by a budget; drops none.

    The best documents stay, in the order given, as far as ``coarse`` budgets hold them. Of their
    tokens, window by window, those stay that a language model expects least behind the question and
    what was kept before, so that reading and cutting are one. A document that goes as a whole is
    one run. Where all fits the budget, all stays.

    A run's score is by how much it beats the least that stays, negative where it goes: ``"worth"``,
    the mean over its tokens, in nats; ``"document"``, in the units of its score, where it goes as a
    whole. See `Keep`.

    Args:
        llm: The language model that reads; has `surprisals`.
        reader: Counts tokens of the context; the budget is in its tokens.
        keep: The budget: tokens, where it is an int, else the share of all tokens, in [0, 1].
        asks: Whether the question decides: tokens stay by how much more expected it makes them.
            Else by how little they are expected at all.
        coarse: Budgets that the documents may have together; the one that passes it stays; at
            least 1.
        spread: How much more than the mean share the best document keeps, and the last one less;
            in [0, 1], linear in the rank between them.
        window: Tokens read at once, of the documents one after another; at least 1.

    Raises:
        InputError: If an option breaks its rule, or a segment has no score yet.
        Unsupported: If the model has no `surprisals`.

    Source: LLMLingua (arXiv 2310.05736), algorithms 1 and 2; LongLLMLingua (arXiv 2310.06839),
        sections 4.1 to 4.3.
    """

    llm: LLM
    reader: ReaderLike
    keep: int | float = field(default=0.5, kw_only=True)
    asks: bool = field(default=True, kw_only=True)
    coarse: Annotated[float, Meta(ge=1)] = field(default=2.0, kw_only=True)
    spread: Probability = field(default=0.3, kw_only=True)
    window: Count = field(default=200, kw_only=True)

    def __post_init__(self) -> None:
        check_keep(self.keep)
        check_options(self)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        for segment in segments:
            if not segment.text.strip():
                record_drop(segment, "it is blank")
        documents = list({s.key: s for s in segments if s.text.strip()}.values())
        total = _length(self.reader, documents)
        budget = tokens_of(self.keep, total)
        if total <= budget:
            return [s.scored("worth", 0.0) for s in documents]
        best = self._until(best_first(documents), self.coarse * budget)
        least, keys = best[-1].score, {s.key for s in best}
        chosen = [s for s in documents if s.key in keys]
        share = min(1.0, budget / max(1, _length(self.reader, chosen)))
        note(f"{len(chosen)} documents read at {share:.0%}, {len(documents) - len(chosen)} dropped")
        shares = shares_of(chosen, share, self.spread)
        reading = Reading(self.llm, query.text if self.asks else "", self.window)
        tokens = dict(zip((s.key for s in chosen), reading.tokens(chosen, shares), strict=True))
        runs: list[Segment] = []
        for s in documents:
            if s.key in tokens:
                runs += _runs(s, tokens[s.key])
            else:
                runs.append(s.scored("document", _short(s.score - least)))
        return runs

    def _until(self, ranked: Sequence[Segment], max_tokens: float) -> list[Segment]:
        """The first of ``ranked`` up to the one, included, that passes ``max_tokens``."""
        for place, tokens in enumerate(self.reader.count([s.text for s in ranked])):
            max_tokens -= tokens
            if max_tokens < 0:
                return list(ranked[: place + 1])
        return list(ranked)


@dataclass(frozen=True)
class Keep(Budgeted):
    """Keep the runs that `Prune` scores at least 0, those that beat the least by most first.

    The budget is that of `Prune`; what passes it goes, too.

    Raises:
        InputError: If a segment has no score yet.
    """

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        kept = []
        for segment in segments:
            if segment.score >= 0:
                kept.append(segment)
            else:
                whole = list(segment.scores)[-1] == "document"
                level = "document" if whole else "token of its document"
                record_drop(segment, f"{-segment.score:.3g} below the least {level} that stays")
        return fit(kept, tokens_of(self.keep, _length(self.reader, segments)), self.reader)


def _length(reader: ReaderLike, segments: Sequence[Segment]) -> int:
    return reader.count([reader.context(segments)])[0] if segments else 0


def _short(difference: float) -> float:
    """A difference to the least that stays, below 0 also where both are equal."""
    return min(difference, -_LEAST)


@dataclass(frozen=True)
class Joined:
    """Join segments with nothing but white space between to one, whose score is the highest."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        joined: list[Segment] = []
        for segment in segments:
            last = joined[-1] if joined else None
            if last is not None and _follows(last, segment):
                best = max(last, segment, key=lambda s: s.score)
                joined[-1] = Segment(last.document, last.start, segment.end, best.scores)
            else:
                joined.append(segment)
        return joined


def _follows(one: Segment, other: Segment) -> bool:
    same = one.document == other.document and one.end <= other.start
    return same and not one.document.text[one.end : other.start].strip()


class Reading:
    """A language model's reading of documents, window by window behind what it keeps of them.

    Args:
        llm: Reads.
        question: Stands before all of it; where empty, tokens are worth what they surprise.
        window: Tokens read at once, of the documents one after another; at least 1.
    """

    def __init__(self, llm: LLM, question: str, window: int) -> None:
        self.llm, self.window = llm, window
        self.before = (question, *_BREAK) if question else ()
        self.max_kept = llm.context // 2 - sum(llm.count(self.before))  # tokens
        self.kept: list[tuple[str, int]] = []  # pieces kept so far, and their tokens

    def tokens(self, documents: Sequence[Segment], shares: Sequence[float]) -> list[list[Nats]]:
        """Of each document its tokens, by their places in it, and what each is worth.

        Of its tokens in a window the best share stay: these are worth as much as they are above the
        least that stays, at least 0; the others are worth less than 0. Titles and what stands
        between documents are read and not cut; a token that covers two documents is one of each.
        """
        text, spans = _text_and_spans(documents)
        tokens: list[list[Nats]] = [[] for _ in documents]
        for start, end in self._windows(text):
            read = self._worth(text[start:end])
            goes: set[int] = set()
            for place, (first, last) in enumerate(spans):
                own = {
                    n: (max(0, start + a - first), min(last, start + b) - first, worth)
                    for n, (a, b, worth) in enumerate(read)
                    if start + a < last and first < start + b
                }
                cut = _cut([*own.values()], shares[place])
                tokens[place] += cut
                goes |= {n for n, token in zip(own, cut, strict=True) if token[2] < 0}
            marked = [(n in goes, start + a, start + b) for n, (a, b, _) in enumerate(read)]
            runs = [(gone, [*run]) for gone, run in groupby(marked, key=itemgetter(0))]
            self._keep([text[run[0][1] : run[-1][2]] for gone, run in runs if not gone])
        return tokens

    def _windows(self, text: str) -> list[tuple[int, int]]:
        words = [*_WORD.finditer(text)]
        sizes = self.llm.count([word.group() for word in words])
        runs = batched_by_size(words, sizes, self.window)
        return [(run[0].start(), run[-1].end()) for run in runs]

    def _worth(self, text: str) -> list[Nats]:
        """The worth of each token of a text behind what was kept."""
        kept = tuple(piece for piece, _ in self.kept)
        if not self.before:
            return self.llm.surprisals([kept], [text])[0]
        alone, behind = self.llm.surprisals([kept, (*self.before, *kept)], [text, text])
        pairs = zip(alone, behind, strict=True)
        return [(start, end, a - b) for (start, end, a), (_, _, b) in pairs]

    def _keep(self, pieces: Sequence[str]) -> None:
        """Add pieces that the rest is read behind; halve them where they pass half a context.

        Halving, not cutting to the limit, lets a model reuse its states over many windows.
        """
        self.kept += zip(pieces, self.llm.count(pieces), strict=True)
        length = sum(tokens for _, tokens in self.kept)
        if length > self.max_kept:
            while self.kept and length > self.max_kept // 2:
                length -= self.kept.pop(0)[1]


def _cut(tokens: Sequence[Nats], share: float) -> list[Nats]:
    """The same, worth counted from the least that stays; of equal ones the first stay."""
    if not tokens:
        return []
    most = int(len(tokens) * share)
    ranked = sorted(range(len(tokens)), key=lambda n: -tokens[n][2])
    least = tokens[ranked[max(0, most - 1)]][2]
    stays = set(ranked[:most])
    return [
        (start, end, worth - least if n in stays else _short(worth - least))
        for n, (start, end, worth) in enumerate(tokens)
    ]


def _text_and_spans(documents: Sequence[Segment]) -> tuple[str, list[tuple[int, int]]]:
    """Documents behind their titles as one text, and where each stands in it."""
    text, spans = "", []
    for segment in documents:
        title = segment.document.title
        text += "".join(_BREAK if text else ()) + (f"{title}\n" if title else "")
        spans.append((len(text), len(text) + len(segment.text)))
        text += segment.text
    return text, spans


def shares_of(documents: Sequence[Segment], mean: float, spread: float) -> list[float]:
    """The share of its tokens that each document keeps: ``spread`` more for the best."""
    ranks = {s.key: rank for rank, s in enumerate(best_first(documents))}
    most = len(documents) - 1
    slopes = [1 - 2 * ranks[s.key] / most if most else 0.0 for s in documents]
    return [min(1.0, max(0.0, mean + spread * slope)) for slope in slopes]


def _runs(document: Segment, tokens: Sequence[Nats]) -> Iterator[Segment]:
    """Tokens that follow one another and all go or all stay, without white space around."""
    for _, group in groupby(tokens, key=lambda token: token[2] >= 0):
        run = [*group]
        text = document.text[run[0][0] : run[-1][1]]
        start = document.start + run[0][0] + len(text) - len(text.lstrip())
        if text.strip():
            span = Segment(document.document, start, start + len(text.strip()), document.scores)
            yield span.scored("worth", sum(worth for *_, worth in run) / len(run))
