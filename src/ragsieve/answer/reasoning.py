"""Reasoning step by step, after worked examples from other domains than the question's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragsieve.answer.demonstrations import Demonstration
from ragsieve.answer.parts import bare, parts, schema, text
from ragsieve.answer.reader import FRAME, TURN, Reader
from ragsieve.datasets.local import lines, parse_record
from ragsieve.errors import BadReply, InputError, ModelError
from ragsieve.models.base import LLM, Embedder, complete_parsed
from ragsieve.pipeline import fit
from ragsieve.trace import note
from ragsieve.types import Answer, Document, Query, Segment, rounded

POOL = Path(__file__).with_name("reasoning.jsonl")
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
_NAMED = re.compile(r"((the )?(final )?answer( is)?|reasoning)[ *_]*:[ *_]*", re.IGNORECASE)
_OPENED = re.compile(rf'\s*\{{\s*"({_REASONING}|{_ANSWER})"\s*:\s*"')
_NOTHING = Segment.whole(Document("", ""))


@dataclass(frozen=True)
class Shown:
    """A worked example and the domain it is from."""

    domain: str
    demonstration: Demonstration


def read_pool(path: str = "") -> tuple[Shown, ...]:
    """Worked examples with their domains: ragsieve's own fifteen, or those of a file.

    Args:
        path: A file in the schema of `ragsieve.datasets.local`, each line with an answer, a
            ``domain`` in its ``metadata``, and a ``rationale`` there; empty for ragsieve's own:
            three a domain, one that is answered, one with a false premise ("invalid question") and
            one whose documents do not say enough ("I don't know"), all of things made up.

    Raises:
        InputError: If the file or a line of it breaks a rule, or there is no line.
    """
    file = Path(path) if path else POOL
    found = []
    for number, line in lines(file):
        try:
            found.append(_parse(line))
        except InputError as error:
            raise InputError(f"{file}, line {number}: {error}") from error
    if not found:
        raise InputError(f"pool must hold at least one example, got none in {str(file)!r}")
    return tuple(found)


def _parse(line: bytes) -> Shown:
    example = parse_record(line)
    if not example.answers:
        raise InputError("a worked example must have an answer, got none in answers")
    said = [example.metadata.get(name) for name in ("domain", "rationale")]
    for name, value in zip(("domain", "rationale"), said, strict=True):
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"metadata of an example must have a {name}, got {value!r:.80}")
    domain, rationale = map(str, said)
    shown = Demonstration(example.query.text, example.answers[0], rationale, example.documents)
    return Shown(domain, shown)


@dataclass(frozen=True)
class Reasoning:
    """Reasons step by step from the kept segments, after examples of other domains; then answers.

    The reply has two named parts, as lines or as the JSON object that a backend can be held to: the
    reasoning and the final answer, which is "I don't know" where the evidence is not enough and
    "invalid question" where the question rests on a false premise. A reply without these parts is
    asked for once more; where that is no better, its last line counts, and the trace says so.
    `Answer.text` is the final answer, `Answer.reply` all of it. Without evidence the model answers
    from what it knows, and no example is shown.

    Examples are taken in turn from the domains that follow the question's own in the pool, the
    first of one domain, the second of the next: with ragsieve's own pool an answered one, a false
    premise, one that cannot be known.

    Args:
        llm: The generator; its replies are greedy, as at temperature 0.
        embedder: Guesses a question's domain: the one whose description it is nearest to, by
            cosine. Without one, or where it fails, the domain is ``domain``.
        domain: Of every question, where there is no embedder; where it is none of the pool's,
            examples are of any domain.
        examples: How many are shown, from 0 to 3.
        same_domain: Whether they are of the question's own domain instead.
        cot: Whether the model reasons before it answers.
        max_tokens: Tokens of a reply; at least 1.
        pool: A file of one's own, as `read_pool` takes it.

    Raises:
        InputError: If an option or a line of the file breaks its rule, or the pool has fewer
            examples of the question's domain, or of others, than are asked for.
        ModelError: If a model fails; `ContextOverflow` if not even the question fits.

    Source: PruningRAG (arXiv 2409.13694), section 4.3, figure 3; Table 5; 500 tokens: section A.2.
    Differs: The prompt is in our own words, and so are the examples; the paper does not say how it
        knows a question's domain, which CRAG's data tell.
    """

    llm: LLM
    embedder: Embedder | None = None
    domain: str = field(default="", kw_only=True)
    examples: int = field(default=3, kw_only=True)
    same_domain: bool = field(default=False, kw_only=True)
    cot: bool = field(default=True, kw_only=True)
    max_tokens: int = field(default=500, kw_only=True)
    pool: str = field(default="", kw_only=True)
    _pool: tuple[Shown, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.examples <= 3:
            raise InputError(f"examples must lie in [0, 3], got {self.examples!r}")
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, got {self.max_tokens!r}")
        object.__setattr__(self, "_pool", read_pool(self.pool))

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        return self.read(query, segments)[0]

    def read(self, query: Query, segments: Sequence[Segment], /) -> tuple[Answer, bool]:
        """The answer, and whether the reply had its parts."""
        reader = self._reader(query) if segments else self._plain()
        read = self._fitting(reader, query, segments)
        prompt = reader.messages(query, read)
        names = (_REASONING, _ANSWER) if self.cot else (_ANSWER,)

        def parse(reply: str) -> tuple[str, str]:
            answer = bare(text(parts(reply, names)[_ANSWER], _ANSWER, reply))
            if not answer:
                raise BadReply(f"text as {_ANSWER}, not blank", reply)
            return answer, reply

        chars = {_REASONING: 2 * self.max_tokens, _ANSWER: ANSWER}  # half the tokens are enough
        form = schema({name: {"type": "string", "maxLength": chars[name]} for name in names})
        (found,) = complete_parsed(
            self.llm, [prompt], parse, max_tokens=self.max_tokens, schema=form
        )
        if isinstance(found, BadReply):
            note(f"unreadable twice, so the last line is the answer: {found}")
            return Answer(_last_line(found.text), tuple(read), found.text), False
        return Answer(found[0], tuple(read), found[1]), True

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which ``segments`` stand in the prompt."""
        return self._plain().context(segments)

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the generator's own tokenizer."""
        return self.llm.count(texts)

    def domain_of(self, query: Query) -> str:
        """The question's domain: given, or guessed by the embedder."""
        if self.embedder is None:
            return self.domain
        names = list(dict.fromkeys(shown.domain for shown in self._pool))
        about = [f"{name}: {DOMAINS.get(name, '')}" for name in names]
        try:
            asked = self.embedder.embed([query.text], query=True)[0]  # (dim,)
            near = self.embedder.embed(about) @ asked  # (n_domains,)
        except ModelError as error:
            note(f"the question's domain is not known: {error}")
            return self.domain
        return max(zip(names, near, strict=True), key=lambda pair: rounded(pair[1]))[0]

    def shown(self, query: Query) -> list[Demonstration]:
        """The worked examples that stand before this question."""
        if not self.examples:
            return []
        domain = self.domain_of(query)
        names = list(dict.fromkeys(shown.domain for shown in self._pool))
        begin = names.index(domain) if domain in names else -1
        after = [*names[begin + 1 :], *names[: begin + 1]]  # the question's own comes last
        if domain in names:
            after = [domain] if self.same_domain else after[:-1]
        groups = [[s.demonstration for s in self._pool if s.domain == name] for name in after]
        found: list[Demonstration] = []
        for place in range(max(map(len, groups), default=0) * len(groups)):
            one, turns = place % len(groups), place // len(groups)
            turn = groups[one][(one + turns) % len(groups[one])]
            if turn not in found:
                found.append(turn)
        if len(found) < self.examples:
            which = f"{'of' if self.same_domain else 'other than'} domain {domain!r}"
            raise InputError(
                f"examples must be at most the {len(found)} of the pool {which}, "
                f"got {self.examples!r}"
            )
        return found[: self.examples]

    def _plain(self) -> Reader:
        template = "reasoning" if self.cot else "reasoning_short"
        return Reader(
            self.llm, self.max_tokens, template, f"{template}_closed", answer_after=f"{_ANSWER}:"
        )

    def _reader(self, query: Query) -> Reader:
        """What asks the question: with its examples, as many as leave room for evidence."""
        shown = self.shown(query)
        if self.cot:
            shown = [replace(d, rationale=f"{_REASONING}: {d.rationale}") for d in shown]
        else:
            shown = [replace(d, rationale="") for d in shown]
        plain = self._plain()
        for most in range(len(shown), 0, -1):
            reader = replace(plain, examples=tuple(shown[:most]))
            if self._room(reader, query) >= self.llm.context // 4:
                return reader
            note(f"{most} examples leave too little of the context to the evidence: one less")
        return plain

    def _room(self, reader: Reader, query: Query) -> int:
        """Tokens that are left to the evidence."""
        frame = reader.messages(query, [_NOTHING])
        taken = sum(self.count([message.content for message in frame]))
        return self.llm.context - self.max_tokens - FRAME - TURN * len(frame) - taken

    def _fitting(self, reader: Reader, query: Query, segments: Sequence[Segment]) -> list[Segment]:
        room = max(0, self._room(reader, query))
        kept = fit(segments, room, reader) if segments else []
        if len(kept) < len(segments):
            note(f"{len(segments) - len(kept)} segments do not fit the context of {room} tokens")
        return kept


def _last_line(reply: str) -> str:
    """The last line that says something, without the name before it."""
    reply = _OPENED.sub("", reply)  # a JSON object that was cut off
    said = [bare(line.strip("*_#> \t")) for line in reply.splitlines() if line.strip(" \t*_#>-")]
    last = said[-1] if said else ""
    name = _NAMED.match(last)
    return bare(last[name.end() :] if name else last) or last
