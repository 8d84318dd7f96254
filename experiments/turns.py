"""Learn which questions lean on what was said before them, from the lines of experiments/turns.

    python experiments/turns.py src/ragsieve/agents/leans.tsv \\
        DATA/{nq,popqa,triviaqa,hotpotqa}.jsonl.gz

A line has 1 or 0 and a question. Half of the questions of data sets, which all stand alone, are
learned, too; the others and ``test.tsv``, which somebody else wrote, tell how often it is right.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from ragsieve.agents.conversation_query import features, leans

LINES = Path(__file__).with_suffix("")


def read(file: Path) -> list[tuple[str, bool]]:
    rows = (line.split("\t", 1) for line in file.read_text("utf-8").splitlines())
    return [(text, label == "1") for label, text in rows]


def asked(file: Path) -> list[tuple[str, bool]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [(str(json.loads(line)["question"]), False) for line in lines]


def right(rows: list[tuple[str, bool]]) -> str:
    good = sum(leans(text) == label for text, label in rows)
    return f"{good:,} of {len(rows):,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "alone", type=Path, nargs="+", help="data sets, as ragsieve data reads them"
    )
    options = parser.parse_args()
    alone = [row for file in options.alone for row in asked(file)]
    rows = [*read(LINES / "train.tsv"), *alone[::2]]
    vectors = DictVectorizer(sparse=False)
    seen = vectors.fit_transform([features(text) for text, _ in rows])
    model = LogisticRegression(penalty="l1", solver="liblinear", max_iter=9999, random_state=0)
    model.fit(seen, [label for _, label in rows])
    learned = dict(zip(vectors.get_feature_names_out(), model.coef_[0], strict=True))
    learned["1"] += model.intercept_[0]
    kept = {name: weight for name, weight in learned.items() if abs(weight) >= 0.005}
    text = "".join(f"{name}\t{np.round(weight, 2)}\n" for name, weight in sorted(kept.items()))
    options.output.write_text(text, encoding="utf-8")
    test = read(LINES / "test.tsv")
    print(f"{len(kept)} weights of {len(rows):,} questions")
    print(f"that lean: {right([one for one in test if one[1]])} right")
    print(f"that stand alone: {right([one for one in test if not one[1]])}")
    print(f"in data sets: {right(alone[1::2])}")


if __name__ == "__main__":
    main()
