"""Which segments a budget takes first."""

import pytest

from ragsieve.context.choose import ranked_segments
from ragsieve.types import Document, Segment

HALLS = [f"Hall {n} is heated by oil." for n in range(177, 220)]


@pytest.mark.parametrize(
    ("question", "texts", "scores", "first"),
    [
        ("Who heats hall 212?", HALLS, [0.5] * len(HALLS), 212 - 177),
        ("What heats it?", HALLS, [0.9] + [0.05] * (len(HALLS) - 1), 0),
        ("What does E011 mean?", ["E001: disk", "E0111: fan", "e011: key"], [0.4, 0.4, 0.3], 2),
        ("Who fixed pump 6?", ["pump3: by 6 men", "pump6: by 9 men"], [0.5, 0.5], 1),
        ("What is max_rows.job?", ["max_rows is 5", "max_rows.job is 7"], [0.4, 0.3], 1),
        ("Is the vpn new?", ["gimp-2: so", "openvpn-1: so"], [0.5, 0.5], 1),
        ("What was sold in 2009?", ["A pump.", "What was sold in 2009? See."], [0.5, 0.5], 0),
        ("Is there a lift?", ["A bar.", "Is there a lift? At the back."], [0.9, 0.5], 1),
        ("Is there a lift?", ["A bar.", "A lift."], [0.9, 0.3], 0),
    ],
)
def test_scores_are_weighed_by_the_words_of_the_question(question, texts, scores, first):
    """Up to two and a half times; what only repeats the question is not; others stay in order."""
    documents = [Document(str(n), text) for n, text in enumerate(texts)]
    given = [Segment.whole(d).scored("s", x) for d, x in zip(documents, scores, strict=True)]
    rest = [s for n, s in enumerate(given) if n != first]

    assert [given[first], *rest] == ranked_segments(question, given)


def test_titles_and_headings_count():
    """A segment has the words of what is shown above it."""
    text = "# Hall 210\n\nIt has oil.\n\n# Hall 211\n\nIt has gas."
    places = [
        (text.index(one), text.index(one) + len(one)) for one in ("It has oil.", "It has gas.")
    ]
    oil, gas = (Segment(Document("1", text), *place).scored("s", 0.5) for place in places)

    assert [gas, oil] == ranked_segments("What has hall 211?", [oil, gas])


def test_a_line_with_a_name_of_the_question_goes_before_odd_ones():
    """The name of a file at the end of a path picks its line."""
    lines = [f"{n * 37 % 101} /usr/share/doc/part-{n}.txt" for n in range(30)]
    text = "\n".join([*lines, "99999 /usr/share/doc/other-31.txt"])
    places = [(at := text.index(line), at + len(line)) for line in text.splitlines()]
    segments = [Segment(Document("1", text), *place).scored("s", 0.1) for place in places]

    assert ranked_segments("How big is part-7.txt?", segments)[0].text == lines[7]
    for question in ("Is all well?", "part-7.txt\nWhich part is too big?"):
        assert ranked_segments(question, segments)[0].text.startswith("99999")
    well = segments[3].scored("s", 0.4)
    assert well == ranked_segments("Is all well?", [*segments[:3], well, *segments[4:]])[0]


@pytest.mark.parametrize(
    ("best", "first"), [(0.1, "restore: 4 of 9 volumes"), (0.6, "backup of vol-5 done in 6 min")]
)
def test_where_nothing_scores_well_rare_words_count_beside_the_score(best, first):
    """Of too few lines for one to be odd; digits are no words of their own."""
    usual = [f"backup of vol-{n} done in {n + 1} min" for n in range(6)]
    text = "\n".join([*usual[:3], "restore: 4 of 9 volumes", *usual[3:]])
    places = [(at := text.index(line), at + len(line)) for line in text.splitlines()]
    segments = [Segment(Document("1", text), *place).scored("s", 0.08) for place in places]
    segments[6] = segments[6].scored("s", best)

    assert ranked_segments("Is everything safe?", segments)[0].text == first
