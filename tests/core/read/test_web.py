"""HTML pages to text."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

from ragsieve.errors import InputError
from ragsieve.read.web import page_text
from tests.processes import python

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
PAGES = Path(__file__).with_name("pages.jsonl").read_text(encoding="utf-8")
READ = {row["name"]: (row["page"], row["text"]) for row in map(json.loads, PAGES.splitlines())}
READ |= {n: (f"{menu}<p>Bees make it.</p>{menu}", "Bees make it.") for n, menu in MENUS.items()}


@pytest.mark.parametrize("name", READ)
def test_a_page_is_read_as_browsers_show_it(name):
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
def test_text_that_nests_too_deep_is_one_error(tag, times):
    """No crash, and nothing is lost in silence, whatever else the page says."""
    with pytest.raises(InputError, match=r"deep\.html must be .* (depth limit|takes over 2 s)"):
        page_text("<p>on top</p>" + tag * times + "below", name="deep.html", timeout_s=2)


def test_a_page_is_read_while_other_threads_run():
    """Parsing takes place elsewhere, so that it does not hold up what asks other sources."""
    done = threading.Event()

    def read():
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
def test_a_process_and_its_fork_read_pages_apart():
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

    assert "True 0\n" == python(program).stdout
