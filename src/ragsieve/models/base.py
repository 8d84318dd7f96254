"""Protocols of models. Every call takes a list and returns one of the same length and order.

Replies are a function of the input alone: no sampling, and the same text whether an item comes
alone, in a batch, from a thread or out of a cache. Numbers then agree within the tolerance of the
model's precision, 1e-4 in float32 and 0.1 in bfloat16; decisions compare them `rounded`. A backend
charges the running step of the trace, `ragsieve.trace.record_usage`, once a call, a usage an item.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ContextOverflow, InputError, ModelError, Unsupported
from ragsieve.models.thoughts import Cut as Cut
from ragsieve.models.thoughts import has_said, strip_thinking
from ragsieve.trace import Step, note, running_step
from ragsieve.types import Span


class Message(NamedTuple):
    """One turn of a chat; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


Prompt = tuple[Message, ...]
Prompts = Sequence[Prompt]
Texts = Sequence[str]
Odds = list[float]
JsonSchema = Mapping[str, Any]
Floats = NDArray[np.float32]
Nats = tuple[int, int, float]
"""A token's first character in its text, one past the last, and its surprisal."""


class Identified(Protocol):
    """A model; two with one identity give the same for the same input."""

    @property
    def identity(self) -> str:
        """Identity of the model, weights, precision and adapter that its output depends on."""


CALLS = frozenset({"complete", "choose", "loglik", "surprisals"})  # that an LLM may have


