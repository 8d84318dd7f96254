"""HTML pages to text."""

import codecs
import re

from ragsieve.read.apart import ask
from ragsieve.schema import Seconds, check_number
from ragsieve.text import legacy_charset, safe

_META = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)")
_DECLARED_BYTES = 1024
_AS_BROWSERS = {"iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}  # supersets


def charset(page: bytes) -> str:
    """The codec of an HTML page: by its byte order mark, else as declared, else UTF-8."""
    if page.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    begin = page[:_DECLARED_BYTES]
    declared = _META.search(begin) or _XML.match(begin)
    name = legacy_charset(declared[1].decode()) if declared else ""
    return _AS_BROWSERS.get(name, name) or "utf-8-sig"


def page_text(html: str, *, name: str = "page", timeout_s: float = 10.0) -> tuple[str, str]:
    """Title and Markdown of an HTML page, menus and scripts left out; nothing is run or fetched.

    Tables, lists and headings stay; of links, their text. Either may be empty; control characters
    become U+FFFD. It is read in a process of its own (`ragsieve.read.apart`).

    Args:
        html: The page.
        name: What an error calls it.
        timeout_s: Seconds until it is given up, over 0 and at most 86,400.

    Raises:
        InputError: If the page cannot be read in that time and 4 GiB, or nests so deep that text of
            it would be lost.
        SourceError: If no process can be started.
        MissingExtra: Without the extra ``html``.
    """
    from ragsieve.read import markdown  # of the extra

    check_number("timeout_s", timeout_s, Seconds)
    named = f"{name} must be an HTML page that can be read whole"
    title, text = ask(markdown.__file__, safe(html), named, timeout_s)
    return safe(title), safe(text).replace("\u00ad", "")  # a break that is not shown
