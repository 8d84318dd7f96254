"""Shared parts of the LLMLinguas: documents, sentences and tokens cut to a budget."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import NamedTuple

from ragsieve.errors import check_range
from ragsieve.models.base import LLM, Nats
from ragsieve.pipeline import ReaderLike, best_first, fit
from ragsieve.score.surprisal import Expected, Surprisal
from ragsieve.systems.budget import check_keep, tokens_of
from ragsieve.text import batched_by_size, sentence_spans
from ragsieve.trace import note, record_drop
from ragsieve.types import Query, Segment

_WORD = re.compile(r"\s*\S{1,32}")  # what a tokenizer reads alike alone and in its text
_BREAK = ("\n", "\n")  # between texts; tokenizers read the two apart where a word follows
_LEAST = 1e-6  # by which what goes falls short of what stays, where both are worth the same


@dataclass(frozen=True)
class Prune:
    """Cut scored documents into runs of tokens that go or stay, by a budget; drops none.

    The best documents stay, in the order given, as far as ``coarse`` budgets hold them. Of their
    tokens, window by window, those stay that a language model expects least behind the question and
    what was kept before, so that reading and cutting are one. A document or sentence that goes as a
    whole is one run. Where all fits the budget, all stays.

    A run's score is by how much it beats the least that stays, negative where it goes: ``"worth"``,
    the mean over its tokens, in nats; ``"document"`` and ``"sentence"``, in their scores' units, of
    one that goes as a whole. See `Keep`.

    Args:
        llm: The language model that reads; has `surprisals`.
        reader: Counts tokens of the context; the budget is in its tokens.
        keep: The budget: tokens, where it is an int, else the share of all tokens, in [0, 1].
        asks: Whether the question decides: tokens stay by how much more expected it makes them.
            Else by how little they are expected at all.
        coarse: Budgets that the documents may have together; the one that passes it stays; at
            least 1.
        sentences: The same for sentences; no sentence is cut as a whole where None.
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
    coarse: float = field(default=2.0, kw_only=True)
    sentences: float | None = field(default=None, kw_only=True)
    spread: float = field(default=0.3, kw_only=True)
    window: int = field(default=200, kw_only=True)

    def __post_init__(self) -> None:
        check_keep(self.keep)
        check_range(self, coarse=(1, None), sentences=(1, None), spread=(0, 1), window=(1, None))

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
        finer = self._sentences(query, chosen, budget)
        groups = [[c for c in cut if c.score >= 0] for cut in finer]
        share = min(1.0, budget / max(1, _length(self.reader, [s for g in groups for s in g])))
        note(f"{len(chosen)} documents read at {share:.0%}, {len(documents) - len(chosen)} dropped")
        question = query.text if self.asks else ""
        pruned = PrunedTape(self.llm, question, _tape(groups), _shares(chosen, share, self.spread))
        for chunk in pruned.chunks(self.window):
            pruned.read(chunk)
        places = {s.key: place for place, s in enumerate(chosen)}
        runs: list[Segment] = []
        for s in documents:
            if (place := places.get(s.key)) is None:
                runs.append(s.scored("document", _short(s.score - least)))
            else:
                whole = [c for c in finer[place] if c.score < 0]
                parts = [*whole, *_runs(s, pruned.tokens[place])]
                runs += sorted(parts, key=lambda run: run.start)
        return runs

    def _until(self, ranked: Sequence[Segment], max_tokens: float) -> list[Segment]:
        """The first of ``ranked`` up to the one, included, that passes ``max_tokens``."""
        for place, tokens in enumerate(self.reader.count([s.text for s in ranked])):
            max_tokens -= tokens
            if max_tokens < 0:
                return list(ranked[: place + 1])
        return list(ranked)

    def _sentences(
        self, query: Query, chosen: Sequence[Segment], budget: int
    ) -> list[list[Segment]]:
        """Sentences of each document, or all of it as one; those that go score below 0."""
        if self.sentences is None:
            return [[s.scored("sentence", 0.0)] for s in chosen]
        cut = [
            [
                Segment(s.document, s.start + start, s.start + end, s.scores)
                for start, end in sentence_spans(s.text)
            ]
            for s in chosen
        ]
        scorer = Expected(self.llm, "") if self.asks else Surprisal(self.llm, "mean")
        scored = scorer(query, [c for group in cut for c in group])
        best = self._until(best_first(scored), self.sentences * budget)
        least, keys = best[-1].score, {s.key for s in best}
        sentences = iter(
            c.scored("sentence", 0.0 if c.key in keys else _short(c.score - least)) for c in scored
        )
        return [[next(sentences) for _ in group] for group in cut]


