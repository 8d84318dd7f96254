"""The numbers that a result is measured by."""

from typing import Any

import pytest

from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.result import Result
from ragsieve.select.top import TopK
from ragsieve.system import Pipeline, System
from ragsieve.types import Document, Example, Query
from ragsieve_research.evaluate.answers import AnswerJudge
from ragsieve_research.evaluate.metrics import (
    METRICS,
    Metric,
    crag_metrics,
    failed,
    measure,
    semantic_accuracy,
)

GOLD = {"is_positive": True, "supporting_sentences": ["Seals sang it."]}
DOCUMENTS = (Document("a", "Seals sang it.", metadata=GOLD), Document("b", "It rained."))
PAIRS = [{"short_answers": ["Seals"]}, {"short_answers": ["Crofts", "D. Crofts"]}]


def example(answers: tuple[str, ...] = ("Seals",), **metadata: Any) -> Example:
    return Example(Query("Who sang it?"), DOCUMENTS, answers, metadata)


def asked(reply: str, *, k: int = 1) -> Result:
    """The first ``k`` documents kept and answered from."""
    return System(Pipeline(TopK(k)), Reader(ScriptedLLM([reply]))).ask("Who sang it?", DOCUMENTS)


def test_all_that_applies_is_measured() -> None:
    """Of 'Jim Seals' 1 of 2 words is right, 1 of 1 found; 4 of 7 tokens are kept, the gold ones."""
    values = measure(example(), asked("Jim Seals"))

    assert {
        "accuracy": 1.0,
        "exact_match": 0.0,
        "f1": 2 / 3,
        "rouge1": pytest.approx(2 / 3),
        "rouge2": 0.0,
        "rougeL": pytest.approx(2 / 3),
        "document_recall": 1.0,
        "document_precision": 1.0,
        "sentence_recall": 1.0,
        "sentence_precision": 1.0,
        "answer_present": 1.0,
        "documents_read": 1.0,
        "tokens_kept": 4 / 7,
        "tokens": 4.0,
    } == values


def test_metrics_may_be_chosen() -> None:
    """One's own too: a metric is a function and a name."""
    own = Metric("spans", "kept spans", lambda _, result: float(len(result.kept)), "cost", "lower")

    assert {"spans": 2.0, "tokens": 7.0} == measure(
        example(), asked("x", k=2), [own, METRICS["tokens"]]
    )
    assert {} == measure(example(()), asked("x"), [METRICS["f1"]])


@pytest.mark.parametrize("answers", [("yes",), ("No.", "")])
def test_a_yes_or_no_is_not_present_in_a_text(answers: tuple[str, ...]) -> None:
    """One cannot see where it stands, so the metric does not apply; beside others these count."""
    values = [measure(example(gold), asked("Yes")) for gold in (answers, (*answers, "Seals"))]

    assert "answer_present" not in values[0]
    assert 1.0 == values[1]["answer_present"]


def test_an_unanswerable_question_has_no_answer_metric() -> None:
    """Nor an answer to be present."""
    values = measure(example(()), asked("Seals"))
    groups = {METRICS[name].group for name in values}

    assert {"evidence", "cost"} == groups
    assert "answer_present" not in values


def test_a_filter_alone_has_no_answer_metric() -> None:
    """Whether a gold answer is present can be said all the same."""
    system = System(Pipeline(TopK(0)), Reader(ScriptedLLM([])))
    values = measure(example(qa_pairs=PAIRS), system("Who sang it?", DOCUMENTS))

    assert not [name for name in values if METRICS[name].group == "answer"]
    assert 0.0 == values["answer_present"]
    assert (0.0, 0.0) == (values["tokens_kept"], values["document_recall"])


def test_sub_answers_are_measured_where_there_are_some() -> None:
    """One of two, by any of its spellings."""
    assert 0.5 == measure(example(qa_pairs=PAIRS), asked("Dan D. Crofts"))["asqa_em"]


