"""The critic of a debate: merges equal answers, rejects wrong ones, names the one that stands."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Protocol, TypeVar, runtime_checkable

from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render
from ragsieve.schema import Count, Options
from ragsieve.trace import note
from ragsieve.types import Query, rounded
from ragsieve_research.answer.agent import Argument
from ragsieve_research.answer.parts import agree, is_answer, plain, same_answers, schema
from ragsieve_research.models.choices import odds, reply_tokens
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import (
    Field,
    groups,
    numbers,
    paragraph,
    read_fields,
    text,
    texts,
    unquoted,
)
from ragsieve_research.prompts import begun, fitting, quoted, words_in

T = TypeVar("T")
Form = Mapping[str, Mapping[str, Any]]  # JSON schemas of the parts of a reply, by name

_SAME = ("Unique answers", "Duplicate answers")
_JUDGED = ("Incorrect answers", "Explanation", "Consistent answer")
_AGREED = "Agreed answer"  # behind a consistent answer's "yes", where a reply is held to a form
_CHARS = {"answer": 100, "explanation": 300}  # where a reply can be held to them
_SO = re.compile(r"(?:\w+,? )?(?:the )?(?:\w+ )?answer(?: is|:):? ", re.IGNORECASE)
PAIRED = 4
"""Different answers at most that are judged two by two."""
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
        disputed: Places that an unreadable reply said to agree, though their answers differ.
    """

    incorrect: tuple[int, ...] = ()
    explanation: str = ""
    answer: str | None = None
    readable: bool = True
    disputed: tuple[int, ...] = ()


