"""Whether a benchmark's cell can run, and the calls and tokens to expect, before a model is asked.

Stand-ins that cost nothing take the places of its models: an LLM that fills the form it is held
to, or repeats a sentence, and models of word overlap.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragsieve import models
from ragsieve.errors import RagsieveError, one_line
from ragsieve.models.base import ClassifiedToken, JsonSchema, Prompt
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.models.fake import echo as repeating
from ragsieve.sources import Models
from ragsieve.spec import SystemSpec
from ragsieve.system import System
from ragsieve.systems.base import SYSTEMS
from ragsieve.types import Example

READ, WRITTEN = 1000, 30  # tokens a second that times are told for
_TOKEN = re.compile(r"\[[^\[\]\n]{1,40}\]|<[^<>\n]{1,40}>|\w+|[^\w\s]")
TRIED = 2
"""Questions of which costs are told."""


@dataclass(frozen=True)
class Expected:
    """LLM calls and tokens of a question, on average."""

    calls: float
    tokens_in: float
    tokens_out: float


class Standin(ScriptedLLM):
    """Replies by the schema of a call, else as `ragsieve.models.fake.echo` does."""

    def complete(
        self, prompts: Sequence[Prompt], *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """See `ScriptedLLM.complete`."""
        if schema is None:
            return super().complete(prompts, max_tokens=max_tokens)
        filled = _filled(schema)
        written = [f"{n}: {v}" for n, v in filled.items()] if isinstance(filled, dict) else [filled]
        form = ScriptedLLM(lambda _: "\n".join(map(str, written)), identity=self.identity)
        return form.complete(prompts, max_tokens=max(max_tokens, 64))

    def count(self, texts: Sequence[str]) -> list[int]:
        """Words and punctuation marks; one in brackets is a single token."""
        return [len(_TOKEN.findall(text)) for text in texts]


def _filled(schema: Mapping[str, Any]) -> Any:
    """The least value of a schema."""
    kind = schema.get("type")
    if kind == "object":
        return {name: _filled(one) for name, one in schema.get("properties", {}).items()}
    if "enum" in schema:
        return schema["enum"][0]
    least = {"array": [], "integer": schema.get("minimum", 0), "number": schema.get("minimum", 0)}
    return least.get(str(kind), "no")


@dataclass(frozen=True)
class _Whole:
    """Keeps orders and tokens as they are."""

    identity: str = "stand-in"

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[int]]:
        return [[*range(len(some))] for some in texts]

    def classify(self, texts: Sequence[str]) -> list[list[ClassifiedToken]]:
        return [
            [ClassifiedToken(m.start(), m.end(), 0.5, True) for m in re.finditer(r"\S+", text)]
            for text in texts
        ]


_MAKERS: Mapping[str, Callable[[], Any]] = {
    "embedder": HashingEmbedder,
    "cross-encoder": OverlapCrossEncoder,
    "sentence pruner": OverlapPruner,
}


def stand_in(name: str) -> Any:
    """A model of the kind of ``name``."""
    kind = models.kind_of(name)
    if kind == "LLM":
        return Standin(repeating().replies, context=8192, identity=name)
    return _MAKERS.get(kind, _Whole)()


def built(spec: SystemSpec, **others: Any) -> System | None:
    """The system over stand-ins; None where it is a trained filter, with models of its own.

    Raises:
        RagsieveError: If it cannot be built, whatever its models are.
    """
    if spec.system not in SYSTEMS:
        return None
    return spec.built(Models(lambda model: model, stand_in), **others)


def expected(
    system: System | None, examples: Sequence[Example], *, answers: bool = True
) -> Expected | None:
    """What a question costs, of the first few that are given; None where that cannot be said."""
    if system is None:
        return None
    some, usages = examples[:TRIED], []
    for example in some:
        try:
            result = (system.ask if answers else system)(example.query, example.documents)
        except RagsieveError:
            return None
        usages += [u for step in result.trace.steps for u in step.usages if not u.embedded]
    usages = [usage for usage in usages if usage.model not in ("overlap", "overlap-pruner")]
    parts = (len(usages), sum(u.tokens_in for u in usages), sum(u.tokens_out for u in usages))
    return Expected(*(part / max(1, len(some)) for part in parts))


def failure(work: Callable[[], Any]) -> str:
    """Why ``work`` cannot be done, in one line; empty where it can."""
    try:
        work()
    except RagsieveError as error:
        return one_line(error, 300)
    return ""
