"""Fine-tune an LLM to judge whether a sentence helps, as `ragsieve_research.score.helpful.Helpful`
uses it."""

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ragsieve.models.base import LLM
from ragsieve_research.score.helpful import NO, YES, Helpful
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.llm import train_llm
from ragsieve_research.train.plans import ExitPlan
from ragsieve_research.train.ranking import JudgedSentences, figures
from ragsieve_research.train.run import PARTS, USABLE, Run, check_parts
from ragsieve_research.train.sft import PromptSample, Tuning, tune_once

CLUES = 2  # of a question at most, each with one sentence that is none
MEASURED = 20  # validation questions of which all sentences are judged, before and after
_USE = """\
It says of a sentence, read in its document, whether it helps to answer a question (EXIT, arXiv \
2412.12559). `auc` is inside a question: how often a sentence with the answer comes before another.

    {use}"""


def train_exit(folder: Path, plan: ExitPlan, run: Run) -> dict[str, Any]:
    """Tune an LLM to say Yes of clues, and No of other sentences.

    See `ragsieve_research.train.llm.train_llm`.

    ``Helpful(model)`` asks it. Figures ``before`` and ``after`` are ``questions`` and those of
    `ragsieve_research.train.ranking.figures`, in [0, 1].

    Source: EXIT (arXiv 2412.12559), section 3.4: as many Yes as No, of the No as many from the
        documents of the clues as from others.
    Differs: A clue holds a gold answer; the paper has HotpotQA's supporting sentences. Of a
        question few sentences are taken, so that more questions are seen.
    """
    use = "ragsieve ask --system exit --model extractor=transformers:FOLDER …"
    if not plan.merged:
        extractor = f'models.load("{plan.llm}", adapter="FOLDER/…")'
        use = f'ragsieve.load("exit", llm, options={{"extractor": {extractor}}})'
    title = f"An extractor made of {plan.llm}"
    return train_llm(
        folder, "extractor", plan, run, learn_exit, title=title, use=_USE.format(use=use)
    )


def learn_exit(
    plan: ExitPlan, run: Run, model: Any, tuning: Tuning | None = None
) -> tuple[Path, dict[str, Any]]:
    """The adapter, trained where it is not there.

    Raises:
        InputError: If no question of a part has both clues and other sentences.
    """
    examples = [run.examples(part) for part in PARTS]
    parts = zip(PARTS, examples, strict=True)
    check_parts((part for part, some in parts for example in some if example.usable), USABLE)
    scorer = Helpful(model, plan.window)
    known = [
        [s for example in some if example.usable for s in samples(example, scorer, plan.seed)]
        for some in examples
    ]
    tuning = tuning or Tuning(epochs=plan.epochs, layers=plan.layers, checks=2, seed=plan.seed)
    about = {"part": "exit", "window": plan.window}
    measure = partial(_figures, window=plan.window, validation=examples[1])
    return tune_once(run, model, known, tuning=tuning, about=about, measure=measure), {}


def _figures(llm: LLM, window: int, validation: Sequence[TrainingExample]) -> dict[str, float]:
    """Of a model, on the first questions of ``validation`` that have clues and others."""
    scorer, some = Helpful(llm, window), [example for example in validation if example.usable]
    judged = [JudgedSentences.of(o, scorer.scores(o.query, o.sentences)) for o in some[:MEASURED]]
    return {"questions": len(judged), **figures(judged)["mean"]}


def samples(example: TrainingExample, scorer: Helpful, seed: int = 0) -> list[PromptSample]:
    """The prompts of ``scorer`` for some sentences of a question, with the word to reply.

    At most `CLUES` clues, and as many other sentences: in turns one of a document that has a clue,
    and one of a document that has none, while there are such.
    """
    chance = random.Random(f"{seed} {example.query.id} {example.query.text}")
    clues = {example.sentences[n].key for n in example.clues}
    holding = {example.sentences[n].document.id for n in example.clues}
    spans, prompts = scorer.prompts(example.query, example.sentences)
    order = chance.sample(range(len(spans)), len(spans))
    yes = [n for n in order if spans[n].key in clues][:CLUES]
    others = [n for n in order if spans[n].key not in clues]
    near = [n for n in others if spans[n].document.id in holding]
    far = [n for n in others if spans[n].document.id not in holding]
    if chance.random() < 0.5:  # where an odd number is taken, neither kind leads
        near, far = far, near
    turns = [n for pair in zip(near, far, strict=False) for n in pair]
    no = list(dict.fromkeys([*turns, *near, *far]))[: len(yes)]
    return [PromptSample(prompts[n], YES) for n in yes] + [PromptSample(prompts[n], NO) for n in no]
