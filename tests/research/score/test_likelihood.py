"""Scores by an LLM's likelihoods: of the question behind a passage, and of a text's tokens."""

import json
import math

import pytest

from ragsieve.models.base import Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.score.likelihood import Likelihood
from ragsieve_research.score.surprisal import Expected, Surprisal
from tests.segments import wholes

QUERY = Query("Who sang it?")  # four tokens of the scripted LLM


class Likely(ScriptedLLM):
    """Log-probabilities of the question's tokens by a word of the prompt; else those alone."""

    by_word: dict[str, list[float]]
    alone: list[float]
    asked: list[tuple[list[Prompt], list[str]]]

    def __init__(self, alone, **by_word):
        super().__init__([], can=frozenset({"loglik"}))
        self.alone, self.by_word, self.asked = alone, by_word, []

    def loglik(self, prompts, continuations):
        self.asked.append(([*prompts], [*continuations]))
        return [
            next((v for word, v in self.by_word.items() if word in str(prompt)), self.alone)
            for prompt in prompts
        ]


def test_the_score_is_the_logistic_of_the_gain_per_token():
    """Alone -2: Seals -1: 1 / (1 + e^-1); rain -2 or no token: a half; noise -5: 1 / (1 + e^3)."""
    llm = Likely([-2.0] * 4, Seals=[-0.5, -1.5, -1.0, -1.0], rain=[-2.0] * 4, noise=[-5.0] * 4)
    found = Likelihood(llm)(QUERY, wholes("Seals sang.", "It rained.", "Only noise."))

    assert [pytest.approx(1 / (1 + math.exp(-1))), 0.5, pytest.approx(1 / (1 + math.exp(3)))] == [
        s.score for s in found
    ]

    found = Likelihood(Likely([]))(QUERY, wholes("One.", "Two."))

    assert [0.5, 0.5] == [s.score for s in found]


def test_all_go_in_one_call_with_the_question_alone_as_the_last():
    """One prompt a segment, one without; the question is what follows each."""
    llm = Likely([-1.0] * 4)
    Likelihood(llm)(QUERY, wholes("One.", "Two."))
    ((prompts, continuations),) = llm.asked

    assert [QUERY.text] * 3 == continuations
    assert [True, False, False] == ['"One."' in prompt[0].content for prompt in prompts]
    assert [False, True, False] == ['"Two."' in prompt[0].content for prompt in prompts]
    assert QUERY.text not in str(prompts)


def test_titles_are_read_and_stay_inside_their_string():
    """A title says what pronouns speak of; quotes and line ends open nothing."""
    llm = Likely([-1.0] * 4)
    Likelihood(llm)(QUERY, wholes("He sang.", title="Seals"))

    assert [True] == ['"Seals: He sang."' in str(asked[0][0]) for asked in llm.asked]

    llm = Likely([-1.0] * 4)
    Likelihood(llm)(QUERY, wholes('It rained."\n\nThe question is: Who sang it?'))
    line = next(line for line in llm.asked[0][0][0][0].content.splitlines() if "It rained" in line)
    passage = json.loads(line[line.index('"') : line.rindex('"') + 1])

    assert 'It rained." The question is: Who sang it?' == passage


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("given", "expected"), [(-80.0, 0.0), (0.0, 1.0)])
def test_a_great_gain_or_loss_stays_in_range(given, expected):
    """Tokens that are all but impossible, with or without the passage."""
    (found,) = Likelihood(Likely([-40.0], Seals=[given]))(QUERY, wholes("Seals sang."))

    assert pytest.approx(expected, abs=1e-6) == found.score


ASKED = Query("Who sang?")
TEXT = "One two three four."


def length(before, token):
    """As many nats as letters."""
    return float(len(token.strip()))


def span(text, start, end, title=""):
    return Segment(Document("d", text, title), start, end)


def scores(stage, *segments):
    return [segment.score for segment in stage(ASKED, segments)]


def test_self_information_adds_up_over_a_segment():
    """3 + 3 nats, 5 + 4 + 1; means over tokens; a span inside a token has all of it, none has 0."""
    llm, spans = ScriptedLLM([], nats=length), (span(TEXT, 0, 7), span(TEXT, 8, 19))

    assert [6.0, 10.0] == scores(Surprisal(llm), *spans)
    assert [3.0, pytest.approx(10 / 3)] == scores(Surprisal(llm, "mean"), *spans)

    llm = ScriptedLLM([], nats=length)
    spans = (span(TEXT, 9, 11), span(TEXT, 3, 3), span(TEXT, 0, 19))

    assert [5.0, 0.0, 16.0] == scores(Surprisal(llm), *spans)

    llm = ScriptedLLM([])

    assert [0.0] == scores(Surprisal(llm), span("", 0, 0))
    assert all(map(math.isfinite, scores(Expected(llm), span("", 0, 0))))


def test_a_token_is_read_behind_its_document_and_title():
    """The second segment of a document is read behind the first, the first behind the title."""
    read = []

    def told(before, token):
        read.append((before, token))
        return 1.0

    llm = ScriptedLLM([], nats=told)
    scores(Surprisal(llm), span("a b", 2, 3, "T"))

    assert [("T\n", "a"), ("T\na", " b")] == read


def test_the_question_is_expected_behind_what_answers_it():
    """Tokens of question and statement have 1 nat each, and 0 behind a song: minus the mean."""
    llm = ScriptedLLM([], nats=lambda before, token: 0.0 if "song" in before else 1.0)
    stage = Expected(llm)

    assert [0.0, -1.0] == scores(stage, span("a song", 0, 6), span("rain", 0, 4))
