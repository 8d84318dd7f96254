"""Samples from which an LLM learns to name clue sentences, as
`ragsieve_research.select.extract.Extract` asks.

Source: FineFilter (arXiv 2502.11811v4), section 4.1 and appendix A.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Literal

from ragsieve.models.base import LLM
from ragsieve.models.sharing import sharing
from ragsieve_research.select.extract import Extract
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.sft import PromptSample

TOGETHER = 8
"""Questions that are measured at once."""


def samples_of(examples: Iterable[TrainingExample], extract: Extract) -> list[PromptSample]:
    """The samples of all examples that show clues."""
    return [s for example in examples if example.shows_clues for s in samples(example, extract)]


def samples(example: TrainingExample, extract: Extract) -> list[PromptSample]:
    """Prompts of ``extract`` for a question, a window each, with the reply that names its clues.

    Useful ones come first; without a clue the reply names none.
    """
    clues = sorted(example.clues, key=lambda n: not example.useful.get(n, False))
    known = []
    for window, prompt in extract.prompts(example.query, example.sentences):
        places = {segment.key: n for n, segment in enumerate(window)}
        keys = [example.sentences[n].key for n in clues]
        named = [places[key] for key in keys if key in places]
        known.append(PromptSample(prompt, extract.reply(window, named)))
    return known


def figures(
    llm: LLM, examples: Sequence[TrainingExample], *, mode: Literal["point", "write"] = "point"
) -> dict[str, float]:
    """Measure how a model names clues.

    Returns:
        ``questions``; ``clue_recall``: named clues of all clues; ``clue_precision``: of what is
        named, the clues; ``answer_kept``: of the questions that have clues, those of which one is
        named; all in [0, 1]; ``named``: sentences a question, and ``seconds`` a question where
        `TOGETHER` are asked at once.
    """
    hits = clues = named = kept = holding = 0
    start = perf_counter()
    with sharing(TOGETHER) as share, ThreadPoolExecutor(TOGETHER) as pool:
        extract = Extract(share(llm), mode=mode)
        found = [*pool.map(extract, [e.query for e in examples], [e.sentences for e in examples])]
    for example, segments in zip(examples, found, strict=True):
        wanted = {example.sentences[n].key for n in example.clues}
        got = {segment.key for segment in segments}
        hits, clues, named = hits + len(wanted & got), clues + len(wanted), named + len(got)
        kept, holding = kept + bool(wanted & got), holding + bool(wanted)
    return {
        "questions": len(examples),
        "clue_recall": hits / max(1, clues),
        "clue_precision": hits / max(1, named),
        "answer_kept": kept / max(1, holding),
        "named": named / max(1, len(examples)),
        "seconds": (perf_counter() - start) / max(1, len(examples)),
    }
