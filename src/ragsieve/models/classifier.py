"""The protocol of token classifiers, and what it has in common with all models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Identified(Protocol):
    """A model; two with one identity give the same for the same input."""

    @property
    def identity(self) -> str:
        """Identity of the model, weights, precision and adapter that its output depends on."""


class ClassifiedToken(NamedTuple):
    """A token of a text, and how probable it is that it should be kept.

    Args:
        start: Its first character in the text.
        end: One past its last.
        keep: The probability, in [0, 1].
        begins: Whether a word begins with it.
    """

    start: int
    end: int
    keep: float
    begins: bool


class TokenClassifier(Identified, Protocol):
    """An encoder that reads a text and says of each of its tokens whether it should be kept."""

    def classify(self, texts: Sequence[str]) -> list[list[ClassifiedToken]]:
        """The tokens of each text in order; each text is read by itself.

        No token begins or ends with white space; one that stands for white space is empty.
        """
