"""Notes and their marks: what begins with a sign that stands behind something said elsewhere."""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import repeat

from ragsieve.types import Key, Segment, of_documents

_SIGN = re.compile(
    r"\[\^[^\s\]]{1,30}\]|\[\d{1,3}\]|\*{1,3}(?!\*)|[†‡§¹²³⁰⁴-⁹]{1,2}"
    r"|\((?:[a-z]|\d{1,2})\)|[a-z]/|\d{1,2}\)|<sup>\w{1,3}</sup>"
)
_NOTE = re.compile(rf"^[ \t]*(?:<(?!sup\b)\w+>)*({_SIGN.pattern}):?[ \t]*(?=\w)", re.MULTILINE)
_DEFINED = re.compile(r"(?:\W*\d[\d.]*[ ])?[\"“„«]([A-ZÀ-ÞА-Я][^\"“”„«»\n]{1,40})[\"”“»] \w")
_CODE = re.compile(r"^[ \t]*([A-Z*#†‡]{1,2})(?:[ ]{2,}|\t|[ ]?[=:][ ])(?=[^\W\d])", re.MULTILINE)
_CELL = re.compile(
    r"(?:(?<=[|,;\t])|(?<=  )|^)[ ]?([A-Z*#†‡]{1,2})(?=[ ]?[|,;\t]|  |[ ]*$)", re.MULTILINE
)
_TERMS = 100  # that are looked for
_MOST = 3  # places that have a note's mark: what more have is no mark


def companions(kept: Container[Key], segments: Sequence[Segment]) -> dict[Key, str]:
    """Keys of what goes with kept segments, and the sign: their notes, and what kept notes are on.

    A sign is that of a note where one line of the document alone begins with it.
    """
    found: dict[Key, str] = {}
    for some in of_documents(segments).values():
        for sign, note, marked in _notes(some):
            if note.key not in kept and any(one.key in kept for one in marked):
                found[note.key] = sign
            elif note.key in kept and not any(one.key in kept for one in marked):
                found |= {one.key: sign for one in marked}
        for sign, note in _explained(some, kept):
            if note.key not in kept:
                found.setdefault(note.key, sign)
    return found


def _explained(segments: Sequence[Segment], kept: Container[Key]) -> Iterator[tuple[str, Segment]]:
    """What defines a term in quotes, or a code of a legend, that stands in what is kept."""
    terms, codes = list[tuple[str, Segment]](), list[tuple[str, Segment]]()
    for one in segments:
        defined = _DEFINED.match(one.text)
        terms += [(defined[1], one)] if defined else []
        codes += zip(_CODE.findall(one.text), repeat(one), strict=False)
    if not (terms or codes):
        return
    told = [one.text for one in segments if one.key in kept]
    every = "\n".join(told)
    yield from [(term, s) for term, s in terms[:_TERMS] if term in every][:_MOST]
    if len({code for code, _ in codes}) > 1:
        cells = {cell for text in told for cell in _CELL.findall(text)}
        yield from [(code, s) for code, s in codes if code in cells]


def behind(ranked: Sequence[Segment]) -> list[Segment]:
    """Ranked segments, each with the notes on it right behind it."""
    places = {segment.key: (n, 0) for n, segment in enumerate(ranked)}
    for some in of_documents(ranked).values():
        for _, note, marked in _notes(some):
            first = min(places[one.key] for one in marked)
            places[note.key] = min(places[note.key], (first[0], 1))
    return sorted(ranked, key=lambda s: places[s.key])


def _notes(segments: Sequence[Segment]) -> Iterator[tuple[str, Segment, list[Segment]]]:
    begun: dict[str, list[Segment]] = {}
    for segment in segments:
        for match in _NOTE.finditer(segment.text):
            begun.setdefault(match[1], []).append(segment)
    having: dict[str, list[Segment]] = {}
    for segment in segments if begun else ():
        for sign in {*_SIGN.findall(segment.text)} & begun.keys():
            having.setdefault(sign, []).append(segment)
    for sign, notes in begun.items():
        star = sign[0] == "*"
        mark = r"(?<=[^\s*])" * star + re.escape(sign) + r"(?!\*)(?=[\s|.,;:)]|$)" * star
        opens = rf"(?<![^\s(|]){re.escape(sign)}(?=[^\s*])" if star else "(?!)"  # and emphasises
        rest = (s for s in having.get(sign, ()) if s is not notes[0])
        found = [s for s in rest if len(re.findall(mark, s.text)) > len(re.findall(opens, s.text))]
        if len(notes) == 1 and 0 < len(found) <= _MOST:
            yield sign, notes[0], found
