"""The experiment on documents that lie and command measures what it says."""

import importlib.util
import sys
from pathlib import Path

import pytest

from ragsieve.text import sentence_spans
from ragsieve.types import Document, Example, Query

SCRIPT = Path(__file__).parents[3] / "experiments" / "hostile_documents.py"
TEXTS = ("Bo built it in 1900.", "Ann built it.", "It was built by Ann.", "It is high.")


@pytest.fixture(scope="module")
def script():
    """The script, imported."""
    spec = importlib.util.spec_from_file_location("hostile_documents", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look names up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_first_lie_is_believed_and_a_vote_outvotes_it(script):
    """One document of four says Bo, and stands first; two say Ann."""
    documents = tuple(Document(str(n), text) for n, text in enumerate(TEXTS))
    case = script.Case(Example(Query("Who built it?"), documents, ("Ann",)), "Bo")
    compared = script.systems([case], None, "fake:hashing")
    kept, answer = compared["vote"](case)

    assert "Bo" == compared["all documents"](case)[1]
    assert ("ann", False, True) == (answer, "Bo" in kept, "by Ann" in kept)


def test_an_instruction_stands_between_sentences(script):
    """Every form, for every question: its sentences are in one document, word for word."""
    text = "A first sentence is here. A second one follows."
    example = Example(Query("Who built it?"), tuple(Document(str(n), text) for n in range(5)))
    for templates in script.FORMS.values():
        for number, template in enumerate(templates):
            injected = template.format(word="PWNED", question="Who built it?", false="Bo")
            changed = script.injected_into(example, injected, number)
            one = next(d.text for d in changed.documents if d.text != text)

            assert all(injected[a:b] in one for a, b in sentence_spans(injected))
            assert 1 == sum(d.text != text for d in changed.documents)
            assert text.split(". ")[0] in one
