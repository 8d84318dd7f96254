"""Models that need no weights: two LLMs, a hashing embedder, and readers of word overlap.

Documentation and tests run on these. Their tokens are words and punctuation marks, and what they
give depends on the input alone, in every process.
"""

import re
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError
from ragsieve.models import base
from ragsieve.models.base import LEADS, JsonSchema, Nats, Passages, Prompt, Prompts, Pruned, Texts
from ragsieve.models.reopen import Reopened
from ragsieve.models.wrap import check_columns
from ragsieve.schema import Count, Options, check_number
from ragsieve.text import sentence_spans
from ragsieve.trace import Usage, record_usage
from ragsieve.types import Span

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w+")
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_EVIDENCE = re.compile(r"(?ms)^(Documents|Sentences):\n(.*?)(?=\n\nQuestion: |\Z)")


@dataclass(eq=False)
class ScriptedLLM(Reopened):
    r"""An LLM that replies from a script. A token is a match of ``\w+|[^\w\s]``.

    It keeps all prompts in ``prompts``, in order. ``schema`` is ignored, ``loglik``
    gives every token -1.

    Args:
        replies: Strings used in turn, or a function from a prompt to its reply; only with a
            function do replies depend on the prompt alone.
        context: Tokens that prompt and reply may have together.
        can: The calls that work, of ``complete``, ``choose``, ``loglik`` and ``surprisals``.
        choices: Weights of a prompt's options, not negative; uniform where None.
        nats: Surprisal of a token behind what stands before it, not negative; 1 where None.
        identity: What a cache knows it by.

    Raises:
        InputError: If ``replies`` is one string rather than a sequence of them.
    """

    replies: Sequence[str] | Callable[[Prompt], str] = field(repr=False)
    _: KW_ONLY
    context: int = 8192
    can: frozenset[str] = field(default=base.CALLS, repr=False)
    choices: Callable[[Prompt, Sequence[str]], Sequence[float]] | None = field(
        default=None, repr=False
    )
    nats: Callable[[str, str], float] | None = field(default=None, repr=False)
    identity: str = "scripted"
    prompts: list[Prompt] = field(default_factory=list, init=False, repr=False)
    _taken: int = field(default=0, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.replies, str):
            raise InputError(f"replies must be a sequence of strings, got {self.replies!r:.80}")

    def complete(
        self, prompts: Prompts, *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """The scripted replies, each cut to ``max_tokens`` tokens.

        Raises:
            InputError: If ``max_tokens`` is under 1.
            ContextOverflow: If a prompt and ``max_tokens`` do not fit the context.
            ModelError: If the script has no reply left.
        """
        check_number("max_tokens", max_tokens, Count)
        sizes = self._read("complete", prompts, [max_tokens] * len(prompts))
        replies = [_cut(reply, max_tokens) for reply in self._script(prompts)]
        tokens = zip(sizes, self.count(replies), strict=True)
        record_usage([Usage(self.identity, read, written) for read, written in tokens])
        return replies

    def choose(self, prompts: Prompts, options: Sequence[Texts]) -> list[list[float]]:
        """The weights of ``choices``, or equal ones, made to sum to 1."""
        check_columns([prompts, options])
        sizes = self._read("choose", prompts, [max(self.count(o), default=0) for o in options])
        chosen = [self._weigh(*item) for item in zip(prompts, options, strict=True)]
        record_usage([Usage(self.identity, size) for size in sizes])
        return chosen

    def loglik(self, prompts: Prompts, continuations: Texts) -> list[list[float]]:
        """-1 for each token of each continuation."""
        check_columns([prompts, continuations])
        added = self.count(continuations)
        sizes = self._read("loglik", prompts, added)
        record_usage([Usage(self.identity, sum(one)) for one in zip(sizes, added, strict=True)])
        return [[-1.0] * tokens for tokens in added]

    def surprisals(self, prefixes: Sequence[Texts], texts: Texts) -> list[list[Nats]]:
        """Values of ``nats`` of each token; one of white space alone where there is none."""
        check_columns([prefixes, texts])
        self._check("surprisals")
        sizes = self.count(["\n".join([*p, text]) for p, text in zip(prefixes, texts, strict=True)])
        record_usage([Usage(self.identity, size) for size in sizes])
        return [self._surprised("".join(p), text) for p, text in zip(prefixes, texts, strict=True)]

    def count(self, texts: Texts) -> list[int]:
        """Words and punctuation marks of each text."""
        return [len(_TOKEN.findall(text)) for text in texts]

    def _read(self, call: str, prompts: Prompts, extra: Sequence[int]) -> list[int]:
        """Tokens of each prompt, which is kept; ``extra`` tokens more must fit the context."""
        self._check(call)
        self.prompts.extend(prompts)
        sizes = [sum(self.count([message.content for message in prompt])) for prompt in prompts]
        for size, more in zip(sizes, extra, strict=True):
            base.check_fits([size], more, self.context, self.identity)
        return sizes

    def _check(self, call: str) -> None:
        if call not in self.can:
            raise base.lacking(self, call)

    def _script(self, prompts: Prompts) -> list[str]:
        if callable(self.replies):
            return [self.replies(prompt) for prompt in prompts]
        with self._lock:
            end = self._taken + len(prompts)
            if end > len(self.replies):
                raise ModelError(f"the script has {len(self.replies)} replies, asked for {end}")
            start, self._taken = self._taken, end
        return list(self.replies[start:end])

    def _surprised(self, before: str, text: str) -> list[Nats]:
        ends = [match.end() for match in _TOKEN.finditer(text)] or [len(text)]
        starts = [0, *ends[:-1]]
        ends[-1] = len(text)
        nats = self.nats or (lambda *_: 1.0)
        spans = ((start, end) for start, end in zip(starts, ends, strict=True) if end)
        return [(a, b, nats(before + text[:a], text[a:b])) for a, b in spans]

    def _weigh(self, prompt: Prompt, options: Sequence[str]) -> list[float]:
        weights = self.choices(prompt, options) if self.choices else [1.0] * len(options)
        if len(weights) != len(options) or not (min(weights, default=-1) >= 0 < sum(weights)):
            raise InputError(f"weights must be one an option and not all 0, got {weights!r}")
        return [weight / sum(weights) for weight in weights]


def echo(*, context: int = 8192) -> ScriptedLLM:
    """An LLM that repeats, for trying a pipeline without weights: it understands nothing.

    It replies with the sentence of the evidence that shares most words with the question, or with
    its number ``[n]`` where sentences are numbered; without evidence it says that it knows nothing.
    Of several options it prefers the last.
    """
    return ScriptedLLM(_echoed, context=context, choices=_rising, identity="echo")


def _rising(_: Prompt, options: Sequence[str]) -> Sequence[float]:
    return range(1, len(options) + 1)


def _echoed(prompt: Prompt) -> str:
    questions = _QUESTION.findall("\n\n".join(message.content for message in prompt))
    question = {*_words(questions[-1] if questions else prompt[-1].content)}
    evidence = next(filter(None, (_EVIDENCE.search(m.content) for m in reversed(prompt))), None)
    if not evidence:
        return "I know nothing without documents."
    kind, body = evidence.groups()
    if kind == "Sentences":  # one a line, each with its number
        sentences = body.splitlines()
    else:
        sentences = [body[start:end] for start, end in sentence_spans(body)]
    best = max(sentences, key=lambda s: len(question.intersection(_words(s))), default="")
    number = re.match(r"\[\d+\]", best)
    return number.group() if kind == "Sentences" and number else best


@dataclass(frozen=True)
class HashingEmbedder(Options):
    """Counts of lower-cased words, hashed (CRC-32) to ``dim`` places, as vectors of unit length.

    Questions and texts are embedded alike; a text without a word gets the first axis.

    Args:
        dim: Length of the vectors; at least 1.

    Raises:
        InputError: If ``dim`` is under 1.
    """

    dim: Count = 256

    @property
    def identity(self) -> str:
        """The name and ``dim``."""
        return f"hashing:{self.dim}"

    def embed(self, texts: Texts, *, query: bool = False) -> NDArray[np.float32]:
        """Vectors of unit length, ``(len(texts), dim)``."""
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        words = [_words(text) for text in texts]
        for place, counted in enumerate(words):
            hashed = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in counted]
            buckets = [value % self.dim for value in hashed] or [0]
            counts = np.bincount(buckets, minlength=self.dim)  # (dim,)
            vectors[place] = counts / np.sqrt(np.square(counts).sum())
        record_usage([Usage(self.identity, len(counted), embedded=True) for counted in words])
        return vectors

    def embed_spans(self, texts: Texts, spans: Sequence[Sequence[Span]]) -> list[list[list[float]]]:
        """The vector of each span with half of its text's, of unit length."""
        check_columns([texts, spans])
        results = []
        for text, some in zip(texts, spans, strict=True):
            parts = [text[start:end] for start, end in some]
            mixed = self.embed(parts) + self.embed([text]) / 2 if some else np.zeros((0, self.dim))
            results.append((mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).tolist())
        return results


