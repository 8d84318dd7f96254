"""What is kept of a structured text reads as what the text says."""

import ast
import csv
import datetime
import io
import json
import re
import tomllib
from configparser import ConfigParser
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import Phase, given, settings, strategies as st

from ragsieve.split.blocks import Blocks
from ragsieve.structure import joined, outline, verbatim
from ragsieve.structure.linearize import linearized, shares
from ragsieve.structure.units import units
from ragsieve.types import USUAL, Document, Layout, Query, Segment
from tests.blocks import blocks
from tests.timing import is_linear

PHASES = [Phase.explicit, Phase.generate]  # these values take minutes to shrink
QUERY = Query("Which one is it?")
WORDS = st.sampled_from(
    ["", "a, b: {c}", 'x [y] "q" \\ é', "word " * 12, "# no comment", "it's: so", "two\nlines\n"]
)
SCALARS = st.one_of(st.integers(), st.booleans(), st.none(), WORDS)
KEYS = st.from_regex(r"[a-h]{1,6}[0-9]{1,2}", fullmatch=True)
RECORDS = st.dictionaries(KEYS, SCALARS, min_size=1, max_size=6)
VALUES = st.recursive(
    st.one_of(SCALARS, RECORDS),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=40,
)
CHOICES = st.lists(st.booleans(), min_size=1, max_size=12)
WRITTEN = {  # how a value is written, and read
    "JSON": (json.dumps, json.loads),
    "JSON in lines": (partial(json.dumps, indent=2), json.loads),
    "Python": (repr, ast.literal_eval),
}
INCIDENTS = [
    {"id": f"INC-{n}", "text": "It rained " * 4, "owner": {"name": f"P{n}"}} for n in "123"
]


def spans(text, **options):
    return Blocks(**options)(QUERY, [Segment.whole(Document("d", text))])


def kept(text, choices, layout=USUAL):
    """The text of some units; of the first where none is chosen."""
    units = spans(text)
    chosen = [unit for n, unit in enumerate(units) if choices[n % len(choices)]] or units[:1]
    return joined(text, [(unit.start, unit.end) for unit in chosen], layout)


def part_of(kept, source):
    """Whether each value stands under its own keys, and each record in its own list."""
    if isinstance(kept, dict) and isinstance(source, dict):
        named = {key: value for key, value in kept.items() if key != "…"}
        return all(key in source and part_of(value, source[key]) for key, value in named.items())
    if isinstance(kept, list | tuple) and isinstance(source, type(kept)):
        rest = iter(source)
        values = [v for v in kept if not (isinstance(v, str) and v.startswith("… "))]
        return all(any(part_of(value, one) for one in rest) for value in values)
    return bool(kept == source)


@settings(max_examples=30, deadline=None, phases=PHASES)
@given(VALUES, CHOICES, st.sampled_from([*WRITTEN]))
def test_kept_json_is_json_and_part_of_its_source(value, choices, form):
    """Whatever units stay, in one line or many, and as Python writes it."""
    write, read = WRITTEN[form]
    if not isinstance(value, dict | list) or not value:
        return

    assert part_of(read(kept(write(value), choices)), value)


@settings(max_examples=30, deadline=None, phases=PHASES)
@given(VALUES, CHOICES, st.sampled_from([*WRITTEN]))
def test_a_line_of_kept_json_names_the_place_of_its_value(value, choices, form):
    write, read = WRITTEN[form]
    text = write(value)
    shown = kept(text, choices, Layout(mark="[cut]", json_as="paths"))
    if not isinstance(value, dict | list) or not value or shown == text:
        return

    for line in shown.splitlines():
        found = re.match(r"(?:\.?[a-h]+\d+|\[\d+\])+: ", line)
        path = found[0] if found else ""
        at = value
        for name, place in re.findall(r"([a-h]+\d+)|\[(\d+)\]", path):
            at = at[name or int(place)]
        assert "[cut]" in line or read(line.removeprefix(path)) == at


@settings(max_examples=20, deadline=None, phases=PHASES)
@given(st.dictionaries(KEYS, VALUES, min_size=2, max_size=6), CHOICES)
def test_kept_yaml_is_yaml_and_part_of_its_source(value, choices):
    """Entries stay under their heads; what is left out is a comment."""
    yaml = pytest.importorskip("yaml")
    text = yaml.safe_dump(value, sort_keys=False)
    if text.count("\n") < 4 or not any(isinstance(v, dict) and v for v in value.values()):
        return

    assert part_of(yaml.safe_load(kept(text, choices)), value)


