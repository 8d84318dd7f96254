"""The live page: a form that asks the server it came from."""

import json
from typing import Any, ClassVar

import pytest

from ragsieve import select
from ragsieve.inspector import page, view
from tests.plugins.browser import QUESTION, TEXTS, Shown, system
from tests.serving import Handler, served

TOKEN = "open sesame"


class Live(Handler):
    """The page, two systems, and their views for whoever has the token."""

    bodies: ClassVar[list[Any]] = []
    wanted: ClassVar[str] = TOKEN

    def do_GET(self):
        if self.path == "/":
            self.reply(200, page([], live=True).encode(), "text/html; charset=utf-8")
        elif self.path == "/stats":
            row = {"requests": 2, "tokens_before": 3_000_000, "tokens_after": 1_000_000}
            rows = [{"day": "2026-11-28", "route": "/v1/messages", "tool": "<i>Bash</i>", **row}]
            if self.allowed():
                self.reply(200, {"rows": rows, **row})
        elif self.allowed():
            listed = [{"name": "top", "summary": "the best"}, {"name": "all"}, {"name": "third"}]
            self.reply(200, {"systems": listed})

    def do_POST(self):
        body = self.asked()
        if self.allowed():
            self.bodies.append(body)
            made = system(select.TopK(2))
            result = (made.ask if body["ask"] else made)(body["query"], body["documents"])
            self.reply(200, {"views": [view(result, n) for n in body["systems"]]})

    def allowed(self):
        right = not self.wanted or self.headers.get("Authorization") == f"Bearer {self.wanted}"
        if not right:
            self.reply(401, {"detail": "<b>a token</b>, please"})
        return right


@pytest.fixture
def live(chromium):
    """The live page of a server of its own."""
    Live.bodies.clear()
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(5000)
    shown = Shown(context.new_page())
    shown.page.on("pageerror", lambda error: shown.errors.append(str(error)))
    with served(Live) as url:
        shown.page.goto(url)
        yield shown
        context.close()


def unlock(live):
    live.page.fill("#token", TOKEN)
    live.page.locator("#token").blur()
    live.page.wait_for_selector(".system")


def test_savings_are_shown_at_a_price(live):
    """Where the server keeps them, once it lists its systems; names of tools are text."""
    unlock(live)
    live.page.wait_for_selector("summary:has-text('Savings: 2,000,000 tokens')")
    live.page.click("text=Settings")
    live.page.fill("#price", "1.5")
    live.page.click("summary:has-text('Savings')")
    cells = live.page.locator("details:has-text('Savings') tbody tr").first.inner_text()

    assert ["<i>Bash</i>", "2", "3,000,000", "1,000,000", "2,000,000", "3.00"] == cells.split()[2:]


def ask(live, typed: str = json.dumps(TEXTS), view="#v0"):
    """Fill the form, send it and wait for a view."""
    live.page.fill("#q", QUESTION)
    live.page.fill("#docs", typed)
    live.page.click(".go")
    live.page.wait_for_selector(view)


def test_an_example_shows_its_result_at_once(live):
    """One click, and what is kept stands on the first screen, the form folded above it."""
    unlock(live)
    live.page.click("text=Try an example")
    live.page.wait_for_selector("#v0")
    context = live.page.locator("#v0 .context").bounding_box()

    assert "Eiffel" in Live.bodies[0]["query"]
    assert 3 == len(Live.bodies[0]["documents"])
    assert live.page.locator("#q").is_hidden()
    assert 0 == live.page.evaluate("scrollY")
    assert context["y"] + context["height"] < 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_in_the_form(live, monkeypatch, width, scheme):
    """Before and after; a server that wants no token is not asked for one."""
    monkeypatch.setattr(Live, "wanted", "")
    live.page.set_viewport_size({"width": width, "height": 900})
    live.page.emulate_media(color_scheme=scheme)
    live.page.reload()
    live.page.wait_for_selector(".system")
    before = live.violations()
    live.page.click("text=Try an example")
    live.page.wait_for_selector("#v0")
    live.page.click("summary:has-text('Question and documents')")

    assert [] == before == live.violations()
    assert live.page.locator("#token").is_hidden()
    assert width >= live.page.evaluate("document.documentElement.scrollWidth")


