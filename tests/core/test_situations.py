"""What the default filter keeps in situations that users told of, two of each kind: one table."""

import json

import pytest

import ragsieve

pytestmark = pytest.mark.models

SAID = ["The lamp of the lock flickered after rain.", "Grease ran out of the winch on the ferry.",
        "A gull broke the mirror of the beacon.", "Two buoys drifted off in the night of the gale.",
        "The weighbridge showed half of each load.", "Paint came off the slipway."]  # fmt: skip
FAULTS = [{"ref": f"F-{n}", "said": said, "by": f"Ed {n}"} for n, said in enumerate(SAID)]
HITS = " ".join(json.dumps({"headline": f"Item {n}", "text": said}) for n, said in enumerate(SAID))
PULLS = [{"no": 300 + n, "title": f"Mend {n}", "by": {"name": f"Eve {n}"}} for n in range(60)]
NODES = [f"relay-{n:03}.lan.example" for n in range(90)]
STOCK = [f"{('cog', 'cam', 'hub')[n % 3]}-{n}{{0}}S{n // 5}{{0}}{7 * n % 50}" for n in range(70)]
PIPES = "| Item | Shelf | Left |\n|---|---|---|"
PIPES += "".join(f"\n| {row.format(' | ')} |" for row in STOCK)
COMMAS = "\n".join(["Item,Shelf,Left", *(row.format(",") for row in STOCK)])
LOG = "".join(f"2026-02-03 09:{n // 60:02}:{n % 60:02} INFO gate-{n % 5} let car {n} in\n"
              for n in range(200))  # fmt: skip
