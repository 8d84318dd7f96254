"""Questions for a sentence pruner: documents with the spans of the evidence, in three parts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ragsieve import split
from ragsieve.documents import as_documents
from ragsieve.errors import InputError, naming
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.datasets import Dataset
from ragsieve_research.datasets.parts import Part, part_of, place_of
from ragsieve_research.evaluate.evidence import gold_sentences
from ragsieve_research.train.examples import in_turns

SALT = "ragsieve-pruner-1"
RULE = (
    "the first 8 hex digits of sha256(salt, a line feed, the normalised question) as a number, "
    "modulo 8: 0 to 5 train, 6 calibration, 7 checking; of a named data set its part train to "
    "train, and of its part validation even numbers to calibration, odd ones to checking"
)
Share = Literal["train", "calibration", "checking"]
Record = dict[str, Any]


def share_of(question: str, *, named: bool = False) -> Share | None:
    """The purpose of a question by `RULE`, however it is typed; None of a named set's test part.

    Pruners learn from the part train of named sets, the bundled one too: what calibrates and checks
    a pruner that goes on from another must be new to both.
    """
    place, part = place_of(question, SALT, 8), part_of(question)
    if named and part == "test":
        return None
    if part == "train" if named else place < 6:
        return "train"
    return "checking" if place % 2 else "calibration"


def records(
    sources: Sequence[Dataset], part: Part | Literal["all"] | None = None
) -> Iterator[Record]:
    """The questions of all sources in turns, as `ragsieve_research.train.pruner.train_pruner` reads
    them.

    Evidence is what ``evidence`` of a document says, ``[[start, end], …]`` in characters of its
    text; else its ``supporting_sentences``; else a sentence that holds a gold answer is. A question
    of which nobody can know the evidence is left out: without documents, or with none of these.

    Args:
        sources: Questions with documents.
        part: Which part of each source (`ragsieve_research.datasets.parts`); where None, all of
            one's own file, and validation of a named data set.

    Raises:
        InputError: If a line cannot be read, or its evidence lies outside of its text.
    """
    return in_turns(_own(source, part) for source in sources)


def _own(source: Dataset, part: str | None) -> Iterator[Record]:
    part = part or ("validation" if source.entry else "all")
    for number, example in source.examples():
        if part not in ("all", part_of(example.query.text)):
            continue
        with naming(f"{source.origin}, line {number}"):
            record = _record(example, source.name)
        if record:
            yield record


def _record(example: Example, name: str) -> Record:
    """A question with what is known of its evidence; nothing where that is nothing."""
    visible = visible_answers(example.answers)
    known = ((d, _evidence(d, example.query, visible)) for d in as_documents(example.documents))
    documents = [
        {"id": d.id, "title": d.title, "text": d.text, **spans}
        for d, spans in known
        if spans is not None and d.text.strip()
    ]
    if not any("evidence" in d or contains_answer(d["text"], visible) for d in documents):
        return {}
    return {
        "id": f"{name}:{example.query.id}",
        "question": example.query.text,
        "answers": [*example.answers],
        "documents": documents,
    }


def _evidence(document: Document, query: Query, answers: list[str]) -> Mapping[str, Any] | None:
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
    evidence = gold_sentences(document)
    if known["is_positive"] and not evidence:
        sentences = split.Blocks()(query, [Segment.whole(document)])
        evidence = [(s.start, s.end) for s in sentences if contains_answer(s.text, answers)]
        if not evidence:
            return None
    return {"evidence": [*map(list, evidence)]}


def _is_span(value: object, size: int) -> bool:
    """Whether it is the start and the end of characters that are there."""
    if not isinstance(value, list) or [type(end) for end in value] != [int, int]:
        return False
    return bool(0 <= value[0] < value[1] <= size)
