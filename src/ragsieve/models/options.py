"""Options as replies: which one a text names, how probable each is; the tokens of a form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ragsieve.errors import BadReply
from ragsieve.text import json_value

LEAST_MASS = 0.05
"""Probability that all options need together, of a reply's first token, to decide anything."""

Odds = list[float]

_AMBIGUOUS = 0.01  # largest share of probability on tokens that begin several options
_VALUE = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_SCALED = re.compile(rf"(?<![\w.,/-])({_VALUE})\s*(?:/|out of)\s*([0-9]{{1,9}})(?![\w/]|[.,][0-9])")
_OUT_OF = r"(?:(?<=[0-9])\s*(?:/|out of)\s*([0-9]{1,9}))?"
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ALONE = re.compile(  # "7 (good)", "8/10", "[2] Paris", "the first 2 sentences", "two"
    rf"(?:(?:only|keep|use|the|first|top|best|about)\s+){{0,4}}({_VALUE}%?|{'|'.join(_WORDS)})"
    rf"{_OUT_OF}(?:\s+(?:sentence|clue|passage|point|star)s?)?[\])\"']*"
    r"(?:(?:\s+[-–—]\s|\s*[(:,;!]|\.\s)\D*)?",
    re.ASCII | re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[([0-9]{1,9})\]")
_PAREN, _MARKS = r"(?:\s*\([^()]*\))?", "[\\s*_\"'`]{0,4}"
_LABELLED = [  # "Score: 7", "**Rating (0-9):** 8/10", "The relevance is 80%"; no "Score: 7 or 8"
    re.compile(
        rf"(?:\b(?:{words}){_PAREN}{_MARKS}[:=]"
        rf"|^\W{{0,4}}(?:(?:the|my|its|final|overall|relevance) ){{0,3}}(?:{words}){_PAREN} is\b)"
        rf"{_MARKS}({_VALUE}%?){_OUT_OF}(?![\w/]|[.,–-][0-9]|\s{{0,3}}(?:or|and|to|out of) ?[0-9])",
        re.IGNORECASE | re.MULTILINE,
    )
    for words in ("score|rating|relevance|digit", "answer|response|number|choice|k")
]
_NAMED = re.compile(
    r"\b(?:score|rating|rate|relevance|digit|answer|response|number|choice|k)\b"
    rf"{_PAREN}\W{{0,4}}(?:(?:it|is|as|of|be|the|number)\W{{1,3}}){{0,3}}"
    rf"(?<![\w.,/-])({_VALUE}%?)(?![\w/]|[.,–-][0-9])",
    re.IGNORECASE,
)
_SCALES = (1, 5, 9, 10, 100)  # what a rating out of another number is, is not known
_LABEL = r"\b(?:answer|reply|verdict|judge?ment|decision|choice|option|rating)\W{0,4}(?:is\W{1,4})?"
_ENDS = r"(?=\s*(?:$|[,.;:!()\n—–]|-\s|\s-))"


def first_token_odds(top: Sequence[tuple[str, float]], options: Sequence[str]) -> Odds | None:
    """Probabilities of ``options`` by the token that each begins with, in any case.

    None where too little lies on options together (`LEAST_MASS`), or over 1 % of that on tokens
    that begin several.
    """
    known = _distinct(options, lambda option: option.strip().casefold())
    cased = str.casefold if known else str
    begins = [(cased(o.strip()), cased(o.strip().lstrip("["))) for o in options]
    sums, shared = [0.0] * len(options), 0.0
    for token, probability in top:
        text = cased(token.strip())
        starts = [any(form.startswith(text) for form in forms) for forms in begins]
        begun = [i for i, one in enumerate(starts) if text and one]
        if len(begun) == 1:
            sums[begun[0]] += probability
        elif begun:
            shared += probability
    total = sum(sums)
    if total < LEAST_MASS or shared > _AMBIGUOUS * (total + shared):
        return None
    return [value / total for value in sums]


def option_reader(options: Sequence[str]) -> Callable[[str], Odds]:
    """A reader of replies that name one of ``options``; all others raise `BadReply`.

    Case, markup, JSON, a label (``Score: 7``, ``The answer is no``) and what follows behind a stop
    may be there. Where options are numbers, so may a unit (``2 sentences``) and a scale: the digits
    0 to 9 are one, on which ``8/10`` is 7.2 and lies between two of them. A number that is alone or
    has a label goes before a share in the text (``Score: 8. It covers 4/5``). A reply that names
    several is unreadable.
    """
    numbers = _numbers(options)
    rule = f"a number from {numbers[0]} to {numbers[-1]}" if numbers else f"one of {[*options]}"

    def read(reply: str) -> Odds:
        texts = [reply, _json_text(reply)]
        for text in texts:
            if text.strip() in map(str.strip, options):
                return [float(option.strip() == text.strip()) for option in options]
        for text in filter(None, reversed(texts)):
            odds = _odds_of_number(text, numbers) if numbers else _odds_of_word(text, options)
            if odds:
                return odds
        raise BadReply(rule, reply)

    return read


def _distinct(options: Sequence[str], form: Callable[[str], str]) -> list[str]:
    """Options in a form; none where two of them have the same."""
    forms = [form(option) for option in options]
    return forms if len({*forms} - {""}) == len(forms) else []


def _numbers(options: Sequence[str]) -> range:
    """The numbers that options are, in order; empty where they are others."""
    plain = [option.strip().strip("[]") for option in options]
    if not all(re.fullmatch("[0-9]{1,9}", text) for text in plain):
        return range(0)
    numbers = range(int(plain[0]), int(plain[-1]) + 1)
    return numbers if [*map(str, numbers)] == plain else range(0)


def _json_text(reply: str) -> str:
    """The only value of a reply in JSON, fenced or not; empty where it is none."""
    value = json_value(re.sub(r"^\s*```\w*|```\s*$", "", reply))
    while isinstance(value, dict | list) and len(value) == 1:
        (value,) = value.values() if isinstance(value, dict) else value
    simple = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if simple else ""


def _odds_of_number(reply: str, numbers: range) -> Odds | None:
    is_scale = numbers == range(10)
    text = reply.strip(" \t\r\n*_`\"'.()[]#>")
    first, *rest = text.splitlines() or [""]
    if not any(_ALONE.fullmatch(line.strip()) for line in rest):
        text = first.strip(" \t*_`\"'.()[]#>") if _ALONE.fullmatch(first.strip()) else text
    if re.match(r"\W*-", reply):
        text = ""
    alone, lead = (_ALONE.fullmatch(part) for part in (text, _SCALED.sub("", text)))
    scaled, bracketed = _SCALED.findall(reply), _BRACKETED.findall(reply)
    levels: Iterable[list[tuple[str, ...]]] = (
        [alone.groups("")] if alone else [],
        *(p.findall(reply) for p in _LABELLED if is_scale or not bracketed),
        [*scaled, *([lead.groups("")] if scaled and lead else [])],
        [(value, "") for value in bracketed],
        [(value, "") for value in _NAMED.findall(reply)],
    )
    values = {
        _on_scale(value, int(top), numbers, is_scale) if top else _by_itself(value, is_scale)
        for value, top in next(filter(None, levels), [])
    }
    (value,) = values if len(values) == 1 else (None,)
    if value is None or not numbers[0] <= value <= numbers[-1]:
        return None
    return [max(0.0, 1 - abs(value - number)) for number in numbers]


def _on_scale(value: str, top: int, numbers: range, is_scale: bool) -> float | None:
    number = float(value)
    if not is_scale:
        return number if top == numbers[-1] and number.is_integer() else None
    return 9 * number / top if top in _SCALES and number <= top else None


def _by_itself(value: str, is_scale: bool) -> float | None:
    """Of a number without a scale: on that of digits a share, a digit, or 10: another's top."""
    if value.lower() in _WORDS:
        value = str(_WORDS.index(value.lower()))
    if not is_scale:
        return float(value) if value.isdecimal() else None
    number = float(value.rstrip("%"))
    if value.endswith("%"):
        return 9 * number / 100 if number <= 100 else None
    if "." in value and number <= 1:
        return 9 * number
    return 9.0 if number == 10 else number


def _odds_of_word(reply: str, options: Sequence[str]) -> Odds | None:
    known = _distinct(options, _plain)
    text = re.sub(r"[*_`\"'#>\[\]]", "", reply).strip().casefold()
    named = [_plain(reply) == option for option in known]
    if known and not any(named):
        words = [rf"(?<![\w-]){re.escape(option)}" for option in known]
        named = [bool(re.search(rf"(?:\A|{_LABEL}){word}{_ENDS}", text)) for word in words]
        others = [bool(re.search(rf"{word}(?![\w-])", text)) for word in words]
        if sum(named) == 1 and sum(others) > 1:
            return None
    return [float(one) for one in named] if sum(named) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" *_`\"'.,:;!?()[]<>#")


_FENCED = 24  # tokens of a fence, which a server may cut from what it counted, and of a wrapper
_SPACED = 5  # of white space, a comma and quotation marks at a value


def reply_tokens(schema: Mapping[str, Any], text: int = 0) -> int:
    """Tokens of the longest reply by a schema, with white space, a fence and a wrapper.

    Args:
        schema: Numbers are integers with bounds, lists have ``maxItems``.
        text: Tokens of all strings that are free, or have a length alone.
    """
    return _FENCED + text + _longest(schema)


def _longest(schema: Mapping[str, Any]) -> int:
    if "enum" in schema:  # JSON may write a character as an escape, and each a token
        return _SPACED + max(len(json.dumps(value)) for value in schema["enum"])
    if schema["type"] == "integer":
        return _SPACED + max(len(str(schema[end])) for end in ("minimum", "maximum"))
    if schema["type"] == "array":
        return _SPACED + int(schema["maxItems"]) * _longest(schema["items"])
    properties = schema.get("properties", {})
    return _SPACED + sum(len(name) // 2 + _longest(one) for name, one in properties.items())
