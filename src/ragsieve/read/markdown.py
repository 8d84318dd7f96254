"""Convert HTML to Markdown in a separate process, which can be ended: pages may be bombs.

html-to-markdown, not trafilatura or resiliparse: on real pages it alone kept all paragraphs and
table rows, and it tells where text is lost; but a hostile page of 1 MB keeps it busy for 10 s and
more, with every other thread waiting.

This file runs as that process, so it imports little.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.read.apart import serve
from ragsieve.read.numbers import integer, numeral, raised
from ragsieve.read.tables import ATTRIBUTES, spread

with needs_extra("html"):
    import html_to_markdown
    from html_to_markdown import ConversionError, ConversionOptions, WarningKind, convert

_NO_TEXT = [
    *("nav", "footer", "dialog", "button", "select", "textarea", "input"),
    *("iframe", "object", "svg", "[aria-hidden=true]", "[role=navigation]", "[role=search]"),
    *("[role=contentinfo]", "[role=dialog]", "[role=menu]"),
]
_LOST = (WarningKind.DEPTH_LIMIT_EXCEEDED, WarningKind.TRUNCATED_INPUT)
_HEAD = re.compile(r"</head|<body", re.IGNORECASE)
_HEAD_CHARS = 100_000
_LINK = re.compile("\x02([^\x02\x03]*)\x03")
_MARKS = {2: None, 3: None}
_TAG = re.compile(  # comments, scripts and styles are one match, to the page's end if unclosed
    rf"<!--.*?(?:-->|\Z)|<(script|style)\b{ATTRIBUTES}(?<!/)>.*?(?:</\1\b|(?P<open>\Z))"
    rf"|<[a-z]{ATTRIBUTES}>",
    re.IGNORECASE | re.DOTALL,
)
_REVERSED = re.compile(r"(<ol\b[^<>]*\sreversed)(?=[\s>])", re.IGNORECASE)
_AFTER_TERM = re.compile(r"\x04\s*(?![-#|>`\s]|\d+\.)")  # a text, no list or the like
_NO_LETTERS = re.compile(r"[\W_]+")
_NO_ITEM = re.compile(r"[\s*+#>-]*")
_HEADING = re.compile(r"#{1,6} +([^\n]*)")
_BLANK_LINES = re.compile(r"\n{3,}")


class _Marks:
    """Puts each link's text between two control characters, and leaves out where it leads.

    Raised numbers stay raised: "10<sup>5</sup>" is not 105. Lists have the numbers that they show,
    a term stands before what it says, and an aside is left out unless it is a note.
    """

    def __init__(self) -> None:
        self._lists: list[tuple[Any, list[Any]]] = []  # attributes of a list, values of its items

    def visit_element_start(self, context: Any) -> None:
        if context.tag_name == "ol":
            self._lists.append((context.attributes(), []))

    def visit_element_end(self, context: Any, output: str) -> dict[str, str] | None:
        if context.tag_name == "li" and context.parent_tag == "ol":
            self._lists[-1][1].append(context.attributes().get("value"))
        elif context.tag_name == "ol":
            return {"type": "custom", "output": _numbered(output, *self._lists.pop())}
        elif context.tag_name == "dt":
            term = output.strip()
            return {"type": "custom", "output": f"{term}{':' * term[-1:].isalnum()}\x04"}
        elif context.tag_name == "aside":
            about = [context.attributes().get(name) or "" for name in ("role", "epub:type")]
            return {"type": "custom", "output": output if "note" in " ".join(about) else ""}
        return None

    def visit_superscript(self, context: object, text: str) -> dict[str, str]:
        return {"type": "custom", "output": raised(text)}

    def visit_link(self, context: object, href: str, text: str, title: str) -> dict[str, str]:
        return {"type": "custom", "output": f"\x02{text}\x03"}


def _numbered(items: str, list_: Mapping[str, str], values: Sequence[str | None]) -> str:
    """A list with its items' numbers as a browser shows them."""
    form, back = list_.get("type", ""), "reversed" in list_
    if form in ("", "1") and not back and not any(values):
        return items
    number = integer(list_.get("start"), len(values) if back else 1)
    numbers = []
    for value in values:
        number = integer(value, number)
        numbers.append(numeral(number, form))
        number += -1 if back else 1
    indent = " " * (len(items.lstrip("\n")) - len(items.lstrip()))
    marker, left = re.compile(rf"^{indent}\d+(?=[.)](?: |$))", re.MULTILINE), iter(numbers)
    if len(marker.findall(items)) != len(numbers):  # what stands between is no item
        return items
    return marker.sub(lambda _: indent + next(left), items)


