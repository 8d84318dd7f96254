"""What somebody said stands below who said it, and a mail below its header."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.structure import joined, outline
from tests.core.structure.test_structure import spans

LONG = (
    "The pier was closed in March because of the storm, and it took six weeks to mend the planks. "
    "We then painted the rails. The harbour master asked for a second coat, which nobody had "
    "planned for. It cost us another nine thousand euros, all told, and a week of work in it. "
    "The opening is on the third of May, at noon, with the band."
)
SAID = [("Anna", "Hi, all."), ("ben_k", LONG), ("Anna", "And when?"), ("ben_k", "Soon.")]
FORMS = {
    "WhatsApp": "[{n}/05/2024, 10:0{n}:11] {name}: {text}\n",
    "WhatsApp of Android": "0{n}/05/2024, 10:0{n} - {name}: {text}\n",
    "a number of WhatsApp": "0{n}/05/2024, 10:0{n} - +49 151 2345 67: {text}\n",
    "Slack": "{name}  10:0{n} AM\n{text}\n\n",
    "Zoom": "00:0{n}:12 {name}\n{text}\n\n",
    "Teams": "{name} (0:0{n}): {text}\n",
    "IRC": "[10:0{n}] <{name}> {text}\n",
    "IRC with addresses": "[0{n} May 10:0{n}] <{name}!n={name}@host.example.org> {text}\n",
    "Discord": "{name} — 0{n}/05/2024 10:0{n}\n{text}\n",
    "Otter": "{name}  0:0{n}\n{text}\n\n",
    "bold names": "**{name}:** {text}\n\n",
    "names": "{name}: {text}\n\n",
    "Chinese colons": "{name}：{text}\n",
    "subtitles": "{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{text}\n\n",
    "WebVTT": "00:0{n}.000 --> 00:0{n}.900\n<v {name}>{text}\n\n",
    "brackets": "[{name}] {text}\n",
    "arrows": "{name} > {text}\n",
    "an at sign": "@{name} (10:0{n}): {text}\n",
    "bold times": "**10:0{n} {name}:** {text}\n",
    "days without a year": "[0{n}/06, 17:3{n}] {name}: {text}\n",
    "a log": "2024-05-0{n} 10:0{n}:11,123 ERROR {name}: {text}\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_sentence_of_a_turn_stands_behind_its_speaker(form):
    """Whatever is left out of the turn, and of the chat."""
    turns = [FORMS[form].format(n=n, name=name, text=x) for n, (name, x) in enumerate(SAID, 1)]
    text = "".join(turns)
    unit = next(unit for unit in spans(text) if "nine thousand" in unit.text)
    head = turns[1][: turns[1].index("The pier")]

    shown = joined(text, [(unit.start, unit.end)]).removeprefix("…").split()

    assert len(unit.text) < len(LONG)
    assert f"{head} … It cost us".split() == shown[: len(head.split()) + 4]


def test_a_line_of_a_message_is_no_speaker_and_its_last_paragraph_no_title():
    """Though it ends in a colon, or stands above a message, where a chat's messages have a time."""
    said = [
        ("Ann", "Hi.\n\nNothing new"),
        ("Bo", "What now?\n\nTell us"),
        ("Ann", f"Two ways.\nOne:\n{LONG}"),
        ("Bo", "Fine."),
    ]
    form = FORMS["WhatsApp"]
    text = "".join(form.format(n=n, name=name, text=x) for n, (name, x) in enumerate(said, 1))
    shown = joined(text, [(text.index("It cost us"), text.index("another"))])

    assert shown.startswith("…\n[3/05/2024, 10:03:11] Ann: ")


MAIL = f"""Received: from a.example.org by b.example.org; Mon, 6 May 2024 10:00:01 +0200
 with a long tale of how it came {"here and there " * 30}
From: Anna Beck <anna@example.org>
To: Ben <ben@example.org>
Subject: Pier opening
Date: Mon, 6 May 2024 10:00:00 +0200

Hi Ben,

{LONG}

On Sun, 5 May 2024, Ben wrote:
> When is it?
>
> {LONG}

-----Original Message-----
From: Ben
Sent: Sunday
To: Anna
Subject: The key

The key is with Tom. He sits in room four.
"""


