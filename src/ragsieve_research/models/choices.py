"""Choices among options by any model, and the tokens of a form."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ragsieve.models.base import LLM, Odds, Prompts, Texts
from ragsieve.trace import note
from ragsieve.types import grouped
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import option_field, read_fields

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


def odds(llm: LLM, prompts: Prompts, options: Sequence[Texts]) -> list[Odds | None]:
    """Probabilities of each prompt's options as the reply, from any model; None: unknown.

    Where a model cannot tell them, or has no ``choose``, it writes an option, which then has 1.
    """
    if "choose" not in llm.can:
        return written_odds(llm, prompts, options)
    results = [*llm.choose(prompts, options)]
    open_ = [place for place, row in enumerate(results) if row is None]
    counts = Counter(f"{list(options[place])!r:.200}" for place in open_)
    for shown, count in counts.items():
        note(f"first tokens do not tell {shown} apart: asked {count} as text")
    rows = written_odds(llm, [prompts[p] for p in open_], [options[p] for p in open_])
    filled = dict(zip(open_, rows, strict=True))
    return [filled.get(place, row) for place, row in enumerate(results)]


def written_odds(llm: LLM, prompts: Prompts, options: Sequence[Texts]) -> list[Odds | None]:
    """1 for the option that a reply names (see `replies`); None, noted, of no reply.

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
