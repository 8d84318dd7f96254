"""What a model thinks before it replies: tags around it, the reply without it, a reply cut off."""

import re
from typing import Self

_THINK = r"(?:[a-z]+:)?(?:think(?:ing)?|thoughts?|reasoning|analysis|reflection)"
_OPEN = re.compile(  # <think>, [THINK], <|START_THINKING|>, channels of gpt-oss and Gemma
    rf"[<\[◁]\|?(?:start_)?{_THINK}\|?[>\]▷]|<\|channel\|?>\s*(?:analysis|commentary|thought)\b",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"[<\[◁]\|?(?:/|end_){_THINK}\|?[>\]▷]", re.IGNORECASE)
_CHANNEL = re.compile(r"<channel\|>|<\|end\|>")
TAG = re.compile(rf"{_OPEN.pattern}|{_CLOSE.pattern}|<\|?(?:channel|message)\|?>", re.IGNORECASE)
"""A control token around thoughts."""
_AROUND = re.compile(  # <|start|>assistant<|channel|>final<|message|>
    r"\s*(?:<\|channel\|>\s*final.*?<\|message\|>\s*|<\|(?!channel|START_THINK)[^<>|]*\|>\s*(?:assistant)?\s*)*"
)
_BARE = re.compile(r"\Aanalysis(?=[^\W_a-z])(?:.*assistantfinal|.*)", re.DOTALL)  # of lost tokens
_BEHIND = re.compile(r"(?:<\|[^<>|]{1,40}\|>\s*){1,4}\Z")


class Cut(str):
    """A reply that was cut off at its limit of tokens; ``note`` is what the trace says of it."""

    note: str

    def __new__(cls, reply: str, note: str = "") -> Self:
        cut = super().__new__(cls, reply)
        cut.note = note
        return cut


def strip_thinking(reply: str) -> str:
    """A reply without what a model thinks first; empty where it was cut off thinking.

    Where a server's template opens the thoughts, a reply has their closing tag alone; a tag behind
    a quotation mark is spoken of.
    """
    reply, at, begun = _BARE.sub("", reply), 0, None
    while opened := _OPEN.match(reply, at := _before(reply, at)):
        begun, end = opened, (_CHANNEL if "channel" in opened[0] else _CLOSE).search(reply, at + 1)
        if not end:
            return ""
        at = end.end()
    if at > len(reply) - len(reply.lstrip()):
        return _BEHIND.sub("", reply[at:])
    opened = begun or _OPEN.search(reply)
    for end in _CLOSE.finditer(reply, 0, opened.start() if opened else len(reply)):
        before, after = reply[: end.start()][-1:], reply[end.end() : end.end() + 80]
        if before not in {*"`\"'“‘"} and not (before == " " and re.match(r"[ \t]+\S", after)):
            return reply[end.end() :]
    return reply


def has_said(reply: str) -> bool:
    """Whether something stands behind thoughts; where a template opens them, any reply has some."""
    return strip_thinking(reply).strip() not in ("", reply.strip())


def opening(text: str) -> str:
    """The tag at the end of a text, such as a chat template's, that opens thoughts; else empty."""
    found = re.search(rf"(?:{_OPEN.pattern})\s*\Z", text, re.IGNORECASE)
    return found[0] if found else ""


def _before(reply: str, at: int) -> int:
    """Where a reply goes on behind white space and what stands around a message."""
    match = _AROUND.match(reply, at)
    return match.end() if match else at
