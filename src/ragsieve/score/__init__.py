"""Segments → scored segments: adds one number, drops and moves nothing."""

from ragsieve.score.calibrated import Calibrated
from ragsieve.score.combine import Hybrid, Mean
from ragsieve.score.embedding import Cosine, InContext
from ragsieve.score.helpful import Helpful
from ragsieve.score.inclusion import CXMI, Inclusion, Overlap
from ragsieve.score.judge import Critique, Reflection, Relevance
from ragsieve.score.lexical import BM25
from ragsieve.score.likelihood import Likelihood
from ragsieve.score.listwise import Listwise
from ragsieve.score.ngrams import Ngrams
from ragsieve.score.pair import Pair
from ragsieve.score.pruner import Pruner
from ragsieve.score.surprisal import Expected, Surprisal

__all__ = [
    "BM25",
    "CXMI",
    "Calibrated",
    "Cosine",
    "Critique",
    "Expected",
    "Helpful",
    "Hybrid",
    "InContext",
    "Inclusion",
    "Likelihood",
    "Listwise",
    "Mean",
    "Ngrams",
    "Overlap",
    "Pair",
    "Pruner",
    "Reflection",
    "Relevance",
    "Surprisal",
]