class LLM(Identified, Protocol):
    """A generative model.

    ``can`` says which of ``complete``, ``choose``, ``loglik`` and ``surprisals`` it has.
    """

    @property
    def can(self) -> frozenset[str]:
        """The calls that work; the others raise `Unsupported`."""

    @property
    def context(self) -> int:
        """Tokens that prompt and reply may have together."""

    def complete(
        self, prompts: Prompts, *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """The most probable continuation of each prompt, of at most ``max_tokens`` tokens.

        A `Cut` where it knows that the limit ended it.
        ``schema`` is a JSON schema that the reply is held to while it is written.

        Raises:
            ContextOverflow: If a prompt and its reply do not fit the context.
            ModelError: If the model or its server fails.
        """

    def choose(self, prompts: Prompts, options: Sequence[Texts]) -> Sequence[Odds | None]:
        """For each prompt the probabilities of its options as the reply, which sum to 1.

        None where the reply is none of them, or too improbably: no number means "unknown".
        """
        raise lacking(self, "choose")

    def loglik(self, prompts: Prompts, continuations: Texts) -> list[list[float]]:
        """For each prompt the natural log-probability of each token of its continuation."""
        raise lacking(self, "loglik")

    def surprisals(self, prefixes: Sequence[Texts], texts: Texts) -> list[list[Nats]]:
        """For each text the tokens and how little the model expected each, in nats, at least 0.

        Text is read as such, without the chat format, behind its prefix: pieces that are tokenized
        one by one, so that what was cut is not glued to other tokens. Tokens follow one another
        and cover the text, white space first; those that share a character are one, and nats add
        up. What nothing stands before counts as chosen evenly from the vocabulary. Of what does not
        fit the context, each token is read behind at least the half of it.
        """
        raise lacking(self, "surprisals")

    def count(self, texts: Texts) -> list[int]:
        """Tokens of each text in the model's own tokenizer, nothing added."""


@runtime_checkable
class Streamer(Protocol):
    """An LLM that can give a reply while it writes it."""

    def stream(self, prompt: Prompt, *, max_tokens: int = 128) -> Iterator[str]:
        """The text that `LLM.complete` gives for a prompt, in pieces; errors are its.

        The last is a `Cut`, mostly an empty one, where `LLM.complete` gives one.
        """


def lacking(llm: LLM, call: str) -> Unsupported:
    """The error of a model without ``call``."""
    return Unsupported(f"{llm.identity} has no {call}: it can {', '.join(sorted(llm.can))}")


def check_fits(sizes: Sequence[int], reply: int, context: int, model: str) -> None:
    """Raise `ContextOverflow` unless prompts of so many tokens fit a context with their reply."""
    if sizes and (needed := max(sizes) + reply) > context:
        raise ContextOverflow(needed=needed, limit=context, model=model)


class Embedder(Identified, Protocol):
    """A bi-encoder."""

    def embed(self, texts: Texts, *, query: bool = False) -> Floats:
        """Vectors of unit length, ``(len(texts), dim)``; ``query`` where the texts ask."""


class SpanEmbedder(Embedder, Protocol):
    """A bi-encoder that embeds spans of a text as they are read in it."""

    def embed_spans(self, texts: Texts, spans: Sequence[Sequence[Span]]) -> list[list[list[float]]]:
        """For each text the vectors of its spans, of unit length; zeros where one has no token."""


class CrossEncoder(Identified, Protocol):
    """A cross-encoder."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Relevance of each second text to the first, ``(len(pairs),)``; higher is better."""


class ListwiseReranker(Identified, Protocol):
    """A model that orders a list of texts by a question."""

    def rank(self, questions: Texts, texts: Sequence[Texts]) -> list[list[int]]:
        """For each question the places of its texts, from 0, each once, the best first."""


class ClassifiedToken(NamedTuple):
    """A token of a text, and how probable it is that it should be kept.

    Args:
        start: Its first character in the text.
        end: One past its last.
        keep: The probability, in [0, 1].
        begins: Whether a word begins with it.
    """

    start: int
    end: int
    keep: float
    begins: bool


class TokenClassifier(Identified, Protocol):
    """An encoder that reads a text and says of each of its tokens whether it should be kept."""

    def classify(self, texts: Texts) -> list[list[ClassifiedToken]]:
        """The tokens of each text in order; each text is read by itself.

        No token begins or ends with white space; one that stands for white space is empty.
        """


class Passage(NamedTuple):
    """A title, which may be empty, and the sentences below it in order."""

    title: str
    sentences: Sequence[str]


Passages = Sequence[Passage]


PASSAGE = "passage"
"""Name of the score that is the probability that a segment's document answers."""


class Pruned(NamedTuple):
    """A sentence pruner's output for a question's passages; probabilities in [0, 1].

    Args:
        sentences: That each sentence is evidence, of all passages in order.
        passages: That the question can be answered from each passage.
    """

    sentences: list[float]
    passages: list[float]


LEADS = (0.12, 0.99)
"""Between which a question's best sentences count, in probabilities that are not calibrated."""


class SentencePruner(CrossEncoder, Protocol):
    """A cross-encoder that gives probabilities, too: of a passage and of each of its sentences.

    Scoring a passage and then pruning it should cost one pass.
    """

    def prune(self, questions: Texts, passages: Sequence[Passages]) -> list[Pruned]:
        """For each question the probabilities of its passages and of their sentences.

        Each passage is read by itself: neither the others nor their order count.
        """

    @property
    def relative(self) -> float:
        """Share by which thresholds go with a question's best sentence: see `select.Threshold`."""

    @property
    def leads(self) -> tuple[float, float]:
        """Between which probabilities such a best sentence counts; `LEADS` where not calibrated."""

    def threshold(self, keep_answer: float) -> float:
        """The probability from which sentences stay so that the evidence survives so often.

        Raises:
            InputError: If nothing was promised for ``keep_answer``.
        """


def promised(table: Mapping[float, float], keep_answer: float) -> float:
    """The number for a promise, between two that of the more careful; beyond all, `InputError`."""
    if not table or not min(table) <= keep_answer <= max(table):
        known = f"from {min(table)} to {max(table)}" if table else ""
        rule = known or "left alone, as the model has no thresholds"
        raise InputError(f"keep_answer must be {rule}, got {keep_answer!r}")
    return table[min(promise for promise in table if promise >= keep_answer)]


ROOM = 2048
"""Tokens that a reply has more for the thoughts of a model that turns out to think."""

_SHORT: Prompt = (Message("user", "Reply with one word: yes"),)
_thinks: dict[str, bool] = {}  # by identity: whether a model's chat template opens thoughts


def complete_with_room(
    llm: LLM,
    prompts: Prompts,
    is_read: Callable[[str], bool] = has_said,
    *,
    max_tokens: int,
    first: Sequence[str] | None = None,
    **options: Any,
) -> list[str]:
    """Replies; those that are cut in thoughts are requested again, with `ROOM` tokens more.

    Where a template opens the thoughts, a reply that is cut in them has no tag (`thinks_first`).
    One that stays cut in them is an empty `Cut`. An option ``thinking`` is not exceeded. ``first``
    are the replies to the first request, where it was made.
    """
    if first is None:
        first = llm.complete(prompts, max_tokens=max_tokens, **options)
    replies = [*first]
    short = [place for place, reply in enumerate(replies) if isinstance(reply, Cut)]
    cut = [p for p in short if not (has_said(replies[p]) and is_read(replies[p]))]
    thoughts = [place for place in cut if not strip_thinking(replies[place]).strip()]
    if len(thoughts) < len(cut) and thinks_first(llm):
        thoughts = cut
    if thoughts and (room := room_of(llm)):
        note(f"{llm.identity} was cut in its thoughts: asked again with {room} tokens more")
        ask = partial(llm.complete, max_tokens=max_tokens + room, **options)
        again = fitting(ask, [prompts[place] for place in thoughts])
        for place, reply in zip(thoughts, again, strict=True):
            replies[place] = replies[place] if reply is None else reply
    for place in thoughts:
        if isinstance(reply := replies[place], Cut) and not has_said(reply):
            replies[place] = Cut("", reply.note)
    left = {reply.note for reply in replies if isinstance(reply, Cut)}
    gone = {reply.note for reply in first if isinstance(reply, Cut)} - left
    warnings = (running_step() or Step("")).warnings
    for text in {text for text in warnings if text.rpartition(": ")[0] in gone}:
        warnings.remove(text)
    return replies


def room_of(llm: LLM) -> int:
    """Tokens that a reply may have more, for thoughts."""
    return ROOM if getattr(llm, "thinking", False) in (None, True) else 0


def thinks_first(llm: LLM) -> bool:
    """Whether a model closes thoughts in a reply of one word, or is cut before it; asked once.

    It is not asked where ``thinking`` is on or off: then a reply has both tags, or none.
    """
    if isinstance(getattr(llm, "thinking", False), bool):
        return False
    if llm.identity not in _thinks:
        warnings = (running_step() or Step("")).warnings
        told = len(warnings)
        try:
            (reply,) = llm.complete([_SHORT], max_tokens=ROOM)
            late = isinstance(reply, Cut) and not reply.strip("\"'*_ ").casefold().startswith("yes")
            _thinks[llm.identity] = late or has_said(reply)
        except ModelError as error:
            _thinks[llm.identity] = False
            note(f"{llm.identity} does not say whether it thinks: {error}")
        del warnings[told:]
    return _thinks[llm.identity]


def fitting(ask: Callable[[Prompts], list[str]], prompts: Prompts) -> list[str | None]:
    """Replies, in one batch where all prompts fit; None where one has no space in the context."""
    if not prompts:
        return []
    try:
        return [*ask(prompts)]
    except ContextOverflow:
        if len(prompts) == 1:
            return [None]
        return [fitting(ask, [prompt])[0] for prompt in prompts]
