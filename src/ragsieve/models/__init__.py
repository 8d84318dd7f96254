"""What computes, one file per backend, imported when a model of it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ragsieve.errors import InputError

BACKENDS = {  # prefix: (module, what makes the model, what it is)
    "transformers": ("transformers", "Transformers", "LLM"),
    "seq2seq": ("seq2seq", "Seq2Seq", "LLM"),
    "openai": ("openai", "OpenAI", "LLM"),
    "deferred": ("deferred", "Deferred", "LLM"),
    "sentence_transformers": ("sentence_transformers", "SentenceTransformer", "embedder"),
    "cross_encoder": ("sentence_transformers", "CrossEncoder", "cross-encoder"),
    "cohere": ("rerank", "Cohere", "cross-encoder"),
    "rerank": ("rerank", "Rerank", "cross-encoder"),
    "jina_bert": ("jina_bert", "JinaBert", "embedder"),
    "provence": ("provence", "Provence", "sentence pruner"),
    "pruner": ("pruner", "Pruner", "sentence pruner"),
    "pe_rank": ("pe_rank", "PERank", "listwise reranker"),
}
NAMED = {
    "smollm2": "transformers",
    "minilm": "sentence_transformers",
    "pruner": "pruner",
}
FAKE = {  # for trying a pipeline without weights
    "fake:echo": ("fake", "echo", "LLM"),
    "fake:hashing": ("fake", "HashingEmbedder", "embedder"),
    "fake:overlap": ("fake", "OverlapPairScorer", "cross-encoder"),
    "fake:pruner": ("fake", "OverlapPruner", "sentence pruner"),
}


def load(name: str, **options: Any) -> Any:
    """The model that ``name`` says: ``PREFIX:MODEL``, or a name of `ragsieve models list`.

    Args:
        name: ``"smollm2"``, ``"minilm"``, ``"pruner"``, ``"openai:gpt-5-mini"``,
            ``"transformers:org/model"`` …; the part behind the prefix is a named model, a folder or
            a hub id. ``"fake:echo"``, ``"fake:hashing"`` and other fakes need no weights: see
            `ragsieve.models.fake`.
        options: Options of the backend's class.

    Raises:
        InputError: If there is no such model, or it does not take the options.
        MissingExtra: If the backend's packages are not installed.
    """
    module, maker, _, arguments = _row(name)
    make = getattr(import_module(f"ragsieve.models.{module}"), maker)
    try:
        return make(*arguments, **options)
    except TypeError as error:
        if not options:
            raise
        raise InputError(f"{name} cannot take options {sorted(options)}: {error}") from error


def check(name: str, *kinds: str) -> None:
    """Raise `InputError` unless ``name`` names a model of one of ``kinds``; imports nothing.

    Kinds are ``"LLM"``, ``"embedder"``, ``"cross-encoder"``, ``"sentence pruner"``
    and ``"listwise reranker"``.
    """
    if (found := _row(name)[2]) not in kinds:
        raise InputError(f"{name} is no {' or '.join(kinds)}, it is of kind {found}")


def _row(name: str) -> tuple[str, str, str, tuple[str, ...]]:
    if name in FAKE:
        return (*FAKE[name], ())
    full = f"{NAMED[name]}:{name}" if name in NAMED else name
    prefix, _, model = full.partition(":")
    if prefix not in BACKENDS or not model:
        forms = ", ".join([*NAMED, *(f"{known}:MODEL" for known in BACKENDS), *FAKE])
        raise InputError(f"a model must be one of {forms}, got {name!r}")
    return (*BACKENDS[prefix], (model,))
