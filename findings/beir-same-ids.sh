#!/usr/bin/env bash
# Guess: beir's EvaluateRetrieval gives trec_eval's figures of a run, as it calls pytrec_eval, and leaves the run as it is.
# Seen (beir 2.2.0, pytrec_eval-terrier 0.5.10): before it measures, it takes out of the run every document whose id equals the
# question's id, and does so in the caller's dict. Where questions and passages are both numbered, the gold passage
# "1" of question "1" is lost: nDCG@10 0 for trec_eval's 1. A second call with ignore_identical_ids=False is 0 as well, as the run is
# changed by then.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check pytrec_eval-terrier==0.5.10 tqdm==4.67.1
"$d/v/bin/pip" install -q --disable-pip-version-check --no-deps beir==2.2.0
timeout 300 "$d/v/bin/python" - <<'P'
import pytrec_eval
from beir.retrieval.evaluation import EvaluateRetrieval

qrels = {"1": {"1": 1}, "2": {"7": 1}}
run = {"1": {"1": 9.0, "3": 1.0}, "2": {"7": 9.0, "1": 1.0}}
judge = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"})
trec = {q: own["ndcg_cut_10"] for q, own in judge.evaluate(run).items()}
first = EvaluateRetrieval.evaluate(qrels, run, [10])[0]["NDCG@10"]
second = EvaluateRetrieval.evaluate(qrels, run, [10], ignore_identical_ids=False)[0]["NDCG@10"]
whole = {"1": {"1": 9.0, "3": 1.0}, "2": {"7": 9.0, "1": 1.0}}
asked = EvaluateRetrieval.evaluate(qrels, whole, [10], ignore_identical_ids=False)[0]["NDCG@10"]
seen = (trec, first, second, asked, run["1"])
print(seen)
assert seen == ({"1": 1.0, "2": 1.0}, 0.5, 0.5, 1.0, {"3": 1.0}), seen
P
