"""What the verdicts of ChunkRAG and WinnowRAG are worth, from a run of ``ragsieve bench``.

    ragsieve bench experiments/capable.toml --limit 34 --data FOLDER
    python benchmarks/judged_methods.py runs/capable

Of ChunkRAG the AUC by which each score ranks chunks with a gold answer above the other chunks of
their question; of WinnowRAG how many of the documents with a gold answer stay, beside the share of
all that stays, which is what as many documents drawn at random would keep; of both the share of
replies that could be read.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.text import contains_answer
from ragsieve_research.evaluate.auc import auc

RATINGS = ("relevance", "reflection", "critique", "mean", "cosine")
Record = Mapping[str, Any]


def records(run: Path, system: str) -> Iterator[tuple[Record, Mapping[str, str]]]:
    """Of each question its record and the texts of its documents."""
    for file in sorted((run / "records").glob(f"*--{system}--*.jsonl")):
        questions = run / "questions" / f"{file.name.partition('--')[0]}.jsonl"
        lines = questions.read_text(encoding="utf-8").splitlines()
        documents = {
            (question := json.loads(line))["id"]: {
                d["id"]: d["text"] for d in question["documents"]
            }
            for line in lines
        }
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "trace" in record:  # else it failed
                yield record, documents[record["id"]]


def replies(record: Record, *stages: str) -> tuple[int, int]:
    """Replies that could not be read, and all, of some stages."""
    steps = [s for s in record["trace"]["steps"] if s["stage"].startswith(stages)]
    calls = [
        m["calls"] for s in steps for name, m in s["models"].items() if "sentence_tr" not in name
    ]
    return sum(s["unreadable"] for s in steps), sum(calls)


def chunkrag(run: Path) -> None:
    unread, areas = np.zeros(2, int), {name: list[float]() for name in RATINGS}
    kept, holding = np.zeros(2, int), np.zeros(2, int)
    for record, texts in records(run, "chunkrag"):
        dropped = [d for s in record["trace"]["steps"] for d in s["dropped"]]
        chunks = [c for c in (*record["kept"], *dropped) if "mean" in c["scores"]]
        good = [
            contains_answer(texts[c["document"]][c["start"] : c["end"]], record["answers"])
            for c in chunks
        ]
        stays = [place < len(record["kept"]) for place in range(len(chunks))]
        kept += sum(stays), len(stays)
        holding += sum(g and s for g, s in zip(good, stays, strict=True)), sum(good)
        unread += replies(record, "Relevance", "Reflection", "Critique", "Adaptive", "Rewritten")
        for name in RATINGS:
            area = auc(np.array(good), np.array([c["scores"][name] for c in chunks]))
            if area is not None:
                areas[name].append(area)
    print(f"chunkrag: {unread[1] - unread[0]} of {unread[1]} replies readable")
    print(f"  chunks kept: {kept[0]} of {kept[1]}; with an answer: {holding[0]} of {holding[1]}")
    for name, some in ((name, some) for name, some in areas.items() if some):
        print(f"  AUC of {name}: {np.mean(some):.2f} ({len(some)} questions)")


def winnowrag(run: Path) -> None:
    unread, kept, holding, right = (np.zeros(2, int) for _ in range(4))
    for record, texts in records(run, "winnowrag"):
        good = {name for name, text in texts.items() if contains_answer(text, record["answers"])}
        stays = {one["document"] for one in record["kept"]}
        kept += len(stays), len(texts)
        holding += len(stays & good), len(good)
        right += record["metrics"]["accuracy"] > 0, 1
        unread += replies(record, "Winnow")
    print(f"winnowrag: {unread[1] - unread[0]} of {unread[1]} replies readable")
    print(f"  documents kept: {kept[0]} of {kept[1]}; with an answer: {holding[0]} of {holding[1]}")
    print(f"  right: {right[0]} of {right[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the run")
    options = parser.parse_args()
    chunkrag(options.run)
    winnowrag(options.run)


if __name__ == "__main__":
    main()
