"""Measure how often filters keep the evidence, and how much text they keep, on test questions.

    python experiments/retention.py --data ../shared/data --peers --ranking --output figures.json
    python experiments/retention.py --data ../shared/data --limit 50 --sets nq popqa
    python experiments/retention.py --data ../shared/data --limit 40 --peers --curve curve.svg

Only questions of the test part (a salted hash; nothing here was trained or calibrated on them)
whose documents hold the evidence count. Evidence is a sentence with a gold answer, or, where the
answer is yes or no or none is given, a sentence that the data set marks. First table: how scorers
rank a question's sentences (AUC), how often the best is evidence, and the share of words above the
highest threshold at which the evidence survives in 95% of the questions. Second table: what whole
systems keep: of the words, of the evidence (any of it; all that the data set marks, where it marks
some), and of the words of another question's documents, which answer nothing. ``--peers`` adds
others, as they are by default, on MiniLM (LangChain's filter keeps 20 documents, which is all of
them in most sets). ``--one-by-one`` also filters each document by itself, with ``min_keep=0``.
``--curve`` draws how often the evidence survives over the words kept: of scorers at any threshold,
of systems as they are. ``--abstention`` tries values of ``min_answerable``; ``--part validation``
measures what thresholds are fitted on. Third table, by ``--ranking``: documents ranked by the
probability of the passage, by cosine and by BM25, against labels; all questions of noveleval count,
whose test part has seven. An empty ``--sets`` leaves that one alone.
Intervals are 95% bootstrap intervals over questions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import ragsieve
from ragsieve import models, score, split
from ragsieve.documents import as_documents
from ragsieve.models.base import Passage, SentencePruner
from ragsieve.models.cache import Cached
from ragsieve.models.fake import echo
from ragsieve.system import Stage, System
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve.text import contains_answer, normalise
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research import datasets
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.evaluate.auc import auc
from ragsieve_research.evaluate.evidence import gold_sentences
from ragsieve_research.evaluate.scorers import Labels, hit, ndcg
from ragsieve_research.evaluate.scorers import labelled as graded
from ragsieve_research.evaluate.stats import interval

SETS = (
    "nq", "triviaqa", "hotpotqa", "hotpotqa_fullwiki", "2wikimultihopqa", "popqa", "musique",
    "multihoprag", "clapnq", "asqa",
)  # fmt: skip
MARKED = ("multihoprag", "clapnq")  # sets whose answers are not found word for word
RANKED = ("noveleval", "hotpotqa", "multihoprag")  # sets whose documents are labelled
PEERS = ("top-sentences", "langchain-embeddings-filter", "llama-index-sentence-optimizer", "all")
KEPT = 0.95  # survival at which the words of a ranking are counted
LEVELS = np.linspace(0.5, 1.0, 26)  # survivals of a curve
ABSTAIN = (0.0, 0.05, 0.1, 0.2, 0.3)  # values of min_answerable
STRANGERS = 40  # questions of a set that are also asked of another one's documents
SHOWN = {"survival": "survives", "all": "all of it", "words": "words", "none": "nothing answers"}
Filter = Callable[[Query, Sequence[Document]], Sequence[Segment]]


class Question(NamedTuple):
    """A question, its documents' sentences, which of them are evidence, and which are marked."""

    example: Example
    sentences: list[Segment]
    evidence: np.ndarray  # (n_sentences,), bool
    marked: np.ndarray  # (n_sentences,), bool


def questions(name: str, folder: Path, limit: int | None, part: str = "test") -> list[Question]:
    """Questions of a part whose documents hold the evidence."""
    examples = (example for _, example in datasets.load(name, folder=folder).examples())
    tested = (example for example in examples if part_of(example.query.text) == part)
    return list(itertools.islice(filter(None, map(labelled, tested)), limit))


def labelled(example: Example) -> Question | None:
    documents = as_documents(example.documents)
    sentences = split.Sentences()(example.query, [Segment.whole(d) for d in documents])
    spans = {d.id: gold_sentences(d) for d in documents}
    marked = np.array(
        [any(a < s.end and s.start < b for a, b in spans[s.document.id]) for s in sentences], bool
    )
    answers = named(example)
    holding = np.array([contains_answer(s.text, answers) for s in sentences], bool)
    evidence = holding if answers else marked
    return Question(example, sentences, evidence, marked) if evidence.any() else None


def named(example: Example) -> list[str]:
    """Answers that mark evidence: none where the data set marks sentences instead."""
    if example.query.id.startswith(MARKED):
        return []
    return [a for a in example.answers if normalise(a) not in ("yes", "no", "")]


def survives(question: Question, kept: Sequence[Segment]) -> bool:
    if answers := named(question.example):
        return any(contains_answer(s.text, answers) for s in kept)
    return any(covered(question, kept))


def complete(question: Question, kept: Sequence[Segment]) -> bool | None:
    """Whether something of each marked sentence is kept; None where none is marked."""
    return all(covered(question, kept)) if question.marked.any() else None