@settings(max_examples=20, deadline=None, phases=PHASES)
@given(
    st.lists(st.lists(WORDS, min_size=5, max_size=5), min_size=12, max_size=30),
    CHOICES,
    st.sampled_from(",;\t"),
)
def test_kept_rows_stand_below_their_header(cells, choices, mark):
    """A row is whole, whatever its quotes hold, and the header stands once above all."""
    rows = [[f"{cell.strip()}{n}" for n, cell in enumerate(row)] for row in cells]
    header = ["name", "depth", "crane", "owner", "note"]
    file = io.StringIO()
    csv.writer(file, delimiter=mark, lineterminator="\n").writerows([header, *rows])
    read = list(csv.reader(io.StringIO(kept(file.getvalue(), choices), newline=""), delimiter=mark))
    shown = [row for row in read if row and not row[0].startswith("… ")]

    assert header == shown[0]
    assert part_of(shown[1:], rows)


def ini(text):
    parser = ConfigParser()
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def xml(text):
    def read(one):
        return [one.tag, dict(one.attrib), (one.text or "").strip(), [*map(read, one)]]

    return read(ElementTree.fromstring(text))


def env(text):
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    return dict(pairs)


def rows(text):
    return ast.literal_eval(text.replace("datetime.date(2024, 5, 1)", "'a day'"))


ROWS = [(n, "It rained " * 9, datetime.date(2024, 5, 1), (n,), {"a": None}) for n in range(4)]
BOOKS = "".join(
    f'  <book id="b{n}">\n    <title>Guide {n}</title>\n    <price>4{n}</price>\n    <about>It is'
    f" deep.</about>\n    <shelves><shelf>{n}</shelf></shelves>\n  </book>\n"
    for n in range(5)
)
PARSED = [
    ("XML", xml, f"<catalog to='2'>\n{BOOKS}</catalog>"),
    ("JSON Lines", lines, "\n".join(map(json.dumps, INCIDENTS))),
    ("rows of a database", rows, repr(ROWS)),
    (
        "TOML",
        tomllib.loads,
        "title = 'x'\n\n[a]\nb = 1\nc = [\n  1,\n  2,\n]\n\n[a.d]\ne = '''\nf\n'''\n",
    ),
    ("INI", ini, "[a]\nb = 1\n; said\nc = 2\n\n[d]\nb = 3\n\n[e]\nb = 4\n"),
    (
        "INI of long values",
        ini,
        "[a]\nb = 1\nlist =\n    Topic :: One\n    Topic :: Two\n\n"
        "[extras]\nx =\n    cupy>=1,<2\n\n[e]\nb = 4\n",
    ),
    (
        "TOML of quoted names",
        tomllib.loads,
        '[a]\n"b.c".msg = "x"\n# said\n"d.e".msg = "y"\nx-y.z."f/*.py" = 1\n"f".msg = "z"\n\n'
        '[g]\n"h" = 1\n\n[i]\nj = 2\n',
    ),
    (
        ".env",
        env,
        "# said\nHOST=10.0.0.9\nPORT=5432\nexport KEY='a b'\nNAME=x=y\nURL=http://a/?b=c\n",
    ),
]


@pytest.mark.parametrize(("kind", "parse", "text"), PARSED, ids=[kind for kind, *_ in PARSED])
def test_each_unit_alone_parses(kind, parse, text):
    """Every single unit, and every pair of neighbours, reads as a part of the whole."""
    units = spans(text)

    assert len(units) > 2
    for first in range(len(units)):
        for last in (first + 1, first + 2):
            some = joined(text, [(unit.start, unit.end) for unit in units[first:last]])

            assert part_of(parse(some), parse(text)), (kind, some)


CODE = Path(__file__).with_name("code.md").read_text(encoding="utf-8")
SOURCES = {block.language: block.text for block in blocks(CODE)}
PYTHON = SOURCES.pop("python")


@pytest.mark.parametrize("max_chars", [100, 160, 1000])
@settings(max_examples=30, deadline=None)
@given(choices=CHOICES)
def test_kept_python_parses(max_chars, choices):
    """A statement stands below its signature and conditions, whatever is left out beside it."""
    units = spans(PYTHON, max_chars=max_chars)
    chosen = [unit for n, unit in enumerate(units) if choices[n % len(choices)]] or units[:1]
    text = joined(PYTHON, [(unit.start, unit.end) for unit in chosen])

    ast.parse(text)
    for unit in chosen:
        assert unit.text.strip('"').strip()
    for line in text.splitlines():
        assert line in PYTHON.splitlines() or "…" in line


