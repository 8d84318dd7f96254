"""Parse replies in named parts: a line ``Name: value`` for each, or a JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.errors import BadReply
from ragsieve.text import contains_answer, normalise
from ragsieve.trace import note
from ragsieve_research.prompts.replies import parse_lists, strip_fence, strip_marks

NONE = ("", "-", "none", "n/a", "null")
_WRAPPED = re.compile(r"(\*{1,3}|_{1,3}|[\"`])((?:(?!\1).)+)\1|\[([^\[\]]+)\]", re.DOTALL)
_FINAL = re.compile(
    r"^([ \t>#*_-]*|.*\"|.*[.!?;,*] )(?:so )?(?:the )?final[ _]answer(?: is)?"
    r"(?=[ \t*_]*:|\"\s*:)",
    re.IGNORECASE | re.MULTILINE,
)
_JOINED = re.compile(r"_|(?<=[a-z])(?=[A-Z])")  # words of a member's name
_STATE = (
    r"(?:un(?:known|clear|certain|determined|decided|specified|answerable|available)|inconclusive"
    r"|(?:only )?(?:partly|partially|in part)(?: (?:so|correct|consistent|true))?"
    r"|not (?:clear|known|certain|sure|given|stated|specified|mentioned|provided|available))"
)
_NO_ANSWER = re.compile(
    rf"|[\W_]+|none|null|n/a|nothing|maybe|perhaps|it depends|(?:(?:it|the answer) is )?{_STATE}"
    r"|(?:there (?:is|was) )?no (?:\w+ ){0,3}(?:answer|agreement|consensus|information)\b.*"
    r"|(?:insufficient|not enough) (?:information|evidence|context|data)\b.*"
    r"|(?:(?:it|this|the (?:\w+ )?answer) )?(?:cannot|can not|can't|could not|couldn't) be "
    r"(?:answered|derived|determined|established|found|inferred|known)\b.*"
    r"|(?:i|we|they|(?:the )?(?:other|remaining|others|answers|responses)) "
    r"(?:differ|disagree|(?:do not|don't|cannot|can't) (?:agree|answer|determine|know|say))\b.*"
    r"|but\b.*"
    r"|(?:the |these |my )?(?:documents?|sources?|text) (?:do|does|did)(?:n't| not)\b.*"
)
_NO_NAMES = {  # what makes another answer of one
    *("and", "or", "not", "no", "nor", "but", "yes", "true", "false", "either", "neither", "non"),
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first"),
    *("second", "third", "part", "volume", "jr", "sr", "junior", "senior"),
}
_REGIONS = {  # "New York" is not York
    *("new", "old", "north", "south", "east", "west", "northern", "southern", "eastern"),
    *("western", "central", "upper", "lower"),
}


def schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON schema of an object with these parts, all of them, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def parts(reply: str, names: Sequence[str]) -> dict[str, Any]:
    """The parts of a reply by name: what a JSON object says, or the text behind each name.

    A name opens a part at the start of a line; a part goes on until the next one. What a document
    says cannot pass for a part: a name that comes twice makes the whole unreadable. Where no line
    does, there may be prose around a JSON object, and more members in it. A "Final answer" is an
    answer.

    Raises:
        BadReply: If a part is missing or comes twice.
    """
    body = strip_fence(reply)
    if "Answer" in names:
        body = _FINAL.sub(r"\1Answer", body)
    named = [] if body.lstrip().startswith("{") else _lines(_broken(body, names), names)
    if not named:
        members = _members(body, names)
        named = [(name, members[name.lower()]) for name in names if name.lower() in members]
    values = {name.lower(): value for name, value in named}
    if not len(named) == len(values) == len(names):
        raise BadReply(f"the parts {', '.join(names)}, each once", reply)
    return {name: values[name.lower()] for name in names}


def member(reply: str, name: str) -> str:
    """A member of the JSON object that a reply is, as text; empty where it has none."""
    value = _members(strip_fence(reply), [name]).get(name.lower())
    return value if isinstance(value, str) else ""


def _broken(body: str, names: Sequence[str]) -> str:
    """A body with a line for each of its parts, of which some follow others on one line."""
    missing = {name.lower() for name in names} - {name.lower() for name, _ in _lines(body, names)}
    if not missing or len(missing) == len(names):
        return body
    either = "|".join(map(re.escape, sorted(missing)))
    return re.sub(rf"(?<=[.!?;,*])[ \t]+(?=[*_]*(?:{either})[*_]*:)", "\n", body, flags=re.I)


def _members(body: str, names: Sequence[str]) -> dict[str, Any]:
    """Members of the only JSON object by lower-case name; none where there are two verdicts."""
    try:
        value, end = _DECODER.raw_decode(body, body.index("{"))
    except (ValueError, RecursionError):
        return {}
    members = {_JOINED.sub(" ", name).strip().lower(): member for name, member in value.items()}
    alone = "{" not in body[end:] and not _lines(body[end:], names)
    return members if alone and len(members) == len(value) else {}


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) < len(members):
        raise ValueError("a name comes twice")
    return dict(members)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, strict=False)


def _lines(body: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Names that open a line, each with the text until the next one; a line may be in bold.

    A heading, or a line in bold, needs no colon where it is a name alone.
    """
    alone = r"(?(heading)[ \t*_#]*$|(?(bold)[*_]+[ \t]*$|(?!)))"
    pattern = re.compile(
        r"^(?:[ \t>-]|\*[ \t])*+(?P<heading>#)?(?:[ \t>#-]|\*[ \t])*+"
        r"(?:\d+[.)][ \t]*+)?(?P<bold>[*_]+)?[ \t]*"
        rf"(?P<name>{'|'.join(map(re.escape, names))})(?P<end>[ \t*_]*:[*_]*|{alone})",
        re.MULTILINE | re.IGNORECASE,
    )
    matches = list(pattern.finditer(body))
    ends = [*(match.start() for match in matches), len(body)][1:]
    values = []
    for match, end in zip(matches, ends, strict=True):
        value = body[match.end() : end].strip()
        still_bold = (match["end"].strip() == ":" and match["bold"]) or ""
        values.append((match["name"], value.removesuffix(still_bold)))
    return values


