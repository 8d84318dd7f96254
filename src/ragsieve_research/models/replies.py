"""The one reader of replies: a part says which fields it wants, and of what kind each is.

What a model thinks first, fences and markup do not count. Then a field is, in this order: a member
of a JSON object anywhere in the reply, in any JSON type, beside any others; what stands behind its
label, of a part with one field the last time; the whole reply, its first or its last line, where
that is one value; where not any text can be one, what stands behind a label of any name. What
stands inside a sentence or in quotation marks is never a value.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ragsieve.errors import BadReply
from ragsieve.models.thoughts import strip_thinking as strip_thinking

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$|^```\w*|```$", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|`|\$\$?)(?=\S)([^\n]{1,400}?)(?<=\S)\1(?![\w*])")
_TEX = re.compile(r"(?<!\\)\\(?:(?:math|text)[a-z]*\{([^{}]*)\}|[()\[\]])")
_BOXED = re.compile(r"((?:^|(?<=[.!?] ))[ \t$]*)?\\boxed\{([^{}]*)\}(?(1)[ \t$.]*$)", re.MULTILINE)
_TAGGED = re.compile(r"<(\w{1,40})>((?:(?!</?\w)[\s\S])*+)</\1>")
_ROW = re.compile(r"^\|([^|\n]+)\|([^|\n]+)\|[ \t]*$", re.MULTILINE)
_PICTURES = "\u25a0-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff"
_SIGNS = rf"[>#*•\-–\u2190-\u21ff{_PICTURES}]+"
_LINE = re.compile(rf"^[ \t]*(?:(?:{_SIGNS}|\d{{1,2}}[.)])[ \t]+)*(?:#+)?", re.MULTILINE)
_ENDED = re.compile(rf"(?<![ \t])[ \t]++[{_PICTURES}]+$", re.MULTILINE)
_MARK = re.compile(rf"^(?:{_SIGNS}[ \t]+)*(?:#+)?")  # no number: "2. Paris"
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ANY = re.compile(  # a label of one or two words, or a question
    r"(?:[^\W\d_]\w*+(?: \w++)? ?[:：=→≈]|[^?:\n]{1,80}\?:?)[ \t]*([^\"'“‘?:：=\n]+)"
)
_NAMING = re.compile(r"[^\W_]+")
_CLOSES = dict(zip("\"'`“‘([*_", "\"'`”’)]*_", strict=True))
_QUOTED = re.compile(r"([\"'`“‘(\[*_])(.*)([\"'`”’)\]*_])\.?", re.DOTALL)
_TRIED = 64  # braces that may open an object
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FRAME = re.compile(  # a line that announces what follows, or one above and one below two rules
    r"[^\n]{1,200}[:：]\n\s*(\S.*)|[^\n]*\n+([-*_]{3,})\n+(.+?)\n\2(?:\n+[^\n]*)?", re.DOTALL
)
_REMARK = r"[.!]?(?:\s*[:(].*|(?:\s*[,;\n]|[.!]\s|\s+[-–—]\s|\s?—)(?!\s*\[?\d).*)?"

Kind = Callable[[Any], Any]
"""Reads a text or JSON value as one of a kind; raises `ValueError` of any other."""


class Field(NamedTuple):
    """A value that a reply has to give.

    Args:
        rule: What it has to be, for people.
        read: Its kind.
        labels: What it is called, the first in prompts and schemas; in any case.
        bare: Whether a reply without a label can be it.
    """

    rule: str
    read: Kind
    labels: tuple[str, ...] = ()
    bare: bool = True


def read_fields(reply: str, *fields: Field) -> list[Any]:
    """The values of fields in a reply.

    Raises:
        BadReply: If one is not there, or not of its kind, or there are several of it.
    """
    text = plain_text(strip_thinking(reply))
    for values in (*_objects(text), _labelled(text, fields)):
        read = [_of(values, field, len(fields)) for field in fields]
        if all(read):
            return [value for (value,) in read]
    if text and len(fields) == 1 and fields[0].bare and (values := _bare(text, fields[0])):
        return values
    rules = (f.rule if f.bare and len(fields) == 1 else f"{f.labels[0]}: {f.rule}" for f in fields)
    raise BadReply("; ".join(rules), reply)


def prose(reply: str, *labels: str) -> str:
    """What a reply in free text says, without what it thinks first, label and frame; or empty."""
    with suppress(BadReply):
        return str(read_fields(reply, Field("a text", _said, (*labels, "text", "answer")))[0])
    return ""


def plain_text(text: str) -> str:
    """A text without fences, headings' and lists' marks, emphasis, TeX and tags around values."""
    text = _FENCE.sub("", text.replace("\r\n", "\n")).strip()
    text = _ROW.sub(lambda row: f"{row[1].strip()}: {row[2].strip()}", text)
    text = (_LINE if "\n" in text else _MARK).sub("", _ENDED.sub("", text))
    text = _TAGGED.sub(lambda tag: f"\n{tag[1].replace('_', ' ')}: {tag[2].strip()}\n", text)
    for _ in range(3):  # ***one in another***
        text = _EMPHASIS.sub(r"\2", _TEX.sub(r"\1", text).strip())
    text = _BOXED.sub(lambda box: box[2] if box[1] is None else f"answer: {box[2]}", text)
    return text.strip().removeprefix("**").removesuffix("**").strip()


def _objects(text: str) -> Iterator[list[tuple[str, Any]]]:
    """Members of the JSON objects in a text, the last one first; of nested ones, too."""
    found, at = [], 0
    decoder = json.JSONDecoder(object_pairs_hook=_unique, strict=False)
    for _ in range(_TRIED):
        if (at := text.find("{", at)) < 0:
            break
        try:
            value, at = decoder.raw_decode(text, at)
            found.append([*_members(value)])
        except (ValueError, RecursionError) as error:
            if getattr(error, "pos", 0) >= len(text) or "Unterminated" in str(error):
                break  # it is cut off: what stands in it is no reply
            at += 1
    yield from reversed(found)


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) < len(members):
        raise ValueError("a name comes twice")
    return dict(members)


def _members(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, member in value.items():
        yield _named(name), member
        if isinstance(member, dict):
            yield from _members(member)


def _named(name: str) -> str:
    words = _NAMING.findall(_HUMP.sub(" ", name).replace("_", " ").casefold())
    return " ".join(word.removesuffix("s") for word in words)


def _labelled(text: str, fields: Sequence[Field]) -> list[tuple[str, Any]]:
    """Labels that open a line, with the text behind each, the last first.

    A label is one of a field, with up to four words before it, and a colon, a dash or "is" behind
    it or nothing else on its line; or opens a sentence, with a colon. With several fields the text
    goes on to the next label.
    """
    names = [*(name for field in fields for name in field.labels)]
    names += ["answer", "reply"] if len(fields) == 1 and fields[0].bare else []
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    either = either.replace(r"\ ", "[ _]")
    is_open = len(fields) == 1 and fields[0].bare and not _closed(fields[0])
    several = len(fields) > 1 or is_open
    verb, inside = ("", ":$") if several else (r"|(?:is|are)(?![^ \t:])", "(?: is| are)?[:：=→≈]")
    ends = rf"[ \t]*+(?:(?:[:：=→≈]|[-–—](?=[ \t]){verb}):?[*_]*|$)|(?: [\w-]+){{1,4}}:$"
    label = re.compile(
        r"(?:(?P<line>^)|(?<=[.!?] ))[\"'*_]*(?:[^\W\d_](?:[^\W_]|-)*+(?:,? |_)){0,4}?"
        rf"(?P<name>{either})[*_]*+(?: ?\([^()\n]*\))?[\"*_]*+(?(line)(?:{ends})|{inside})",
        re.IGNORECASE | re.MULTILINE,
    )
    matches = [*label.finditer(text)]
    stops = [*(match.start() for match in matches), len(text)][1:]
    pairs = [(_named(m["name"]), text[m.end() : e]) for m, e in zip(matches, stops, strict=True)]
    if is_open:  # it may hold lines like it
        return pairs if len(pairs) == 1 else []
    return [pair for pair in pairs[::-1] if several or pair[1].count('"') % 2 == 0]


def _of(values: Sequence[tuple[str, Any]], field: Field, fields: int) -> list[Any]:
    """The value of a field among named ones, in a list; none where there is none or a rival."""
    labels, alone = [_named(label) for label in field.labels], fields == 1
    any_name = [v for _, v in values] if alone and field.bare and _closed(field) else []
    named = (
        [value for name, value in values if name in labels],
        [v for n, v in values if n and {*n.split()} <= {*labels[0].split()}] if labels else [],
        [v for n, v in values if alone and any({*n.split()} > {*x.split()} for x in labels)],
    )
    for known in (*named, [v for v in any_name if isinstance(v, list)], any_name):
        read = [one for value in known for one in _value(field.read, value)]
        same, whole = all(value == read[0] for value in read), len(read) == len(known)
        last = whole and alone and known in named
        if read and (last or (same and (whole or alone or not labels))):
            return read[:1]
    return []


def _closed(field: Field) -> bool:
    """Whether not any text is a value of a field."""
    return not _tried(field.read, "a")


def _bare(text: str, field: Field) -> list[Any]:
    """The value of a reply that is one, or whose first or last line is; in a list.

    Where not any text is one, also what stands behind one or two words or a question.
    """
    lines = text.splitlines() or [""]
    behind = [label[1] for line in lines if (label := _ANY.fullmatch(line))]
    last = behind if _closed(field) and _ANY.fullmatch(lines[-1]) else []
    framed = _FRAME.fullmatch(text)
    body = (framed[1] or framed[3]).strip() if framed else text
    first = body.split("\n\n")[0] if framed else lines[0]
    for texts in ([body], [first, lines[-1]], last):
        if read := [one for part in texts for one in _tried(field.read, part)]:
            return read[:1] if all(value == read[0] for value in read) else []
    return []


def _value(read: Kind, value: Any) -> list[Any]:
    """The value, or its first paragraph where not all of it is of the kind, in a list."""
    first = value.strip().partition("\n\n")[0] if isinstance(value, str) else value
    return _tried(read, value) or _tried(read, first)


def _tried(read: Kind, value: Any) -> list[Any]:
    with suppress(ValueError, RecursionError):
        return [read(value)]
    return []


def text(value: Any) -> str:
    """A text on one line, of a value that is no object; a list of one is that, None is empty."""
    if isinstance(value, dict):  # of one member beside yes and no
        value = [member for member in value.values() if not isinstance(member, bool)]
        if len(value) != 1:
            raise ValueError("an object")
    if isinstance(value, list):
        value = " ".join(map(text, value))
    written = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return " ".join(written.split()).strip()


def _said(value: Any) -> str:
    return value.strip() if isinstance(value, str) else text(value)


def paragraph(value: Any) -> str:
    """A text that is not blank, without what stands behind a blank line, and without its quotes."""
    first = re.split(r"\n[ \t]*\n", value.strip())[0] if isinstance(value, str) else value
    if not (written := unquoted(text(first))):
        raise ValueError("blank")
    return written


def unquoted(value: str) -> str:
    """A text without the quotation marks, brackets or emphasis around all of it."""
    while inside := _QUOTED.fullmatch(value := value.strip()):
        if _CLOSES[inside[1]] != inside[3] or {inside[1], inside[3]} & {*inside[2]}:
            break
        value = inside[2]
    return value.strip()


def number(least: int, most: int, *scales: int) -> Kind:
    """A whole number of a range: by itself or of ``most``, behind it one word or a remark.

    Args:
        least: The smallest.
        most: The largest.
        scales: Other numbers out of which one may be given, as 8/10 or 80%, on the way to ``most``.
    """
    tops = "|".join(map(str, (most, *scales)))
    written = re.compile(
        rf"(?:(?:[^\W\d_]+ )?\[([0-9]{{1,9}})\]"
        rf"|(?:K ?=? ?)?({'-?' * (least < 0)}[0-9]{{1,9}}|{'|'.join(_WORDS)}))(?:\.0+)?"
        rf"(?:\s*(?:/|out of)\s*({tops})\b|({'%' if 100 in scales else '(?!)'}))?"
        rf"(?: [^\W\d_]+)?{_REMARK}",
        re.IGNORECASE | re.DOTALL,
    )

    def read(value: Any) -> int:
        if isinstance(value, str):
            if not (match := written.fullmatch(unquoted(value.strip()))):
                raise ValueError("no number")
            word = (match[1] or match[2]).lower()
            top = int(match[3] or 0) or 100 * bool(match[4]) or most
            value = _WORDS.index(word) if word in _WORDS else int(word)
            value = value if top == most else round(most * value / top) if value <= top else -1
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise ValueError("no whole number")
        if not least <= value <= most:
            raise ValueError("out of range")
        return int(value)

    return read


def word(options: Sequence[str]) -> Kind:
    """One of some words, and no other of them in its sentence; true and false are yes and no."""
    plain = {" ".join(option.casefold().split()).strip("[] "): option for option in options}
    either = "|".join(re.escape(option) for option in sorted(plain, key=len, reverse=True))
    written = re.compile(rf"\[?({either})\]?{_REMARK}", re.IGNORECASE | re.DOTALL)

    def read(value: Any) -> str:
        value = {"true": "yes", "false": "no", **plain}.get(str(value).casefold(), value)
        if not (match := written.fullmatch(unquoted(str(value).strip()))):
            raise ValueError("none of the options")
        sentence, chosen = re.split(r"[.!?\n]", match[0].casefold())[0], match[1].casefold()
        if {*re.findall(rf"(?<!\w)(?:{either})(?!\w)", sentence)} - {chosen}:
            raise ValueError("several options")
        return plain[chosen]

    return read


def numbers(most: int, names: Sequence[str] = ()) -> Kind:
    """Different numbers from 1 to ``most``, in order; a text may be one of ``names``."""

    def read(value: Any) -> list[int]:
        return [*dict.fromkeys(n for row in _rows(value, names, number(1, most)) for n in row)]

    return read


def groups(most: int, names: Sequence[str] = ()) -> Kind:
    """Lists of numbers from 1 to ``most``, each of two or more."""

    def read(value: Any) -> list[list[int]]:
        rows = _rows(_lists(value) or value, names, number(1, most))
        if any(len({*row}) < 2 for row in rows):
            raise ValueError("no groups")
        return [[*dict.fromkeys(row)] for row in rows]

    return read


_ITEM = r"(?:[^\W\d_]+ |[^\W\d_]|#)?\[?\"?\d{1,9}\"?\]?(?: ?\([^()]*\))?"
_BETWEEN = r"\s*(?:(?:[,;&>=|\u2190-\u22ff]|and\b)\s*)+|\s+|(?<=\])(?=\[)"
_LISTED = re.compile(rf"(?>{_ITEM})(?:(?>{_BETWEEN})(?>{_ITEM}))*+\.?", re.IGNORECASE)
_NONE = re.compile(r"(?:none|nothing|n/a|-|\[\s*\])?\.?", re.IGNORECASE)
_ROUND = re.compile(r"[({](\s*\d[\d\s,]*)[)}]")
_SQUARE = r"\[\s*(?:\"?\d{1,9}\"?(?:\s*,\s*\"?\d{1,9}\"?)+)?\s*\]"
_BRACKETED = re.compile(rf"(?:(?P<first>{_SQUARE}){_REMARK}|.*?(?P<last>{_SQUARE})\.?)")
_APART = re.compile(r"\[[^\[\]]*,[^\[\]]*\]|(?:[^;,\n\[(]|\[[^\[\],]*\]|\([^()]*\))++")


def _rows(value: Any, names: Sequence[str], one: Kind) -> list[list[int]]:
    """Numbers of a JSON list, or of a text, in rows where they stand in several."""
    if isinstance(value, str):
        with suppress(ValueError):
            return _rows(json.loads(value), names, one)
        value = _ROUND.sub(r"[\1]", value.strip().removeprefix("- "))
        if value.count("[") != value.count("]"):
            raise ValueError("cut off")
        if _NONE.fullmatch(value):
            return []
        if not _LISTED.fullmatch(value):
            alone = value.count("[") == 1 and not re.search(r"[\n\"“]", value)
            if not alone or not (bracketed := _BRACKETED.fullmatch(value)):
                raise ValueError("no list")
            value = bracketed["first"] or bracketed["last"]
        rows = [re.findall(r"\d+", row) for row in _APART.findall(value)]
        return [[*map(one, row)] for row in rows if row]
    if isinstance(value, list):
        items = [next(iter(_lists(item)), item) for item in value]
        nested = any(isinstance(item, list) for item in items)
        lists = items if nested else [items]
        return [[n for item in row for n in _item(item, names, one)] for row in lists if row]
    return [_item(value, names, one)]


def _lists(value: Any) -> list[Any]:
    """Members of an object that are lists."""
    members = value.values() if isinstance(value, dict) else []
    return [member for member in members if isinstance(member, list)]


def _item(value: Any, names: Sequence[str], one: Kind) -> list[int]:
    """The number that an item is, or those of the names that it is."""
    if isinstance(value, dict):  # of one number, beside what it is called or why
        members = [n for member in value.values() for n in _tried(number(1, 10**9), member)]
        value = [*_lists(value), *members]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        plain = unquoted(value).casefold()
        same = [n for n, name in enumerate(names, 1) if unquoted(name).casefold() == plain]
        return same or [one(value.rpartition(" ")[2])]
    return [one(value)]


def texts(value: Any) -> list[str]:
    """Texts of a JSON list, the only one of a text."""
    if isinstance(value, str):
        listed = re.findall(r"\[[^\[\]]*\]", value)
        value = json.loads(listed[0]) if len(listed) == 1 else None
    if not isinstance(value, list):
        raise ValueError("no list")
    return [text(item) for item in value]


def option_field(options: Sequence[str]) -> Field:
    """The field of a reply that is one of some options; whole numbers in a row are a range."""
    plain = [option.strip().strip("[]") for option in options]
    first = int(plain[0]) if plain[0].isdecimal() else 0
    last = first + len(plain) - 1
    if plain == [str(n) for n in range(first, last + 1)]:
        kind = number(first, last, *((5, 10, 100) if (first, last) == (0, 9) else ()))
        rule, labels = f"a number from {first} to {last}", ("number", "rating", "score", "k")
        return Field(rule, lambda value: kind(value) - first, labels)
    rule, choice = f"one of {[*options]}", word(options)
    return Field(rule, lambda value: [*options].index(choice(value)), ("verdict",))
