"""What a long question asks: the parts of it that a model of short questions reads, one by one.

A ticket, an instruction or a chat asks in a sentence or two. Those are read; where none is found,
the whole in pieces. A unit of text then counts as the part does that makes most of it.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragsieve.text import sentence_spans
from ragsieve.types import Span

LONG = 64  # words, or characters of scripts without spaces, of a question that is read whole
PARTS = 4  # sentences that ask, the last ones; pieces where none does, the first and last ones

_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]|[^\s\u0e00-\u0eff\u3040-\u9fff]+")
_WRAPPED = 50  # characters from which a line may go on behind its break
_SHORT = 4  # words of a question that says too little by itself
_BREAK = re.compile(r"\n+")
_ENDS = re.compile(r"[?？؟⁇⁈՞\u037e][\"'”’»)\]*_ ]*$")
_OPENS = re.compile(
    r"(?:(?:and|but|so|in|at|to|for|on|from|of|by|with) )?(?:who|whom|whose|what|which|where|when"
    r"|how|why|can|could|do|does|did|is|are|was|were|has|have|will|would|should)(?:['’]s)? .*"
    r"[^.!:;,]$",
    re.IGNORECASE | re.DOTALL,
)
_REQUESTS = re.compile(
    r"(?:please |now )*(?:tell|name|find|list|give|show|explain|describe|compare|define|state"
    r"|identify|provide|calculate|determine|look up|summari[sz]e)\b",
    re.IGNORECASE,
)  # where a text begins or ends; elsewhere they are instructions
_LABEL = re.compile(
    r"\W{0,4}(?:(?:user|my|the|actual|final) )?(?:question|query|request|q)\W{0,3}"
    r"(?:[:：]\W{0,4}|$)",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"\W{0,4}([^\W\d][\w.-]{0,20}(?: [\w.-]{1,20})?)\W{0,3}(?:[:：]\W{0,3}|[|]?>)(?=\s|$)"
)
_ANSWERS = re.compile("assistant|ai|bot|chatbot|agent|system|model|support|gpt|llm|tool")
_ROLE = re.compile(f"{_ANSWERS.pattern}|user|human|me|you|customer|client")
_REFERS = re.compile(
    r"\b(?:it|its|he|him|his|she|hers?|they|them|theirs?|this|these|those|there|then)\b",
    re.IGNORECASE,
)


class _Sentence(NamedTuple):
    span: Span  # tokens
    asks: int  # 2 where a mark, a label or its place says so, 1 where its first word does
    speaker: str  # whose turn of a chat begins with it; empty where none does


def parts(question: str, ends: Sequence[int], most: int) -> list[Span]:
    """The parts of ``question`` that are to be read, as spans of its tokens.

    Args:
        question: A text that asks something somewhere; one of at most ``most`` tokens is one part.
        ends: Where each of its tokens ends, in characters.
        most: Tokens of a part.
    """
    if len(ends) <= most:
        return [(0, len(ends))]
    sentences = [*_sentences(question, ends)]
    turn = _last_turn(sentences)
    level = max((s.asks for s in sentences[turn:]), default=0)
    if not level:
        every = [*_packed([s.span for s in sentences[turn:]], most)]
        return [*every[:1], *every[1:][1 - PARTS :]]
    read: list[Span] = []
    for start, end in [s.span for s in sentences[turn:] if s.asks == level][-PARTS:]:
        read += _cut(start, end, most)
        text = question[ends[start - 1] if start else 0 : ends[end - 1]]
        refers = _REFERS.search(text) or len(_WORD.findall(text)) < _SHORT
        if refers:  # what is meant stands before it
            first = min(start, end - most)
            first = min(s.span[0] for s in sentences if s.span[0] >= first)
            read.append((first, min(end, first + most)))
    return [*dict.fromkeys(read)]


def asked(question: str) -> str:
    """What is asked in a question of over 64 words; a shorter one as it is."""
    ends = [match.end() for match in _WORD.finditer(question)]
    if len(ends) <= LONG:
        return question
    spans = sorted(parts(question, ends, LONG))
    return "\n".join(question[ends[a - 1] if a else 0 : ends[b - 1]].strip() for a, b in spans)


def _last_turn(sentences: Sequence[_Sentence]) -> int:
    """Where the last turn of a chat begins that is no assistant's; 0 of a text that is no chat."""
    turns = [place for place, s in enumerate(sentences) if s.speaker]
    speakers = Counter(sentences[place].speaker for place in turns)
    if not any(often > 1 or _ROLE.fullmatch(name) for name, often in speakers.items()):
        return 0
    own = [place for place in turns if not _ANSWERS.fullmatch(sentences[place].speaker)]
    return max(own, default=0)


def _packed(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """Spans that follow one another joined up to ``most`` tokens, longer ones in pieces."""
    start = end = -1
    for first, last in spans:
        if first == end and last - start <= most:
            end = last
            continue
        if start >= 0:
            yield from _cut(start, end, most)
        start, end = first, last
    yield from _cut(start, end, most)


def _cut(start: int, end: int, most: int) -> Iterator[Span]:
    """Pieces of ``most`` tokens which cover a span, at even distances."""
    further = -(-(end - start) // most) - 1
    for n in range(further + 1):
        first = start + (end - start - most) * n // further if further else start
        yield first, min(first + most, end)


def _sentences(question: str, ends: Sequence[int]) -> Iterator[_Sentence]:
    """Its sentences; the label of one is none of it, and one alone is that of the next."""
    labelled, speaker = False, ""
    for start, end in _lines(question):
        for first, last in sentence_spans(question[start:end], max_chars=len(question)):
            text = question[start + first : start + last]
            label, turn = _LABEL.match(text), None if first else _TURN.match(text)
            labelled = labelled or bool(label)
            speaker = turn[1].lower() if turn else speaker
            head = max((m.end() for m in (label, turn) if m), default=0)
            if not (said := text[head:]).strip():
                continue
            opens, ends_it = bool(_OPENS.match(said)), not question[start + last :].strip()
            at_edge = ends_it or not question[: start + first].strip()
            asks = int(opens or (at_edge and bool(_REQUESTS.match(said))))
            if labelled or (opens and ends_it) or _ENDS.search(said):
                asks = 2
            a, b = (bisect_right(ends, start + at) for at in (first + head, last - 1))
            yield _Sentence((a, b + 1), asks, speaker)
            labelled, speaker = False, ""


def _lines(question: str) -> Iterator[Span]:
    """Its lines, but for breaks inside a paragraph of long lines."""
    start = 0
    for match in _BREAK.finditer(question):
        length = match.start() - max(start, question.rfind("\n", 0, match.start()))
        ends = length <= _WRAPPED or len(match[0]) > 1
        if ends or any(mark.match(question, match.end()) for mark in (_TURN, _LABEL)):
            yield start, match.start()
            start = match.end()
    yield start, len(question)
