"""What a conversation asks: its last turn, or with turns before it, where it leans on these."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ragsieve.integrations.tools import USER, texts

_FEW = 4  # words of a question that says too little by itself
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_PERSONS = frozenset(_WORD.findall("he him his himself she her hers herself"))
_THINGS = frozenset(
    _WORD.findall(
        "it its itself they them their theirs themselves this that these those there then one ones"
        " other others else"
    )
)
_BE = frozenset(["is", "are", "was", "were", "be", "been", "will", "s"])
_BEGINS = re.compile(
    r"\W*(?:and|but|or|so|also|then|(?:what|how) about|what else|which ones?|any other)\b",
    re.IGNORECASE,
)
_PLAIN = frozenset(  # words that name nothing
    _WORD.findall(
        """a an the of in on at to for from by with about into over under after before during
        between as than and or but so if not no nor also too just only even ever still again
        another any some all each every more most less much many few very same such who
        whom whose what which when where why how s t d ll re ve m i me my mine we us our
        you your yours am is are was were be been being do does did done doing have has
        had having can could will would shall should may might must let get gets got go
        goes went come came make makes made take takes took say says said tell know think
        mean means happen happened happens please give show explain describe thing things
        way kind ok yes yeah thanks thank hi hello really exactly actually"""
    )
)


def turns_of(last_first: Iterable[Any], most: int = 3) -> str:
    """What a conversation asks: the user's last message, with turns before it where it needs them.

    It does where it leans on them, see `leans`: then the last turns follow one another, each behind
    its role. A change of topic reads as the message alone. Turns of tools, and those that say
    nothing, do not count.

    Args:
        last_first: The conversation's messages from the last one on; none is read in vain.
        most: Turns at most.
    """
    spoken: list[tuple[str, str]] = []  # the last one first
    for message in last_first:
        role = str(message.get("role")) if isinstance(message, dict) else ""
        if role != "user" and not (spoken and role == "assistant"):
            continue
        if said := "\n".join(text for _, text in texts(message.get("content"))).strip():
            spoken.append((role, said))
            if len(spoken) == most or not leans(spoken[0][1]):
                break
    if len(spoken) < 2:
        return spoken[0][1] if spoken else ""
    return "\n".join(f"{role}: {said[-USER:]}" for role, said in reversed(spoken))


def leans(text: str) -> bool:
    """Whether a question in English needs what was said before it.

    One of three words or fewer does, in any language; one that names nothing, or little behind
    *and*, *what about* and the like; one with *he* or *she* before which it names nobody; and one
    with *it*, *they*, *that* and the like that names at most two things.
    """
    words = [match[0].lower() for match in _WORD.finditer(text)]
    names = [n for n, word in enumerate(words) if word not in _PLAIN | _PERSONS | _THINGS]
    if len(words) < _FEW or len(names) <= (3 if _BEGINS.match(text) else 0):
        return True
    for n, word in enumerate(words):
        first = sum(place < n for place in names) < 2
        if word in _PERSONS:
            return first and "and" not in words[1:n]
        there = word == "there" and words[n - 1] in _BE  # as in: how many are there
        if word in _THINGS and not there and first and len(names) < 3:
            return True
    return False
