"""What computes, one file per backend, imported when a model of it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ragsieve.errors import InputError

BACKENDS = {  # prefix: (module, class, what it makes)
    "transformers": ("transformers", "Transformers", "a local LLM"),
    "openai": ("openai", "OpenAI", "an LLM behind any server that speaks OpenAI's protocol"),
    "sentence_transformers": ("sentence_transformers", "SentenceTransformer", "a local bi-encoder"),
    "cross_encoder": ("sentence_transformers", "CrossEncoder", "a local cross-encoder"),
}
NAMED = {"smollm2": "transformers", "minilm": "sentence_transformers"}


def load(name: str, **options: Any) -> Any:
    """The model that ``name`` says: ``PREFIX:MODEL``, or a name of `ragsieve models list`.

    Args:
        name: ``"smollm2"``, ``"minilm"``, ``"openai:gpt-5-mini"``, ``"transformers:org/model"`` …;
            the part behind the prefix is a named model, a folder or a hub id.
        options: Options of the backend's class.

    Raises:
        InputError: If the prefix is none of `BACKENDS`.
        MissingExtra: If the backend's packages are not installed.
    """
    prefix, colon, model = name.partition(":")
    if not colon and name in NAMED:
        prefix, model = NAMED[name], name
    if prefix not in BACKENDS or not model:
        forms = ", ".join([*NAMED, *(f"{known}:MODEL" for known in BACKENDS)])
        raise InputError(f"a model must be one of {forms}, got {name!r}")
    module, kind, _ = BACKENDS[prefix]
    return getattr(import_module(f"ragsieve.models.{module}"), kind)(model, **options)