GATES = f"{LOG}2026-02-03 09:04 ERROR gate-2 arm stuck at lane 6\n{LOG.replace(' 09:', ' 10:')}"
YAML = "".join(f"dock_{n}:\n  chain: kind{n % 5}\n  length: {500 + n}\n" for n in range(50))
TOML = "".join(f"[pump_{n}]\nkind = 'k{n % 4}'\nlitres = {600 + n}\n\n" for n in range(30))
ROOMS = [f"Room {n} was aired on day {n % 28} by the porter of the house." for n in range(90)]
ROOMS[70] = "The will of lot 44 lies behind the oak panel."
RENT = "I have rented here since 2016 and moved from Hull to Deal, and the heat failed twice. " * 12
OTTER = (
    "# The otter\n\nIt swims.\n\n![Otter at a weir](./pic/otter_2.png)\n\nIt eats fish. See [the "
    "river count](https://otters.example.org/count/2023?id=4) for figures: 87 dens were found.\n\n"
    "## Dens\n\nDens lie in banks."
)
FORM = (
    "Thanks for coming. Answer at https://ask.example.org/f/TX_3c?R_ID=a1.b2_QQ&R_VIA=sms by "
    "Monday. Late ones are lost. The hall is shut in May. We have a new cook."
)
CODE = (
    '"""Tolls."""\n\nclass Gate:\n    """A gate."""\n\n    def __init__(self, lane):\n        '
    '"""Make it."""\n        self.lane = lane\n\n\ndef toll(axles, night):\n    """What each pays.'
    '\n\n    Axles are counted.\n    """\n    cost = axles * 3\n    if night:\n        cost += 8\n'
    "    return cost\n"
)
FEES = "# Fees\n\n| Boat | Weekday | Sunday |\n|---|---|---|\n" + "".join(
    f"| Boat {name} | {31 + 7 * n} | {45 + 9 * n} |\n" for n, name in enumerate("ABCDEFGHIJKL")
)
DRAIN = (
    "To drain the tank follow these steps.\n\n1. Shut the inlet valve and hang the red tag on its "
    "wheel.\n2. Open the drain cock a quarter turn and wait for the gauge to fall below one.\n3. "
    "Open it wholly once the gauge shows nothing for two minutes.\n4. Note the hour in the book."
)
LEASE = "\n\n".join([
    "BERTH LEASE", "1. RENT", "1.1 Rent is due on the first day of each month, in advance.",
    "1.2 If it is late, the harbour may:", "(a) charge a late fee of 50 euros;",
    "(b) tow the boat to the outer quay; and", "(c) after two months, end this lease by letter.",
    "2. CONDUCT", "2.1 You shall keep the berth clean.", "2.2 You shall not:",
    "2.2.1 sublet the berth;", "2.2.2 weld on deck; or", "2.2.3 moor a second boat alongside.",
    "3. END", "3.1 The lease ends on the last day of October.",
])  # fmt: skip
ACT = "\n\n".join([
    "Section 8. Right to reject", "(1) A buyer may reject goods within thirty days.",
    "(2) Subsection (1) does not apply to:\n(a) perishable goods;\n(b) goods made to order.",
    "(3) The price is repaid.",
])  # fmt: skip
FAILED = (
    "09:00:02 INFO job 4 done\n09:00:03 ERROR job 5 failed\nTraceback (most recent call last):\n"
    '  File "/srv/jobs.py", line 41, in run\n    self.load(rows)\n  File "/srv/db.py", line 17, in '
    "load\n    return connection.execute(query)\nTimeoutError: db.lan did not answer in 30 s\n"
    "09:00:40 INFO job 6 done\n"
)
BOATS = "Boats need care. Boats are old. A boat can be let on any Sunday. The sea is near. " * 2
CASES = [
    # kind, question, documents, keep_answer or a budget, what stays as it is, share of characters
    ("a record", "Who told of the broken mirror?",
     [json.dumps({"faults": FAULTS, "count": 6})], .8, [json.dumps(FAULTS[2]), '"count": 6'], .6),
    ("a record in lines", "Who told of the winch?", [json.dumps(FAULTS, indent=1)], .9,
     ['"said": "Grease ran out of the winch on the ferry.",\n  "by": "Ed 1"'], .6),
    ("a record with another", "Who opened pull 337?", [json.dumps(PULLS)], .9,
     [json.dumps(PULLS[37]), "of 60 rows"], .3),
    ("objects in a row", "What did a gull break?", [HITS], .9, ['"Item 2", "text": "A gull'], .6),
    ("names", "How many nodes are there? Is relay-055 one?",
     [json.dumps({"nodes": NODES, "total": 90, "page": {"next": {"after": "QVFI"}}})], .9,
     ["of 90 shown", '"total": 90', "QVFI"], .6),
    ("pipes", "How many of hub-38 are left?", [PIPES], .8,
     ["| Item | Shelf | Left |\n|---|---|---|\n", "| hub-38 | S7 | 16 |"], .5),
    ("commas", "How many of cam-46 are left?", [COMMAS], .8,
     ["Item,Shelf,Left\n", "cam-46,S9,22"], .5),
    ("a log", "Why is gate 2 shut?", [GATES], .9, ["ERROR gate-2 arm stuck at lane 6\n"], .4),
    ("YAML", "Which length has dock_23?", [YAML], .8,
     ["dock_23:\n  chain: kind3\n  length: 523"], .3),
    ("TOML", "How many litres has pump_17?", [TOML], .8,
     ["[pump_17]\nkind = 'k1'\nlitres = 617"], .4),
    ("code", "How much more does a lorry pay at night?", [CODE], .9,
     ['def toll(axles, night):\n    """What each pays.\n\n    Axles are counted.\n    """'], .9),
    ("one of many", "Where does the will of lot 44 lie?", [" ".join(ROOMS)], .9, [ROOMS[70]], .4),
    ("a question behind a tale", f"{RENT}Within how many days can I give back a lamp?",
     ["Lamps can be given back within 30 days of sale. Bulbs can not.", "Hull is in the east. "
      "Deal is in the south. It rained.", "Old tenants get a pin."], .9, ["30 days"], .5),
    ("a link", "How many dens were found, and in which count?", [OTTER], .9,
     ["[the river count](https://otters.example.org/count/2023?id=4) for figures: 87 dens"], .8),
    ("a picture", "Which file shows the otter?", [OTTER], .9, ["(./pic/otter_2.png)"], .9),
    ("an address", "Where do I answer?", [FORM], .8,
     ["https://ask.example.org/f/TX_3c?R_ID=a1.b2_QQ&R_VIA=sms by Monday."], .9),
    ("a denial", "Which ticket does not cover the ferry?",
     ["The Day ticket covers trams. It does not cover the ferry.", "The Week ticket covers the "
      "ferry. It costs 30 euros.", "The Year ticket covers the ferry and the tower."], .9,
     ["The Day ticket covers trams. It does not cover the ferry."], .95),
    ("copies", "What is the mooring fee?", ["The mooring fee is 9 euros. It is dry."] * 3, .9,
     ["The mooring fee is 9 euros."], .4),
    ("no answer", "How hot is the core of the sun?", ["The bath opens at six.", "Bikes are free."],
     .9, [""], 1),
    ("a row in a budget", "What does boat E cost on a Sunday?", [FEES, BOATS], 70,
     ["| Boat | Weekday | Sunday |\n|---|---|---|\n", "| Boat E | 59 | 81 |"], .7),
    ("clauses", "What can happen if my rent is late?", [LEASE], .8,
     ["1. RENT\n\n1", "1.2 If it is late, the harbour may:\n\n(a) charge", "(c) after two"], .6),
    ("a clause in a budget", "May I weld on deck?", [LEASE], 40,
     ["2. CONDUCT\n\n2.2 You shall not:\n\n2.2.2 weld on deck;"], .4),
    ("an exception in a budget", "Can a buyer of perishable goods reject them?", [ACT], 40,
     ["(2) Subsection (1) does not apply to:\n(a) perishable goods;"], .9),
    ("what was raised in a budget", "Why did job 5 fail?", [FAILED], 52,
     ["job 5 failed\nTraceback (most recent call last):\n  …\nTimeoutError: db.lan did not"], .7),
    ("steps in a budget", "How do I drain the tank?", [DRAIN, "Tanks are big. A tank is drained."],
     60, ["To drain the tank follow these steps.\n\n1. Shut the inlet valve and hang"], .9),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "question", "documents", "option", "stays", "share"), CASES, ids=[c[0] for c in CASES]
)
def test_what_is_asked_for_stays(kind, question, documents, option, stays, share):
    """Whole, once, under what it needs, in less text; and nothing else is taken for an answer."""
    options = {"keep_answer": option} if option < 1 else {}
    system = ragsieve.load("finefilter", options=options)
    result = (system.with_budget(int(option)) if option >= 1 else system)(question, documents)

    assert all(result.text.count(one) == 1 or not one for one in stays)
    assert 0 < len(result.text) <= share * sum(map(len, documents))
    assert kind != "no answer" or 0 < (result.answerable or 0) < 0.1
