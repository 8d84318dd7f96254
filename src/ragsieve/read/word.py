"""Word files to text: what the page shows with all markup off, headings and tables as Markdown.

Of three kept libraries mammoth loses simple fields and how numbers are written, docx2python moved
text, tables and numbers of styles; markitdown reads by mammoth. So python-docx opens the file here,
and its XML is walked.
"""

import re
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from typing import Any

from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import nsmap, qn

from ragsieve.read.numbers import integer, numeral, raised

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_GONE = {*map(qn, ("w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:sdtPr")), _FALLBACK}
_GOES_ON = "self::*[w:pPr/w:rPr[w:del or w:moveFrom]][following-sibling::*[1][self::w:p]]"
_SYMBOLS = dict(  # of a font whose letters are signs: what stands for their codes
    enumerate(
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
        "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼\ufffd" + "\ufffd" * 32 + "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓"
        "°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"
        "◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\ufffd⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
        0x20,
    )
)
_FONTS = {
    "Symbol": _SYMBOLS,
    "Wingdings": dict(zip(b"\xfb\xfc\xfd\xfeo\xa8\xa7\xe0\xdf", "✗✓☒☑☐☐▪→←", strict=True)),
    "Wingdings 2": dict(zip(b"OPQRST\xa3", "✗✓☒☑☒☒☐", strict=True)),
}
_SIGNS = {"tab": "\t", "cr": "\n", "br": "\n", "noBreakHyphen": "-"}
_CHUNK = qn("w:altChunk")
_WITHIN = {_CHUNK, *map(qn, ("w:p", "w:tbl", "w:tr", "w:tc"))}
_LETTERS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_FORMS = {**_LETTERS, "decimalZero": "01"}
_SEEN = "vanish", "strike", "dstrike"  # of a run: whether it is seen, and how
_BOX = re.compile("[\u2610-\u2612]")
_LEVELS = 9
_INDENT = "   "  # of a list in a list


def blocks(document: Any) -> Iterator[str]:
    """Paragraphs, lists and tables of a document of python-docx in order, notes at the end."""
    _say_what_styles_say(document)
    numbering, items, known, last = _Numbering(document), list[str](), "", ""
    before = ""  # paragraphs whose ends are deleted, so that they go on in the next one
    for element in _children(document.element.body):
        of_list = ""
        if element.tag == qn("w:tbl"):
            shown = table(element)
        elif element.tag == _CHUNK:
            shown = _chunk(document.part.related_parts[element.get(qn("r:id"))])
        elif element.xpath(_GOES_ON):
            before += text_of(element)
            continue
        else:
            shown, of_list = numbering.paragraph(element, known, before)
            before = ""
        if items and of_list != known:
            yield "\n".join(items)
            items = []
        known = of_list
        if of_list:
            items.append(shown)
        elif shown and not (shown[:1] == "#" and shown.lstrip("# ") == last.lstrip("# ")):
            yield shown
        last = shown or last
    if items:
        yield "\n".join(items)
    yield from _notes(document)


def _based(styles: Mapping[str, Any], style: str) -> Iterator[Any]:
    """A style's element, and those of the styles that it is based on."""
    for _ in styles:  # they may be based on one another
        if (element := styles.get(style)) is None:
            return
        yield element
        style = _value(element, "w:basedOn")


