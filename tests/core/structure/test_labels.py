"""What begins lines or paragraphs alike is shown before what is kept of them."""

import pytest

from ragsieve.structure import joined

LAW = """§ 5. *Places.* On cemeteries dogs shall be led on a leash. Wardens may ask for it.

§ 6. *Season.* On other land dogs shall be on a leash from April. The council may say more.

§ 7. *Grazing land.* There the duty lasts until November. The association announces the date.
"""
HUTS = """**Kvitestølen** · 980 m · self-service. Firewood, gas. The door is open all winter.

**Skardbu** · 1,290 m · no service. Firewood. Locked, standard key.

**Steinbu** · 1,345 m · a stone hut from 1889. No stove. Locked with a code.
"""
SHIP = """0150 Squall, 32 knots. Mizzen down. Everybody in harness.
0340 Mikkel finds a crack in the fitting. Mainsail down.
0355 We turn. Course 215 to the fjord.
0410 Told the coast radio. They offer a boat.
"""
HELP = """`F8` How long is the guarantee? Five years on material. Two on electronics.

`F9` How do I wash down? At 30 degrees with a soap. Dry it with two balls.

`F10` Do you have shops? In Hallein and Chur. Hours are on their pages.
"""
WRAPPED = """The society was founded in the year
1998 by nine teachers of the town. It had
2010 members when the hall was built in
2004 and lost some of them since. Its hall
2019 seats has been let to others. The rest is told below.
"""


@pytest.mark.parametrize(
    ("text", "part", "shown"),
    [
        (LAW, "The association announces", "§ 7. … The association announces"),
        (HUTS, "The door is open", "**Kvitestølen** … The door is open"),
        (HUTS, "No stove", "**Steinbu** … No stove"),
        (SHIP, "Course 215", "0355 … Course 215"),
        (HELP, "Dry it", "`F9` … Dry it"),
        (WRAPPED, "The rest", "The rest"),
    ],
)
def test_a_part_stands_behind_the_label_of_its_line(text, part, shown):
    start = text.index(part)

    assert joined(text, [(start, start + len(part))]).startswith(shown)


def test_each_line_has_its_own_label():
    parts = [SHIP.index(one) for one in ("Mizzen down", "Course 215", "They offer")]
    shown = joined(SHIP, [(start, start + 10) for start in parts])

    assert shown == "0150 … Mizzen dow …\n0355 … Course 215 …\n0410 … They offer"


def test_a_label_that_is_kept_stands_once():
    first, last = SHIP.index("0340"), SHIP.index("Mainsail")

    assert joined(SHIP, [(first, first + 17), (last, last + 8)]).count("0340") == 1
