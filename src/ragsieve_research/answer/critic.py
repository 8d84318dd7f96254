"""The critic of a debate: merges equal answers, rejects wrong ones, names the one that stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from ragsieve.errors import BadReply, check_range
from ragsieve.models.base import LLM, Prompt, chosen, complete_parsed, readable
from ragsieve.prompts import begun, fitting, quoted, render, words_in
from ragsieve.trace import note
from ragsieve.types import Query
from ragsieve_research.answer.agent import Argument
from ragsieve_research.answer.parts import (
    agree,
    first_paragraph,
    is_answer,
    number_lists,
    parts,
    plain,
    schema,
    strip_enclosing,
    text,
)

T = TypeVar("T")
Form = Mapping[str, Mapping[str, Any]]  # JSON schemas of the parts of a reply, by name

_SAME = ("Unique answers", "Duplicate answers")
_JUDGED = ("Incorrect answers", "Explanation", "Consistent answer")
_CONSISTENT = re.compile(
    r"[*_\"]*(?:yes\b[*_\"]*(?:\s*[:,;.–—]+[*_]*\s+|\s+(?:-+\s+)?)(.*\w.*)"
    r"|(?:no|none|null|n/a)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_THAT = r"(?:\w+ )?(?:consistent|agreed|correct) answer"
_SO = re.compile(
    rf"(?:so |thus |therefore,? )?(?:(?:the |one )?{_THAT}|the answer) "
    r"(?:is|would be|can be derived|follows)[:,]? ?",
    re.IGNORECASE,
)
_IS = re.compile(rf" is the {_THAT}\W*$", re.IGNORECASE)
_CHARS = {"answer": 100, "explanation": 300}  # where a reply can be held to them
_PICKED = 48  # tokens of a number as the reply
_LEAST = 4  # words of a text that the critic is shown in any case


@dataclass(frozen=True)
class Judgement:
    """A critic's verdict on rival arguments.

    Args:
        incorrect: Places of those that are wrong, from 0, rising.
        explanation: Why.
        answer: The answer on which the others agree; None where they do not.
        readable: Whether the critic's reply could be read; if not, the rest says nothing.
    """

    incorrect: tuple[int, ...] = ()
    explanation: str = ""
    answer: str | None = None
    readable: bool = True


@runtime_checkable
class Judge(Protocol):
    """A judge that compares rival answers."""

    def same(self, query: Query, answers: Sequence[str], /) -> list[list[int]]:
        """Places of answers in groups that say the same, each place once."""

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Judge which arguments are wrong, why, and what the others agree on."""

    def pick(self, query: Query, answers: Sequence[str], /) -> int | None:
        """Place of the answer that is right; None where no judgement could be read."""