@dataclass(frozen=True)
class OverlapCrossEncoder:
    """Share of the first text's distinct words that occur in the second, in [0, 1]."""

    identity = "overlap"

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The shares, ``(len(pairs),)``; 0 where the first text has no word."""
        words = [(_words(query), _words(text)) for query, text in pairs]
        shares = [len({*a} & {*b}) / max(len({*a}), 1) for a, b in words]
        record_usage([Usage(self.identity, len(a) + len(b)) for a, b in words])
        return np.array(shares, dtype=np.float32)


@dataclass(frozen=True)
class OverlapPruner(OverlapCrossEncoder):
    """Share of the question's distinct words that occur in a sentence or its title, in [0, 1].

    A passage has the share of its best sentence.
    """

    identity = "overlap-pruner"
    relative = 0.0  # thresholds are the same for all questions
    leads = LEADS

    def prune(self, questions: Texts, passages: Sequence[Passages]) -> list[Pruned]:
        """The shares; 0 where the question has no word."""
        check_columns([questions, passages])
        results, usages = [], []
        for question, group in zip(questions, passages, strict=True):
            query = {*_words(question)}
            read = [[{*_words(title), *_words(text)} for text in some] for title, some in group]
            shares = [[len(query & words) / max(len(query), 1) for words in some] for some in read]
            results.append(Pruned([*chain(*shares)], [max(some, default=0.0) for some in shares]))
            usages.append(Usage(self.identity, len(query) + sum(map(len, chain(*read)))))
        record_usage(usages)
        return results

    def threshold(self, keep_answer: float) -> float:
        """The rest of 1."""
        if not 0 < keep_answer < 1:
            raise InputError(f"keep_answer must be over 0 and below 1, got {keep_answer!r}")
        return 1 - keep_answer


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _cut(reply: str, max_tokens: int) -> str:
    tokens = list(_TOKEN.finditer(reply))
    return reply if len(tokens) <= max_tokens else reply[: tokens[max_tokens - 1].end()]
