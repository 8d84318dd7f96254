"""HTML pages to documents."""

from __future__ import annotations

from html_to_markdown import ConversionOptions, convert

from ragsieve.errors import InputError


def page_text(html: str, *, name: str = "page") -> tuple[str, str]:
    """Title and plain text of an HTML page, menus and scripts left out; nothing is run or fetched.

    Args:
        html: The page.
        name: What an error calls it.

    Raises:
        InputError: If the page cannot be read, or nests so deep that its text would be lost.
    """
    found = convert(html, ConversionOptions(output_format="plain", skip_images=True))
    text = (found.content or "").strip()
    if html.strip() and not text:
        reasons = "; ".join(warning.message for warning in found.warnings) or "it has no text"
        raise InputError(f"{name} must be an HTML page with text: {reasons}")
    return (found.metadata.document.title or "") if found.metadata else "", text
