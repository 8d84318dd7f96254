"""What a conversation asks: its last turn, or with turns before it, where it leans on these."""

import json
import math
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from ragsieve.agents.messages import USER, texts, without_elements

_FEW = 4  # words of a question that says too little by itself
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_USUAL = 400  # the most usual words of English, which name nothing


def turns_of(last_first: Iterable[Any], most: int = 3) -> str:
    """What a conversation asks: the user's last message, with turns before it where it needs them.

    It does where it leans on them, see `leans`: then the last turns follow one another, each behind
    its role. A change of topic reads as the message alone. Turns of tools, and those that say
    nothing, do not count, nor what an agent's program adds in tags beside other texts.

    Args:
        last_first: The conversation's messages from the last one on; none is read in vain.
        most: Turns at most.
    """
    spoken: list[tuple[str, str]] = []  # the last one first
    for message in last_first:
        role = str(message.get("role")) if isinstance(message, dict) else ""
        if role != "user" and not (spoken and role == "assistant"):
            continue
        own = [text for _, text in texts(message.get("content"))]
        if said := without_elements(own) or "\n".join(own).strip():
            spoken.append((role, said))
            if len(spoken) == most or not leans(spoken[0][1]):
                break
    if len(spoken) < 2:
        return spoken[0][1] if spoken else ""
    return "\n".join(f"{role}: {said[-USER:]}" for role, said in reversed(spoken))


def leans(text: str) -> bool:
    """Whether a question needs what was said before it.

    One of three words or fewer does, in any language; a longer one by weights that a logistic
    regression learned from questions that do and others that do not (``experiments/turns.py``).
    """
    if len(_WORD.findall(text)) < _FEW:
        return True
    return sum(_weights().get(name, 0.0) * value for name, value in features(text).items()) > 0


def features(text: str) -> dict[str, float]:
    """Features of a question for `leans`: its usual words in their places, and how much it names.

    The vocabulary of the filter's net has usual words first. The first 400 are usual and stand for
    themselves; a rarer one is ``_``, and names ``log2(rank / 400)`` bits.
    """
    said = _WORD.findall(text)
    words = [word.lower() for word in said]
    bits = [max(0.0, math.log2(_rank(word) / _USUAL)) for word in words]
    known = ["_" if own else word for word, own in zip(words, bits, strict=True)]
    names = sum(map(bool, bits))
    first = known.index("_") if names else len(known)
    signs = [*known, *(f"{word} …" for word in known[:first])]
    signs += [f"{a} {b}" for a, b in pairwise(["^", *known, "$"])]
    counts = {
        "1": 1.0,
        "bits": min(sum(bits), 40) / 10,
        "log of bits": math.log(1 + sum(bits)),
        "log of words": math.log(1 + len(words)),
        "names": min(names, 8) / 4,
        "capitals": float(any(word[0].isupper() for word in said[1:])),
        "digits": float(any(map(str.isdigit, text))),
    }
    return dict.fromkeys(signs, 1.0) | counts


@cache
def _weights() -> dict[str, float]:
    lines = files(__package__).joinpath("leans.tsv").read_text("utf-8").splitlines()
    return {name: float(weight) for name, weight in (line.split("\t") for line in lines)}


def _rank(word: str) -> int:
    """Place of a word in the order of the net's vocabulary, which has usual words first."""
    ranks = _ranks()
    return max(1, ranks.get(word, len(ranks)) - ranks["the"] + 1)


@cache
def _ranks() -> dict[str, int]:
    file = files("ragsieve") / "weights" / "pruner" / "tokenizer.json"
    vocabulary: dict[str, int] = json.loads(file.read_text("utf-8"))["model"]["vocab"]
    return vocabulary
