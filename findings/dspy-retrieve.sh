#!/usr/bin/env bash
# Guess: dspy.Retrieve(k) gives at most k passages, and with_metadata=True what the retriever says of each (score, id).
# Seen (dspy 3.4.1): both are arguments that it hands to the retriever of the settings, and no more. A retriever that gives five passages has five,
# at k=2; of passages only long_text is left, whatever was asked for. dspy.retrievers.EmbeddingsWithScores, called by itself, has scores.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check dspy==3.4.1 numpy
timeout 300 "$d/v/bin/python" -W ignore - <<'P'
import dspy
import numpy
from dspy.dsp.utils import dotdict
from dspy.retrievers import EmbeddingsWithScores

given = []


def retriever(query, **options):
    given.append(options)
    return [dotdict(long_text=f"passage {n}", score=1 / (n + 1), pid=n) for n in range(5)]


dspy.configure(rm=retriever)
found = dict(dspy.Retrieve(k=2)("Who?", with_metadata=True, by_prob=True).items())
own = EmbeddingsWithScores(["a", "b"], lambda texts: numpy.eye(2)[: len(texts)], k=2)("a")
print(given, found, [*own.keys()])
assert given == [{"k": 2, "with_metadata": True, "by_prob": True}], given
assert found == {"passages": [f"passage {n}" for n in range(5)]}, found
assert [*own.keys()] == ["passages", "indices", "scores"], own
P
