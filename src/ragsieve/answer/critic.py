"""Compares rival answers: which say the same, which are wrong, which stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ragsieve.answer.agent import Argument
from ragsieve.answer.parts import NONE, bare, number_lists, parts, schema, text
from ragsieve.errors import BadReply, InputError
from ragsieve.models.base import LLM, complete_parsed
from ragsieve.prompts import quoted, render
from ragsieve.trace import note
from ragsieve.types import Query

_SAME = ("Unique answers", "Duplicate answers")
_JUDGED = ("Incorrect answers", "Explanation", "Consistent answer")
_YES = re.compile(
    r"[*_\"]*yes[*_\"]*(?: *[:,;.–—]+[*_]*| -+ | +(?=[*_\"\[]))(.*)", re.IGNORECASE | re.DOTALL
)
_NO = re.compile(
    r"[*_\"]*no[*_\"]*(?: *[:,;.(–—](?! *\d).*| -+ .*| (?:\w+ ){0,2}(?:answer|agreement)\b.*)?",
    re.IGNORECASE,
)
_DOUBT = re.compile(  # neither an answer nor "no"
    r"^[*_\"]*yes\b|n['’]t\b"
    r"|\b(?:no|not|none|cannot|unable|unclear|unknown|uncertain|disagree|inconclusive)\b",
    re.IGNORECASE,
)
_CHARS = {"answer": 100, "explanation": 300}  # where a reply can be held to them


@dataclass(frozen=True)
class Judgement:
    """What a critic makes of rival arguments.

    Args:
        incorrect: Places of those that are wrong, from 0, rising.
        explanation: Why.
        answer: The answer on which the others agree; None where they do not.
    """

    incorrect: tuple[int, ...] = ()
    explanation: str = ""
    answer: str | None = None


class Judge(Protocol):
    """Who compares rival answers."""

    def same(self, query: Query, answers: Sequence[str], /) -> list[list[int]]:
        """Places of answers in groups that say the same, each place once."""

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Which of the arguments are wrong, why, and what the others agree on."""

    def pick(self, query: Query, answers: Sequence[str], /) -> int:
        """Place of the answer that is right."""


