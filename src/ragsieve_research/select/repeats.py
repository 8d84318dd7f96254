"""Align a written line to the sentences that it repeats."""

import re
from collections.abc import Sequence

from ragsieve.errors import needs_extra
from ragsieve.text import normalise, sentence_spans

with needs_extra("openai"):
    from rapidfuzz import fuzz, process

_NUMBER = re.compile(
    r"^[\s*_#]*(?:sentence\s*\[?\d+\]?\s*[:.)-]|\[\d+\]\s*[:.)-]?|\(?\d+\s*[:.)-]|[-•])[\s*_]*",
    re.IGNORECASE,
)
_MIN_MATCH = 90  # likeness from which a line repeats a sentence, in percent
_MIN_WORDS = 3  # of a shortened sentence: fewer stand in many
_MIN_SHARE = 0.5  # of the sentence's words, where words are left out inside
_READ = "\0"  # what replaces the letters of a sentence that is read


def repeated(line: str, sources: Sequence[str]) -> list[int] | None:
    """Places of the sentences that a line repeats; empty of an invention, None of a blank line.

    A line may hold one sentence, several, or a part of one with all words as they stand in it.

    Args:
        line: As written, with or without a number in front.
        sources: The sentences, each by `ragsieve.text.normalise`.
    """
    unnumbered = _NUMBER.sub("", line)
    if not (written := normalise(unnumbered)):
        return None
    full = normalise(line)  # a year may open a sentence
    if exact := next((text for text in (full, written) if text in sources), ""):
        return [sources.index(exact)]
    if places := _joined(full, sources) or _joined(written, sources):
        return places
    if best := process.extractOne(written, sources, scorer=fuzz.ratio, score_cutoff=_MIN_MATCH):
        return [best[2]]
    pieces = [unnumbered[start:end] for start, end in sentence_spans(unnumbered)]
    if len(pieces) > 1:
        known = [repeated(piece, sources) or [] for piece in pieces]
        if places := list(dict.fromkeys(n for some in known for n in some)):
            return places
    return _shortened(written, sources)


def _joined(written: str, sources: Sequence[str]) -> list[int]:
    """Places of whole sentences that make up a line, in its order."""
    rest = f" {written} "
    starts: dict[int, int] = {}
    for source in sorted(filter(None, {*sources}), key=len, reverse=True):
        if (start := rest.find(f" {source} ")) >= 0:
            starts[sources.index(source)] = start
            rest = rest.replace(f" {source} ", f" {_READ * len(source)} ", 1)
    left = sum(len(word) for word in rest.replace(_READ, "").split())
    enough = left <= (1 - _MIN_MATCH / 100) * len(written)
    return sorted(starts, key=starts.__getitem__) if enough else []


def _shortened(written: str, sources: Sequence[str]) -> list[int]:
    """The sentence of which a line is a part, or that it repeats with words left out."""
    words = written.split()
    if len(words) < _MIN_WORDS:
        return []
    for place, source in enumerate(sources):
        if f" {written} " in f" {source} ":
            return [place]
    for place, source in enumerate(sources):
        rest = iter(source.split())
        if len(words) >= _MIN_SHARE * len(source.split()) and all(word in rest for word in words):
            return [place]
    return []
