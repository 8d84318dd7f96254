"""BottleNeck's filter: which text it learns to write."""

from collections.abc import Sequence
from typing import Any

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Example, Query
from ragsieve_research.systems.bottleneck import bottleneck
from ragsieve_research.train.bottleneck import Candidate, Candidates, figures
from ragsieve_research.train.examples import TrainingExample
from tests.tiny import Likelihoods


def example(
    question: str = "who sang ?", *answers: str, texts: Sequence[str] = ()
) -> TrainingExample:
    given = texts or ("seals sang . rain fell .", "snow fell .")
    documents = tuple(Document(str(n), text) for n, text in enumerate(given))
    return TrainingExample.of(Example(Query(question), documents, answers or (" ", "seals")))


def nats(text: str) -> float:
    """The answer is trusted where "seals" is read; documents the more, the more words are."""
    if notes := [line for line in text.splitlines() if line.startswith("Notes: ")]:
        return 0.1 * len(notes[0].split()) - 9  # the word "Notes:" counts in all alike
    return 3.0 * ("seals" in text) - 9


def rate(text: str = "rain fell .", **options: Any) -> Candidates:
    return Candidates(Likelihoods(nats), ScriptedLLM([text] * 9), **options)


def test_candidates_are_rated_best_first() -> None:
    """Documents gain 0.1 a word of the text (an empty one is a pair of quotes: 1), the answer 3.
    "seals sang ." is both the sentence with the answer and the nearest to the question: it comes
    once. IB of its 3 words is 0.2 - 3, of all 9 words 0.8 - 3, of the written 3 words 0.2, of none
    0."""
    found = rate()(example())

    assert [
        ("seals sang .", -2.8),
        ("seals sang . rain fell .\n\nsnow fell .", -2.2),
        ("", 0.0),
        ("rain fell .", 0.2),
    ] == [(one.text, pytest.approx(one.score)) for one in found]


def test_the_filter_is_asked_as_the_system_asks() -> None:
    """The same prompt; nothing is written as a word; what does not fit has no candidates."""
    assert "NONE" == Candidate("", 0.0).reply
    assert "x" == Candidate("x", 0.0).reply

    llm = ScriptedLLM(["NONE"])
    bottleneck(llm)("who sang ?", ["seals sang . rain fell .", "snow fell ."])

    assert llm.prompts == [rate().prompt(example())]

    small = Candidates(Likelihoods(nats, context=100), ScriptedLLM(["NONE"] * 2))
    long = Example(Query("who sang ?"), (Document("d", "seals " * 300),), ("seals",))

    assert {"candidates": []} == small.labels(long)


def test_figures_are_means_of_what_is_written() -> None:
    """Of 3 words the score is 0.2 (see above) and of none 0: the mean is 0.1, of 1.5 words."""
    two = Candidates(Likelihoods(nats), ScriptedLLM(["rain fell .", "NONE"]))

    assert {"questions": 2, "ib": pytest.approx(0.1), "tokens": 1.5, "empty": 0.5} == figures(
        two, [example(), example()]
    )
