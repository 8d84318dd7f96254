"""The metrics of a result: one function and one row in `METRICS` each.

A metric is None where it does not apply to an example.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from msgspec import Struct

from ragsieve.result import Result, Tokens
from ragsieve.run.batch import accuracy
from ragsieve.schema import read
from ragsieve.text import contains_answer, visible_answers
from ragsieve.trace import Trace
from ragsieve.types import Answer, Example
from ragsieve_research.evaluate import answers, evidence
from ragsieve_research.evaluate.answers import AnswerJudge, CragVerdict

Judging = Callable[[str, str, Sequence[str]], float]
Compute = Callable[[Example, Result], float | None]
AnswerScore = Callable[[str, Sequence[str]], float]


@dataclass(frozen=True)
class Metric:
    """One number about a result.

    Args:
        name: Its name in records and tables.
        summary: A line of description.
        compute: Its value; None where it does not apply to the example, or nothing was answered
            that it could judge.
        group: ``"answer"`` reads the answer, ``"evidence"`` the kept spans, ``"cost"`` the tokens.
        better: The good direction.
        on_error: Value where the system failed; None where nothing is known of it then.
    """

    name: str
    summary: str
    compute: Compute
    group: Literal["answer", "evidence", "cost"]
    better: Literal["higher", "lower"] = "higher"
    on_error: float | None = 0.0


def measure(
    example: Example, result: Result, metrics: Sequence[Metric] | None = None
) -> dict[str, float]:
    """The metrics that apply, by name.

    Args:
        example: The question with its gold labels.
        result: The result of a system.
        metrics: Which ones; all of `METRICS` where None.

    Raises:
        InputError: If the example's metadata break a rule.
        MissingExtra: If a metric needs a package that is not installed.
        ModelError: If a judge fails.
    """
    chosen = METRICS.values() if metrics is None else metrics
    values = {metric.name: metric.compute(example, result) for metric in chosen}
    return {name: value for name, value in values.items() if value is not None}


def failed(example: Example, metrics: Sequence[Metric] | None = None) -> dict[str, float]:
    """Values where the system failed: wrong, without evidence, of a context that is not cut.

    Args:
        example: The question with its gold labels.
        metrics: Which ones; all of `METRICS` where None.

    Raises:
        InputError: If the example's metadata break a rule.
        MissingExtra: If a metric needs a package that is not installed.
    """
    silent = Result(example.query, (), (), "", Tokens(1, 1), Trace(), Answer(""))
    chosen = METRICS.values() if metrics is None else metrics
    known = {m.name: m.on_error for m in chosen if m.on_error is not None}
    return {n: known[n] for n in measure(example, silent, [m for m in chosen if m.name in known])}


def judged(judge: AnswerJudge) -> Metric:
    """A judge's own probability that the answer means a gold one, from 0 to 1."""
    summary = "a judge's probability that a gold answer is meant"
    return Metric("judge", summary, _of_answer(partial(_judged, judge)), "answer")


def semantic_accuracy(judge: AnswerJudge) -> Metric:
    """1.0 where the answer is a gold one, word for word or as ``judge`` understands it.

    Source: ChunkRAG (arXiv 2410.19572), accuracy.
    """

    def score(example: Example, output: str) -> float:
        exact = answers.exact_match(output, example.answers)
        return exact or float(_judged(judge, example, output) >= 0.5)

    summary = "a gold answer, or the same by a judge"
    return Metric("semantic_accuracy", summary, _of_answer(score), "answer")


def _judged(judge: AnswerJudge, example: Example, output: str) -> float:
    if not any(map(str.isalnum, output)):  # no need to ask a judge
        return 0.0
    return judge(example.query.text, output, example.answers)


