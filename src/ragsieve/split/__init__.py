"""Documents → segments, and segments → finer segments. Spans never change the text they are of."""

from ragsieve.split.sentences import Sentences

__all__ = ["Sentences"]
