#!/usr/bin/env bash
# Guess: ragas' NonLLMContextRecall is the share of reference contexts that the retrieved contexts contain, so it measures a filter that
# keeps the gold sentence, and a passage about something else does not count.
# Seen (ragas 0.4.3, rapidfuzz 3.14.3): each reference is compared with each retrieved text as a whole, by edit distance, and counts
# where the similarity is over .5. The gold sentence, cut from its passage word for word, has recall 0; the passage of another tower, with
# other years and heights, has recall 1, and so has the gold passage in which only the answer was changed.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check ragas==0.4.3 rapidfuzz==3.14.3 datasets==4.0.0 langchain-community==0.3.31
timeout 300 "$d/v/bin/python" -W ignore - <<'P'
from ragas import SingleTurnSample
from ragas.metrics import NonLLMContextRecall

gold = "The tower opened in 1889. It was built in two years. It is 330 metres high."
kept = {
    "the passage": gold,
    "its sentence with the answer": "It is 330 metres high.",
    "another tower": "The tower opened in 1958. It was built in two years. It is 333 metres high.",
    "the passage with a wrong answer": gold.replace("330", "90"),
}
seen = {
    name: NonLLMContextRecall().single_turn_score(SingleTurnSample(retrieved_contexts=[text], reference_contexts=[gold]))
    for name, text in kept.items()
}
print(seen)
assert seen == {"the passage": 1.0, "its sentence with the answer": 0.0, "another tower": 1.0, "the passage with a wrong answer": 1.0}, seen
P
