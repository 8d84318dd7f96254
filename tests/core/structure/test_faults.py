"""What of a structured text cannot be read is told in the trace."""

import json

import pytest

from ragsieve.split.blocks import Blocks
from ragsieve.structure import read
from ragsieve.trace import Trace, step
from ragsieve.types import Document, Query, Segment
from tests.core.structure.test_structure import (
    BLANKS,
    CELLS,
    COMMAS,
    HUNKS,
    INCIDENTS,
    PIPES,
    PYTHON,
)

QUERY = Query("Which one is it?")
NAMED = f"--- a/x.c\n+++ b/x.c\n{BLANKS}"
UNREAD = [
    ("JSON that ends early", json.dumps(INCIDENTS * 3)[:-40], "ends early"),
    ("JSON that is none", '{"a": ' + '"b" "c" ' * 40, "begins as JSON"),
    ("YAML with a line of text", "a:\n  b: 1\n  c: 2\nd:\n  e: 1\nIt rained.\n", "line 6 "),
    ("TOML with an open bracket", "[a]\nb = 1\nc = 2\nd = [1,\n2,\n", "a bracket stays open"),
    ("front matter", "---\na:\n  b: 1\n  c: 2\nd: 3\nIt rained.\n---\nSo.", "line 6 is no entry"),
    ("open quotes", f'{PYTHON}\nx = """\nIt rained.\n', '""" is missing'),
    ("comma rows with an open quote", f'a,b,c\n{COMMAS}x,"y,2\n', "stay open"),
    ("comma rows with others", f"a,b,c\n{COMMAS}d,e,f,g\nh;i\n", "other columns"),
    ("HTML", f"<table>\n<tr><th>Name</th></tr>\n{CELLS}", "does not end"),
    ("a diff without names", HUNKS, "without the names"),
    ("a diff that lacks lines", f"--- a/x\n+++ b/x\n{HUNKS}@@ -1,4 +1,4 @@\n-a\n", "fewer lines"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "fault"), UNREAD, ids=[kind for kind, *_ in UNREAD])
def test_what_cannot_be_read_is_said_once(kind, text, fault):
    """No text is lost, and what can be read is not spoken of."""
    trace = Trace()
    with trace.recording(), step("split", []):
        units = Blocks()(QUERY, [Segment.whole(Document("d", text))])
    notes = [note for record in trace.steps for note in record.notes]

    assert len(notes) == 1
    assert notes[0].count(fault) == 1
    assert "".join("".join(unit.text for unit in units).split()) == "".join(text.split())


@pytest.mark.parametrize("text", [PYTHON, NAMED, PIPES, json.dumps(INCIDENTS)])
def test_what_is_read_has_no_faults(text):
    """Nor has prose with a colon or a quote."""
    assert not read(f"{text}\n").faults
    assert not read('Name: Ada\nTown: Rome\n\nShe said: "No.\nIt rained, so, well, (a\n').faults
