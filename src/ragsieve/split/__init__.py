"""Documents → segments, and segments → finer segments. Spans never change the text they are of."""

from ragsieve.split.blocks import Blocks
from ragsieve.split.semantic import Semantic
from ragsieve.split.sentences import Sentences
from ragsieve.split.windows import Windows

__all__ = ["Blocks", "Semantic", "Sentences", "Windows"]
