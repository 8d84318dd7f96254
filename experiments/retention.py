"""Measure how often filters keep the evidence, and how much text they keep, on test questions.

    python experiments/retention.py --data ../shared/data
    python experiments/retention.py --data ../shared/data --limit 50 --sets nq popqa

Only questions of the test part (a salted hash; nothing here was trained or calibrated on them)
whose documents hold the evidence count. Evidence is a sentence with a gold answer, or, where the
answer is yes or no or none is given, a sentence that the data set marks. First table: how scorers
rank a question's sentences (AUC), how often the best is evidence, and the share of words above the
highest threshold at which the evidence survives in 95% of the questions. Second table: what whole
systems keep. Intervals are 95% bootstrap intervals over questions.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ragsieve
from ragsieve import datasets, models, score, split
from ragsieve.datasets.parts import part_of
from ragsieve.evaluate.evidence import gold_sentences
from ragsieve.evaluate.scorers import auc
from ragsieve.evaluate.stats import interval
from ragsieve.models.fake import echo
from ragsieve.pipeline import System, as_documents
from ragsieve.systems import finefilter_one_pass
from ragsieve.text import contains_answer, normalise
from ragsieve.types import Example, Segment

SETS = (
    "nq", "triviaqa", "hotpotqa", "hotpotqa_fullwiki", "2wikimultihopqa", "popqa", "musique",
    "multihoprag", "clapnq", "asqa",
)  # fmt: skip
MARKED = ("multihoprag", "clapnq")  # sets whose answers are not found word for word
KEPT = 0.95  # survival at which the words of a ranking are counted


class Question(NamedTuple):
    """A question, its documents' sentences, and which of them are evidence."""

    example: Example
    sentences: list[Segment]
    evidence: np.ndarray  # (n_sentences,), bool


def questions(name: str, folder: Path, limit: int | None) -> list[Question]:
    """Test questions whose documents hold the evidence."""
    found: Iterator[Question] = (
        question
        for _, example in datasets.load(name, folder=folder).examples()
        if part_of(example.query.text) == "test" and (question := labelled(example))
    )
    return list(itertools.islice(found, limit))


def labelled(example: Example) -> Question | None:
    documents = as_documents(example.documents)
    wholes = [Segment.whole(d) for d in documents]
    sentences = split.Sentences()(example.query, wholes)
    marked = {d.id: gold_sentences(d) for d in documents}
    answers = named(example)

    def is_evidence(segment: Segment) -> bool:
        if answers:
            return contains_answer(segment.text, answers)
        spans = marked[segment.document.id]
        return any(a < segment.end and segment.start < b for a, b in spans)

    evidence = np.array([is_evidence(s) for s in sentences], bool)
    return Question(example, sentences, evidence) if evidence.any() else None


def named(example: Example) -> list[str]:
    """Answers that mark evidence: none where the data set marks sentences instead."""
    if example.query.id.startswith(MARKED):
        return []
    return [a for a in example.answers if normalise(a) not in ("yes", "no", "")]


def survives(question: Question, kept: Sequence[Segment]) -> bool:
    if answers := named(question.example):
        return any(contains_answer(s.text, answers) for s in kept)
    gold = [s for s, good in zip(question.sentences, question.evidence, strict=True) if good]
    return any(
        k.document.id == s.document.id and k.start < s.end and s.start < k.end
        for k in kept
        for s in gold
    )


def words(segments: Sequence[Segment]) -> int:
    return sum(len(s.text.split()) for s in segments)


def ranked(found: Sequence[Question], scorer: Callable[..., list[Segment]]) -> dict[str, float]:
    """AUC inside a question, evidence first, and words above the threshold of `KEPT`."""
    areas, firsts, best, rows = [], [], [], []
    for question in found:
        scored = scorer(question.example.query, question.sentences)
        scores = np.array([s.score for s in scored])
        if (value := auc(question.evidence.astype(float), scores)) is not None:
            areas.append(value)
            firsts.append(bool(question.evidence[scores.argmax()]))
        best.append(scores[question.evidence].max())
        rows.append((scores, np.array([len(s.text.split()) for s in question.sentences])))
    threshold = np.sort(best)[int((1 - KEPT) * len(best))]
    share = np.mean([lengths[s >= threshold].sum() / lengths.sum() for s, lengths in rows])
    return {"auc": estimate(areas), "first": estimate(firsts), "words": float(share)}


def filtered(found: Sequence[Question], system: System) -> dict[str, Any]:
    """How often the evidence survives, and the share of words kept."""
    kept, shares, empty = [], [], 0
    for question in found:
        result = system(question.example.query, question.example.documents)
        kept.append(survives(question, result.kept))
        shares.append(
            words(result.kept) / max(1, words([Segment.whole(d) for d in result.documents]))
        )
        empty += not result.kept
    return {"survival": estimate(kept), "words": float(np.mean(shares)), "empty": empty}


def estimate(values: Sequence[float]) -> list[float]:
    mean = interval([np.array(values, float)])
    return [round(float(v), 4) for v in (mean.value, mean.low, mean.high)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of retrieved passages")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="questions of each set")
    parser.add_argument("--pruner", default="pruner", help="as `ragsieve models` names it")
    parser.add_argument("--peers", action="store_true", help="cosine and LlamaIndex's filter, too")
    parser.add_argument("--output", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    pruner = models.load(options.pruner)
    scorers: dict[str, Callable[..., list[Segment]]] = {
        "pruner": score.Pruner(pruner),
        "BM25": score.BM25(),
    }
    systems = {
        f"finefilter {p}": finefilter_one_pass(echo(), pruner, keep_answer=p)
        for p in (0.95, 0.9, 0.8)
    }
    if options.peers:
        minilm = models.load("minilm")
        scorers["cosine"] = score.Cosine(minilm)
        systems["llama-index-sentence-optimizer"] = ragsieve.load(
            "llama-index-sentence-optimizer", llm="fake:echo", embedder=minilm
        )
    figures: dict[str, dict[str, Any]] = {}
    for name in options.sets:
        found = questions(name, options.data, options.limit)
        figures[name] = {
            "questions": len(found),
            **{n: ranked(found, scorer) for n, scorer in scorers.items()},
            **{n: filtered(found, system) for n, system in systems.items()},
        }
        print(name, json.dumps(figures[name]), flush=True)
        if options.output:
            options.output.write_text(json.dumps(figures, indent=1))
    show(figures, list(scorers), list(systems))


def show(figures: dict[str, dict[str, Any]], scorers: list[str], systems: list[str]) -> None:
    names = list(figures)
    print("\n| | " + " | ".join(f"{n} ({figures[n]['questions']})" for n in names) + " | mean |")
    print("|---" * (len(names) + 2) + "|")

    def row(title: str, values: list[Any]) -> None:
        cells = [
            f"{v:.0%}" if isinstance(v, float) else f"{v[0]:.3f} [{v[1]:.2f}, {v[2]:.2f}]"
            for v in values
        ]
        mean = np.mean([v if isinstance(v, float) else v[0] for v in values])
        print(f"| {title} | " + " | ".join(cells) + f" | {mean:.3f} |")

    measures = {"auc": "AUC", "first": "best is evidence", "words": f"words for survival {KEPT}"}
    rows = [(s, key, title) for s in scorers for key, title in measures.items()]
    measures = {"survival": "survival", "words": "words kept"}
    rows += [(s, key, title) for s in systems for key, title in measures.items()]
    for scorer, key, title in rows:
        row(f"{scorer}: {title}", [figures[n][scorer][key] for n in names])


if __name__ == "__main__":
    main()
