"""HTML and XML are cut by their elements, which stay below what heads them."""

import re

import pytest

from ragsieve.structure import joined, outline, parts_of
from ragsieve.structure.tree import ELEMENTS
from tests.core.structure.test_structure import spans

ROWS = "".join(f"<tr><td>{n}</td><td>{n} euros</td></tr>\n" for n in range(10, 16))
PAGE = f"""<!doctype html>
<html><head><meta charset="utf-8"><title>Leave</title></head>
<body class="a">
<nav><ul><li><a href="/">Home</a></li></ul></nav>
<div id="main"><h1>Leave</h1>
<p>Employees with <b>six months</b> of service may take leave. It lasts sixteen weeks, as the
contract says. The salary is <a href="/fund">paid by the fund. See there</a> at the end of a month.
Whoever is ill on the first day asks for another one, in writing, with a note of the doctor's. It is
granted to all who ask in time.</p>
<p>To apply:</p>
<ol><li>Tell the manager.<li>Fill in form 12.</ol>
<h2>Rates</h2>
<table><caption>By grade</caption><thead><tr><th>Grade</th><th>Rate</th></tr></thead><tbody>
{ROWS}<tr><td rowspan="2">16</td><td>16 euros</td></tr>
<tr><td>17 euros</td></tr></tbody></table>
<h2>Contact</h2><dl><dt>Desk</dt><dd>Room 4</dd><dt>Post</dt><dd>Box 9</dd></dl>
</div><footer><p>&copy; 2024</p></footer></body></html>"""
SHOWN = [
    ("a list below its lead-in", "form 12", "<h1>Leave</h1>\n<!-- … -->\n<p>To apply:</p>\n<ol><li>"
     "Tell the manager.<li>Fill in form 12.</ol>"),
    ("a row below its header", "12 euros", "<h2>Rates</h2>\n<table><caption>By grade</caption>"
     "<thead><tr><th>Grade</th><th>Rate</th></tr></thead>\n<tr><td>12</td><td>12 euros</td></tr>\n"
     "<!-- … 1 of 7 shown -->\n</table>"),
    ("rows that share a cell", "17 euros", '<tr><td rowspan="2">16</td><td>16 euros</td></tr>\n<tr>'
     "<td>17 euros</td></tr>"),
    ("a sentence that ends no element", "See there", '<p> … The salary is <a href="/fund">paid by '
     "the fund. See there</a> at the end of a month. …</p>"),
    ("terms with descriptions", "Room 4", "<h2>Contact</h2><dl><dt>Desk</dt><dd>Room 4</dd><dt>"),
    ("the title", "<title>", '<head><meta charset="utf-8"><title>Leave</title></head>'),
    ("the end", "&copy;", "<footer><p>&copy; 2024</p></footer>"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "said", "shown"), SHOWN, ids=[kind for kind, *_ in SHOWN])
def test_what_is_kept_of_a_page_stands_below_its_heads(kind, said, shown):
    """Whatever else is left out; each element that is opened is closed."""
    unit = next(unit for unit in spans(PAGE) if said in unit.text)
    whole = joined(PAGE, [(unit.start, unit.end)])

    assert shown in whole
    assert "<!-- …" in whole
    for name in ("div", "table", "ul", "ol", "p", "a", "td", "html", "body"):
        assert len(re.findall(f"<{name}\\b", whole)) == whole.count(f"</{name}>"), name


PROSE = [
    "Put it between <div> and </div>, or <p> and </p>. It rained all day, and nobody came.\n" * 9,
    "Use a <table> for that, and a <tr> for each row; the rest is up to you and your team. " * 9,
    f"Write:\n\n```html\n{PAGE}\n```\n",
    "<note>\n\nIt rained.\n\n- one\n- two\n\nIt is <b>old</b>.\n\n<i>So</i> it is.\n\n</note>" * 3,
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_that_names_tags_is_no_page(text):
    """Nor is Markdown inside one tag, nor what stands in a fence."""
    assert not any(root.kind in ELEMENTS for root in outline(text))


def test_cells_of_a_long_row_keep_their_columns():
    """Those that are left out are empty, so that none moves under another header."""
    long = "".join(f"<li>It rained on pier {n}.</li>" for n in range(30))
    text = (
        f"<table><tr><th>A<th>B<th>C</tr><tr><td><ul>{long}</ul></td><td>b</td><td>c</td></tr>" * 2
    )
    unit = next(unit for unit in spans(text) if "pier 1." in unit.text)

    assert "</ul></td><td>…</td><td>…</td></tr>" in joined(text, [(unit.start, unit.end)])


def test_rows_below_a_cell_are_kept_below_it_alone():
    """It is as high as what is shown of them, so that none moves under another header."""
    rows = [
        "<tr><td rowspan='4'>FR</td><td rowspan=2>N</td><td>a</td></tr>",
        *("<tr><td>b</td></tr>", "<tr><td rowspan=2>S</td><td>c</td></tr>", "<tr><td>d</td></tr>"),
        *("<tr><td rowspan=2>ES</td><td>N</td><td>e</td></tr>", "<tr><td>S</td><td>f</td></tr>"),
    ]
    text = "\n".join(["<table><tr><th>A</th><th>B</th><th>C</th></tr>", *rows, "</table>"])
    kept = [(text.index(row), text.index(row) + len(row)) for row in (rows[3], rows[5])]
    parts = parts_of(text, text.index(rows[0]), kept[0][1])[1]

    assert ["a b", "c d"] == [" ".join(re.findall("[a-d](?=<)", text[a:b])) for a, b in parts]
    assert joined(text, kept).split("\n")[1:-1] == [
        rows[0].replace("4", "3").replace("2", "1"),
        *(rows[2], rows[3], "<!-- … 1 of 2 shown -->", rows[4], rows[5]),
    ]