def _say_what_styles_say(document: Any) -> None:
    """Let each run say itself whether its styles hide or strike it."""
    styles = {s.style_id: s.element for s in document.styles}

    @cache
    def said(style: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for element in _based(styles, style):
            own = {name: element.find(f"w:rPr/w:{name}", nsmap) for name in _SEEN}
            found = {name: one for name, one in own.items() if one is not None} | found
        return found

    for paragraph in document.element.body.iter(qn("w:p")) if any(map(said, styles)) else ():
        for run in paragraph.iter(qn("w:r")):
            own = said(_style(paragraph)) | said(_value(run, "w:rPr/w:rStyle"))
            for name, one in own.items():
                if run.find(f"w:rPr/w:{name}", nsmap) is None:
                    run.get_or_add_rPr().append(copy(one))


def _chunk(part: Any) -> str:
    """The text of a page in the file, by itself or in a mail: programs write whole files so."""
    from email import message_from_bytes, policy

    from ragsieve.read.markdown import convert_page  # of an extra
    from ragsieve.read.web import charset

    raw, kind = part.blob, part.content_type
    if kind == "message/rfc822":
        page: Any = message_from_bytes(raw, policy=policy.default).get_body(("html",))
        html = page.get_content() if page else ""
    elif kind in ("text/html", "application/xhtml+xml"):
        html = raw.decode(charset(raw), "replace")
    else:
        raise ValueError(f"it has a part of the kind {kind!r:.80}, which is not read")
    return convert_page(html)[1]


def table(element: Any) -> str:
    """A line a row; a merged cell's text stands in each of its columns and rows."""
    above: dict[int, str] = {}  # texts by column
    lines = []
    for row in _children(element):
        if row.tag != qn("w:tr") or row.find("w:trPr/w:del", nsmap) is not None:
            continue
        first = column = int(_value(row, "w:trPr/w:gridBefore") or 0)
        for cell in _children(row):
            text = _cell(cell).replace("|", "\\|")
            if cell.vMerge == "continue":
                text = above.get(column, text)
            columns = range(column, column := column + max(1, cell.grid_span))
            above |= dict.fromkeys(columns, text)
        lines.append(f"| {' | '.join(above[n] for n in range(first, column))} |")
    return "\n".join(lines)


def _cell(cell: Any) -> str:
    """The text of a cell; of a table in it the cells by commas, the rows by semicolons."""
    said = []
    for element in _children(cell):
        if element.tag == qn("w:tbl"):
            rows = [r for r in _children(element) if r.tag == qn("w:tr")]
            said.append("; ".join(", ".join(map(_cell, _children(row))) for row in rows))
        else:
            said.append(text_of(element))
    return " ".join(" ".join(said).split())


def _children(element: Any) -> Iterator[Any]:
    """Paragraphs, tables, rows or cells below it, those in content controls and the like too."""
    for child in element:
        if child.tag in _WITHIN:
            yield child
        elif child.tag not in _GONE:
            yield from _children(child)


def text_of(paragraph: Any) -> str:
    """Runs, links, fields, insertions and content controls of a paragraph, nothing deleted."""
    return "".join(_texts(paragraph)).strip("\n")


def _texts(element: Any) -> Iterator[str]:
    for child in element:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if name == "t":
            yield child.text or ""
        elif name in ("footnoteReference", "endnoteReference"):
            yield _note(child)
        elif name in ("r", "sup"):
            yield _run(child)
        elif name in _SHOWN:
            yield _SHOWN[name](child)
        elif name in _SIGNS:
            is_break = child.get(qn("w:type"), "textWrapping") == "textWrapping"
            yield _SIGNS[name] if is_break else ""
        elif name and child.tag not in _GONE:
            yield {"p": "\n", "den": "/"}.get(name, "")  # of a text box, of a fraction
            yield from _texts(child)


def _symbol(symbol: Any) -> str:
    """A sign by its font and code; U+FFFD where that is not known."""
    font, code = symbol.get(qn("w:font"), ""), int(symbol.get(qn("w:char"), "FFFD"), 16)
    signs = _FONTS.get(font, {})
    return signs.get(code & 0xFF, "\ufffd") if signs or 0xF000 <= code < 0xF100 else chr(code)


def _box(box: Any) -> str:
    """A box of a form: whether it is ticked, else by default."""
    found = (box.find(f"w:{name}", nsmap) for name in ("checked", "default"))
    ticked = next((one for one in found if one is not None), None)
    return "☒" if ticked is not None and _is_on(ticked) else "☐"


def _choice(choices: Any) -> str:
    """What is chosen of a form's list."""
    entries = [one.get(qn("w:val"), "") for one in choices.iterfind("w:listEntry", nsmap)]
    at = integer(_value(choices, "w:result") or _value(choices, "w:default"), 0)
    return entries[at] if 0 <= at < len(entries) else ""


_SHOWN = {"sym": _symbol, "checkBox": _box, "ddList": _choice}


def _run(run: Any) -> str:
    """The text of a run, or of an exponent: numbers raised as on the page, struck text as such.

    Of hidden text nothing.
    """
    text = "" if _has(run, "vanish") else "".join(_texts(run))
    if run.tag.endswith("}sup") or _value(run, "w:rPr/w:vertAlign") == "superscript":
        text = raised(text)
    struck = _has(run, "strike") or _has(run, "dstrike")
    return f"~~{text}~~" if struck and text.strip() else text


def _has(run: Any, name: str) -> bool:
    """Whether a property of a run is on."""
    found = run.find(f"w:rPr/w:{name}", nsmap)
    return found is not None and _is_on(found)


def _is_on(element: Any) -> bool:
    return element.get(qn("w:val"), "1") not in ("0", "false", "off")


def _note(element: Any) -> str:
    """The mark of a footnote, ``[^1]``, or endnote, ``[^e1]``."""
    return f"[^{'e' if 'endnote' in element.tag else ''}{element.get(qn('w:id'))}]"


def _notes(document: Any) -> Iterator[str]:
    from docx.oxml import parse_xml

    for part in _related(document, RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES):
        for note in parse_xml(part.blob):
            if text := " ".join(" ".join(map(text_of, _children(note))).split()):
                yield f"{_note(note)}: {text}"


def _related(document: Any, *kinds: str) -> list[Any]:
    """Parts of the file of some kinds."""
    every = document.part.rels.values()
    return [one.target_part for one in every if one.reltype in kinds and not one.is_external]


class _Numbering:
    """Numbers of lists and headings, counted through a document as Word counts them."""

    def __init__(self, document: Any) -> None:
        self.styles = {s.style_id: s.element for s in document.styles}
        self.lists: dict[str, dict[int, Any]] = {}  # elements of levels, by their places
        self.nums: dict[str, tuple[str, dict[int, Any], dict[int, int]]] = {}
        links = {}
        for part in _related(document, RELATIONSHIP_TYPE.NUMBERING):
            for one in part.element.iter(qn("w:abstractNum")):
                name = one.get(qn("w:abstractNumId"))
                self.lists[name] = _levels(one)
                if link := _value(one, "w:numStyleLink"):
                    links[name] = link
            for one in part.element.iter(qn("w:num")):
                abstract = _value(one, "w:abstractNumId")
                own = ((o, _value(o, "w:startOverride")) for o in one.iter(qn("w:lvlOverride")))
                starts = {_level(o): int(start) for o, start in own if start.isdecimal()}
                self.nums[one.get(qn("w:numId"))] = abstract, _levels(one), starts
        for name, style in links.items():
            linked = self._inherited(style, "w:pPr/w:numPr/w:numId")
            self.lists[name] = self.lists.get(self.nums.get(linked, (name,))[0], {})
        self.counts: dict[str, list[int]] = {}
        self.begun: set[tuple[str, int]] = set()

    def paragraph(self, element: Any, known: str, before: str) -> tuple[str, str]:
        """A paragraph's text, with its number or as a heading; and its list, if it is an item.

        An inner item is one of the list before it, which is `known`.
        """
        text, place = before + text_of(element), self._place(element)
        mark = self._mark(*place) if place else ""
        level = self._heading(element)
        if not text.strip():
            return "", ""
        if level:
            return f"{'#' * min(level, 6)} {mark and mark + ' '}{' '.join(text.split())}", ""
        if not place or not (mark or known):
            return text, ""
        pad = _INDENT * place[1]
        shown = f"{pad}{mark or '  '} {text.strip()}".replace("\n", f"\n{pad}{_INDENT}")
        return shown, known if known and (place[1] or not mark) else place[0]

    def _heading(self, element: Any) -> int:
        """1 to 9; 0 of no heading."""
        if 0 <= (level := integer(self._said(element, "w:outlineLvl"), _LEVELS)) < _LEVELS:
            return level + 1
        style = self.styles.get(_style(element))
        name = _value(style, "w:name").lower() if style is not None else ""
        found = re.fullmatch(r"(?:heading (\d{1,9})|title)", name)
        return int(found[1] or 1) if found else 0

    def _place(self, element: Any) -> tuple[str, int] | None:
        """The list of a paragraph, and its level there."""
        num, level = (self._said(element, f"w:numPr/{n}") for n in ("w:numId", "w:ilvl"))
        if num not in self.nums:
            return None
        if not _value(element, "w:pPr/w:numPr/w:numId"):  # the level that has its style
            known, style = self.lists.get(self.nums[num][0], {}), _style(element)
            own = (str(n) for n, one in known.items() if _value(one, "w:pStyle") == style)
            level = next(own, level)
        return num, max(0, min(integer(level, 0), _LEVELS - 1))

    def _said(self, element: Any, name: str) -> str:
        """What a paragraph says of itself, or its style or one that this is based on."""
        path = f"w:pPr/{name}"
        return _value(element, path) or self._inherited(_style(element), path)

    @cache  # noqa: B019 - one document is read by one process
    def _inherited(self, style: str, path: str) -> str:
        said = (_value(element, path) for element in _based(self.styles, style))
        return next(filter(None, said), "")

    def _mark(self, num: str, at: int) -> str:
        """The next number of a level as it is shown; a bullet is ``-``."""
        abstract, own, starts = self.nums[num]
        levels = {**self.lists.get(abstract, {}), **own}
        if (level := levels.get(at)) is None:
            return ""
        counts = self.counts.setdefault(abstract, [])
        first = starts.get(at, _start(level))
        if (num, at) not in self.begun and at in starts:
            del counts[at:]
        self.begun.add((num, at))
        for n in range(len(counts), at):
            counts.append(_start(levels[n]) if n in levels else 1)
        counts[at:] = [counts[at] + 1 if at < len(counts) else first]
        form, text = _value(level, "w:numFmt"), _value(level, "w:lvlText")
        if form == "bullet":
            box = text if _BOX.match(text) else ""
            return "" if text.isspace() else f"- {box}".strip()
        if form == "none" or "%" not in text:
            return text.strip()
        decimal = level.find("w:isLgl", nsmap) is not None  # of all levels

        def shown(found: re.Match[str]) -> str:
            n = int(found[1]) - 1
            if n > at:
                return ""
            form = _value(levels[n], "w:numFmt") if n in levels and not decimal else ""
            return numeral(counts[n], _FORMS.get(form, ""))

        return re.sub(r"%([1-9])", shown, text).strip()


def _value(element: Any, path: str) -> str:
    """The value of the first element at a path; empty where there is none."""
    found = element.find(path, nsmap)
    return "" if found is None else found.get(qn("w:val"), "")


def _level(element: Any) -> int:
    """The place of a level, from 0; the first where it says none."""
    return max(0, integer(element.get(qn("w:ilvl")), 0))


def _style(element: Any) -> str:
    return _value(element, "w:pPr/w:pStyle") or "Normal"


def _levels(element: Any) -> dict[int, Any]:
    """Elements that say how the levels of a list are numbered, by their places."""
    return {_level(one): one for one in element.iter(qn("w:lvl"))}


def _start(level: Any) -> int:
    return integer(_value(level, "w:start"), 1)
