"""BottleNeck's noise filter: an LLM learns to write what the information bottleneck rates best.

WORK/cache.sqlite    what the models said of candidates
WORK/tuned           the filter after supervised fine-tuning
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsieve.answer import Reader
from ragsieve.errors import ContextOverflow, InputError
from ragsieve.models.base import LLM, Prompt
from ragsieve.models.sharing import sharing
from ragsieve.pipeline import best_first
from ragsieve.prompts import context
from ragsieve.score import Inclusion, Overlap
from ragsieve.score.bottleneck import bottleneck
from ragsieve.systems.bottleneck import PROMPT
from ragsieve.systems.written import NOTHING, Write
from ragsieve.train.lessons import Lesson
from ragsieve.types import Query, Segment

if TYPE_CHECKING:  # labels need none of its libraries
    from ragsieve.train.sft import Tuning

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
        documents: So many of the first documents are read; at least 1.
        beta: See `ragsieve.score.bottleneck.bottleneck`.
        written_tokens: Of what ``writer`` writes at most.

    Raises:
        InputError: If an option breaks its rule.

    Source: "An Information Bottleneck Perspective for Effective Noise Filtering on
        Retrieval-Augmented Generation" (arXiv 2406.01549): silver texts by the IB score.
    Differs: Which texts are candidates is ours.
    """

    llm: LLM
    writer: LLM
    documents: int = 5
    beta: float = 1.0
    written_tokens: int = 256

    def __post_init__(self) -> None:
        if self.documents < 1:
            raise InputError(f"documents must be at least 1, got {self.documents!r}")

    def __call__(self, lesson: Lesson) -> list[Candidate]:
        """The candidates of a question, best first."""
        query, read = lesson.query, self.read(lesson)
        gold = {query.text: lesson.answers}
        answer = next(text for text in lesson.answers if text.strip())
        holding = [s for s in Inclusion(gold)(query, read) if s.score]
        texts = [
            context(Write(self.writer, PROMPT, self.written_tokens)(query, read)),
            context(holding),
            context(best_first(Overlap()(query, read))[:1]),
            context(read),
            "",
        ]
        texts = list(dict.fromkeys(texts))
        given = _documents(read)
        scores = bottleneck(self.llm, query, given, texts, answer, beta=self.beta).tolist()
        rated = [Candidate(*pair) for pair in zip(texts, scores, strict=True)]
        return sorted(rated, key=lambda one: one.score)

    def read(self, lesson: Lesson) -> list[Segment]:
        """The sentences of the first documents."""
        names = list(dict.fromkeys(s.document.id for s in lesson.sentences))[: self.documents]
        return [s for s in lesson.sentences if s.document.id in names]

    def asked(self, query: Query, read: Sequence[Segment]) -> Prompt:
        """What a filter is asked where it reads ``read``, as `ragsieve.systems.bottleneck` asks."""
        return Reader(self.writer, prompt=PROMPT, closed_prompt=PROMPT).messages(query, read)


def train_bottleneck(
    folder: Path,
    lessons: Sequence[Lesson],
    validation: Sequence[Lesson],
    *,
    work: Path,
    llm: str = "smollm2",
    generator: LLM | None = None,
    beta: float = 1.0,
    documents: int = 5,
    tuning: Tuning | None = None,
    preference: Tuning | None = None,
) -> dict[str, Any]:
    """Tune an LLM to write the best candidate of each question, then to prefer it to the worst.

    ``bottleneck(generator, writer=models.load(llm, adapter=folder))`` uses it. What an earlier
    start has rated or trained is kept.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.preference.prefer`.
        lessons: Questions to learn from; those whose documents do not fit the generator's context
            are left out.
        validation: Such questions, by which the best states are chosen.
        work: Folder of this training, and of no other; made where missing.
        llm: A local model: ``"smollm2"`` or ``"transformers:…"``.
        generator: Rates the candidates; ``llm`` itself where None.
        beta: See `ragsieve.score.bottleneck.bottleneck`.
        documents: So many of the first documents are read.
        tuning: Of the first step; 2 epochs where None.
        preference: Of the second; 1 epoch at a hundredth of the rate where None.

    Returns:
        What the adapter's ``recipe.json`` says.

    Raises:
        InputError: If an option breaks its rule, or there is nothing to learn.
        ModelError: If a model fails.

    Source: arXiv 2406.01549: supervised fine-tuning on the best candidate, then DPO on best
        against worst.
    """
    from ragsieve.train.preference import Pair, prefer
    from ragsieve.train.sft import Sample, Tuning, tunable, tune

    model = tunable(llm)
    tuning = tuning or Tuning(epochs=2, checks=4)
    preference = preference or Tuning(epochs=1, checks=4, lr=5e-6, seed=tuning.seed)
    work.mkdir(parents=True, exist_ok=True)
    with sharing(1, cache=work / "cache.sqlite") as share:
        writer = share(model)
        rate = Candidates(share(generator) if generator else writer, writer, documents, beta)
        rated = [_rated(part, rate) for part in (lessons, validation)]
    samples = [[Sample(prompt, found[0].reply) for prompt, found in part] for part in rated]
    pairs = [
        [
            Pair(prompt, found[0].reply, found[-1].reply)
            for prompt, found in part
            if found[0].score < found[-1].score
        ]
        for part in rated
    ]
    about = {"part": "bottleneck", "beta": beta, "documents": documents}
    tuned = work / "tuned"
    if not (tuned / "recipe.json").is_file():
        tune(tuned, *samples, llm=model, tuning=tuning, about=about)
    prefer(folder, *pairs, llm=model, adapter=tuned, tuning=preference, about=about)
    return dict(json.loads((folder / "recipe.json").read_text(encoding="utf-8")))


def _rated(lessons: Sequence[Lesson], rate: Candidates) -> list[tuple[Prompt, list[Candidate]]]:
    """What a filter is asked of each question, with the candidates, best first."""
    found = []
    for lesson in lessons:
        if read := rate.read(lesson):
            try:
                found.append((rate.asked(lesson.query, read), rate(lesson)))
            except ContextOverflow:
                logger.info("question %r is left out: it does not fit", lesson.query.id)
    return found


def _documents(read: Sequence[Segment]) -> list[Segment]:
    return [Segment.whole(d) for d in {s.document.id: s.document for s in read}.values()]
