"""Models of your own: functions, and objects of other libraries, as the models of a system."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import isclass, ismodule, isroutine
from typing import Any

import numpy as np

from ragsieve import models
from ragsieve.errors import InputError, ModelError, typed_line
from ragsieve.models import base
from ragsieve.models.base import LLM, CrossEncoder, Cut, Embedder, Floats, JsonSchema, Prompt
from ragsieve.models.pruner import bundled
from ragsieve.models.reopen import Reopened
from ragsieve.schema import Count, Options
from ragsieve.trace import CUT, Usage, record_usage

Chat = list[dict[str, str]]
"""Messages with ``role`` and ``content``."""


def as_llm(model: Any, *, name: str = "", context: int = 8192) -> LLM:
    """An LLM from a name, a function, or a client or pipeline of another library.

    Args:
        model: A name of `ragsieve.models.load`; an LLM of ours; a function from a list of prompts
            to a list of replies, where a prompt is one string; a ``transformers`` pipeline of the
            task text-generation; an OpenAI client, or the module ``litellm``, with ``name``.
        name: The client's model; else what caches know the model by, of which a function has its
            module and name: one without (a lambda, a local or a script's) is not cached in a file.
        context: Tokens that prompt and reply may have together, where the model does not tell;
            they are counted by the bundled pruner's tokenizer.

    Raises:
        InputError: If it is none of these.
    """
    if (own := _own(model, "complete", "count")) is not None:
        return own  # type: ignore[no-any-return]
    if getattr(model, "task", "") == "text-generation":
        identity = _name(model.model, name)
        return Function(partial(_by_pipeline, model), identity=identity, context=context)
    completions = getattr(getattr(model, "chat", None), "completions", None)
    create = getattr(completions, "create", None) or getattr(model, "completion", None)
    if callable(create):
        if not name:
            raise InputError(f"name must say which model {_name(model)} asks, got {name!r}")
        ask = partial(_by_client, create, name)
        url = getattr(model, "base_url", "")
        identity = f"{name}@{url}" if url else name
        return Function(ask, identity=identity, context=context, is_concurrent=True)
    if callable(model):
        return Function(partial(_by_strings, model), identity=_name(model, name), context=context)
    forms = "a model's name, a function of prompts, a client or a pipeline"
    raise InputError(f"an LLM must be {forms}, or have complete() and count(), got {model!r:.80}")


def as_embedder(model: Any, *, name: str = "") -> Embedder:
    """A bi-encoder from a name, a SentenceTransformer, or a function from texts to vectors.

    Vectors are brought to unit length; ``name`` as of `as_llm`.

    Raises:
        InputError: If it is none of these.
    """
    if (own := _own(model, "embed")) is not None:
        return own  # type: ignore[no-any-return]
    if hasattr(model, "encode"):
        ask = getattr(model, "encode_query", model.encode)
        read = getattr(model, "encode_document", model.encode)
        return Vectors(read, ask, identity=_name(model, name))
    if callable(model):
        return Vectors(model, model, identity=_name(model, name))
    forms = "a model's name, a function of texts, or have embed() or encode()"
    raise InputError(f"an embedder must be {forms}, got {model!r:.80}")


def as_cross_encoder(model: Any, *, name: str = "") -> CrossEncoder:
    """A cross-encoder from a name, a CrossEncoder, or a function from pairs to scores.

    ``name`` as of `as_llm`.

    Raises:
        InputError: If it is none of these.
    """
    if (own := _own(model, "score")) is not None:
        return own  # type: ignore[no-any-return]
    score = getattr(model, "predict", model)
    if callable(score):
        return Scores(score, identity=_name(model, name))
    forms = "a model's name, a function of pairs, or have score() or predict()"
    raise InputError(f"a cross-encoder must be {forms}, got {model!r:.80}")


def _own(model: Any, *calls: str) -> Any:
    """The model of a name, or one that has these calls; None of another."""
    if isinstance(model, str):
        return models.defer(model)
    return model if all(hasattr(model, call) for call in calls) else None


@dataclass(frozen=True)
class Function(Options, Reopened):
    """An LLM that only completes: it neither chooses by probability nor tells any.

    Args:
        reply: From chats and the most tokens that a reply may have to the replies.
        identity: What caches know it by.
        context: Tokens that prompt and reply may have together.
        is_concurrent: Whether threads may call ``reply`` beside each other, each for itself.
    """

    reply: Callable[[list[Chat], int], Sequence[Any]]
    identity: str = field(kw_only=True)
    context: Count = field(default=8192, kw_only=True)
    is_concurrent: bool = field(default=False, kw_only=True)

    can = frozenset({"complete"})

    def complete(
        self, prompts: Sequence[Prompt], *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """See `LLM.complete`; a schema is left to the prompt."""
        sizes = [sum(self.count([m.content for m in prompt])) for prompt in prompts]
        base.check_fits(sizes, max_tokens, self.context, self.identity)
        chats = [[message._asdict() for message in prompt] for prompt in prompts]
        replies = _called(self.identity, self.reply, chats, max_tokens) if chats else []
        listed = hasattr(replies, "__len__") and not isinstance(replies, str | Mapping)
        one_each = listed and len(replies) == len(prompts)
        if not one_each or not all(isinstance(r, str) for r in replies):
            rule = "a list with a string for each prompt"
            raise ModelError(f"{self.identity} must give {rule}, got {replies!r:.80}")
        written = self.count(replies)
        notes = [reply.note if isinstance(reply, Cut) else "" for reply in replies]
        usages = zip(sizes, written, notes, strict=True)
        record_usage([Usage(self.identity, a, b, note=note) for a, b, note in usages])
        return [*replies]

    choose = LLM.choose
    loglik = LLM.loglik
    surprisals = LLM.surprisals

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by the bundled pruner's tokenizer."""
        return bundled().count(texts)


@dataclass(frozen=True)
class Vectors(Reopened):
    """A bi-encoder of two functions from texts to vectors: of texts, and of questions."""

    of_texts: Callable[..., Any]
    of_questions: Callable[..., Any]
    identity: str = field(kw_only=True)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """See `Embedder.embed`."""
        call = self.of_questions if query else self.of_texts
        vectors = _numbers(self.identity, call, [*texts], ndim=2)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        record_usage([Usage(self.identity, 0, embedded=True) for _ in texts])
        return vectors


@dataclass(frozen=True)
class Scores(Reopened):
    """A cross-encoder of a function from pairs of texts to scores."""

    of_pairs: Callable[..., Any]
    identity: str = field(kw_only=True)

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """See `CrossEncoder.score`."""
        record_usage([Usage(self.identity, 0) for _ in pairs])
        return _numbers(self.identity, self.of_pairs, [*pairs], ndim=1)


def _numbers(name: str, call: Callable[..., Any], inputs: list[Any], ndim: int) -> Floats:
    """Result of a function, as finite float32 with a row an input."""
    if not inputs:
        return np.zeros((0,) * ndim, np.float32)
    values = _called(name, call, inputs)
    try:
        array = np.array(values, np.float32)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must give numbers, got {values!r:.80}") from error
    if array.ndim != ndim or len(array) != len(inputs) or not np.isfinite(array).all():
        shape = f"shape {'(n, dim)' if ndim == 2 else '(n,)'} for n={len(inputs)}"
        raise ModelError(f"{name} must give finite numbers of {shape}, got shape {array.shape}")
    return array


def _called(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:  # somebody's own function may raise anything
        raise ModelError(f"{name} failed: {typed_line(error, 300)}") from error


def _by_strings(call: Callable[..., Any], chats: list[Chat], _: int) -> Any:
    return call(["\n\n".join(message["content"] for message in chat) for chat in chats])


def _by_client(create: Callable[..., Any], model: str, chats: list[Chat], max_tokens: int) -> Any:
    options = {"model": model, "temperature": 0, "max_tokens": max_tokens}
    return [_said(create(messages=chat, **options).choices[0], max_tokens) for chat in chats]


def _said(choice: Any, max_tokens: int) -> str:
    """Text of a client's reply; a `Cut` where it had no room for more."""
    from ragsieve.models import protocol  # of clients alone

    dump = getattr(choice.message, "model_dump", None)
    text = protocol.said(dump() if dump else vars(choice.message))
    cut = getattr(choice, "finish_reason", None) == "length"
    return Cut(text, f"{CUT} {max_tokens} tokens") if cut else text


def _by_pipeline(pipeline: Any, chats: list[Chat], max_tokens: int) -> list[str]:
    options = {"max_new_tokens": max_tokens, "do_sample": False, "return_full_text": False}
    return [replies[0]["generated_text"] for replies in pipeline(chats, **options)]


def _name(model: Any, name: str = "") -> str:
    """What caches know a model by; with ``<`` in it where another one may have the same."""
    if name := name or getattr(model, "name_or_path", ""):
        return str(name)
    kind, bound = type(model), getattr(model, "__self__", None)
    free = isroutine(model) and (bound is None or isclass(bound) or ismodule(bound))
    if free or isclass(model):
        own = f"{model.__module__}.{model.__qualname__}"
        return f"<{own}>" if model.__module__ == "__main__" else own  # each script has its own
    return f"<{kind.__module__}.{getattr(model, '__qualname__', kind.__qualname__)}>"
