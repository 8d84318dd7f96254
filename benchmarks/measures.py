"""Which figure compares with which: ours beside those of other libraries on the same inputs.

    python benchmarks/measures.py

Ten pairs of an output and a gold answer, five rankings, and four ways to keep two gold passages,
through each library in an environment made in a temporary folder with pinned versions (1.3 GB,
some minutes). Rows are Markdown, as docs/benchmark.md has them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.result import Result, Tokens
from ragsieve.run.batch import accuracy
from ragsieve.trace import Trace
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.evaluate.answers import exact_match, f1, rouge
from ragsieve_research.evaluate.evidence import document_recall
from ragsieve_research.evaluate.scorers import ndcg

PINS = [
    "rouge_score==0.1.2",
    "transformers==4.57.1",  # holds the script of SQuAD 2.0
    "pytrec_eval-terrier==0.5.10",
    "ir_measures==0.4.3",
    "ranx==0.3.21",
    *("ragas==0.4.3", "rapidfuzz==3.14.3", "datasets==4.0.0", "langchain-community==0.3.31"),
    "regex==2026.11.19",  # of DPR's tokenizer
]
ALONE = ["flashrag-dev==0.1.2", "dspy==3.4.1", "beir==2.2.0"]  # what is asked needs no torch
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
TOWER = "The tower opened in 1889. It was built in two years. It is 330 metres high."
MAKER = "Gustave Eiffel was born in Dijon. His firm built bridges. He died in 1923."
OTHER = "The tower opened in 1958. It was built in two years. It is 333 metres high."
KEPT = {  # spans kept of the gold passages TOWER and MAKER, and of OTHER
    "both gold passages": [TOWER, MAKER],
    "one of the two": [TOWER],
    "a sentence of each": ["The tower opened in 1889.", "Gustave Eiffel was born in Dijon."],
    "a passage like one, of another tower": [OTHER],
}
PEERS = """
import importlib.util, json, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
pairs, rankings, gold, kept = json.load(sys.stdin)
def load(package, *names):
    place = Path(importlib.util.find_spec(package[0]).submodule_search_locations[0], *package[1:])
    for part in range(len(package)):
        full = ".".join(package[: part + 1])
        sys.modules[full] = type(sys)(full)
    for name in names:
        full = ".".join((*package, name))
        spec = importlib.util.spec_from_file_location(full, place / f"{name}.py")
        module = sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
metrics = load(("flashrag", "evaluator"), "utils", "metrics")
dpr = load(("dspy", "dsp", "utils"), "dpr")
from rouge_score.rouge_scorer import RougeScorer
from transformers.data.metrics import squad_metrics as squad
config = {"dataset_name": "nq", "metric_setting": {}}
em, f1, acc = metrics.ExactMatch(config), metrics.F1_Score(config), metrics.Sub_ExactMatch(config)
rouge = RougeScorer(["rougeL"], use_stemmer=True)
rows = [{
    "EM": [squad.compute_exact(g, o), em.calculate_em(o, [g])],
    "F1": [squad.compute_f1(g, o), f1.token_level_scores(o, [g])["f1"]],
    "holds": [acc.calculate_sub_em(o, [g]), dpr.has_answer([dpr.DPR_normalize(g)], o)],
    "ROUGE-L": [rouge.score(g, o)["rougeL"].fmeasure],
} for o, g in pairs]
import ir_measures, pytrec_eval, ranx
from beir.retrieval.evaluation import EvaluateRetrieval
ranked = []
for grades, scores in rankings:
    qrels = {"q": {f"d{n}": g for n, g in enumerate(grades)}}
    run = {"q": {f"d{n}": s for n, s in enumerate(scores)}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)["q"]["ndcg_cut_10"]
    nDCG = ir_measures.nDCG @ 10
    ir = ir_measures.calc_aggregate([nDCG], qrels, run)[nDCG]
    x = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "ndcg@10")
    beir = EvaluateRetrieval.evaluate(qrels, run, [10])[0]["NDCG@10"]
    ranked.append((trec, ir, float(x), beir))
from ragas import SingleTurnSample
from ragas.metrics import IDBasedContextRecall, NonLLMContextRecall
def recalls(texts):
    ids = [next((n for n, one in enumerate(gold) if text in one), "other") for text in texts]
    named = SingleTurnSample(retrieved_context_ids=ids, reference_context_ids=[*range(len(gold))])
    shown = SingleTurnSample(retrieved_contexts=texts, reference_contexts=gold)
    return [IDBasedContextRecall().single_turn_score(named),
            NonLLMContextRecall().single_turn_score(shown)]
print(json.dumps([rows, ranked, [recalls(texts) for texts in kept]]))
"""


def peers(folder: Path) -> list[list[Any]]:
    """Figures of the libraries, in an environment that is made in a folder."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *PINS], check=True, timeout=900)
    subprocess.run([*install, "--no-deps", *ALONE], check=True, timeout=100)
    text = json.dumps([PAIRS, RANKINGS, [TOWER, MAKER], [*KEPT.values()]])
    ran = subprocess.run(
        [python, "-c", PEERS], input=text, capture_output=True, text=True, timeout=300, check=False
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    figures: list[list[Any]] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def recall(texts: list[str]) -> float | None:
    """Our recall of gold documents where these spans are kept."""
    gold = [Document(text[:9], text, metadata={"is_positive": True}) for text in (TOWER, MAKER)]
    example = Example(Query("Which tower?"), (*gold, Document("other", OTHER)))
    kept = [
        Segment(document, start, start + len(text))
        for text in texts
        for document in example.documents
        if (start := document.text.find(text)) >= 0
    ]
    result = Result(example.query, example.documents, tuple(kept), "", Tokens(0, 0), Trace())
    return document_recall(example, result)


def row(*cells: object) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def beside(*figures: float | None) -> str:
    """Figures beside each other, with two digits where they are no 0 or 1."""
    return " / ".join("–" if f is None else f"{f:.2f}".removesuffix(".00") for f in figures)


def main() -> None:
    """Print the three tables, ours first."""
    with tempfile.TemporaryDirectory() as folder:
        answers, rankings, recalls = peers(Path(folder))
    print(row("output", "gold", *answers[0]))
    print("|---|---|---|---|---|---|")
    for (output, gold), theirs in zip(PAIRS, answers, strict=True):
        ours = [measure(output, [gold]) for measure in (exact_match, f1, accuracy)]
        ours.append(rouge(output, [gold])["rougeL"])
        cells = zip(ours, theirs.values(), strict=True)
        print(row(output, gold, *(beside(one, *others) for one, others in cells)))
    print("\n" + row("grades", "scores", "NDCG@10"))
    print("|---|---|---|")
    for (grades, scores), figures in zip(RANKINGS, rankings, strict=True):
        print(row(grades, scores, beside(ndcg(np.array(grades), np.array(scores)), *figures)))
    print("\n" + row("kept", "recall of gold documents"))
    print("|---|---|")
    for (kept, texts), figures in zip(KEPT.items(), recalls, strict=True):
        print(row(kept, beside(recall(texts), *figures)))


if __name__ == "__main__":
    main()
