"""The inspector's page of hostile questions and documents, in a real Chromium."""

from __future__ import annotations

import atexit
import random
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragsieve.inspector import page, view

from ..inspector.conftest import CHROMIUM, system
from .campaign import Kind
from .laws import draw_documents, draw_question, draw_text, holds

MARKUP = [
    "<script>PWN</script>", "</script><script>PWN</script>", "<img src=x onerror=PWN>",
    "<svg/onload=PWN>", "<a href='javascript:PWN'>x</a>", "<iframe srcdoc='<script>PWN</script>'>",
    "<style>*{background:url(http://evil.example/x)}</style>", "<base href=http://evil.example/>",
    "<form action=http://evil.example/><input autofocus onfocus=PWN>", "'\" onmouseover=PWN x='",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>", "${PWN}", "{{PWN}}", "-->",
    "<math><mtext></table><mglyph><style><!--</style><img title='--><img src=x onerror=PWN>'>",
    "\u2028PWN//", "<!--<script>", "]]><script>PWN</script>", "<link rel=stylesheet href=//evil>",
    "<details open ontoggle=PWN>", "\\u003cscript\\u003ePWN\\u003c/script\\u003e", "&lt;script&gt;",
]  # fmt: skip
CODE = "window.pwned=1"


def markup(rng: random.Random) -> str:
    """A few attacks in a text."""
    found = [rng.choice([*MARKUP, draw_text(rng)]) for _ in range(rng.randrange(1, 5))]
    return rng.choice([" ", "", ". "]).join(found).replace("PWN", CODE)


def draw(rng: random.Random) -> dict[str, Any]:
    """A question and documents, most of them with markup that wants to run."""
    documents: list[Any] = draw_documents(rng, 3)
    for _ in range(rng.randrange(1, 4)):
        documents.append({"text": markup(rng), "title": markup(rng), "id": markup(rng)})
    question = markup(rng) if rng.random() < 0.5 else draw_question(rng)
    return {"question": question, "documents": documents, "name": markup(rng)}


@cache
def browser() -> Any:
    """A headless Chromium that ends with this process."""
    from playwright.sync_api import sync_playwright

    running = sync_playwright().start()
    made = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    atexit.register(running.stop)
    atexit.register(made.close)
    return made


def check(value: dict[str, Any], folder: Path) -> int:
    """Nothing runs, nothing is fetched, nothing is said on the console, and the texts are shown."""
    made = system()
    views = [view(made.ask(value["question"], value["documents"]), value["name"])]
    file, bad = folder / "page.html", []
    file.write_text(page(views), encoding="utf-8")
    shown = browser().new_page()
    try:
        for event in ("pageerror", "dialog", "popup", "download"):
            shown.on(event, lambda what, event=event: bad.append(f"{event}: {what}"))
        shown.on("console", lambda line: bad.append(f"console: {line.text}"))
        shown.on("request", lambda asked: bad.append(asked.url))
        shown.goto(file.as_uri())
        bad.remove(file.as_uri())
        shown.evaluate("document.querySelectorAll('*').forEach(e => e.click && e.click())")
        pwned = shown.evaluate("window.pwned")
        elements = shown.evaluate(
            "document.querySelectorAll('img,[onload],iframe,base,form[action],a[href^=java]').length"
        )
        spans = shown.locator(".s").count()
    finally:
        shown.close()
    holds("nothing runs", pwned is None)
    holds("nothing is fetched or said", not bad, bad)
    holds("no text becomes markup", elements == 0, elements)
    holds("the texts are shown", spans > 0)
    return 1


def missing() -> str:
    """Whether there is a browser to drive."""
    if not find_spec("playwright"):
        return "not installed: playwright"
    return "" if CHROMIUM else "there is no chromium"


PAGES = Kind("pages", 200, 4, draw, check, missing)