def test_a_long_docstring_is_cut_inside_its_quotes():
    """Below the signature, with a mark; no unit is quotes alone, and the code stays code."""
    said = "".join(f"    It says {n} of the many things to say.\n" for n in range(60))
    text = f'def f(x):\n    """Say it.\n\n{said}    """\n    y = x\n    return y\n\n\n{PYTHON}'
    units = spans(text)

    assert all(any(map(str.isalpha, unit.text)) for unit in units)
    for unit in units[:40:7]:
        shown = joined(text, [(unit.start, unit.end)])

        assert "def f(x):" in shown
        assert "…" in ast.get_docstring(ast.parse(shown).body[0])


@pytest.mark.parametrize("language", SOURCES)
def test_code_is_cut_between_its_functions(language):
    """Brackets of what is shown of every unit are closed, as they are in strings and conditions."""
    text = SOURCES[language]
    pairs = [pair for pair in ("()", "{}", "[]") if text.count(pair[0]) == text.count(pair[1])]
    units = spans(text, max_chars=200)

    assert len(units) > 1
    for unit in units:
        shown = joined(text, [(unit.start, unit.end)])
        lines = {line.strip() for line in text.splitlines()}
        assert all(shown.count(one) == shown.count(two) for one, two in pairs), shown
        assert all("…" in line or line.strip() in lines for line in shown.splitlines())


