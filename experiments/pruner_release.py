"""Make the weights that come with the package: int8, calibrated, with the thresholds it promises.

    python experiments/pruner_release.py CHECKPOINT src/ragsieve/weights/pruner DATA NEW PAGES

CHECKPOINT is what ``experiments/pruner_train.py`` wrote, DATA what ``experiments/pruner_data.py``
wrote, and where the net has learned from them NEW and PAGES what ``pruner_new_data.py`` and
``pruner_pages.py`` wrote. Sentences are read a layer early, by the head that was trained with the
layers (``pruner_until.py --early``) or, without one, is fitted on questions to learn from.
Probabilities of sentences are calibrated on all validation questions: so many of those with a score
of 0.3 are evidence (``experiments/pruner_calibration.py`` measures that on others). A promise holds
in each kind of questions. Where CHECKPOINT is the output itself, it gets curve and thresholds
alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pruner_early import HEAD, EarlyNet
from pruner_train import Lines

from ragsieve.models.pruner import SETTINGS, TOKENIZER, write_settings
from ragsieve.models.windows import Window, WindowTokenizer
from ragsieve_research.train.export import export
from ragsieve_research.train.promises import recalibrated, thresholds
from ragsieve_research.train.pruner_samples import labelled

KINDS = {
    "one passage answers": (
        "nq", "triviaqa", "popqa", "asqa", "retrievalqa", "simpleqa_web", "realtimeqa_web",
        "realtimeqa_sources", "clapnq", "asqa_pool", "ambignq_snippets",
    ),
    "several passages answer": (
        "hotpotqa", "hotpotqa_fullwiki", "hotpotqa_more", "2wikimultihopqa", "2wiki_pool",
        "2wiki_more", "musique", "musique_pool", "multihoprag", "hover_pool", "ottqa",
    ),
    "asked about an article": (
        "squad_train", "squad_dev", "squad_sentences", "squadshifts_wiki", "selqa", "qed", "timeqa",
    ),
    "asked about other texts": (
        "squadshifts_reddit", "squadshifts_amazon", "fairytaleqa", "cuad", "bioasq", "covidqa",
        "chunking_evaluation", "fever", "evidence_inference", "hybridqa", "tatqa", "wice", "qmsum",
    ),
    "asked about pages": ("page",),
    "asked about tables, outputs and code": ("formed", "table", "output", "source"),
}  # fmt: skip
MOST = 1200  # questions of a kind
EARLY = 400  # questions to learn from, of whose windows the head of sentences is fitted


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open("rb")]


def kind_of(record: dict[str, Any]) -> str:
    name = record["id"].partition(":")[0]
    return next((kind for kind, names in KINDS.items() if name in names), "")


def typical(records: Iterable[dict[str, Any]], file: Path, most: int = 1) -> list[Window]:
    """The first windows of the first passages of each question, so many."""
    tokenizer = WindowTokenizer.read(file)
    found = []
    for record in records:
        passages = [passage for passage, _ in labelled(record)][:most]
        laid = tokenizer.lay(record["question"], passages)
        found += [window for some in laid.windows for window in some[:1]]
    return found


def spread(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most `MOST` of them, from all sets."""
    return records[:: -(-len(records) // MOST)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    options = parser.parse_args()
    parts = [read(folder / "validation.jsonl") for folder in options.data]
    if options.checkpoint != options.output:
        some = parts[0][:: len(parts[0]) // 48]
        windows = typical(some, options.checkpoint / TOKENIZER)
        lines = Lines(options.data[0] / "train.jsonl")
        learned = (lines[n] for n in range(0, len(lines), len(lines) // EARLY))
        if (head := options.checkpoint / HEAD).is_file():
            wrap = partial(EarlyNet, head=head)
        else:
            wrap = partial(EarlyNet, windows=typical(learned, options.checkpoint / TOKENIZER, 4))
        export(options.checkpoint, options.output, windows=windows, wrap=wrap)
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in chain.from_iterable(parts):
        if kind := kind_of(record):
            groups.setdefault(kind, []).append(record)
    found = recalibrated(options.output, {kind: spread(some) for kind, some in groups.items()})
    table = thresholds(found)
    settings = json.loads((options.output / SETTINGS).read_text())
    answerable = {kind: sum(bool(q.holds.any()) for q in some) for kind, some in found.items()}
    settings |= {"thresholds": table, "calibrated_on": answerable}
    write_settings(options.output, settings)


if __name__ == "__main__":
    main()
