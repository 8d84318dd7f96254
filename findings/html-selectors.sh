#!/usr/bin/env bash
# Guess: `exclude_selectors` of html-to-markdown takes CSS, and says so where it cannot read a selector; a visitor sees every attribute of a tag.
# Seen (html-to-markdown 3.21.0): tags, classes, ids, attributes, commas and `*` select. Pseudo-classes, children, descendants, siblings and what
# is no CSS select nothing, without an error: "aside:not([role])" keeps all asides. A list's `reversed`, an attribute without a value, is told
# where some other element of the page is not closed, for then another parser reads it, and is missing on a page that is well formed.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check html-to-markdown==3.21.0
timeout 120 "$d/v/bin/python" - <<'P'
from html_to_markdown import ConversionOptions, convert

page = '<aside class="x">A</aside><p>P <b>B</b></p><aside role="note">N</aside>'


def left(selector):
    options = ConversionOptions(extract_metadata=False, exclude_selectors=[selector])
    return convert(page, options).content.split()


class Lists:
    seen = []

    def visit_element_start(self, context):
        if context.tag_name == "ol":
            self.seen.append(context.attributes())


selectors = ["aside", "aside.x", "[role=note]", "aside, b", "aside:not([role])", "p > b", "p b", "p ~ aside", "aside["]
selected = {one: left(one) for one in selectors}
whole = ["A", "P", "**B**", "N"]
for rest in ("<p>B</p>", "<p>B"):
    convert(f"<ol reversed><li>A</li></ol>{rest}", ConversionOptions(extract_metadata=False), Lists())
for one, text in selected.items():
    print(one, text)
print(Lists.seen)
assert selected == {
    "aside": ["P", "**B**"],
    "aside.x": ["P", "**B**", "N"],
    "[role=note]": ["A", "P", "**B**"],
    "aside, b": ["P"],
    **dict.fromkeys(["aside:not([role])", "p > b", "p b", "p ~ aside", "aside["], whole),
}, selected
assert Lists.seen == [{}, {"reversed": ""}], Lists.seen
P
