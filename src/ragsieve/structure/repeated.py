"""What comes again and again: turns of a chat, cues, entries of a log, records, mails.

A beginning of a line that comes again heads what follows it. Where names speak in turn it is a
turn, below who said it; where the same names come in the same order they are fields of records,
below the first one or, where text stands behind them, below all the short ones.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragsieve.structure.beginnings import Beginning, beginnings
from ragsieve.structure.paragraphs import BLANK, filled, said
from ragsieve.structure.printed import hangs
from ragsieve.structure.tree import Node, leaf, over, places, stripped

_FEWEST = 3  # turns of a chat
_CUES = 250  # characters of neighbouring cues that make one unit
_HEADER = 600  # characters of a record that is not cut
_SHOWN = 300  # characters of a header's fields that are shown with what stands below
_STICKY = 200  # characters of the fields that are shown with their record
_NO_SPEAKERS = re.compile(r"(?:Q|A|Question|Answer|Note|Warning|Tip|Example|https?|Step)\b", re.I)
_APART = re.compile(r"\n(?:[ \t]*(?:[-=*_]{3,}[ \t]*)?\r?\n)+")  # blank lines and rules
_FIELD = re.compile(r"[*>]*N\**[:：|][*0$]*")  # a form
_COMPOUND = re.compile(r"\W*\w+[-_]")  # a name that a program gave
_NUMBERED = re.compile(
    r"^([^\W\d]\w*) #?(?=\S*\d)[\w.-]{1,64}[ \t\r]*(?:\([^()\n]*\))?$", re.MULTILINE
)
_ABOVE_TEXT = re.compile(r"[ \t\r]*\n[ \t]*[^\s]")
_BLANK_END = re.compile(r"\n[ \t\r]*\n[ \t]*\Z")
_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_RUNS_ON = re.compile(r"<[^<>\n]{1,80}>")  # marks who speaks, in a cue
_TITLE = re.compile(r"#{1,6} |[\w*][^\n]{0,80}(?<![.!?;…\s])\s*\Z")  # a paragraph
_ENDED = re.compile(r"[.!?…。！？][\"'”’)*]*\s*$", re.MULTILINE)
_ABOVE = re.compile(  # a paragraph that heads turns, with one more line
    r"(?:#{1,6} |\*|v?\d|[^\Wa-z_])[^\n]{0,80}(?<![.!?;…\s])(?:\n[^\n]{1,80}(?<![.!?;…\s]))?\s*\Z"
)
_HEADING, _BEGUN = (re.compile(begin, re.MULTILINE) for begin in ("^#{1,6} ", r"^[ \t]*\d"))


def regions(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    """The records, mails and chats of a text, with the other regions that lie in them."""
    if roots and roots[0].end - roots[0].start == len(text.strip()):  # manifests, a program
        return
    fences = [match.span() for match in _FENCED.finditer(text)]
    lines = [some for some in beginnings(text) if some and not places(fences, *some[0][2:])]
    if records := [one for one in _records(text, lines, roots) if not hangs(text, one)]:
        yield from records
        return
    tables = [(root.start, root.end) for root in roots if root.kind in ("table", "grid")]
    others = [some for some in lines if not places(tables, some[0].start, some[0].end)]
    runs = [one for one in _chats(text, others, roots) if not hangs(text, one)]
    covered = (b - a for run in runs for a, b in tables if run.start <= a and b <= run.end)
    if 2 * sum(covered) <= sum(run.size for run in runs):
        yield from runs


def _chats(
    text: str, lines: Sequence[Sequence[Beginning]], roots: Sequence[Node]
) -> Iterator[Node]:
    """Turns, entries or cues by the form that most lines have of those that may head them."""
    forms: dict[str, dict[int, Beginning]] = {}
    for above, line in pairwise([[], *lines]):
        for one in line:
            one = _cue(text, above, one) if one.form.count("S") > 1 else one
            if not _NO_SPEAKERS.match(one.name) and _heads(text, one):
                forms.setdefault(one.form, {})[one.start] = one
    for form in [f for f in forms if f[0] not in "SN0" and "S" in f and f[1:] in forms]:
        forms[form[1:]] |= forms.pop(form)  # a reply, behind a mark
    timed = forms.get("S", {}) | forms.get("NS", {})
    told: list[tuple[tuple[int, bool, int], str, list[Beginning]]] = []
    for form, found in forms.items():
        begun = form[0] == "S" and form.count("S") == 1 and 2 * len(found) > len(timed)
        every = timed | found if begun else found  # a few lines may tell of no one
        heads = [every[start] for start in sorted(every)]
        heads = heads if "S" in form else _speakers(text, heads)
        headed = sum(bool(_HEADING.search(text, a.end, b.start)) for a, b in pairwise(heads))
        counted = len(_BEGUN.findall(text)) * (form[0] == "0")  # lines with a number alone
        if max(2 * headed, counted / 2) > len(heads):  # each is in a section of its own
            continue
        talk = len(heads) >= _FEWEST and _talk(text, form, heads)
        if talk or ("S" in form and len(heads) >= (2 if form[:2] == "SN" else _FEWEST)):
            told.append(((len(heads) * (1 + ("S" in form)), talk, len(form)), form, heads))
    if told:
        yield from _runs(text, *max(told)[1:], roots)


def _cue(text: str, above: Sequence[Beginning], one: Beginning) -> Beginning:
    """The line from one time to another, below the short line that numbers or names it."""
    named = bool(above) and len(above[-1].form) == 2 and above[-1].end + 2 >= one.start
    start = above[-1].start if named and _below_blank(text, above[-1].start) else one.start
    line = text.find("\n", one.end)
    return one._replace(start=start, end=line if line >= 0 else len(text))


def _heads(text: str, one: Beginning) -> bool:
    """Whether it may head what follows: a name alone does below a blank line, above a full one."""
    named = "N" in one.form and text[one.start - 1 : one.start] in ("", "\n")
    alone = one.form == "N$"
    apart = alone and _below_blank(text, one.start) and _ABOVE_TEXT.match(text, one.end)
    return "S" in one.form or (named and (not alone or bool(apart)))


def _below_blank(text: str, start: int) -> bool:
    """Whether a line is the first one, or the one above it is blank."""
    above = text[max(0, start - 40) : start]
    return bool(_BLANK_END.search(above)) or (start < 40 and not above.strip())


def _runs(
    text: str, form: str, heads: Sequence[Beginning], roots: Sequence[Node]
) -> Iterator[Node]:
    """Turns below the titles that stand between them."""
    named = any(one.name for one in heads)
    merge = 0 if named or (form[-1] != "$" and form.count("S") < 2) else _CUES
    begun = {one.start for one in (_begin_sentences(text, heads) if merge else heads)}
    titles, runs = _titles(text, heads), list[tuple[int, list[Node]]]()
    for one, end in zip(heads, _ends(text, heads, titles), strict=True):
        tag = _RUNS_ON.match(text, one.end + 1)
        node = said(text, one.start, tag.end() if tag else one.end, end, roots)
        at = bisect_left(roots, node.start, key=lambda root: root.start)
        if at < len(roots) and roots[at].start < node.head and roots[at].end == node.end:
            node = roots[at]  # a traceback begins with the entry that tells of it
        if one.start in titles or not runs:
            runs.append((titles.get(one.start, node.start), []))
        elif one.start not in begun:
            node = over([runs[-1][1].pop(), node], mark="…", each=True)
        runs[-1][1].append(node)
    for title, turns in runs:
        node = over(turns, mark="…" if named or merge else "", whole=0, each=True, merge=merge)
        if title < node.start and text[title] != "#":
            node.start, node.head = stripped(text, title, node.start)
        yield node


def _begin_sentences(text: str, cues: Sequence[Beginning]) -> list[Beginning]:
    """Cues but for those that go on a sentence, where sentences end at all."""
    said = (text[a.end : b.start].rstrip() for a, b in pairwise(cues))
    open_ = [not one.endswith((*".?!…",)) for one in said]
    if 4 * sum(open_) > 3 * len(cues):
        return [*cues]
    heads = [*cues[:1]]
    for cue, goes_on in zip(cues[1:], open_, strict=True):
        lower = text[cue.end : cue.end + 3].lstrip()[:1].islower()
        if not (goes_on and lower and cue.end - heads[-1].start < _CUES):
            heads.append(cue)
    return heads


def _ends(text: str, heads: Sequence[Beginning], titles: Mapping[int, int]) -> list[int]:
    """Where the next head or its title begins; the last has no more paragraphs than any other."""
    ends = [titles.get(head.start, head.start) for head in heads[1:]]
    inside = (BLANK.findall(text[a.end : b].rstrip()) for a, b in zip(heads, ends, strict=False))
    most = max((len(blanks) for blanks in inside), default=0)
    beyond = [blank.start() for blank in BLANK.finditer(text, heads[-1].end)][most:]
    return [*ends, *(beyond[:1] or [len(text)])]


def _speakers(text: str, heads: Sequence[Beginning]) -> list[Beginning]:
    """Heads but for numbered titles, and for those of lists where few have lines of their own."""
    times = Counter(one.name for one in heads)
    stems = Counter(map(_stem, times))
    uses = Counter(_stem(one.name) for one in heads)
    beside = {one.name for one in heads if text[one.end : one.end + 1] not in ("", "\n")}
    apart = 2 * sum(times[name] for name in times.keys() - beside) > len(heads)
    named = [one for one in heads if apart or one.name in beside]
    once = {stem for stem, n in stems.items() if uses[stem] == n > 1}
    return [one for one in named if _stem(one.name) not in once or not _is_heading(text, one)]


def _stem(name: str) -> str:
    return re.sub(r" #?\d+\Z", "", name)


def _is_heading(text: str, one: Beginning) -> bool:
    """Whether it is a title, below a blank line."""
    end = text.find("\n", one.start)
    below = text[max(0, one.start - 2) : one.start] in ("", "\n\n")
    return below and bool(_ABOVE.match(text, one.start, end))


def _titles(text: str, heads: Sequence[Beginning]) -> dict[int, int]:
    """Where titles begin, by the turn below; none for one alone, or for most of the turns.

    Where turns have times, one heads the first, and blank lines stand above titles alone.
    """
    first = heads[0].start
    at = stripped(text, text.rfind("\n\n", 0, len(text[:first].rstrip())) + 1, first)[0]
    found = {first: at} if _ABOVE.match(text, at, first) else {}
    apart = [BLANK.search(text, a.end, b.start) for a, b in pairwise(heads) if "S" in a.form]
    for head, following in pairwise(heads):
        start, end = head.end, following.start
        title, begun = end, start - 1 if "S" in head.form else stripped(text, start, end)[0]
        for blank in reversed([*BLANK.finditer(text, start, end)]):
            above = blank.end() == end or _ABOVE.match(text, blank.end(), title)
            if blank.start() <= begun or not above:
                break
            title = blank.end()
        if title < end:
            found[end] = title
    return found if max(1, sum(map(bool, apart))) < len(found) <= len(heads) / 2 else {}


def _talk(text: str, form: str, heads: Sequence[Beginning]) -> bool:
    """Whether speakers come again and say more than a record does."""
    gaps = [b.start - a.end for a, b in pairwise(heads)]
    names = Counter(one.name for one in heads)
    again = sum(n for name, n in names.items() if name and n > 1)
    often = "S" in form or 8 * len(heads) >= text.count("\n", heads[0].start) + 1
    return often and 2 * again >= len(heads) > len(names) and sum(gaps) > 4 * len(heads)


class _Paragraph(NamedTuple):
    start: int
    end: int
    keys: list[Beginning]
    name: str  # of the field with which it begins, also below a line without one

    @property
    def names(self) -> set[str]:
        return {key.name for key in self.keys}


def _records(
    text: str, lines: Sequence[Sequence[Beginning]], roots: Sequence[Node]
) -> Iterator[Node]:
    """Records one below the other, up to a heading; none where somebody speaks."""
    paragraphs = [*_divided(text, sorted(_keys(text, lines), key=lambda one: one.start))]
    begun = [one for one in paragraphs if one.name and len(one.names) > 1]
    if not (first := _first_name(text, paragraphs, begun)):
        return
    firsts = {first, *(a.name for a, b in pairwise(begun) if a.name == b.name)}
    once = len({one.name for one in begun}) == len(begun)
    apart = once or _has_texts(paragraphs, firsts)
    runs: list[list[list[_Paragraph]]] = [[]]
    record: list[_Paragraph] = []
    names: set[str] = set()  # of its fields
    for one, following in pairwise([*paragraphs, paragraphs[-1]]):
        titled = text[one.start] == "#" or (len(record) < 2 and following.name in firsts)
        if one.name and (one.names & firsts or names & one.names):
            record, names = [one], one.names
            runs[-1].append(record)
        elif not apart and titled and _TITLE.match(text, one.start, one.end):
            record, names = [], set()
            runs.append([])
        elif record:
            record.append(one)
            names |= one.names
    for run in filter(None, runs):
        most = max((len(record) for record in run[:-1]), default=len(run[-1]))
        while not apart and len(run[-1]) > most and not text[run[-1][-1].start].isspace():
            run[-1].pop()  # prose behind the last one
        starts = [one[0].start for one in run]
        own = [r for r in roots if bisect_right(starts, r.start) == bisect_left(starts, r.end)]
        records = [_record(text, one, own, 0 if apart else _HEADER) for one in run]
        yield from records if apart else [over(records, kind="table", mark="…", whole=0, each=True)]


def _first_name(text: str, paragraphs: Sequence[_Paragraph], begun: Sequence[_Paragraph]) -> str:
    """The name of a field that begins records, or is in the header of each; empty without any."""
    times = Counter(one.name for one in begun)
    headers = len(times) == len(begun) and all(len(one.names) >= _FEWEST for one in begun)
    if headers:
        times = Counter(key for one in begun for key in dict.fromkeys(k.name for k in one.keys))
    first = max(times, key=lambda name: times[name], default="")
    if times[first] < 2:
        return begun[0].name if begun and _is_header(text, paragraphs) else ""
    again = any(key.name == first for one in paragraphs for key in one.keys[1:])
    spoken = _NO_SPEAKERS.match(first) or _spoken(text, first, paragraphs)
    return "" if spoken or (again and not headers) else first


def _has_texts(paragraphs: Sequence[_Paragraph], firsts: Container[str]) -> bool:
    """Whether most of it is text below headers of three fields or more, as in a folder of mails."""
    headers = [one for one in paragraphs if one.name in firsts and len(one.names) >= _FEWEST]
    size = paragraphs[-1].end - headers[0].start if headers else 0
    return size > 3 * sum(one.end - one.start for one in headers)


def _keys(text: str, lines: Sequence[Sequence[Beginning]]) -> Iterator[Beginning]:
    """What names a field, at the margin or with aligned marks, and what numbers a record."""
    fields = [one for line in lines for one in line if _FIELD.fullmatch(one.form)]
    firsts = [*{one.start: one for one in reversed(fields)}.values()][::-1]  # one a line
    margins = [text.rfind("\n", 0, one.start) + 1 for one in firsts]
    columns = [one.end - margin for one, margin in zip(firsts, margins, strict=True)]
    for n, (one, margin) in enumerate(zip(firsts, margins, strict=True)):
        if one.start == margin or columns[n] in (columns[n - 1], *columns[n + 1 : n + 2]):
            yield one
    for match in _NUMBERED.finditer(text):
        yield Beginning("N0", match[1], *match.span())


def _is_header(text: str, paragraphs: Sequence[_Paragraph]) -> bool:
    """Whether a text begins with fields, three or more, and goes on with something else."""
    one = paragraphs[0]
    begins = bool(one.keys) and one.keys[0].start == stripped(text, one.start, one.end)[0]
    return begins and len(one.names) >= _FEWEST and len(paragraphs) > 1


def _divided(text: str, every: Sequence[Beginning]) -> Iterator[_Paragraph]:
    """Paragraphs with their fields."""
    start = 0
    for match in [*_APART.finditer(text), None]:
        end = match.start() if match else len(text)
        first = bisect_left(every, start, key=lambda key: key.start)
        last = bisect_left(every, end, key=lambda key: key.start)
        groups = _by_record(text, every[first:last], end)
        stops = [*_begins(text, groups), end] if len(groups) > 1 else [start, end]
        if stops[0] > start:
            groups, stops = [[], *groups], [start, *stops]
        for own, (a, b) in zip(groups, pairwise(stops), strict=True):
            lead = text[a : own[0].start] if own else "\n\n"
            begins = len(lead) <= _STICKY and lead.count("\n") < 2
            if text[a:b].strip():
                yield _Paragraph(a, b, own, own[0].name if begins else "")
        start = match.end() if match else end


def _by_record(text: str, found: Sequence[Beginning], end: int) -> list[list[Beginning]]:
    """Fields of records with nothing between: three in one order, or two that say no sentences."""
    keys = [*found]
    begins = [n for n, key in enumerate(keys) if key.name == keys[0].name]
    if len(begins) < 2:
        return [keys]
    order = {key.name: n for n, key in enumerate(keys[: begins[1]])}
    ranks = [order[key.name] for key in keys if key.name in order]
    few = 1 if len(begins) > 2 and not _ENDED.search(text, keys[0].start, end) else 2
    groups = [keys[a:b] for a, b in pairwise([*begins, len(keys)])]
    same = len({tuple(key.name for key in group) for group in groups}) == 1
    ordered = same or sum(a >= b for a, b in pairwise(ranks)) < len(begins)
    return groups if ordered and len(keys) > few * len(begins) else [keys]


def _begins(text: str, groups: Sequence[list[Beginning]]) -> list[int]:
    """Where records begin: at their first fields, or at the lines above where all have one."""
    fields = {key.start for group in groups for key in group}
    firsts = [text.rfind("\n", 0, group[0].start) + 1 for group in groups if group]
    above = [text.rfind("\n", 0, max(0, first - 1)) + 1 for first in firsts]
    lines = zip(above, firsts, strict=True)
    named = all(a < b and a not in fields and not text[a].isspace() for a, b in lines)
    return above if named else firsts


def _spoken(text: str, first: str, paragraphs: Sequence[_Paragraph]) -> bool:
    """Whether most that begin with a name have no other one, or two that say sentences."""
    begun = [one for one in paragraphs if one.name == first]
    own = [(one, len(_ENDED.findall(text, one.start, one.end)) > 1) for one in begun]
    spoken = (len(x.names) < 2 + says for x, says in own if x.keys[0].start == x.start)
    return 2 * sum(spoken) > len(begun)


def _record(text: str, paragraphs: Sequence[_Paragraph], roots: Sequence[Node], whole: int) -> Node:
    """Its fields and further paragraphs, below its first field or a short first paragraph.

    Where text stands behind three fields or more these are its header: the short ones stay with it.
    """
    one = paragraphs[0]
    start, stop = stripped(text, one.start, one.end)
    end = stripped(text, start, paragraphs[-1].end)[1]
    if at := bisect_left(roots, end, key=lambda root: root.start):
        end = max(end, roots[at - 1].end)
    keys = one.keys[one.keys[0].start == start :]
    short = len(paragraphs) > 1 and stop - start <= _STICKY
    head = stripped(text, start, keys[0].start if keys and not short else stop)[1]
    if len(paragraphs) > 1 and len(one.names) >= _FEWEST:
        begins = [start, *(key.start for key in keys), stop]
        fields = [stripped(text, *span) for span in pairwise(begins)]
        shown = _short(text, fields)
        header = Node(start, start, stop, stop, whole=_HEADER, merge=_HEADER, sticky=True)
        header.children = [leaf(*field, sticky=field in shown) for field in fields]
        return over([header, *filled(text, stop, end, roots)], mark="…", each=True, whole=whole)
    if head - start > _HEADER:
        keys, head = one.keys, start
    ends = [*(key.start for key in keys[1:]), stop]
    said_by = [] if short else zip(keys, ends, strict=False)
    children = [said(text, key.start, key.end, last, roots) for key, last in said_by]
    children += filled(text, stop, end, roots)
    return Node(start, head, end, end, mark="… {}", whole=whole, children=children)


def _short(text: str, fields: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The shortest fields that are short enough together; those of a plain name where some have."""
    plain = [field for field in fields if not _COMPOUND.match(text, *field)]
    taken: list[tuple[int, int]] = []
    for field in sorted(plain or fields, key=lambda one: one[1] - one[0]):
        if sum(b - a for a, b in [*taken, field]) <= _SHOWN:
            taken.append(field)
    return taken
