"""Which figure compares with which: ours beside those of FlashRAG, rouge_score and TREC's tools.

    python benchmarks/measures.py

Ten pairs of an output and a gold answer, and five rankings, through each library in an environment
made in a temporary folder with pinned versions. Rows are Markdown, as docs/benchmark.md
has them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

from ragsieve.run.batch import accuracy
from ragsieve_research.evaluate.answers import exact_match, f1, rouge
from ragsieve_research.evaluate.scorers import ndcg

PINS = [
    "flashrag-dev==0.1.2",  # without what it requires: its metrics need nothing of it
    "rouge_score==0.1.2",
    "pytrec_eval-terrier==0.5.10",
    "ir_measures==0.4.3",
    "ranx==0.3.21",
]
PAIRS = [  # output, gold answer
    ("It is in Oslo's harbour.", "Oslo"),
    ("1.5 euros", "15 euros"),
    ("5 000 people", "5,000 people"),
    ("in 1914–1918", "1914-1918"),
    ("Spider Man", "Spider-Man"),
    ("“Beyoncé”", "Beyoncé"),
    ("J. K. Rowling", "J.K. Rowling"),
    ("there is no information", "no"),
    ("vitamin C", "vitamin A"),
    ("北京市", "北京"),
]
RANKINGS = [  # grades, scores
    ([1, 0, 0], [3.0, 2.0, 1.0]),
    ([0, 1, 0], [3.0, 2.0, 1.0]),
    ([2, 0, 1], [1.0, 3.0, 2.0]),
    ([1, 0, 0], [1.0, 1.0, 1.0]),
    ([0, 0, 1], [1.0, 1.0, 1.0]),
]
PEERS = """
import importlib.util, json, sys
from pathlib import Path
pairs, rankings = json.load(sys.stdin)
place = Path(importlib.util.find_spec("flashrag").submodule_search_locations[0], "evaluator")
def load(name):
    full = f"flashrag.evaluator.{name}"
    spec = importlib.util.spec_from_file_location(full, place / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
sys.modules["flashrag"] = sys.modules["flashrag.evaluator"] = type(sys)("flashrag")
load("utils")
metrics = load("metrics")
from rouge_score.rouge_scorer import RougeScorer
config = {"dataset_name": "nq", "metric_setting": {}}
em, f1, acc = metrics.ExactMatch(config), metrics.F1_Score(config), metrics.Sub_ExactMatch(config)
rouge = RougeScorer(["rougeL"], use_stemmer=True)
rows = [(em.calculate_em(o, [g]), f1.token_level_scores(o, [g])["f1"],
         acc.calculate_sub_em(o, [g]), rouge.score(g, o)["rougeL"].fmeasure) for o, g in pairs]
import ir_measures, pytrec_eval, ranx
ranked = []
for grades, scores in rankings:
    qrels = {"q": {f"d{n}": g for n, g in enumerate(grades)}}
    run = {"q": {f"d{n}": s for n, s in enumerate(scores)}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)["q"]["ndcg_cut_10"]
    nDCG = ir_measures.nDCG @ 10
    ir = ir_measures.calc_aggregate([nDCG], qrels, run)[nDCG]
    x = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "ndcg@10")
    ranked.append((trec, ir, float(x)))
print(json.dumps([rows, ranked]))
"""


def peers(folder: Path) -> list[list[list[float]]]:
    """Figures of the libraries, in an environment that is made in a folder."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *PINS[1:]], check=True, timeout=500)
    subprocess.run([*install, "--no-deps", PINS[0]], check=True, timeout=100)
    text = json.dumps([PAIRS, RANKINGS])
    ran = subprocess.run(
        [python, "-c", PEERS], input=text, capture_output=True, text=True, timeout=200, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    figures: list[list[list[float]]] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def row(*cells: object) -> str:
    """A line of a table, numbers with three digits."""
    shown = (f"{c:.3f}".rstrip("0").rstrip(".") if isinstance(c, float) else str(c) for c in cells)
    return f"| {' | '.join(shown)} |"


def main() -> None:
    """Print both tables: ours / theirs."""
    with tempfile.TemporaryDirectory() as folder:
        answers, rankings = peers(Path(folder))
    print(row("output", "gold", "EM", "F1", "accuracy", "ROUGE-L"))
    print("|---|---|---|---|---|---|")
    for (output, gold), theirs in zip(PAIRS, answers, strict=True):
        ours = [measure(output, [gold]) for measure in (exact_match, f1, accuracy)]
        ours.append(rouge(output, [gold])["rougeL"])
        values = [f"{one:.2f} / {other:.2f}" for one, other in zip(ours, theirs, strict=True)]
        print(row(output, gold, *values))
    print()
    print(row("grades", "scores", "NDCG@10", "trec_eval", "ir_measures", "ranx"))
    print("|---|---|---|---|---|---|")
    for (grades, scores), figures in zip(RANKINGS, rankings, strict=True):
        print(row(grades, scores, ndcg(np.array(grades), np.array(scores)), *figures))


if __name__ == "__main__":
    main()
