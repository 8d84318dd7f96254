"""Options as replies: how probable each is; the tokens of a form."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ragsieve.models.base import LLM, Odds, Prompts, Texts, complete_parsed, readable
from ragsieve.models.replies import option_field, read_fields
from ragsieve.trace import note
from ragsieve.types import grouped

LEAST_MASS = 0.05
"""Probability that all options need together, of a reply's first token, to decide anything."""

_AMBIGUOUS = 0.01  # largest share of probability on tokens that begin several options


def first_token_odds(top: Sequence[tuple[str, float]], options: Sequence[str]) -> Odds | None:
    """Probabilities of ``options`` by the token that each begins with, in any case.

    None where too little lies on options together (`LEAST_MASS`), or over 1 % of that on tokens
    that begin several.
    """
    forms = [option.strip().casefold() for option in options]
    cased = str.casefold if len({*forms} - {""}) == len(forms) else str
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


def odds(llm: LLM, prompts: Prompts, options: Sequence[Texts]) -> Sequence[Odds | None]:
    """Probabilities of each prompt's options as the reply, from any model; None: unknown.

    A model without ``choose`` writes one, which then has 1 (`written_odds`).
    """
    return (llm.choose if "choose" in llm.can else partial(written_odds, llm))(prompts, options)


def filled_odds(
    llm: LLM,
    prompts: Prompts,
    options: Sequence[Texts],
    results: Sequence[Odds | None],
) -> list[Odds | None]:
    """Odds that first tokens tell; where they are None, those of `written_odds`, which is noted."""
    open_ = [place for place, row in enumerate(results) if row is None]
    counts = Counter(f"{list(options[place])!r:.200}" for place in open_)
    for shown, count in counts.items():
        note(f"first tokens do not tell {shown} apart: asked {count} as text")
    rows = written_odds(llm, [prompts[p] for p in open_], [options[p] for p in open_])
    filled = dict(zip(open_, rows, strict=True))
    return [filled.get(place, row) for place, row in enumerate(results)]


def written_odds(llm: LLM, prompts: Prompts, options: Sequence[Texts]) -> list[Odds | None]:
    """1 for the option that a reply names (`ragsieve.models.replies`); None, noted, of no reply.

    Prompts with the same options are one batch; an unreadable reply is requested once more.
    """
    results: list[Odds | None] = [None] * len(prompts)
    for some, places in grouped(range(len(options)), lambda n: tuple(options[n])).items():
        schema = {"type": "string", "enum": list(some)}
        asked, most = [prompts[p] for p in places], reply_tokens(schema, max(map(len, some)))
        parse = partial(lambda field, reply: int(read_fields(reply, field)[0]), option_field(some))
        replies = complete_parsed(llm, asked, parse, max_tokens=most, schema=schema)
        for place, reply in zip(places, replies, strict=True):
            if (chosen := readable(reply, None, f"choice {place} stays open")) is not None:
                results[place] = [float(n == chosen) for n in range(len(some))]
    return results


def yes_probability(
    llm: LLM, prompts: Prompts, options: tuple[str, str] = ("yes", "no")
) -> list[float | None]:
    """Probability of the first of two words as the reply to each prompt, in [0, 1]; or unknown."""
    return [row[0] if row else None for row in odds(llm, prompts, [options] * len(prompts))]