@pytest.mark.parametrize(
    ("said", "heads", "others"),
    [
        (
            "nine thousand",
            ["From: Anna", "Subject: Pier opening", "Date: Mon"],
            ["Received", "key"],
        ),
        ("When is it", ["From: Anna", "On Sun, 5 May 2024, Ben wrote:\n> When"], ["The key"]),
        ("room four", ["From: Ben", "Sent: Sunday", "Subject: The key"], ["Pier opening"]),
    ],
)
def test_a_part_of_a_mail_has_its_header(said, heads, others):
    """Who, to whom, when and about what; and of what is quoted, who wrote it."""
    unit = next(unit for unit in spans(MAIL) if said in unit.text)
    shown = joined(MAIL, [(unit.start, unit.end)])

    assert all(head in shown for head in heads)
    assert not any(other in shown for other in others)


QUOTED = """\
From: Cy
To: Ann
Subject: Dose

On Monday, Ann <ann@example.org>
wrote:
> No.
> Ben wrote:
>
>> Di wrote:
>>> Give 9.
>> It is true. Give 20.
> It is too much. Give 5.

>
>

I agree."""
HEAD = "On Monday, Ann <ann@example.org>\nwrote:\n"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("> No.", HEAD + "> No."),
        ("Give 9.", HEAD + "…\n> Ben wrote:\n>\n>> Di wrote:\n>>> Give 9."),
        ("Give 20.", HEAD + "…\n> Ben wrote:\n…\n>> … Give 20."),
        ("Give 5.", HEAD + "…\n> … Give 5."),
        ("I agree.", "…\nI agree."),
    ],
)
def test_a_quote_stands_below_who_wrote_it(said, shown):
    """With its marks, and below nobody else."""
    start = QUOTED.index(said)

    assert shown in joined(QUOTED, [(start, start + len(said))])


