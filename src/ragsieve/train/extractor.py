"""Fine-tune an LLM to name the clue sentences, as `ragsieve.select.Extract` asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Literal

from ragsieve.errors import InputError
from ragsieve.models.base import LLM
from ragsieve.pipeline import best_first
from ragsieve.score import BM25
from ragsieve.select import Extract
from ragsieve.train.examples import TrainingExample
from ragsieve.train.sft import Log, Sample, Tuning, tunable, tune
from ragsieve.types import Segment


def train_extractor(
    folder: Path,
    lessons: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    *,
    llm: str = "smollm2",
    mode: Literal["point", "write"] = "point",
    max_documents: int | None = None,
    measured: int = 40,
    tuning: Tuning | None = None,
) -> Log:
    """Tune an LLM to name every sentence that holds a gold answer, the useful ones first.

    ``models.load(llm, adapter=folder)`` is the tuned model.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.sft.tune`.
        lessons: Questions to learn from; those without a clue teach to name none. Yes-or-no
            questions teach nothing: one cannot see their clues.
        validation: Questions by which the best state is chosen.
        llm: A local model: ``"smollm2"``, ``"transformers:…"`` or ``"seq2seq:…"``.
        mode: How clues are named: by their numbers or written out; see `select.Extract`.
        max_documents: Of a question at most so many are read in training, first those with clues,
            then those most like the question; all where None. At least 1.
        measured: How many validation questions the recipe's figures are taken from, 0 for none.
        tuning: How; the paper's where None.

    Returns:
        What happened, as `ragsieve.train.sft.tune` gives it.

    Raises:
        InputError: If an option breaks its rule, or no lesson teaches.
        ModelError: If the model cannot be loaded.

    Source: FineFilter (arXiv 2502.11811v4), section 4.1 and appendix A.
    """
    if max_documents is not None and max_documents < 1:
        raise InputError(f"max_documents must be at least 1, got {max_documents!r}")
    model = tunable(llm)
    extract = Extract(model, mode=mode)
    known, checked = [o for o in lessons if _teaches(o)], [o for o in validation if _teaches(o)]
    return tune(
        folder,
        [s for lesson in known for s in samples(lesson, extract, max_documents)],
        [s for lesson in checked for s in samples(lesson, extract, max_documents)],
        llm=model,
        tuning=tuning or Tuning(),
        about={"part": "extractor", "mode": mode, "max_documents": max_documents},
        measure=(lambda llm: figures(llm, checked[:measured], mode=mode)) if measured else None,
    )


def samples(
    lesson: TrainingExample, extract: Extract, max_documents: int | None = None
) -> list[Sample]:
    """What ``extract`` asks of a question, a window each, with the reply that names its clues."""
    clues = sorted(lesson.clues, key=lambda n: not lesson.useful.get(n, False))
    found = []
    for window, prompt in extract.asked(lesson.query, _shown(lesson, max_documents)):
        places = {segment.key: n for n, segment in enumerate(window)}
        keys = [lesson.sentences[n].key for n in clues]
        named = [places[key] for key in keys if key in places]
        found.append(Sample(prompt, extract.reply(window, named)))
    return found


def figures(
    llm: LLM, lessons: Sequence[TrainingExample], *, mode: Literal["point", "write"] = "point"
) -> dict[str, float]:
    """How well a model names clues.

    Returns:
        ``questions``; ``clue_recall``: named clues of all clues; ``clue_precision``: of what is
        named, the clues; ``answer_kept``: of the questions that have clues, those of which one is
        named; all in [0, 1]; ``named``: sentences, and ``seconds``, a question.
    """
    extract = Extract(llm, mode=mode)
    hits = clues = named = kept = holding = 0
    start = perf_counter()
    for lesson in lessons:
        wanted = {lesson.sentences[n].key for n in lesson.clues}
        got = {s.key for s in extract(lesson.query, lesson.sentences)}
        hits, clues, named = hits + len(wanted & got), clues + len(wanted), named + len(got)
        kept, holding = kept + bool(wanted & got), holding + bool(wanted)
    return {
        "questions": len(lessons),
        "clue_recall": hits / max(1, clues),
        "clue_precision": hits / max(1, named),
        "answer_kept": kept / max(1, holding),
        "named": named / max(1, len(lessons)),
        "seconds": (perf_counter() - start) / max(1, len(lessons)),
    }


def _teaches(lesson: TrainingExample) -> bool:
    return bool(lesson.sentences) and not lesson.asks_whether


def _shown(lesson: TrainingExample, most: int | None) -> Sequence[Segment]:
    """The sentences of the documents that matter, in order."""
    documents = list({s.document.id: s.document for s in lesson.sentences}.values())
    if most is None or len(documents) <= most:
        return lesson.sentences
    holding = {lesson.sentences[n].document.id for n in lesson.clues}
    alike = best_first(BM25()(lesson.query, [Segment.whole(d) for d in documents]))
    ranked = sorted((s.document.id for s in alike), key=lambda name: name not in holding)
    return [s for s in lesson.sentences if s.document.id in ranked[:most]]
