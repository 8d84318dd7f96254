"""Views as one HTML document that holds its own style, script and data."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from ragsieve.inspector.views import clean
from ragsieve.text import safe

SCRIPTS = ("recut", "parts", "link", "texts", "cuts", "stories", "inspector", "live")
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(views: Sequence[Mapping[str, Any]], *, live: bool = False) -> str:
    """The views as an HTML document, side by side where there are two.

    All that views say is data: it stands in the page as JSON with ``<``, ``>`` and ``&`` escaped,
    and the page's script shows it as text. The page's content policy allows that script and style
    alone, and no request; a live page may ask the server that it came from.

    Args:
        views: Of `view`; none where the page is only to ask.
        live: Whether the page has a form that posts to ``/v1/inspect``.
    """
    data = json.dumps({"views": clean(views), "live": live}, ensure_ascii=False, allow_nan=False)
    question = " ".join(str(views[0].get("question", "")).split())[:80] if views else ""
    html = Template(_read("inspector.html")).substitute(
        policy=policy(live=live),
        title=escape(f"{question} – ragsieve" if question else "ragsieve", quote=False),
        style=_read("inspector.css"),
        data=data.translate(_ESCAPES),
        script=_script(),
    )
    return safe(html)


@cache
def policy(*, live: bool) -> str:
    """The page's content security policy; a server should send it as a header, too."""
    asks = "'self'" if live else "'none'"
    own = f"script-src {_hash(_script())}; style-src {_hash(_read('inspector.css'))}"
    others = f"img-src data:; connect-src {asks}; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; {own}; {others}"


@cache
def _script() -> str:
    return "(() => {\n" + "\n".join(_read(f"{name}.js") for name in SCRIPTS) + "})();\n"


@cache
def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
