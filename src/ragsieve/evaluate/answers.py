"""Answers against gold answers."""

from __future__ import annotations

from collections.abc import Sequence

from ragsieve.text import contains_answer


def accuracy(output: str, answers: Sequence[str]) -> float:
    """1.0 where a gold answer occurs in the output, normalised and at word boundaries, else 0.0.

    Source: WinnowRAG's accuracy; the normalisation is SQuAD's with NFKC (`ragsieve.text`).
    """
    return float(contains_answer(output, answers))
