"""ragsieve sieves the noise out of retrieved documents before a language model reads them."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ragsieve.errors import InputError, MissingExtra, ModelError, RagsieveError
from ragsieve.pipeline import Pipeline, System
from ragsieve.result import Result
from ragsieve.trace import Trace
from ragsieve.types import Answer, Document, Example, Query, Segment

if TYPE_CHECKING:
    from ragsieve import answer, models, score, select, split, systems
    from ragsieve.typed import load

# Threads that wait for each other sleep; awake they would keep the processor from those they wait
# for. OpenMP reads this once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = [
    "Answer",
    "Document",
    "Example",
    "InputError",
    "MissingExtra",
    "ModelError",
    "Pipeline",
    "Query",
    "RagsieveError",
    "Result",
    "Segment",
    "System",
    "Trace",
    "answer",
    "load",
    "models",
    "score",
    "select",
    "split",
    "systems",
]


def __getattr__(name: str) -> Any:
    """Modules and systems, loaded at first use: ``import ragsieve`` stays quick."""
    if name == "__version__":
        return import_module("importlib.metadata").version("ragsieve")
    if name == "load":
        return import_module("ragsieve.spec").load
    if name in __all__:
        return import_module(f"ragsieve.{name}")
    raise AttributeError(f"module 'ragsieve' has no attribute {name!r}")
