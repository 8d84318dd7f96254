"""Pages in headless Chromium, on a phone and a wide screen, light and dark: axe finds nothing."""

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from ragsieve_research.evaluate.page import to_html
from tests.plugins.browser import Shown, chromium  # noqa: F401  # a fixture
from tests.serving import Handler, served

from .evaluate.test_report import hostile, reported, write_run

ROOT = Path(__file__).parents[2]
PAGES = ("index", "how-to/agents", "systems/index", "systems/finefilter", "reference/select")
SCREENS = [(width, scheme) for width in (390, 1440) for scheme in ("light", "dark")]


@pytest.fixture
def look(chromium):  # noqa: F811
    """Opens an address on a screen of some width, in a colour scheme."""
    contexts = []

    def opened(url, width, scheme):
        viewport = {"width": width, "height": 900}
        context = chromium.new_context(
            viewport=viewport, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        made = Shown(context.new_page())
        made.page.on("pageerror", lambda error: made.errors.append(str(error)))
        made.page.goto(url)
        return made

    yield opened
    for context in contexts:
        context.close()


def test_axe_finds_nothing_in_a_report(look, tmp_path):
    """Two datasets, noise and failures under the worst names, all folds open and closed."""
    noise = {"kind": "unrelated", "share": 0.4, "position": "start"}
    noisy = write_run(tmp_path / "noisy", ["first", "sieve", "top"], noises=[None, noise])
    for name, report in (("a", hostile(tmp_path / "r")), ("b", reported(noisy))):
        (tmp_path / f"{name}.html").write_text(to_html(report), encoding="utf-8")
        for width, scheme in SCREENS:
            shown = look((tmp_path / f"{name}.html").as_uri(), width, scheme)
            folded = shown.violations()
            shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")

            assert [] == folded == shown.violations(), (name, width, scheme)
            assert width >= shown.page.evaluate("document.documentElement.scrollWidth")


class Files(Handler, SimpleHTTPRequestHandler):
    """A handler of files that prints nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the built site; from a disk it has no search."""
    pytest.importorskip("mkdocs")
    folder = str(tmp_path_factory.mktemp("site"))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder]
    own = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=own, check=True, timeout=300)
    with served(partial(Files, directory=folder)) as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_in_the_site(look, site, name):
    """A page of each kind; nothing is wider than a phone."""
    for width, scheme in SCREENS:
        shown = look(f"{site}/{name}.html", width, scheme)

        assert [] == shown.violations(), (width, scheme)
        assert width >= shown.page.evaluate("document.documentElement.scrollWidth")
