"""A browser without a network, and systems that need no weights."""

import shutil
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragsieve import Pipeline, System, answer, score, split
from ragsieve.inspector import page, view
from ragsieve.models.fake import HashingEmbedder, echo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUESTION = "Who sang Summer Breeze?"
TEXTS = [
    "Bees make honey. Summer Breeze was sung by Seals and Crofts. It was released in 1972.",
    "Seals and Crofts were a duo. They sang soft rock. Summer Breeze reached number six.",
    "Cheese is made of milk. A breeze is a light wind in summer.",
]


def system(*stages):
    """Sentences, scored by a fake cosine, then ``stages``, before a reader that echoes."""
    scored = (split.Sentences(), score.Cosine(HashingEmbedder()))
    return System(Pipeline(*scored, *stages), answer.Reader(echo()))


@dataclass
class Shown:
    """A page in the browser, with every request that it made and every error in it."""

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def kept(self, run=0):
        """Segments of the context that is shown, by number, in order."""
        spans = f"[...document.querySelectorAll('#v{run} .context .s')]"
        return self.page.evaluate(f"{spans}.map(s => Number(s.dataset.segment))")

    def cut(self, control, value):
        """Type a number into the field of a control, by its place or its stage's name."""
        self.page.evaluate("document.querySelectorAll('.others').forEach(d => d.open = true)")
        fields = self.page.locator(".control input[type=number]")
        if isinstance(control, str):
            fields = self.page.get_by_label(f"Number of {control}", exact=True)
        fields.nth(0 if isinstance(control, str) else control).fill(format(value, ".17g"))

    def violations(self):
        """What axe complains of: the rule, and where first."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(self.page).response["violations"]
        return [(rule["id"], rule["nodes"][0]["html"]) for rule in found]


@pytest.fixture(scope="module")  # its event loop, left running, would stop other tests' own
def chromium():
    """A headless Chromium."""
    reason = "playwright is not installed: pip install 'ragsieve[dev]'"
    driver = pytest.importorskip("playwright.sync_api", reason=reason)
    if not CHROMIUM:
        pytest.skip("there is no chromium: apt-get install chromium")
    with driver.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(chromium, tmp_path):
    """Shows views as a page, 1440 pixels wide and light by default; no request gets out."""
    contexts = []

    def shown(views, *, width=1440, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(5000)
        contexts.append(context)
        made = Shown(context.new_page())
        file = tmp_path / "page.html"
        file.write_text(page(views), encoding="utf-8")

        def stop(route):
            made.requests.append(route.request.url)
            route.continue_() if route.request.url == file.as_uri() else route.abort()

        made.page.route("**/*", stop)
        made.page.on("pageerror", lambda error: made.errors.append(str(error)))
        made.page.on("console", lambda message: made.errors.append(message.text))
        made.page.goto(file.as_uri())
        return made

    yield shown
    for context in contexts:
        context.close()


@pytest.fixture
def seen():
    """The view of a system's run on a few documents about a song."""

    def run(*stages, name="cosine", ask=False):
        made = system(*stages)
        return view((made.ask if ask else made)(QUESTION, TEXTS), name, reader=made.reader)

    return run
