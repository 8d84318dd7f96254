"""Chats, transcripts, subtitles, mails, records: what is said stands below who said it, and when.

A field of a record stands below the record's first one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ragsieve.formats.tree import Node, Span, leaf, line_spans, over, stripped
from ragsieve.parts import parts

_WHOLE = 300  # characters of a turn or a paragraph that is not cut
_HEADER = 600  # characters of a mail's header that is not cut
_FEWEST = 3  # turns of a chat
_CUES = 250  # characters of neighbouring subtitles that make one unit
_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[.,]\d{1,3})?(?: ?[AaPp]\.?[Mm]\b\.?)?Z?"
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|[A-Z][a-z]{2} \d{1,2}(?:, \d{4})?"
    r"|\d{1,2} [A-Z][a-z]{2})"
)
_STAMP = rf"[\[(]?(?:{_DATE}[T,]? ?(?:at )?)?{_TIME}[\])]?"
_NAME = (
    r"(?:@?[^\W\d_][\w.'’-]{0,30}(?: [\w.'’&#-]{1,30}){0,3}(?: \([^()\n:\d]{1,30}\))?"
    r"|\+\d[\d ()-]{5,18}\d)"
)
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL"
_CUE = r"(?:\d\d:)?\d\d:\d\d[.,]\d{3}"
_HEADS = {  # how a turn begins, up to what is said
    "cue": re.compile(
        rf"^(?:\d+[ \t]*\n)?(?P<name>{_CUE} --> ){_CUE}.*\n(?:<v [^>\n]*>)?",
        re.MULTILINE,
    ),
    "named": re.compile(
        rf"^(?:{_STAMP}[ \t]*+(?:[-–—|][ \t]*+)?)?(?:\*\*)?(?P<name>{_NAME})(?:\*\*)?"
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
        rf"^(?:\*\*)?(?P<name>{_NAME})(?:\*\*)?[ \t]*+(?:[-–—|,•·]++[ \t]*+)?{_STAMP}[ \t]*\n|"
        rf"^{_STAMP}[ \t]+(?P<after>{_NAME})[ \t]*\n",
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
_NO_SPEAKERS = re.compile(r"(?:Q|A|Question|Answer|Note|Warning|Tip|Example|https?|Step)\b", re.I)
_FIELD = (
    r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-ID|Received"
    r"|[A-Z][\w-]{1,40}-[\w-]{1,40})"
)
_MAIL = re.compile(
    rf"^(?:From \S+ .*\n)?(?:[>*_ \t]*{_FIELD}:.*\n(?:[ \t]+\S.*\n)*){{3,60}}",
    re.MULTILINE,
)
_MAIN = re.compile(r"[>*_ \t]*(?:From|To|Subject|Date|Sent)\b[*_]*:")
_TO = re.compile(r"[>*_ \t]*To\b")
_STICKY = 200  # characters of a field that is shown with its mail, and of all but To
_BLANK = re.compile(r"\n(?:[ \t\r]*\n)+")
_QUOTED = re.compile(r"^[ \t]*>", re.MULTILINE)
_QUOTES = re.compile(r"[ \t]*>[> \t]*")
_DEEPEST = 8  # quotes in each other that are told apart
_APART = re.compile(r"\n(?:[ \t]*(?:[-=*_]{3,}[ \t]*)?\r?\n)+")  # blank lines and rules
_KEY = re.compile(
    rf"^(?:\*\*)?(?P<name>commit(?= [0-9a-f]{{4,64}}\b)|{_NAME}(?=(?:\*\*)?[ \t]*+::?(?:\*\*)?\s))"
    r"[*: \t]*",
    re.MULTILINE,
)
_TITLE = re.compile(r"#{1,6} |[\w*][^\n]{0,80}(?<![.!?;…\s])\s*\Z")  # a paragraph
_ABOVE = re.compile(  # a paragraph that heads turns, with one more line
    r"(?:#{1,6} |\*|v?\d|[^\Wa-z_])[^\n]{0,80}(?<![.!?;…\s])(?:\n[^\n]{1,80}(?<![.!?;…\s]))?\s*\Z"
)
_NUMBER = re.compile(r" #?\d+\Z")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)*]*\s*$", re.MULTILINE)


class _Paragraph(NamedTuple):
    start: int
    end: int
    keys: list[re.Match[str]]
    name: str  # of the field with which it begins, also below a line without one

    @property
    def names(self) -> set[str]:
        return {key["name"] for key in self.keys}


def regions(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    """The mails, records and chats of a text, with the other regions that lie in them."""
    mails = [*_mails(text, roots)]
    yield from mails
    covered = roots and roots[0].end - roots[0].start == len(text.strip())  # manifests, a program
    if not (mails or covered):
        yield from [*_records(text, roots)] or _chats(text, roots)


def _mails(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    heads = [m for m in _MAIL.finditer(text) if _sent(m[0])]
    if not heads or text[: heads[0].start()].strip():
        return
    for head, following in pairwise([*heads, None]):
        if head is None:
            return
        last = following.start() if following else len(text)
        _, end = stripped(text, head.start(), last)
        _, stop = stripped(text, *head.span())
        header = Node(head.start(), head.start(), stop, stop, whole=_HEADER, merge=_HEADER)
        header.children = [
            leaf(a, b, sticky=b - a <= _STICKY and bool(_MAIN.match(text, a)))
            for a, b in _fields(text, head.start(), stop)
        ]
        header.sticky = True
        if sum(field.size for field in header.children if field.sticky) > _STICKY:
            for field in header.children:
                field.sticky = field.sticky and not _TO.match(text, field.start)
        children = [header, *_filled(text, stop, end, roots)]
        if len(children) > 1:
            yield over(children, mark="…", each=True, whole=0)


def _sent(header: str) -> bool:
    """Whether somebody sent it, and it is no record of something else."""
    if not any(map(_MAIN.match, header.split("\n"))):
        return False
    names = {one.lower() for one in re.findall(r"^[>*_ \t]*([A-Z][\w-]*)", header, re.MULTILINE)}
    return "from" in names and bool(names & {"subject", "to", "date", "sent"})


def _fields(text: str, start: int, end: int) -> Iterator[Span]:
    """Fields with the lines by which they go on."""
    begins = [start, *(m.end() for m in re.finditer(r"\n(?=\S)", text[start:end]))]
    begins[1:] = [start + at for at in begins[1:]]
    for a, b in pairwise([*begins, end]):
        yield a, stripped(text, a, b)[1]


def _records(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    """Records one below the other, up to a heading; none where somebody speaks."""
    paragraphs = [*_divided(text)]
    begins = [one.name for one in paragraphs if one.name and len(one.names) > 1]
    first, times = Counter(begins).most_common(1)[0] if begins else ("", 0)
    again = any(key["name"] == first for one in paragraphs for key in one.keys[1:])
    if times < 2 or again or _NO_SPEAKERS.match(first) or _spoken(text, first, paragraphs):
        return
    firsts = {first, *(a for a, b in pairwise(begins) if a == b)}
    runs: list[list[list[_Paragraph]]] = [[]]
    record: list[_Paragraph] = []
    names: set[str] = set()  # of its fields
    for one, following in pairwise([*paragraphs, paragraphs[-1]]):
        titles = len(record) < 2 and following.name in firsts
        if one.name and (one.name in firsts or names & one.names):
            record, names = [one], one.names
            runs[-1].append(record)
        elif _TITLE.match(text, one.start, one.end) and (titles or text[one.start] == "#"):
            record, names = [], set()
            runs.append([])
        elif record:
            record.append(one)
            names |= one.names
    for run in filter(None, runs):
        most = max((len(record) for record in run[:-1]), default=1)
        while len(run[-1]) > most and not text[run[-1][-1].start].isspace():
            run[-1].pop()  # prose behind the last one
        records = [_record(text, one, roots) for one in run]
        yield over(records, kind="table", mark="…", whole=0, each=True)


def _divided(text: str) -> Iterator[_Paragraph]:
    """Paragraphs with their fields, which have none in a fence."""
    start = fences = 0
    for match in [*_APART.finditer(text), None]:
        end = match.start() if match else len(text)
        found = text.count("```", start, end)
        keys = [] if found or fences % 2 else [*_KEY.finditer(text, start, end)]
        groups = _by_record(text, keys, end)
        stops = [start, *_begins(text, groups)[1:], end]
        for own, (a, b) in zip(groups, pairwise(stops), strict=True):
            lead = text[a : own[0].start()] if own else "\n\n"
            begins = len(lead) <= _STICKY and lead.count("\n") < 2
            if text[a:b].strip():
                yield _Paragraph(a, b, own, own[0]["name"] if begins else "")
        fences += found
        start = match.end() if match else end


def _by_record(text: str, keys: list[re.Match[str]], end: int) -> list[list[re.Match[str]]]:
    """Fields of records with nothing between: three in one order, or two that say no sentences."""
    begins = [n for n, key in enumerate(keys) if key["name"] == keys[0]["name"]]
    if len(begins) < 2:
        return [keys]
    order = {key["name"]: n for n, key in enumerate(keys[: begins[1]])}
    ranks = [order[key["name"]] for key in keys if key["name"] in order]
    few = 1 if len(begins) > 2 and not _ENDED.search(text, keys[0].start(), end) else 2
    if sum(a >= b for a, b in pairwise(ranks)) >= len(begins) or len(keys) <= few * len(begins):
        return [keys]
    return [keys[a:b] for a, b in pairwise([*begins, len(keys)])]


def _begins(text: str, groups: Sequence[list[re.Match[str]]]) -> list[int]:
    """Where records begin: at their first fields, or at the lines above where all have one."""
    fields = {key.start() for group in groups for key in group}
    firsts = [group[0].start() for group in groups if group]
    above = [text.rfind("\n", 0, max(0, first - 1)) + 1 for first in firsts]
    named = all(
        a < b and a not in fields and not text[a].isspace()
        for a, b in zip(above, firsts, strict=True)
    )
    return above if named else firsts


def _spoken(text: str, first: str, paragraphs: Sequence[_Paragraph]) -> bool:
    """Whether most that begin with a name have no other one, or two that say sentences."""
    begun = [one for one in paragraphs if one.name == first]
    said = [
        len(one.names) < 2 + (len(_ENDED.findall(text, one.start, one.end)) > 1)
        for one in begun
        if one.keys[0].start() == one.start
    ]
    return 2 * sum(said) > len(begun)


def _record(text: str, paragraphs: Sequence[_Paragraph], roots: Sequence[Node]) -> Node:
    """Its fields and further paragraphs, below its first field or a short first paragraph."""
    one = paragraphs[0]
    start, stop = stripped(text, one.start, one.end)
    end = stripped(text, start, paragraphs[-1].end)[1]
    if at := bisect_left(roots, end, key=lambda root: root.start):
        end = max(end, roots[at - 1].end)
    keys = one.keys[one.keys[0].start() == start :]
    if len(paragraphs) > 1 and stop - start <= _STICKY:
        keys = []
    head = stripped(text, start, keys[0].start() if keys else stop)[1]
    if head - start > _HEADER:
        keys, head = one.keys, start
    ends = [*(key.start() for key in keys[1:]), stop]
    fields = zip(keys, ends, strict=False)
    children = [_said(text, key.start(), key.end(), last, roots) for key, last in fields]
    children += _filled(text, stop, end, roots)
    return Node(start, head, end, end, mark="… {}", whole=_HEADER, children=children)


def _said(text: str, start: int, head: int, end: int, roots: Sequence[Node]) -> Node:
    """A turn or a field: what is said, by paragraphs where it is long, below who said it."""
    _, end = stripped(text, start, end)
    node = Node(start, min(head, end), end, end, mark="…", each=True)
    if end - start > _WHOLE:
        said = _filled(text, node.head, end, roots)
        node.children = said[0].children if len(said) == 1 and said[0].children else said
        node.kind = said[0].kind if said else node.kind
        node.whole = _WHOLE
    return node


def _chats(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    for form, pattern in _HEADS.items():
        heads = [m for m in pattern.finditer(text) if not _NO_SPEAKERS.match(m.group("name") or "")]
        stamped = [m for m in heads if re.search(_TIME, m[0])]
        if 2 * len(stamped) > len(heads):
            heads = stamped  # the others are lines of what somebody said
        titled = form in ("named", "play") and heads is not stamped
        heads = _speakers(text, heads) if titled else heads
        if len(heads) < _FEWEST or not _talk(text, form, heads):
            continue
        titles = _titles(text, heads) if titled else {}
        runs: list[tuple[int, list[Node]]] = []
        for head, following in pairwise([*heads, None]):
            if head is None:
                break
            end = following.start() if following else len(text)
            node = _said(text, head.start(), head.end(), titles.get(end, end), roots)
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
        title, said = end, stripped(text, start, end)[0]
        for blank in reversed([*_BLANK.finditer(text, start, end)]):
            above = blank.end() == end or _ABOVE.match(text, blank.end(), title)
            if blank.start() <= said or not above:
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
        return max(gaps) > _WHOLE and sum(gap < _WHOLE for gap in gaps) > 1
    names = Counter(m.group("name") or m.groupdict().get("after") for m in heads)
    again = sum(n for n in names.values() if n > 1)
    long = text.count("\n", heads[0].start()) + 1
    return 2 * again >= len(heads) > len(names) and sum(gaps) > 10 * len(heads) and (
        form != "named" or 8 * len(heads) >= long
    )  # fmt: skip


def _filled(text: str, start: int, end: int, roots: Sequence[Node]) -> list[Node]:
    """Paragraphs, and the regions among them."""
    found: list[Node] = []
    for at in range(bisect_left(roots, start, key=lambda root: root.start), len(roots)):
        if (root := roots[at]).end > end:
            break
        found += _paragraphs(text, start, root.start)
        found.append(root)
        start = root.end
    return [*found, *_paragraphs(text, start, end)]


def _paragraphs(text: str, start: int, end: int) -> Iterator[Node]:
    """Paragraphs by their sentences or lines; one that leads to the next goes with it."""
    stops = [(start + m.start(), start + m.end()) for m in _BLANK.finditer(text[start:end])]
    first = start
    for stop, begins in [*stops, (end, end)]:
        said = text[first:stop]
        if not said.strip():
            first = begins
            continue
        if said.rstrip().endswith((":", "：")) and stop - first <= _WHOLE and begins < end:
            continue
        yield _paragraph(text, *stripped(text, first, stop))
        first = begins


def _paragraph(text: str, start: int, end: int) -> Node:
    options: dict[str, Any] = {"mark": "…", "each": True, "whole": _WHOLE}
    if _QUOTED.search(text, start, end) and (said := _quoted(text, start, end, options)):
        return said[0] if len(said) == 1 else over(said, **options)
    node = Node(start, start, end, end, **options)
    head, body, _ = parts(text, start, end)
    if len(body) > 1:
        node.head = head[-1][1] if head else start
        node.children = [leaf(*span) for span in body]
        lines = "\n" in text[body[0][1] : body[1][0]]
        node.kind, node.whole = ("lines", _WHOLE) if lines else ("inline", 0)
    return node


def _quoted(text: str, start: int, end: int, options: dict[str, Any]) -> list[Node]:
    """Paragraphs of one depth of quotes, each with its mark, the deeper ones below who wrote them.

    Who did stands directly above them, on a line, with those that begin it, that ends with a colon.
    """
    found: list[Node] = []
    heads: list[tuple[int, Node]] = []  # of the line at hand, with their depths
    last, line, joins = 0, start, False
    for a, b in line_spans(text, start, end):
        quotes = _QUOTES.match(text, a, b)
        first = quotes.end() if quotes else a
        if not text[first:b].strip():
            joins = False
            continue
        depth = min(text.count(">", a, first), _DEEPEST)
        beside = heads[-1][1].children if heads else found
        if beside and depth > last and text[line : beside[-1].end].endswith((":", "：")):
            said = Node(line, beside[-1].end, b, b, **options)
            whole = beside.pop()
            if whole.start < line:
                end = stripped(text, whole.start, line)[1]
                beside.append(Node(whole.start, whole.head, end, end))
            beside.append(said)
            heads.append((last, said))
        while heads and heads[-1][0] >= depth:
            heads.pop()
        beside = heads[-1][1].children if heads else found
        goes_on = joins and depth == last and beside
        if not goes_on:
            beside.append(Node(a, first, b, b, **options))
        for one in (beside[-1], *(head for _, head in heads)):
            one.tail = one.end = b
        line = line if goes_on and text[first].islower() else a
        last, joins = depth, True
    return found
