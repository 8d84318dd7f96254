"""`--html` and `--compare`: a run, or two, as a page."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ASKED = "Who sang Summer Breeze?"
FAKE = ("--llm", "fake:echo", "--embedder", "fake:hashing", "--pruner", "fake:pruner")


def views_of(path: Path) -> list[dict[str, Any]]:
    """The views that a page holds."""
    html = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1])["views"]


@pytest.fixture(autouse=True)
def text(ragsieve: Callable[..., Any]) -> None:
    """a.txt in the folder."""
    Path("a.txt").write_text("Bees make honey. Summer Breeze was sung by Seals and Crofts.")


def test_a_page_is_written_beside_the_answer(ragsieve: Callable[..., Any]) -> None:
    """The same run, and a second system's with its own options; many questions make none."""
    given = ("ask", *FAKE, "--system", "top-sentences", "--option", "k=1", "-q", ASKED, "a.txt")
    plain = ragsieve(*given)
    ended = ragsieve(*given, "--html", "out.html")
    (shown,) = views_of(Path("out.html"))

    assert (0, plain.out) == (ended.code, ended.out)
    assert ("top-sentences", plain.out.strip()) == (shown["name"], shown["answer"])
    assert 1 == len(shown["kept"])

    given = ("--system", "top-sentences", "--option", "k=1", "--html", "o.html", "--compare", "all")
    ended = ragsieve("filter", *FAKE, *given, "-q", ASKED, "a.txt")

    assert 0 == ended.code
    assert ["top-sentences", "all"] == [shown["name"] for shown in views_of(Path("o.html"))]

    Path("q.jsonl").write_text(json.dumps({"question": ASKED, "documents": ["a"]}))
    ended = ragsieve("filter", "--input", "q.jsonl", "--output", "o", "--html", "o.html")

    assert 2 == ended.code
    assert "--input takes no FILE, --json, --explain or --html" in ended.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--compare all", "--compare goes with --html"),
        ("--html o.html --compare nonsense", "system must be one of"),
        ("--html no/where.html", "--html must be a file in a folder that is there"),
    ],
)
def test_options_of_the_page_are_checked_first(
    ragsieve: Callable[..., Any], given: str, message: str
) -> None:
    """Before anything is read or written; code 2."""
    ended = ragsieve("filter", *FAKE, *given.split(), "-q", ASKED, "a.txt")

    assert (2, "") == (ended.code, ended.out)
    assert message in ended.err
