"""Samples from which an LLM learns to choose the cut, as
`ragsieve_research.select.truncate.Truncate` asks.

Source: FineFilter (arXiv 2502.11811v4), section 4.3 and appendix A.
"""

from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from ragsieve.models.base import LLM
from ragsieve.types import Segment
from ragsieve_research.select.truncate import SHOWN, Truncate
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.sft import PromptSample


def samples(example: TrainingExample, truncate: Truncate) -> list[PromptSample]:
    """The prompt of ``truncate`` for a question, with its cut point; none where that is unknown."""
    shown = _ranked(example)[: truncate.max_clues]
    if example.k is None or not shown or example.k > len(shown):
        return []
    return [PromptSample(truncate.prompt(example.query, shown), str(example.k))]


def figures(
    llm: LLM, examples: Sequence[TrainingExample], max_clues: int = SHOWN
) -> dict[str, Any]:
    """Measure how a model chooses the cut points of examples that have one.

    Returns:
        ``questions``; ``accuracy``: the label itself is chosen; ``survives``: at least the label
        where that is over 0, 0 where it is 0; ``survives_over_0`` and ``survives_0``: the same of
        either kind of label alone; all in [0, 1]; ``kept``: sentences, and ``seconds``, a question;
        ``labels`` and ``chosen``: how often each K.
    """
    truncate = Truncate(llm, max_clues=max_clues)
    start = perf_counter()
    chosen = [len(truncate(example.query, _ranked(example))) for example in examples]
    seconds = perf_counter() - start
    pairs = [(example.k or 0, k) for example, k in zip(examples, chosen, strict=True)]
    right = [k >= label if label else k == 0 for label, k in pairs]
    needed = [good for good, (label, _) in zip(right, pairs, strict=True) if label]
    empty = [good for good, (label, _) in zip(right, pairs, strict=True) if not label]
    return {
        "questions": len(examples),
        "accuracy": _share([label == k for label, k in pairs]),
        "survives": _share(right),
        "survives_over_0": _share(needed),
        "survives_0": _share(empty),
        "kept": sum(chosen) / max(1, len(chosen)),
        "seconds": seconds / max(1, len(chosen)),
        "labels": dict(sorted(Counter(label for label, _ in pairs).items())),
        "chosen": dict(sorted(Counter(chosen).items())),
    }


def _ranked(example: TrainingExample) -> list[Segment]:
    return [example.sentences[n] for n in example.ranking]


def _share(right: Sequence[bool]) -> float:
    return sum(right) / max(1, len(right))
