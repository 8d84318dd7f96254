"""Whatever a caller, a retriever or a model brings: a clear error or a sensible result, in time."""

from collections import Counter

import pytest

from ragsieve import System
from ragsieve.models.fake import ScriptedLLM
from ragsieve.result import Result
from ragsieve.types import Segment
from tests.named import NAMES, on_fakes

TOKENS = ("llmlingua", "longllmlingua", "selective-context")  # a fake gives every token its nats


def system(name: str, reply: str = "[1]") -> System:
    """A system whose model always gives the same reply."""
    return on_fakes(name, ScriptedLLM(lambda _: reply))


def retrieved(result: Result) -> list[Segment]:
    """Spans of what was given, not of what a model wrote."""
    found = [verdict.segment for verdict in result.verdicts]
    return [segment for segment in found if not segment.document.written_by]


@pytest.mark.parametrize("name", NAMES)
def test_no_documents_give_an_answer_without_evidence(name: str) -> None:
    """An empty list of documents is no error: nothing is kept, and the model answers alone."""
    result = system(name, "Paris").ask("Where?", [])

    assert ((), "", "Paris") == (result.kept, result.text, result.answer and result.answer.text)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["A fact is here. " * 62_500, "word " * 40_000, "x" * 200_000])
def test_a_long_document_is_answered_from(name: str, text: str) -> None:
    """A megabyte by the default, a fifth by others, without an end or a space, too; spans in it."""
    most = 100_000 if name in TOKENS else 1_000_000 if name == "finefilter" else 200_000
    text = text[:most]
    result = system(name).ask("Which fact?", [text])

    assert result.answer
    written = [s for s in result.kept if s.document.written_by]
    assert all(s.document.parents for s in written)
    assert all(text[s.start : s.end] == s.text for s in result.kept if s not in written)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_five_thousand_documents_are_answered_from(name: str) -> None:
    """Five thousand documents go through every system; the trace has all of their text."""
    many = 500 if name in TOKENS else 5_000
    documents = [f"Fact {n} is about thing {n % 7}." for n in range(many)]
    result = system(name).ask("What is fact 4999 about?", documents)

    assert result.answer
    counts = Counter[str]()
    for segment in retrieved(result):
        counts[segment.document.id] += len(segment.text.replace(" ", ""))
    assert {str(n): len(text.replace(" ", "")) for n, text in enumerate(documents)} == counts


@pytest.mark.parametrize("name", NAMES)
def test_equal_ids_lose_no_document(name: str) -> None:
    """Documents of one id stay apart, and the trace notes the new name."""
    result = system(name)("Who?", [{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}])

    assert ["a", "a#2"] == [document.id for document in result.documents]
    assert ["document id 'a' occurs again: renamed 'a#2'"] == result.trace.notes
    spans = retrieved(result)
    assert ["One.", "Two."] == [
        "".join(s.text for s in spans if s.document.id == name) for name in ("a", "a#2")
    ]
