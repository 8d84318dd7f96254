"""Tune a filter model that writes its context: FILCO's and BottleNeck's."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ragsieve import models
from ragsieve.models.base import LLM
from ragsieve.models.sharing import Share
from ragsieve.types import Example
from ragsieve_research.select.extract import Extract
from ragsieve_research.train import extractor
from ragsieve_research.train.bottleneck import MEASURED, Candidates, learn_bottleneck
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.filco import Measure, silver
from ragsieve_research.train.llm import train_llm
from ragsieve_research.train.plans import WriterPlan
from ragsieve_research.train.run import PARTS, Run, labels_of
from ragsieve_research.train.sft import Tuning, tune_once


def train_writer(folder: Path, plan: WriterPlan, run: Run) -> dict[str, Any]:
    """Tune a filter model by LoRA on questions with documents.

    See `ragsieve_research.train.llm.train_llm`.

    The tuned model is ``extractor`` of system ``filco`` or ``writer`` of system ``bottleneck``.

    Source: FILCO (arXiv 2311.08377), sections 2 and 3; BottleNeck (arXiv 2406.01549).
    Differs: See `ragsieve_research.train.filco` and `ragsieve_research.train.bottleneck`.
    """
    role = "writer" if plan.by == "ib" else "extractor"
    use = (
        "It writes what an answer needs out of retrieved documents.\n\n"
        f"    ragsieve ask --system {plan.system} --model {role}=transformers:FOLDER …"
    )
    title = f"A filter model for system {plan.system}"
    return train_llm(folder, "writer", plan, run, _learn, title=title, use=use)


def _learn(plan: WriterPlan, run: Run, model: Any) -> tuple[Path, dict[str, Any]]:
    """The adapter, trained where it is not there, and how good it is."""
    with run.sharing() as share:
        writer = share(model)
        generator = share(models.load(plan.generator)) if plan.generator else writer
        if plan.by == "ib":
            rate = Candidates(generator, writer, plan.beta)
            return learn_bottleneck(plan, run, model, rate, share)
        label = partial(_label, plan.by, generator)
        run.label(plan.by, label, by=labels_of("writer", plan))
        return _filco(plan, run, model, share)


def _label(measure: Measure, llm: LLM, example: Example) -> dict[str, list[int]]:
    """``clues``: the place of the sentence to write, if any."""
    return {"clues": [*silver(TrainingExample.of(example), measure, llm).clues]}


def _filco(plan: WriterPlan, run: Run, model: Any, share: Share) -> tuple[Path, dict[str, Any]]:
    """Before it is trained a small model copies on and on: nobody waits for those figures."""
    examples = [
        [
            replace(TrainingExample.of(e), chosen=tuple(row["clues"]))
            for e, row in run.read(part, plan.by)
        ]
        for part in PARTS
    ]
    extract = Extract(model, mode="write")
    samples = [extractor.samples_of(part, extract) for part in examples]
    tuning = Tuning(epochs=plan.epochs, checks=4, seed=plan.seed)
    adapter = tune_once(run, model, samples, tuning=tuning, about={"part": "filco"})
    tuned = share(models.load(plan.llm, adapter=str(adapter)))
    return adapter, {"after": extractor.figures(tuned, examples[1][:MEASURED], mode="write")}
