"""Build the questions that the bundled sentence pruner learns from.

    python experiments/pruner_data.py --sets ../shared/train --data ../shared/data OUTPUT

OUTPUT/train.jsonl is in the order of training: sets are mixed by `SHARES`. OUTPUT/validation.jsonl
has questions of the same kinds from other articles. No question of the test part, and no passage of
one that was annotated, is in either. A record is what ``ragsieve train pruner`` reads: a question,
its answers, and documents with the spans of the evidence.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from pruner_hops import bridges, joined
from pruner_structures import as_page, as_thread, made_up

from ragsieve import models
from ragsieve.text import normalise
from ragsieve.types import Document
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.evaluate.evidence import gold_sentences

Record = dict[str, Any]

SHARES = {  # of 100 questions; the sets of ``--data`` have the rest
    "squad_train": 12, "squad_dev": 12, "squadshifts_wiki": 4, "squadshifts_reddit": 4,
    "squadshifts_amazon": 3, "squad_sentences": 2, "qed": 4, "selqa": 5, "bioasq": 3, "fever": 5,
    "fairytaleqa": 4, "cuad": 3, "chunking_evaluation": 2, "timeqa": 2, "evidence_inference": 2,
    "covidqa": 1, "wice": 1, "qmsum": 1,
}  # fmt: skip
RETRIEVED = {
    "nq": 6, "triviaqa": 5, "popqa": 4, "hotpotqa": 2, "hotpotqa_fullwiki": 3, "musique": 1,
    "2wikimultihopqa": 4, "asqa": 2, "multihoprag": 3, "clapnq": 3, "retrievalqa": 1,
    "simpleqa_web": 1, "realtimeqa_web": 0.5, "realtimeqa_sources": 0.5,
}  # fmt: skip
SPARSE = {"evidence_inference", "covidqa", "cuad", "timeqa", "wice", "fever", "bioasq", "qmsum"}
"""Sets whose annotators marked few of the sentences that answer: no negatives of the same group."""
NEGATIVES = 3  # passages without evidence that a question has
HELD_OUT = 4  # of 100 groups are for validation
MADE = {"structures": 6, "bridge": 6, "joined": 3}
"""Shares of made-up questions: over structured texts, and of two questions with marked evidence."""
SIMPLE = ("squad_train", "squad_dev", "squadshifts_wiki")  # what questions are put together of
PAGES, THREADS = 0.1, 0.05  # of the questions with marked evidence: their passages in other forms
MOST_OFTEN = 40  # a passage is a negative at most so often


def read(path: Path) -> list[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def place(text: str, of: int = 100) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % of


def by_words(questions: list[str], texts: list[str], k: int) -> np.ndarray:
    """Places of the ``k`` best texts by BM25, ``(n_questions, k)``."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(questions, show_progress=False)
    places, _ = index.retrieve(tokens, k=k, show_progress=False)
    return np.asarray(places)


def by_embedding(questions: list[str], texts: list[str], k: int) -> np.ndarray:
    """Places of the ``k`` best texts by MiniLM's cosine of their first 600 characters."""
    embedder = models.load("minilm")
    similar = embedder.embed(questions) @ embedder.embed([t[:600] for t in texts]).T
    return np.argsort(-similar, axis=1)[:, :k]  # (n_questions, k)


NEAREST = {"words": by_words, "embedding": by_embedding}


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
    near = NEAREST[nearest]([q["question"] for q in questions], texts, min(20, len(ids)))
    held = {i: place(p["group"]) < HELD_OUT for i, p in passages.items()}
    groups: dict[str, list[str]] = {}
    for i, p in passages.items():
        groups.setdefault(p["group"], []).append(i)
    used: Counter[str] = Counter()
    for question, row in zip(questions, near, strict=True):
        gold = {e["passage"]: e["spans"] for e in question["evidence"]}
        own = [*gold] or question["passages"]
        validation = held[own[0]]
        group = {passages[i]["group"] for i in own}
        rivals = [ids[n] for n in row if ids[n] not in question["passages"]]
        same = [i for i in rivals if passages[i]["group"] in group]
        if name in SPARSE:
            rivals, same = [i for i in rivals if i not in same], []
        elif not same:
            same = [i for i in groups[next(iter(group))] if i not in question["passages"]]
        chosen = chance.sample(own, min(len(own), 2))
        wanted = [
            *chance.sample(same, min(len(same), 1)),
            *chance.sample(rivals[:8], min(len(rivals[:8]), 2)),
            *chance.sample(ids, 2),
        ]
        fresh = [i for i in dict.fromkeys(wanted) if used[i] < MOST_OFTEN and held[i] == validation]
        fresh = [i for i in fresh if i not in own and i not in question["passages"]][:NEGATIVES]
        used.update(fresh)
        documents = [
            {**{k: passages[i][k] for k in ("id", "title", "text")}, "evidence": gold.get(i, [])}
            for i in [*chosen, *fresh]
        ]
        answers = [] if question["type"] == "claim" else question["answers"]
        yield (
            record(f"{name}:{question['id']}", question["question"], answers, documents),
            validation,
        )