def covered(question: Question, kept: Sequence[Segment]) -> Iterator[bool]:
    """Of each marked sentence, whether something of it is kept."""
    for s in itertools.compress(question.sentences, question.marked):
        yield any(
            k.document.id == s.document.id and k.start < s.end and s.start < k.end for k in kept
        )


def strangers(found: Sequence[Question]) -> Iterator[tuple[Query, Sequence[Document]]]:
    """Questions with the documents of another one, which do not hold their answer."""
    for question, other in zip(found, [*found[1:], *found[:1]], strict=True):
        documents = as_documents(other.example.documents)
        if not any(contains_answer(d.text, named(question.example)) for d in documents):
            yield question.example.query, documents


def together(system: System) -> Filter:
    """What a system keeps that gets all documents."""
    return lambda query, documents: system(query, documents).kept


def one_by_one(system: System) -> Filter:
    """What a system keeps that gets each document by itself."""

    def kept(query: Query, documents: Sequence[Document]) -> Sequence[Segment]:
        return [s for d in documents for s in system(query, [d]).kept]

    return kept


def words(segments: Iterable[Segment]) -> int:
    return sum(len(s.text.split()) for s in segments)


def measured(
    found: Sequence[Question], scorers: Mapping[str, Stage], filters: Mapping[str, Filter]
) -> dict[str, Any]:
    """Figures of scorers and filters; all of them read a question before the next one."""
    scores: dict[str, list[np.ndarray]] = {name: [] for name in scorers}
    kept: dict[str, list[tuple[bool, bool | None, float]]] = {name: [] for name in filters}
    for question in found:
        query, documents = question.example.query, as_documents(question.example.documents)
        for name, scorer in scorers.items():
            scores[name].append(np.array([s.score for s in scorer(query, question.sentences)]))
        for name, keep in filters.items():
            left = keep(query, documents)
            row = survives(question, left), complete(question, left), share(left, documents)
            kept[name].append(row)
    others = [*itertools.islice(strangers(found), STRANGERS)]
    figures: dict[str, Any] = {name: ranked(found, values) for name, values in scores.items()}
    for name, rows in kept.items():
        survived, whole, shares = zip(*rows, strict=True)
        figures[name] = {
            "survival": estimate(survived),
            "all": estimate(whole),
            "words": estimate(shares, exact=False),
            "none": estimate([share(filters[name](*o), o[1]) for o in others], exact=False),
        }
    return {"questions": len(found), **figures}


def share(kept: Iterable[Segment], documents: Iterable[Document]) -> float:
    """Of the documents' words, those that are kept."""
    return words(kept) / words(map(Segment.whole, documents))


