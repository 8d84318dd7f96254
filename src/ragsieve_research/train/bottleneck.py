"""BottleNeck's noise filter: tune an LLM on what the information bottleneck rates best."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ragsieve import models
from ragsieve.answer import Reader
from ragsieve.errors import ContextOverflow
from ragsieve.models.base import LLM, Prompt
from ragsieve.models.sharing import Share
from ragsieve.prompts import context
from ragsieve.system import best_first
from ragsieve.types import Example, Segment
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.score.bottleneck import bottleneck
from ragsieve_research.score.inclusion import Inclusion, Overlap
from ragsieve_research.systems.bottleneck import PROMPT
from ragsieve_research.systems.written import NOTHING, Write
from ragsieve_research.train.artifacts import recipe_of
from ragsieve_research.train.examples import TrainingExample, gold
from ragsieve_research.train.plans import WriterPlan
from ragsieve_research.train.preference import PreferencePair, prefer
from ragsieve_research.train.run import PARTS, Run, labels_of
from ragsieve_research.train.sft import PromptSample, Tuning, tune_once

logger = logging.getLogger(__name__)

WRITTEN_TOKENS = 256  # of what the filter writes at most
MEASURED = 20  # validation questions that are filtered before and after


class Candidate(NamedTuple):
    """A filtered text, and its score by the information bottleneck; lower is better."""

    text: str
    score: float

    @property
    def reply(self) -> str:
        """The filter's text for it."""
        return self.text or NOTHING.upper()


@dataclass(frozen=True)
class Candidates:
    """Texts that a filter could write for a question, best first.

    They are: what ``writer`` writes, the sentences with a gold answer, the sentence that shares
    most words with the question, all that is read, and nothing; equal ones once.

    Args:
        llm: The generator, by whose likelihoods they are rated; it has `loglik`.
        writer: The filter model before it learns.
        beta: See `ragsieve_research.score.bottleneck.bottleneck`.

    Source: "An Information Bottleneck Perspective for Effective Noise Filtering on
        Retrieval-Augmented Generation" (arXiv 2406.01549): silver texts by the IB score.
    Differs: Which texts are candidates is ours.
    """

    llm: LLM
    writer: LLM
    beta: float = 1.0

    def __call__(self, example: TrainingExample) -> list[Candidate]:
        """The candidates of a question, best first."""
        query, read = example.query, example.sentences
        holding = [s for s in Inclusion({query.text: example.answers})(query, read) if s.score]
        texts = [
            self.writes(example),
            context(holding),
            context(best_first(Overlap()(query, read))[:1]),
            context(read),
            "",
        ]
        return sorted(self.rated(example, list(dict.fromkeys(texts))), key=lambda one: one.score)

    def writes(self, example: TrainingExample) -> str:
        """The text of ``writer``, as a generator reads it."""
        return context(Write(self.writer, PROMPT, WRITTEN_TOKENS)(example.query, example.sentences))

    def rated(self, example: TrainingExample, texts: Sequence[str]) -> list[Candidate]:
        """Filtered texts of a question with their scores, in order."""
        documents = {s.document.id: s.document for s in example.sentences}.values()
        segments = [Segment.whole(document) for document in documents]
        answer = gold(example.answers)
        scores = bottleneck(
            self.llm, example.query, segments, texts, answer, beta=self.beta
        ).tolist()
        return [Candidate(*pair) for pair in zip(texts, scores, strict=True)]

    def labels(self, example: Example) -> dict[str, list[Candidate]]:
        """``candidates``: text and score of each, best first; none where they do not fit."""
        try:
            return {"candidates": self(TrainingExample.of(example))}
        except ContextOverflow as error:
            logger.info("question %r is left out: %s", example.query.id, error)
            return {"candidates": []}

    def prompt(self, example: TrainingExample) -> Prompt:
        """The prompt of a question, as `ragsieve_research.systems.bottleneck` asks."""
        reader = Reader(self.writer, prompt=PROMPT, closed_prompt=PROMPT)
        return reader.messages(example.query, example.sentences)


def learn_bottleneck(
    plan: WriterPlan, run: Run, model: Transformers, rate: Candidates, share: Share
) -> tuple[Path, dict[str, Any]]:
    """Tune an LLM to write the best candidate of each question, then to prefer it to the worst.

    The second step takes 1 epoch at a hundredth of the usual rate. What an earlier start has
    labelled and trained is kept.

    Args:
        plan: How.
        run: Where it works, and what is read.
        model: A causal model.
        rate: Labels the questions.
        share: Wraps the tuned model, which is measured.

    Returns:
        The adapter, and figures before and after.

    Raises:
        InputError: If there is nothing to learn.
        ModelError: If a model fails.

    Source: arXiv 2406.01549: supervised fine-tuning on the best candidate, then DPO on best
        against worst.
    """
    run.label("ib", rate.labels, by=labels_of("writer", plan))
    parts = [
        [(TrainingExample.of(e), row["candidates"]) for e, row in run.read(part, "ib")]
        for part in PARTS
    ]
    rated = [[(e, [Candidate(*c) for c in some]) for e, some in part if some] for part in parts]
    samples = [[PromptSample(rate.prompt(e), c[0].reply) for e, c in part] for part in rated]
    pairs = [
        [
            PreferencePair(rate.prompt(e), c[0].reply, c[-1].reply)
            for e, c in part
            if c[0].score < c[-1].score
        ]
        for part in rated
    ]
    about, tuning = {"part": "bottleneck"}, Tuning(epochs=plan.epochs, checks=4, seed=plan.seed)
    first = tune_once(run, model, samples, tuning=tuning, about=about)
    preference = Tuning(epochs=1, checks=4, lr=5e-6, seed=plan.seed)
    second = run.adapter(first.name, preference, pairs)
    if not recipe_of(second):
        prefer(second, *pairs, llm=model, adapter=first, tuning=preference, about=about)
    measured = [example for example, _ in rated[1][:MEASURED]]
    after = replace(rate, writer=share(models.load(plan.llm, adapter=str(second))))
    return second, {"before": figures(rate, measured), "after": figures(after, measured)}


def figures(rate: Candidates, examples: Sequence[TrainingExample]) -> dict[str, float]:
    """Measure the texts of ``rate.writer``.

    Returns:
        ``questions``; ``ib``: the mean score by the information bottleneck, lower is better;
        ``tokens``: the generator's, of a text; ``empty``: share of questions where nothing is
        written, in [0, 1].
    """
    texts = [rate.writes(example) for example in examples]
    scores = [rate.rated(one, [text])[0].score for one, text in zip(examples, texts, strict=True)]
    count = max(1, len(examples))
    return {
        "questions": len(examples),
        "ib": sum(scores) / count,
        "tokens": sum(rate.llm.count(texts)) / count,
        "empty": texts.count("") / count,
    }
