"""Add pages and questions that were written for the sentence pruner to its training questions.

    python experiments/pruner_pages.py experiments/pages --data NEW OUTPUT

A file of the folder has groups of pages, each with questions whose evidence is copied from them::

    === GROUP name
    --- PAGE title
    text
    --- ASK kind | question
    > a line of the evidence, which stands once in the group

A question's documents are the pages of its group and two of others. OUTPUT/train.jsonl has them and
as many questions of NEW/train.jsonl, in random order; OUTPUT/validation.jsonl one group of twelve.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Marked = list[tuple[str, list[str]]]  # what stands behind a mark, and the lines below it

HELD = 12  # one group of so many is for validation
OTHERS = 2  # pages of other groups beside those of a question's own
PAGE, ASK, GROUP = "--- PAGE ", "--- ASK ", "=== GROUP "


class Faulty(ValueError):
    """Evidence that does not stand once in its group."""


def groups(file: Path) -> Iterator[tuple[Marked, Marked]]:
    """The pages, by title, and the questions of each group of a file."""
    for part in file.read_text("utf-8").split(GROUP)[1:]:
        pages: Marked = []
        asked: Marked = []
        for line in part.splitlines()[1:]:
            if line.startswith((PAGE, ASK)):
                mark = PAGE if line.startswith(PAGE) else ASK
                (pages if mark == PAGE else asked).append((line.removeprefix(mark).strip(), []))
            elif not asked:
                pages[-1][1].append(line)
            elif line.startswith("> "):
                asked[-1][1].append(line[2:])
        yield pages, asked


def records(file: Path) -> Iterator[tuple[int, list[Record]]]:
    """The questions of each group, with its number."""
    for number, (pages, asked) in enumerate(groups(file)):
        name = f"{file.stem}-{number}"
        texts = ["\n".join(lines).strip("\n") for _, lines in pages]
        made = []
        for n, (said, evidence) in enumerate(asked):
            kind, _, question = (word.strip() for word in said.partition("|"))
            documents: list[Record] = [
                {"id": f"{name}-{k}", "title": title, "text": text, "evidence": []}
                for k, ((title, _), text) in enumerate(zip(pages, texts, strict=True))
            ]
            for line in evidence:
                if sum(text.count(line) for text in texts) != 1:
                    raise Faulty(f"{line!r:.80} must stand once in group {name}")
                (k,) = (k for k, text in enumerate(texts) if line in text)
                at = texts[k].index(line)
                documents[k]["evidence"].append([at, at + len(line)])
            own = {"kind": kind, "question": question, "answers": [], "documents": documents}
            made.append({"id": f"page:{name}-{n}", **own})
        yield number, made


def mixed(made: Sequence[Record], chance: random.Random) -> Iterator[Record]:
    """Each question with pages of others behind its own."""
    every = [*{d["id"]: {**d, "evidence": []} for one in made for d in one["documents"]}.values()]
    for one in made:
        group = one["documents"][0]["id"].rpartition("-")[0]
        others = [d for d in every if d["id"].rpartition("-")[0] != group]
        yield {**one, "documents": [*one["documents"], *chance.sample(others, OTHERS)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="of pruner_new_data.py")
    options = parser.parse_args()
    chance = random.Random(0)
    parts: tuple[list[Record], list[Record]] = ([], [])  # to learn from, for validation
    for file in sorted(options.folder.glob("*.txt")):
        for number, made in records(file):
            parts[number % HELD == HELD - 1].extend(made)
    learn, held = ([json.dumps(one, ensure_ascii=False) for one in mixed(p, chance)] for p in parts)
    old = (options.data / "train.jsonl").read_text("utf-8").splitlines()
    lines = [*learn, *chance.sample(old, min(len(learn), len(old)))]
    chance.shuffle(lines)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, some in (("train", lines), ("validation", held)):
        (options.output / f"{name}.jsonl").write_text("\n".join(some) + "\n", "utf-8")
    print(f"{len(learn)} questions about pages to learn from, {len(held)} for validation")


if __name__ == "__main__":
    main()
