"""What deciding by words and numbers in their places changes in who holds an answer.

    python benchmarks/held_answers.py ../shared/data --show 20
    python benchmarks/held_answers.py ../shared/train --labels    # a quarter of an hour

Beside `contains_answer` stands what others count by: the answer as SQuAD's evaluation normalises it
in the text so normalised, at word boundaries. First come the pairs of `tests/held_answers.jsonl`,
by half. With `--labels` the folder holds NAME.questions and NAME.passages, as a pruner learns from:
a sentence outside of the evidence that holds a gold answer is ignored there, else it is a 0.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ragsieve import split
from ragsieve.text import contains_answer, normalise, visible_answers
from ragsieve.types import Document, Query, Segment

PAIRS = Path(__file__).parents[1] / "tests/held_answers.jsonl"


def by_normaliser(text: str) -> Callable[[list[str]], bool]:
    """Whether the normalised text has a normalised answer, letters of Chinese as they stand."""
    shown = f" {normalise(text)} "
    return lambda answers: any(
        (named if re.search("[\u3040-\u9fff]", named) else f" {named} ") in shown
        for named in map(normalise, answers)
        if named
    )


def half(pair: dict[str, Any]) -> str:
    """Which half a pair is in, by its hash: only the development half was looked at."""
    digest = hashlib.sha256(f"67\t{pair['answer']}\t{pair['text']}".encode()).digest()
    return "held out" if digest[0] % 2 else "development"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of a packed JSONL file."""
    with gzip.open(path) as file:
        yield from map(json.loads, file)


def labels(path: Path, changes: list[str]) -> Counter[str]:
    """Counts of sentences outside of the evidence, once for each question of their passage."""
    asked: dict[str, list[tuple[list[str], list[list[int]]]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for one in rows(path):
        if answers := visible_answers(one["answers"]):
            marked = {own["passage"]: own["spans"] for own in one["evidence"]}
            counts["questions"] += 1
            for name in {*one["passages"], *marked}:
                asked[name].append((answers, marked.get(name, [])))
    for passage in rows(path.with_name(path.name.replace(".questions.", ".passages."))):
        whole = Segment.whole(Document(passage["id"], passage["text"]))
        for sentence in split.Blocks()(Query("?"), [whole]) if asked[passage["id"]] else []:
            before = by_normaliser(sentence.text)
            for answers, spans in asked[passage["id"]]:
                if any(a < sentence.end and sentence.start < b for a, b in spans):
                    continue
                now, old = contains_answer(sentence.text, answers), before(answers)
                counts.update(sentences=1, ignored=now, gained=now > old, lost=now < old)
                if now != old:
                    sign = "+" if now else "-"
                    changes.append(f"{path.stem} {sign} {shown(sentence.text, answers, now)}")
    return counts


def records(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Answers that can be seen in a text, and documents, of each question that has some."""
    for record in rows(path):
        answers, documents = record.get("answers") or [], record.get("documents") or []
        if documents and (shown := visible_answers(a for a in answers if isinstance(a, str))):
            yield shown, [f"{d.get('title') or ''}\n{d.get('text', '')}" for d in documents]


def compare(path: Path, changes: list[str]) -> Counter[str]:
    """Counts of a set, and its changes in words."""
    counts: Counter[str] = Counter()
    for answers, documents in records(path):
        new = [contains_answer(text, answers) for text in documents]
        old = [by_normaliser(text)(answers) for text in documents]
        counts.update(questions=1, documents=len(documents), held=sum(new))
        counts.update(q_gained=any(new) > any(old), q_lost=any(new) < any(old))
        for text, now, before in zip(documents, new, old, strict=True):
            counts.update(gained=now > before, lost=now < before)
            if now != before:
                changes.append(f"{path.stem} {'+' if now else '-'} {shown(text, answers, now)}")
    return counts


def shown(text: str, answers: list[str], now: bool) -> str:
    """The answer that is held only by one of the two, and where its first word stands."""
    holds = (lambda a: contains_answer(text, [a])) if now else (lambda a: by_normaliser(text)([a]))
    answer = next(filter(holds, answers))
    first = re.search(r"\w+", answer)
    at = text.lower().find(first[0].lower()) if first else 0
    return f"{answer!r}: {text[max(0, at - 40) : at + 80]!r}"


def main() -> None:
    """Print the shares of pairs that are right, a row for each set, and some of the changes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="sets of questions, NAME.jsonl.gz")
    parser.add_argument("--show", type=int, default=20, help="changes to print, drawn by a seed")
    parser.add_argument("--labels", action="store_true", help="count labels of training")
    arguments = parser.parse_args()
    right: dict[str, list[bool]] = {}
    for pair in map(json.loads, PAIRS.read_text().splitlines()):
        value = contains_answer(pair["text"], [pair["answer"]])
        right.setdefault(half(pair), []).append(value == pair["holds"])
    for name, values in sorted(right.items()):
        print(
            f"pairs, {name}: {sum(values)} of {len(values)} right, {sum(values) / len(values):.1%}"
        )
    measure, files = (labels, "*.questions.jsonl.gz") if arguments.labels else (compare, "*.gz")
    names: tuple[str, ...] = ("questions", "documents", "held", "gained", "lost")
    names += ("q_gained", "q_lost")
    if arguments.labels:
        names = ("questions", "sentences", "ignored", "gained", "lost")
    print(f"{'':24}", *(f"{name:>9}" for name in names))
    changes: list[str] = []
    total: Counter[str] = Counter()
    for path in sorted(arguments.folder.glob(files)):
        if (counts := measure(path, changes))["questions"]:
            print(f"{path.name[:24]:24}", *(f"{counts[name]:9}" for name in names), flush=True)
            total += counts
    print(f"{'all':24}", *(f"{total[name]:9}" for name in names))
    random.Random(67).shuffle(changes)
    print(*changes[: arguments.show], sep="\n")


if __name__ == "__main__":
    main()
