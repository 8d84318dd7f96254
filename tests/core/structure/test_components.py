"""Calendars and cards: what is kept stands inside its begin and end."""

import pytest

from ragsieve.structure import joined
from ragsieve.structure.components import regions

EVENT = """BEGIN:VEVENT
UID:{0}@example.org
DTSTART:2026110{0}T100000Z
SUMMARY:Drill {0}
DESCRIPTION:Leave by the stairs of
  number {0}{1}.
END:VEVENT
"""
HEAD = "BEGIN:VCALENDAR\nVERSION:2.0\n"
CALENDAR = f"{HEAD}{''.join(EVENT.format(n, '') for n in range(5))}END:VCALENDAR"


def test_an_event_stands_in_its_calendar():
    """With its folded lines, and none of another's."""
    event = EVENT.format(3, "").strip()
    place = CALENDAR.index(event)
    found = joined(f"Hello.\n\n{CALENDAR}", [(place + 8, place + 8 + len(event))])

    assert f"{HEAD}{event}\n… 1 of 5 shown\nEND:VCALENDAR" == found


def test_a_line_of_a_long_event_stands_with_its_name_and_time():
    """And inside its own begin and end, though an alarm stands in it."""
    text = f"{HEAD}{EVENT.format(1, '')}{EVENT.format(2, ' or ask' * 99)}END:VCALENDAR"
    text = text.replace("END:VEVENT", "BEGIN:VALARM\nTRIGGER:-PT15M\nEND:VALARM\nEND:VEVENT")
    place = text.index("DESCRIPTION", text.index("Drill 2"))
    shown = joined(text, [(place, text.index("\nBEGIN:VALARM", place))])

    lines = shown.replace(" or ask", "").split("\n")
    named = ["BEGIN:VEVENT", "DTSTART:20261102T100000Z", "SUMMARY:Drill 2"]
    assert [*HEAD.split(), *named] == lines[:5]
    assert ["  number 2.", "… 3 of 5 shown", "END:VEVENT", "… 1 of 2 shown"] == lines[6:-1]


def test_cards_are_kept_one_by_one():
    """Though nothing holds them together."""
    cards = [f"BEGIN:VCARD\r\nFN:Ada {n}\r\nTEL:+44 {n}\r\nEND:VCARD\r\n" for n in range(4)]
    start = len(cards[0])

    assert "BEGIN:VCARD\r\nFN:Ada 1\r\nTEL:+44 1\r\nEND:VCARD\n… 1 of 4 shown" == joined(
        "".join(cards), [(start, 2 * start - 2)]
    )


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN:A\n" * 99 + "x\n" + "END:A\n" * 99,
        "BEGIN:VEVENT\nSUMMARY:x\n",
        "BEGIN:A\nEND:B\nEND:A",
    ],
)
def test_what_does_not_close_is_cut_as_text(text):
    """Nested too deep, in the wrong order, or open to the end."""
    assert [] == [*regions(text)]
