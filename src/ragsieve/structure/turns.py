"""Chats, transcripts, plays, subtitles, mails: what is said stands below who said it, and when."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ragsieve.structure.records import records
from ragsieve.structure.said import BLANK, HEADER, NAME, NO_SPEAKERS, STICKY, WHOLE, filled, said
from ragsieve.structure.tree import Node, leaf, over, stripped
from ragsieve.types import Span

_FEWEST = 3  # turns of a chat
_CUES = 250  # characters of neighbouring subtitles that make one unit
_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[.,]\d{1,3})?(?: ?[AaPp]\.?[Mm]\b\.?)?Z?"
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|[A-Z][a-z]{2} \d{1,2}(?:, \d{4})?"
    r"|\d{1,2} [A-Z][a-z]{2})"
)
_STAMP = rf"[\[(]?(?:{_DATE}[T,]? ?(?:at )?)?{_TIME}[\])]?"
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL"
_CUE = r"(?:\d\d:)?\d\d:\d\d[.,]\d{3}"
_HEADS = {  # how a turn begins, up to what is said
    "cue": re.compile(
        rf"^(?:\d+[ \t\r]*\n)?(?P<name>{_CUE} --> ){_CUE}.*\n(?:<v [^>\n]*>)?", re.MULTILINE
    ),
    "named": re.compile(
        rf"^(?:{_STAMP}[ \t]*+(?:[-–—|][ \t]*+)?)?(?:\*\*)?(?P<name>{NAME})(?:\*\*)?"
        rf"(?:[ \t]*+(?:[-–—|(\[][ \t]*+)?{_STAMP})?(?:\*\*)?(?:：|:(?:\*\*)?(?=\s))[ \t]*",
        re.MULTILINE,
    ),
    "nick": re.compile(
        rf"^(?:{_STAMP}[ \t]*)?"
        rf"<(?P<name>[@+]?[\w.|^`\[\]{{}}-]{{1,30}})(?:![^\s>]{{1,80}})?>[ \t]+|"
        rf"^{_STAMP}[ \t]+(?P<after>\*{{1,3}}|-->|<--|-!-)[ \t]+",  # who came and went
        re.MULTILINE,
    ),
    "dated": re.compile(
        rf"^(?:\*\*)?(?P<name>{NAME})(?:\*\*)?[ \t]*+(?:[-–—|,•·]++[ \t]*+)?{_STAMP}[ \t]*\n|"
        rf"^{_STAMP}[ \t]+(?P<after>{NAME})[ \t]*\n",
        re.MULTILINE,
    ),
    "play": re.compile(  # a name in capitals on a line of its own, what is said right below
        r"(?:\A|(?<=\n\n))(?P<name>[A-Z][A-Z'’-]{1,20}(?: [A-Z'’-]{1,20}){0,2})\.?[ \t]*"
        r"(?=\n[ \t]*[^\s=-])"
    ),
    "log": re.compile(
        rf"^(?P<name>)(?:[\w.@/-]{{1,30}} )?{_STAMP}(?:[ \t]*\[?(?:{_LEVELS})\]?)?"
        r"(?:[ \t]+[\w./\[\]-]{1,40})?:?[ \t]+",
        re.MULTILINE,
    ),
}
_FIELD = (
    r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-ID|Received"
    r"|[A-Z][\w-]{1,40}-[\w-]{1,40})"
)
_MAIL = re.compile(
    rf"^(?:From \S+ .*\n)?(?:[>*_ \t]*{_FIELD}:.*\n(?:[ \t]+\S.*\n)*){{3,60}}", re.MULTILINE
)
_MAIN = re.compile(r"[>*_ \t]*(?:From|To|Subject|Date|Sent)\b[*_]*:")
_TO = re.compile(r"[>*_ \t]*To\b")
_NEXT = re.compile(r"\n(?=\S)")  # a field; others go on
_ABOVE = re.compile(  # a paragraph that heads turns, with one more line
    r"(?:#{1,6} |\*|v?\d|[^\Wa-z_])[^\n]{0,80}(?<![.!?;…\s])(?:\n[^\n]{1,80}(?<![.!?;…\s]))?\s*\Z"
)
_NUMBER = re.compile(r" #?\d+\Z")


def regions(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    """The mails, records and chats of a text, with the other regions that lie in them."""
    mails = [*_mails(text, roots)]
    yield from mails
    covered = roots and roots[0].end - roots[0].start == len(text.strip())  # manifests, a program
    if not (mails or covered):
        yield from [*records(text, roots)] or _chats(text, roots)


def _mails(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    heads = [m for m in _MAIL.finditer(text) if _sent(m[0])]
    if not heads or text[: heads[0].start()].strip():
        return
    for head, last in zip(heads, _ends(text, heads), strict=True):
        _, end = stripped(text, head.start(), last)
        _, stop = stripped(text, *head.span())
        header = Node(head.start(), head.start(), stop, stop, whole=HEADER, merge=HEADER)
        header.children = [
            leaf(a, b, sticky=b - a <= STICKY and bool(_MAIN.match(text, a)))
            for a, b in _fields(text, head.start(), stop)
        ]
        header.sticky = True
        if sum(field.size for field in header.children if field.sticky) > STICKY:
            for field in header.children:
                field.sticky = field.sticky and not _TO.match(text, field.start)
        children = [header, *filled(text, stop, end, roots)]
        if len(children) > 1:
            yield over(children, mark="…", each=True, whole=0)


def _ends(text: str, heads: Sequence[re.Match[str]]) -> list[int]:
    """Where the next head begins behind each, or the text ends."""
    return [*(head.start() for head in heads[1:]), len(text)]


def _sent(header: str) -> bool:
    """Whether somebody sent it, and it is no record of something else."""
    if not any(map(_MAIN.match, header.split("\n"))):
        return False
    names = {one.lower() for one in re.findall(r"^[>*_ \t]*([A-Z][\w-]*)", header, re.MULTILINE)}
    return "from" in names and bool(names & {"subject", "to", "date", "sent"})


def _fields(text: str, start: int, end: int) -> Iterator[Span]:
    """Fields with the lines by which they go on."""
    begins = (match.end() for match in _NEXT.finditer(text, start, end))
    for a, b in pairwise([start, *begins, end]):
        yield a, stripped(text, a, b)[1]


def _chats(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    for form, pattern in _HEADS.items():
        heads = [m for m in pattern.finditer(text) if not NO_SPEAKERS.match(m["name"] or "")]
        stamped = [m for m in heads if re.search(_TIME, m[0])]
        if 2 * len(stamped) > len(heads):
            heads = stamped  # the others are lines of what somebody said
        titled = form in ("named", "play") and heads is not stamped
        heads = _speakers(text, heads) if titled else heads
        if len(heads) < _FEWEST or not _talk(text, form, heads):
            continue
        titles = _titles(text, heads) if titled else {}
        runs: list[tuple[int, list[Node]]] = []
        for head, end in zip(heads, _ends(text, heads), strict=True):
            node = said(text, head.start(), head.end(), titles.get(end, end), roots)
            at = bisect_left(roots, node.start, key=lambda root: root.start)
            if at < len(roots) and roots[at].start < node.head and roots[at].end == node.end:
                node = roots[at]  # a traceback begins with the entry that tells of it
            if head.start() in titles or not runs:
                runs.append((titles.get(head.start(), node.start), []))
            runs[-1][1].append(node)
        merge, mark = _CUES if form == "cue" else 0, "" if form == "log" else "…"
        for title, turns in runs:
            node = over(turns, mark=mark, whole=0, each=True, merge=merge)
            if title < node.start and text[title] != "#":
                node.start, node.head = stripped(text, title, node.start)
            yield node
        return


def _speakers(text: str, heads: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Heads but for numbered titles, and for those of lists where few have lines of their own."""
    times = Counter(m["name"] for m in heads)
    stems = Counter(map(_stem, times))
    uses = Counter(_stem(m["name"]) for m in heads)
    beside = {m["name"] for m in heads if text[m.end() : m.end() + 1] not in ("", "\n")}
    apart = 2 * sum(times[name] for name in times.keys() - beside) > len(heads)
    named = [m for m in heads if apart or m["name"] in beside]
    once = {stem for stem, n in stems.items() if uses[stem] == n > 1}
    return [m for m in named if _stem(m["name"]) not in once or not _heading(text, m)]


