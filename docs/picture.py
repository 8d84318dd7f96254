"""Write the picture of README: a context before and after the default filter.

python docs/picture.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import ragsieve
from ragsieve.result import Result

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "assets" / "before-after.svg"
QUESTION = "Who designed the Eiffel Tower?"
MIDDLE, LINE, LETTERS = 460, 19, 58  # in pixels, and letters that fit beside each other
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {height}" role="img">
<title>{title}</title>
<style>
text {{ font: 13px system-ui, sans-serif; fill: #1f2328; }}
rect {{ fill: #ffffff; stroke: #d0d7de; }}
.head {{ font-size: 15px; font-weight: 600; }}
.title {{ font-weight: 600; }}
.kept {{ fill: #0b6b57; }}
.gone {{ fill: #656d76; text-decoration: line-through; }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6edf3; }}
rect {{ fill: #0d1117; stroke: #30363d; }}
.kept {{ fill: #6fdcbd; }}
.gone {{ fill: #8b949e; }}
}}
</style>
<rect x=".5" y=".5" width="879" height="{box}" rx="8"/>
{texts}
</svg>
"""
Line = list[tuple[str, str]]  # words, each with its class


def lines(words: Iterable[tuple[str, str]]) -> list[Line]:
    """Words by line."""
    found: list[Line] = [[]]
    for word in words:
        if sum(len(text) + 1 for text, _ in [*found[-1], word]) > LETTERS:
            found.append([])
        found[-1].append(word)
    return found


def column(result: Result, dropped: bool) -> list[Line]:
    """The documents, with or without what was dropped."""
    found: list[Line] = []
    for document in result.documents:
        words = [
            (word, "gone" if verdict.stage else "kept")
            for verdict in result.verdicts
            if verdict.segment.document == document and (dropped or not verdict.stage)
            for word in verdict.segment.text.split()
        ]
        if words:
            found += [[(document.title, "title")], *lines(words), []]
    return found


def drawn(column: list[Line], x: int) -> list[str]:
    """The lines as SVG."""
    texts = []
    for place, line in enumerate(column):
        runs = [
            f'<tspan class="{kind}">{escape(" ".join(word for word, _ in run))}</tspan>'
            for kind, run in groupby(line, itemgetter(1))
        ]
        if runs:
            texts.append(f'<text x="{x}" y="{30 + place * LINE}">{" ".join(runs)}</text>')
    return texts


def picture() -> str:
    """The default filter on the documents of ``examples/eiffel.jsonl``."""
    rows = (ROOT / "examples" / "eiffel.jsonl").read_text("utf-8").splitlines()
    result = ragsieve.load("finefilter")(QUESTION, [json.loads(row) for row in rows])
    before, after = result.tokens.before, result.tokens.after
    left: list[Line] = [[(QUESTION, "head")], [], [(f"Retrieved: {before} tokens", "head")], []]
    right: list[Line] = [[], [], [(f"The generator reads: {after} tokens", "head")], []]
    left += column(result, dropped=True)
    right += column(result, dropped=False)
    note = f"{len(result.kept)} of {len(result.verdicts)} sentences, verbatim. No call to an LLM."
    right += lines((word, "note") for word in note.split())
    height = 30 + LINE * len(left)
    texts = [*drawn(left, 20), *drawn(right, MIDDLE)]
    title = f"{QUESTION} Five retrieved documents, and the sentences that the filter keeps."
    return SVG.format(height=height, box=height - 1, title=title, texts="\n".join(texts))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
