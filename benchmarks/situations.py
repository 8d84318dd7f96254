"""What survives in situations written by people who had seen no reader: `situations/`.

    python benchmarks/situations.py            # evidence whole, and the tokens kept, by set
    python benchmarks/situations.py --lost     # and what of each is lost
    python benchmarks/situations.py --only 6-0
    python benchmarks/situations.py --keep-answer 0.98    # with a more careful filter

A line is a question in everyday words, mostly not those of what answers it, with what a program
printed for an agent (``result``, behind what the agent ``said`` and the call's ``arguments``) or
with ``documents``, some in ``max_tokens``. Evidence is whole where all of its words are kept, in
order: rows may be laid out anew.
A set is new once: its first figure is what to expect of texts that nobody has looked at.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ragsieve
from ragsieve.adapter import Adapter
from ragsieve.agents.filter import ToolFilter
from ragsieve.system import System

Record = dict[str, Any]
FOLDER = Path(__file__).with_suffix("")


def records(only: str = "") -> Iterator[Record]:
    """The situations whose id begins so."""
    files = (file.read_text("utf-8") for file in sorted(FOLDER.glob("*.jsonl")))
    lines = (line for text in files for line in text.splitlines())
    yield from (one for one in map(json.loads, lines) if one["id"].startswith(only))


def shown(one: Record, system: System) -> tuple[str, float]:
    """What is kept of a situation, and its share of the tokens."""
    if "max_tokens" in one:
        system = system.with_budget(one["max_tokens"])
    if "documents" in one:
        result = system(one["question"], one["documents"])
        return result.text, result.tokens.after / max(1, result.tokens.before)
    called = {"name": one["name"], "arguments": one["arguments"]}
    call = {"id": "1", "type": "function", "function": called}
    messages = [
        {"role": "user", "content": one["question"]},
        {"role": "assistant", "content": one["said"], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": one["result"]},
    ]
    cut = ToolFilter(Adapter(system), ["*"])(messages)
    (outcome,) = cut.outcomes.values()
    share = outcome.tokens_after / max(1, outcome.tokens_before)
    return str(cut.messages[-1]["content"]), share


def words(text: str) -> str:
    """Letters and digits of a text, each word between blanks."""
    return " ".join(["", *re.findall(r"\w+", text), ""])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="those whose id begins so")
    parser.add_argument("--lost", action="store_true", help="print what is lost, too")
    parser.add_argument("--keep-answer", type=float, default=0.95, help="of the filter")
    options = parser.parse_args()
    system = ragsieve.load("finefilter", options={"keep_answer": options.keep_answer})
    found: dict[tuple[str, str], list[tuple[bool, float]]] = defaultdict(list)
    for one in records(options.only):
        text, share = shown(one, system)
        lost = [piece for piece in one["evidence"] if words(piece) not in words(text)]
        kind = (
            "a budget" if "max_tokens" in one else "documents" if "documents" in one else "outputs"
        )
        for name in (one["id"].partition("-")[0], "all"):
            found[name, kind].append((not lost, share))
        if options.lost and lost:
            print(f"{one['id']} {one['kind']}: {'; '.join(lost)}")
    print("| set | read | evidence whole | tokens kept |\n|---|---|---|---|")
    for (name, kind), some in sorted(found.items()):
        whole, kept = (sum(column) for column in zip(*some, strict=True))
        print(f"| {name} | {kind} | {whole} of {len(some)} | {kept / len(some):.0%} |")


if __name__ == "__main__":
    main()
