"""What a budget keeps: the best segments that fit, the best of all cut where it must be.

What has a tree (`ragsieve.structure`) is cut into its records, entries, rows and statements, steps
from the last one; lists and prose into items and sentences. What answers best stays: by the
system's own scorer, where it rates parts, and by the question's rarer words.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

from ragsieve.context.choose import WELL, Rate, ranked_parts
from ragsieve.context.limits import UNITS, Fitting, Limits, ReaderLike, sum_of
from ragsieve.documents import site
from ragsieve.schema import Amount, Options, Probability
from ragsieve.structure import Headless, Terse, parts_of, stands_alone
from ragsieve.structure.parts import CLAUSE, clauses, holds, is_entry, parts
from ragsieve.structure.tree import TABLES, stripped
from ragsieve.trace import note, record_drop, warn
from ragsieve.types import Document, Key, Layout, Query, Segment, Span, grouped, of_documents

_TRIED = 3  # segments that do not fit which may be cut
_PARTS = 50  # segments, and parts of one, that are tried from the first that does not fit
_LEAST = 4  # words of the beginning of a sentence that is cut
_BELOW = "the best of it does not fit below"
_NESTED = ("array", "object", "lines")  # of JSON and configuration
_ROW = 600  # characters of a row that is not cut

_Parted = tuple[list[Segment], list[Segment]]  # all parts of a segment, and those that are kept


@dataclass(frozen=True, kw_only=True, repr=False)
class ContextBudget(Options):
    """Limits of a context, all of which hold; None is no limit.

    Args:
        max_tokens: Tokens of the whole context, in the reader's own tokenizer; not negative.
        max_chars: Characters of the whole context, in Unicode code points; not negative.
        max_tokens_per_document: Tokens of what the context has of one document, with its title.
        max_chars_per_document: Characters of the same.
        max_share: Share of the tokens and characters of the whole context that it may have of one
            site (`ragsieve.documents.site`), in [0, 1], so that nobody's documents push all others
            out. Where all are of one site, the rest stays empty.

    Raises:
        InputError: If a limit breaks its rule.
    """

    max_tokens: Amount | None = None
    max_chars: Amount | None = None
    max_tokens_per_document: Amount | None = None
    max_chars_per_document: Amount | None = None
    max_share: Probability | None = None

    def __repr__(self) -> str:
        known = {name: getattr(self, name) for name in LIMITS}
        shown = {n: value for n, value in known.items() if value is not None or n == LIMITS[0]}
        return ", ".join(f"{name}={value}" for name, value in shown.items())

    @property
    def has_others(self) -> bool:
        """Whether it has a limit besides that of all tokens."""
        return {*map(vars(self).get, LIMITS[1:])} != {None}

    def passed(
        self, segments: Sequence[Segment], reader: ReaderLike, most: int | None = None
    ) -> tuple[Sequence[Segment], Limits] | None:
        """Segments that are over limits, and the limits: of a document first; None where none.

        Args:
            segments: In a context.
            reader: Reads it.
            most: Tokens that the whole context may have beside.
        """
        inner = Limits(self.max_tokens_per_document, self.max_chars_per_document, "_per_document")
        tokens = [limit for limit in (self.max_tokens, most) if limit is not None]
        whole = Limits(min(tokens, default=None), self.max_chars)
        own = Limits(self._shared(self.max_tokens), self._shared(self.max_chars), " of a site")
        groups = [(some, inner) for some in of_documents(segments).values()]
        groups += [(some, own) for some in grouped(segments, lambda s: site(s.document)).values()]
        for some, limits in (*groups, (segments, whole)):
            limited = limits[:2] != (None, None)
            if some and limited and limits.over(reader.context(some), reader):
                return some, limits
        return None

    def _shared(self, limit: int | None) -> int | None:
        share = self.max_share  # .29 of 100 is 29, though their product is less
        return None if limit is None or share is None else int(limit * share + 1e-9)


LIMITS = tuple(field.name for field in fields(ContextBudget))
"""Names of the limits of a budget."""


def fit(segments: Sequence[Segment], max_tokens: int, reader: ReaderLike) -> list[Segment]:
    """The best segments whose context, as ``reader`` reads it, is at most ``max_tokens`` long.

    Best first, each that still fits is kept, in order; a warning says where the best one is not.
    """
    return fit_parts(segments, ContextBudget(max_tokens=max_tokens), reader)[1]


def fit_parts(
    segments: Sequence[Segment],
    budget: ContextBudget,
    reader: ReaderLike,
    query: Query | None = None,
    most: int | None = None,
    rate: Rate | None = None,
) -> tuple[list[Segment], list[Segment]]:
    """`fit` to all limits; with a question the best segment that does not fit is cut by its parts.

    Args:
        segments: Some of a question's documents.
        budget: The limits.
        reader: Counts.
        query: The question.
        most: Tokens that the whole may have beside.
        rate: Rates parts.

    Returns:
        The segments, of a document or of all one in parts where it was cut, and those of them that
        are kept.
    """
    finer, kept = list(segments), list(segments)
    while passed := budget.passed(kept, reader, most):
        some, limits = passed
        cut, stay = _fitted(some, limits, reader, query, rate)
        if [*map(_shown, stay)] == [*map(_shown, some)]:  # a reader that counts otherwise now
            stay = stay[:-1]
        kept = _exchanged(kept, some, stay)
        finer = _exchanged(finer, some, cut)
    return finer, kept


def _shown(segment: Segment) -> tuple[Key, type[Layout]]:
    return segment.key, type(segment.document.layout)


def _exchanged(
    segments: Sequence[Segment], some: Sequence[Segment], others: Sequence[Segment]
) -> list[Segment]:
    """The segments with ``others``, which lie in some of them, in the places of these."""
    given, result, at = {s.key for s in some}, [], 0
    for segment in segments:
        if segment.key not in given:
            result.append(segment)
            continue
        while at < len(others) and _lies_in(others[at], segment):
            result.append(others[at])
            at += 1
    return result


def _lies_in(part: Segment, whole: Segment) -> bool:
    inside = whole.start <= part.start and part.end <= whole.end
    return inside and part.document.id == whole.document.id


def _fitted(
    segments: Sequence[Segment],
    limits: Limits,
    reader: ReaderLike,
    query: Query | None,
    rate: Rate | None,
) -> tuple[list[Segment], list[Segment]]:
    """`fit_parts` of segments that pass limits of their whole text."""
    segments = list({s.key: s for s in segments}.values())  # a span given twice counts once
    layout = Fitting(segments, limits, reader, query.text if query else "")
    best = layout.ranked[0]
    usual = limits.room and not isinstance(best.document.layout, Terse)
    if query and usual and not layout.fits([best]):
        short = _laid_out(segments, best.document, Terse)
        finer, stay = _fitted(short, limits, reader, query, rate)
        plain = [_laid_out(some, best.document) for some in (finer, stay)]
        fits = not limits.over(reader.context(plain[1]), reader)
        return (plain[0], plain[1]) if fits else (finer, stay)
    fitting = layout.best()
    kept = {s.key: s for s in layout.ranked[:fitting]}  # as trying one by one would
    finer, ranked = segments, layout.ranked[fitting:]
    parts_of_best = parts_of(best.document.text, best.start, best.end)[1]
    solid = isinstance(best.document.layout, Headless) or not parts_of_best
    for segment in ranked[: _TRIED if limits.room else 0]:
        if query is None or layout.fits([*kept.values(), segment]):
            break
        parts, chosen = _cut(segment, layout, [*kept.values()], rate)
        if chosen:
            finer = [t for s in segments for t in (parts if s is segment else [s])]
            ranked = [s for s in ranked if s is not segment]
            kept |= {s.key: s for s in chosen}
            note(f"{segment.key} does not fit: {len(chosen)} of its {len(parts)} parts are kept")
        if chosen or not (kept or solid):
            break
    if query and limits.room and best in finer and best.key not in kept:
        fits = not solid or limits.broken(layout.own[best.key]) is None
        others = _left_alone(segments, layout, fits and not kept)
        if others is not None:
            warn(f"heads of document {best.document.id!r:.80} are left out: {_BELOW}")
            some = _laid_out([s for s in segments if s not in others], best.document, Headless)
            for segment in others:
                record_drop(segment, "its heads do not fit, and the best of its document is alone")
            finer, stay = _fitted(some, limits, reader, query, rate)
            return _exchanged(segments, some, finer), stay
    return finer, _filled(finer, ranked, kept, layout)


def _left_alone(segments: Sequence[Segment], layout: Fitting, alone: bool) -> list[Segment] | None:
    """What of its document goes where the best of all stands without its heads; None if it may not.

    Nothing does of a document whose parts stand alone, else the best must fit alone.
    """
    best = layout.ranked[0]
    document = best.document
    own = [s for s in segments if s.document.id == document.id and s.key != best.key]
    others = [] if stands_alone(document.text, best.start) else own
    well = not best.scores or best.score >= WELL
    alone = alone and (well or not any(layout.fits([s]) for s in others[:_PARTS]))
    headless = isinstance(document.layout, Headless)
    return others if (alone or not others) and not headless else None


def _filled(
    finer: Sequence[Segment], ranked: Sequence[Segment], kept: dict[Key, Segment], layout: Fitting
) -> list[Segment]:
    """What is kept, and what fits beside it, best first; records why the others went."""
    limits = layout.limits
    used, missed = layout.size(kept.values()), 0
    for segment in ranked:  # a trial takes time by the whole text
        if missed < _PARTS and limits.broken(sum_of(used, layout.own[segment.key])) is None:
            trial = layout.size([*kept.values(), segment])
            missed += limits.broken(trial) is not None
            if limits.broken(trial) is None:
                kept[segment.key] = segment
                used = trial
    _record(finer, kept, used, layout)
    return [s for s in finer if s.key in kept]


def _laid_out(
    segments: Sequence[Segment], document: Document, kind: type[Layout] | None = None
) -> list[Segment]:
    """Segments, those of a document in a shorter layout, or in its own."""
    if kind:
        layout = kind(**{**vars(document.layout), "json_as": "paths"})
        document = replace(document, layout=layout)
    return [replace(s, document=document) if s.document.id == document.id else s for s in segments]


def _record(
    finer: Sequence[Segment], kept: Mapping[Key, Segment], used: tuple[int, int], layout: Fitting
) -> None:
    """Why each segment went, and a warning where the best one of all did."""
    limits, best = layout.limits, layout.ranked[0]
    for segment in finer:
        if segment.key not in kept:
            size = layout.own.get(segment.key)
            unit, limit = limits.named(limits.broken(sum_of(used, size or used)))
            more = size and any(size) and f"{size[unit]} {UNITS[unit]} more than {used[unit]}"
            record_drop(segment, f"{more or 'parts of what is too long'} pass {limit}")
    if limits.room and best in finer and best.key not in kept:
        own, shown = layout.own[best.key], layout.size([best])
        unit, limit = limits.named(limits.broken(shown))
        length = f"{own[unit]} {UNITS[unit]}"
        if limits.broken(own) is None:
            length += f", {shown[unit]} with title and heads"
        warn(f"the best segment, of {length}, is left out: {limit} is too little")


def _cut(
    segment: Segment, layout: Fitting, kept: list[Segment], rate: Rate | None, inner: bool = False
) -> _Parted:
    """All parts of a segment in order, and those that fit beside others; none where none does.

    An ``inner`` segment, the first part that does not fit, is cut if it has lines, rows or a tree.
    """
    text, start, end = segment.document.text, segment.start, segment.end
    head, body, kind = parts_of(text, start, end)
    order, tree, table = "", bool(body), kind in TABLES
    if table and not tree and end - start <= _ROW and not is_entry(text, start, end):
        return [], []
    if not tree:
        head, body, order = parts(text, start, end)
    listed = (tree and (table or kind in _NESTED)) or holds(text, start, end)
    if inner and not listed and (tree or len(body) < 2 or text.find("\n", start, end) < 0):
        return [], []
    headless = isinstance(segment.document.layout, Headless)
    heads, bodies = _inside(segment, head), _inside(segment, body)
    ranked, said, ordered = ranked_parts(layout.question, heads, bodies, order, rate)
    layout.add(segment, [*heads, *bodies])
    if not inner:
        ranked = layout.with_notes(segment, ranked, bodies)
    for needed in (heads, []) if tree else (heads,):
        first = layout.fitting(ranked, [*kept, *needed])
        finer, chosen = [*heads, *bodies], [*needed, *ranked[:first]]
        for one in ranked[first : first + 1]:
            some, fitting = _cut(one, layout, [*kept, *chosen], rate, inner=True)
            finer, chosen = _exchanged(finer, [one], some or [one]), [*chosen, *fitting]
        if not (headless or len(chosen) > len(needed)):
            continue  # what answers less is worth no heads
        others = () if ordered else ranked[first + 1 : first + _PARTS]
        chosen = _beside(chosen, others, kept, layout)
        if len(chosen) > len(needed):
            return finer, _beside(chosen, said, kept, layout)
    if kept or inner or table or not ranked:  # a row is not cut
        return [], []
    if not heads and len(bodies) < 2:
        return _shortened(segment, layout, rate)
    finer, chosen = _cut(ranked[0], layout, kept, rate)  # else it is cut itself
    return _exchanged([*heads, *bodies], [ranked[0]], finer), chosen


def _beside(
    chosen: Sequence[Segment], others: Sequence[Segment], kept: Sequence[Segment], layout: Fitting
) -> list[Segment]:
    """What is chosen, and of the others each that fits beside it and what is kept."""
    found = [*chosen]
    for one in others:
        if layout.fits([*kept, *found, one]):
            found.append(one)
    return found


def _inside(segment: Segment, spans: Iterable[Span]) -> list[Segment]:
    return [Segment(segment.document, a, b, segment.scores) for a, b in spans]


def _shortened(segment: Segment, layout: Fitting, rate: Rate | None) -> _Parted:
    """The words that fit from the clause that answers best; from one before, if all behind do."""
    text, start, stop = segment.document.text, segment.start, segment.end
    begins, words = clauses(text, start, stop)
    pieces = _inside(segment, pairwise([*begins, stop]))
    ranked = ranked_parts(layout.question, [], pieces, "", rate).parts
    begins = [at for at in begins if not ranked or at <= ranked[0].start]

    def cut(begin: int, end: int) -> _Parted:
        bounds = [(start, begin), (begin, end), (end, stop)]
        told = (stripped(text, a, b) for a, b in bounds if text[a:b].strip())
        some = _inside(segment, told)
        layout.add(segment, some)
        return some, [one for one in some if one.start >= begin][:1]

    ends = [end for end in words if end > begins[-1]]
    fitting = bisect_left(ends, True, key=lambda end: not layout.fits(cut(begins[-1], end)[1]))
    if fitting == len(ends):
        first = bisect_left(begins, True, key=lambda at: layout.fits(cut(at, stop)[1]))
        return cut(begins[first], stop)
    if fitting < _LEAST:
        return [], []
    end, half = ends[fitting - 1], (begins[-1] + ends[fitting - 1]) // 2
    closed = [clause.start() for clause in CLAUSE.finditer(text, half, end + 1)]
    return cut(begins[-1], (closed or [end])[-1])