def _stem(name: str) -> str:
    return _NUMBER.sub("", name)


def _heading(text: str, head: re.Match[str]) -> bool:
    """Whether it is a title, below a blank line."""
    start, end = head.start(), text.find("\n", head.start())
    return text[max(0, start - 2) : start] in ("", "\n\n") and bool(_ABOVE.match(text, start, end))


def _titles(text: str, heads: Sequence[re.Match[str]]) -> dict[int, int]:
    """Where titles begin, by the turn below; none for one alone, or for most of the turns."""
    first = heads[0].start()
    at = stripped(text, text.rfind("\n\n", 0, len(text[:first].rstrip())) + 1, first)[0]
    found = {first: at} if _ABOVE.match(text, at, first) else {}
    for head, following in pairwise(heads):
        start, end = head.end(), following.start()
        title, begun = end, stripped(text, start, end)[0]
        for blank in reversed([*BLANK.finditer(text, start, end)]):
            above = blank.end() == end or _ABOVE.match(text, blank.end(), title)
            if blank.start() <= begun or not above:
                break
            title = blank.end()
        if title < end:
            found[end] = title
    return found if 1 < len(found) <= len(heads) / 2 else {}


def _talk(text: str, form: str, heads: Sequence[re.Match[str]]) -> bool:
    """Whether speakers come again, and what is said is no record."""
    gaps = [b.start() - a.end() for a, b in pairwise(heads)]
    if form == "cue":
        return True
    if form == "log":
        return max(gaps) > WHOLE and sum(gap < WHOLE for gap in gaps) > 1
    names = Counter(m["name"] or m.groupdict().get("after") for m in heads)
    again = sum(n for n in names.values() if n > 1)
    often = form != "named" or 8 * len(heads) >= text.count("\n", heads[0].start()) + 1
    return often and 2 * again >= len(heads) > len(names) and sum(gaps) > 10 * len(heads)