@dataclass(frozen=True)
class Keep:
    """Keep the runs that `Prune` scores at least 0, those that beat the least by most first.

    Args:
        reader: Counts tokens of the context; the budget is in its tokens.
        keep: As that of `Prune`; what passes it goes, too.

    Raises:
        InputError: If ``keep`` breaks its rule, or a segment has no score yet.
    """

    reader: ReaderLike
    keep: int | float

    def __post_init__(self) -> None:
        check_keep(self.keep)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        kept = []
        for segment in segments:
            if segment.score >= 0:
                kept.append(segment)
            else:
                level = _LEVELS.get(list(segment.scores)[-1], "segment")
                record_drop(segment, f"{-segment.score:.3g} below the least {level} that stays")
        return fit(kept, tokens_of(self.keep, _length(self.reader, segments)), self.reader)


_LEVELS = {"document": "document", "sentence": "sentence", "worth": "token of its document"}


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


class TapePart(NamedTuple):
    """A piece of what is read: a word of a document, or what stands between documents.

    ``place`` says which document of those read; -1 between them, where nothing is cut.
    """

    place: int
    start: int
    text: str


class Token(NamedTuple):
    """What of a document a token covers, ``start`` and ``end`` in its text, and what it is worth.

    ``number`` is its place among the tokens read with it; one that covers two documents is a token
    of each. ``worth`` is above the least that stays of its document there, or below 0.
    """

    number: int
    place: int
    start: int
    end: int
    worth: float


class PrunedTape:
    """What of a tape goes and stays, token by token, as it is read.

    Args:
        llm: Reads it.
        question: Stands before all of it; where empty, tokens are worth what they surprise.
        tape: What is read, in order.
        shares: Of each document's tokens the share that stays.
    """

    def __init__(
        self, llm: LLM, question: str, tape: Sequence[TapePart], shares: Sequence[float]
    ) -> None:
        self.llm = llm
        self.tape = tape
        self.shares = shares
        self.before = (question, *_BREAK) if question else ()
        self.max_kept = llm.context // 2 - sum(llm.count(self.before))  # tokens
        self.kept: list[tuple[str, int]] = []  # pieces kept so far, and their tokens
        self.tokens: list[list[Token]] = [[] for _ in shares]

    def chunks(self, window: int) -> Iterator[list[TapePart]]:
        """The tape in parts of at most ``window`` tokens, or of one word."""
        texts = list(dict.fromkeys(part.text for part in self.tape))
        tokens = dict(zip(texts, self.llm.count(texts), strict=True))
        return batched_by_size(self.tape, [tokens[part.text] for part in self.tape], window)

    def read(self, chunk: Sequence[TapePart]) -> None:
        """Keep of each document in ``chunk`` the share of its tokens that is worth most."""
        text, kept = "".join(part.text for part in chunk), tuple(piece for piece, _ in self.kept)
        if self.before:
            alone, behind = self.llm.surprisals([kept, (*self.before, *kept)], [text, text])
            pairs = zip(alone, behind, strict=True)
            worth = [(start, end, a - b) for (start, end, a), (_, _, b) in pairs]
        else:
            worth = self.llm.surprisals([kept], [text])[0]
        own: dict[int, list[Token]] = {}
        for token in _placed(chunk, worth):
            own.setdefault(token.place, []).append(token)
        own.pop(-1, None)
        goes: set[int] = set()
        for place, tokens in own.items():
            cut = _cut(tokens, int(len(tokens) * self.shares[place]))
            self.tokens[place] += cut
            goes |= {token.number for token in cut if token.worth < 0}
        self._keep([text[a:b] for a, b in _stretches(worth, goes)])

    def _keep(self, pieces: Sequence[str]) -> None:
        """Add pieces that the rest is read behind; halve them where they pass half a context.

        Halving, not cutting to the limit, lets a model reuse its states over many windows.
        """
        self.kept += zip(pieces, self.llm.count(pieces), strict=True)
        length = sum(tokens for _, tokens in self.kept)
        if length > self.max_kept:
            while self.kept and length > self.max_kept // 2:
                length -= self.kept.pop(0)[1]