def text(value: Any, name: str, reply: str) -> str:
    """A part that is text, on one line.

    Raises:
        BadReply: If it is anything else.
    """
    if not isinstance(value, str):
        raise BadReply(f"text as {name}", reply)
    return " ".join(value.split())


def first_paragraph(value: Any, name: str, reply: str) -> str:
    """A part that is text, without what a model adds behind a blank line; on one line.

    Raises:
        BadReply: If it is anything else.
    """
    first = (
        re.split(r"\n[ \t]*\n", value.strip(), maxsplit=1)[0] if isinstance(value, str) else value
    )
    return text(first, name, reply)


def strip_enclosing(value: str) -> str:
    """A text without the quotes, brackets or Markdown that enclose all of it."""
    value = value.strip()
    while match := _WRAPPED.fullmatch(value):
        value = (match[2] or match[3]).strip()
    return value


def number_lists(value: Any, name: str, reply: str, most: int) -> list[list[int]]:
    """A part that is a list of lists of numbers from 1 to ``most``; one flat list is one of them.

    Brackets around all, words such as "Response" before a number, an answer in parentheses behind
    it and Markdown may be there or not. A number past ``most`` beside others is left out, noted.

    Raises:
        BadReply: If it is anything else.
    """
    rule = f"JSON lists of numbers from 1 to {most} as {name}"
    try:
        numbers = strip_marks(value if isinstance(value, str) else json.dumps(value))
        if strip_enclosing(numbers).lower() in NONE:
            return []
        lists = parse_lists(numbers)
    except (ValueError, RecursionError) as error:
        raise BadReply(rule, reply) from error
    past = [number for part in lists for number in part if number > most]
    lists = [inside for part in lists if (inside := [n for n in part if n <= most])]
    if past and not lists:
        raise BadReply(rule, reply)
    if past:
        note(f"{name} names {past[0]}, but there are {most}, so it is left out")
    return lists


def plain(answer: str) -> str:
    """As answers are compared without a critic: but for case, space and outer punctuation."""
    return " ".join(answer.casefold().split()).strip(" .,;:!?\"'“”*_")


def agree(one: str, other: str) -> bool:
    """Whether answers are plainly the same, or one occurs in the other."""
    holds = contains_answer(one, [other]) or contains_answer(other, [one])
    return holds or plain(one) == plain(other)


def same_answers(answers: Sequence[str]) -> list[list[int]]:
    """Places of answers in groups that are plainly the same or short and long forms of one name.

    By first place. A short form of several long ones that differ stays by itself.
    """
    groups: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        groups.setdefault(plain(answer), []).append(place)
    texts = {one: answers[places[0]] for one, places in groups.items()}
    longer = {p: [q for q in groups if _is_short_form(texts[p], texts[q])] for p in groups}
    for short, longs in longer.items():
        chain = all(a == b or a in longer[b] or b in longer[a] for a in longs for b in longs)
        if longs and chain:
            groups[max(longs, key=len)] += groups.pop(short)
    return sorted(map(sorted, groups.values()))


def _is_short_form(one: str, other: str) -> bool:
    """Whether ``other`` is ``one`` and up to two more names, before or behind a comma.

    What follows without one makes another name: "Michigan State", "Paris Hilton".
    """
    short, long = normalise(one).split(), normalise(other).split()
    size, more = len(short), len(long) - len(short)
    if not (short and 1 <= more <= 2) or {*short} <= _NO_NAMES or not "".join(short).isalpha():
        return False
    ends, begins = long[-size:] == short, plain(other).startswith(f"{plain(one)},")
    extra = long[:more] if ends else long[size:]
    names = {normalise(word) for word in re.findall(r"\w+", other) if word[0].isupper()}
    named = {*extra} <= names and not {*extra} & _NO_NAMES and "".join(extra).isalpha()
    return named and (begins or (ends and extra[-1] not in _REGIONS))


def is_answer(text: str) -> bool:
    """Whether a text can be an answer; "unknown", "partly" and "no consistent answer" are none."""
    words = " ".join(text.casefold().replace("’", "'").split()).strip(" .,;:!?\"'“”*_()")
    return not _NO_ANSWER.fullmatch(words)
