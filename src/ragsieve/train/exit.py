"""Fine-tune an LLM to say whether a sentence helps, as `ragsieve.score.Helpful` asks it.

WORK/train.jsonl, validation.jsonl    the questions, with the documents that are read
WORK/adapter-…                        what was learned
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragsieve import models
from ragsieve.datasets import Dataset
from ragsieve.models.base import LLM
from ragsieve.score.helpful import NO, YES, Helpful
from ragsieve.train.artifacts import (
    PARTS,
    RECIPE,
    adapter_of,
    card,
    check_counts,
    check_free,
    first_documents,
    publish,
    recipe_of,
    write_questions,
)
from ragsieve.train.examples import TrainingExample, check_usable, lessons
from ragsieve.train.ranking import Judged, figures
from ragsieve.train.sft import Log, Sample, Tuning, tunable, tune

CLUES = 2  # of a question at most, each with one sentence that is none
MEASURED = 20  # validation questions of which all sentences are judged, before and after
_USE = """\
It says of a sentence, read in its document, whether it helps to answer a question (EXIT, arXiv \
2412.12559). `auc` is inside a question: how often a sentence with the answer comes before another.

    {use}"""


@dataclass(frozen=True, kw_only=True)
class ExitPlan:
    """How an LLM is made to judge sentences.

    Args:
        llm: The local model that is tuned, by LoRA.
        window: Tokens of a document that are read with a sentence; at least 1.
        layers: Upper share of its layers that is tuned, in (0, 1]; 1/3 takes about half the time.
        documents: So many of the first documents of a question are read; at least 1.
        limit: Only so many questions to learn from, and a fifth of that to choose by; all where
            None.
        epochs: How often all samples are read; at least 1.
        seed: Of all chance.
        merged: Whether the whole model is written, so that ``transformers:FOLDER`` loads it, or the
            adapter alone.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: str = "smollm2"
    window: int = 512
    layers: float = 1.0
    documents: int = 5
    limit: int | None = None
    epochs: int = 1
    seed: int = 0
    merged: bool = True

    def __post_init__(self) -> None:
        check_counts(self, "window", "documents", "limit")
        models.check(self.llm, "LLM")
        _ = self.tuning  # its rules

    @property
    def tuning(self) -> Tuning:
        """How it is tuned."""
        return Tuning(epochs=self.epochs, layers=self.layers, checks=2, seed=self.seed)


def make_exit(
    folder: Path, sources: Sequence[Dataset], plan: ExitPlan, *, work: Path
) -> dict[str, Any]:
    """Tune an LLM on questions with documents, and write it to ``folder``.

    ``models.load(f"transformers:{folder}")`` is the tuned model, and ``models.load(plan.llm,
    adapter=f"{folder}/adapter")``. What an earlier start has trained is kept.

    Args:
        folder: New, or one of an earlier training.
        sources: Questions with documents and gold answers, divided by a salted hash.
        plan: How.
        work: Folder of this training; made where missing.

    Returns:
        What ``recipe.json`` says: among others ``before`` and ``after``, each with ``questions``
        and figures in [0, 1] as `ragsieve.train.ranking.figures` gives them.

    Raises:
        InputError: If ``folder`` holds something else, the model cannot be tuned, or there is
            nothing to learn.
        ModelError: If the model fails.

    Source: See `train_exit`.
    """
    check_free(folder, "extractor")
    model = tunable(plan.llm)
    write_questions(sources, work, plan.limit, first_documents(plan.documents))
    files = [work / f"{part}.jsonl" for part in PARTS]
    learned = {name: value for name, value in asdict(plan).items() if name != "merged"}
    adapter = adapter_of(work, learned, model.identity, [file.read_bytes() for file in files])
    if not (adapter / RECIPE).is_file():  # written last
        taught, checked = map(lessons, files)
        tuning = plan.tuning
        train_exit(adapter, taught, checked, llm=plan.llm, window=plan.window, tuning=tuning)
    recipe = recipe_of(adapter)
    use = "ragsieve ask --system exit --model extractor=transformers:FOLDER …"
    if not plan.merged:
        extractor = f'models.load("{plan.llm}", adapter="FOLDER/…")'
        use = f'ragsieve.load("exit", llm, options={{"extractor": {extractor}}})'
    told = card(
        f"An extractor made of {plan.llm}",
        _USE.format(use=use),
        {name: recipe[name] for name in ("before", "after")},
        base=plan.llm,
        library="transformers",
        plan=plan,
        sources=sources,
    )
    publish(folder, recipe, told, adapter, model if plan.merged else None)
    return recipe


