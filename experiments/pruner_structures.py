"""Questions over structured texts for the bundled sentence pruner: made up, from templates.

Public sets with evidence spans hold prose. These make what people have beside it: steps, tables,
error lists, release notes, rules, threads, and two texts to compare; and they give real passages
the form of a thread or of a page with headings. All texts are made up; none is one of a test's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ragsieve.text import sentence_spans

Record = dict[str, Any]
Texts = list[tuple[str, str, bool]]  # title, text, whether it is evidence

THINGS = (
    "coffee grinder", "label printer", "heat pump", "guest network", "door badge", "water filter",
    "mailing list", "backup drive", "customer account", "test server", "payment link", "projector",
    "hedge trimmer", "dishwasher", "loyalty card", "access token", "report template", "bike rack",
    "sewing machine", "smoke detector", "shared calendar", "search index", "cargo trailer",
    "hearing aid", "greenhouse vent", "booking page", "signing key", "wood stove", "price list",
)  # fmt: skip
DEEDS = (
    ("reset", "Resetting"), ("clean", "Cleaning"), ("replace", "Replacing"), ("update", "Updating"),
    ("install", "Installing"), ("move", "Moving"), ("remove", "Removing"), ("test", "Testing"),
    ("connect", "Connecting"), ("lock", "Locking"), ("rename", "Renaming"), ("adjust", "Adjusting"),
)  # fmt: skip
STEPS = (
    "Open the {a} menu and choose *{b}*.", "Switch the power off and wait {n} seconds.",
    "Run `{a} {b} --force`.", "Hold the {b} button until the light turns green.",
    "Confirm with your password.", "Loosen the {n} screws at the back.", "Tell the {a} team first.",
    "Enter the code from the {b} page.", "Close the cover and press start.", "Check the {b} level.",
    "Write the date on the {a} sheet.", "Wait until the {b} counter shows {n}.",
    "Pull the {a} out towards you.", "Choose a {b} file with at most {n} rows.",
)  # fmt: skip
WORDS = (
    "main", "north", "service", "audit", "profile", "valve", "export", "status", "panel", "archive",
    "filter", "billing", "region", "sensor", "drawer", "sync", "notice", "stock", "cable", "review",
)  # fmt: skip
NAMES = (
    "Aldin", "Bryce", "Calla", "Dorrit", "Edwin", "Farah", "Gwen", "Hollis", "Imre", "Jolene",
    "Kasper", "Lindy", "Moira", "Niall", "Oriel", "Priya", "Quill", "Rufus", "Selma", "Tilo",
)  # fmt: skip
SYLLABLES = "ba co dre fen gal hul ir jor kel lum mar nov os pra quin ral ste tor ul vex wen zor"
ATTRIBUTES = (  # a column, its unit, a sentence, a question, and how two of them compare
    ("Price", "euros", "The {x} is sold for {v} euros.", "how much does the {x} cost", "cheaper"),
    ("Weight", "kg", "With its case it weighs {v} kg.", "how heavy is the {x}", "heavier"),
    ("Opened", "", "It opened to the public in {v}.", "when did the {x} open", "older"),
    ("Seats", "", "There is room for {v} people.", "how many people fit into the {x}", "larger"),
    ("Range", "km", "One charge lasts for {v} km.", "what is the range of the {x}",
     "better for long trips"),
    ("Warranty", "months", "Faults are repaired free of charge for {v} months.",
     "how long is the warranty of the {x}", "covered for longer"),
    ("Delivery", "days", "Orders arrive within {v} working days.",
     "how long does delivery of the {x} take", "faster to get"),
    ("Speed", "km/h", "Its top speed is {v} km/h.", "how fast is the {x}", "faster"),
    ("Noise", "dB", "In use it makes {v} dB.", "how loud is the {x}", "quieter"),
    ("Height", "m", "It stands {v} m tall.", "how tall is the {x}", "taller"),
)  # fmt: skip
FILLERS = (
    "It comes in several colours.", "The first model was shown at a fair.",
    "Many customers ask for it by name.", "A smaller version is planned.",
    "The team behind it has grown since.", "Reviews were mixed at first.",
    "It was designed by a local office.", "Spare parts can be ordered online.",
    "The manual has been translated.", "Photos are on the next page.",
    "A new coat of paint was added last spring.", "The name goes back to a river nearby.",
)  # fmt: skip
FAULTS = (  # what is seen, and why, with what helps
    ("the page stays blank", "The browser blocks scripts from this address. Allow them."),
    ("the export stops halfway", "The disk is full. Delete old archives and start again."),
    ("login fails with a valid password", "The clock is wrong by over a minute. Set it anew."),
    ("the motor hums but does not turn", "The capacitor is worn. Have it replaced."),
    ("invoices are sent twice", "Two schedules are active. Switch one of them off."),
    ("the display shows dashes", "The sensor has no contact. Clean it with a dry cloth."),
    ("uploads are refused", "The file has over 20 MB. Split it or compress the pictures."),
    ("water leaks from below", "The hose is loose. Tighten the clamp by hand."),
    ("leaves turn yellow", "The roots stand in water. Let the soil dry and repot."),
    ("search finds nothing", "The index is out of date. Rebuild it from the admin page."),
    ("the sound is out of step", "Wireless speakers add a delay. Use a cable or set an offset."),
    ("tests pass here and fail in the pipeline", "It has another time zone. Set TZ=UTC."),
    ("the dough does not rise", "The water was too hot for the yeast. Use it lukewarm."),
    ("the battery empties overnight", "Location sharing is on. Switch it off in the settings."),
    ("the gate opens by itself", "A neighbour's remote uses the same code. Choose another."),
    ("mail ends up in spam", "The sender has no SPF record. Add one for your domain."),
)  # fmt: skip
RULES = (  # questions, and the rule that answers them
    ("can I bring my dog", "Pets may come along if they are kept on a lead."),
    ("is smoking allowed", "Smoking is forbidden in all buildings and near their doors."),
    ("do I get my deposit back", "The deposit is refunded within 30 days if nothing is damaged."),
    ("how long do I have to cancel", "You may withdraw within fourteen days without a reason."),
    ("can I work from abroad", "Remote work outside the country needs approval by your lead."),
    ("who pays for the return", "The customer bears the cost of sending goods back."),
    ("may I sublet my room", "Letting to third parties requires the owner's written consent."),
    ("what happens if I pay late", "Overdue amounts bear interest of one per cent a month."),
    ("can children use it alone", "Persons under 14 must be accompanied by an adult."),
    ("are meals reimbursed", "Food on business trips is paid for up to 28 euros a day."),
    ("how much notice must I give", "Either party may leave with three months' notice."),
    ("is my data sold", "We never pass personal details on to advertisers."),
    ("can I carry days off into next year", "Unused leave expires at the end of March."),
    ("am I insured on the way home", "Accidents on the direct way to and from work are covered."),
    ("may I copy the material", "Reproduction for teaching is permitted if the source is named."),
    ("do I need a receipt", "Expenses without proof of purchase are not accepted."),
    ("what if I lose my key", "A lost key costs 60 euros, since the lock has to be changed."),
    ("can I leave early on Fridays", "Core hours end at noon on the last working day of the week."),
    ("is overtime paid", "Extra hours are balanced by time off, not by money."),
    ("when is it too late to change my booking", "Changes are possible until 48 hours before."),
)  # fmt: skip
OFFERS = ("I can do that", "leave it to me", "I'll take care of it", "I am there anyway", "me then")
CHATTER = (
    "Good morning all", "Has anybody seen my umbrella?", "Thanks!", "Sounds good", "I'm late today",
    "Lunch at one?", "The lift is out again", "ok", "See you tomorrow", "Can somebody call me back",
    "Nice pictures from yesterday", "No idea, sorry",
)  # fmt: skip


def name(chance: random.Random) -> str:
    return "".join(chance.sample(SYLLABLES.split(), chance.choice((2, 2, 3)))).capitalize()


def step(chance: random.Random) -> str:
    a, b = chance.sample(WORDS, 2)
    return chance.choice(STEPS).format(a=a, b=b, n=chance.randrange(2, 60))


def procedure(chance: random.Random) -> tuple[str, Texts, bool]:
    """Several instructions on a page; one is asked for."""
    (things, deeds), parts = (chance.sample(THINGS, 4), chance.sample(DEEDS, 3)), []
    for thing, deed in [(things[0], d) for d in deeds] + [(t, deeds[0]) for t in things[1:3]]:
        steps = [step(chance) for _ in range(chance.randrange(3, 7))]
        lead = chance.choice((f"To {deed[0]} the {thing}:", f"{deed[1]} the {thing}:"))
        marks = [f"{n}. " for n in range(1, 9)] if chance.random() < 0.7 else ["- "] * 8
        lines = "\n".join(mark + text for mark, text in zip(marks, steps, strict=False))
        parts.append(("", f"{lead}\n\n{lines}", (thing, deed) == (things[0], deeds[0])))
    asked = chance.choice(
        ("how do I {d} the {t}?", "{d} {t}", "steps to {d} a {t}", "What must I do to {d} my {t}?")
    )
    return asked.format(d=deeds[0][0], t=things[0]), mixed_up(parts, chance), True


def table(chance: random.Random) -> tuple[str, Texts, bool]:
    """A value in a table; others have the same columns or the same rows."""
    columns = chance.sample(ATTRIBUTES, 3)
    rows = [name(chance) for _ in range(chance.randrange(3, 8))]
    parts: Texts = [("", grid(rows, columns, chance), True)]
    parts.append(("", grid([name(chance) for _ in rows], columns, chance), False))
    parts.append(("", " ".join(chance.sample(FILLERS, 4)), False))
    return columns[0][3].format(x=chance.choice(rows)) + "?", mixed_up(parts, chance), True


def grid(rows: list[str], columns: list[Any], chance: random.Random) -> str:
    heads = [f"{c[0]} ({c[1]})" if c[1] else c[0] for c in columns]
    lines = [["Name", *heads], *([r, *(str(value(c, chance)) for c in columns)] for r in rows)]
    if chance.random() < 0.25:
        return "\n".join(",".join(line) for line in lines)
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(lines[0]), *texts[1:]])


def value(column: Any, chance: random.Random) -> int:
    return chance.randrange(1890, 2025) if column[0] == "Opened" else chance.randrange(2, 900)


def comparison(chance: random.Random) -> tuple[str, Texts, bool]:
    """Two descriptions to compare; a third one nobody asks about."""
    (asked, other), things = chance.sample(ATTRIBUTES, 2), [name(chance) for _ in range(3)]
    texts: Texts = []
    for n, thing in enumerate(things):
        fillers = chance.sample(FILLERS, 4)
        fact = asked[2].format(x=thing, v=value(asked, chance))
        lines = [*fillers[:2], other[2].format(x=thing, v=value(other, chance))]
        at = chance.randrange(4)
        before, after = " ".join(lines[:at]), " ".join([*lines[at:], fillers[3]])
        texts += [(thing, before, False), (thing, fact, n < 2), (thing, after, False)]
    form = chance.choice(("which is {c}, {a} or {b}?", "Is {a} or {b} {c}?", "{a} vs {b}: {c}?"))
    return form.format(c=asked[4], a=things[0], b=things[1]), texts, False


def faults(chance: random.Random) -> tuple[str, Texts, bool]:
    """Entries of an error list or an FAQ; asked by code or by what is seen."""
    some, letters = chance.sample(FAULTS, 5), chance.choice(("E", "ERR-", "F", "W-"))
    codes = chance.sample(range(10, 9999), 5)
    by_code = chance.random() < 0.5
    parts: Texts = [
        ("", f"{letters}{code}: {seen[0].upper()}{seen[1:]}. {why}" if by_code
         else f"**{seen[0].upper()}{seen[1:]}.** {why}", n == 0)
        for n, (code, (seen, why)) in enumerate(zip(codes, some, strict=True))
    ]  # fmt: skip
    code, seen = f"{letters}{codes[0]}", some[0][0]
    ways = [f"what does {code} mean", f"it says {code}, what now?"]
    if not by_code:
        ways = [f"why is it that {seen}?", f"{seen}, what can I do?", seen]
    asked = chance.choice(ways)
    return asked, mixed_up(parts, chance), True


def rules(chance: random.Random) -> tuple[str, Texts, bool]:
    """One clause of an agreement, a handbook or house rules."""
    some = chance.sample(RULES, 7)
    numbers = chance.random() < 0.5
    parts: Texts = [
        ("", f"{n + 2}.{chance.randrange(1, 9)} {rule}" if numbers else rule, n == 0)
        for n, (_, rule) in enumerate(some)
    ]
    return some[0][0] + chance.choice(("", "?")), mixed_up(parts, chance), numbers


def thread(chance: random.Random) -> tuple[str, Texts, bool]:
    """Somebody asks for something in a chat, and somebody takes it on."""
    deed, thing = chance.choice(DEEDS)[0], chance.choice(THINGS)
    who, turns, minute = chance.sample(NAMES, 5), [], chance.randrange(500, 700)
    lines = [(chance.choice(who), text, False) for text in chance.sample(CHATTER, 6)]
    at = chance.randrange(1, 5)
    lines[at:at] = [
        (who[0], f"Somebody has to {deed} the {thing} before Monday", True),
        (who[1], chance.choice(OFFERS), True),
    ]
    for speaker, text, good in lines:
        minute += chance.randrange(1, 9)
        turns.append(("", f"[{minute // 60:02}:{minute % 60:02}] {speaker}: {text}", good))
    form = chance.choice(
        ("who will {d} the {t}?", "Who offered to {d} the {t}", "{t}: who does it")
    )
    return form.format(d=deed, t=thing), turns, True


def releases(chance: random.Random) -> tuple[str, Texts, bool]:
    """What changed in which version."""
    things, parts = chance.sample(THINGS, 6), []
    major, wanted = chance.randrange(1, 9), chance.randrange(3)
    for n in range(3):
        forms = ("Added: the {t} can be shared.", "Fixed: the {t} no longer freezes.",
                 "Removed the old {t}.", "The {t} loads twice as fast.")  # fmt: skip
        notes = "\n".join(
            "- " + chance.choice(forms).format(t=t) for t in things[2 * n : 2 * n + 2]
        )
        parts.append(("", f"## {major}.{5 - n}.{chance.randrange(9)}\n\n{notes}", n == wanted))
    asked = chance.choice(
        ("which release changed the {t}?", "since when is the {t} different", "{t} changelog")
    )
    return asked.format(t=things[2 * wanted]), parts, True


KINDS: tuple[Callable[[random.Random], tuple[str, Texts, bool]], ...] = (
    procedure, table, comparison, faults, rules, thread, releases,
)  # fmt: skip


def mixed_up(parts: Texts, chance: random.Random) -> Texts:
    return chance.sample(parts, len(parts))


def made_up(number: int, chance: random.Random) -> Record:
    """A question of one of `KINDS`, with a page that answers and one of the same kind."""
    kind = chance.choice(KINDS)
    asked, texts, lines = kind(chance)
    between = "\n" if kind is thread else "\n\n" if lines else " "
    _, others, _ = kind(chance)
    title = chance.choice(("", f"{name(chance)} handbook", f"{name(chance)} help"))
    titles = dict.fromkeys(t for t, _, _ in texts)
    documents = [page(t or title, [x for x in texts if x[0] == t], between) for t in titles]
    others = [(t, text, False) for t, text, _ in others[:6] if not answers(text, asked, texts)]
    documents.append(page(title, others, between))
    for place, document in enumerate(documents):
        document["id"] = f"structures:{number}:{place}"
    return {
        "id": f"structures:{number}",
        "question": asked,
        "answers": [],
        "documents": documents,
    }


def answers(text: str, asked: str, texts: Texts) -> bool:
    """Whether a text of another page may answer, too."""
    same_thing = any(thing in asked and thing in text for thing in THINGS)
    return same_thing or any(good and part[-25:] == text[-25:] for _, part, good in texts)


def page(title: str, texts: Texts, between: str) -> Record:
    text, spans = "", []
    for _, part, good in texts:
        text += between if text and part else ""
        spans += [[len(text), len(text) + len(part)]] if good else []
        text += part
    return {"title": title, "text": text, "evidence": spans}


def as_thread(record: Record, chance: random.Random) -> Record:
    """Each sentence a turn of a conversation."""
    speakers, documents = chance.sample(NAMES, 3), []
    for document in record["documents"]:
        text, spans, minute = "", [], chance.randrange(600)
        for start, end in sentence_spans(document["text"]):
            minute += chance.randrange(1, 5)
            text += f"[{minute // 60:02}:{minute % 60:02}] {chance.choice(speakers)}: "
            shift = len(text) - start
            text += document["text"][start:end].replace("\n", " ") + "\n"
            for a, b in document.get("evidence", []):
                if a < end and start < b:
                    spans.append([max(a, start) + shift, min(b, end) + shift])
        documents.append({**document, "text": text, "evidence": spans})
    return {**record, "documents": documents}


def as_page(record: Record, chance: random.Random) -> Record:
    """All passages of a question one page with headings."""
    documents = chance.sample(record["documents"], len(record["documents"]))
    text, spans = "", []
    for n, document in enumerate(documents):
        heading = document["title"] or f"Part {n + 1}"
        text += f"## {heading}\n\n" if chance.random() < 0.8 else ""
        spans += [[a + len(text), b + len(text)] for a, b in document["evidence"]]
        text += document["text"].rstrip("\n") + "\n\n"
    joined = {**documents[0], "title": "", "text": text, "evidence": spans}
    return {**record, "documents": [joined]}
