"""Build the questions of the kinds that the bundled sentence pruner had not seen.

    python experiments/pruner_new_data.py --sets ../shared/train --data OLD OUTPUT

OLD is what ``experiments/pruner_data.py`` wrote. OUTPUT/train.jsonl is half of it and half new, in
the order of training; OUTPUT/validation.jsonl has the new kinds alone, over other tables, programs,
packages and articles. Kinds: tables in eleven forms, outputs of programs, source code, a second
reading with a sentence of another passage behind the question, documents without their evidence,
other wordings, meetings and contracts.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pruner_data import annotated
from pruner_outputs import outputs
from pruner_passages import HELD_OUT, mentions, place, pooled, read
from pruner_sources import sources
from pruner_tables import joined, look_ups, reformed
from pruner_wordings import CHATS, bridged, keywords

from ragsieve import split
from ragsieve.types import Document, Query, Segment

Record = dict[str, Any]
Parts = tuple[list[Record], list[Record]]  # to learn from, for validation

SHARES = {  # of 100 questions of the new half
    "formed": 9, "table": 19, "output": 14, "source": 17, "second": 14, "none": 14,
    "worded": 6, "meeting": 7,
}  # fmt: skip
TABLES = ("ottqa", "hybridqa", "tatqa")
HOPS = ("hotpotqa_more", "2wiki_pool", "2wiki_more", "musique_pool", "hover_pool", "ottqa")
SINGLE = ("squad_train", "squadshifts_wiki", "squadshifts_reddit", "selqa", "qed", "fairytaleqa")
SPOKEN = {"qmsum": 620, "cuad": 1500}
HELD_PACKAGES = 10  # of 100 packages are for validation
EACH = 150  # validation questions of a kind


def gathered(sets: Path, chance: random.Random, most: int) -> dict[str, Parts]:
    """Questions of each kind, and of the sets that others are made of."""
    kinds: dict[str, Parts] = {name: ([], []) for name in (*SHARES, "hops", "single")}
    for name in dict.fromkeys((*TABLES, *HOPS)):
        for record, held in pooled(name, sets, chance):
            if name in TABLES:
                kinds["formed"][held].append(_named("formed", reformed(record, chance)))
            if name in HOPS:
                kinds["hops"][held].append(record)
    for kind, names in (("single", dict.fromkeys(SINGLE, most)), ("meeting", SPOKEN)):
        for name, count in names.items():
            for record, held in annotated(name, sets, chance, "words", count):
                if any(d["evidence"] for d in record["documents"]):
                    kinds[kind][held].append(_named(kind, record))
    passages = [p for n in ("ottqa", "hybridqa") for p in read(sets / f"{n}.passages.jsonl.gz")]
    parts: tuple[list[Record], list[Record]] = ([], [])
    for passage in passages:
        parts[place(passage["title"].partition(" - ")[0]) < HELD_OUT].append(passage)
    for part, some in enumerate(parts):
        kinds["table"][part].extend(look_ups(joined(some), chance, 2))
    for held, record in outputs(chance, most // 8):
        kinds["output"][held].append(record)
    for package, record in sources(chance, most // 12):
        kinds["source"][place(package) < HELD_PACKAGES].append(record)
    return kinds


def derived(kinds: dict[str, Parts], chance: random.Random) -> None:
    """Fill the kinds that are made of others: second readings, none that answers, wordings."""
    for held in (0, 1):
        hops, single = kinds["hops"][held], kinds["single"][held]
        second = [*(bridged(r, chance) for r in hops), *(sure(r, chance) for r in single)]
        kinds["second"][held].extend(_named("second", r) for r in second if r)
        of = [*hops, *single, *kinds["meeting"][held], *kinds["table"][held][:600]]
        of += [*kinds["source"][held][:600], *kinds["output"][held][:400]]
        kinds["none"][held].extend(_named("none", r) for r in map(without_evidence, of) if r)
        of = [*single, *hops]
        kinds["worded"][held].extend(_named("worded", worded(r, of, chance)) for r in of)


def sure(record: Record, chance: random.Random) -> Record | None:
    """A question of one passage with a sentence behind it.

    In half of them it is the evidence, and the others add nothing; else it is of another passage,
    and the evidence stays what it is.
    """
    good = [d for d in record["documents"] if d["evidence"]]
    others = [d for d in record["documents"] if not d["evidence"] and d["text"]]
    if len(good) != 1 or len(others) < 3:
        return None
    document = good[0] if (answered := chance.random() < 0.5) else chance.choice(others)
    segments = _units(record["question"], document)
    touched = [s.text for s in segments if _is_evidence(s, document)] if answered else []
    shown = " ".join(chance.choice(touched or [s.text for s in segments]).split())[:300]
    left = [d for d in record["documents"] if d is not document]
    answers = [] if answered else record["answers"]
    question = f"{record['question']} {shown}"
    return {**record, "question": question, "answers": answers, "documents": left}


def without_evidence(record: Record) -> Record | None:
    """The question with its own documents, of which the units with evidence or answers are gone."""
    documents = []
    for document in record["documents"]:
        if not document["evidence"]:
            continue
        shown, end = "", 0
        for segment in _units(record["question"], document):
            between = document["text"][end : segment.start]
            end = segment.end
            gone = _is_evidence(segment, document) or mentions(segment.text, record["answers"])
            shown += "" if gone else between + segment.text
        if len(shown.split()) > 25:
            documents.append({**document, "text": shown.strip(), "evidence": []})
    if not documents:
        return None
    others = [d for d in record["documents"] if not d["evidence"]]
    others = [d for d in others if not mentions(d["text"], record["answers"])]
    return {**record, "answers": [], "documents": [*documents, *others]}


def worded(record: Record, others: Sequence[Record], chance: random.Random) -> Record:
    """A question as keywords, with typing errors, or behind a turn before."""
    asked, draw = record["question"], chance.random()
    if draw < 0.35:
        asked = keywords(asked).lower()
    if draw < 0.7:
        asked = mistyped(asked, chance)
    else:
        before = chance.choice(others)
        reply = (before["answers"] or ["I do not know."])[0]
        asked = chance.choice(CHATS).format(a=before["question"], b=reply, q=asked)
    return {**record, "question": asked}


def mistyped(text: str, chance: random.Random) -> str:
    """Two letters of some longer words exchanged, one left out or one doubled."""
    words = text.split()
    for n, word in enumerate(words):
        if len(word) > 4 and chance.random() < 0.25:
            at = chance.randrange(1, len(word) - 2)
            change = chance.choice(
                (word[at + 1] + word[at], word[at], word[at : at + 2] + word[at])
            )
            words[n] = word[:at] + change + word[at + 2 :]
    return " ".join(words)


def _units(question: str, document: Record) -> list[Segment]:
    whole = Segment.whole(Document("", document["text"], title=document["title"]))
    return split.Blocks()(Query(question), [whole])


def _is_evidence(segment: Segment, document: Record) -> bool:
    return any(a < segment.end and segment.start < b for a, b in document["evidence"])


def _named(kind: str, record: Record) -> Record:
    return {**record, "id": f"{kind}:{record['id']}"}


def mixed(
    old: Path, kinds: dict[str, Parts], count: int, chance: random.Random
) -> Iterator[Record]:
    """Old and new questions in turns; what is used up begins again."""
    turns = {name: _endless(kinds[name][0], chance) for name in SHARES if kinds[name][0]}
    shares = [SHARES[name] for name in turns]
    lines = old.open("rb")
    for _ in range(count // 2):
        yield json.loads(next(lines))
        (name,) = chance.choices([*turns], weights=shares)
        yield turns[name]()


def _endless(some: list[Record], chance: random.Random) -> Callable[[], Record]:
    def turns() -> Iterator[Record]:
        while True:
            yield from chance.sample(some, len(some))

    return turns().__next__


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--sets", type=Path, required=True, help="folder of annotated sets")
    parser.add_argument("--data", type=Path, required=True, help="what pruner_data.py wrote")
    parser.add_argument("--count", type=int, default=12_000, help="questions of train.jsonl")
    parser.add_argument("--most", type=int, default=400, help="about how many of each source")
    options = parser.parse_args()
    chance = random.Random(0)
    kinds = gathered(options.sets, chance, options.most)
    derived(kinds, chance)
    for name, (learned, held) in kinds.items():
        print(f"{name}: {len(learned)} to learn from, {len(held)} for validation", flush=True)
    checked = [
        r for name in SHARES for r in chance.sample(kinds[name][1], min(EACH, len(kinds[name][1])))
    ]
    options.output.mkdir(parents=True, exist_ok=True)
    old = options.data / "train.jsonl"
    order = mixed(old, kinds, options.count, chance)
    for file, items in (("train", order), ("validation", iter(checked))):
        with (options.output / f"{file}.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


if __name__ == "__main__":
    main()
