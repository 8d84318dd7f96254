"""The metrics of a result: one function and one row in `METRICS` each.

A metric is None where it does not apply to an example.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from msgspec import Struct

from ragsieve.answer import Reader
from ragsieve.errors import ContextOverflow
from ragsieve.evaluate import answers, evidence
from ragsieve.evaluate.answers import CragVerdict, Judge
from ragsieve.models.base import LLM
from ragsieve.prompts import context
from ragsieve.result import Result, Tokens
from ragsieve.schema import read
from ragsieve.score.bottleneck import bottleneck
from ragsieve.text import contains_answer
from ragsieve.trace import Trace
from ragsieve.types import Answer, Example, Segment

logger = logging.getLogger(__name__)

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
        on_error: Value of an answer metric where the system failed.
    """

    name: str
    summary: str
    compute: Compute
    group: Literal["answer", "evidence", "cost"]
    better: Literal["higher", "lower"] = "higher"
    on_error: float = 0.0


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
    """Values of the answer metrics where the system failed, so that every failure counts.

    Args:
        example: The question with its gold labels.
        metrics: Which ones; all of `METRICS` where None.

    Raises:
        InputError: If the example's metadata break a rule.
        MissingExtra: If a metric needs a package that is not installed.
    """
    silent = Result(example.query, (), (), "", Tokens(0, 0), Trace(), Answer(""))
    chosen = METRICS.values() if metrics is None else metrics
    judging = {metric.name: metric for metric in chosen if metric.group == "answer"}
    return {name: judging[name].on_error for name in measure(example, silent, [*judging.values()])}


def judged(judge: Judge) -> Metric:
    """A judge's own probability that the answer means a gold one, from 0 to 1."""

    def compute(example: Example, result: Result) -> float | None:
        if not example.answers or result.answer is None:
            return None
        output = result.answer.text
        blank = not any(map(str.isalnum, output))  # no need to ask a judge
        return judge(example.query.text, output, example.answers) if not blank else 0.0

    return Metric("judge", "a judge's probability that a gold answer is meant", compute, "answer")


def semantic_accuracy(judge: Judge) -> Metric:
    """1.0 where the answer is a gold one, word for word or as ``judge`` understands it.

    Source: ChunkRAG (arXiv 2410.19572), accuracy.
    """
    understood = judged(judge).compute

    def compute(example: Example, result: Result) -> float | None:
        if not example.answers or result.answer is None:
            return None
        if answers.exact_match(result.answer.text, example.answers):
            return 1.0
        return float((understood(example, result) or 0.0) >= 0.5)

    return Metric("semantic_accuracy", "a gold answer, or the same by a judge", compute, "answer")


def likelihood(reader: Reader) -> Metric:
    """How likely the gold answer is to the generator that reads what was kept; see
    `ragsieve.evaluate.answers.answer_loglik`. Finer than whether it gives that answer.
    """

    def compute(example: Example, result: Result) -> float | None:
        if not any(map(str.strip, example.answers)) or result.answer is None:
            return None
        return answers.answer_loglik(reader, example.query, result.answer.segments, example.answers)

    return Metric("answer_loglik", "log-likelihood of the gold answer a token", compute, "evidence")


def ib_score(llm: LLM, beta: float = 1.0) -> Metric:
    """The reader's text by the information bottleneck; lower is better, below 0 is good.

    ``I(text; documents | question) - beta * I(text; answer | question)``, in nats a token: the
    information of the text on the documents, less that on the gold answer; see
    `ragsieve.score.bottleneck.bottleneck`. 0 of a system that keeps nothing. Of several gold
    answers the first that is not blank counts. None where a document does not fit the context.

    Args:
        llm: The generator; it has `loglik`.
        beta: How much the answer counts against brevity; finite, not negative.

    Source: "An Information Bottleneck Perspective for Effective Noise Filtering on
        Retrieval-Augmented Generation" (arXiv 2406.01549), the IB score.
    """

    def compute(example: Example, result: Result) -> float | None:
        gold = next(filter(str.strip, example.answers), None)
        if gold is None or result.answer is None:
            return None
        documents = [Segment.whole(document) for document in result.documents]
        text = context(result.answer.segments)
        try:
            return float(bottleneck(llm, example.query, documents, [text], gold, beta=beta)[0])
        except ContextOverflow as error:
            logger.info("question %r has no ib_score: %s", example.query.id, error)
            return None

    summary = "information of the kept text on the documents, less on the answer"
    return Metric("ib_score", summary, compute, "evidence", "lower")


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
        def compute(example: Example, result: Result) -> float | None:
            applies = everywhere or str(example.metadata.get("dataset", "")).startswith("crag")
            if not applies or not example.answers or result.answer is None:
                return None
            outcome = verdict(example.query.text, result.answer.text, example.answers)
            return points.get(outcome, 0.0)

        return compute

    right, wrong, none = (
        worth({"accurate": 1.0}),
        worth({"hallucination": 1.0}),
        worth({"missing": 1.0}),
    )
    score = worth({"accurate": 1.0, "hallucination": -1.0})
    return [
        Metric("crag_accuracy", "the answer is right", right, "answer"),
        Metric("hallucination", "the answer is wrong", wrong, "answer", "lower"),
        Metric("missing", "the answer is that it is not known", none, "answer", "lower", 1.0),
        Metric("crag_score", "accuracy less hallucination", score, "answer"),
    ]


def _answer(score: AnswerScore) -> Compute:
    """``score`` of the answer, where one was given and gold ones are known."""

    def compute(example: Example, result: Result) -> float | None:
        if not example.answers or result.answer is None:
            return None
        return score(result.answer.text, example.answers)

    return compute


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
    if not example.answers:
        return None
    return float(contains_answer("\n".join(s.text for s in result.kept), example.answers))


def _tokens_kept(_: Example, result: Result) -> float | None:
    return evidence.tokens_kept(result)


def _tokens(_: Example, result: Result) -> float | None:
    return float(result.tokens.after)


_ROWS = (
    Metric("accuracy", "a gold answer occurs in the answer", _answer(answers.accuracy), "answer"),
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
    Metric("tokens_kept", "share of the context's tokens kept", _tokens_kept, "cost", "lower"),
    Metric("tokens", "tokens of the kept context", _tokens, "cost", "lower"),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}

LOWER = {name for name, metric in METRICS.items() if metric.better == "lower"} | {"ib_score"}
"""Metrics of which less is better, those that only some runs measure among them."""
