"""Train the default filter further on questions of your own, then filter with it."""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import ragsieve
from ragsieve_research import datasets
from ragsieve_research.train.plans import PrunerPlan
from ragsieve_research.train.pruner_training import make_pruner
from ragsieve_research.train.run import Run

PARTS = ("pump", "intake", "belt", "drum", "latch", "fan", "relay", "sensor", "seal", "valve")
STATES = ("is dry", "is blocked", "slips", "is out of balance", "stays open", "is too hot")
PAGE = "F21: the belt slips. F22: the drum stays open. F23: the fan is blocked."
random.seed(0)


def question(number: int) -> dict[str, object]:
    """A question, a page, and the place of its evidence in the page's text; yours is a log."""
    codes = random.sample(range(10, 100), 6)
    faults = [f"F{code}: the {random.choice(PARTS)} {random.choice(STATES)}." for code in codes]
    text, evidence = " ".join(faults), random.choice(faults)
    start = text.index(evidence)
    page = {"text": text, "evidence": [[start, start + len(evidence)]]}
    return {"question": f"Machine {number} shows {evidence[:3]}, why?", "documents": [page]}


with TemporaryDirectory() as folder:
    file, trained = Path(folder, "questions.jsonl"), Path(folder, "my-pruner")
    file.write_text("".join(json.dumps(question(n)) + "\n" for n in range(240)), "utf-8")
    run = Run([datasets.load(str(file))], Path(folder, "work"))
    figures = make_pruner(trained, PrunerPlan(epochs=1), run)
    for name, pruner in (("before", "pruner"), ("after", f"pruner:{trained}")):
        survival, words = figures[name]["survival"], figures[name]["words"]
        print(f"{name}: evidence survives in {survival:.0%}, at {words:.0%} of the words")
        sieve = ragsieve.load("finefilter", pruner=pruner)
        print(sieve("Machine 7 shows F22, why?", [PAGE]).text)
