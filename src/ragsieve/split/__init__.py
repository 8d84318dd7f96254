"""Documents → segments, and segments → finer segments; every segment is a span of its text."""

from ragsieve.split.blocks import Blocks
from ragsieve.split.semantic import Semantic
from ragsieve.split.sentences import Sentences
from ragsieve.split.windows import Windows

__all__ = ["Blocks", "Semantic", "Sentences", "Windows"]
