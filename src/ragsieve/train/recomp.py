"""RECOMP's extractive compressor: after which sentence the generator's answer is likely.

WORK/train.jsonl, validation.jsonl                the questions, with the documents that are read
WORK/train.labels.jsonl, validation.labels.jsonl  what each sentence does for the answer
WORK/model                                        checkpoints
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve import models, split
from ragsieve.datasets import Dataset
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.sharing import sharing
from ragsieve.pipeline import as_documents
from ragsieve.score import Cosine
from ragsieve.score.inclusion import gains
from ragsieve.train import artifacts
from ragsieve.train.artifacts import (
    PARTS,
    Told,
    atomic_dir,
    check_counts,
    check_free,
    first_documents,
    label,
    labels_of,
    recipe_of,
    write_questions,
)
from ragsieve.train.examples import TrainingExample, by_line, gold, lessons
from ragsieve.trained.recipe import place
from ragsieve.types import Example, Segment

BATCH = 16  # pairs: all weights of MiniLM take 9 GB with the 64 of `train_reranker`


@dataclass(frozen=True, kw_only=True)
class RecompPlan:
    """How an extractive compressor is trained.

    Args:
        llm: The generator, by whose likelihoods it learns; it has `loglik`.
        embedder: The bi-encoder that is tuned, and finds hard negatives before.
        documents: So many of the first documents of a question are read; at least 1.
        negatives: So many sentences of a question at most are negatives; at least 1.
        margin: By so much less than the best one a negative raises the answer's log-likelihood, in
            nats; not negative. Ours: the paper names none that we know.
        limit: Only so many questions to learn from, and a fifth of that to choose by; all where
            None.
        epochs: How often all pairs are read; at least 1.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: str = "smollm2"
    embedder: str = "minilm"
    documents: int = 5
    negatives: int = 5
    margin: float = 1.0
    limit: int | None = None
    epochs: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, "documents", "negatives", "limit", "epochs")
        if not 0 <= self.margin < np.inf:
            raise InputError(f"margin must be finite and not negative, got {self.margin!r}")
        models.check(self.llm, "LLM")
        models.check(self.embedder, "embedder")
        if self.embedder.startswith("fake:"):
            raise InputError(f"embedder must be one that can be tuned, got {self.embedder!r}")

    @property
    def labels(self) -> str:
        """What labels depend on beside the questions."""
        return labels_of("recomp", self)


@dataclass(frozen=True)
class Chosen(TrainingExample):
    """A question whose clues are the sentences at places ``chosen``, by whatever measure."""

    chosen: tuple[int, ...] = ()

    @cached_property
    def clues(self) -> tuple[int, ...]:
        """The places, in the order chosen."""
        return self.chosen

    @classmethod
    def by(
        cls, lesson: TrainingExample, chosen: Sequence[int], useful: Mapping[int, bool]
    ) -> Chosen:
        """``lesson`` with other clues, and for places of them whether they are useful."""
        return cls(
            lesson.query, lesson.answers, lesson.sentences, dict(useful), chosen=tuple(chosen)
        )


@dataclass(frozen=True)
class Labeller:
    """The sentence of a question after which the answer is likeliest, and those that do far less.

    Args:
        llm: The generator.
        embedder: Says which negatives are hard: those nearest to the question.
        negatives: See `RecompPlan`; so for ``margin``.
        margin: In nats.

    Source: RECOMP (arXiv 2310.04408), section 3.1.
    Differs: By the likelihood for questions, too; the labels of the authors' code for them say
        whether the generator answers rightly.
    """

    llm: LLM
    embedder: Embedder
    negatives: int = 5
    margin: float = 1.0

    def __call__(self, example: Example) -> dict[str, Any]:
        """The labels as JSON values, as `ragsieve.train.examples.lessons` reads them.

        Returns:
            ``sentences``: the document's id, start and end of each; ``gains`` of each, in nats;
            ``clues``: places of the positive and the negatives, hardest first, none where there
            is no such pair; ``useful``: which of these is the positive.
        """
        given = [Segment.whole(d) for d in as_documents(example.documents)]
        sentences = split.Sentences()(example.query, given)
        answer = gold(example.answers)
        found = gains(self.llm, example.query, sentences, answer) if sentences else np.zeros(0)
        clues = self._pair(example, sentences, found.tolist())
        return {
            "sentences": [list(s.key) for s in sentences],
            "gains": [round(gain, 4) for gain in found.tolist()],
            "clues": clues,
            "useful": [place == 0 for place in range(len(clues))],
            **{"ranking": [], "scores": [], "right": [], "k": None},  # nothing is cut
        }

    def _pair(
        self, example: Example, sentences: Sequence[Segment], found: Sequence[float]
    ) -> list[int]:
        if not found:
            return []
        best = max(range(len(found)), key=found.__getitem__)
        worse = [n for n, gain in enumerate(found) if gain < found[best] - self.margin]
        if not worse:
            return []
        near = Cosine(self.embedder).scores(example.query, [sentences[n] for n in worse])
        hard = [worse[n] for n in np.argsort(-near, kind="stable").tolist()]
        return [best, *hard[: self.negatives]]