def test_a_link_fills_the_form_and_asks_nothing(live):
    """Question, documents, system and cuts come back; the token is in no link."""
    unlock(live)
    live.page.uncheck("#system-0")
    live.page.check("#system-1")
    ask(live)
    live.cut(0, 4)
    live.page.click("#link")
    live.page.wait_for_url("**#*")
    Live.bodies.clear()
    live.page.reload()
    unlock(live)

    assert "sesame" not in live.page.url
    assert [] == Live.bodies
    assert QUESTION == live.page.input_value("#q")
    live.page.click(".go")
    live.page.wait_for_selector("#v0")
    sent = {"query": QUESTION, "documents": TEXTS, "systems": ["all"], "ask": False}
    assert [sent] == Live.bodies
    assert 4 == len(live.kept())
    assert [] == live.errors


def test_two_systems_are_inspected(live):
    """With a token; a third system cannot be chosen."""
    unlock(live)
    live.page.check("#system-1")
    live.page.check("#ask")
    assert live.page.locator("#system-2").is_disabled()
    ask(live, view="#v1")

    sent = {"query": QUESTION, "documents": TEXTS, "systems": ["top", "all"], "ask": True}
    assert [sent] == Live.bodies
    assert 2 == len(live.kept())
    assert QUESTION == live.page.inner_text("#views h1")
    assert [] == live.violations()
    assert [] == live.errors


def test_what_the_server_refuses_is_said_as_text(live):
    """Without the token, in the server's own words, which are no markup; now it asks for one."""
    live.page.wait_for_function("document.querySelector('.error').textContent")

    assert "401: <b>a token</b>, please" in live.page.inner_text(".error")
    assert live.page.locator("#token").is_visible()
    assert [] == live.violations()


@pytest.mark.parametrize(
    ("typed", "documents"),
    [
        ('[{"id": "a", "text": "One."}]', [{"id": "a", "text": "One."}]),
        ('{"text": "One."}\n{"text": "Two."}\n', [{"text": "One."}, {"text": "Two."}]),
        ('{\n "text": "One."\n}', [{"text": "One."}]),
        ('{\n "hits": [{"n": 1.0}]\n}', ['{\n "hits": [{"n": 1.0}]\n}']),
        ('[{"n": 1}, "Two.", 3]', ['{"n":1}', "Two.", "3"]),
        ('{"n": 1}\n{"text": "Two."}', ['{"n":1}', {"text": "Two."}]),
        ("[1] One.\nStill one.\n \n\nTwo.", ["[1] One.\nStill one.\n \n\nTwo."]),
        ("{not JSON", ["{not JSON"]),
        ("7", ["7"]),
    ],
)
def test_documents_are_read_as_they_are_typed(live, typed, documents):
    """JSON, of which an API's reply is a document, JSON lines, or a text, which is one document."""
    unlock(live)
    ask(live, typed)

    assert documents == Live.bodies[0]["documents"]


ARTICLE = "A tower.\n\nIt is tall.\n\nIt is old."


def test_an_article_is_one_document_unless_one_asks_otherwise(live):
    """Blank lines divide on demand, which is offered where there are some, and kept in a link."""
    unlock(live)
    live.page.fill("#docs", "A tower.\nIt is tall.")
    offered = live.page.locator("#divided").is_visible()
    ask(live, ARTICLE)
    live.page.click("summary:has-text('Question and documents')")
    live.page.check("#divided")
    said = live.page.inner_text("#docs-says")
    live.page.click("#link")
    live.page.wait_for_url("**#*")
    live.page.reload()
    unlock(live)
    live.page.click(".go")
    live.page.wait_for_selector("#v0")

    assert not offered
    assert "3 documents, read as text, a blank line between" == said
    assert [[ARTICLE], ARTICLE.split("\n\n")] == [body["documents"] for body in Live.bodies]
    assert [] == live.errors


def test_a_text_pasted_over_an_example_is_not_divided(live):
    """The example's blank lines divide it; nobody asked that of the next text."""
    unlock(live)
    live.page.click("text=Try an example")
    live.page.wait_for_selector("#v0")
    live.page.click("summary:has-text('Question and documents')")
    divided = live.page.is_checked("#divided")
    live.page.evaluate("""() => {
        const docs = document.getElementById('docs');
        docs.select();
        docs.dispatchEvent(new ClipboardEvent('paste'));
    }""")
    live.page.fill("#docs", ARTICLE)

    assert divided
    assert "1 document, read as text" == live.page.inner_text("#docs-says")
