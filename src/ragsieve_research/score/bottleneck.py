"""The information bottleneck: how much a shorter text says of the documents and the answer."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import LLM
from ragsieve.prompts import render, titled
from ragsieve.schema import Weight, check_number
from ragsieve.types import Document, Query, Segment
from ragsieve_research.prompts import quoted
from ragsieve_research.score.base import likelihood_gains
from ragsieve_research.score.inclusion import gains


def bottleneck(
    llm: LLM,
    query: Query,
    segments: Sequence[Segment],
    texts: Sequence[str],
    answer: str,
    *,
    beta: float = 1.0,
) -> NDArray[np.float64]:
    """I(text; documents | question) - beta * I(text; answer | question), in nats a token, ``(n,)``.

    Lower is better; 0 is an empty text, which says nothing of either. A good text leaves out what
    the documents say, but not the answer. Either part is a gain in log-likelihood, see `restores`
    and `answers`, and may be below 0.

    Args:
        llm: The generator; it has `loglik`.
        query: The question.
        segments: What the texts were made from.
        texts: Filtered texts; may be empty.
        answer: The gold answer; not blank.
        beta: How much the answer counts against brevity; finite, not negative.

    Raises:
        InputError: If ``answer`` is blank or ``beta`` breaks its rule.
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a text or document does not fit its context.

    Source: "An Information Bottleneck Perspective for Effective Noise Filtering on
        Retrieval-Augmented Generation" (arXiv 2406.01549), the IB score.
    Differs: Gains in log-likelihood a token, not probabilities of whole texts: a probability of
        a text of hundreds of tokens is 0 in floating point, and a mean weighs both parts alike
        whatever their lengths. The paper's weight is another one on that account.
    """
    check_number("beta", beta, Weight)
    cost: NDArray[np.float64] = restores(llm, query, segments, texts)
    return cost - beta * answers(llm, query, texts, answer)


def restores(
    llm: LLM, query: Query, segments: Sequence[Segment], texts: Sequence[str]
) -> NDArray[np.float64]:
    """I(text; documents | question): how much likelier each makes them, in nats a token, ``(n,)``.

    Every document is read by itself behind its title, so that many need no more context than one;
    the mean is over all their tokens. 0 where there are none.

    Raises:
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a text with a document does not fit its context.
    """
    documents = [titled(segment) for segment in segments if segment.text.strip()]
    shown = [*texts, ""]
    prompts = [render("restore", question=quoted(query.text), notes=quoted(t)) for t in shown]
    nats, tokens = likelihood_gains(llm, prompts, documents)
    gain: NDArray[np.float64] = nats.sum(axis=1) / max(1, tokens)
    return gain


def answers(llm: LLM, query: Query, texts: Sequence[str], answer: str) -> NDArray[np.float64]:
    """I(text; answer | question): how much likelier each makes it, in nats a token, ``(n,)``.

    Against the model's own answer; both have the prompts of `ragsieve.answer.Reader`.

    Raises:
        InputError: If ``answer`` is blank.
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a text does not fit its context.
    """
    if not answer.strip():
        raise InputError(f"answer must not be blank, got {answer!r}")
    read = [(n, Segment.whole(Document("text", t))) for n, t in enumerate(texts) if t.strip()]
    gain = np.zeros(len(texts))  # of an empty one, whose prompt is the closed-book one
    if read:
        places = [n for n, _ in read]
        nats = gains(llm, query, [segment for _, segment in read], answer)
        gain[places] = nats / max(1, llm.count([answer])[0])
    return gain
