"""A cut with a promise: worked examples, and what holds for any scores."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragsieve.errors import InputError
from ragsieve_research.train.risk import Promise, ScoredQuestion, calibrate

SEEDS = st.integers(0, 1 << 32)
PROMISES = st.floats(0.05, 0.9)
FEW = settings(max_examples=30)


def question(*scores: float, holds: int = 0) -> ScoredQuestion:
    """Sentences with these scores; the one at ``holds`` holds the answer."""
    return ScoredQuestion(np.array(scores), np.arange(len(scores)) == holds)


def many(n: int, seed: int) -> list[ScoredQuestion]:
    """Questions of one kind: a sentence with the answer scores higher, more or less."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, n)
    holding = [random.random(size) < 0.3 for size in sizes]
    return [ScoredQuestion(random.normal(held * 1.5), held) for held in holding]


def answerable(n: int, seed: int) -> list[ScoredQuestion]:
    return [q for q in many(3 * n, seed) if q.holds.any()][:n]


# Nine questions, each with its answer at .1, .2 … .9 and another sentence at .05. Promised is 80%:
# of n = 9 may be lost as many as 9/10 * lost/9 + 1/10 <= .2 allows, that is one. So the cut is at
# the second lowest, .2, which loses .1.
NINE = [question(n / 10, 0.05) for n in range(1, 10)]


def test_a_cut_by_score_worked_by_hand() -> None:
    """Of 18 sentences stay eight with an answer, that is half of eight questions and no other."""
    expected = Promise(0.2, 0.8, None, 9, 8 / 9, 8 / 18)

    assert expected == calibrate(NINE, keep_answer=0.8)


def test_one_answer_that_is_kept_is_enough() -> None:
    """A question with two clues has its best one to lose."""
    both = ScoredQuestion(np.array([0.1, 0.9]), np.array([True, True]))

    assert 0.9 == calibrate([both], keep_answer=0.5).cut


def test_questions_without_an_answer_count_for_what_is_kept() -> None:
    """No cut can lose it; nor can one sentence of them be lost for nothing."""
    without = question(0.5, 0.5, holds=-1)
    found = calibrate([*NINE, without, without], keep_answer=0.8)

    assert (9, 0.2) == (found.questions, found.cut)
    assert pytest.approx((8 / 2 + 2) / 11) == found.kept


def test_equal_scores_are_kept_together() -> None:
    """One of four may be lost, but three score the same: none is."""
    found = calibrate([question(0.5), question(0.5), question(0.5), question(0.9)], keep_answer=0.6)

    assert (0.5, 1.0) == (found.cut, found.measured)


@pytest.mark.parametrize(("keep_answer", "needed"), [(0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_too_few_questions_are_refused_and_the_number_named(
    keep_answer: float, needed: int
) -> None:
    """1 / (n + 1) <= 1 - P, that is n >= P / (1 - P); as many do."""
    message = f"keep_answer={keep_answer} needs at least {needed} questions with an answer"
    with pytest.raises(InputError, match=message):
        calibrate([question(0.5)] * (needed - 1), keep_answer=keep_answer)

    assert 0.5 == calibrate([question(0.5)] * needed, keep_answer=keep_answer).cut


def test_confidence_needs_more_questions() -> None:
    """None may be lost of n with P^n <= 1 - confidence: .9^22 is .0985, .9^21 is .109."""
    options = {"keep_answer": 0.9, "confidence": 0.9}
    with pytest.raises(InputError, match=r"with confidence=0\.9 needs at least 22 questions"):
        calibrate([question(0.5)] * 21, **options)  # type: ignore[arg-type]

    assert 0.5 == calibrate([question(0.5)] * 22, **options).cut  # type: ignore[arg-type]


def test_confidence_is_the_upper_bound_of_clopper_and_pearson() -> None:
    """The known bound of 95% for 2 of 50 is 12.06%; so that much risk allows just two losses."""
    questions = [question(float(n)) for n in range(50)]
    allowed, refused = (
        calibrate(questions, keep_answer=1 - risk, confidence=0.95).cut for risk in (0.1207, 0.1205)
    )

    assert (2.0, 1.0) == (allowed, refused)


@FEW
@given(SEEDS, PROMISES, st.integers(20, 60))
def test_the_cut_is_the_largest_that_the_bound_allows(seed: int, promise: float, n: int) -> None:
    """Checked against the definition, score by score."""
    questions = answerable(n, seed)
    best = np.array([q.scores[q.holds].max() for q in questions])
    bound = [(t, (sum(best < t) + 1) / (n + 1)) for t in {x for q in questions for x in q.scores}]
    expected = max(t for t, risk in bound if risk <= 1 - promise + 1e-9)  # 1 - .9 is below .1

    assert sum(best < expected) == sum(best < calibrate(questions, keep_answer=promise).cut)


@FEW
@given(SEEDS, PROMISES, st.floats(0.1, 0.95))
def test_confidence_only_makes_it_stricter(seed: int, promise: float, confidence: float) -> None:
    """A promise for each draw beside the one on average, whatever the confidence."""
    questions = answerable(60, seed)
    plain = calibrate(questions, keep_answer=promise)

    assert calibrate(questions, keep_answer=promise, confidence=confidence).cut <= plain.cut


@pytest.mark.parametrize("promise", [0.5, 0.8])
def test_the_promise_holds_on_average_over_draws(promise: float) -> None:
    """400 draws of 20 questions, each measured on 20 others; four standard errors of room."""
    survived = []
    for draw in range(400):
        found = calibrate(drawn(20, draw), keep_answer=promise)
        survived.append(survival(found, drawn(20, draw + 400)))
    room = 4 * np.std(survived) / math.sqrt(len(survived))

    assert np.mean(survived) >= promise - room


def test_a_promise_with_confidence_holds_for_most_draws() -> None:
    """The true survival of a uniform score at cut t is 1 - t; in at least 90% it is at least .8."""
    random = np.random.default_rng(0)
    cuts = [
        calibrate([question(x) for x in random.random(50)], keep_answer=0.8, confidence=0.9).cut
        for _ in range(1000)
    ]

    assert np.mean([1 - cut >= 0.8 for cut in cuts]) >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / 1000)
    assert np.mean([1 - cut >= 0.85 for cut in cuts]) < 0.9


def drawn(n: int, seed: int) -> list[ScoredQuestion]:
    """Questions of three sentences, the first of which holds the answer: quick to draw."""
    scores = np.random.default_rng(seed).normal([1, 0, 0], size=(n, 3))
    return [ScoredQuestion(row, np.array([True, False, False])) for row in scores]


def survival(promise: Promise, questions: list[ScoredQuestion]) -> float:
    return float(np.mean([(q.scores[q.holds] >= promise.cut).any() for q in questions]))
