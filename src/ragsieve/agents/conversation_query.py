"""What a conversation asks: its last turn, or with turns before it, where it leans on these."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ragsieve.agents.messages import USER, texts

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
_USUAL = 400  # the most usual words of English, which name nothing
_BITS = 4.8  # of a question that says enough: what its words tell beyond these


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

    One does whose words tell little: of three words or fewer, in any language, or of common words
    alone, by their ranks in the vocabulary of the filter's net (so many bits as a word is rarer
    than the 400 most usual ones, counted in halvings). So does one with little behind *and*, *what
    about* and the like; one with *he* or *she* before which it names nobody; and one with *it*,
    *they*, *that* and the like that names one thing at most.
    """
    words = [match[0].lower() for match in _WORD.finditer(text)]
    bits = [max(0.0, math.log2(_rank(word) / _USUAL)) for word in words]
    names = [n for n, word in enumerate(words) if bits[n] and word not in _PERSONS | _THINGS]
    if len(words) < _FEW or sum(bits) < _BITS or (_BEGINS.match(text) and len(names) < _FEW):
        return True
    for n, word in enumerate(words):
        first = sum(place < n for place in names) < 2
        if word in _PERSONS:
            return first and "and" not in words[1:n]
        there = word == "there" and words[n - 1] in _BE  # as in: how many are there
        if word in _THINGS and not there and first and len(names) < 2:
            return True
    return False


def _rank(word: str) -> int:
    """Place of a word in the order of the net's vocabulary, which has usual words first."""
    ranks = _ranks()
    return max(1, ranks.get(word, len(ranks)) - ranks["the"] + 1)


@lru_cache(maxsize=1)
def _ranks() -> dict[str, int]:
    file = files("ragsieve") / "weights" / "pruner" / "tokenizer.json"
    vocabulary: dict[str, int] = json.loads(file.read_text("utf-8"))["model"]["vocab"]
    return vocabulary
