"""Errors of logs stay, with what stands beside them."""

from __future__ import annotations

import pytest

import ragsieve
from ragsieve.split.blocks import Blocks
from ragsieve.structure.log_errors import error_keys
from ragsieve.types import Document, Query, Segment

AT = "2026-03-01 12:00:"
OFTEN = "".join(f"{AT}{n} INFO worker: took job {n} of pier\n" for n in range(10, 40))
LOGS = [
    ("levels", f"{OFTEN}{AT}41 ERROR db: no such berth\n{AT}42 INFO on\n{OFTEN}", "ERROR db"),
    ("a traceback", f"{OFTEN}{AT}41 ERROR db\nTraceback (most recent call last):\n"
     f'  File "a.py", line 1, in go\nKeyError: 7\n{OFTEN}', "KeyError: 7"),
    ("syslog", "".join(f"Mar  1 12:00:{n} pier systemd[1]: Started job {n}.\n" for n in range(30))
     + "Mar  1 12:01:07 pier systemd[1]: crane.service: Failed with result 'exit-code'.\n"
     + "Mar  1 12:01:08 pier kernel: link is up\n", "Failed with"),
    ("klog", "".join(f"I0301 12:00:{n} 1 pod.go:7] synced\n" for n in range(30))
     + "E0301 12:01:00 1 pod.go:9] back-off restarting\n", "back-off"),
    ("nginx", "".join(f"2026/03/01 12:00:{n} [notice] 7#7: start worker\n" for n in range(10, 19))
     + "2026/03/01 12:01:00 [emerg] 7#7: host not found in upstream\n", "[emerg]"),
    ("npm", "1 verbose cli node\n2 silly fetch a\n3 http fetch GET 200 a\n4 verbose stack x\n"
     "5 error code E404\n6 verbose exit 1\n", "E404"),
    ("a build", "make: Entering directory\ngcc -c a.c\ngcc -c b.c\nb.c:7:3: error: no pier\n"
     "make: *** [Makefile:7: b.o] Error 1\n", "no pier"),
    ("dmesg", "".join(f"[   {n}.000001] usb 1-{n}: new device\n" for n in range(10, 40))
     + "[   41.000001] crane[7]: segfault at 0 ip 07\n", "segfault"),
]  # fmt: skip
HEALTHY = [
    f"{OFTEN}{AT}50 INFO done, 0 errors, no failures, failed jobs: 0, cannot\n",
    "It failed. The error was 12:00:01 late.\nSo it rained.\nAn ERROR is one.\nNo log.\n",
    "Ada: It failed.\nBob: An error?\nAda: Yes.\nBob: I cannot.\n",
]


def told(question: str, text: str) -> list[str]:
    units = Blocks()(Query(question), [Segment.whole(Document("d", text))])
    keys = error_keys(Query(question), units)
    return [unit.text for unit in units if unit.key in keys]


@pytest.mark.parametrize(("kind", "text", "error"), LOGS, ids=[kind for kind, *_ in LOGS])
def test_an_error_of_a_log_stays_with_its_neighbours(kind: str, text: str, error: str) -> None:
    """Where the question asks for trouble, or for nothing that the log has words for."""
    for question in ("What went wrong?", "Where did Oda live?"):
        lines = told(question, text)

        assert any(error in line for line in lines)
        assert 0 < len(lines) <= 9
    assert error in ragsieve.load("finefilter").with_budget(90)("What went wrong?", [text]).text


@pytest.mark.parametrize("text", HEALTHY)
def test_nothing_stays_of_what_tells_of_no_error(text: str) -> None:
    """A log that is well, prose, and a chat about errors."""
    assert not told("What went wrong?", text)


def test_the_question_may_say_otherwise() -> None:
    """What it names in the log counts, and an error of it with that; each kind counts once."""
    text = f"{OFTEN}{AT}41 ERROR crane 7 is down\n{AT}42 ERROR crane 8 is down\n{OFTEN}"

    assert not told("Which worker took job 12?", text)
    assert len(told("Is the crane at the pier?", text)) == 3
    assert len(told("Why?", text)) == 3
