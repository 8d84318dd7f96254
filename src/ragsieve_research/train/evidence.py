"""Questions for a sentence pruner: documents with the spans of the evidence, in three parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ragsieve.documents import as_documents
from ragsieve.errors import InputError
from ragsieve.text import normalise
from ragsieve.types import Document, Example
from ragsieve_research.datasets import Dataset
from ragsieve_research.datasets.parts import Part, part_of, place_of
from ragsieve_research.train.examples import in_turns

SALT = "ragsieve-pruner-1"
RULE = (
    "the first 8 hex digits of sha256(salt, a line feed, the normalised question) as a number, "
    "modulo 8: 0 to 5 train, 6 calibration, 7 checking"
)
Share = Literal["train", "calibration", "checking"]
Record = dict[str, Any]


def share_of(question: str) -> Share:
    """The purpose of a question by `RULE`, however it is typed."""
    place = place_of(question, SALT, 8)
    return "train" if place < 6 else "calibration" if place == 6 else "checking"


def records(sources: Sequence[Dataset], part: Part | Literal["all", ""] = "") -> Iterator[Record]:
    """The questions of all sources in turns, as `ragsieve_research.train.pruner.train_pruner` reads
    them.

    Evidence is what ``evidence`` of a document says, ``[[start, end], …]`` in characters of its
    text; else its ``supporting_sentences``; else a sentence that holds a gold answer is. A question
    of which nobody can know the evidence is left out: without documents, or with none of these.

    Args:
        sources: Questions with documents.
        part: Which part of each source (`ragsieve_research.datasets.parts`); where empty, all of
            one's own file, and of a named data set all but its test part.

    Raises:
        InputError: If a line cannot be read, or its evidence lies outside of its text.
    """
    return in_turns(_own(source, part) for source in sources)


def _own(source: Dataset, part: str) -> Iterator[Record]:
    for number, example in source.examples():
        own = part_of(example.query.text)
        wanted = own == part if part in ("train", "validation", "test") else True
        if not wanted or (not part and source.entry and own == "test"):
            continue
        try:
            record = _record(example, source.name)
        except InputError as error:
            raise InputError(f"{source.origin}, line {number}: {error}") from error
        if record:
            yield record


def _record(example: Example, name: str) -> Record:
    """A question with what is known of its evidence; nothing where that is nothing."""
    answers, visible = [*example.answers], gold_answers(example.answers)
    known = ((d, _evidence(d, answers)) for d in as_documents(example.documents))
    documents = [
        {"id": d.id, "title": d.title, "text": d.text, **spans}
        for d, spans in known
        if spans is not None and d.text.strip()
    ]
    if not any("evidence" in d or has_answer(d["text"], visible) for d in documents):
        return {}
    return {
        "id": f"{name}:{example.query.id}",
        "question": example.query.text,
        "answers": answers,
        "documents": documents,
    }


def _evidence(document: Document, answers: Sequence[str]) -> Mapping[str, Any] | None:
    """``evidence`` of a document, or nothing where nobody marked any.

    None of a document that is needed, but in which nobody marked what for.
    """
    text, known = document.text, document.metadata
    if (spans := known.get("evidence")) is not None:
        if not isinstance(spans, list) or not all(_is_span(span, len(text)) for span in spans):
            raise InputError(
                f"evidence must be a list of [start, end] in the document's {len(text)} "
                f"characters, got {spans!r:.80}"
            )
        return {"evidence": spans}
    if "is_positive" not in known:
        return {}
    sentences = [str(sentence).strip() for sentence in known.get("supporting_sentences") or []]
    places = [(text.find(sentence), len(sentence)) for sentence in sentences if sentence]
    evidence = [[start, start + size] for start, size in places if start >= 0]
    if known["is_positive"] and not evidence:
        visible = (answer for answer in answers if gold_answers([answer]))
        evidence = [[*m.span()] for a in visible for m in re.finditer(re.escape(a), text)]
        if not evidence:
            return None
    return {"evidence": evidence}


def _is_span(value: object, size: int) -> bool:
    """Whether it is the start and the end of characters that are there."""
    if not isinstance(value, list) or [type(end) for end in value] != [int, int]:
        return False
    return bool(0 <= value[0] < value[1] <= size)


def gold_answers(answers: Iterable[str]) -> list[str]:
    """Normalised gold answers that one can see in a text; yes and no are none."""
    return [a for a in map(normalise, answers) if len(a) > 1 and a not in ("yes", "no")]


def has_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether one of `gold_answers` stands in a text, as whole words."""
    read = f" {normalise(text)} "
    return any(f" {answer} " in read for answer in answers)
