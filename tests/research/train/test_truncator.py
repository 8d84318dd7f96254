"""What a truncator learns from, and that it learns it."""

import pytest

from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM, echo
from ragsieve.types import Document, Example, Query
from ragsieve_research.select.truncate import SHOWN, Truncate
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.targets import Annotator
from ragsieve_research.train.truncator import figures, samples

TEXT = "Seals sang. It rained. Whales swam. Nobody knew."


def example(question, ranking, k):
    example = Example(Query(question), (Document("d", TEXT),), ("Whales",))
    plain = TrainingExample.of(example)
    return TrainingExample(plain.query, plain.answers, plain.sentences, {}, ranking, k)


EXAMPLES = [example("a", (2, 0, 1), 1), example("b", (0, 2), 2), example("c", (1, 3), 0)]


def choosing(**known):
    """An LLM that knows the cut point of each question."""

    def weights(prompt, options):
        question = prompt[-1].content.partition("Question: ")[2].split()[0]
        return [float(option == str(known[question])) for option in options]

    return ScriptedLLM([], choices=weights)


def test_the_cut_point_is_taught_on_the_ranking():
    """The ranked sentences, best first, and as many as are needed of those that are shown."""
    (sample,) = samples(EXAMPLES[0], Truncate(echo()))

    assert "[1] Whales swam.\n[2] Seals sang.\n[3] It rained." in sample.prompt[-1].content
    assert "1" == sample.target

    assert [] == samples(EXAMPLES[1], Truncate(echo(), max_clues=1))


@pytest.mark.parametrize("unknown", [example("a", (0,), None), example("a", (), 0)])
def test_without_a_label_nothing_is_taught(unknown):
    """No ranking, or no cut point of it."""
    assert [] == samples(unknown, Truncate(echo()))


def test_figures_by_hand():
    """Labels 1, 2, 0; chosen 3, 1, 0: one is right, two let the answer live, 4/3 stay of each."""
    found = figures(choosing(a=3, b=1, c=0), EXAMPLES)

    assert found == {
        **{"questions": 3, "accuracy": 1 / 3, "kept": 4 / 3, "seconds": found["seconds"]},
        **{"survives": 2 / 3, "survives_over_0": 1 / 2, "survives_0": 1.0},
        **{"labels": {0: 1, 1: 1, 2: 1}, "chosen": {0: 1, 1: 1, 3: 1}},
    }


def test_it_learns_from_as_many_sentences_as_it_is_asked_about():
    """An answer at rank 7 is the label 7, and the prompt of its sample is the one that is asked."""
    texts = [f"Sentence number {n}." for n in range(8)]
    document = Document("d", " ".join(texts))

    def seventh(prompt):
        return "Rome" if texts[6] in prompt[0].content else "nobody"

    def ranker(query, segments, /):
        return [s.scored("s", 1 - n / 10) for n, s in enumerate(segments)]

    example = Example(Query("Where?", "x:1"), (document,), ("Rome",))
    labels = Annotator(Reader(ScriptedLLM(seventh)), ranker, max_clues=SHOWN, every=True)(example)
    example = TrainingExample.of(example, labels)
    llm = ScriptedLLM(["7"], can=frozenset({"complete"}))
    truncate = Truncate(llm)
    (sample,) = samples(example, truncate)
    kept = truncate(example.query, ranker(example.query, example.sentences))

    assert (7, "7", 7) == (labels["k"], sample.target, len(kept))
    assert llm.prompts == [sample.prompt]
