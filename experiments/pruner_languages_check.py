"""How often the evidence survives in languages other than English, and in how much of the text.

    python experiments/pruner_languages_check.py WORK default
    python experiments/pruner_languages_check.py WORK default --folder WORK/int8
    python experiments/pruner_languages_check.py WORK ngrams
    python experiments/pruner_languages_check.py WORK cosine --encoder E5
    python experiments/pruner_languages_check.py WORK pruner --folder WORK/int8

WORK is the folder of ``experiments/pruner_languages.py``. Each held-out question has the passage
that answers and three others of its set, half of them of the same article. Text is counted in
characters, without spaces. By one bar for each language: *kept* is what survives where 40% of the
gold passages' text stays, *needed* the share of it (and of all text) that stays where the evidence
survives in 95%. AUC is over all sentences of a question, and *inside* the gold passage. *Today* is
what the default filter keeps, as it ships or with the folder's pruner and thresholds in place of
n-grams; or what n-grams keep by half of the best.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from pruner_train import Lines

import ragsieve
from ragsieve import score, select, split
from ragsieve.models.pruner import Pruner
from ragsieve.system import Pipeline, System
from ragsieve.types import Document, Query, Segment
from ragsieve_research.evaluate.auc import auc

Record = dict[str, Any]
Levels = Callable[[Query, Sequence[Segment]], np.ndarray]

SHARE = 0.4  # of the gold passages' text
PROMISE = 0.95
BAR = 0.6  # of the best sentence's log-odds go to the bar
AS_TODAY = 0.5  # of the best score of n-grams


class Scored(NamedTuple):
    """Of each sentence the level, characters, whether it is evidence, whether of the gold one."""

    levels: np.ndarray
    sizes: np.ndarray
    evidence: np.ndarray
    gold: np.ndarray


def default(folder: Path | None) -> Levels:
    """1 for what the default filter keeps, 0 for the rest; with a folder, by its pruner."""
    system: System = ragsieve.load("finefilter")
    if folder:
        net = Pruner(str(folder), threads=1)
        cut = select.Threshold.promised(net, PROMISE, 1)
        stages = (score.Pruner(net), select.Copies(), select.Answerable(0.05, 1), cut)
        system = replace(system, stage=Pipeline(split.Blocks(), *stages))

    def levels(query: Query, segments: Sequence[Segment]) -> np.ndarray:
        documents = {s.document.id: s.document for s in segments}
        kept = {s.key for s in system(query, [*documents.values()]).kept}
        return np.array([float(s.key in kept) for s in segments])

    return levels


def ngrams() -> Levels:
    return lambda query, segments: score.Ngrams().scores(query, segments)


def cosine(encoder: Path) -> Levels:
    """Cosine less the best of the question's, by e5 with the prefixes that it was trained with."""
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(encoder))
    net = transformers.AutoModel.from_pretrained(str(encoder), add_pooling_layer=False).eval()

    @torch.no_grad()
    def vectors(texts: list[str]) -> torch.Tensor:
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        found: list[Any] = [None] * len(texts)
        for first in range(0, len(order), 8):
            part = order[first : first + 8]
            inputs = tokenizer(
                [texts[n] for n in part], padding=True, truncation=True, max_length=256,
                return_tensors="pt", return_token_type_ids=False,
            )  # fmt: skip
            mask = inputs["attention_mask"][..., None]
            states = net(**inputs).last_hidden_state * mask
            for n, vector in zip(part, states.sum(1) / mask.sum(1), strict=True):
                found[n] = vector / vector.norm()
        return torch.stack(found)

    def levels(query: Query, segments: Sequence[Segment]) -> np.ndarray:
        first, *rest = vectors([f"query: {query.text}", *(f"passage: {s.text}" for s in segments)])
        similar = (torch.stack(rest) @ first).numpy()
        return np.asarray(similar - similar.max())

    return levels


def pruner(folder: Path) -> Levels:
    """Log-odds less a share of the best of the question's."""
    scorer = score.Pruner(Pruner(str(folder), threads=1))

    def levels(query: Query, segments: Sequence[Segment]) -> np.ndarray:
        odds = np.clip(scorer.scores(query, segments).astype(float), 1e-6, 1 - 1e-6)
        odds = np.log(odds / (1 - odds))
        return np.asarray(odds - BAR * odds.max())

    return levels


def scored(record: Mapping[str, Any], levels: Levels) -> Scored | None:
    """A question as the default filter cuts it; None where no sentence holds the evidence."""
    segments, evidence, gold = [], [], []
    query = Query(record["question"])
    for values in record["documents"]:
        whole = Segment.whole(Document(values["id"], values["text"], title=values["title"]))
        for s in split.Blocks()(query, [whole]):
            segments.append(s)
            evidence.append(any(a < s.end and s.start < b for a, b in values["evidence"]))
            gold.append(bool(values["evidence"]))
    if not any(evidence):
        return None
    sizes = [len("".join(s.text.split())) for s in segments]
    return Scored(levels(query, segments), *map(np.array, (sizes, evidence, gold)))


def stays(questions: Sequence[Scored], bar: float) -> tuple[float, float, float]:
    """Shares of evidence that survives, of the gold passages' text, of all text."""
    survive, own, every = [], [], []
    for q in questions:
        kept = q.levels >= min(bar, q.levels.max())
        survive.append(bool((kept & q.evidence).any()))
        own.append((q.sizes * (kept & q.gold)).sum() / (q.sizes * q.gold).sum())
        every.append((q.sizes * kept).sum() / q.sizes.sum())
    return float(np.mean(survive)), float(np.mean(own)), float(np.mean(every))


def figures(questions: Sequence[Scored], today: bool) -> dict[str, Any]:
    bars = np.unique(np.concatenate([q.levels for q in questions]))
    rows = [stays(questions, bar) for bar in bars[:: max(1, len(bars) // 400)]]
    areas = [auc(q.evidence, q.levels) for q in questions]
    inside = [auc(q.evidence[q.gold], q.levels[q.gold]) for q in questions]
    found = {
        "questions": len(questions),
        "auc": float(np.mean([a for a in areas if a is not None])),
        "auc_inside": float(np.mean([a for a in inside if a is not None])),
        "kept": max((row[0] for row in rows if row[1] <= SHARE), default=0.0),
        "needed": min(row[1] for row in rows if row[0] >= PROMISE),
        "needed_of_all": min(row[2] for row in rows if row[0] >= PROMISE),
    }
    if today:
        names = ("today", "today_needed", "today_of_all")
        found |= dict(zip(names, stays(questions, AS_TODAY), strict=True))
    return {name: round(value, 3) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("what", choices=["default", "ngrams", "cosine", "pruner"])
    parser.add_argument("--encoder", type=Path, help="folder of multilingual-e5-small")
    parser.add_argument("--folder", type=Path, help="folder of a pruner")
    parser.add_argument("--most", type=int, default=60, help="questions of a language")
    options = parser.parse_args()
    if options.what == "default":
        levels = default(options.folder)
    elif options.what == "ngrams":
        levels = ngrams()
    elif options.what == "cosine":
        levels = cosine(options.encoder)
    else:
        levels = pruner(options.folder)
    for tongue, records in groupby(
        Lines(options.work / "held.jsonl"), lambda record: record["language"]
    ):
        questions = [*islice(filter(None, (scored(r, levels) for r in records)), options.most)]
        row = figures(questions, options.what in ("default", "ngrams"))
        print(json.dumps({"language": tongue, **row}), flush=True)


if __name__ == "__main__":
    main()
