"""ragsieve sieves the noise out of retrieved documents before a language model reads them."""

import os
from importlib import import_module

# Threads that wait for each other sleep; awake they would keep the processor from those they wait
# for. OpenMP reads this once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# onnxruntime reports processes and machines to its makers; it reads this once, when it is imported
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_MODULES = {  # of names that are no modules themselves
    **dict.fromkeys(("InputError", "MissingExtra", "ModelError", "RagsieveError"), "errors"),
    **dict.fromkeys(("Answer", "Document", "Example", "Query", "Segment"), "types"),
    "Pipeline": "pipeline",
    "System": "system",
    "Result": "result",
    "Trace": "trace",
    "load": "spec",
    "rank": "rerank",
}
__all__ = sorted([*_MODULES, "answer", "models", "score", "select", "split", "systems"])


def __getattr__(name: str) -> object:
    """Names, modules and systems, loaded at first use: ``import ragsieve`` stays quick."""
    if name == "__version__":
        return import_module("importlib.metadata").version("ragsieve")
    if name in _MODULES:
        value = getattr(import_module(f"ragsieve.{_MODULES[name]}"), name)
        return globals().setdefault(name, value)
    if name in __all__:
        return import_module(f"ragsieve.{name}")
    raise AttributeError(f"module 'ragsieve' has no attribute {name!r}")
