"""What a filter is trained on: clues, useful ones, K, and the odds of a cut."""

from dataclasses import replace

import pytest

from ragsieve import Document, Example, InputError, Query, Segment
from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.score.lexical import BM25
from ragsieve_research.train.cut import fit_odds
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.targets import Annotator, clues
from tests.tiny import Places

TEXT = "Seals sang a song. It rained. In 1972 Seals sang. A seal is an animal."
EXAMPLE = Example(Query("Who sang the song?", id="q"), (Document("d", TEXT),), ("Seals",))
SPANS = [["d", 0, 18], ["d", 19, 29], ["d", 30, 49], ["d", 50, 70]]


def reader(right):
    """Answers well where ``right`` says so of the evidence, which stands in the system message."""

    def reply(prompt):
        return "Seals" if right(prompt[0].content) else "nobody"

    return Reader(ScriptedLLM(reply))


def test_clues_are_the_sentences_with_an_answer():
    """At word boundaries; within a distance of 0.03, 0.05, 0.2001 of 0, 0.04 and 0.2, too."""
    segments = [Segment(EXAMPLE.documents[0], start, end) for _, start, end in SPANS]

    assert [0, 2] == clues(segments, ["seals"])
    assert [] == clues([Segment.whole(Document("d", "There is no lift."))], ["no"])

    segments = [Segment.whole(Document(str(n), t)) for n, t in enumerate(["x", "y", "z"])]
    angles = Places({"x": (1, 0), "y": (0.96, 0.28), "z": (0.8, 0.6)}.__getitem__)

    assert [0] == clues(segments, ["x"], angles, epsilon=0.03)
    assert [0, 1] == clues(segments, ["x"], angles, epsilon=0.05)
    assert [0, 1, 2] == clues(segments, ["x"], angles, epsilon=0.2001)
    assert [] == clues(segments, ["w"], angles, epsilon=1)


def test_an_extractor_may_rank_all_or_name_the_clues():
    """BM25 puts the song first, the year third of three; named ones may hold no answer."""
    found = Annotator(reader(lambda t: "1972" in t), BM25(), max_clues=3, every=True)(EXAMPLE)

    assert ([0, 2], 3, 3) == (found["clues"], len(found["ranking"]), len(found["scores"]))
    assert found["ranking"].index(2) + 1 == found["k"]

    def extractor(query, segments, /):
        return [segments[n].scored("s", 1 - n / 10) for n in (0, 1)]

    found = Annotator(reader(lambda t: "rained" in t), extractor, every=True, named=True)(EXAMPLE)

    assert ([0, 1], [False, True]) == (found["clues"], found["useful"])


@pytest.mark.parametrize(
    ("ask", "asked", "useful", "right"),
    [
        ("both", 5, [False, True], [False, False, True]),
        ("alone", 2, [False, True], []),  # a reranker learns from these
        ("prefixes", 3, [], [False, False, True]),  # a truncator, or a cut
    ],
)
def test_the_generator_is_asked_only_for_what_a_part_learns(ask, asked, useful, right):
    """Of two clues: each alone, and none, one, both; the ranking is there in any case. It answers
    from the year, and not from the song, which BM25 ranks first: so K is 2."""
    llm = ScriptedLLM(lambda prompt: "Seals" if "1972" in prompt[0].content else "nobody")
    found = Annotator(Reader(llm), BM25(), ask=ask)(EXAMPLE)

    assert (asked, useful, right) == (len(llm.prompts), found["useful"], found["right"])
    assert (SPANS, [0, 2]) == (found["sentences"], found["ranking"])
    assert [0, 2][: len(useful)] == found["clues"]
    assert sorted(found["scores"], reverse=True) == found["scores"]
    assert (2 if right else None) == found["k"]


@pytest.mark.parametrize(
    ("answers", "k"),
    [
        (lambda text: "song" in text and "1972" not in text, 1),  # both clues together confuse it
        (lambda _: False, 0),  # keeping nothing is the best then
    ],
)
def test_k_is_the_smallest_prefix_that_answers(answers, k):
    """Though a longer one fails; 0 where none does."""
    assert k == Annotator(reader(answers), BM25())(EXAMPLE)["k"]


def test_without_a_clue_there_is_nothing_to_cut():
    """K is none."""
    found = Annotator(reader(lambda _: False), BM25())(replace(EXAMPLE, answers=("Crofts",)))
    empty = ("clues", "useful", "ranking", "scores", "right")

    assert {"sentences": SPANS, "k": None, **{name: [] for name in empty}} == found


def example(*right, best):
    """Ranked sentences, one fewer than ``right``, all with the score ``best``."""
    some = len(right) - 1
    return TrainingExample(
        Query("Who?"), ("x",), (), {}, tuple(range(some)), 1, (best,) * some, right
    )


def test_odds_are_learnt_from_rankings():
    """High from .9, low from .1; equal scores give the share; the highest K needs one example."""
    sure, unsure = example(False, True, best=0.9), example(False, False, best=0.1)
    odds = fit_odds([sure, unsure] * 500, max_clues=1)

    assert odds([0.9])[1] > 0.95
    assert odds([0.1])[1] < 0.05
    assert pytest.approx(0.5 / 1001) == odds([0.9])[0]

    some = [example(False, right, best=0.5) for right in (True, True, True, False)]

    assert pytest.approx(0.75, abs=1e-4) == fit_odds(some * 25, max_clues=1)([0.5])[1]

    short, long = example(False, True, best=0.5), example(True, True, False, best=0.5)
    odds = fit_odds([short, long], max_clues=2)([0.5, 0.5])

    assert pytest.approx(1 / 4) == odds[2]
    with pytest.raises(InputError, match="whether the generator answers from 3 sentences"):
        fit_odds([short, long], max_clues=3)
