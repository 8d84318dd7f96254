"""Share of passages that the question's words could drop before the pruner reads any.

    python experiments/pruner_first_look.py FOLDER --sets hotpotqa nq simpleqa_web

A passage's score is the rarity of the question's words in it, against the best passage of the
question; evidence are passages with a gold answer. The threshold is where the given share of these
would be lost.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from ragsieve.run.questions import lines, parse_record
from ragsieve.text import words
from ragsieve.types import Example

SETS = ["hotpotqa", "hotpotqa_fullwiki", "2wikimultihopqa", "musique", "nq", "triviaqa"]


def scores(example: Example) -> list[float]:
    """The score of each passage, in [0, 1]."""
    passages = [{*words(f"{d.title} {d.text}")} for d in example.documents]
    often = Counter(word for passage in passages for word in passage)
    rarity = {w: np.log(1 + len(passages) / (often[w] + 0.5)) for w in {*words(example.query.text)}}
    found = [sum(rarity[w] for w in rarity.keys() & passage) for passage in passages]
    return [score / (max(found) or 1) for score in found]


def main() -> None:
    """A row a set."""
    about = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    about.add_argument("data", type=Path)
    about.add_argument("--sets", nargs="+", default=[*SETS, "simpleqa_web"])
    about.add_argument("--losses", nargs="+", type=float, default=[0.003, 0.01])
    o = about.parse_args()
    print("| set | passages | " + " | ".join(f"lost {loss:.1%}" for loss in o.losses) + " |")
    print("|---" * (2 + len(o.losses)) + "|")
    for name in o.sets:
        found: list[tuple[float, bool]] = []
        for _, line in lines(o.data / f"{name}.jsonl.gz"):
            example = parse_record(line)
            texts = [document.text.lower() for document in example.documents]
            told = [any(a.lower() in text for a in example.answers) for text in texts]
            found += zip(scores(example), told, strict=True)
        all_ = np.array([score for score, _ in found])
        evidence = np.array([score for score, told in found if told])
        shares = [np.mean(all_ < np.quantile(evidence, loss)) for loss in o.losses]
        print(f"| {name} | {len(all_):,} | " + " | ".join(f"{s:.1%}" for s in shares) + " |")


if __name__ == "__main__":
    main()
