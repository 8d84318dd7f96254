"""What four libraries read in the TREC files that we write: nDCG@10, reciprocal rank, recall@2.

    python benchmarks/trec_runs.py

Five questions, with equal scores, scores that float32 does not tell apart, and a document found by
two chunks, are written by `run_lines` and `qrel_lines`; the figures are those of the order written.
A sixth has nothing kept, so no line. Versions are pinned, in an environment made in a temporary
folder. The exit status is 1 where a library has another figure.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from ragsieve.types import Document, Example, Query
from ragsieve_research.evaluate.trec import Ranked, qrel_lines, write_run

PINS = [
    "pytrec_eval-terrier==0.5.10",
    "ir_measures==0.4.3",
    "ranx==0.3.21",
    "trectools==0.0.50",
]
NEAR = 1 - 1e-12  # 1 as float32
QUESTIONS: dict[str, tuple[dict[str, int], Ranked]] = {  # grades, and what is kept with scores
    "second": ({"a": 0, "b": 1, "c": 0}, [("a", 3.0), ("b", 2.0), ("c", 1.0)]),
    "equal": ({"a": 0, "b": 0, "z": 1}, [("a", 0.5), ("b", 0.5), ("z", 0.5)]),
    "near": ({"b": 1, "a": 0}, [("b", 1.0), ("a", NEAR), ("z", NEAR - 1e-12)]),
    "chunks": ({"a": 2, "b": 1}, [("c", 0.9), ("b", 0.8), ("b", 0.7), ("a", 0.6), ("c", 0.5)]),
    "unscored": ({"a": 0, "z": 2, "lost": 1}, [("a", None), ("z", None)]),
    "nothing": ({"a": 1}, []),
}
PEERS = """
import ir_measures, json, pytrec_eval, ranx, sys, trectools
from ir_measures import RR, R, nDCG
qrels, run = sys.argv[1:]
wanted = [nDCG @ 10, RR, R @ 2]
rows = {}
for one in ir_measures.iter_calc(wanted, ir_measures.read_trec_qrels(qrels),
                                 ir_measures.read_trec_run(run)):
    rows.setdefault(one.query_id, {})[one.measure] = one.value
ir = {q: [own[m] for m in wanted] for q, own in rows.items()}
ir_means = ir_measures.calc_aggregate(wanted, ir_measures.read_trec_qrels(qrels),
                                      ir_measures.read_trec_run(run))
with open(qrels) as one, open(run) as other:
    judge = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(one),
                                           {"ndcg_cut_10", "recip_rank", "recall_2"})
    rows = judge.evaluate(pytrec_eval.parse_run(other))
trec = {q: [own[m] for m in ("ndcg_cut_10", "recip_rank", "recall_2")] for q, own in rows.items()}
tools = trectools.TrecEval(trectools.TrecRun(run), trectools.TrecQrel(qrels))
frame = tools.get_ndcg(depth=10, per_query=True).join(tools.get_reciprocal_rank(per_query=True))
tool = {q: row.tolist() for q, row in frame.dropna().iterrows()}
names = ["ndcg@10", "mrr", "recall@2"]
read = ranx.Qrels.from_file(qrels, kind="trec"), ranx.Run.from_file(run, kind="trec")
try:
    ranx.evaluate(*read, names)
    refused = ""
except AssertionError:
    refused = "raises AssertionError without make_comparable=True"
means = ranx.evaluate(*read, names, make_comparable=True)
scores = read[1].scores
x = {q: [float(scores[m][q]) for m in names] for q in scores["mrr"]}
print(json.dumps({
    "ir_measures": [ir, [ir_means[m] for m in wanted], ""],
    "pytrec_eval": [trec, [sum(own) / len(trec) for own in zip(*trec.values())], ""],
    "ranx": [x, [float(means[m]) for m in names], refused],
    "trectools": [tool, [float(tools.get_ndcg(depth=10)), float(tools.get_reciprocal_rank())], ""],
}))
"""


def write(folder: Path) -> dict[str, list[float]]:
    """Write run and qrels; the three figures of each question by the order of its lines."""
    figures = {}
    run, qrels = folder / "a.run", folder / "a.qrels"
    write_run(run, ((name, kept) for name, (_, kept) in QUESTIONS.items()), "ours")
    rows = [line.split() for line in run.read_text().splitlines()]
    with qrels.open("wb") as file:
        for name, (grades, _) in QUESTIONS.items():
            judged = (Document(d, "x", metadata={"relevance": g}) for d, g in grades.items())
            file.writelines(qrel_lines(Example(Query("?", name), tuple(judged))))
            gains = [grades.get(row[2], 0) for row in rows if row[0] == name]
            figures[name] = measured(gains, sorted(grades.values(), reverse=True))
    return figures


def measured(gains: list[int], ideal: list[int]) -> list[float]:
    """nDCG, reciprocal rank and recall of the first two, of grades by rank and the best order."""
    dcg, best = (sum(g / math.log2(n + 2) for n, g in enumerate(one)) for one in (gains, ideal))
    rank = next((n for n, gain in enumerate(gains, 1) if gain), math.inf)
    found, gold = (sum(gain > 0 for gain in one) for one in (gains[:2], ideal))
    return [dcg / best, 1 / rank, found / gold]


def peers(folder: Path) -> dict[str, tuple[dict[str, list[float]], list[float], str]]:
    """Figures of each library by question, its means, and why it refuses, where it does."""
    venv.create(folder / "v", with_pip=True)
    python = folder / "v" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", *PINS]
    subprocess.run(install, check=True, timeout=500)
    ran = subprocess.run(
        [python, "-c", PEERS, folder / "a.qrels", folder / "a.run"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    figures: dict[str, tuple[dict[str, list[float]], list[float], str]]
    figures = json.loads(ran.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Print a line a library; the exit status is 1 where a figure is another one."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = write(Path(folder)), peers(Path(folder))
    wrong = 0
    for library, (questions, means, refused) in theirs.items():
        for name, figures in questions.items():
            if not all(map(same, ours[name], figures)):
                wrong += 1
                print(f"{library}, {name}: {figures}, ours {ours[name]}")
        counted = [[own[n] for own in ours.values()] for n in range(len(means))]
        means_by = {
            "as 0": [sum(own) / len(own) for own in counted],
            "not at all": [sum(own) / (len(own) - 1) for own in counted],
        }
        how = [name for name, own in means_by.items() if all(map(same, own, means))]
        wrong += len(how) != 1
        missing = f"counts a question without a line {', '.join(how) or f'otherwise: {means}'}"
        print(f"{library}: {len(questions)} questions; {missing}; {refused or 'never raises'}")
    print(f"{wrong} figures differ")
    raise SystemExit(wrong > 0)


def same(one: float, other: float) -> bool:
    """Whether two figures are equal to four digits, as the tools print them."""
    return abs(one - other) < 1e-4


if __name__ == "__main__":
    main()