TICKETS = "Ticket: OPS-{n}\nStatus: {word}\nOwner: {name}"
COMMIT = (
    "commit {n}a0f3\n{merge}Author: {name} <a@x.org>\nDate:   Mon Jun {n} 10:00\n\n    Do {word}.\n"
)
KINDS = {  # a record, and what stands between two
    "tickets": (TICKETS, "\n\n"),
    "tickets with carriage returns": (TICKETS.replace("\n", "\r\n"), "\r\n\r\n"),
    "tickets with a field that not each has": ("Ticket: {n}\n{merge}Owner: {name}", "\n\n"),
    "tickets between rules": (TICKETS.replace("Owner", "Whose it is"), "\n---\n"),
    "tickets with a text": (TICKETS + "\n\nIt is {word}.\n\n{name} saw it.\n\n{name}", "\n\n"),
    "tickets with lists": (TICKETS + "\nLabels:\n  - {word}\n  - {name}", "\n\n"),
    "tickets in sections": (TICKETS + "\n\nSteps: none\nResult: {word}", "\n\n"),
    "tickets of many lines": ("Ticket: {n}\nNote: it is\n{word} here\nOwner: {name}", "\n\n"),
    "tickets with nothing between": (TICKETS, "\n"),
    "tickets of many lines with nothing between": ("No: {n}\n{merge}As: a\n{word}\nBy: x", "\n"),
    "two fields with nothing between": ("Name: {name}\nPhone: {n}", "\n"),
    "bold names": ("**Ticket:** {n}\n**Owner:** {name}", "\n\n"),
    "columns": ("Name      : {name}\nStatus    : {word}", "\n\n"),
    "a name above with nothing between": ("{name} & Co\nPhone: {n}\nTown: {word}", "\n"),
    "a name above": ("{name}\nPhone: {n}\nTown: {word}", "\n\n"),
    "answers of HTTP": ("HTTP/1.1 {n}\nDate: {word}\nServer: {name}\n\n<p>{n}</p>", "\n\n"),
    "terms": ("Term: {name}\nDefinition: It is {word}.", "\n\n"),
    "packages": ("Package: {name}\nVersion: {n}\nAbout: {word}\n " + LONG * 2, "\n\n"),
    "a field twice": ("File: {n}\nRead: {word}\nRead: 2026-05-0{n} 10:00:00\nBy: {name}", "\n"),
    "LDIF": ("dn: cn={name}\nobjectClass: top\nobjectClass: x\nnote: {word}\n y\nb:: eA=", "\n\n"),
    "full-width colons": ("型号：{n}\n名称：{name}\n说明：{word}\n " + LONG * 2, "\n\n"),
    "psql": ("-[ RECORD {n} ]-+--\nname    | {name}\nof it   | {word}", "\n"),
    "mysql": ("***** {n}. row *****\n name: {name}\nof it: {word}", "\n"),
    "git log": (COMMIT, "\n"),
    "git log --stat": (COMMIT + "\n    " + LONG * 2 + "\n\n a.py | 2 +-\n 1 file {word}\n", "\n"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_stands_below_the_first_one_of_its_record(kind):
    """And below no other record's; a short record is one unit."""
    form, between = KINDS[kind]
    said = [("Ann", "open", ""), ("Bo", "closed", "Merge: 1a 2b\n"), ("Cy", "late", "")]
    records = [form.format(n=n, name=a, word=b, merge=c) for n, (a, b, c) in enumerate(said, 1)]
    text = f"It is so:\n\n{between.join(records)}"
    units = [unit for unit in spans(text) if "It is so" not in unit.text]

    assert units[0].start == text.index(records[0])
    assert len(records) == len(units) or len(records[0]) > 600
    for unit in units:
        shown = re.sub("…(?: . of . shown)?|\r", "", joined(text, [(unit.start, unit.end)]))
        lines = shown.lstrip("\n").split("\n")
        (whole,) = (one for one in records if one.startswith(lines[0]))

        assert unit.text[-20:] in whole
        assert all(word in whole for line in lines for word in line.split())


TALKS = [
    ["User: Why is it?", "Assistant: It is old. It was so.", "User: And it?", "Assistant: So."],
    ["Ann: hi all", "Bo: hi", "Bo: who fixes it", "Ann: me", "Ann: good", "Cy: thanks"],
]


@pytest.mark.parametrize("turns", TALKS)
def test_turns_are_no_records(turns):
    """In pairs, and with nothing between: one has the last word, or they say whole sentences."""
    pairs = ["\n".join(turns[n : n + 2]) for n in range(0, len(turns), 2)]
    for between in ("\n\n", "\n"):
        assert turns == [unit.text for unit in spans(between.join(pairs))]


RECORDS = [
    f"Name: Ada\nTown: Rome\nNote: {LONG}\nAge: 7\n",
    f"{LONG}\n\nNote: it rained.\n\n{LONG}\n\nNote: it snowed.\n\n{LONG}\n\nNote: it hailed.\n",
    f"Requirements: {LONG}\n\nInstallation: {LONG}\n\nUsage: {LONG}\n",
    f"From: the harbour\nVia: the bridge\n\n{LONG}\n",
    f"At 10:00 we met. {LONG}\nAt 11:00 we left. {LONG}\nAt 12:00 it rained.\n",
]

TITLED = [
    "Item {0}: Budget\nAnna: Due. We pay.\nBen: I object. It is much.\nDecision: No. Never.\n\n"
    "Item {1}: Website\nCarla: I propose Bolt.\nBen: Agreed. They fit.\nDecision: Bolt. HERE\n",
    "Pancakes {0}\n\nServes 4\n\nIngredients:\n- 2 eggs\n- milk\n\nMethod:\n1. Mix. Fry.\n\n"
    "Waffles {1}\n\nServes 6\n\nIngredients:\n- 4 eggs\n- milk\n\nMethod:\n1. Mix. HERE\n",
    "v{0} (2023)\nfix: wrong exit code\nfix: leak. It was large.\nperf: faster. By Ann.\n\n"
    "v{1} (2022)\nfix: a race. In the pool.\nperf: less memory\nperf: faster still. HERE\n",
    "Pier {0}\n\nFAULTS\nOld. It rots.\n\nADVICE\nMend it soon. Or not.\n\n"
    "Pier {1}\n\nFAULTS\nNew. It shines.\n\nADVICE\nPaint it. HERE\n",
    "Day {0}\n\n09:14 Ann: It leaks.\n12:30 Lunch\n\nDay {1}\n\n08:55 Bo: Dry.\n10:31 Ann: HERE\n",
]  # fmt: skip


@pytest.mark.parametrize("text", [one.format(19, 18) for one in TITLED])
def test_a_turn_stands_below_the_title_above_it(text):
    """A title is no part of the turn before it."""
    shown = joined(text, [(text.index("HERE"), text.index("HERE") + 4)])

    assert ("19" in shown, "18" in shown) == (False, True)


@pytest.mark.parametrize(("end", "again"), [(".", True), ("", True), (":", True), ("", False)])
def test_a_name_in_capitals_above_a_reply_is_its_speaker(end, again):
    """Where such lines come again; else they are headings."""
    said = ["ROMEO", "NURSE", "ROMEO", "NURSE"] if again else ["AIM", "SCOPE", "COSTS", "PLAN"]
    text = "\n\n".join(f"{name}{end}\nReply {n}. It is long." for n, name in enumerate(said))
    found = [text[one.start : one.head] for root in outline(text) for one in root.children]

    assert found == [name + end for name in said] * again


def test_a_numbered_speaker_and_a_list_within_a_turn_are_no_titles():
    """Names of lists that have lines of their own belong to who speaks."""
    text = (
        "Speaker 1: Two.\nOptions:\n- sell it\n- mend it\n\nSpeaker 2: Sell it.\nOptions:\n"
        "- in May\n- in June\n\nSpeaker 3: In May.\n\nSpeaker 1: Fine. In May, then.\n"
    )
    (root,) = outline(text, small=True)

    assert [*"1231"] == [text[node.start + len("Speaker ")] for node in root.children]


def test_manifests_in_a_row_are_no_chat():
    """Their keys come again, as speakers do; each entry stands below those that hold it."""
    one = "apiVersion: v1\nkind: {}\nspec:\n  ports:\n    - port: {}\n      name: {}-port\n"
    text = "---\n".join(one.format(name, n, name) for n, name in enumerate(("Pod", "Service")))
    start = text.index("port: 1")
    shown = joined(text, [(start, start + len("port: 1"))])

    assert "spec:\n  ports:\n    - port: 1\n" in shown
    assert "Pod" not in shown


@pytest.mark.parametrize("text", RECORDS)
def test_records_and_notes_are_no_chat(text):
    """Names that come once each, or name what follows, are no speakers."""
    assert not [root for root in outline(text) if root.mark == "…"]


THREAD = "".join(
    f"[09:{n:02}] {who}: {said}\n"
    for n, (who, said) in enumerate(
        [
            ("jonas", "Can they live with it for two days?"),
            ("petra", "Staging is up."),
            ("ivo", "ok"),
        ]
        * 3
    )
).replace("[09:04]", "    ↳ [09:04]")


def test_a_reply_behind_a_mark_is_a_turn_of_its_own():
    start = THREAD.index("Staging", THREAD.index("↳"))

    assert "…\n    ↳ [09:04] petra: Staging is up.\n…" == joined(THREAD, [(start, start + 14)])


COURSES = "".join(
    f"""## GEO 2{n}10 · {name}
10 credits · Lecturer: {who} · Fridays 10-13
How {name.lower()} came about, and what it does to the land. A week in the field in May.
Required: GEO 10{n}0. Examination: written, {n} hours.

"""
    for n, (name, who) in enumerate(
        [("Rocks", "R. Dyrdal"), ("Maps", "P. Enersen"), ("Ice on land", "J. Moe"), ("Sea", "H. T")]
    )
)


def test_lines_of_sections_are_no_turns():
    """Each line that comes again stands below a heading of its own."""
    start = COURSES.index("Required: GEO 1020")

    assert joined(COURSES, [(start, start + 19)]).startswith("## GEO 2210 · Ice on land")


def test_subtitles_of_one_sentence_go_together():
    """Where sentences end at all; each cue is its own where none does."""
    said = ["So it was filled", "with mineral oil.", "We keep a tag", "on every can.", "Good."]
    cue = "{0}\n00:00:0{0},000 --> 00:00:0{0},900\n{1}\n"
    text = "\n".join(cue.format(n, one) for n, one in enumerate(said, 1))
    (root,), (other,) = outline(text), outline(text.replace(".\n", "\n"))

    assert [3, 5] == [len(root.children), len(other.children)]


TOLD = "We think that it is likely to go on, and that nobody can say for how long. " * 6
LINES = [
    "", "Harbour:", "Pier Master:", "Pier Master: Mm-hmm.", f"Pier Master: {TOLD}", "Rank: 7",
    "Berth: 9, north", "Date: 15 June", "Loaded", "| 3 | tar |", "- two masts", "[08:10] Ada: so",
]  # fmt: skip
ACROSS = "".join(f"race {n}\nRecord: {n}.83\nOgre\nDate: 1{n} June 2019\n" for n in range(4))
MADE = [
    f"{ACROSS}last race",
    "\n".join([*LINES[5:6], *LINES[10:11] * 2, LINES[1], LINES[4]] * 2 + LINES[10:11] * 2),
]


def regions(nodes):
    yield nodes
    for node in nodes:
        yield from regions(node.children)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=30).map("\n".join))
def test_parts_stand_side_by_side_whatever_they_are_made_of(text):
    """Those of a node in order, within it: records, turns, and what lies across them."""
    for made in (text, *MADE):
        for parts in regions(outline(made, small=True)):
            assert all(a.end <= b.start for a, b in pairwise(parts))
            assert all(p.start <= c.start and c.end <= p.end for p in parts for c in p.children)
