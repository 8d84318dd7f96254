"""Models, one file per backend, which is imported with the first model of it.

Another package adds a backend by an entry point of the group ``ragsieve.models``, which names a
class or function that is decorated by `backend`, or a module of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any, TypeVar

from ragsieve.errors import InputError, MissingExtra, nearest
from ragsieve.plugins import load_group

GROUP = "ragsieve.models"
"""Group of the entry points by which other packages add backends."""

KINDS = (
    "LLM",
    "embedder",
    "cross-encoder",
    "sentence pruner",
    "listwise reranker",
    "token classifier",
)

Make = TypeVar("Make", bound=Callable[..., Any])

BACKENDS = {  # prefix: (module, class, kind)
    "transformers": ("transformers", "Transformers", "LLM"),
    "seq2seq": ("seq2seq", "Seq2Seq", "LLM"),
    "openai": ("openai", "OpenAI", "LLM"),
    "vllm": ("vllm", "VLLM", "LLM"),
    "deferred": ("deferred", "unnamed", "LLM"),
    "sentence_transformers": ("sentence_transformers", "SentenceTransformer", "embedder"),
    "cross_encoder": ("sentence_transformers", "LocalCrossEncoder", "cross-encoder"),
    "dot": ("sentence_transformers", "DotProduct", "cross-encoder"),
    "crag": ("sentence_transformers", "CRAGEvaluator", "cross-encoder"),
    "cohere": ("rerank", "Cohere", "cross-encoder"),
    "rerank": ("rerank", "Rerank", "cross-encoder"),
    "jina_bert": ("jina_bert", "JinaBert", "embedder"),
    "provence": ("provence", "Provence", "sentence pruner"),
    "pruner": ("pruner", "Pruner", "sentence pruner"),
    "pe_rank": ("pe_rank", "PERank", "listwise reranker"),
    "token_classifier": ("token_classifier", "LocalTokenClassifier", "token classifier"),
}
LOCAL = {  # backends that import torch, which takes seconds: the calls of their models, by prefix
    "transformers": frozenset({"complete", "choose", "loglik", "surprisals"}),
    "seq2seq": frozenset({"complete", "choose", "loglik"}),
    "sentence_transformers": frozenset({"embed", "embed_spans"}),
    "cross_encoder": frozenset({"score"}),
    "dot": frozenset({"embed", "embed_spans", "score"}),
    "crag": frozenset({"score"}),
    "jina_bert": frozenset({"embed"}),
    "provence": frozenset({"prune", "score", "threshold"}),
    "pe_rank": frozenset({"rank"}),
    "token_classifier": frozenset({"classify"}),
}
DEFERRED = "deferred:"
"""Prefix of an LLM that nobody named, before its own name: see `ragsieve.models.deferred`."""

NAMED = {
    "smollm2": "transformers",
    "minilm": "sentence_transformers",
    "pruner": "pruner",
}
FAKE = {  # for trying a pipeline without weights
    "fake:echo": ("fake", "echo", "LLM"),
    "fake:hashing": ("fake", "HashingEmbedder", "embedder"),
    "fake:overlap": ("fake", "OverlapCrossEncoder", "cross-encoder"),
    "fake:pruner": ("fake", "OverlapPruner", "sentence pruner"),
}


_others: dict[str, tuple[Callable[..., Any], str]] = {}  # of other packages, by prefix


def backend(prefix: str, kind: str) -> Callable[[Make], Make]:
    """Register the class or function below: ``PREFIX:MODEL`` calls it with ``MODEL`` and options.

    Args:
        prefix: Of letters, digits and underscores.
        kind: One of `KINDS`: the protocol of `ragsieve.models.base` that its models have.

    Raises:
        InputError: If ``prefix`` is another backend's or no identifier, or ``kind`` is unknown.
    """
    if not prefix.isidentifier() or prefix in BACKENDS or prefix == "fake":
        raise InputError(f"prefix must be a name of its own, of a-z, 0-9 and _, got {prefix!r}")
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")

    def register(make: Make) -> Make:
        _others[prefix] = (make, kind)
        return make

    return register


@cache
def _import_others() -> None:
    """Import what other packages register; what cannot be imported is logged as a warning."""

    def registered(target: Any) -> bool:
        return not callable(target) or any(make is target for make, _ in _others.values())

    load_group(GROUP, registered, "decorated by ragsieve.models.backend")


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
    make, _, arguments = _find(name)
    if local_calls(name):
        _check_torch()
    try:
        return make()(*arguments, **options)
    except TypeError as error:
        if not options:
            raise
        known = [p.name for p in signature(make()).parameters.values() if p.kind is p.KEYWORD_ONLY]
        if unknown := sorted({*options} - {*known}):
            takes, near = ", ".join(known) or "none", nearest(unknown[0], known)
            message = f"{name} cannot take options {unknown}: its options are {takes}{near}"
            raise InputError(message) from error
        raise InputError(
            f"options of {name} break a rule, got {sorted(options)}: {error}"
        ) from error


def defer(name: str, **options: Any) -> Any:
    """The model that `load` gives; one of `LOCAL` is imported with its first call.

    See `ragsieve.models.deferred`. With options a model is loaded at once: its class checks them.

    Raises:
        InputError, MissingExtra: As `load`.
    """
    if options or not local_calls(name):
        return load(name, **options)
    _find(name)
    _check_torch()
    return _importing("deferred", "deferred")()(name)


def _check_torch() -> None:
    if find_spec("torch") is None:  # of all that the extra brings, what says most
        raise MissingExtra("torch", extra="local")


def full_name(name: str) -> str:
    """``PREFIX:MODEL``, of a named model too."""
    return f"{NAMED[name]}:{name}" if name in NAMED else name


def local_calls(name: str) -> frozenset[str]:
    """The calls of a model, as `LOCAL` has them; none of one that is not local."""
    return LOCAL.get(full_name(name).partition(":")[0], frozenset())


def check(name: str, *kinds: str) -> None:
    """Raise `InputError` unless ``name`` names a model of one of ``kinds``, which are of `KINDS`.

    No backend of ragsieve is imported.
    """
    if (kind := _find(name)[1]) not in kinds:
        raise InputError(f"{name} is no {' or '.join(kinds)}, it is of kind {kind}")


def _find(name: str) -> tuple[Callable[[], Callable[..., Any]], str, tuple[str, ...]]:
    """An importer of the function or class that makes the model, its kind, and the arguments."""
    if name in FAKE:
        return _importing(*FAKE[name][:2]), FAKE[name][2], ()
    prefix, _, model = full_name(name).partition(":")
    if model and prefix in BACKENDS:
        return _importing(*BACKENDS[prefix][:2]), BACKENDS[prefix][2], (model,)
    _import_others()
    if model and prefix in _others:
        make, kind = _others[prefix]
        return lambda: make, kind, (model,)
    prefixes = [*BACKENDS, *_others]
    forms = ", ".join([*NAMED, *(f"{known}:MODEL" for known in prefixes), *FAKE])
    near = nearest(name, [*NAMED, *FAKE, *(f"{known}:{model}" for known in prefixes if model)])
    raise InputError(f"a model must be one of {forms}, got {name!r:.200}{near}")


def _importing(module: str, maker: str) -> Callable[[], Callable[..., Any]]:
    """Imports the module only when it is called."""
    return lambda: getattr(import_module(f"ragsieve.models.{module}"), maker)