def record(id: str, question: str, answers: list[str], documents: list[Record]) -> Record:
    return {"id": id, "question": question, "answers": answers, "documents": documents}


def retrieved(name: str, folder: Path) -> Iterator[tuple[Record, bool]]:
    """Questions with passages that a retriever gave, of the parts that are not for tests."""
    for question in read(folder / f"{name}.jsonl.gz"):
        part = part_of(question["question"])
        if part == "test":
            continue
        answers = question["answers"]
        if any("is_positive" in d for d in question["documents"]):
            documents = [marked(d, answers) for d in question["documents"]]
        else:
            documents = [
                {"id": d["id"], "title": d["title"], "text": d["text"]}
                for d in question["documents"]
            ]
            if not any(mentions(d["title"] + " " + d["text"], answers) for d in documents):
                continue  # whether it can be answered is not known
        if documents := [d for d in documents if d]:
            yield (
                record(f"{name}:{question['id']}", question["question"], answers, documents),
                (part == "validation"),
            )


def marked(document: Record, answers: list[str]) -> Record:
    """A document with its evidence: its supporting sentences, else those with an answer.

    Nothing for one that is needed, but in which nobody marked what for.
    """
    text = document["text"]
    spans = [list(span) for span in gold_sentences(Document("", text, metadata=document))]
    if document.get("is_positive") and not spans:
        spans = [
            list(m.span()) for a in answers if usable(a) for m in re.finditer(re.escape(a), text)
        ]
        if not spans:
            return {}
    return {**{k: document[k] for k in ("id", "title", "text")}, "evidence": spans}


def usable(answer: str) -> bool:
    return len(normalise(answer)) > 1 and normalise(answer) not in ("yes", "no")


def mentions(text: str, answers: Iterable[str]) -> bool:
    read = f" {normalise(text)} "
    return any(usable(a) and f" {normalise(a)} " in read for a in answers)


def mixed(sets: dict[str, list[Record]], count: int, chance: random.Random) -> Iterator[Record]:
    """Questions in the shares of their sets; a set begins again when it ends, in another order."""
    shares = {**SHARES, **RETRIEVED, **MADE}
    names = [name for name in sets if sets[name]]
    weights = np.array([shares[name] for name in names], float)
    turns = {name: endless(sets[name], chance) for name in names}
    for name in chance.choices(names, weights=list(weights), k=count):
        yield formed(next(turns[name]), chance)


def formed(record: Record, chance: random.Random) -> Record:
    """A question as it is, or its passages as one page or as threads, where evidence is marked."""
    draw = chance.random()
    if draw > PAGES + THREADS or not all("evidence" in d for d in record["documents"]):
        return record
    return as_page(record, chance) if draw < PAGES else as_thread(record, chance)


def endless(records: list[Record], chance: random.Random) -> Iterator[Record]:
    for _ in itertools.count():
        yield from chance.sample(records, len(records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--sets", type=Path, required=True, help="folder of annotated sets")
    parser.add_argument("--data", type=Path, required=True, help="folder of retrieved passages")
    parser.add_argument("--count", type=int, default=60_000, help="questions of train.jsonl")
    parser.add_argument(
        "--nearest", choices=list(NEAREST), default="words", help="what finds hard negatives"
    )
    parser.add_argument("--most", type=int, help="questions of each annotated set; all by default")
    parser.add_argument(
        "--validation", type=int, default=150, help="questions of each set, at most"
    )
    options = parser.parse_args()
    chance = random.Random(0)
    learned: dict[str, list[Record]] = {}
    checked: list[Record] = []
    for name in [*SHARES, *RETRIEVED]:
        records = (
            annotated(name, options.sets, chance, options.nearest, options.most)
            if name in SHARES
            else retrieved(name, options.data)
        )
        both: tuple[list[Record], list[Record]] = ([], [])
        for item, validation in records:
            both[validation].append(item)
        learned[name] = both[0]
        checked += chance.sample(both[1], min(options.validation, len(both[1])))
        print(f"{name}: {len(both[0])} to learn from, {len(both[1])} for validation", flush=True)
    simple = [
        r for name in SIMPLE for r in learned[name] if any(d["evidence"] for d in r["documents"])
    ]
    learned["bridge"] = [*bridges(simple, chance)]
    learned["joined"] = [*joined(simple, chance, len(simple) // 4)]
    learned["structures"] = [made_up(number, chance) for number in range(options.count // 8)]
    options.output.mkdir(parents=True, exist_ok=True)
    for file, records in (
        ("train", mixed(learned, options.count, chance)),
        ("validation", checked),
    ):
        with (options.output / f"{file}.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in records)


if __name__ == "__main__":
    main()
