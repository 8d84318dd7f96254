"""What a tool says about its result stays, whatever tool it is, and is no part of what is read."""

import inspect
import json

import pytest

from ragsieve import load, types
from ragsieve.adapter import Adapter
from ragsieve.agents.envelopes import content_of
from ragsieve.agents.filter import ToolFilter
from ragsieve.agents.messages import question_of, title_of
from ragsieve.agents.rules import ToolRule

PROSE = "\n\n".join(
    f"## Part {n}\n\nLamp {n} is green and old. It hums at night." for n in range(40)
)
CODE = "\n".join(f"{n}\t{line}" for n, line in enumerate(inspect.getsource(types).split("\n"), 1))
LOG = "\n".join(f"2026-01-02 10:00:{n:02} state {n % 3}" for n in range(60))
BEFORE = """Process exited with code 1|Output:
Warning: truncated output (original token count: 3429)|Total output lines: 120|
Showing lines 1 to 200 of 431|---
Exit code: 2|Wall time: 0.1 seconds|Output:
Found 431 matches, 200 are shown
[cut: 431 lines, 200 shown]
<error>exit status 1</error>"""
BEHIND = """(End of file - total 431 lines)
[truncated]
... 231 more lines
|exit status 2
<system-reminder>The file has more lines.</system-reminder>
(Results are truncated. Consider a more specific path.)
FAILED: 3 of 40 checks|real 0m1.2s
Next page: cursor=8f2a"""


@pytest.mark.parametrize("content", [PROSE, CODE, LOG], ids=["prose", "code", "log"])
@pytest.mark.parametrize("note", [*BEFORE.split("\n"), *BEHIND.split("\n")])
def test_what_a_tool_says_of_its_result_stays(note, content):
    """Line by line, before and behind texts of three kinds."""
    said = note.replace("|", "\n")
    text = f"{said}\n{content}" if note in BEFORE else f"{content}\n{said}"
    sieve = Adapter(load("finefilter", "fake:echo", pruner="fake:pruner"), on_error="raise")
    call = {"id": "c", "function": {"name": "read", "arguments": "{}"}}
    given = [
        {"role": "user", "content": "Which lamp 7 is green?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    shown = ToolFilter(sieve, [ToolRule(max_unanswered=0)])(given).messages[-1]["content"]

    assert [] == [line for line in said.split("\n") if line.strip() not in shown]
    assert len(shown) < len(text)


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        CODE,
        LOG,
        "name: x\nlist:\n- a\n- b\n",
        "---\ntitle: a\n---\n# A\n",
        "a: 1\nb:\n  c: 2",
    ],
)
def test_content_alone_has_no_envelope(text):
    """The first lines of configuration are no lines about it; front matter may be."""
    assert text.endswith(text[slice(*content_of(text))]) and content_of(text)[0] in (0, 17)


def test_a_path_or_a_command_names_a_result_and_is_not_sought():
    """What reads like language or a search joins the question; a list of words is one command."""
    arguments = json.dumps(
        {"command": ["bash", "-lc", "cat handbook.md"], "path": "src/a.py", "query": "late fines"}
    )

    assert "Any?" == question_of("Any?", "", '{"cmd": "cat handbook.md"}')
    assert ("late fines\nAny?", "bash -lc cat handbook.md src/a.py") == (
        question_of("Any?", "", arguments),
        title_of(arguments),
    )