def convert_page(html: str) -> tuple[str, str]:
    """Convert a page in this process, however long it takes.

    Raises:
        ValueError: If the page cannot be read whole.
    """
    options = ConversionOptions(
        skip_images=True,
        extract_metadata=False,  # it would stand in the text
        exclude_selectors=_NO_TEXT,
        # some sites are one big form
        preprocessing=html_to_markdown.PreprocessingOptions(remove_forms=False),
        autolinks=False,
        compact_tables=True,
        bullets="-",
    )
    marks: Any = _Marks()  # the protocol names many methods, all of them optional
    opened = (tag.start() for tag in _TAG.finditer(html) if tag["open"] is not None)
    html = html[: next(opened, None)]  # no browser shows what is behind a script left open
    begin = _HEAD.search(html)
    head = html[: begin.start() if begin else None][:_HEAD_CHARS]
    try:
        metadata = convert(head).metadata
        # of an attribute without a value the library does not tell
        page = convert(_REVERSED.sub(r'\1=""', spread(html)), options, marks)
    except ConversionError as error:
        raise ValueError(str(error)) from error
    if lost := [warning.message for warning in page.warnings if warning.kind in _LOST]:
        raise ValueError(lost[0])
    title = metadata.document.title or "" if metadata else ""
    text = _AFTER_TERM.sub(" ", page.content or "").replace("\x04", "")
    return title, without_repeats(title, without_menus(text))


def without_menus(markdown: str) -> str:
    """Markdown without menus and without the marks around links.

    A menu is two lines or more in a row that are links for the most part, or one line of three
    links or more and nothing else; headings and tables are none.
    """
    kept: list[str] = []
    run: list[str] = []  # what may be a menu, with the lines in it that say nothing
    lines = 0
    for line in markdown.split("\n"):
        text = line.translate(_MARKS)
        share = _linked(line)
        if share > 0.5:
            lines += 2 if share == 1 and line.count("\x02") > 2 else 1
            run.append(text)
        elif run and not _NO_LETTERS.sub("", text):
            run.append(text)
        else:
            kept += run if lines < 2 else [""]
            kept.append(text)
            run, lines = [], 0
    kept += run if lines < 2 else []
    cleaned = "\n".join("" if _NO_ITEM.fullmatch(text) else text for text in kept)
    return _BLANK_LINES.sub("\n\n", cleaned).strip()


def without_repeats(title: str, markdown: str) -> str:
    """Markdown in which no heading says what the title or the heading right above it says."""
    kept, above, fenced = [], title.split(), False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        heading = _HEADING.match(line) if not fenced else None
        words = heading[1].split() if heading else []
        if heading and words == above:
            continue
        above = above if not line.strip() else words
        kept.append(line)
    return _BLANK_LINES.sub("\n\n", "\n".join(kept)).strip() or markdown


def _linked(line: str) -> float:
    """Share of a line's letters that is in links; 0 for headings and rows."""
    if "\x02" not in line or line.lstrip().startswith(("|", "#")):
        return 0.0
    linked = len(_NO_LETTERS.sub("", "".join(_LINK.findall(line))))
    return linked / (len(_NO_LETTERS.sub("", line)) or 1)


if __name__ == "__main__":
    serve(convert_page)
