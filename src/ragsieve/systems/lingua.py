"""What LLMLingua and LongLLMLingua share: documents, sentences and tokens cut to a budget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Nats
from ragsieve.pipeline import Reader, best_first, fit
from ragsieve.score.surprisal import Expected, Surprisal
from ragsieve.text import sentence_spans
from ragsieve.trace import explain, note
from ragsieve.types import Query, Segment

_WORD = re.compile(r"\s*\S{1,32}")  # what a tokenizer reads alike alone and in its text
_BREAK = ("\n", "\n")  # between texts; tokenizers read the two apart where a word follows


@dataclass(frozen=True)
class Prune:
    """Cut scored documents to a budget: documents, then sentences, then tokens.

    The best documents stay, in the order given, as far as ``coarse`` budgets hold them. Of their
    tokens, segment by segment, those stay that a language model expects least behind the question
    and what was kept before. Where all fits the budget, all stays.

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
    reader: Reader
    keep: int | float = field(default=0.5, kw_only=True)
    asks: bool = field(default=True, kw_only=True)
    coarse: float = field(default=2.0, kw_only=True)
    sentences: float | None = field(default=None, kw_only=True)
    spread: float = field(default=0.3, kw_only=True)
    window: int = field(default=200, kw_only=True)

    def __post_init__(self) -> None:
        if self.keep < 0 or (isinstance(self.keep, float) and not self.keep <= 1):
            raise InputError(f"keep must be tokens or a share from 0 to 1, got {self.keep!r}")
        for name in ("coarse", "sentences"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise InputError(f"{name} must be at least 1, got {value!r}")
        if not 0 <= self.spread <= 1:
            raise InputError(f"spread must be from 0 to 1, got {self.spread!r}")
        if self.window < 1:
            raise InputError(f"window must be at least 1, got {self.window!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        given = list({s.key: s for s in segments if s.text.strip()}.values())
        total = self._length(given)
        budget = self.keep if isinstance(self.keep, int) else int(self.keep * total)
        if total <= budget:
            return given
        chosen = self._chosen(given, budget)
        finer = self._sentences(query, chosen, budget)
        share = min(1.0, budget / max(1, self._length([s for group in finer for s in group])))
        question = query.text if self.asks else ""
        pruned = Pruned(self.llm, question, _tape(finer), _shares(chosen, share, self.spread))
        for chunk in pruned.chunks(self.window):
            pruned.read(chunk)
        note(f"{len(chosen)} documents read at {share:.0%}, {len(given) - len(chosen)} let go")
        runs = [run for place, s in enumerate(chosen) for run in _runs(s, pruned.kept[place])]
        return fit(runs, budget, self.reader)

    def _length(self, segments: Sequence[Segment]) -> int:
        return self.reader.count([self.reader.context(segments)])[0] if segments else 0

    def _chosen(self, segments: Sequence[Segment], budget: int) -> list[Segment]:
        """The best documents, as given, until they pass ``coarse`` budgets."""
        best = self._until(best_first(segments), self.coarse * budget)
        keys = {s.key for s in best}
        for segment in segments:
            if segment.key not in keys:
                explain(segment, f"its rank is past {self.coarse:g} budgets of {budget} tokens")
        return [s for s in segments if s.key in keys]

    def _until(self, ranked: Sequence[Segment], room: float) -> list[Segment]:
        """The first of ``ranked`` up to the one, included, that passes ``room`` tokens."""
        for place, tokens in enumerate(self.reader.count([s.text for s in ranked])):
            room -= tokens
            if room < 0:
                return list(ranked[: place + 1])
        return list(ranked)

    def _sentences(
        self, query: Query, chosen: Sequence[Segment], budget: int
    ) -> list[list[Segment]]:
        """What stays of each document: its best sentences, or all of it."""
        if self.sentences is None:
            return [[s] for s in chosen]
        cut = [
            Segment(s.document, s.start + start, s.start + end)
            for s in chosen
            for start, end in sentence_spans(s.text)
        ]
        scorer = Expected(self.llm, "") if self.asks else Surprisal(self.llm, "mean")
        best = self._until(best_first(scorer(query, cut)), self.sentences * budget)
        keys = {s.key for s in best}
        return [[c for c in cut if c.key in keys and _inside(c, segment)] for segment in chosen]


class Part(NamedTuple):
    """A piece of what is read: a word of a document, or what stands between documents.

    ``place`` says which document of those read; -1 between them, where nothing is cut.
    """

    place: int
    start: int
    text: str


class Token(NamedTuple):
    """A token of a document, ``start`` and ``end`` in its text, and what it is worth."""

    place: int
    start: int
    end: int
    value: float


class Pruned:
    """What stays of a tape, token by token, as it is read.

    Args:
        llm: Reads it.
        question: Stands before all of it; where empty, tokens are worth what they surprise.
        tape: What is read, in order.
        shares: Of each document's tokens the share that stays.
    """

    def __init__(
        self, llm: LLM, question: str, tape: Sequence[Part], shares: Sequence[float]
    ) -> None:
        self.llm = llm
        self.tape = tape
        self.shares = shares
        self.before = (question, *_BREAK) if question else ()
        self.said: list[str] = []  # kept until now, in pieces
        self.kept: list[list[Token]] = [[] for _ in shares]

    def chunks(self, window: int) -> Iterator[list[Part]]:
        """The tape in parts of at most ``window`` tokens, or of one word."""
        texts = list(dict.fromkeys(part.text for part in self.tape))
        tokens = dict(zip(texts, self.llm.count(texts), strict=True))
        chunk: list[Part] = []
        room = window
        for part in self.tape:
            room -= tokens[part.text]
            if room < 0 and chunk:
                yield chunk
                chunk, room = [], window - tokens[part.text]
            chunk.append(part)
        if chunk:
            yield chunk

    def read(self, chunk: Sequence[Part]) -> None:
        """Keep of each document in ``chunk`` the share of its tokens that is worth most."""
        text, said = "".join(part.text for part in chunk), tuple(self.said)
        if self.before:
            alone, asked = self.llm.surprisals([said, (*self.before, *said)], [text, text])
            pairs = zip(alone, asked, strict=True)
            worth = [(start, end, a - b) for (start, end, a), (_, _, b) in pairs]
        else:
            worth = self.llm.surprisals([said], [text])[0]
        tokens = _placed(chunk, worth)
        stays = [token.place < 0 for token in tokens]
        for place in {token.place for token in tokens} - {-1}:
            own = [n for n, token in enumerate(tokens) if token.place == place]
            own.sort(key=lambda n: -tokens[n].value)  # equal ones as they stand
            for n in own[: int(len(own) * self.shares[place])]:
                stays[n] = True
                self.kept[place].append(tokens[n])
        for n, (start, end, _) in enumerate(worth):
            if stays[n] and n and stays[n - 1]:
                self.said[-1] += text[start:end]
            elif stays[n]:
                self.said.append(text[start:end])


def _tape(groups: Sequence[Sequence[Segment]]) -> list[Part]:
    """What is read of documents: the words of their spans, behind their titles."""
    tape: list[Part] = []
    for place, group in enumerate(groups):
        if place:
            tape += [Part(-1, 0, end) for end in _BREAK]
        if group and (title := group[0].document.title):
            tape.append(Part(-1, 0, f"{title}\n"))
        last = group[0].start if group else 0
        for span in group:
            text = span.document.text
            start = span.start
            while start > last and text[start - 1].isspace():  # a word has the space before it
                start -= 1
            for word in _WORD.finditer(text, start, span.end):
                tape.append(Part(place, word.start(), word.group()))
            last = span.end
    return tape


def _placed(chunk: Sequence[Part], worth: Sequence[Nats]) -> list[Token]:
    """Tokens of a chunk, each in the part in which it ends."""
    tokens = []
    parts = iter(chunk)
    part, first, last = Part(-1, 0, ""), 0, 0
    for start, end, value in worth:
        while end > last:
            part = next(parts)
            first, last = last, last + len(part.text)
        shift = part.start - first
        tokens.append(Token(part.place, max(start, first) + shift, end + shift, value))
    return tokens


def _shares(documents: Sequence[Segment], mean: float, spread: float) -> list[float]:
    """The share of its tokens that each document keeps: ``spread`` more for the best."""
    ranks = {s.key: rank for rank, s in enumerate(best_first(documents))}
    most = len(documents) - 1
    slopes = [1 - 2 * ranks[s.key] / most if most else 0.0 for s in documents]
    return [min(1.0, max(0.0, mean + spread * slope)) for slope in slopes]


def _runs(whole: Segment, tokens: Sequence[Token]) -> Iterator[Segment]:
    """Spans of tokens that follow one another, without white space around, and their mean value."""
    groups: list[list[Token]] = []
    for token in sorted(tokens, key=lambda t: t.start):
        if groups and groups[-1][-1].end == token.start:
            groups[-1].append(token)
        else:
            groups.append([token])
    for group in groups:
        text = whole.document.text[group[0].start : group[-1].end]
        start = group[0].start + len(text) - len(text.lstrip())
        if text.strip():
            run = Segment(whole.document, start, start + len(text.strip()), whole.scores)
            yield run.scored("worth", sum(t.value for t in group) / len(group))


def _inside(span: Segment, whole: Segment) -> bool:
    same = span.document == whole.document
    return same and whole.start <= span.start and span.end <= whole.end
