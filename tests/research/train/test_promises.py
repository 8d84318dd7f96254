"""Promises of a pruner: thresholds, curves, figures, and the risk that they allow."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ragsieve import Document, InputError, Query, Segment
from ragsieve.models.base import LEADS
from ragsieve.models.fake import OverlapPruner
from ragsieve.models.pruner import Pruner
from ragsieve.select import Threshold
from ragsieve.select.threshold import PROMISED
from ragsieve_research.score.calibrated import Logistic
from ragsieve_research.train.promises import (
    Reading,
    check_shares,
    copy,
    curve,
    figures,
    fill_shares,
    log_odds,
    possible,
    scored,
    thresholds,
)
from ragsieve_research.train.risk import Promise, ScoredQuestion, calibrate
from tests.named import asking


def questions(count):
    """Questions of two sentences each; the evidence scores 0.01, 0.02 and so on."""
    holds = np.array([True, False])
    return [ScoredQuestion(np.array([0.01 * (n + 1), 0.0]), holds) for n in range(count)]


def test_promises_need_questions():
    """p / (1 - p) of them: 4 for 0.8, the least that will do, 19 for 0.95, 99 for 0.99."""
    assert 0.8 == max(possible(questions(4)))
    assert 0.95 == max(possible(questions(19)))
    assert 50 == len(possible(questions(99)))
    with pytest.raises(InputError, match="needs at least 4 questions"):
        possible(questions(3))


def test_a_copy_of_a_pruner_has_its_own_table(tmp_path):
    """The thresholds that came with it go; everything else stays."""
    bundled = Pruner()
    copy(bundled, tmp_path / "mine", questions(19))
    mine = Pruner(str(tmp_path / "mine"))

    assert (0.01, 46) == (mine.threshold(0.95), len(mine.settings.thresholds))
    assert {"own": 19} == json.loads((tmp_path / "mine/pruner.json").read_text())["calibrated_on"]
    assert mine.count(["a b"]) == bundled.count(["a b"])
    with pytest.raises(InputError, match=r"keep_answer must be from 0\.5 to 0\.95, got 0\.99"):
        mine.threshold(0.99)


@pytest.mark.parametrize(("slope", "bias"), [(1.0, 0.0), (0.6, -2.0)])
def test_a_curve_is_found_again(slope, bias):
    """Of sentences that are evidence as often as a curve says; unknown ones do not count."""
    chance = np.random.default_rng(0)
    odds = chance.normal(0, 3, 20_000)
    labels = (chance.random(20_000) < 1 / (1 + np.exp(-(slope * odds + bias)))).astype(float)
    labels[::7] = -1
    scores = 1 / (1 + np.exp(-odds))
    fitted = curve([Reading("q", [], scores, labels == 1, labels, labels.astype(int))])

    assert (slope, bias) == pytest.approx((fitted.slope, fitted.bias), abs=0.05)


def test_a_curve_moves_no_cut():
    """What a relative threshold keeps is the same of scores before and behind a curve."""
    names = ("a", "b", "c", "d")
    before = [0.9, 0.5, 0.3, 0.05]
    bend = Logistic(0.6, -2.0)

    def kept(scores, least, leads):
        spans = [
            Segment.whole(Document(n, n)).scored("s", p) for n, p in zip(names, scores, strict=True)
        ]
        stage = Threshold(least, relative=0.6, leads=leads)
        return [s.text for s in stage(Query("q"), spans)]

    for least in (0.01, 0.05, 0.1, 0.3, 0.6):
        bent = bend(log_odds(np.array(before)))
        ends = bend(log_odds(np.array(LEADS)))
        own = 0.6 * math.log(least / (1 - least)) - 2 + 0.6 * 2
        moved = 1 / (1 + math.exp(-own))

        assert kept(before, least, LEADS) == kept([*bent], moved, (ends[0], ends[1]))


def test_figures_count_evidence_that_stays():
    """Of two words asked both stand in the evidence of one question, none in the other's. At 0.5 a
    half is enough: the first keeps 2 of 2 sentences, 5 of 5 words, at an AUC of 1; the second its
    best sentence, which is not the evidence, 2 of 4 words, at an AUC of 0."""
    first = {"text": "Seals sang it. Seals ran.", "evidence": [[0, 14]]}
    second = {"text": "Bees hum. Seals ran.", "evidence": [[0, 9]]}
    records = [{"question": "seals sang", "documents": [one]} for one in (first, second)]
    found = figures(OverlapPruner(), records, 0.5)

    assert {"auc": 0.5, "survival": 0.5, "words": 0.75, "questions": 2} == found

    found = figures(OverlapPruner(), [], 0.5)

    assert math.isnan(found["auc"]) and 0 == found["questions"]


FIRST = {"text": "It rained. Summer Breeze was sung by Seals.", "evidence": [[11, 43]]}
SECOND = {"text": "Who knows? Seals sang elsewhere."}
RECORD = asking("Who sang Summer Breeze?", FIRST, SECOND, answers=["Seals"])


def answered(scores):
    """One sentence each, which is the evidence."""
    return [ScoredQuestion(np.array([one]), np.array([True])) for one in scores]


def test_sentences_are_scored_in_the_order_of_documents():
    """Evidence is what is marked, not what repeats the answer; questions without text go."""
    (found,) = scored(OverlapPruner(), [RECORD, {"question": "Who?", "documents": []}])

    np.testing.assert_array_equal([0, 2 / 4, 1 / 4, 1 / 4], found.scores)
    np.testing.assert_array_equal([False, True, False, False], found.holds)


def test_a_threshold_may_lose_what_the_promise_allows():
    """Of 99 scores 100 * (1 - promise) - 1 may lie below; the hardest group decides."""
    found = thresholds({"all": answered([n / 100 for n in range(1, 100)])})

    assert [f"{promise:.2f}" for promise in PROMISED] == [*found]
    assert pytest.approx([0.20, 0.10, 0.05, 0.01]) == [
        found[promise] for promise in ("0.80", "0.90", "0.95", "0.99")
    ]

    easy = answered([0.5 + n / 200 for n in range(99)])
    hard = answered([n / 200 for n in range(99)])

    assert thresholds({"hard": hard}) == thresholds({"easy": easy, "hard": hard})


def test_parts_are_filled_with_questions_whose_evidence_is_known():
    """From those to learn from, the same each time; a named set's stay where they are."""
    rows = [question(n, known=n % 5 < 2) for n in range(50)]
    parts = {"train": rows[:48], "calibration": rows[48:49], "checking": rows[49:]}
    first, again = ({n: [*some] for n, some in parts.items()} for _ in range(2))
    own = {row["id"] for row in rows}
    moved = [fill_shares(first, own), fill_shares(again, own), fill_shares(parts, set())]

    assert [5, 5, 0] == moved
    assert first == again
    assert (43, 5, 2) == tuple(len(first[share]) for share in ("train", "calibration", "checking"))
    check_shares(first)