def train_exit(
    folder: Path,
    lessons: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    *,
    llm: str = "smollm2",
    window: int = 512,
    tuning: Tuning | None = None,
) -> Log:
    """Tune an LLM to say Yes of clues, and No of other sentences.

    ``Helpful(models.load(llm, adapter=folder))`` asks it.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.sft.tune`.
        lessons: Questions to learn from: those with both clues and other sentences.
        validation: Questions of the same kind, by which the best state is chosen.
        llm: A local model: ``"smollm2"``, ``"transformers:…"`` or ``"seq2seq:…"``.
        window: See `ragsieve.score.Helpful`.
        tuning: How; that of `Tuning` with 1 epoch where None.

    Returns:
        What happened, as `ragsieve.train.sft.tune` gives it.

    Raises:
        InputError: If an option breaks its rule, or no lesson of either kind has both clues and
            other sentences.
        ModelError: If the model cannot be loaded.

    Source: EXIT (arXiv 2412.12559), section 3.4: as many Yes as No, of the No as many from the
        documents of the clues as from others.
    Differs: A clue holds a gold answer; the paper has HotpotQA's supporting sentences. Of a
        question few sentences are taken, so that more questions are seen.
    """
    check_usable(lessons, validation)
    tuning = tuning or Tuning(epochs=1, checks=4)
    model = tunable(llm)
    scorer = Helpful(model, window)
    taught, checked = (
        [s for lesson in some if lesson.usable for s in samples(lesson, scorer, tuning.seed)]
        for some in (lessons, validation)
    )
    return tune(
        folder,
        taught,
        checked,
        llm=model,
        tuning=tuning,
        about={"part": "exit", "window": window},
        measure=lambda asked: _figures(asked, window, validation),
    )


def _figures(llm: LLM, window: int, validation: Sequence[TrainingExample]) -> dict[str, float]:
    """Of a model, on the first questions of ``validation`` that have clues and others."""
    scorer, some = Helpful(llm, window), [lesson for lesson in validation if lesson.usable]
    judged = [Judged.of(o, scorer.scores(o.query, o.sentences)) for o in some[:MEASURED]]
    return {"questions": len(judged), **figures(judged)["mean"]}


def samples(lesson: TrainingExample, scorer: Helpful, seed: int = 0) -> list[Sample]:
    """What ``scorer`` asks of some sentences of a question, with the word to reply.

    At most `CLUES` clues, and as many other sentences: in turns one of a document that has a clue,
    and one of a document that has none, while there are such.
    """
    chance = random.Random(f"{seed} {lesson.query.id} {lesson.query.text}")
    clues = {lesson.sentences[n].key for n in lesson.clues}
    holding = {lesson.sentences[n].document.id for n in lesson.clues}
    spans, prompts = scorer.asked(lesson.query, lesson.sentences)
    order = chance.sample(range(len(spans)), len(spans))
    yes = [n for n in order if spans[n].key in clues][:CLUES]
    others = [n for n in order if spans[n].key not in clues]
    near = [n for n in others if spans[n].document.id in holding]
    far = [n for n in others if spans[n].document.id not in holding]
    if chance.random() < 0.5:  # where an odd number is taken, neither kind leads
        near, far = far, near
    turns = [n for pair in zip(near, far, strict=False) for n in pair]
    no = list(dict.fromkeys([*turns, *near, *far]))[: len(yes)]
    return [Sample(prompts[n], YES) for n in yes] + [Sample(prompts[n], NO) for n in no]
