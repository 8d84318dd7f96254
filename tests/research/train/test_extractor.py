"""What an extractor learns from, and that it learns it."""

import json

import pytest

from ragsieve.models.fake import ScriptedLLM, echo
from ragsieve.types import Document, Example, Query
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.select.extract import Extract
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.extractor import figures, samples, samples_of

DOCUMENTS = (
    Document("a", "It rained. Whales sang too."),
    Document("b", "Who sang? Nobody knows who."),
    Document("c", "Seals sang. Seals swam\nfar."),
)
EXAMPLE = TrainingExample.of(
    Example(Query("Who sang?", id="own:1"), DOCUMENTS, ("Seals", "Whales"))
)
NOTHING = TrainingExample.of(Example(Query("Who swam?", id="own:2"), DOCUMENTS, ("Crabs",)))
WHETHER = TrainingExample.of(Example(Query("Did it rain?", id="own:3"), DOCUMENTS, ("yes",)))


@pytest.fixture(scope="module")
def base(make_llm):
    """A folder with a tiny llama of random weights that has 2048 tokens of context."""
    return make_llm("", 2, width=32, positions=2048)


def replying(known):
    """An LLM that knows the reply to each prompt."""
    return ScriptedLLM(lambda prompt: known[prompt])


def test_all_clues_are_named_the_useful_ones_first():
    """Sentence 5 alone is enough; written, each is a numbered line; yes and no teach none."""
    example = TrainingExample(
        EXAMPLE.query, EXAMPLE.answers, EXAMPLE.sentences, {1: False, 4: True}
    )

    assert ["[5,2,6]"] == [s.target for s in samples(example, Extract(echo()))]

    (sample,) = samples(EXAMPLE, Extract(echo(), mode="write"))

    assert (
        "Sentence 1: Whales sang too.\nSentence 2: Seals sang.\nSentence 3: Seals swam far."
        == sample.target
    )

    assert [] == samples_of([WHETHER], Extract(echo()))


@pytest.mark.parametrize("mode", ["point", "write"])
def test_targets_are_read_back_as_the_clues(mode):
    """A model that replies with the targets finds every clue and nothing else."""
    extract = Extract(echo(), mode=mode)
    known = {
        s.prompt: s.target for example in (EXAMPLE, NOTHING) for s in samples(example, extract)
    }
    found = figures(replying(known), [EXAMPLE, NOTHING], mode=mode)

    assert (2, 1.0, 1.0, 1.0, 1.5) == tuple(
        found[name]
        for name in ("questions", "clue_recall", "clue_precision", "answer_kept", "named")
    )


def test_figures_count_what_is_missed_and_what_is_wrong():
    """Named: 2 and 3 of the clues 2, 5, 6; where nothing is a clue, 1."""
    extract = Extract(echo())
    (first,), (second,) = samples(EXAMPLE, extract), samples(NOTHING, extract)
    found = figures(replying({first.prompt: "[2,3]"}), [EXAMPLE])
    both = figures(replying({first.prompt: "[]", second.prompt: "[1]"}), [EXAMPLE, NOTHING])

    assert (1 / 3, 1 / 2, 1.0) == tuple(
        found[name] for name in ("clue_recall", "clue_precision", "answer_kept")
    )
    assert (0.0, 0.0, 0.0) == tuple(
        both[name] for name in ("clue_recall", "clue_precision", "answer_kept")
    )


def test_every_window_teaches_its_own_numbers(base):
    """Numbers count from 1 in each window; a clue is named in the window that shows it."""
    llm = Transformers(str(base), max_context=500)
    extract = Extract(llm)
    windows = [
        [s.text for s in window] for window, _ in extract.prompts(EXAMPLE.query, EXAMPLE.sentences)
    ]
    named = [
        window[n - 1]
        for window, sample in zip(windows, samples(EXAMPLE, extract), strict=True)
        for n in json.loads(sample.target)
    ]

    assert len(windows) > 1
    assert ["Whales sang too.", "Seals sang.", "Seals swam\nfar."] == named