@dataclass(frozen=True)
class Critic:
    """An LLM that compares rival answers; it sees each as a JSON string behind its number.

    Replies are held to a form where the model can be; one that cannot be read is asked for once
    more. Where that fails, too, no two answers are taken for the same, and none for incorrect.

    Args:
        llm: Judges.
        max_tokens: Tokens of a reply; at least 1.

    Raises:
        InputError: If ``max_tokens`` is below 1.
        ModelError: If the model fails, or the arguments do not fit its context.

    Source: WinnowRAG (arXiv 2511.04700), appendix D.3 and D.4.
    """

    llm: LLM
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, got {self.max_tokens!r}")

    def same(self, query: Query, answers: Sequence[str], /) -> list[list[int]]:
        """Places of answers in groups that say the same, by first place; each place once."""
        most = len(answers)
        number = {"type": "integer", "minimum": 1, "maximum": most}
        pair = {"type": "array", "items": number, "minItems": 2, "maxItems": most}
        written = {"type": "string", "maxLength": _CHARS["answer"]}
        form = {
            "Unique answers": {"type": "array", "items": written, "maxItems": most},
            "Duplicate answers": {"type": "array", "items": pair, "maxItems": most // 2},
        }
        prompt = render(
            "critic_same", question=query.text, most=str(most), answers=_listed(answers)
        )
        reply = complete_parsed(
            self.llm,
            [prompt],
            lambda reply: _duplicates(reply, most),
            max_tokens=self.max_tokens,
            schema=schema(form),
        )[0]
        if isinstance(reply, BadReply):
            note(f"unreadable twice, so no two answers count as the same: {reply}")
            return [[place] for place in range(most)]
        return reply

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Which of the arguments are wrong, why, and what the others agree on."""
        most = len(arguments)
        number = {"type": "integer", "minimum": 1, "maximum": most}
        form: dict[str, dict[str, Any]] = {
            "Incorrect answers": {"type": "array", "items": number, "maxItems": most},
            "Explanation": {"type": "string", "maxLength": _CHARS["explanation"]},
            "Consistent answer": {
                "type": "string",
                "pattern": f"^(no|yes: .{{1,{_CHARS['answer']}}})$",
            },
        }
        prompt = render(
            "critic_judge",
            question=query.text,
            most=str(most),
            responses="\n".join(_response(n, a) for n, a in enumerate(arguments, 1)),
        )
        reply = complete_parsed(
            self.llm,
            [prompt],
            lambda reply: _judgement(reply, most),
            max_tokens=self.max_tokens,
            schema=schema(form),
        )[0]
        if isinstance(reply, BadReply):
            note(f"unreadable twice, so none is incorrect and no answer stands: {reply}")
            return Judgement()
        return reply

    def pick(self, query: Query, answers: Sequence[str], /) -> int:
        """Place of the answer that is right: the most probable number, else the one written."""
        most = len(answers)
        prompt = render(
            "critic_pick", question=query.text, most=str(most), answers=_listed(answers)
        )
        if "choose" in self.llm.can:
            odds = self.llm.choose([prompt], [[str(n) for n in range(1, most + 1)]])[0]
            return max(range(most), key=lambda place: odds[place])
        form = {"type": "integer", "minimum": 1, "maximum": most}
        reply = complete_parsed(
            self.llm, [prompt], lambda reply: _place(reply, most), max_tokens=8, schema=form
        )[0]
        if isinstance(reply, BadReply):
            note(f"unreadable twice, so the first answer stands: {reply}")
            return 0
        return reply


def _listed(answers: Sequence[str]) -> str:
    return "\n".join(f"Answer [{n}]: {quoted(answer)}" for n, answer in enumerate(answers, 1))


def _response(number: int, argument: Argument) -> str:
    return (
        f"Response [{number}]: Answer: {quoted(argument.answer)}; "
        f"Evidence: {quoted(argument.evidence)}; Explanation: {quoted(argument.explanation)}"
    )


def _duplicates(reply: str, most: int) -> list[list[int]]:
    """All places in groups; lists that share a number are one group."""
    group = list(range(most))
    name = _SAME[1]
    lists = number_lists(parts(reply, _SAME)[name], name, reply, most)
    if lists and all(len(numbers) == 1 for numbers in lists):  # each a group, or all one group?
        raise BadReply(f"lists of at least two numbers as {name}", reply)
    for numbers in lists:
        joined = {group[number - 1] for number in numbers}
        group = [min(joined) if mine in joined else mine for mine in group]
    return [[p for p in range(most) if group[p] == first] for first in sorted(set(group))]


def _judgement(reply: str, most: int) -> Judgement:
    incorrect, explanation, consistent = parts(reply, _JUDGED).values()
    lists = number_lists(incorrect, _JUDGED[0], reply, most)
    wrong = sorted({number - 1 for numbers in lists for number in numbers})
    answer = _consistent(consistent, reply)
    if answer and len(wrong) == most:
        note(f"all are called incorrect, so no answer can stand, and {quoted(answer)} does not")
        answer = None
    return Judgement(tuple(wrong), text(explanation, _JUDGED[1], reply), answer)


def _consistent(value: Any, reply: str) -> str | None:
    """The answer behind "yes", or alone, as the paper's form has it; None where there is none."""
    said = bare("no" if value is None else text(value, _JUDGED[2], reply))
    if _NO.fullmatch(said) or (said and said.rstrip(".").lower() in NONE):
        return None
    agreed = _YES.fullmatch(said)
    answer = bare(agreed[1]) if agreed else said
    doubted = answer.rstrip(".").lower() in NONE if agreed else _DOUBT.search(answer)
    if doubted or not any(map(str.isalnum, answer)):
        raise BadReply(f'"no", or "yes: " and the answer as {_JUDGED[2]}', reply)
    return answer


def _place(reply: str, most: int) -> int:
    lists = number_lists(reply, "the only reply", reply, most)
    if [len(numbers) for numbers in lists] != [1]:
        raise BadReply(f"one number from 1 to {most}", reply)
    return lists[0][0] - 1