def _cut(tokens: Sequence[Token], most: int) -> list[Token]:
    """The same, worth counted from the least of the best ``most``; equal ones as they stand."""
    ranked = sorted(range(len(tokens)), key=lambda n: -tokens[n].worth)
    least = tokens[ranked[max(0, most - 1)]].worth
    stays = set(ranked[:most])
    return [
        token._replace(worth=token.worth - least if n in stays else _short(token.worth - least))
        for n, token in enumerate(tokens)
    ]


def _stretches(tokens: Sequence[Nats], goes: Container[int]) -> list[tuple[int, int]]:
    """Where tokens stand that follow one another and stay."""
    groups = groupby(range(len(tokens)), key=lambda n: n in goes)
    runs = [[*run] for goes_on, run in groups if not goes_on]
    return [(tokens[run[0]][0], tokens[run[-1]][1]) for run in runs]


def _tape(groups: Sequence[Sequence[Segment]]) -> list[TapePart]:
    """What is read of documents: the words of their spans, behind their titles."""
    tape: list[TapePart] = []
    for place, group in enumerate(groups):
        if place:
            tape += [TapePart(-1, 0, end) for end in _BREAK]
        if group and (title := group[0].document.title):
            tape.append(TapePart(-1, 0, f"{title}\n"))
        last = group[0].start if group else 0
        for span in group:
            text = span.document.text
            start = span.start
            while start > last and text[start - 1].isspace():  # a word has the space before it
                start -= 1
            for word in _WORD.finditer(text, start, span.end):
                tape.append(TapePart(place, word.start(), word.group()))
            last = span.end
    return tape


def _placed(chunk: Sequence[TapePart], worth: Sequence[Nats]) -> list[Token]:
    """Tokens of a chunk, in the parts that they cover; of parts that follow, as one."""
    ends = list(accumulate(len(part.text) for part in chunk))
    tokens: list[Token] = []
    for number, (start, end, value) in enumerate(worth):
        at = bisect_right(ends, start)
        while at < len(chunk) and start < end:
            part, shift = chunk[at], chunk[at].start + len(chunk[at].text) - ends[at]
            stop = min(end, ends[at])
            token = Token(number, part.place, start + shift, stop + shift, value)
            last = tokens[-1] if tokens else None
            if last and (*last[:2], last.end) == (*token[:2], token.start):
                tokens[-1] = last._replace(end=token.end)
            else:
                tokens.append(token)
            start, at = stop, at + 1
    return tokens


def _shares(documents: Sequence[Segment], mean: float, spread: float) -> list[float]:
    """The share of its tokens that each document keeps: ``spread`` more for the best."""
    ranks = {s.key: rank for rank, s in enumerate(best_first(documents))}
    most = len(documents) - 1
    slopes = [1 - 2 * ranks[s.key] / most if most else 0.0 for s in documents]
    return [min(1.0, max(0.0, mean + spread * slope)) for slope in slopes]


def _runs(whole: Segment, tokens: Sequence[Token]) -> Iterator[Segment]:
    """Tokens that follow one another and all go or all stay, without white space around."""
    groups: list[list[Token]] = []
    for token in tokens:
        last = groups[-1][-1] if groups else None
        if last and last.end == token.start and (last.worth < 0) == (token.worth < 0):
            groups[-1].append(token)
        else:
            groups.append([token])
    for group in groups:
        text = whole.document.text[group[0].start : group[-1].end]
        start = group[0].start + len(text) - len(text.lstrip())
        if text.strip():
            run = Segment(whole.document, start, start + len(text.strip()), whole.scores)
            yield run.scored("worth", sum(t.worth for t in group) / len(group))
