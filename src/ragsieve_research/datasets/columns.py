"""Convert the hub's columns to our schema: one function a layout, on plain dicts.

Each raises `KeyError` or the like where a row has another layout; `ragsieve_research.datasets.hub`
names that row, adds the data set's name to the metadata and numbers the rows that have no id.
"""

import json
from typing import Any

from ragsieve_research.datasets.layouts import LAYOUTS, Layout, Row, hotpotqa, rows_of

__all__ = ["asqa", "hotpotqa", "musique", "nq_open", "popqa", "triviaqa"]

Record = dict[str, Any]


musique = LAYOUTS["musique"].record
"""MuSiQue: twenty paragraphs, the gold ones marked."""

triviaqa = Layout(
    id=("question_id",),
    answers=("answer.value", "answer.aliases"),
    documents=("entity_pages", "search_results"),
    text=("wiki_context", "search_context"),
).record
"""TriviaQA, configuration ``rc``: Wikipedia pages and web pages, whole; no labels."""

nq_open = Layout(answers=("answer",)).record
"""NQ-open: questions with short answers; no ids and no passages."""


def popqa(row: Row) -> Record:
    """PopQA: questions about entities; answers as JSON within a string; no passages."""
    metadata = {"subject": row["subj"], "property": row["prop"], "subject_popularity": row["s_pop"]}
    answers = [*dict.fromkeys(json.loads(row["possible_answers"]))]
    named = {"id": f"popqa-{row['id']}", "question": row["question"]}
    return {**named, "answers": answers, "documents": [], "metadata": metadata}


def asqa(row: Row) -> Record:
    """ASQA: ambiguous questions, each reading with its answers; no retrieved passages."""
    pairs = [
        {"question": pair["question"], "short_answers": list(pair["short_answers"])}
        for pair in rows_of(row["qa_pairs"])
    ]
    notes = [note["long_answer"] for note in rows_of(row["annotations"])]
    answers = [*dict.fromkeys(answer for pair in pairs for answer in pair["short_answers"])]
    named = {"id": f"asqa-{row['sample_id']}", "question": row["ambiguous_question"]}
    metadata = {"qa_pairs": pairs, "long_answers": notes}
    return {**named, "answers": answers, "documents": [], "metadata": metadata}