def crag_metrics(judge: Judging | None = None, *, everywhere: bool = True) -> list[Metric]:
    """CRAG's four numbers; the judge is asked once for all of them.

    Args:
        judge: From question, answer and gold answers, how sure it is from 0 to 1 that they say the
            same. Decides what is not decided by rules; without one such answers are hallucinations.
        everywhere: For every dataset with gold answers, not only those called ``crag…``.

    Source: PruningRAG (arXiv 2409.13694), section 4.4.
    """

    @lru_cache(maxsize=1024)
    def verdict(question: str, output: str, gold: tuple[str, ...]) -> CragVerdict:
        return answers.crag(output, gold, partial(judge, question) if judge else None)

    def worth(points: Mapping[CragVerdict, float]) -> Compute:
        def score(example: Example, output: str) -> float | None:
            applies = everywhere or str(example.metadata.get("dataset", "")).startswith("crag")
            outcome = verdict(example.query.text, output, example.answers) if applies else None
            return points.get(outcome, 0.0) if outcome else None

        return _of_answer(score)

    right, wrong = worth({"accurate": 1.0}), worth({"hallucination": 1.0})
    none, score = worth({"missing": 1.0}), worth({"accurate": 1.0, "hallucination": -1.0})
    return [
        Metric("crag_accuracy", "the answer is right", right, "answer"),
        Metric("hallucination", "the answer is wrong", wrong, "answer", "lower"),
        Metric("missing", "the answer is that it is not known", none, "answer", "lower", 1.0),
        Metric("crag_score", "accuracy less hallucination", score, "answer"),
    ]


def _of_answer(score: Callable[[Example, str], float | None]) -> Compute:
    """``score`` of example and answer, where one was given and gold ones are known."""

    def compute(example: Example, result: Result) -> float | None:
        if not example.answers or result.answer is None:
            return None
        return score(example, result.answer.text)

    return compute


def _answer(score: AnswerScore) -> Compute:
    """The same of a score that compares an answer with gold ones."""
    return _of_answer(lambda example, output: score(output, example.answers))


def _rouge(kind: str) -> Compute:
    """ROUGE, where a gold answer has a word of the only kind that it knows: of ASCII."""
    score = _answer(lambda output, gold: _all_rouge(output, tuple(gold))[kind])

    def compute(example: Example, result: Result) -> float | None:
        known = any(re.search("[A-Za-z0-9]", answer) for answer in example.answers)
        return score(example, result) if known else None

    return compute


@lru_cache(maxsize=64)
def _all_rouge(output: str, gold: tuple[str, ...]) -> dict[str, float]:
    return answers.rouge(output, gold)


class _Pair(Struct, frozen=True):
    short_answers: list[str]


def _asqa(example: Example, result: Result) -> float | None:
    pairs = read(list[_Pair], example.metadata.get("qa_pairs") or [], "qa_pairs")
    if not pairs or result.answer is None:
        return None
    return answers.asqa_exact_match(result.answer.text, [pair.short_answers for pair in pairs])


def _answer_present(example: Example, result: Result) -> float | None:
    """None where no gold answer is but yes or no: a text that has the word need not say so."""
    if not (gold := visible_answers(example.answers)):
        return None
    return float(contains_answer("\n".join(s.text for s in result.kept), gold))


def _tokens(_: Example, result: Result) -> float | None:
    return float(result.tokens.after)


_ROWS = (
    Metric("accuracy", "a gold answer occurs in the answer", _answer(accuracy), "answer"),
    Metric("exact_match", "the answer is a gold one", _answer(answers.exact_match), "answer"),
    Metric("f1", "word overlap with the nearest gold answer", _answer(answers.f1), "answer"),
    Metric("rouge1", "single words shared with a gold answer", _rouge("rouge1"), "answer"),
    Metric("rouge2", "word pairs shared with a gold answer", _rouge("rouge2"), "answer"),
    Metric("rougeL", "longest word sequence shared with one", _rouge("rougeL"), "answer"),
    Metric("asqa_em", "share of the sub-answers in the answer", _asqa, "answer"),
    *crag_metrics(everywhere=False),
    Metric(
        "document_recall",
        "share of the gold documents of which something is kept",
        evidence.document_recall,
        "evidence",
    ),
    Metric(
        "document_precision",
        "share of gold ones among documents of which something is kept",
        evidence.document_precision,
        "evidence",
    ),
    Metric(
        "sentence_recall",
        "share of the gold sentences that are kept",
        evidence.sentence_recall,
        "evidence",
    ),
    Metric(
        "sentence_precision",
        "share of gold ones among the kept sentences",
        evidence.sentence_precision,
        "evidence",
    ),
    Metric("answer_present", "a gold answer occurs in the kept text", _answer_present, "evidence"),
    Metric(
        "documents_read",
        "documents of which anything was read: all but those cut by place",
        evidence.documents_read,
        "cost",
        "lower",
        None,
    ),
    Metric("tokens_kept", "share of the tokens kept", evidence.tokens_kept, "cost", "lower", 1.0),
    Metric("tokens", "tokens of the kept context", _tokens, "cost", "lower", None),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}

LOWER = {name for name, metric in METRICS.items() if metric.better == "lower"}
"""Metrics of which less is better."""
