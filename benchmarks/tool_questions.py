"""What a tool's result is to be read for: evidence and words that the default filter keeps.

    python benchmarks/tool_questions.py tests/traces.jsonl
    python benchmarks/long_traces.py | python benchmarks/tool_questions.py /dev/stdin

A line of the file is a trace: `user`, `said`, `tool`, `arguments`, `result` and `evidence`, the
spans of the result that its call asks for. Words are those of all results.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import ragsieve
from ragsieve.agents.messages import question_of

WAYS = {
    "the user's last message": ("user",),
    "the call's arguments": ("arguments",),
    "arguments, user": ("arguments", "user"),
    "words before the call": ("said",),
    "words, arguments, user": ("said", "arguments", "user"),
}


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    traces = [json.loads(line) for line in options.traces.read_text("utf-8").splitlines()]
    sieve = ragsieve.load("finefilter", "fake:echo")
    total = sum(len(trace["result"].split()) for trace in traces)
    rows = {}
    for way, parts in WAYS.items():
        spans = whole = words = 0
        for trace in traces:
            user, said, arguments = (
                trace[name] if name in parts else "" for name in ("user", "said", "arguments")
            )
            question, result = question_of(user, said, arguments), trace["result"]
            text = sieve(question, [result]).text if question else result
            kept = [span in text for span in trace["evidence"]]
            spans, whole, words = spans + sum(kept), whole + all(kept), words + len(text.split())
        rows[way] = {"spans": spans, "whole": whole, "words": words / total}
    if options.json:
        print(json.dumps(rows))
        return
    of = sum(len(trace["evidence"]) for trace in traces)
    print(f"| question | evidence, of {of} spans | all of it, of {len(traces)} | words kept |")
    print("|---|---|---|---|")
    for way, row in rows.items():
        print(f"| {way} | {row['spans']} | {row['whole']} | {row['words']:.0%} |")


if __name__ == "__main__":
    main()
