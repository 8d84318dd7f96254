"""Step-by-step reasoning after worked examples from other domains."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from msgspec import Meta

from ragsieve.answer import Reader
from ragsieve.errors import BadReply, ModelError
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.wrap import unwrap
from ragsieve.schema import Count, Options
from ragsieve.system import Pipeline, System
from ragsieve.trace import note
from ragsieve.types import Answer, Query, Segment, StageResult, rounded
from ragsieve_research.answer.demonstrations import reasoning_examples
from ragsieve_research.answer.examples import Demonstration, ExampleReader, answer_line, last_line
from ragsieve_research.answer.parts import schema
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.replies import Field, read_fields

DOMAINS = {
    "finance": "companies, shares, prices, money",
    "movie": "films, actors, directors, awards",
    "music": "songs, bands, albums, singers",
    "sports": "players, teams, matches, tournaments",
    "open": "history, places, people, science, products, anything else",
}
"""CRAG's five domains, and what they are about."""

ANSWER = 200  # characters of an answer, where a reply can be held to that

_REASONING, _ANSWER = "Reasoning", "Answer"


@dataclass(frozen=True)
class Reasoning(Options):
    """Reasons step by step from the kept segments, after examples of other domains; then answers.

    The reply has two named parts, as lines or as the JSON object that a backend can be held to: the
    reasoning and the final answer, which is "I don't know" where the evidence is not enough and
    "invalid question" where the question rests on a false premise. A reply without these parts is
    requested once more; where that is no better, its last line counts, and the trace says so.
    `Answer.text` is the final answer, `Answer.reply` all of it. Without evidence the model answers
    from what it knows, and no example is shown. Below a question that has a time the prompt says
    when it was asked, so that "last year" can be resolved.

    Examples are taken in turn from the domains that follow the question's own, the first of one
    domain, the second of the next: an answered one, a false premise, one that cannot be known.

    Args:
        llm: The generator; its replies are greedy, as at temperature 0.
        embedder: Guesses the domain of a question that does not tell it: the one whose description
            it is nearest to, by cosine. Without one, or where it fails, the domain is ``domain``.
        domain: Of every question; where it is none of CRAG's, examples are of any domain.
        examples: How many are shown, from 0 to 3.
        same_domain: Whether they are of the question's own domain instead.
        cot: Whether the model reasons before it answers; where None, unless it is a small local
            one, which the trace says.
        max_tokens: Tokens of a reply; at least 1.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If a model fails; `ContextOverflow` if not even the question fits.

    Source: PruningRAG (arXiv 2409.13694), section 4.3, figure 3; Table 5; 500 tokens: section A.2.
    Differs: The prompt is in our own words, and so are the examples; where the data tell no
        domain (CRAG's do), it is guessed.
    """

    llm: LLM
    embedder: Embedder | None = None
    domain: str = field(default="", kw_only=True)
    examples: Annotated[int, Meta(ge=0, le=3)] = field(default=3, kw_only=True)
    same_domain: bool = field(default=False, kw_only=True)
    cot: bool | None = field(default=None, kw_only=True)
    max_tokens: Count = field(default=500, kw_only=True)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        return self.read(query, segments)[0]

    def read(self, query: Query, segments: Sequence[Segment], /) -> tuple[Answer, bool]:
        """The answer, and whether the reply had its parts."""
        if self.cot is None and not self._reasons:
            note(
                "a small local model answers without steps, which make it worse; cot=True has them"
            )
        reader = self._reader(query) if segments else self._plain()
        read = reader.fitting(query, segments)
        prompt = reader.messages(query, read)
        names = (_REASONING, _ANSWER) if self._reasons else (_ANSWER,)
        field = Field("text, not blank", answer_line, (_ANSWER,), bare=not self._reasons)

        def parse(reply: str) -> tuple[str, str]:
            return str(read_fields(reply, field)[0]), reply

        chars = {_REASONING: 2 * self.max_tokens, _ANSWER: ANSWER}  # half the tokens are enough
        form = schema({name: {"type": "string", "maxLength": chars[name]} for name in names})
        (result,) = complete_parsed(
            self.llm, [prompt], parse, max_tokens=self.max_tokens, schema=form
        )
        if isinstance(result, BadReply):
            note(f"unreadable twice, so the last line is the answer: {result}")
            return Answer(last_line(result.text), tuple(read), result.text), False
        return Answer(result[0], tuple(read), result[1]), True

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which ``segments`` stand in the prompt."""
        return self._plain().context(segments)

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the generator's own tokenizer."""
        return self.llm.count(texts)

    def domain_of(self, query: Query) -> str:
        """The question's domain: ``domain``, its own, or guessed by the embedder."""
        names = list(reasoning_examples())
        if self.embedder is None or query.domain in names:
            return self.domain or query.domain
        about = [f"{name}: {DOMAINS.get(name, '')}" for name in names]
        try:
            question = self.embedder.embed([query.text], query=True)[0]  # (dim,)
            near = self.embedder.embed(about) @ question  # (n_domains,)
        except ModelError as error:
            note(f"the question's domain is not known: {error}")
            return self.domain
        return max(zip(names, near, strict=True), key=lambda pair: rounded(pair[1]))[0]

    def shown(self, query: Query) -> list[Demonstration]:
        """The worked examples that stand before this question."""
        if not self.examples:
            return []
        domain, known = self.domain_of(query), reasoning_examples()
        if self.same_domain and domain in known:
            return known[domain][: self.examples]
        names = [*known]
        begin = names.index(domain) if domain in names else -1
        others = [*names[begin + 1 :], *names[: max(0, begin)]]
        return [known[name][turn] for turn, name in enumerate(others[: self.examples])]

    @property
    def _reasons(self) -> bool:
        if self.cot is not None:
            return self.cot
        return not getattr(unwrap(self.llm), "is_small", False)  # a local LLM of few weights

    def _plain(self) -> ExampleReader:
        template = "reasoning" if self._reasons else "reasoning_short"
        return ExampleReader(
            self.llm, self.max_tokens, template, f"{template}_closed", answer_after=f"{_ANSWER}:"
        )

    def _reader(self, query: Query) -> ExampleReader:
        """The reader of the question, with the examples that leave it a quarter of the context."""
        shown = self.shown(query)
        if self._reasons:
            shown = [replace(d, rationale=f"{_REASONING}: {d.rationale}") for d in shown]
        else:
            shown = [replace(d, rationale="") for d in shown]
        plain = self._plain()
        for most in range(len(shown), 0, -1):
            reader = replace(plain, examples=tuple(shown[:most]))
            if reader.budget(query) >= self.llm.context // 4:
                return reader
            note(f"{most} examples leave too little of the context to the evidence: one less")
        return plain


class _Evidence(Pipeline):
    """Stages whose answers do not count."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        kept = super().__call__(query, segments)
        return StageResult(kept, found=kept.found)


def evaluated(system: System) -> System:
    """The same, answering by the prompt of CRAG's evaluation where it has a plain reader.

    So a table compares what systems keep, and not their prompts; a stage's own answer goes.
    """
    if not isinstance(system.reader, Reader):
        return system
    reader = Reasoning(system.reader.llm, examples=0, cot=False)
    return replace(system, stage=_Evidence(system.stage), reader=reader)