def train_recomp(
    folder: Path,
    sources: Sequence[Dataset],
    plan: RecompPlan,
    *,
    work: Path,
    workers: int = 16,
    told: Told | None = None,
) -> dict[str, Any]:
    """Label questions by the generator, tune the bi-encoder on them, and write it to ``folder``.

    ``models.load(f"sentence_transformers:{folder}")`` is the tuned model. What an earlier start has
    labelled or trained is kept.

    Args:
        folder: New, or one of an earlier training; gets ``README.md``, the card, too.
        sources: Questions with documents and gold answers, divided by a salted hash.
        plan: How.
        work: Folder of this training, and of no other; made where missing.
        workers: Questions at once, where the generator is asked.
        told: Runs through questions as they are labelled; it is given the file's name and how many
            there are.

    Returns:
        What ``recipe.json`` says: see `ragsieve.train.reranker.train_reranker`.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, or there is
            nothing to learn.
        ModelError: If a model fails.

    Source: RECOMP (arXiv 2310.04408), section 3.1.
    Differs: The loss is over pairs of the positive and a negative, 16 a step, not over all of a
        question's at once nor over those of others in the batch; similarity is a cosine over 0.05,
        not an inner product. MiniLM, where the paper begins from Contriever.
    """
    check_free(folder, "compressor")
    write_questions(sources, work, plan.limit, first_documents(plan.documents))
    from ragsieve.train.reranker import train_reranker  # labels need none of its libraries

    _label(plan, work, workers, told)
    train, validation = (taught(work, part) for part in PARTS)
    made = work / "made"
    train_reranker(
        made,
        train,
        validation,
        work=work / "model",
        embedder=place(plan.embedder),
        epochs=plan.epochs,
        batch_size=BATCH,
        rank=None,
        temperature=0.05,
        seed=plan.seed,
    )
    recipe = recipe_of(made)
    tuned = models.load(f"sentence_transformers:{made}")
    for name, embedder in (("before", models.load(plan.embedder)), ("after", tuned)):
        recipe["validation"][name] |= first_gain(work, "validation", embedder)
    with atomic_dir(folder, recipe, card(recipe, plan, sources)) as fresh:
        shutil.copytree(made, fresh, dirs_exist_ok=True)
    return recipe


def _label(plan: RecompPlan, work: Path, workers: int, told: Told | None) -> None:
    """Write the labels; the generator is let go before the bi-encoder needs the memory."""
    with sharing(workers, cache=work / "cache.sqlite") as share:
        llm, embedder = share(models.load(plan.llm)), share(models.load(plan.embedder))
        labeller = Labeller(llm, embedder, plan.negatives, plan.margin)
        label(work, "labels", labeller, by=plan.labels, workers=workers, told=told)


def taught(work: Path, part: str) -> list[TrainingExample]:
    """Lessons of the questions of ``part``: by `Labeller` the positive is useful, negatives not."""
    found = lessons(work / f"{part}.jsonl", work / f"{part}.labels.jsonl")
    return [Chosen.by(o, tuple(o.useful), o.useful) for o in found]


def first_gain(work: Path, part: str, embedder: Embedder) -> dict[str, float]:
    """What the sentence that ``embedder`` puts first does for the answer; of all, not of pairs.

    Returns:
        ``gain``: of its log-likelihood, in nats, the mean over questions; ``most``: that of the
        best sentence.
    """
    known = by_line(work / f"{part}.labels.jsonl")
    ranker, found = Cosine(embedder), []
    for number, lesson in enumerate(lessons(work / f"{part}.jsonl"), 1):
        if gained := known.get(number, {}).get("gains"):
            first = int(np.argmax(ranker.scores(lesson.query, lesson.sentences)))
            found.append((gained[first], max(gained)))
    gain, most = np.mean(found, axis=0).tolist() if found else (0.0, 0.0)
    return {"gain": gain, "most": most}


def card(recipe: Mapping[str, Any], plan: RecompPlan, sources: Sequence[Dataset]) -> str:
    """The model card: what it is, from what, how good."""
    return artifacts.card(
        f"An extractive compressor for {plan.llm}",
        "It ranks sentences by how much likelier they make this generator's right answer (RECOMP, "
        "arXiv 2310.04408).\n\n"
        "    ragsieve ask --system recomp --embedder sentence_transformers:FOLDER …\n\n"
        "Below, `first` and `pairs` are of the best sentence against those that fall short and "
        "were nearest to the question before; `gain` is by how many nats the first of all "
        "sentences raises the answer's log-likelihood, `most` what the best one would.",
        recipe["validation"],
        base=plan.embedder,
        library="sentence-transformers",
        plan=plan,
        sources=sources,
    )
