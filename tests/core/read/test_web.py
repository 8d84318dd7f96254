"""HTML pages to text."""

import math
import os
import subprocess
import sys
import threading
import time

import pytest

from ragsieve.errors import InputError
from ragsieve.read.web import page_text

MENUS = {
    "navigation": "<nav><p>Home, shop</nav>",
    "list of links": "<ul><li><a href=/a>Home</a><li><a href=/b>Shop</a></ul>",
    "line of links": "<p><a href=/a>Home</a> | <a href=/b>Shop</a> | <a href=/c>Help</a></p>",
    "lone links": "<p><a href=/a>Home</a><p>·<p><a href=/b>Shop</a></p>",
    "footer": "<footer>All rights reserved</footer>",
    "buttons": "<form><select><option>Shop</select><button>Go</button></form>",
    "comment": "<!-- wasps -->",
    "hidden": "<p hidden>wasps</p>",
    "not displayed": '<p style="display: none">wasps</p>',
    "template": "<template>wasps</template>",
    "noscript": "<noscript>wasps</noscript>",
    "hidden from readers": "<p aria-hidden=true>wasps</p>",
}
READ = {
    "entities, a bold word and a list": (
        "<p>Bees &amp; co make <b>honey</b>.</p><ul><li>wax<li>comb</ul>",
        "Bees & co make **honey**.\n\n- wax\n- comb",
    ),
    "raised numbers": (
        "<p>10<sup>5</sup> x<sup>n+1</sup>, free.<sup><a href=#n>2</a></sup> A pool<sup>a</sup>, "
        "the 1<sup>st</sup>",
        "10⁵ xⁿ⁺¹, free.² A poolᵃ, the 1st",
    ),
    "lists as they are numbered": (
        "<ol type=a start=2><li>x<ol type=I><li>y</ol><li>z</ol><p>.</p>"
        "<ol reversed><li>x<li value=7>y<li>z</ol>",
        "b. x\n   I. y\nc. z\n\n.\n\n3. x\n7. y\n6. z",
    ),
    "terms": (
        "<dl><dt>Bus<dt>Tram?<dd>Line 4<dt>Fare<dd><ul><li>Five</ul></dl>",
        "Bus: Tram? Line 4\n\nFare:\n\n- Five",
    ),
    "asides": (
        "<p>Free.</p><aside>Shop</aside><aside role=doc-footnote>1 Until May.</aside>",
        "Free.\n\n1 Until May.",
    ),
    "cells that span more": (
        "<table><tr><th rowspan=2>Day<th colspan='2'>Fee<tr><th>Child<th>Other"
        "<!-- <tr><td>wasps --><tr><td rowspan=9>Mon<td>1<td>2<tr><td>3<td>4"
        "<tbody><tr><td colspan=3>Closed</table>",
        "| Day | Fee | Fee |\n| --- | --- | --- |\n| Day | Child | Other |\n"
        "| Mon | 1 | 2 |\n| Mon | 3 | 4 |\n| Closed |  |  |",
    ),
    "unclosed script": ("<p>Bees</p><script>steal(); // <p>wasps", "Bees"),
    "unclosed style": ("<p>Bees</p><STYLE media=all>p { color: red }", "Bees"),
    "script in comment and attribute": (
        "<script>a()</script><!-- <script> --><p title='<script>'>Bees</p><script src=x>wasps",
        "Bees",
    ),
    "nothing": ("", ""),
    "white space": (" ", ""),
    "image": ("<img src=bee.png>", ""),
    "script alone": ("<script>x()</script>", ""),
    "no tags": ("Bees < wasps", "Bees < wasps"),
    "open tag": ("<p>Bees < wasps", "Bees < wasps"),
    "closing tags alone": ("Bees < wasps</p></b>", "Bees < wasps"),
    "surrogate and escape": ("<p>a\ud800 b\x1b[31m</p>", "a\ufffd b\ufffd[31m"),
    "table with a bar, heading in a header": (
        "<header><h1>Hive</h1></header><table><tr><th>Who<th>What<tr><td>bee|s<td>honey</table>",
        "# Hive\n\n| Who | What |\n| --- | --- |\n| bee\\|s | honey |",
    ),
    "link": (
        '<p>Bees make <a href="https://example.org/?q=1">honey (a [sweet] one)</a> of nectar.',
        "Bees make honey (a [sweet] one) of nectar.",
    ),
    "lone link": ("<p><a href=x>Bees</a></p>", "Bees"),
    "link in a word": ("<p>B<a href=x>ees</a></p>", "Bees"),
    "page in a form": ("<form action=/><p>Bees</form>", "Bees"),
    "linked headings": (
        "<h2><a href=a>Bees</a></h2><h2><a href=b>Wasps</a></h2><h2><a href=c>Ants</a></h2>",
        "## Bees\n\n## Wasps\n\n## Ants",
    ),
    **{
        name: (f"{menu}<p>Bees make it.</p>{menu}", "Bees make it.") for name, menu in MENUS.items()
    },
}


@pytest.mark.parametrize("name", READ)
def test_a_page_is_read_as_browsers_show_it(name: str) -> None:
    """Text, headings and tables as Markdown; no scripts, menus, hidden parts or addresses."""
    page, text = READ[name]

    assert ("", text) == page_text(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tag", "times"),
    [
        ("<div>", 5000),
        *((tag, 100_000) for tag in ("<div>", "<b>", "<ul><li>", "<table><tr><td>")),
        ("<blockquote>", 100_000),
    ],
)
def test_text_that_nests_too_deep_is_one_error(tag: str, times: int) -> None:
    """No crash, and nothing is lost in silence, whatever else the page says."""
    with pytest.raises(InputError, match=r"deep\.html must be .* (depth limit|takes over 2 s)"):
        page_text("<p>on top</p>" + tag * times + "below", name="deep.html", timeout_s=2)


def test_a_page_is_read_while_other_threads_run() -> None:
    """Parsing takes place elsewhere, so that it does not hold up what asks other sources."""
    done = threading.Event()

    def read() -> None:
        with pytest.raises(InputError, match="takes over"):
            page_text("<p>" + "a & " * 1_000_000, timeout_s=1)
        done.set()

    page_text("")  # the process runs
    thread = threading.Thread(target=read)
    thread.start()
    beats = 0
    while not done.is_set():
        time.sleep(0.02)
        beats += 1
    thread.join()

    assert beats > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_and_its_fork_read_pages_apart() -> None:
    """They do not take each other's replies."""
    program = """
import os
from ragsieve.read.web import page_text
page_text("<p>before")
child = os.fork()
name = "parent" if child else "child"
right = all(page_text(f"<p>{name} {n}")[1] == f"{name} {n}" for n in range(50))
if not child:
    os._exit(0 if right else 1)
print(right, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)

    assert b"True 0\n" == done.stdout


@pytest.mark.parametrize("timeout_s", [0, -1, math.inf, math.nan])
def test_the_time_must_be_one(timeout_s: float) -> None:
    """Of a single page, too."""
    with pytest.raises(InputError, match=r"timeout_s must lie in \(0, 86400\]"):
        page_text("<p>x", timeout_s=timeout_s)
