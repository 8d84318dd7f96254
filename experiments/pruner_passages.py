"""Passages for the questions that the bundled sentence pruner learns from: pools and neighbours.

A set of retrieved passages gives its questions with what was retrieved for them. A question that
came with its own passage only gets the nearest others of its corpus, as a retriever would.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from ragsieve import models
from ragsieve.text import normalise, sentence_spans

Record = dict[str, Any]

POOLS = {  # of 100 questions
    "hotpotqa_more": 13, "ottqa": 9, "hybridqa": 4, "tatqa": 4, "2wiki_pool": 2.2, "2wiki_more": 1,
    "hover_pool": 1.7, "musique_pool": 3.5, "asqa_pool": 1.6, "ambignq_snippets": 1,
}  # fmt: skip
UNLICENSED = {"open_wiki_pool": 11, "techqa": 1, "multihoprag_null": 1, "realtimeqa_web_more": 6}
"""Sets of which a part states no licence: for experiments, not for weights that are given away."""
MOST = {"hybridqa": 1000, "tatqa": 1000}  # questions; many of them lean on their table or report
HELD_OUT = 4  # of 100 groups are for validation
PASSAGES = (8, 20)  # of a question, at least and at most
FUNCTION = {
    *("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "that", "this"),
    *("is", "are", "was", "were", "be", "been", "do", "does", "did", "has", "have", "had"),
    *("the", "a", "an", "these", "those", "there", "it", "its", "as", "and", "or", "not", "no"),
    *("of", "in", "on", "at", "to", "for", "from", "by", "with", "many", "much", "first", "last"),
    *("their", "his", "her", "he", "she", "they", "him", "them", "we", "you", "i", "my", "your"),
    *("our", "can", "could", "will", "would", "should", "may", "name"),
}
"""Words, or their first six letters, that say nothing of what a question is about."""
RIVALS = 24  # nearest passages that are looked at
ALIKE, ALIKE_OFTEN = 3, 10  # passages about another subject: of a question, and how often each
MOST_OFTEN = 40  # a passage is added at most so often


def read(path: Path) -> list[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def place(text: str, of: int = 100) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % of


def record(id: str, question: str, answers: list[str], documents: list[Record]) -> Record:
    return {"id": id, "question": question, "answers": answers, "documents": documents}


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


def by_both(questions: list[str], texts: list[str], k: int) -> np.ndarray:
    """Half of the places by words, half by embedding, in turns; a place may come twice."""
    half = -(-k // 2)
    both = [way(questions, texts, half) for way in (by_words, by_embedding)]
    return np.stack(both, axis=2).reshape(len(questions), -1)[:, :k]


NEAREST = {"words": by_words, "embedding": by_embedding, "both": by_both}


def pooled(name: str, folder: Path, chance: random.Random) -> Iterator[tuple[Record, bool]]:
    """Questions with the passages retrieved for them; whether each is for validation.

    One over an article that validation has is left out, unless it is for validation as a whole.
    """
    passages = {p["id"]: p for p in read(folder / f"{name}.passages.jsonl.gz")}
    questions = read(folder / f"{name}.questions.jsonl.gz")
    for question in chance.sample(questions, min(MOST.get(name, len(questions)), len(questions))):
        gold = {e["passage"]: e["spans"] for e in question["evidence"]}
        held = [
            place(f"{name} {passages[i]['title'] or passages[i]['group']}") < HELD_OUT
            for i in [*gold] or question["passages"][:1]
        ]
        if any(held) and not held[0]:
            continue
        documents = [
            {**{k: passages[i][k] for k in ("id", "title", "text")}, "evidence": gold.get(i, [])}
            for i in question["passages"][: PASSAGES[1]]
        ]
        answers = [] if "claim" in question["type"] else question["answers"]
        id = f"{name}:{question['id']}"
        yield record(id, question["question"], answers, documents), held[0]


def filled(records: list[Record], chance: random.Random, nearest: str) -> Iterator[Record]:
    """Questions with few passages get near ones that other questions of the set have.

    None that names an answer: whether it would be evidence is not known.
    """
    pool = {d["text"]: d for r in records for d in r["documents"]}
    texts, used = [*pool], Counter[str]()
    near = NEAREST[nearest]([r["question"] for r in records], texts, min(RIVALS, len(texts)))
    for one, row in zip(records, near, strict=True):
        own, wanted = {d["text"] for d in one["documents"]}, chance.randrange(PASSAGES[0], 13)
        added: list[Any] = []
        for n in row:
            if len(own) + len(added) >= wanted:
                break
            text = texts[n]
            if text in own or used[text] >= MOST_OFTEN or mentions(text, one["answers"]):
                continue
            used[text] += 1
            added.append({**pool[text], "evidence": []})
            own.add(text)
        yield {**one, "documents": [*one["documents"], *added]}


def alike(records: list[Record]) -> Iterator[Record]:
    """Questions with up to `ALIKE` passages more that tell the same of another subject.

    They are near to a sentence of the evidence without the names that it has in common with
    question, answers and title.
    """
    pool = {d["text"]: d for r in records for d in r["documents"]}
    texts, queries, places = [*pool], [], []
    for place, one in enumerate(records):
        if gold := [d for d in one["documents"] if d["evidence"]]:
            told = content(" ".join([one["question"], gold[0]["title"], *one["answers"]]))
            a, b = gold[0]["evidence"][0]
            shown = gold[0]["text"][max(0, a - 100) : b + 100]
            queries.append(" ".join(w for w in shown.split() if not content(w) <= told) or shown)
            places.append(place)
    found: Iterable[Any] = by_words(queries, texts, min(RIVALS, len(texts))) if queries else ()
    near, used = dict(zip(places, found, strict=True)), Counter[str]()
    for place, one in enumerate(records):
        own = {d["text"] for d in one["documents"]}
        titles = {d["title"] for d in one["documents"] if d["evidence"] and d["title"]}
        added: list[Any] = []
        for text in (texts[n] for n in near.get(place, [])):
            fits = (
                text not in own and used[text] < ALIKE_OFTEN and not mentions(text, one["answers"])
            )
            if fits and pool[text]["title"] not in titles and len(added) < ALIKE:
                used[text] += 1
                added.append({**pool[text], "evidence": []})
        yield {**one, "documents": [*one["documents"], *added]}


def unanswerable(one: Record) -> Record | None:
    """The question with those of its passages that do not answer; None where under three are left.

    A passage that names an answer is left out, too, unless it is known as a rival.
    """
    left = [
        {**d, "evidence": []}
        for d in one["documents"]
        if not d["evidence"]
        and (d.get("rival") or not mentions(d["title"] + " " + d["text"], one["answers"]))
    ]
    return {**one, "answers": [], "documents": left} if len(left) > 2 else None


def telling(text: str, title: str, question: str, answers: Sequence[str]) -> list[list[int]]:
    """Sentences with an answer that speak of the question, by their characters.

    They share two of its words, with the sentence before them and the title; or one of two.
    """
    asked = content(question)
    needed = min(2, len(asked) - 1)
    spans, before = [], ""
    for start, end in sentence_spans(text):
        shown = text[start:end]
        about = content(f"{title} {before} {shown}") & asked
        if mentions(shown, answers) and len(about) >= needed:
            spans.append([start, end])
        before = shown
    return spans


def content(text: str) -> set[str]:
    """Stems of the words that are no function words."""
    return {stem[:6] for stem in normalise(text).split()} - FUNCTION


def usable(answer: str) -> bool:
    return len(normalise(answer)) > 1 and normalise(answer) not in ("yes", "no")


def mentions(text: str, answers: Iterable[str]) -> bool:
    read = f" {normalise(text)} "
    return any(usable(a) and f" {normalise(a)} " in read for a in answers)
