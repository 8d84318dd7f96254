"""A filter model that writes what a measure of the gold answer chose: FILCO's and BottleNeck's.

WORK/train.jsonl, validation.jsonl     the questions, with the documents that are read
WORK/train.BY.jsonl, validation.BY.jsonl  what the measure chose of each question
WORK/adapter-…                         what was learned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ragsieve import models
from ragsieve.datasets import Dataset
from ragsieve.datasets.local import lines, parse_record
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Process
from ragsieve.models.sharing import Share, sharing
from ragsieve.train import artifacts
from ragsieve.train.artifacts import (
    PARTS,
    RECIPE,
    Told,
    adapter_of,
    check_counts,
    check_free,
    first_documents,
    label,
    labels_of,
    publish,
    recipe_of,
    write_questions,
)
from ragsieve.train.bottleneck import Candidate, Candidates, Rated, figures, train_bottleneck
from ragsieve.train.examples import TrainingExample, by_line
from ragsieve.train.filco import Silver
from ragsieve.train.recomp import Chosen

if TYPE_CHECKING:  # labels need none of its libraries
    from ragsieve.train.sft import Tuning

By = Literal["strinc", "lexical", "cxmi", "ib"]
MEASURED = 20  # validation questions that are filtered before and after


@dataclass(frozen=True, kw_only=True)
class WriterPlan:
    """What a filter model learns to write.

    Args:
        by: FILCO's: the sentence with a gold answer (``"strinc"``), that shares most words with it
            (``"lexical"``) or makes it likeliest (``"cxmi"``); BottleNeck's: the text that the
            information bottleneck rates best (``"ib"``).
        llm: The model that is tuned: a local one.
        generator: By whose likelihoods ``"cxmi"`` and ``"ib"`` choose; ``llm`` where empty.
        beta: How much the answer counts against brevity, for ``"ib"``; see
            `ragsieve.score.bottleneck`.
        documents: So many of the first documents of a question are read; at least 1.
        limit: Only so many questions to learn from, and a fifth of that to choose by; all where
            None.
        epochs: How often all questions are read; at least 1.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    by: By = "strinc"
    llm: str = "smollm2"
    generator: str = ""
    beta: float = 1.0
    documents: int = 5
    limit: int | None = None
    epochs: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in get_args(By):
            raise InputError(f"by must be one of {', '.join(get_args(By))}, got {self.by!r}")
        check_counts(self, "documents", "limit", "epochs")
        if not 0 <= self.beta < float("inf"):
            raise InputError(f"beta must be finite and not negative, got {self.beta!r}")
        models.check(self.llm, "LLM")
        if self.generator:
            models.check(self.generator, "LLM")

    @property
    def system(self) -> str:
        """Whose filter model it is."""
        return "bottleneck" if self.by == "ib" else "filco"

    @property
    def labels(self) -> str:
        """What the measure's choice depends on beside the questions."""
        return labels_of("writer", self)


