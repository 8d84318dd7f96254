"""A generator that learns to answer from what is retrieved, noise and all.

WORK/train.jsonl, validation.jsonl    the questions, with the documents that stand in their context
WORK/PART.rationales.jsonl            what the model itself writes of them, where it learns that
WORK/adapter                          what was learned
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from ragsieve import models
from ragsieve.answer import Reader
from ragsieve.answer.demonstrations import Demonstration
from ragsieve.datasets import Dataset, parts
from ragsieve.datasets.local import lines, parse_json, parse_record
from ragsieve.errors import InputError
from ragsieve.evaluate.answers import accuracy, exact_match, f1
from ragsieve.evaluate.run import Batch, Done
from ragsieve.models.base import LLM, spoken
from ragsieve.models.sharing import sharing
from ragsieve.text import contains_answer
from ragsieve.train.lessons import gather, write
from ragsieve.trained.card import hub_id, markdown_table
from ragsieve.types import Document, Example, Query, Segment

Context = Literal["relevant", "mixed", "irrelevant"]
Target = Literal["answer", "rationale", "informative"]
PARTS: tuple[parts.Part, ...] = ("train", "validation")
HELD_OUT = 5  # under a limit, a question of validation to so many of training
MEASURED = 40  # validation questions that are answered before and after
MARK = "Answer:"
RATIONALE_TOKENS = 192
CARD = "README.md"
RECIPE = "recipe.json"
ADAPTER = "adapter"
Told = Callable[[str, Iterator[Done], int | None], list[Done]]


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
        for name in ("documents", "limit", "epochs"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise InputError(f"{name} must be at least 1, got {number!r}")
        models.check(self.llm, "LLM")


def reader(llm: LLM, target: Target) -> Reader:
    """What asks a generator that was trained to reply with ``target``, and reads its answer."""
    if target == "answer":
        return Reader(llm)
    prompt = f"reader_{target}"
    return Reader(llm, 256, prompt, prompt, answer_after=MARK)


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
    Differs: LoRA, not all weights. The answer stands on a line of its own behind a rationale. A
        document is informative if a gold answer stands in it: SAIL has an entailment model say so,
        and is trained on instructions with a search engine's results.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / RECIPE).is_file():
        raise InputError(f"folder must be new or a trained generator, got {str(folder)!r}")
    from ragsieve.train.sft import tunable  # what is learned needs none of its libraries

    model = tunable(plan.llm)
    work.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        _gather(part, sources, plan, work)
    if plan.target == "rationale":
        with sharing(workers, cache=work / "cache.sqlite") as share:
            explain = Explainer(share(model))
            for part in PARTS:
                _explained(part, plan, explain, work, workers, told)
    recipe = _tuned(plan, model, work)
    _assemble(folder, plan, model, work)
    (folder / CARD).write_text(card(recipe, plan, sources), encoding="utf-8")
    text = json.dumps(recipe, indent=1, ensure_ascii=False) + "\n"
    (folder / RECIPE).write_text(text, encoding="utf-8")
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
        if other.query.text != example.query.text:
            free = [d for d in other.documents if not contains_answer(d.text, example.answers)]
            if free:
                return tuple(free)
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
        query = Query(f"{example.query.text}\nRight answer: {_gold(example)}")
        ask = Reader(self.llm, RATIONALE_TOKENS, "rationale", "rationale")
        reply = spoken(ask(query, _segments(example)).reply)
        return {"rationale": " ".join(reply.split())}


def target(example: Example, kind: Target, rationale: str = "") -> str:
    """The reply that is learned for a question; its gold answer is the first that is not blank."""
    if kind == "informative":
        holding = [contains_answer(s.text, example.answers) for s in _segments(example)]
        numbers = [str(n) for n, holds in enumerate(holding, 1) if holds]
        rationale = f"Informative: {', '.join(numbers) or 'none'}."
    shown = Demonstration(example.query.text, _gold(example), rationale)
    return shown.reply("" if kind == "answer" else MARK)


def figures(llm: LLM, examples: Sequence[Example], kind: Target) -> dict[str, float]:
    """``questions``, and ``accuracy``, ``exact_match`` and ``f1`` of a generator's answers."""
    ask = reader(llm, kind)
    said = [(ask(e.query, _segments(e)).text, e.answers) for e in examples]
    scores = {"accuracy": accuracy, "exact_match": exact_match, "f1": f1}
    means = {name: sum(s(*one) for one in said) / max(1, len(said)) for name, s in scores.items()}
    return {"questions": len(said), **means}