@runtime_checkable
class Judge(Protocol):
    """A judge that compares rival answers."""

    def same(self, query: Query, answers: Sequence[str], /) -> list[list[int]]:
        """Places of answers in groups that say the same, each place once."""

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Judge which arguments are wrong, why, and what the others agree on."""

    def by_pairs(
        self, query: Query, arguments: Sequence[Argument], disputed: Sequence[int], /
    ) -> Judgement:
        """Judge rival answers two by two, where `judge` left some disputed."""

    def pick(self, query: Query, answers: Sequence[str], /) -> int | None:
        """Place of the answer that is right; None where no judgement could be read."""


@dataclass(frozen=True)
class Critic(Options):
    """An LLM that compares rival answers; it sees each as a JSON string behind its number.

    Replies are held to a form where the model can be; an unreadable one is requested once
    more. Where that fails, too, no two answers are taken for the same, and none for incorrect. A
    verdict cannot be read where what it calls consistent is the answer of an agent that it calls
    incorrect, or no answer, as "unknown", or not that of an agent that it does not call incorrect
    (short and long forms of one agree). Asked again, it sees those answers side by side; then they
    are judged two by two, in both orders, and one stands that is the more probable in all its
    pairs. Where those have no answer, none stands. Without "yes" an agent's own words are one.

    Args:
        llm: Judges.
        max_tokens: Tokens of a reply; at least 1.

    Raises:
        InputError: If ``max_tokens`` is below 1.
        ModelError: If the model fails, or the arguments do not fit its context.

    Source: WinnowRAG (arXiv 2511.04700), appendix D.3 and D.4.
    """

    llm: LLM
    max_tokens: Count = 512

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
        max_tokens = self._reply_tokens(form, 25 * most)  # each answer may be written once more
        prompt = self._fitting("critic_same", query, [Argument(a) for a in answers], max_tokens)
        reply = self._reply(prompt, max_tokens, form, lambda reply: _duplicates(reply, answers))
        alone = [[place] for place in range(most)]
        return readable(reply, alone, "no two answers count as the same")

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Judge which arguments are wrong, why, and what the others agree on."""
        answers, most = _given(arguments), len(arguments)
        number = {"type": "integer", "minimum": 1, "maximum": most}
        form: Form = {
            "Incorrect answers": {"type": "array", "items": number, "maxItems": most},
            "Explanation": {"type": "string", "maxLength": _CHARS["explanation"]},
            "Consistent answer": {"type": "string", "enum": ["no", "yes"]},
            _AGREED: {"type": "string", "maxLength": _CHARS["answer"]},
        }
        max_tokens = self._reply_tokens(form)
        prompt = self._fitting("critic_judge", query, arguments, max_tokens)
        reply = self._reply(prompt, max_tokens, form, lambda reply: _judgement(reply, answers))
        disputed = reply.places if isinstance(reply, _Disagreement) else ()
        none = Judgement(readable=False, disputed=disputed)
        return readable(reply, none, "none is incorrect and no answer stands")

    def by_pairs(
        self, query: Query, arguments: Sequence[Argument], disputed: Sequence[int], /
    ) -> Judgement:
        """Judge the different answers two by two; those disputed where they are over `PAIRED`.

        The probability of each is the mean over both orders, so that no place is preferred. An
        answer stands that is over 0.5 in all its pairs; the others are incorrect.
        """
        groups = rivals(_given(arguments), disputed)
        orders = [*permutations(range(len(groups)), 2)]
        prompts = [
            self._fitting("critic_pair", query, [arguments[groups[n][0]] for n in pair], _PICKED)
            for pair in orders
        ]
        rows = odds(self.llm, prompts, [("1", "2")] * len(prompts))
        first = {pair: row[0] for pair, row in zip(orders, rows, strict=True) if row}
        if first:
            mean = sum(first.values()) / len(first)
            note(f"{len(orders)} pairs of answers: the first place has {mean:.2f} on average")
        for n, group in enumerate(groups):
            others = [m for m in range(len(groups)) if m != n]
            known = all((n, m) in first and (m, n) in first for m in others)
            if known and all(rounded(first[n, m]) > rounded(first[m, n]) for m in others):
                wrong = sorted(place for m in others for place in groups[m])
                return Judgement(tuple(wrong), "", arguments[group[0]].answer)
        note("no answer is the more probable in all its pairs, so none stands")
        return Judgement(readable=False)

    def pick(self, query: Query, answers: Sequence[str], /) -> int | None:
        """Place of the answer that is right: the most probable number, else the one written.

        Probabilities are means over this order and the reverse, so that no place is preferred;
        None where none can be read or the orders have different ones.
        """
        given = [Argument(answer) for answer in answers]
        prompts = [
            self._fitting("critic_pick", query, some, _PICKED) for some in (given, given[::-1])
        ]
        numbers = [str(n) for n in range(1, len(answers) + 1)]
        there, back = odds(self.llm, prompts, [numbers] * 2)
        rows = [row for row in (there, back and back[::-1]) if row]
        sums = [rounded(sum(values)) for values in zip(*rows, strict=True)]
        best = [place for place, value in enumerate(sums) if value == max(sums)]
        if len(best) > 1:
            note("another order has another answer picked, so the critic picks none")
            return None
        return readable(best[0] if best else None, None, "the critic picks none")

    def _reply(
        self, prompt: Prompt, max_tokens: int, form: Form, parse: Callable[[str], T]
    ) -> T | BadReply:
        replies = complete_parsed(
            self.llm, [prompt], parse, max_tokens=max_tokens, schema=schema(form)
        )
        return replies[0]

    def _reply_tokens(self, form: Form, more: int = 0) -> int:
        """Tokens of a reply: so many more of text, but never over a third of the context."""
        tokens = reply_tokens(schema(form), self.max_tokens + more)
        return min(tokens, max(1, self.llm.context // 3))

    def _fitting(
        self, name: str, query: Query, arguments: Sequence[Argument], reply: int
    ) -> Prompt:
        """The prompt over all arguments, their texts cut where it would not fit the context."""
        row = _answer if name in ("critic_same", "critic_pick") else _response
        texts = [t for a in arguments for t in (a.answer, a.evidence, a.explanation)]

        def make(words: int) -> Prompt:
            rows = "\n".join(row(n, argument, words) for n, argument in enumerate(arguments, 1))
            return render(name, question=query.text, most=str(len(arguments)), answers=rows)

        most = max(_LEAST + 1, *map(words_in, texts))
        return fitting(self.llm, make, most, reply, least=_LEAST)


class _Disagreement(BadReply):
    """A verdict that says of agents at ``places`` that they agree, though their answers differ."""

    def __init__(self, rule: str, text: str, places: tuple[int, ...]) -> None:
        super().__init__(rule, text)
        self.places = places


def rivals(answers: Sequence[str], disputed: Sequence[int]) -> list[list[int]]:
    """Places of different answers, by `same_answers`; of those disputed, or none, over `PAIRED`."""
    groups = [group for group in same_answers(answers) if answers[group[0]]]
    if len(groups) > PAIRED:
        groups = [group for group in groups if {*group} & {*disputed}]
    return groups if len(groups) <= PAIRED else []


def _given(arguments: Sequence[Argument]) -> list[str]:
    """Answers of arguments, empty where they are none."""
    quoted = [f"{argument.evidence} {argument.explanation}" for argument in arguments]
    pairs = zip(arguments, quoted, strict=True)
    return [a.answer if is_answer(a.answer, evidence=said) else "" for a, said in pairs]


def _answer(number: int, argument: Argument, words: int) -> str:
    return f"Answer [{number}]: {begun(argument.answer, words)}"


def _response(number: int, argument: Argument, words: int) -> str:
    answer = f"Response [{number}]: Answer: {begun(argument.answer, words)}"
    if words == _LEAST:  # only the answers fit
        return answer
    evidence, explanation = begun(argument.evidence, words), begun(argument.explanation, words)
    made_up = "" if argument.quoted else " (in none of its documents)"
    return f"{answer}; Evidence{made_up}: {evidence}; Explanation: {explanation}"


def _duplicates(reply: str, answers: Sequence[str]) -> list[list[int]]:
    """All places in groups; lists that share a number are one group."""
    most = len(answers)
    group = list(range(most))
    rule = f"lists of at least two numbers from 1 to {most}"
    unique, lists = read_fields(
        reply,
        Field("a JSON list of the different ones", _listed, _SAME[:1]),
        Field(rule, groups(most, answers), _SAME[1:]),
    )
    for numbers_ in lists:
        joined = {group[number - 1] for number in numbers_}
        group = [min(joined) if member in joined else member for member in group]
    same = [[p for p in range(most) if group[p] == first] for first in sorted(set(group))]
    if lists and any(unique) and len(unique) != len(same):
        rule = f"as many {_SAME[0]} as the {_SAME[1]} leave: {len(unique)} are not {len(same)}"
        raise BadReply(rule, reply)
    return same


def _listed(value: Any) -> list[str]:
    """Texts of a JSON list, or between commas."""
    plainly = isinstance(value, str) and "[" not in value
    return re.split(r"\s*[,;\n]\s*", value.strip()) if plainly else texts(value)


def _judgement(reply: str, answers: Sequence[str]) -> Judgement:
    rule = f"a JSON list of numbers from 1 to {len(answers)}"
    incorrect, explanation, consistent = read_fields(
        reply,
        Field(rule, numbers(len(answers), answers), _JUDGED[:1]),
        Field("text", text, _JUDGED[1:2]),
        Field('"no", or "yes: " and the answer', _verdict, _JUDGED[2:]),
    )
    wrong = sorted(number - 1 for number in incorrect)
    answer = _consistent(consistent, answers, reply)
    right = [place for place in range(len(answers)) if place not in wrong]
    rival = [p for p in right if answers[p] and not agree(answers[p], answer or "")]
    if answer and rival:
        told = "; ".join(f"[{place + 1}] {quoted(answers[place])}" for place in right)
        rule = f"as {_JUDGED[2]} what all that are not among the {_JUDGED[0]} answer, or no: {told}"
        raise _Disagreement(rule, reply, tuple(right))
    if answer and _contradicts(answer, wrong, answers):
        rule = f"as {_JUDGED[2]} no answer of a response that is among the {_JUDGED[0]}"
        raise BadReply(rule, reply)
    if answer and not any(answers[place] for place in right):
        note(f"no response that stands has an answer, so {quoted(answer)} does not")
        answer = None
    return Judgement(tuple(wrong), explanation, answer)


def _contradicts(answer: str, wrong: Sequence[int], answers: Sequence[str]) -> bool:
    """Whether only agents that are called incorrect gave an answer, in its words or in longer."""
    plainly = [place for place, one in enumerate(answers) if plain(one) == plain(answer)]
    places = plainly or [place for place, one in enumerate(answers) if agree(one, answer)]
    return bool(places) and all(place in wrong for place in places)


def _verdict(value: Any) -> str:
    return ("no", "yes")[bool(value)] if value in (None, False, True) else paragraph(value)


def _consistent(written: str, answers: Sequence[str], reply: str) -> str | None:
    """The answer behind "yes", or in an agent's words; None for a "no"; all else is in doubt."""
    rest, known = written, {plain(one) for one in answers if one}
    if plain(written) not in known - {"yes", "no"}:
        yes = re.fullmatch(
            r"(yes|no|none|null)\b(?:\s*(?:[:,;–—*→-]+|\.(?=\s|$)))?(.*)",
            written,
            re.IGNORECASE | re.DOTALL,
        )
        if yes and yes[1].lower() != "yes":
            return None
        rest = unquoted(yes[2]) if yes else ""
        if lead := _SO.match(rest or written):
            rest = unquoted((rest or written)[lead.end() :])
        if yes and not rest:
            (rest,) = read_fields(
                reply, Field("the answer behind yes", paragraph, (_AGREED,), False)
            )
    if plain(rest) not in known and not is_answer(rest):
        raise BadReply(f'"no", or "yes: " and the answer as {_JUDGED[2]}', reply)
    return rest