def ranked(found: Sequence[Question], scores: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """AUC inside a question, evidence first, words above thresholds of `KEPT` and `LEVELS`."""
    pairs = list(zip(found, scores, strict=True))
    best = np.sort([values[q.evidence].max() for q, values in pairs])
    whole = [words(q.sentences) for q in found]

    def shares(level: float) -> np.ndarray:
        threshold = best[min(int((1 - level) * len(best) + 1e-9), len(best) - 1)]
        above = [words(itertools.compress(q.sentences, values >= threshold)) for q, values in pairs]
        return np.divide(above, whole)

    return {
        "auc": estimate([auc(q.evidence, values) for q, values in pairs]),
        "first": estimate([hit(q.evidence, values) for q, values in pairs]),
        "words": estimate(shares(KEPT), exact=False),
        "curve": [round(float(shares(level).mean()), 4) for level in LEVELS],
    }


def estimate(values: Iterable[float | None], *, exact: bool = True) -> list[float]:
    """Mean and ends of its interval, over the questions to which a measure applies; else NaN."""
    known = np.array([v for v in values if v is not None], float)
    if not known.size:
        return [math.nan] * 3
    mean = interval([known], exact=exact)
    return [round(float(v), 4) for v in (mean.value, mean.low, mean.high)]


def ranking(name: str, folder: Path, limit: int | None, scorers: Mapping[str, Stage]) -> Any:
    """NDCG@10 of the documents, in questions whose documents' labels differ."""
    small = name == "noveleval"  # twelve questions, graded by people
    labels: Labels = "grades" if small else "positive documents"
    examples = [e for _, e in datasets.load(name, folder=folder).examples()]
    tested = [e for e in examples if small or part_of(e.query.text) == "test"]
    asked = [q for e in tested if len({*(q := graded(e, labels)).grades}) > 1][:limit]
    figures: dict[str, Any] = {"questions": len(asked)}
    for title, scorer in scorers.items():
        scores = [np.array([s.score for s in scorer(q.query, [*q.segments])]) for q in asked]
        values = [ndcg(np.array(q.grades), s) for q, s in zip(asked, scores, strict=True)]
        figures[title] = {"ndcg": estimate(values)}
    return figures


def passages(pruner: SentencePruner) -> Stage:
    """Score documents by the pruner's probability, reading blocks as the default filter does."""

    def scored(query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        texts = [[b.text for b in split.Blocks()(query, [s])] for s in segments]
        titles = [s.document.title for s in segments]
        (pruned,) = pruner.prune([query.text], [[*map(Passage, titles, texts)]])
        return [s.scored("passage", v) for s, v in zip(segments, pruned.passages, strict=True)]

    return scored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of retrieved passages")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--limit", type=int, help="questions of each set")
    parser.add_argument("--pruner", default="pruner", help="as `ragsieve models` names it")
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    parser.add_argument("--abstention", action="store_true", help="values of min_answerable, too")
    parser.add_argument("--one-by-one", action="store_true", help="documents alone, too")
    parser.add_argument("--peers", action="store_true", help="cosine and other filters, too")
    parser.add_argument("--ranking", action="store_true", help="rank whole documents, too")
    parser.add_argument("--output", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--curve", type=Path, help="draw survival over words into this SVG file")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        embeds = options.peers or options.ranking
        minilm = Cached(models.load("minilm"), Path(folder, "vectors")) if embeds else None
        measure(options, models.load(options.pruner), minilm)


def measure(options: argparse.Namespace, pruner: SentencePruner, minilm: Any) -> None:
    """Measure what the options ask for; the JSON is written after every set."""
    cosine, bm25 = score.Cosine(minilm), score.BM25()
    scorers: dict[str, Stage] = {"pruner": score.Pruner(pruner), "BM25": bm25}
    systems = {
        f"finefilter {p}": finefilter_one_pass(echo(), pruner, keep_answer=p)
        for p in (0.97, 0.95, 0.9, 0.8)
    }
    if options.peers:
        scorers["cosine"] = cosine
        systems |= {name: ragsieve.load(name, "fake:echo", minilm) for name in PEERS}
    filters: dict[str, Filter] = {name: together(system) for name, system in systems.items()}
    for least, keep in itertools.product(ABSTAIN if options.abstention else (), (1, 0)):
        system = finefilter_one_pass(echo(), pruner, min_answerable=least, min_keep=keep)
        filters[f"min_answerable {least}, min_keep {keep}"] = together(system)
    if options.one_by_one:
        filters["one by one"] = one_by_one(finefilter_one_pass(echo(), pruner, min_keep=0))
    tables: dict[str, Any] = {"retention": {}, "ranking": {}}

    def add(table: str, name: str, found: dict[str, Any]) -> None:
        tables[table][name] = found
        print(table, name, json.dumps(found), flush=True)
        if options.output:
            options.output.write_text(json.dumps({"pruner": pruner.identity, **tables}, indent=1))

    for name in options.sets:
        found = questions(name, options.data, options.limit, options.part)
        add("retention", name, measured(found, scorers, filters))
    documents: dict[str, Stage] = {"pruner": passages(pruner), "cosine": cosine, "BM25": bm25}
    for name in RANKED if options.ranking else ():
        add("ranking", name, ranking(name, options.data, options.limit, documents))
    measures = {"auc": "AUC", "first": "best is evidence", "words": f"words for survival {KEPT}"}
    show(tables["retention"], list(scorers), measures)
    show(tables["retention"], list(filters), SHOWN)
    show(tables["ranking"], list(documents), {"ndcg": "NDCG@10"})
    if options.curve:
        picture = drawn([*tables["retention"].values()], list(scorers), list(filters))
        options.curve.write_text(picture, encoding="utf-8")


def drawn(sets: Sequence[Any], scorers: Sequence[str], filters: Sequence[str]) -> str:
    """Survival over words as SVG, means over sets: curves of scorers, points of systems."""
    from ragsieve_research.evaluate import plots

    lines = []
    for n, name in enumerate(scorers):
        kept = 100 * np.mean([one[name]["curve"] for one in sets], 0)
        points = [plots.Point(x, y) for x, y in zip(kept, 100 * LEVELS, strict=True)]
        lines.append((name, (points[5 * (n + 1)], *points)))  # each marked at a place of its own
    for name in (name for name in filters if name != "all"):
        x, y = (100 * np.mean([one[name][key][0] for one in sets]) for key in ("words", "survival"))
        lines.append((name, (plots.Point(x, y),)))
    numbered = [plots.Line(n, name, points) for n, (name, points) in enumerate(lines, 1)]
    return plots.picture(numbered, "words kept, %", "evidence survives")


def show(figures: Mapping[str, Any], rows: Sequence[str], measures: Mapping[str, str]) -> None:
    """Print a table: rows are scorers or systems by measure, columns are sets."""
    if not figures:
        return
    columns = [f"{name} ({found['questions']})" for name, found in figures.items()]
    print("\n| | " + " | ".join([*columns, "mean"]) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for row, (key, title) in itertools.product(rows, measures.items()):
        values = [f[row][key] for f in figures.values()]
        cells = [f"{value:.3f} [{low:.2f}, {high:.2f}]" for value, low, high in values]
        known = [value for value, *_ in values if not math.isnan(value)]
        if known:  # else no set has it
            texts = [cell.replace("nan [nan, nan]", "–") for cell in cells]
            print(f"| {row}: {title} | {' | '.join(texts)} | {np.mean(known):.3f} |")


if __name__ == "__main__":
    main()