def card(recipe: Mapping[str, Any], plan: GeneratorPlan, sources: Sequence[Dataset]) -> str:
    """The model card: what it is, from what, how good."""
    base = hub_id(plan.llm)
    header = f'---\nlibrary_name: transformers\nbase_model: "{base}"\n---\n' if base else ""
    rows = [(name, *recipe[name].values()) for name in ("before", "after")]
    measured = markdown_table(("", *recipe["after"]), rows)
    options = markdown_table(("option", "value"), [*asdict(plan).items()])
    data = markdown_table(
        ("data", "licence"),
        [(s.name, s.entry.licence if s.entry else "the user's own") for s in sources],
    )
    return (
        f"{header}# A generator made of {plan.llm}\n\n"
        f"It learnt to answer from {plan.context} documents with {plan.target}. Load it as "
        f"`transformers:FOLDER`, or as {plan.llm} with the adapter `FOLDER/{ADAPTER}`.\n\n"
        f"## How good it is\n\nOn other questions of the same data, with documents chosen the same "
        f"way.\n\n{measured}\n"
        f"## What it was trained on\n\n{data}\n## How it was trained\n\n{options}"
    )


def _gather(part: parts.Part, sources: Sequence[Dataset], plan: GeneratorPlan, work: Path) -> None:
    """Write the questions of ``part``, with the documents that stand in their context."""
    limit = plan.limit if part == "train" else plan.limit and -(-plan.limit // HELD_OUT)
    given = list(islice(gather(sources, part), limit))
    if not write(work / f"{part}.jsonl", (chosen(one, given, plan) for one in given)):
        raise InputError(f"data must have a question with documents and answers in {part}")


def _explained(
    part: parts.Part,
    plan: GeneratorPlan,
    explain: Explainer,
    work: Path,
    workers: int,
    told: Told | None,
) -> None:
    """Write the rationales of ``part``; those that an earlier start wrote stay."""
    name = f"{part}.rationales.jsonl"
    with Batch(work / f"{part}.jsonl", work / name, label=f"rationales {plan.llm}") as batch:
        done = batch.run(explain, workers=workers)
        found = told(name, done, batch.total()) if told else [*done]
    if errors := [one.error for one in found if one.error]:
        raise errors[0]


def _tuned(plan: GeneratorPlan, model: Any, work: Path) -> dict[str, Any]:
    """Train the adapter, where it is not there; what its recipe says."""
    from ragsieve.train.sft import Sample, Tuning, tune

    ask = reader(model, plan.target)
    taught, replies = {}, {}
    for part in PARTS:
        taught[part] = [parse_record(line) for _, line in lines(work / f"{part}.jsonl")]
        known = _rationales(work / f"{part}.rationales.jsonl") if plan.target == "rationale" else {}
        replies[part] = [
            target(one, plan.target, known.get(n, "")) for n, one in enumerate(taught[part], 1)
        ]
    samples = {
        part: [
            Sample(ask.messages(one.query, _segments(one)), reply)
            for one, reply in zip(taught[part], replies[part], strict=True)
        ]
        for part in PARTS
    }
    learned = {k: v for k, v in asdict(plan).items() if k != "merged"}
    mark = hashlib.sha256(repr((learned, samples)).encode("utf-8", "surrogatepass")).hexdigest()
    made = work / ADAPTER / RECIPE
    if not made.is_file() or _read(made).get("learned") != mark:
        checked = taught["validation"][:MEASURED]
        tune(
            work / ADAPTER,
            samples["train"],
            samples["validation"],
            llm=model,
            tuning=Tuning(epochs=plan.epochs, seed=plan.seed),
            about={"part": "generator", "plan": learned, "learned": mark},
            measure=lambda llm: figures(llm, checked, plan.target),
        )
    return _read(made)


def _assemble(folder: Path, plan: GeneratorPlan, model: Any, work: Path) -> None:
    """The adapter, and where wanted the whole model, which has its tokens read as before."""
    shutil.copytree(work / ADAPTER, folder / ADAPTER, dirs_exist_ok=True)
    if plan.merged:
        merge(folder, model, folder / ADAPTER)


def merge(folder: Path, model: Any, adapter: Path) -> None:
    """Write a model of transformers with an adapter merged into its weights, and its tokenizer."""
    from ragsieve.models.loading import loaded

    tuned = replace(model, adapter=str(adapter))
    loaded(model.model, tuned._decoder.model.save_pretrained, folder)
    model._tokenizer.save_pretrained(folder)


def _rationales(path: Path) -> dict[int, str]:
    records = [parse_json(line) for _, line in lines(path)]
    return {record["line"]: record["rationale"] for record in records}


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _segments(example: Example) -> list[Segment]:
    return [Segment.whole(document) for document in example.documents if document.text.strip()]


def _gold(example: Example) -> str:
    return next(text for text in example.answers if text.strip())