@dataclass(frozen=True)
class Critic:
    """An LLM that compares rival answers; it sees each as a JSON string behind its number.

    Replies are held to a form where the model can be; an unreadable one is requested once
    more. Where that fails, too, no two answers are taken for the same, and none for incorrect. A
    verdict cannot be read where what it calls consistent is the answer of an agent that it calls
    incorrect, or no answer, as "unknown". Without "yes" an agent's own words are an answer.

    Args:
        llm: Judges.
        max_tokens: Tokens of a reply; at least 1.

    Raises:
        InputError: If ``max_tokens`` is below 1.
        ModelError: If the model fails, or the arguments do not fit its context.

    Source: WinnowRAG (arXiv 2511.04700), appendix D.3 and D.4.
    """

    llm: LLM
    max_tokens: int = 512

    def __post_init__(self) -> None:
        check_range(self, max_tokens=(1, None))

    def same(self, query: Query, answers: Sequence[str], /) -> list[list[int]]:
        """Places of answers in groups that say the same, by first place; each place once."""
        most = len(answers)
        number = {"type": "integer", "minimum": 1, "maximum": most}
        pair = {"type": "array", "items": number, "minItems": 2, "maxItems": most}
        written = {"type": "string", "maxLength": _CHARS["answer"]}
        form: Form = {
            "Unique answers": {"type": "array", "items": written, "maxItems": most},
            "Duplicate answers": {"type": "array", "items": pair, "maxItems": most // 2},
        }
        max_tokens = self._reply_tokens(40 * most)  # each answer may be written once more
        prompt = self._fitting("critic_same", query, [Argument(a) for a in answers], max_tokens)
        reply = self._reply(prompt, max_tokens, form, lambda reply: _duplicates(reply, most))
        alone = [[place] for place in range(most)]
        return readable(reply, alone, "no two answers count as the same")

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Judge which arguments are wrong, why, and what the others agree on."""
        answers, most = [argument.answer for argument in arguments], len(arguments)
        number = {"type": "integer", "minimum": 1, "maximum": most}
        form: Form = {
            "Incorrect answers": {"type": "array", "items": number, "maxItems": most},
            "Explanation": {"type": "string", "maxLength": _CHARS["explanation"]},
            "Consistent answer": {
                "type": "string",
                "pattern": f"^(no|yes: .{{1,{_CHARS['answer']}}})$",
            },
        }
        max_tokens = self._reply_tokens(4 * most)
        prompt = self._fitting("critic_judge", query, arguments, max_tokens)
        reply = self._reply(prompt, max_tokens, form, lambda reply: _judgement(reply, answers))
        none = Judgement(readable=False)
        return readable(reply, none, "none is incorrect and no answer stands")

    def pick(self, query: Query, answers: Sequence[str], /) -> int | None:
        """Place of the answer that is right: the most probable number, else the one written."""
        most = len(answers)
        prompt = self._fitting("critic_pick", query, [Argument(a) for a in answers], _PICKED)
        number = chosen(self.llm, prompt, range(1, most + 1))
        return readable(number and number - 1, None, "the critic picks none")

    def _reply(
        self, prompt: Prompt, max_tokens: int, form: Form, parse: Callable[[str], T]
    ) -> T | BadReply:
        replies = complete_parsed(
            self.llm, [prompt], parse, max_tokens=max_tokens, schema=schema(form)
        )
        return replies[0]

    def _reply_tokens(self, more: int) -> int:
        """Tokens of a reply: so many more, but never over a third of the context."""
        return min(self.max_tokens + more, max(1, self.llm.context // 3))

    def _fitting(
        self, name: str, query: Query, arguments: Sequence[Argument], reply: int
    ) -> Prompt:
        """The prompt over all arguments, their texts cut where it would not fit the context."""
        row = _response if name == "critic_judge" else _answer
        texts = [t for a in arguments for t in (a.answer, a.evidence, a.explanation)]

        def make(words: int) -> Prompt:
            rows = "\n".join(row(n, argument, words) for n, argument in enumerate(arguments, 1))
            return render(name, question=query.text, most=str(len(arguments)), answers=rows)

        most = max(_LEAST + 1, *map(words_in, texts))
        return fitting(self.llm, make, most, reply, least=_LEAST)


def _answer(number: int, argument: Argument, words: int) -> str:
    return f"Answer [{number}]: {begun(argument.answer, words)}"


def _response(number: int, argument: Argument, words: int) -> str:
    answer = f"Response [{number}]: Answer: {begun(argument.answer, words)}"
    if words == _LEAST:  # only the answers fit
        return answer
    evidence, explanation = begun(argument.evidence, words), begun(argument.explanation, words)
    return f"{answer}; Evidence: {evidence}; Explanation: {explanation}"


def _duplicates(reply: str, most: int) -> list[list[int]]:
    """All places in groups; lists that share a number are one group."""
    group = list(range(most))
    name = _SAME[1]
    lists = number_lists(parts(reply, _SAME)[name], name, reply, most)
    if lists and all(len(numbers) == 1 for numbers in lists):  # each a group, or all one group?
        raise BadReply(f"lists of at least two numbers as {name}", reply)
    for numbers in lists:
        joined = {group[number - 1] for number in numbers}
        group = [min(joined) if member in joined else member for member in group]
    return [[p for p in range(most) if group[p] == first] for first in sorted(set(group))]


def _judgement(reply: str, answers: Sequence[str]) -> Judgement:
    incorrect, explanation, consistent = parts(reply, _JUDGED).values()
    lists = number_lists(incorrect, _JUDGED[0], reply, len(answers))
    wrong = sorted({number - 1 for numbers in lists for number in numbers})
    answer = _consistent(consistent, answers, reply)
    if answer and _contradicts(answer, wrong, answers):
        rule = f"as {_JUDGED[2]} no answer of a response that is among the {_JUDGED[0]}"
        raise BadReply(rule, reply)
    if answer and len(wrong) == len(answers):
        note(f"all are called incorrect, so no answer can stand, and {quoted(answer)} does not")
        answer = None
    return Judgement(tuple(wrong), text(explanation, _JUDGED[1], reply), answer)


def _contradicts(answer: str, wrong: Sequence[int], answers: Sequence[str]) -> bool:
    """Whether only agents that are called incorrect gave an answer, in its words or in longer."""
    plainly = [place for place, one in enumerate(answers) if plain(one) == plain(answer)]
    places = plainly or [place for place, one in enumerate(answers) if agree(one, answer)]
    return bool(places) and all(place in wrong for place in places)


def _consistent(value: Any, answers: Sequence[str], reply: str) -> str | None:
    """The answer behind "yes", or in an agent's words; None for a "no"; all else is in doubt."""
    written = strip_enclosing("no" if value is None else first_paragraph(value, _JUDGED[2], reply))
    known = {plain(one) for one in answers} - {"yes", "no"}
    verdict = _CONSISTENT.fullmatch(written)
    rest = strip_enclosing(verdict[1]) if verdict and verdict[1] else written
    lead = _SO.match(rest)
    answer = strip_enclosing(rest[lead.end() :]) if lead else _IS.sub("", rest)
    if verdict and not verdict[1] and plain(written) not in known:
        return None
    if not (verdict or lead or plain(written) in known) or not is_answer(answer):
        raise BadReply(f'"no", or "yes: " and the answer as {_JUDGED[2]}', reply)
    return answer
