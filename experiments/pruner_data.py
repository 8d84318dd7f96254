"""Build the questions that the bundled sentence pruner learns from.

    python experiments/pruner_data.py --sets ../shared/train --data ../shared/data OUTPUT

OUTPUT/train.jsonl is in the order of training: sets are mixed by `SHARES`. OUTPUT/validation.jsonl
has questions of the same kinds from other articles. No question of the test part, and no passage of
one that was annotated, is in either. A record is what ``ragsieve train pruner`` reads: a question,
its answers, and documents with the spans of the evidence.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pruner_hops import bridges, joined
from pruner_passages import (
    HELD_OUT,
    MOST_OFTEN,
    NEAREST,
    PASSAGES,
    POOLS,
    RIVALS,
    UNLICENSED,
    alike,
    filled,
    place,
    pooled,
    read,
    record,
    telling,
    unanswerable,
    usable,
)
from pruner_structures import as_page, as_thread, made_up
from pruner_wordings import bridged, echo, exchanged, worded

from ragsieve.types import Document
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.evaluate.evidence import gold_sentences

Record = dict[str, Any]

SHARES = {  # of 100 questions, beside those of `POOLS`; the sets of ``--data`` have the rest
    "squad_train": 8, "squad_dev": 8, "squadshifts_wiki": 3, "squadshifts_reddit": 3,
    "squadshifts_amazon": 2, "squad_sentences": 1, "qed": 2, "selqa": 3, "bioasq": 2, "fever": 3,
    "fairytaleqa": 2, "cuad": 2, "chunking_evaluation": 1, "timeqa": 2, "evidence_inference": 1,
    "covidqa": 1, "wice": 0.7, "qmsum": 0.5,
}  # fmt: skip
RETRIEVED = {
    "nq": 2, "triviaqa": 1.6, "popqa": 1.8, "hotpotqa": 1, "hotpotqa_fullwiki": 1,
    "musique": 0.5, "2wikimultihopqa": 2, "asqa": 0.6, "multihoprag": 1.3, "clapnq": 1.2,
    "retrievalqa": 0.4,
}  # fmt: skip
SPARSE = {"evidence_inference", "covidqa", "cuad", "timeqa", "wice", "fever", "bioasq", "qmsum"}
"""Sets whose annotators marked few of the sentences that answer: no negatives of the same group."""
MADE = {"structures": 3, "bridge": 4, "joined": 2}
"""Shares of made-up questions: over structured texts, and of two questions with marked evidence."""
SIMPLE = ("squad_train", "squad_dev", "squadshifts_wiki")  # what questions are put together of
PAGES, THREADS = 0.08, 0.04  # of the questions: their passages in other forms
SECOND = 0.25  # of those that several passages answer: read again with a sentence of one of them
ECHOES, EXCHANGED = 0.06, 0.3  # of the questions: with a passage that only looks as if it answers
NONE = 0.1  # of them, those that no passage of theirs answers; some sets have such questions, too
OFTEN = 3  # passes over a set, at most


def annotated(
    name: str, folder: Path, chance: random.Random, nearest: str, most: int | None
) -> Iterator[tuple[Record, bool]]:
    """Questions with marked evidence, with hard negatives; whether each is for validation.

    Where `most` is given, so many questions with the passages of their groups, and others up to
    five times as many.
    """
    passages = {p["id"]: p for p in read(folder / f"{name}.passages.jsonl.gz")}
    questions = read(folder / f"{name}.questions.jsonl.gz")
    if most is not None and most < len(questions):
        questions = chance.sample(questions, most)
        needed = {i for q in questions for i in q["passages"]}
        others = chance.sample(list(passages), min(len(passages), 5 * most))
        kept = {*needed, *others}
        passages = {i: p for i, p in passages.items() if i in kept}
    texts, ids = [p["text"] for p in passages.values()], list(passages)
    near = NEAREST[nearest]([q["question"] for q in questions], texts, min(RIVALS, len(ids)))
    held = {i: place(p["group"]) < HELD_OUT for i, p in passages.items()}
    used: Counter[str] = Counter()
    for question, row in zip(questions, near, strict=True):
        gold = {e["passage"]: e["spans"] for e in question["evidence"]}
        own = [*gold] or question["passages"]
        group = {passages[i]["group"] for i in own}
        rivals = [i for n in row if (i := ids[n]) not in question["passages"]]
        if name in SPARSE:
            rivals = [i for i in rivals if passages[i]["group"] not in group]
        chosen = chance.sample(own, min(len(own), 3))
        size = chance.randrange(*PASSAGES) - len(chosen)
        fresh = [
            i
            for i in dict.fromkeys([*rivals, *chance.sample(ids, min(len(ids), size))])
            if i not in question["passages"] and used[i] < MOST_OFTEN and held[i] == held[own[0]]
        ][:size]
        used.update(fresh)
        documents = [
            {**{k: passages[i][k] for k in ("id", "title", "text")}, "evidence": gold.get(i, [])}
            for i in [*chosen, *fresh]
        ]
        answers = [] if question["type"] == "claim" else question["answers"]
        id = f"{name}:{question['id']}"
        yield record(id, question["question"], answers, documents), held[own[0]]


def retrieved(name: str, folder: Path) -> Iterator[tuple[Record, bool]]:
    """Questions with passages that a retriever gave, of the parts that are not for tests."""
    for question in read(folder / f"{name}.jsonl.gz"):
        part = part_of(question["question"])
        if part == "test":
            continue
        documents = [found for d in question["documents"] if (found := marked(d, question))]
        if name == "clapnq" or any(d["evidence"] for d in documents):
            yield (
                record(
                    f"{name}:{question['id']}", question["question"], question["answers"], documents
                ),
                part == "validation",
            )


def marked(document: Record, question: Record) -> Record:
    """A document with its evidence: its supporting sentences, else those with an answer.

    Where nobody says that the document is needed, they are `telling`, too.

    Nothing for one that is needed, but in which nobody marked what for.
    """
    text, title = document["text"], document["title"]
    spans = [list(span) for span in gold_sentences(Document("", text, metadata=document))]
    if not spans and "is_positive" not in document:
        spans = telling(text, title, question["question"], question["answers"])
    elif not spans and document["is_positive"]:
        answers = filter(usable, question["answers"])
        spans = [list(m.span()) for a in answers for m in re.finditer(re.escape(a), text)]
        if not spans:
            return {}
    return {**{k: document[k] for k in ("id", "title", "text")}, "evidence": spans}


def mixed(sets: dict[str, list[Record]], count: int, chance: random.Random) -> Iterator[Record]:
    """Questions in the shares of their sets; a set comes `OFTEN` times at most, then the rest."""
    shares = {**SHARES, **POOLS, **UNLICENSED, **RETRIEVED, **MADE}
    turns = {
        name: iter([r for _ in range(OFTEN) for r in chance.sample(some, len(some))])
        for name, some in sets.items()
    }
    left = {name: shares[name] for name, some in sets.items() if some}
    while count and left:
        (name,) = chance.choices([*left], weights=[*left.values()])
        one = next(turns[name], None)
        if one is None:
            del left[name]
            continue
        yield formed(one, chance, sets[name])
        count -= 1


def formed(one: Record, chance: random.Random, others: list[Record]) -> Record:
    """A question as it is; now and then in other words, company or form."""
    one, second = worded(one, others, chance), None
    if chance.random() < EXCHANGED and (rival := exchanged(one, chance)):
        one = {**one, "documents": [*one["documents"], rival]}
    if chance.random() < ECHOES:
        rival = echo(one["question"], len(one["documents"]), chance)
        one = {**one, "documents": [*one["documents"], rival]}
    draw = chance.random()
    if draw < NONE:
        return unanswerable(one) or one
    if draw < NONE + PAGES:
        told = sorted(one["documents"], key=lambda d: not d["evidence"])
        return as_page({**one, "documents": told[:4]}, chance)
    if draw < NONE + PAGES + THREADS:
        return as_thread(one, chance)
    if chance.random() < SECOND:
        second = bridged(one, chance)
    return second or one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--sets", type=Path, required=True, help="folder of annotated sets")
    parser.add_argument("--data", type=Path, required=True, help="folder of retrieved passages")
    parser.add_argument("--count", type=int, default=60_000, help="questions of train.jsonl")
    parser.add_argument(
        "--nearest", choices=list(NEAREST), default="words", help="what finds hard negatives"
    )
    parser.add_argument("--experiment", action="store_true", help="with sets without a licence")
    parser.add_argument("--most", type=int, help="questions of each annotated set; all by default")
    parser.add_argument(
        "--validation", type=int, default=150, help="questions of each set, at most"
    )
    options = parser.parse_args()
    chance = random.Random(0)
    pools = {**POOLS, **(UNLICENSED if options.experiment else {})}
    learned: dict[str, list[Record]] = {}
    checked: list[Record] = []
    for name in [*SHARES, *pools, *RETRIEVED]:
        if name in pools:
            records = pooled(name, options.sets, chance)
        elif name in SHARES:
            records = annotated(name, options.sets, chance, options.nearest, options.most)
        else:
            records = retrieved(name, options.data)
        both: tuple[list[Record], list[Record]] = ([], [])
        for item, validation in records:
            both[validation].append(item)
        if name in RETRIEVED and name != "clapnq":
            for some in both:
                some[:] = filled(some, chance, options.nearest)
        learned[name] = both[0] if name in SPARSE else [*alike(both[0])]
        checked += chance.sample(both[1], min(options.validation, len(both[1])))
        print(f"{name}: {len(both[0])} to learn from, {len(both[1])} for validation", flush=True)
    simple = [
        r for name in SIMPLE for r in learned[name] if any(d["evidence"] for d in r["documents"])
    ]
    learned["bridge"] = [*bridges(simple, chance)]
    learned["joined"] = [*joined(simple, chance, len(simple) // 4)]
    learned["structures"] = [made_up(number, chance) for number in range(options.count // 8)]
    options.output.mkdir(parents=True, exist_ok=True)
    for file, items in (
        ("train", mixed(learned, options.count, chance)),
        ("validation", checked),
    ):
        with (options.output / f"{file}.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


if __name__ == "__main__":
    main()