FRAMES = "".join(f'  File "/a/m{n}.py", line {n}, in run\n    go({n})\n' for n in range(30))
TRACE = f"Traceback (most recent call last):\n{FRAMES}ValueError: no pier"
ROWS = "".join(f"| berth {n} | {n} m | type {n % 3} |\n" for n in range(20))
PIPES = f"Table 2: Berths in metres.\n| Name | Depth | Crane |\n|---|---|---|\n{ROWS}"
HUNKS = "".join(
    f"@@ -{n},2 +{n},2 @@\n-old line of text {n}\n+new line of text {n}\n" for n in range(20)
)
STEPS = "".join(
    f"{n}. Turn valve {n} to the left until the lamp lights up.\n" for n in range(1, 30)
)
COLUMNS = "NAME      READY   STATUS\n" + "".join(
    f"pod-{n:03}   1/1     Running\n" for n in range(30)
)
BLANKS = "".join(
    f"@@ -{n},4 +{n},4 @@\n int a{n};\n \n\n-int b{n} = 1;  /* was {n} */\n+int b{n} = 2;\n"
    for n in range(20)
)
COMMAS = "".join(f"np.float32,0x{n:08},{n}\n" for n in range(20))
UNEVEN = "".join(f"woody {n},2001-0{n}-01\n" for n in range(9))
NUMBERS = "".join(f"{n}.5,{n}.25,{n},{n + 1}\n" for n in range(10, 40))
CELLS = "".join(f"<tr><td>berth {n}</td><td>{n} m</td></tr>\n" for n in range(20))
HEADED = [
    ("a traceback", f"12:00:01 ERROR failed\n{TRACE}\n12:00:02 INFO on\n", "ValueError: no pier"),
    ("a Java traceback", "E: failed\n" + "\tat a.B.c(B.java:1)\n" * 80, "E: failed"),
    ("a pipe table", f"They vary.\n\n{PIPES}\nDone.", "Table 2: Berths in metres.\n| Name | Depth"),
    ("an HTML table", f"<table>\n<tr><th>Name</th></tr>\n{CELLS}</table>", "<th>Name</th>"),
    ("columns of spaces", COLUMNS, "NAME      READY   STATUS"),
    ("a diff of code", f"diff -u a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n{BLANKS}", "+++ b/x.c"),
    ("comma rows between comments",
     f"dtype,input,error\n\n## near zero ##\n{COMMAS}\n# far\n{COMMAS}", "dtype,input,error"),
    ("comma rows of numbers", f"20,3,north,south\n{NUMBERS}", "20,3,north,south"),
    ("comma rows below a shorter one", f"20,3,north\n{NUMBERS}", "20,3,north"),
    ("comma rows of uneven length", f"name,from,eol\n{COMMAS}{UNEVEN}", "name,from,eol"),
    ("a diff", f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{HUNKS}", "+++ b/x"),
    ("steps", f"It is blue.\n\nTo start it:\n\n{STEPS}\nTo stop it:\n\n{STEPS}", "To start it:"),
    ("front matter",
     "---\ntitle: Pier\nsays: It rained: so\ntags:\n  - a\nurl: /x\n---\n\n"
    "It is old. It rains.", "title: Pier"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "head"), HEADED, ids=[kind for kind, *_ in HEADED])
def test_a_part_stands_below_its_head(kind, text, head):
    """Header, caption, lead-in, names: once, above whatever is kept of what they head."""
    units = spans(text)
    inside = next(unit for unit in units[1:] if units[0].start < text.index(head) or unit)
    chosen = [unit for unit in units if unit.start > text.index(head)][:6:2] or [inside]
    shown = joined(text, [(unit.start, unit.end) for unit in chosen])

    assert all(unit.text in shown for unit in chosen if len(unit.text) < 900)
    assert shown.count(head) <= 1
    if kind not in ("front matter", "a traceback"):
        assert shown.count(head) == 1
        assert "…" in shown


TABLES = "".join(
    f'[[line]]\nname = "line {n}"\nabout = "{"It runs all day. " * 20}"\n'
    f'[line.from]\nport = "berth {n}"\n[line.to]\nport = "berth {n + 1}"\n'
    for n in range(9)
)
SPANNED = "| Name | Crane | Depth |\n|---|---|---|\n" + "".join(
    f"| berth {n} | old | {n} m |\n|  | new | {n + 20} m |\n" for n in range(20)
)
KINDS = "---\n".join(
    f"kind: K{n}\nmetadata:\n  name: k{n}\n  labels:\n    app: x\n"
    f"text: {'It is wide. ' * 40}\nspec:\n  depth: {n} m\n"
    for n in range(9)
)
GOES_ON = {
    "a table of a TOML array": (TABLES, 'port = "berth 5"', 'name = "line 5"'),
    "a row with a blank first cell": (SPANNED, "new | 27 m", "| berth 7 | old | 7 m |"),
    "comma rows behind one of other length": (f"type,bits,no\n{COMMAS}x,y,z,w\n{COMMAS}",
     "0x00000007,7", "type,bits,no"),
    "comma rows with inches": ("name,size,no\n" + "".join(
        f'm{n},{n}" {"long" * (n != 9)},{n}\n' for n in range(90)
    ), '7" long,7', "name,size,no"),
    "comma rows of a second table": ("thing,price\n" + "".join(f"a{n},{n}\n" for n in range(90))
     + "\nperson,pay\n" + "".join(f"b{n},{n}\n" for n in range(90)), "b7,7", "person,pay"),
    "a row below one that heads it": ("| Name | Value |\n|---|---|\n" + "".join(
        f"| berth {n} | |\n| depth | {n} m |\n| crane | type {n} |\n" for n in range(20)
    ), "| 7 m", "| berth 7 | |"),
    "a row of HTML below one that heads it": ("<table><tr><th>A</th><th>B</th></tr>" + "".join(
        f"<tr><th colspan=2>berth {n}</th></tr>\n<tr><td>depth</td><td>{n} m</td></tr>\n"
        for n in range(20)
    ) + "</table>", ">7 m", "berth 7<"),
    "a path's method": ("a:\n" + "".join(f"  /{n}/{{b}}:\n    get: is {n}.\n" for n in range(99)),
     "is 7.", "  /7/{b}:"),
    "a YAML document": (KINDS, "depth: 7", "kind: K7"),
    "the first YAML document": (KINDS, "depth: 0", "metadata:\n  name: k0\n  # … 1 of 2 shown"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kept", "head"), GOES_ON.values(), ids=GOES_ON)
def test_what_goes_on_stands_below_what_it_goes_on_from(text, kept, head):
    """No table of an array, and no row, under the name of another."""
    unit = next(unit for unit in reversed(spans(text)) if kept in unit.text)
    shown = joined(text, [(unit.start, unit.end)])

    assert shown.count(head) == 1
    assert shown.index(head) < shown.index(kept)


QUARTERS = "".join(
    f"<tr><td>a{n}</td><td>{n} m</td></tr>\n" + "<tr><th>sum</th><th>9</th></tr>\n" * (n % 3 == 2)
    for n in range(20)
)
NO_HEADS = {
    "a comment of code": ("Do:\n\n```sh\n" + "".join(
        f"# step {n}\nrun --now --host berth{n} --crane type{n}\n\n" for n in range(30)
    ) + "```\n\nIt is so. It rained.\n", ["berth3 ", "It rained."], "# step 29"),
    "a sum": (f"<table><tr><th>A</th><th>B</th></tr>\n{QUARTERS}</table>", [">a7<"], "sum"),
    "a row that lacks values": ("town,land,size\n" + "".join(
        f"a{n},Chile,{n}\n" for n in range(40)
    ) + "\nb,Peru,n/a\n" + "".join(f"c{n},Peru,{n}\n" for n in range(40)), ["c5,"], "b,Peru"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kept", "head"), NO_HEADS.values(), ids=NO_HEADS)
def test_what_heads_nothing_is_shown_with_nothing(text, kept, head):
    """It only looks like the head of what stands below it."""
    units = [unit for unit in spans(text) if any(one in unit.text for one in kept)]

    assert head not in joined(text, [(unit.start, unit.end) for unit in units])


@pytest.mark.parametrize("front", ["", "---\ntitle: Rules\n---\n\n"])
def test_lists_below_headings_are_no_configuration(front):
    """No comment is put into a page; tasks below comments stay YAML."""
    page = f"{front}## Fees\n- Refund: 2 days\n- Post: none\n\n## Books\n- Refund:\n  - Late: no\n"
    (task,) = outline("# Do\n- name: x\n  apt: y\n\n# Run\n- name: z\n  apt: w\n")

    assert "# …" not in "".join(
        joined(page, [(u.start, u.end)]) for u in spans(page) if "- " in u.text
    )
    assert (task.mark, len(task.children)) == ("# … {}", 2)


@pytest.mark.parametrize(("before", "after", "code"), [
    ("Version 2\n", "\nVersion 1\n\n * Types:\n * Fix type(a):\n * Use (a, b):\n", False),
    ("/**\n", " */\nint first(void);\nint second(int a);\n", True),
])  # fmt: skip
def test_items_of_a_list_are_no_comments(before, after, code):
    """A line that begins with a star is code only in a comment, which may begin before the text."""
    items = "".join(f" * Part {n}: accept an empty name (#{n})\n" for n in range(8))

    shown = outline(f"{before}{items}{after}", small=True)

    assert code == any(node.mark.startswith("//") for node in shown)


def test_the_first_items_of_a_list_leave_space_for_their_lead_in():
    """A unit has both: ten items of 99 characters would fill it alone."""
    text = "Open:\n" + "\n".join(["- " + "x" * 97] * 11)

    assert (0, 6 + 9 * 100 - 1) == units(outline(text)[0], text, 1000)[0]


def test_a_row_of_commas_alone_is_a_row():
    """Also behind the last one that says something."""
    text = ",b,c\n" + ",2,3\n" * 80 + ",,\n"

    assert "".join(text.split()) == "".join("".join(unit.text for unit in spans(text)).split())


def test_a_comment_goes_with_what_it_is_on():
    """Also where lines have no mark at their ends."""
    (root,) = outline(SOURCES["go"])

    assert any(SOURCES["go"].startswith("// Add adds.\nfunc", one.start) for one in root.children)


def test_a_log_has_its_traceback_whole_or_with_what_was_raised():
    """Its entry is the traceback, of whose parts each shows the first and the last line."""
    entries = "".join(f"INFO 12:00:0{n} job {n} begins\n" for n in range(6))
    text = f"{entries}ERROR 12:00:07 job 5 failed\n{TRACE}\n{entries}"
    frame = text.index('File "/a/m7.py"')

    shown = joined(text, [(frame, frame + 9)])

    assert shown.startswith("ERROR 12:00:07 job 5 failed\nTraceback (most recent call last):\n")
    assert shown.endswith("…\nValueError: no pier\n…") or shown.endswith("ValueError: no pier")


AT = "\tat a.b.C.find(C.java:14)\n"
CAUSED = "".join(
    f"ERROR 22:4{n}:07 Bad {n}\na.B: no\n{AT * 11}Caused by: c.D\n{AT}" for n in (0, 1)
)
JOINS = [
    ("One. Two. Three.", [(0, 4), (10, 16)], "One. … Three."),
    ("One. Two.", [(0, 4), (5, 9)], "One. Two."),
    ("One. Two.", [(5, 9), (0, 4)], "Two. … One."),
    ("One.\n\nTwo.\n\nThree.", [(0, 4), (12, 18)], "One.\n\nThree."),
    ("One. It\nrained. Three.", [(0, 4), (16, 22)], "One. … Three."),
    ("One. Two.\nThree.", [(0, 4), (10, 16)], "One.\n\nThree."),
    ("一。二。三。", [(0, 2), (2, 4)], "一。二。"),
    ("- a\n- b\n- c", [(0, 3), (8, 11)], "- a\n\n- c"),
    ("|a|\n|-|\n|1|\n|2|", [(0, 7), (12, 15)], "|a|\n|-|\n|2|\n… 1 of 2 shown"),
    ("|a|\n\n|1|\n|2|", [(0, 3), (9, 12)], "|a|\n\n|2|"),
    ("A.\n\n## B\n\nC. D.", [(0, 2), (13, 15)], "A.\n\n## B\n\nD."),
    ("Article 6. Dogs\n\nIt is. D.", [(11, 23)], "Article 6.\n\nDogs\n\nIt is."),
    ("1\tArticle 6. Dogs\n2\t\n3\tIt is.", [(13, 29)], "1\tArticle 6.\nDogs\n2\t\n3\tIt is."),
    ("1\t# A\n2\t\n3\tB c.\n4\tD e.", [(18, 22)], "1\t# A\nD e."),
    ("def f(\n    a,\n):\n    x\n    y\n" * 2, [(11, 13)], "def f(\n    a,\n):\n    ...  # …"),
    (CAUSED, [(0, 20), (315, 355)], f"{CAUSED[:21]}…\n{CAUSED[315:355]}\n…"),
    ("A.\n# B\n## C\n```\n# D\n```\n## E\nF. G.", [(0, 2), (32, 34)], "A.\n\n# B\n\n## E\n\nG."),
    ("A.\n\nB\n===\n\nC. D.", [(0, 2), (14, 16)], "A.\n\nB\n===\n\nD."),
    ("A.\n\n## B\n\n# C\n\nD.", [(0, 2), (10, 17)], "A.\n\n# C\n\nD."),
    ("A.\n\n````\n```\n# B\n```\n````\n\nC. D.", [(0, 2), (30, 32)], "A.\n\nD."),
    ("A.\n\n<!--\n# B\n-->\n\nC. D.", [(0, 2), (21, 23)], "A.\n\nD."),
    ("A.\n#no\nB. C.", [(0, 2), (10, 12)], "A. … C."),
    ("# A\n\n## B\n\nC.\n\n## D\n\nE. F.", [(24, 26)], "# A\n\n## D\n\nF."),
    ("# A\n\n**B**\n\nC. D.\n\n**E!**\n\nF.", [(15, 17)], "# A\n\n**B**\n\nD."),
    ("# A\n\n**B**\n\nC.\n\n**E**:\n\nF. G.", [(27, 29)], "# A\n\n**E**:\n\nG."),
    ("A.\n\nLabel:\nC. D.", [(0, 2), (14, 16)], "A.\n\n… D."),
    ("Lyon:\nA. B.\n\nOslo:\nC. D.", [(22, 24)], "Oslo:\nD."),
    ("[db]\nA. B.\n\n[mail]\nC. D.", [(22, 24)], "[mail]\nD."),
    ("【概要】\nA. B.\n\n【詳細】\nC. D.", [(20, 22)], "【詳細】\nD."),
    ("[1] Ray (2019)\nA. B.\n\n[2] Lee (2020)\nC. D.", [(40, 42)], "D."),
    ("“Come”\nA. B.\n\n“Why?”\nC. D.", [(24, 26)], "D."),
    ("==> a <==\nA.\n\n==> b <==\nC. D.", [(10, 12), (27, 29)], "==> a <==\nA.\n\n==> b <==\nD."),
]

HEADED = [
    ("FULL TIME\nA. B.\n\nPART TIME\nIt is. D.", ["PART TIME"]),
    ("FULL TIME\r\nA.\r\n\r\nPART TIME\r\nIt is. D.", ["PART TIME"]),
    ("1 Leave\nA.\n\n2 Pay\n\n2.1 Low pay\nIt is. D.", ["2 Pay", "2.1 Low pay"]),
    ("STAFF\n\n1 Pay\nA.\n\nTRAINEES\n\n1 Pay\nIt is. D.", ["TRAINEES", "1 Pay"]),
    ("1 Pay\n\nSTAFF\nA.\n\nTRAINEES\nIt is. D.", ["1 Pay", "TRAINEES"]),
    ("== Beta ==\nA.\n=== Gamma ===\nIt is. D.", ["== Beta ==", "=== Gamma ==="]),
    ("== Beta\n\nA.\n\n== Gamma\n\nIt is. D.", ["== Gamma"]),
    (
        r"\section{A \emph{b}}\label{x}" "\nA.\n" r"\subsection*{B}" "\nIt is. D.",
        [r"\section{A \emph{b}}", r"\subsection*{B}"],
    ),
    ("1. Rent\n\n1.1 A.\n\n2. Pets\n\n2.1 It is. D.", ["2. Pets"]),
    (
        "CHAPTER I\nGoods\n\nArticle 1\nSale\n\n1. A:\n\n(a) B.\n\nArticle 2\nPay\n\n1. It is. D.",
        ["CHAPTER I\nGoods", "Article 2\nPay"],
    ),
    ("第一章 总\n\n第2条（料）\nA.\n\n第3条（解約）\nIt is. D.", ["第一章 总", "第3条（解約）"]),
    ("Artículo 1 – Uso\nA.\n\nArtículo 2 – Precio\nIt is. D.", ["Artículo 2 – Precio"]),
    ("Section 1 - Use\n\nA.\n\n§ 2 Miete\n\nIt is. D.", ["§ 2 Miete"]),
    ("Ann Ray -- Chief\n\nA.\n\nBo Lee -- Analyst\n\nIt is. D.", ["Bo Lee -- Analyst"]),
    ("As said in\nSection 5\nof it.\n\nSection 5 of it applies\nhere. It is. D.", []),
    ("1. Open it\n2. Wait\n\nIt is. D.", []),
    (
        "1. Open it\n\n2. Wait until the lamp has turned green and then for a while.\n\nIt is. D.",
        [],
    ),
    ("1 Open it\n\n2 Wait\n\nIt is. D.", []),
    ("1 Use\n1.1 Scope\n2 Waste\n\nIt is. D.", []),
    ("2.1 The Seller shall deliver the goods\nnamed by the Buyer.\n\nIt is. D.", []),
    ("JOHN SMITH\n12 High Street\nLondon\n\nIt is. D.", []),
    ("NASA\n\nESA\n\nJAXA\n\nIt is. D.", []),
    ("NAME,AGE\nAnna,3\n\nIt is. D.", []),
    ("NAME     AGE\nAnna     3\n\nIt is. D.", []),
    ("WARNING\nIt is hot.\n\nIt is. D.", []),
    ("DO NOT OPEN!\nIt is hot.\n\nIt is. D.", []),
    ("=== RUN   TestA\n--- PASS: TestA\n\nIt is. D.", []),
]


def test_files_stand_below_the_name_of_their_folder():
    """Also where no row of the folder before is kept, and where it is read with another one."""
    folders = {"lib": 12, "lib/a": 2, "lib/b": 1, "test": 12}
    text = "".join(
        f"{name}:\ntotal {number}\n"
        + "".join(f"-rw-r--r--  1 root {90 + n} Nov 30 {name[-1]}{n}.py\n" for n in range(number))
        + "\n"
        for name, number in folders.items()
    )
    last = [text.rindex(f"{name[-1]}{n - 1}.py\n") for name, n in folders.items()]

    for kept in ([0, 1, 3], [1, 3], [3], [0, 2], [2]):
        shown = joined(text, [(text.rfind("\n", 0, last[n]) + 1, last[n] + 5) for n in kept])
        below: dict[str, set[str]] = {}
        for name, file in re.findall(r"^([\w/]+):$|(\w)\d+\.py$", shown, re.MULTILINE):
            below.setdefault(name or [*below][-1], set()).update(file)
        assert below == {name: {name[-1]} for n, name in enumerate(folders) if n in kept}


LAST = [(text, [(len(text) - 2, len(text))], "\n\n".join([*above, "D."])) for text, above in HEADED]


@pytest.mark.parametrize(("text", "bounds", "shown"), [*JOINS, *LAST])
def test_spans_are_joined_as_they_stood(text, bounds, shown):
    """White space stays, a line break makes a paragraph, a cut in one is marked. A sentence stands
    below its headings, also those without a mark; steps, clauses, tables and addresses are none."""
    assert shown == joined(text, bounds)

    stands = verbatim([Segment(Document("d", text), *bound) for bound in bounds])

    said = re.sub(r"(\.{3}  # )?…( 1 of 2 shown)?|\s", "", shown)

    assert sorted(said) == sorted(re.sub(r"\s", "", "".join(text[a:b] for a, b in stands)))


LARGE = {
    "objects": lambda n: '{"a": [' + '{"b": "c"}, ' * 10 * n + "{}]}",
    "brackets": lambda n: "[" * 25 * n + "]" * 25 * n,
    "open tuples": lambda n: "[('a', d(1), f(2" * 7 * n,
    "open brackets": lambda n: '{"a":' * 25 * n + "\n",
    "values in a line": lambda n: ('{"a":"' + "b" * 220 + '","c":[1,2]} x {"d":1} y ') * (n // 2),
    "quotes": lambda n: 'a,"\n' * 15 * n,
    "entries": lambda n: "a:\n  b: 1\n" * 10 * n,
    "front matter": lambda n: "---\r\n" + "a: b\r\n" * 15 * n,
    "functions": lambda n: "def f(x):\n    return x\n\n" * 5 * n,
    "hunks": lambda n: "+++ b\n@@ -1 +1 @@\n" * 5 * n,
    "headers without hunks": lambda n: "--- a\n" * 15 * n + "x\n@@ y\n",
    "raised": lambda n: "Traceback (most recent call last):\n" * 5 * n,
    "open strings": lambda n: "import os\nx = 1\n" + "y = 1\n" * n + "z = '" + "\\'" * 45 * n,
    "shell": lambda n: "#!/bin/sh\n" + "x=1\n" * n + (" " * 25 * n).join('y"z'),
    "tags": lambda n: "<table><tr>" * 10 * n,
    "elements": lambda n: "<div><p>It rained.<br>" * 5 * n + "</p></div>" * 5 * n,
    "tags without an end": lambda n: "</a <p '" * 8 * n,
    "quotes in tags": lambda n: "<ul><li class='a\">It is 5' long." * 5 * n,
    "events": lambda n: "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\n" * 3 * n,
    "blank lines": lambda n: "<p>It rained.</p><pre>\nx\n" + "     \n" * 15 * n + "y</pre>",
    "blank lines of psql": lambda n: "-[ RECORD 1 ]-\na | b\n" + "      \n" * 15 * n + "x",
    "open events": lambda n: "BEGIN:VEVENT\n" * 9 * n,
    "records": lambda n: (
        "a: b\nc: d\ne: f\n" * n
        + "a: b\nc: d\n\n" * 7 * n
        + "\n\n".join(f"x{m}: b\ny: d" for m in range(5 * n))
    ),
    "records with texts": lambda n: "a: b\nc: d\n\n" + "x: y\n\nz\n\n" * 8 * n + "a: b\nc: d\n\n",
    "rules": lambda n: "a: b\n" + "-" * 50 * n + "x\n" + "\n---" * 12 * n,
    "quoted mail": lambda n: "From: a\nTo: b\n" + ">" * 100 * n + "X-A-B: c\n\nHi.\n",
    "spaces": lambda n: "x" + " " * 50 * n + "x\n12:00" + "\t" * 50 * n + "x\n",
    "wide head": lambda n: "| a " * 10 * n + "|\n|---|---|\n" + "| b | c |\n" * 5 * n,
    "long row": lambda n: f"<table><tr><th>a<th>b<tr>{'<td>c' * 18 * n}<tr><td>d<td>e</table>",
    "items of XML": lambda n: "<r>\n" + "<row>7</row>\n" * 7 * n + "</r>",
    "ruled TeX": lambda n: "\\hline\na & b \\\\\n" * 6 * n,
    "letters": lambda n: "a" * 100 * n,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_time_grows_with_the_text(kind):
    """It does not grow by the square."""
    assert is_linear(lambda size: outline(LARGE[kind](size // 100)))


REPEATED = {
    "records": '{"id": 7, "name": "berth 7", "text": "It is deep and wide."}\n',
    "rows": '"berth 7, north",7,crane 7,It is deep and wide.\n',
    "entries": "berth:\n  crane: type 7\n  depth: 7\n",
    "functions": "def f(x):\n    if x:\n        return 7\n    return x\n\n\n",
    "tracebacks": f"12:00:01 ERROR failed\n{TRACE}\n",
    "files": f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{HUNKS}",
    "pages": f"<h1>Berths</h1><p>It <i>rained</i>.</p><ul><li>A<li>B</ul><table>{CELLS}</table>",
    "fences": "Do this:\n\n```python\nx = f(7)\n```\n\nIt is done.\n\n",
    "sentences": "It is deep and wide. It rained on the pier. ",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*REPEATED, "wide head", "long row", "items of XML", "letters"])
def test_a_document_takes_time_by_its_length(kind):
    """From the text to units, what is read and shared of them, and half of them joined."""

    def read(size):
        one = REPEATED.get(kind, "")
        text = one * (size // len(one)) if one else LARGE[kind](size // 100)
        units = [(unit.start, unit.end) for unit in spans(text)]
        linearized(text, units), shares("Is berth 7 deep?", text, units), joined(text, units[::2])

    assert is_linear(read)
