"""Identifiers that a question names."""

from __future__ import annotations

import re

import pytest

from ragsieve.text.identifiers import exact_first
from ragsieve.types import Document, Segment

HALLS = [f"Hall {n} is heated by oil." for n in range(177, 220)]


def ranked(texts: list[str], scores: list[float], title: str = "") -> list[Segment]:
    documents = [Document(str(n), text, title) for n, text in enumerate(texts)]
    return [Segment.whole(d).scored("s", x) for d, x in zip(documents, scores, strict=True)]


@pytest.mark.parametrize(
    ("question", "texts", "scores", "first"),
    [
        ("Who heats hall 212?", HALLS, [0.5] * len(HALLS), 212 - 177),
        ("What does E011 mean?", ["E001: disk", "E0111: fan", "e011: key"], [0.4, 0.4, 0.3], 2),
        ("What is max_rows.job?", ["max_rows is 5", "max_rows.job is 7"], [0.4, 0.2], 1),
        ("Who heats hall 212?", HALLS, [0.9] + [0.05] * (len(HALLS) - 1), 0),
        ("Who is the half-brother of Mr. U.S?", ["A fan.", "A half-brother, U.S."], [0.4, 0.3], 0),
        ("Who heats the hall?", HALLS, [0.5] * len(HALLS), 0),
        ("What was in 2009?", ["A fair."] + ["A 2009 fair."] * 9, [0.5] * 10, 0),
        ("What was sold in 2009?", ["A pump.", "What was sold in 2009? See."], [0.5, 0.5], 0),
    ],
)
def test_a_segment_with_the_identifier_goes_first(
    question: str, texts: list[str], scores: list[float], first: int
) -> None:
    """Exactly that one, where few have it and it scores about as well; the others stay in order."""
    given = ranked(texts, scores)
    rest = [s for n, s in enumerate(given) if n != first]

    assert [given[first], *rest] == exact_first(question, given)


@pytest.mark.parametrize(("heads", "lifted"), [(("Hall 210", "Hall 211"), True), ((), False)])
def test_an_identifier_may_stand_above(heads: tuple[str, ...], lifted: bool) -> None:
    """In a heading; where it alone tells headings apart, what scores a tenth comes second."""
    text = "".join(f"# {head}\n\nIt has oil.\n\n" for head in ("Yard", *heads, "Garden"))
    text += "# Hall 212\n\nIt has gas."
    document = Document("1", text)
    places = [m.span() for m in re.finditer(r"It has \w+\.", text)]
    *oil, gas = (Segment(document, *place) for place in places)
    given = [*(s.scored("s", 0.5) for s in oil), gas.scored("s", 0.05)]

    assert lifted == (given[-1] == exact_first("What has hall 212?", given)[1])
