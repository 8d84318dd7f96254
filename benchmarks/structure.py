"""What each reader of structure is worth: the default filter with one of them off at a time.

    python benchmarks/structure.py            # the table of benchmarks/results/structure.md
    python benchmarks/structure.py --all-on   # its first line alone, in a minute
    python benchmarks/structure.py --forms    # the everyday questions as tools return files

Evidence that is whole in what is shown, and the share of the words that is: of the everyday
questions (`tests/everyday.jsonl`) without a budget and in 100 tokens, of agents' tool results
(`tests/traces.jsonl`), of questions over JSON (`tests/core/test_json_questions.py`), and of
`tests/structured.jsonl`, whose author does not write readers. A reader that no column needs goes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import ragsieve  # noqa: E402
from ragsieve import structure  # noqa: E402
from ragsieve.agents.envelopes import content_of  # noqa: E402
from ragsieve.agents.messages import question_of  # noqa: E402
from tests.core.test_everyday import whole as everyday_whole  # noqa: E402
from tests.core.test_json_questions import ASKED  # noqa: E402

Record = dict[str, Any]
FORMS = {  # how a line begins, in which its number is {n}; what stands before and behind all lines
    "plain": ("", "", ""),
    "number, tab": ("{n}\t", "", ""),
    "number, arrow": ("{n:6}→", "", ""),
    "number, colon, in tags": (
        "{n}: ",
        "<path>notes.md</path>\n<type>file</type>\n<content>\n",
        "\n\n(End of file)\n</content>",
    ),
    "behind lines on the process": (
        "",
        "Chunk ID: 7e1f2c\nWall time: 0.0512 seconds\nProcess exited with code 0\n"
        "Original token count: 2250\nOutput:\n",
        "",
    ),
}


class Score(NamedTuple):
    """Questions whose evidence is whole, of how many, and the mean share of words that is shown."""

    whole: int
    of: int
    words: float

    def __str__(self) -> str:
        return f"{self.whole} of {self.of} ({self.words:.1%})"


def records(name: str) -> list[Record]:
    """The records of a file of tests/."""
    lines = (ROOT / "tests" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def pieces(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Question, text and evidence, verbatim pieces."""
    if name == "traces":
        for trace in records("traces.jsonl")[:20]:  # the others need the filter of tool results
            asked = question_of(trace["user"], trace["said"], trace["arguments"])
            yield asked, trace["result"], trace["evidence"]
    elif name == "json":
        for indent in (None, 2):
            yield from ((q, json.dumps(value, indent=indent), [a]) for value, q, a in ASKED)
    else:
        for one in records("structured.jsonl"):
            yield one["question"], one["text"], one["evidence"]


def score(name: str, max_tokens: int | None = None) -> tuple[Score, list[str]]:
    """The score of the default filter on a set, and what is lost."""
    system = ragsieve.load("finefilter")
    system = system.with_budget(max_tokens) if max_tokens else system
    lost, shares = [], []
    if name == "everyday":
        for record in records("everyday.jsonl"):
            result = system(record["question"], record["documents"])
            lost += [] if everyday_whole(record, result) else [record["id"]]
            own = sum(len(s.text.split()) for s in result.kept)
            shares.append(own / sum(len(d.text.split()) for d in result.documents))
        return Score(len(shares) - len(lost), len(shares), sum(shares) / len(shares)), lost
    for question, text, evidence in pieces(name):
        shown = system(question, [text]).text
        lost += [] if all(one in shown for one in evidence) else [question]
        shares.append(min(len(shown.split()) / len(text.split()), 1))
    return Score(len(shares) - len(lost), len(shares), sum(shares) / len(shares)), lost


def in_form(margin: str, before: str, behind: str) -> Score:
    """The score of the everyday questions, each document as a tool returns a file.

    Words are those of the files; evidence is whole where its characters are kept, or shown.
    """
    system, lost, shares = ragsieve.load("finefilter"), 0, []
    begins = re.compile(re.escape(margin).replace(r"\{n\}", r"\d+").replace(r"\{n:6\}", r" *\d+"))
    for record in records("everyday.jsonl"):
        texts = [document["text"] for document in record["documents"]]
        places = [[*_places(text, margin, before)] for text in texts]
        lines = (enumerate(text.split("\n"), 1) for text in texts)
        files = ["\n".join(margin.format(n=n) + line for n, line in own) for own in lines]
        documents = [
            {**document, "text": before + file + behind}
            for document, file in zip(record["documents"], files, strict=True)
        ]
        inner = [content_of(document["text"]) for document in documents]  # as of a tool's result
        for document, span in zip(documents, inner, strict=True):
            document["text"] = document["text"][slice(*span)]
        result = system(record["question"], documents)
        kept = {
            (s.document.rank, place + inner[s.document.rank][0])
            for s in result.kept
            for place in range(s.start, s.end)
        }
        ends = enumerate(zip(inner, places, strict=True))  # what stands around it stays
        kept |= {(n, c) for n, ((a, b), some) in ends for c in some if not a <= c < b}
        shown = re.sub(f"^{begins.pattern}", "", result.text, flags=re.MULTILINE)
        spans = ((one["document"], *span) for one in record["evidence"] for span in one["spans"])
        lost += not all(
            texts[n][a:b] in shown
            or all((n, places[n][c]) in kept for c in range(a, b) if texts[n][c].strip())
            for n, a, b in spans
        )
        own = sum((n, c) in kept for n, some in enumerate(places) for c in some)
        shares.append(own / sum(map(len, texts)))
    return Score(len(shares) - lost, len(shares), sum(shares) / len(shares))


def _places(text: str, margin: str, before: str) -> Iterator[int]:
    """Where each character of a text stands in its form."""
    at = len(before)
    for n, line in enumerate(text.split("\n"), 1):
        at += len(margin.format(n=n))
        yield from range(at, at + len(line) + 1)
        at += len(line) + 1


SETS: Sequence[tuple[str, int | None]] = (
    ("everyday", None),
    ("everyday", 100),
    ("traces", None),
    ("json", None),
    ("structured", None),
    ("structured", 100),
)


def row(off: str) -> list[tuple[Score, list[str]]]:
    """Scores of all sets without a reader."""
    structure.READERS[:] = [name for name in structure.READERS if name != off]
    return [score(*one) for one in SETS]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all-on", action="store_true")
    parser.add_argument("--lost", action="store_true", help="name what is lost, too")
    parser.add_argument("--forms", action="store_true", help="files as tools return them, alone")
    options = parser.parse_args()
    if options.forms:
        print("| form | everyday |\n|---|---|")
        for name, form in FORMS.items():
            print(f"| {name} | {in_form(*form)} |", flush=True)
        return
    names = ["", *([] if options.all_on else structure.READERS)]
    print("| off | " + " | ".join(f"{n}{f', {m} tokens' if m else ''}" for n, m in SETS) + " |")
    print("|---" * (len(SETS) + 1) + "|")
    with ProcessPoolExecutor(1, max_tasks_per_child=1) as pool:
        for name in names:
            found = pool.submit(row, name).result()
            print(f"| {name or 'nothing'} | " + " | ".join(str(s) for s, _ in found) + " |")
            for (one, _), (_, lost) in zip(SETS, found, strict=True):
                if options.lost and lost:
                    print(f"  {one}: {'; '.join(lost)}")


if __name__ == "__main__":
    main()