def test_rouge_is_left_out_where_it_cannot_see_the_gold_answer() -> None:
    """It knows ASCII words only; the others read Chinese."""
    values = measure(example(("东京",)), asked("东京"))

    assert (1.0, 1.0) == (values["exact_match"], values["f1"])
    assert not [name for name in values if name.startswith("rouge")]


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("Seals", (1.0, 0.0, 0.0, 1.0)),
        ("I don't know", (0.0, 0.0, 1.0, 0.0)),
        ("", (0.0, 0.0, 1.0, 0.0)),
        ("Crofts", (0.0, 1.0, 0.0, -1.0)),
    ],
)
def test_crags_numbers_are_of_crag(reply: str, numbers: tuple[float, ...]) -> None:
    """The score is accuracy less hallucination; other datasets have none of the four."""
    names = ("crag_accuracy", "hallucination", "missing", "crag_score")
    values = measure(example(dataset="crag"), asked(reply))

    assert numbers == tuple(values[name] for name in names)
    assert not {*names} & {*measure(example(dataset="nq"), asked(reply))}


def test_a_judge_is_asked_once_for_four_numbers() -> None:
    """And for every dataset, where one asks for them."""
    llm = ScriptedLLM([], choices=lambda prompt, options: [0.9, 0.1])
    values = measure(example(), asked("The man of Seals & Crofts"), crag_metrics(AnswerJudge(llm)))

    assert {"crag_accuracy": 1, "hallucination": 0, "missing": 0, "crag_score": 1} == values
    assert 1 == len(llm.prompts)


@pytest.mark.parametrize(
    ("reply", "sure", "expected", "calls"),
    [("Seals", 0, 1.0, 0), ("Jim", 1, 1.0, 1), ("Jim", 0, 0.0, 1), ("", 1, 0.0, 0)],
)
def test_the_same_in_other_words_is_a_judges_to_say(
    reply: str, sure: float, expected: float, calls: int
) -> None:
    """It is not asked where the words are the same, or none."""
    llm = ScriptedLLM([], choices=lambda prompt, options: [sure, 1 - sure])
    values = measure(example(), asked(reply), [semantic_accuracy(AnswerJudge(llm))])

    assert {"semantic_accuracy": expected} == values
    assert calls == len(llm.prompts)


@pytest.mark.parametrize(
    ("answers", "metadata"),
    [
        *((("Seals",), {}), (("Seals",), {"dataset": "crag"}), (("东京",), {"qa_pairs": PAIRS})),
        *(((), {}), ((), {"qa_pairs": PAIRS})),
    ],
)
def test_a_failure_counts_wherever_an_answer_or_evidence_would(
    answers: tuple[str, ...], metadata: dict[str, Any]
) -> None:
    """For the same metrics, as wrong, with nothing kept of all tokens; in CRAG's terms missing."""
    question = example(answers, **metadata)
    measured = measure(question, asked("Crofts"))
    values = failed(question)

    assert {*measured} - {"documents_read", "tokens"} == {*values}
    assert {name: float(name in ("missing", "tokens_kept")) for name in values} == values


def test_a_failure_asks_no_judge() -> None:
    """There is nothing to judge."""
    llm = ScriptedLLM([])
    judge = AnswerJudge(llm)
    judged = [*crag_metrics(judge), semantic_accuracy(judge), METRICS["tokens"]]
    wrong = ("crag_accuracy", "hallucination", "crag_score", "semantic_accuracy")

    assert {**dict.fromkeys(wrong, 0.0), "missing": 1.0} == failed(example(), judged)
    assert [] == llm.prompts


@pytest.mark.data
def test_real_questions_can_be_measured(records: dict[str, list[Example]]) -> None:
    """The first of every file: right where the gold answer is given, within range everywhere."""
    for name, examples in records.items():
        for question in examples[:3]:
            reply = question.answers[0] if question.answers else "Seals"
            system = System(Pipeline(TopK(2)), Reader(ScriptedLLM([reply], context=10**6)))
            values = measure(question, system.ask(question.query, question.documents))

            assert bool(question.answers) == ("accuracy" in values), name
            assert not question.answers or 1.0 == values["accuracy"] == values["exact_match"], name
            counts = ("tokens", "documents_read", "crag_score")
            assert all(0 <= v <= 1 for n, v in values.items() if n not in counts)
