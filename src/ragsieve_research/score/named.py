"""Scorers by name: `SCORERS`, which ``ragsieve scorers`` measures; entry points add to them."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from ragsieve import score
from ragsieve.errors import InputError, nearest
from ragsieve.registry import Registry
from ragsieve.score.base import Scorer
from ragsieve_research.score.combine import Hybrid, Mean
from ragsieve_research.score.judge import Critique, Reflection, Relevance
from ragsieve_research.score.likelihood import Likelihood

Role = Literal["llm", "critic", "embedder", "pruner", "pair"]

RATINGS = ("relevance", "reflection", "critique")


class NamedScorer(NamedTuple):
    """A scorer's constructor, its model, the scorers before it, and its prompts."""

    make: Callable[..., Scorer]
    role: Role | None = None
    after: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


SCORERS = Registry("scorer", "ragsieve.scorers", NamedScorer)
for _name, _scorer in {
    "bm25": NamedScorer(score.BM25),
    "cosine": NamedScorer(score.Cosine, "embedder"),
    "hybrid": NamedScorer(lambda m: Hybrid((score.Cosine(m), score.BM25())), "embedder"),
    "pruner": NamedScorer(score.Pruner, "pruner"),
    "pair": NamedScorer(score.Pair, "pair"),
    "likelihood": NamedScorer(Likelihood, "llm", prompts=("asks", "asks_closed")),
    "relevance": NamedScorer(Relevance, "llm", prompts=("relevance",)),
    "reflection": NamedScorer(Reflection, "llm", ("relevance",), ("reflection",)),
    "critique": NamedScorer(Critique, "critic", prompts=("critique",)),
    "mean": NamedScorer(lambda: Mean(RATINGS), after=RATINGS),
}.items():
    SCORERS.register(_name, _scorer)


def needed(names: Iterable[str]) -> list[str]:
    """Names of scorers with those that must come before them, in an order that works, each once.

    Raises:
        InputError: If there is no scorer of a name, or no name.
    """
    names_needed: dict[str, None] = {}
    for name in names:
        if name not in SCORERS:
            near = nearest(name, SCORERS)
            raise InputError(f"a scorer must be one of {', '.join(SCORERS)}, got {name!r}{near}")
        names_needed |= dict.fromkeys((*SCORERS[name].after, name))
    if not names_needed:
        raise InputError("there must be at least one scorer, got none")
    return list(names_needed)


def create_scorers(names: Iterable[str], model: Callable[[Role], Any]) -> dict[str, Scorer]:
    """Scorers by name, with those that must come before them; asks ``model`` for what they need."""
    scorers = {name: SCORERS[name] for name in needed(names)}
    return {n: r.make(model(r.role)) if r.role else r.make() for n, r in scorers.items()}
