"""Convert the hub's columns to our schema: one function a layout, on plain dicts.

Each raises `KeyError` or the like where a row has another layout; `ragsieve_research.datasets.hub`
names that row, adds the data set's name to the metadata and numbers the rows that have no id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Record = dict[str, Any]


def hotpotqa(row: Row) -> Record:
    """HotpotQA and 2WikiMultihopQA: paragraphs as sentences, gold sentences by title and place.

    The title and sentences of ``context`` and the title and sent_id of ``supporting_facts`` are
    lists side by side. A sentence number past the paragraph's end, which HotpotQA has a few of,
    marks the paragraph and no sentence.
    """
    facts: dict[str, set[int]] = {}
    for fact in _rows(row["supporting_facts"]):
        facts.setdefault(fact["title"], set()).add(fact["sent_id"])
    documents = []
    for place, paragraph in enumerate(_rows(row["context"])):
        title, sentences = paragraph["title"], [s.strip() for s in paragraph["sentences"]]
        gold = [s for i, s in enumerate(sentences) if i in facts.get(title, ()) and s]
        documents.append(
            {
                "id": str(place),
                "title": title,
                "text": " ".join(sentences),
                "sentences": sentences,
                "is_positive": title in facts,
                **({"supporting_sentences": gold} if gold else {}),
            }
        )
    return _record(
        row["id"],
        row["question"],
        [row["answer"]],
        documents,
        type=row["type"],
        level=row.get("level"),
        supporting_titles=list(facts),
    )


def musique(row: Row) -> Record:
    """MuSiQue: twenty paragraphs, the gold ones marked, and the steps to the answer."""
    documents = [
        {
            "id": str(paragraph["idx"]),
            "title": paragraph["title"],
            "text": paragraph["paragraph_text"],
            "is_positive": paragraph["is_supporting"],
        }
        for paragraph in _rows(row["paragraphs"])
    ]
    steps = [
        {
            "question": step["question"],
            "answer": step["answer"],
            "paragraph": step["paragraph_support_idx"],
        }
        for step in _rows(row["question_decomposition"])
    ]
    answers = [row["answer"], *row["answer_aliases"]] if row["answerable"] else []
    return _record(
        row["id"], row["question"], answers, documents, hops=len(steps), decomposition=steps
    )


def triviaqa(row: Row) -> Record:
    """TriviaQA, configuration ``rc``: Wikipedia pages and web pages, whole; no labels."""
    pages = [(page["wiki_context"], page, "") for page in _rows(row["entity_pages"])]
    pages += [(page["search_context"], page, page["url"]) for page in _rows(row["search_results"])]
    documents = [
        {"id": str(place), "title": page["title"], "text": text, "url": url}
        for place, (text, page, url) in enumerate(pages)
    ]
    answers = [row["answer"]["value"], *row["answer"]["aliases"]]
    return _record(row["question_id"], row["question"], answers, documents)


def nq_open(row: Row) -> Record:
    """NQ-open: questions with short answers; no ids and no passages."""
    return _record("", row["question"], row["answer"])


def popqa(row: Row) -> Record:
    """PopQA: questions about entities; answers as JSON within a string; no passages."""
    return _record(
        f"popqa-{row['id']}",
        row["question"],
        json.loads(row["possible_answers"]),
        subject=row["subj"],
        property=row["prop"],
        subject_popularity=row["s_pop"],
    )


def asqa(row: Row) -> Record:
    """ASQA: ambiguous questions, each reading with its answers; no retrieved passages."""
    pairs = [
        {"question": pair["question"], "short_answers": list(pair["short_answers"])}
        for pair in _rows(row["qa_pairs"])
    ]
    return _record(
        f"asqa-{row['sample_id']}",
        row["ambiguous_question"],
        [answer for pair in pairs for answer in pair["short_answers"]],
        qa_pairs=pairs,
        long_answers=[note["long_answer"] for note in _rows(row["annotations"])],
    )


def _record(
    name: str,
    question: str,
    answers: Iterable[str],
    documents: Sequence[Mapping[str, Any]] = (),
    **metadata: Any,
) -> Record:
    return {
        "id": name,
        "question": question,
        "answers": list(dict.fromkeys(answers)),
        "documents": list(documents),
        "metadata": metadata,
    }


def _rows(value: Any) -> list[Row]:
    """A list of records, which the hub's library may give as lists side by side."""
    if not isinstance(value, Mapping):
        return list(value)
    return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
