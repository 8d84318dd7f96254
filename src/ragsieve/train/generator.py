"""A generator that learns to answer from what is retrieved, noise and all.

WORK/train.jsonl, validation.jsonl    the questions, with the documents that stand in their context
WORK/PART.rationales.jsonl            what the model itself writes of them, where it learns that
WORK/adapter-…                        what was learned
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ragsieve import models
from ragsieve.answer import Reader
from ragsieve.answer.demonstrations import Demonstration
from ragsieve.datasets import Dataset
from ragsieve.datasets.local import lines, parse_record
from ragsieve.errors import InputError
from ragsieve.evaluate.answers import accuracy, exact_match, f1
from ragsieve.models.base import LLM, strip_thinking
from ragsieve.models.sharing import sharing
from ragsieve.prompts import titled
from ragsieve.systems.instructrag import ANSWER, explaining
from ragsieve.text import contains_answer
from ragsieve.train import artifacts
from ragsieve.train.artifacts import (
    ADAPTER,
    PARTS,
    RECIPE,
    Told,
    adapter_of,
    check_counts,
    check_free,
    label,
    publish,
    recipe_of,
    write_questions,
)
from ragsieve.train.examples import by_line, gold
from ragsieve.types import Document, Example, Query, Segment

if TYPE_CHECKING:  # what is learned needs none of its libraries
    from ragsieve.train.sft import Sample

Context = Literal["relevant", "mixed", "irrelevant"]
Target = Literal["answer", "rationale", "informative"]
MEASURED = 40  # validation questions that are answered before and after
RATIONALE_TOKENS = 192


@dataclass(frozen=True, kw_only=True)
class GeneratorPlan:
    """What a generator learns from, and to reply.

    The papers' ways: supervised fine-tuning is ``"relevant"`` and ``"answer"``; RetRobust
    ``"mixed"`` and ``"answer"``, with 1 document; InstructRAG-FT ``"relevant"`` and
    ``"rationale"``; SAIL ``"relevant"`` and ``"informative"``.

    Args:
        llm: The generator that is tuned: a local one.
        context: Which documents stand before a question: ``"relevant"``: the first that were
            retrieved for it; ``"irrelevant"``: the first of another question, those with the answer
            left out; ``"mixed"``: by chance, a third each, the first, the last of its own, or
            another's.
        target: What is replied: ``"answer"``; ``"rationale"``: which documents help and why, as the
            model itself explains it, knowing the answer, then the answer; ``"informative"``: the
            numbers of the documents that are informative, then the answer.
        documents: So many stand in a context; at least 1.
        limit: Only so many questions to learn from, and a fifth of that to choose by; all where
            None.
        epochs: How often all questions are read; at least 1.
        seed: Of all chance.
        merged: Whether the whole model is written, so that ``transformers:FOLDER`` loads it, or the
            adapter alone.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: str = "smollm2"
    context: Context = "relevant"
    target: Target = "answer"
    documents: int = 5
    limit: int | None = None
    epochs: int = 2
    seed: int = 0
    merged: bool = True

    def __post_init__(self) -> None:
        for name, known in (("context", get_args(Context)), ("target", get_args(Target))):
            if getattr(self, name) not in known:
                value = getattr(self, name)
                raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        check_counts(self, "documents", "limit", "epochs")
        models.check(self.llm, "LLM")


def reader(llm: LLM, target: Target) -> Reader:
    """What asks a generator that was trained to reply with ``target``, and reads its answer."""
    return Reader(llm) if target == "answer" else explaining(llm, f"reader_{target}")