def question(n, *, known):
    """A question with a document whose evidence is marked, or without."""
    text = f"The bees ran in rome {n}. The seals sang it."
    evidence = {"evidence": [[0, text.index(".") + 1]] if known else []}
    document = {"id": "d", "title": "", "text": text, **evidence}
    return asking(f"Who ran {n}?", document, id=f"{n}", answers=[])


SEEDS = st.integers(0, 1 << 32)
PROMISES = st.floats(0.05, 0.9)
FEW = settings(max_examples=30)


def ranked(*scores, holds=0):
    """Sentences with these scores; the one at ``holds`` holds the answer."""
    return ScoredQuestion(np.array(scores), np.arange(len(scores)) == holds)


def many(n, seed):
    """Questions of one kind: a sentence with the answer scores higher, more or less."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, n)
    holding = [random.random(size) < 0.3 for size in sizes]
    return [ScoredQuestion(random.normal(held * 1.5), held) for held in holding]


def answerable(n, seed):
    return [q for q in many(3 * n, seed) if q.holds.any()][:n]


# Nine questions, each with its answer at .1, .2 … .9 and another sentence at .05. Promised is 80%:
# of n = 9 may be lost as many as 9/10 * lost/9 + 1/10 <= .2 allows, that is one. So the cut is at
# the second lowest, .2, which loses .1.
NINE = [ranked(n / 10, 0.05) for n in range(1, 10)]


def test_a_cut_by_score_worked_by_hand():
    """Of 18 sentences stay eight with an answer, that is half of eight questions and no other."""
    expected = Promise(0.2, 0.8, None, 9, 8 / 9, 8 / 18)

    assert expected == calibrate(NINE, keep_answer=0.8)


def test_a_cut_counts_questions_by_their_best_clue():
    """No cut loses an answer that is not there; equal scores are kept together."""
    both = ScoredQuestion(np.array([0.1, 0.9]), np.array([True, True]))

    assert 0.9 == calibrate([both], keep_answer=0.5).cut

    without = ranked(0.5, 0.5, holds=-1)
    found = calibrate([*NINE, without, without], keep_answer=0.8)

    assert (9, 0.2) == (found.questions, found.cut)
    assert pytest.approx((8 / 2 + 2) / 11) == found.kept

    found = calibrate([ranked(0.5), ranked(0.5), ranked(0.5), ranked(0.9)], keep_answer=0.6)

    assert (0.5, 1.0) == (found.cut, found.measured)


@pytest.mark.parametrize(("keep_answer", "needed"), [(0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_too_few_questions_are_refused_and_the_number_named(keep_answer, needed):
    """1 / (n + 1) <= 1 - P, that is n >= P / (1 - P); as many do."""
    message = f"keep_answer={keep_answer} needs at least {needed} questions with an answer"
    with pytest.raises(InputError, match=message):
        calibrate([ranked(0.5)] * (needed - 1), keep_answer=keep_answer)

    assert 0.5 == calibrate([ranked(0.5)] * needed, keep_answer=keep_answer).cut


def test_confidence_is_the_upper_bound_of_clopper_and_pearson():
    """2 of 50 are at most 12.06% by 95%; of n none may be lost: .9^22 is .0985, .9^21 .109."""
    questions = [ranked(float(n)) for n in range(50)]
    allowed, refused = (
        calibrate(questions, keep_answer=1 - risk, confidence=0.95).cut for risk in (0.1207, 0.1205)
    )

    assert (2.0, 1.0) == (allowed, refused)

    options = {"keep_answer": 0.9, "confidence": 0.9}
    with pytest.raises(InputError, match=r"with confidence=0\.9 needs at least 22 questions"):
        calibrate([ranked(0.5)] * 21, **options)

    assert 0.5 == calibrate([ranked(0.5)] * 22, **options).cut


@FEW
@given(SEEDS, PROMISES, st.integers(20, 60))
def test_the_cut_is_the_largest_that_the_bound_allows(seed, promise, n):
    """Checked against the definition, score by score."""
    questions = answerable(n, seed)
    best = np.array([q.scores[q.holds].max() for q in questions])
    bound = [(t, (sum(best < t) + 1) / (n + 1)) for t in {x for q in questions for x in q.scores}]
    expected = max(t for t, risk in bound if risk <= 1 - promise + 1e-9)  # 1 - .9 is below .1

    assert sum(best < expected) == sum(best < calibrate(questions, keep_answer=promise).cut)


@FEW
@given(SEEDS, PROMISES, st.floats(0.1, 0.95))
def test_confidence_only_makes_it_stricter(seed, promise, confidence):
    """A promise for each draw beside the one on average, whatever the confidence."""
    questions = answerable(60, seed)
    plain = calibrate(questions, keep_answer=promise)

    assert calibrate(questions, keep_answer=promise, confidence=confidence).cut <= plain.cut


@pytest.mark.parametrize("promise", [0.5, 0.8])
def test_the_promise_holds_on_average_over_draws(promise):
    """400 draws of 20 questions, each measured on 20 others; four standard errors of room."""
    survived = []
    for draw in range(400):
        found = calibrate(drawn(20, draw), keep_answer=promise)
        survived.append(survival(found, drawn(20, draw + 400)))
    room = 4 * np.std(survived) / math.sqrt(len(survived))

    assert np.mean(survived) >= promise - room


def drawn(n, seed):
    """Questions of three sentences, the first of which holds the answer: quick to draw."""
    scores = np.random.default_rng(seed).normal([1, 0, 0], size=(n, 3))
    return [ScoredQuestion(row, np.array([True, False, False])) for row in scores]


def survival(promise, questions):
    return float(np.mean([(q.scores[q.holds] >= promise.cut).any() for q in questions]))
