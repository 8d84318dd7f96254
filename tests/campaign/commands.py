"""The command line in this process or another, and the files that it is tried on."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import ragsieve
from ragsieve.cli import main
from tests.named import write_rows
from tests.plugins.cli import Ended

from .laws import holds

FAKES = ("--llm", "fake:echo", "--embedder", "fake:hashing")
ASKED = "Who sang song 7?"
TIMES = re.compile(r'"[a-z_]*(seconds|started)": ("[^"]*"|[0-9.e-]+)')
RUN = """
baseline = "all"
embedder = "fake:hashing"
latency = 1
workers = 2
data = [{ name = "mine.jsonl" }]
systems = [{ name = "all" }, { name = "top-sentences" }]
generators = [{ llm = "fake:echo" }]
"""
SOURCES = """
[[sources]]
name = "shop"
description = "What things cost."
kind = "pages"
files = ["shop.html"]
[[sources]]
name = "music"
description = "Who sang what."
kind = "pages"
files = ["music.html"]
[[sources]]
name = "memory"
kind = "memory"
"""


def here(*arguments):
    """The command in this process: it ends by `SystemExit`, whatever is wrong in a line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
            code = 0
        except SystemExit as ended:
            code = int(str(ended.code))
    check_error(Ended(code, out.getvalue(), err.getvalue()))
    return Ended(code, out.getvalue(), err.getvalue())


def check_error(ended):
    """A failure is one clear line, in a batch one a question, without a traceback or an escape."""
    holds("no traceback", "Traceback" not in ended.err, ended.err[-300:])
    errors = [line for line in ended.err.splitlines() if line.startswith(("error:", "Error:"))]
    holds("a failure is named", bool(errors) == (ended.code in (1, 2)), ended)
    single = [line for line in errors if not re.search(r" line \d+: |, \d+ more: ", line)]
    holds("a failure is one line", len(single) <= 1 and len(errors) == len({*errors}), ended)
    holds("no control characters", not re.search("[\x00-\x08\x0e-\x1f]", ended.err), ended.err)


def environment():
    """What a child process sees: the package that we have, one thread."""
    package = str(Path(ragsieve.__file__).parents[1])
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": package}


def start(folder, *arguments):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ragsieve", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def questions(folder, count, name="q.jsonl"):
    """So many questions with two documents each; half of them on prices."""
    kinds = [("Who sang song", "was sung by", "Seals"), ("What is the price of", "costs", "nine")]
    rows = []
    for n in range(count):
        asked, verb, answer = kinds[n % 2]
        documents = [f"Song {n} {verb} {answer}. It rained {n} days.", "Bees make honey."]
        row = {"id": f"q{n}", "question": f"{asked} {n}?", "answers": [answer]}
        rows.append({**row, "documents": documents})
    write_rows(folder / name, rows)


def sources(folder=Path()):
    """Sources, and the pages of two."""
    (folder / "sources.toml").write_text(SOURCES)
    (folder / "shop.html").write_text("<p>The price of an item is nine euros.</p>")
    (folder / "music.html").write_text("<p>Song 7 of an album was sung by Seals.</p>")


def documents(folder, name, start, stop):
    """A document a line."""
    rows = [
        {"id": f"d{n}", "text": f"Song {n} was sung by Seals {n % 7}. It rained."}
        for n in range(start, stop)
    ]
    write_rows(folder / name, rows)


def found(folder, name="i"):
    """What an index holds and finds, as text."""
    asked = [
        here("index", "search", str(folder / name), "-q", ASKED, "--by", by, "-k", "9", "--json")
        for by in ("bm25", "dense", "hybrid")
    ]
    info = here("index", "info", str(folder / name))
    holds("the index is sound", all(e.code == 0 for e in (*asked, info)), (*asked, info))
    counts = [line for line in info.out.splitlines() if "documents" in line or "chunks" in line]
    return [TIMES.sub("", ended.out) for ended in asked] + counts


def records(*paths):
    """Lines of JSONL files, sorted, without times."""
    return sorted(TIMES.sub("", line) for path in paths for line in path.read_text().splitlines())