def train_generator(
    folder: Path,
    sources: Sequence[Dataset],
    plan: GeneratorPlan,
    *,
    work: Path,
    workers: int = 16,
    told: Told | None = None,
) -> dict[str, Any]:
    """Tune a generator by LoRA on questions with documents, and write it to ``folder``.

    ``models.load(f"transformers:{folder}")`` is the tuned model, and ``models.load(plan.llm,
    adapter=f"{folder}/adapter")``. What an earlier start has written or trained is kept.

    Args:
        folder: New, or one of an earlier training.
        sources: Questions with documents and gold answers, divided by a salted hash.
        plan: How.
        work: Folder of this training, and of no other; made where missing.
        workers: Questions at once, where the generator writes rationales.
        told: Runs through questions as rationales are written; it is given the file's name and how
            many there are.

    Returns:
        What ``recipe.json`` says: among others ``before`` and ``after``, see `figures`.

    Raises:
        InputError: If ``folder`` holds something else, the model cannot be tuned, or there is
            nothing to learn.
        ModelError: If the model fails.

    Source: InstructRAG (arXiv 2406.13629), sections 2.2 and 2.3, InstructRAG-FT; RetRobust (arXiv
        2310.01558), training with the best, a low-ranked or a random passage, each with equal
        probability; SAIL (arXiv 2305.15225), search results told apart before the answer.
    Differs: LoRA, not all weights, by `ragsieve.train.sft`: it gives the losses of TRL's SFTTrainer
        step for step, but reads what stands in a document as text, never as the chat's control
        tokens, and tunes encoder-decoders, too. The answer stands on a line of its own behind a
        rationale. A document is informative if a gold answer stands in it: SAIL has an entailment
        model say so, and is trained on instructions with a search engine's results.
    """
    check_free(folder, "generator")
    from ragsieve.train.sft import tunable  # what is learned needs none of its libraries

    model = tunable(plan.llm)
    write_questions(sources, work, plan.limit, lambda one, others: chosen(one, others, plan))
    if plan.target == "rationale":
        with sharing(workers, cache=work / "cache.sqlite") as share:
            explain, by = Explainer(share(model)), f"rationales {plan.llm}"
            label(work, "rationales", explain, by=by, workers=workers, told=told)
    adapter = _tuned(plan, model, work)
    recipe = recipe_of(adapter)
    text = card(recipe, plan, sources)
    publish(folder, recipe, text, adapter, model if plan.merged else None)
    return recipe


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
    found = example.documents[:most] if kind == "relevant" else example.documents[-most:]
    if kind == "irrelevant":
        found = _foreign(example, others, chance)[:most]
    return replace(example, documents=found)


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


@dataclass(frozen=True)
class Explainer:
    """The model's own rationale for a question whose answer it is told.

    Args:
        llm: The generator, before it is tuned.

    Source: InstructRAG (arXiv 2406.13629), section 2.2.
    """

    llm: LLM

    def __call__(self, example: Example) -> dict[str, str]:
        """``rationale``: one paragraph, may be empty."""
        # the answer rides on the question: the reader then fits the documents into the context
        query = Query(f"{example.query.text}\nRight answer: {gold(example.answers)}")
        ask = Reader(self.llm, RATIONALE_TOKENS, "rationale", "rationale")
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
    said = [(ask(e.query, _segments(e)).text, e.answers) for e in examples]
    scores = {"accuracy": accuracy, "exact_match": exact_match, "f1": f1}
    means = {name: sum(s(*one) for one in said) / max(1, len(said)) for name, s in scores.items()}
    return {"questions": len(said), **means}


def card(recipe: Mapping[str, Any], plan: GeneratorPlan, sources: Sequence[Dataset]) -> str:
    """The model card: what it is, from what, how good."""
    return artifacts.card(
        f"A generator made of {plan.llm}",
        f"It learnt to answer from {plan.context} documents with {plan.target}. Load it as "
        f"`transformers:FOLDER`, or as {plan.llm} with the adapter `FOLDER/{ADAPTER}`.",
        {name: recipe[name] for name in ("before", "after")},
        base=plan.llm,
        library="transformers",
        plan=plan,
        sources=sources,
    )


def _tuned(plan: GeneratorPlan, model: Any, work: Path) -> Path:
    """The adapter, trained where it is not there."""
    from ragsieve.train.sft import Tuning, tune

    taught = {p: [parse_record(one) for _, one in lines(work / f"{p}.jsonl")] for p in PARTS}
    samples = {part: _samples(taught[part], part, plan, model, work) for part in PARTS}
    learned = {k: v for k, v in asdict(plan).items() if k != "merged"}
    made = adapter_of(work, learned, samples)
    if not (made / RECIPE).is_file():
        checked = taught["validation"][:MEASURED]
        tune(
            made,
            samples["train"],
            samples["validation"],
            llm=model,
            tuning=Tuning(epochs=plan.epochs, seed=plan.seed),
            about={"part": "generator", "plan": learned},
            measure=lambda llm: figures(llm, checked, plan.target),
        )
    return made


def _samples(
    examples: Sequence[Example], part: str, plan: GeneratorPlan, model: LLM, work: Path
) -> list[Sample]:
    """What the generator is asked of the questions of ``part``, with what it learns to reply."""
    from ragsieve.train.sft import Sample

    ask, known = reader(model, plan.target), {}
    if plan.target == "rationale":
        rows = by_line(work / f"{part}.rationales.jsonl")
        known = {number: row["rationale"] for number, row in rows.items()}
    return [
        Sample(ask.messages(one.query, _segments(one)), target(one, plan.target, known.get(n, "")))
        for n, one in enumerate(examples, 1)
    ]


def _holds(document: Document, example: Example) -> bool:
    """Whether a gold answer stands in a document as it is read, behind its title."""
    return contains_answer(titled(Segment.whole(document)), example.answers)


def _segments(example: Example) -> list[Segment]:
    return [Segment.whole(document) for document in example.documents if document.text.strip()]
