"""HTML pages to documents."""

from __future__ import annotations

from html_to_markdown import ConversionError, ConversionOptions, WarningKind, convert

from ragsieve.errors import InputError
from ragsieve.text import safe

_LOST = (WarningKind.DEPTH_LIMIT_EXCEEDED, WarningKind.TRUNCATED_INPUT)


def page_text(html: str, *, name: str = "page") -> tuple[str, str]:
    """Title and plain text of an HTML page, menus and scripts left out; nothing is run or fetched.

    Either may be empty; control characters become U+FFFD.

    Args:
        html: The page.
        name: What an error calls it.

    Raises:
        InputError: If the page cannot be read, or nests so deep that text of it would be lost.
    """
    try:
        found = convert(safe(html), ConversionOptions(output_format="plain", skip_images=True))
    except ConversionError as error:
        raise InputError(f"{name} must be an HTML page: {error}") from error
    if lost := [warning.message for warning in found.warnings if warning.kind in _LOST]:
        raise InputError(f"{name} must be an HTML page that can be read whole: {lost[0]}")
    title = found.metadata.document.title if found.metadata else ""
    return title or "", (found.content or "").strip()