def train_writer(
    folder: Path,
    sources: Sequence[Dataset],
    plan: WriterPlan,
    *,
    work: Path,
    workers: int = 16,
    told: Told | None = None,
) -> dict[str, Any]:
    """Tune a filter model by LoRA on questions with documents, and write it to ``folder``.

    ``models.load(f"transformers:{folder}")`` is the tuned model, ``extractor`` of system ``filco``
    or ``writer`` of system ``bottleneck``. What an earlier start has chosen or trained is kept.

    Args:
        folder: New, or one of an earlier training.
        sources: Questions with documents and gold answers, divided by a salted hash.
        plan: How.
        work: Folder of this training, and of no other; made where missing.
        workers: Questions at once, where models are asked.
        told: Runs through questions as the measure chooses; it is given the file's name and how
            many there are.

    Returns:
        What ``recipe.json`` says: among others figures ``before`` and ``after``.

    Raises:
        InputError: If ``folder`` holds something else, the model cannot be tuned, or there is
            nothing to learn.
        ModelError: If a model fails.

    Source: FILCO (arXiv 2311.08377), sections 2 and 3; BottleNeck (arXiv 2406.01549).
    Differs: See `ragsieve.train.filco` and `ragsieve.train.bottleneck`.
    """
    check_free(folder, "writer")
    from ragsieve.train.sft import Tuning, tunable  # what is learned needs none of its libraries

    model = tunable(plan.llm)
    write_questions(sources, work, plan.limit, first_documents(plan.documents))
    with sharing(workers, cache=work / "cache.sqlite") as share:
        writer = share(model)
        generator = share(models.load(plan.generator)) if plan.generator else writer
        rate = Candidates(generator, writer, plan.beta)
        choose: Process = rate.labels if plan.by == "ib" else Silver(plan.by, generator).labels
        label(work, plan.by, choose, by=plan.labels, workers=workers, told=told)
        tuning = Tuning(epochs=plan.epochs, checks=4, seed=plan.seed)
        learn = partial(_rated, rate=rate) if plan.by == "ib" else _silver
        adapter, measured = learn(plan, tuning, work, share)
    recipe = {**recipe_of(adapter), **measured}
    publish(folder, recipe, card(recipe, plan, sources), adapter, model)
    return recipe


def card(recipe: Mapping[str, Any], plan: WriterPlan, sources: Sequence[Dataset]) -> str:
    """The model card: what it is, from what, how good."""
    role = "writer" if plan.by == "ib" else "extractor"
    return artifacts.card(
        f"A filter model for system {plan.system}",
        "It writes what an answer needs out of retrieved documents.\n\n"
        f"    ragsieve ask --system {plan.system} --model {role}=transformers:FOLDER …",
        {name: recipe[name] for name in ("before", "after") if name in recipe},
        base=plan.llm,
        library="transformers",
        plan=plan,
        sources=sources,
    )


def _rated(
    plan: WriterPlan, tuning: Tuning, work: Path, share: Share, *, rate: Candidates
) -> tuple[Path, dict[str, Any]]:
    """BottleNeck's adapter, trained where it is not there, and how good it is."""
    taught = [
        [
            (lesson, Rated(rate.asked(lesson), [Candidate(*one) for one in row["candidates"]]))
            for lesson, row in _labelled(plan, work, part)
            if row["candidates"]
        ]
        for part in PARTS
    ]
    rated = [[one for _, one in part] for part in taught]
    made = adapter_of(work, plan, rated)
    if not (made / RECIPE).is_file():
        about = {"part": plan.system, "plan": asdict(plan)}
        train_bottleneck(made, *rated, work=work, llm=plan.llm, tuning=tuning, about=about)
    checked = [lesson for lesson, _ in taught[1]][:MEASURED]
    after = replace(rate, writer=share(models.load(plan.llm, adapter=str(made))))
    return made, {"before": figures(rate, checked), "after": figures(after, checked)}


def _silver(
    plan: WriterPlan, tuning: Tuning, work: Path, share: Share
) -> tuple[Path, dict[str, Any]]:
    """FILCO's adapter, trained where it is not there, and how good it is.

    Before it is trained a small model copies on and on: nobody waits for those figures.
    """
    from ragsieve.train import extractor

    taught = [
        [Chosen.by(lesson, row["clues"], {}) for lesson, row in _labelled(plan, work, part)]
        for part in PARTS
    ]
    made = adapter_of(work, plan, taught)
    if not (made / RECIPE).is_file():
        extractor.train_extractor(
            made, *taught, llm=plan.llm, mode="write", measured=0, tuning=tuning
        )
    tuned = share(models.load(plan.llm, adapter=str(made)))
    return made, {"after": extractor.figures(tuned, taught[1][:MEASURED], mode="write")}


def _labelled(
    plan: WriterPlan, work: Path, part: str
) -> list[tuple[TrainingExample, Mapping[str, Any]]]:
    """The questions of ``part``, each with what the measure chose, in order."""
    known = by_line(work / f"{part}.{plan.by}.jsonl")
    return [
        (TrainingExample.of(parse_record(line)), known[number])
        for number, line in lines(work / f"{part}.jsonl")
    ]
