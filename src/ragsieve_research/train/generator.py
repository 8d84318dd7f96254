"""Tune a generator to answer from noisy documents."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.prompts import titled
from ragsieve.run.batch import accuracy
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.answer.examples import Demonstration
from ragsieve_research.evaluate.answers import exact_match, f1
from ragsieve_research.models.replies import strip_thinking
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.systems.instructrag import ANSWER, explaining
from ragsieve_research.train.artifacts import ADAPTER
from ragsieve_research.train.examples import gold
from ragsieve_research.train.llm import train_llm
from ragsieve_research.train.plans import GeneratorPlan, Target
from ragsieve_research.train.run import PARTS, Run
from ragsieve_research.train.sft import PromptSample, Tuning, tune_once

MEASURED = 40  # validation questions that are answered before and after
RATIONALE_TOKENS = 192


def reader(llm: LLM, target: Target) -> Reader:
    """The reader that asks a generator trained to reply with ``target``, and reads its answer."""
    return Reader(llm) if target == "answer" else explaining(llm, f"reader_{target}")


def train_generator(folder: Path, plan: GeneratorPlan, run: Run) -> dict[str, Any]:
    """Tune a generator by LoRA on questions with documents.

    See `ragsieve_research.train.llm.train_llm`, and `figures`.

    Source: InstructRAG (arXiv 2406.13629), sections 2.2 and 2.3, InstructRAG-FT; RetRobust (arXiv
        2310.01558), training with the best, a low-ranked or a random passage, each with equal
        probability; SAIL (arXiv 2305.15225), search results judged before the answer.
    Differs: LoRA, not all weights, by `ragsieve_research.train.sft`: it gives the losses of TRL's
        SFTTrainer step for step, but reads what stands in a document as text, never as the chat's
        control tokens, and tunes encoder-decoders, too. The answer stands on a line of its own
        behind a rationale. A document is informative if a gold answer stands in it: SAIL has an
        entailment model say so, and is trained on instructions with a search engine's results.
    """
    use = (
        f"It learnt to answer from {plan.context} documents with {plan.target}. Load it as "
        f"`transformers:FOLDER`, or as {plan.llm} with the adapter `FOLDER/{ADAPTER}`."
    )
    return train_llm(
        folder,
        "generator",
        plan,
        run,
        _learn,
        title=f"A generator made of {plan.llm}",
        use=use,
        documents=partial(chosen, plan=plan),
    )


def chosen(example: Example, others: Sequence[Example], plan: GeneratorPlan) -> Example:
    """``example`` with the documents that stand in its context.

    Args:
        example: The question with all its documents.
        others: All questions, whose documents are irrelevant to it; may hold it, too.
        plan: Which documents, and the seed: the same question always gets the same.
    """
    chance = random.Random(f"{plan.seed} {example.query.id} {example.query.text}")
    kinds = ("relevant", "low", "irrelevant") if plan.context == "mixed" else (plan.context,)
    kind, most = chance.choice(kinds), plan.documents
    documents = example.documents[:most] if kind == "relevant" else example.documents[-most:]
    if kind == "irrelevant":
        documents = _foreign(example, others, chance)[:most]
    return replace(example, documents=documents)


def _foreign(
    example: Example, others: Sequence[Example], chance: random.Random
) -> tuple[Document, ...]:
    """The documents of another question that hold no answer to this one; none if there are none."""
    start = chance.randrange(max(1, len(others)))
    for other in (*others[start:], *others[:start]):
        free = tuple(d for d in other.documents if not _holds(d, example))
        if free and other.query.text != example.query.text:
            return free
    return ()


def write_rationale(llm: LLM, example: Example) -> dict[str, str]:
    """``rationale``: the model's own for a question and its gold answer; one line, may be empty.

    Args:
        llm: The generator, before it is tuned.
        example: The question.

    Source: InstructRAG (arXiv 2406.13629), section 2.2.
    """
    # the answer rides on the question: the reader then fits the documents into the context
    query = Query(f"{example.query.text}\nRight answer: {gold(example.answers)}")
    ask = Reader(llm, RATIONALE_TOKENS, "rationale", "rationale")
    reply = strip_thinking(ask(query, _segments(example)).reply)
    return {"rationale": " ".join(reply.split())}


def target(example: Example, kind: Target, rationale: str = "") -> str:
    """The reply that is learned for a question; its gold answer is the first that is not blank."""
    if kind == "informative":
        holding = [_holds(s.document, example) for s in _segments(example)]
        numbers = [str(n) for n, holds in enumerate(holding, 1) if holds]
        rationale = f"Informative: {', '.join(numbers) or 'none'}."
    shown = Demonstration(example.query.text, gold(example.answers), rationale)
    return shown.reply("" if kind == "answer" else ANSWER)


def figures(llm: LLM, examples: Sequence[Example], kind: Target) -> dict[str, float]:
    """``questions``, and ``accuracy``, ``exact_match`` and ``f1`` of a generator's answers."""
    ask = reader(llm, kind)
    answers = [(ask(e.query, _segments(e)).text, e.answers) for e in examples]
    scores = {"accuracy": accuracy, "exact_match": exact_match, "f1": f1}
    means = {
        name: sum(s(*one) for one in answers) / max(1, len(answers)) for name, s in scores.items()
    }
    return {"questions": len(answers), **means}


def _learn(plan: GeneratorPlan, run: Run, model: Transformers) -> tuple[Path, dict[str, Any]]:
    """The adapter, trained where it is not there."""
    if plan.target == "rationale":
        with run.sharing() as share:
            run.label(
                "rationales", partial(write_rationale, share(model)), by=f"rationales {plan.llm}"
            )
    rationales = "rationales" if plan.target == "rationale" else ""
    parts = [run.read(part, rationales) for part in PARTS]
    samples = [[_sample(plan, model, *one) for one in part] for part in parts]
    options = {k: v for k, v in asdict(plan).items() if k != "merged"}
    adapter = tune_once(
        run,
        model,
        samples,
        tuning=Tuning(epochs=plan.epochs, seed=plan.seed),
        about={"part": "generator", "plan": options},
        measure=partial(figures, examples=[e for e, _ in parts[1][:MEASURED]], kind=plan.target),
    )
    return adapter, {}


def _sample(
    plan: GeneratorPlan, model: LLM, example: Example, row: Mapping[str, str]
) -> PromptSample:
    """The generator's prompt for a question, with the reply that it learns."""
    prompt = reader(model, plan.target).messages(example.query, _segments(example))
    return PromptSample(prompt, target(example, plan.target, row.get("rationale", "")))


def _holds(document: Document, example: Example) -> bool:
    """Whether a gold answer stands in a document, as it is read, behind its title."""
    return contains_answer(titled(Segment.whole(document)), visible_answers(example.answers))


def _segments(example: Example) -> list[Segment]:
    return [Segment.whole(document) for document in example.documents if document.text.strip()]
