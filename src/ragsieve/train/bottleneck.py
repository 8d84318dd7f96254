"""BottleNeck's noise filter: an LLM learns to write what the information bottleneck rates best."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsieve.answer import Reader
from ragsieve.errors import ContextOverflow
from ragsieve.models.base import LLM, Prompt
from ragsieve.pipeline import best_first
from ragsieve.prompts import context
from ragsieve.score import Inclusion, Overlap
from ragsieve.score.bottleneck import bottleneck
from ragsieve.systems.bottleneck import PROMPT
from ragsieve.systems.written import NOTHING, Write
from ragsieve.train.artifacts import RECIPE, adapter_of
from ragsieve.train.examples import TrainingExample, gold
from ragsieve.types import Example, Segment

if TYPE_CHECKING:  # labels need none of its libraries
    from ragsieve.train.sft import Log, Tuning

logger = logging.getLogger(__name__)


class Candidate(NamedTuple):
    """A filtered text, and its score by the information bottleneck; lower is better."""

    text: str
    score: float

    @property
    def reply(self) -> str:
        """What a filter writes for it."""
        return self.text or NOTHING.upper()


@dataclass(frozen=True)
class Candidates:
    """Texts that a filter could write for a question, best first.

    They are: what ``writer`` writes, the sentences with a gold answer, the sentence that shares
    most words with the question, all that is read, and nothing; equal ones once.

    Args:
        llm: The generator, by whose likelihoods they are rated; it has `loglik`.
        writer: The filter model before it learns.
        beta: See `ragsieve.score.bottleneck.bottleneck`.
        written_tokens: Of what ``writer`` writes at most.

    Source: "An Information Bottleneck Perspective for Effective Noise Filtering on
        Retrieval-Augmented Generation" (arXiv 2406.01549): silver texts by the IB score.
    Differs: Which texts are candidates is ours.
    """

    llm: LLM
    writer: LLM
    beta: float = 1.0
    written_tokens: int = 256

    def __call__(self, lesson: TrainingExample) -> list[Candidate]:
        """The candidates of a question, best first."""
        query, read = lesson.query, lesson.sentences
        holding = [s for s in Inclusion({query.text: lesson.answers})(query, read) if s.score]
        texts = [
            self.writes(lesson),
            context(holding),
            context(best_first(Overlap()(query, read))[:1]),
            context(read),
            "",
        ]
        return sorted(self.rated(lesson, list(dict.fromkeys(texts))), key=lambda one: one.score)

    def writes(self, lesson: TrainingExample) -> str:
        """What ``writer`` writes, as a generator reads it."""
        return context(
            Write(self.writer, PROMPT, self.written_tokens)(lesson.query, lesson.sentences)
        )

    def rated(self, lesson: TrainingExample, texts: Sequence[str]) -> list[Candidate]:
        """Filtered texts of a question with their scores, in order."""
        documents = {s.document.id: s.document for s in lesson.sentences}.values()
        given = [Segment.whole(document) for document in documents]
        answer = gold(lesson.answers)
        scores = bottleneck(self.llm, lesson.query, given, texts, answer, beta=self.beta).tolist()
        return [Candidate(*pair) for pair in zip(texts, scores, strict=True)]

    def labels(self, example: Example) -> dict[str, list[Candidate]]:
        """``candidates``: text and score of each, best first; none where they do not fit."""
        try:
            return {"candidates": self(TrainingExample.of(example))}
        except ContextOverflow as error:
            logger.info("question %r is left out: %s", example.query.id, error)
            return {"candidates": []}

    def asked(self, lesson: TrainingExample) -> Prompt:
        """What a filter is asked of a question, as `ragsieve.systems.bottleneck` asks."""
        reader = Reader(self.writer, prompt=PROMPT, closed_prompt=PROMPT)
        return reader.messages(lesson.query, lesson.sentences)


class Rated(NamedTuple):
    """What a filter is asked of a question, and what it could write, best first."""

    prompt: Prompt
    candidates: Sequence[Candidate]


def train_bottleneck(
    folder: Path,
    taught: Sequence[Rated],
    validation: Sequence[Rated],
    *,
    work: Path,
    llm: str = "smollm2",
    tuning: Tuning | None = None,
    preference: Tuning | None = None,
    about: Mapping[str, Any] | None = None,
) -> Log:
    """Tune an LLM to write the best candidate of each question, then to prefer it to the worst.

    ``bottleneck(generator, writer=models.load(llm, adapter=folder))`` uses it. What an earlier
    start has trained is kept.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.preference.prefer`.
        taught: Questions to learn from.
        validation: Such questions, by which the best states are chosen.
        work: Where the adapter of the first step lies.
        llm: A local model: ``"smollm2"`` or ``"transformers:…"``.
        tuning: Of the first step; 2 epochs where None.
        preference: Of the second; 1 epoch at a hundredth of the rate where None.
        about: What the recipes say beside.

    Returns:
        What happened in the second step, as `ragsieve.train.preference.prefer` gives it.

    Raises:
        InputError: If an option breaks its rule, or there is nothing to learn.
        ModelError: If the model cannot be loaded.

    Source: arXiv 2406.01549: supervised fine-tuning on the best candidate, then DPO on best
        against worst.
    """
    from ragsieve.train.preference import Pair, prefer
    from ragsieve.train.sft import Sample, Tuning, tunable, tune

    model = tunable(llm)
    tuning = tuning or Tuning(epochs=2, checks=4)
    preference = preference or Tuning(epochs=1, checks=4, lr=5e-6, seed=tuning.seed)
    given = taught, validation
    samples = [[Sample(prompt, best[0].reply) for prompt, best in part] for part in given]
    pairs = [
        [Pair(prompt, f[0].reply, f[-1].reply) for prompt, f in part if f[0].score < f[-1].score]
        for part in given
    ]
    tuned = adapter_of(work, llm, tuning, samples)
    if not (tuned / RECIPE).is_file():
        tune(tuned, *samples, llm=model, tuning=tuning, about=about or {})
    return prefer(folder, *pairs, llm=model, adapter=tuned, tuning=preference, about=about or {})


def figures(rate: Candidates, lessons: Sequence[TrainingExample]) -> dict[str, float]:
    """How good what ``rate.writer`` writes is.

    Returns:
        ``questions``; ``ib``: the mean score by the information bottleneck, lower is better;
        ``tokens``: the generator's, of a text; ``empty``: share of questions where nothing is
        written, in [0, 1].
    """
    texts = [rate.writes(lesson) for lesson in lessons]
    scores = [rate.rated(one, [text])[0].score for one, text in zip(lessons, texts, strict=True)]
    count = max(1, len(lessons))
    return {
        "questions": len(lessons),
        "ib": sum(scores) / count,
        "tokens": sum(rate.llm.count(texts)) / count,
        "empty": texts.count("") / count,
    }
