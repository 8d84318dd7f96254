"""Pages in headless Chromium, on a phone and a wide screen, light and dark: axe finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragsieve.evaluate.page import to_html

from .evaluate.test_report import hostile, reported, write_run
from .inspector.conftest import Shown, chromium  # noqa: F401  # a fixture

Look = Callable[[str, int, Any], Shown]
SCREENS = [(width, scheme) for width in (390, 1440) for scheme in ("light", "dark")]


@pytest.fixture
def look(chromium: Any) -> Iterator[Look]:  # noqa: F811
    """Opens an address on a screen of some width, in a colour scheme."""
    contexts = []

    def opened(url: str, width: int, scheme: Any) -> Shown:
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


def test_axe_finds_nothing_in_a_report(look: Look, tmp_path: Path) -> None:
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
