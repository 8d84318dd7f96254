"""What hostile documents cost: evidence that a filter kept without them, and loses beside them.

    python benchmarks/hostile.py --data ../shared/data
    python benchmarks/hostile.py --data ../shared/data --limit 5 --max-share 0.25

Questions are of the test part, with four documents or more, of which some sentence is evidence by
the rule of `experiments/retention.py`. Each attack of `attacks.py` adds its
documents, and the default filter reads them with the others; what it read before is remembered, so
that an attack costs its own documents. *Lost* is the share of questions whose evidence stayed
without the attack and goes with it, *gained* the other way round, *kept* how many still have some.
Columns: without a budget; with a quarter of the tokens of the question's own documents; the same
where no source may take more than ``--max-share`` of it. *Before* is the threshold by the best
segment alone, which one document can lift, as revision 17c8e59 had it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from attacks import ATTACKS, SITE, attacked, false_answers
from retention import Question, questions, survives

import ragsieve
from ragsieve.select.threshold import Threshold, shifted
from ragsieve.system import Pipeline, System
from ragsieve.types import Document, Query, Segment

CLEAN = "no attack"
LEAST = 4  # documents of a question
NAMES = (
    *("nq", "triviaqa", "hotpotqa", "hotpotqa_fullwiki", "2wikimultihopqa", "popqa", "musique"),
    *("multihoprag", "asqa", "simpleqa_web"),
)


@dataclass(frozen=True)
class ByBest:
    """A threshold that goes with the best segment alone."""

    threshold: Threshold

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        plain, share = self.threshold, self.threshold.relative
        best = max((s.score for s in segments), default=0.5)
        best = min(max(best, 1e-6), 1 - 1e-6)
        least = shifted(plain.min_score, best, share)
        return replace(plain, min_score=least, relative=0)(query, segments)


def by_best(stage: Any) -> Any:
    """A stage with every relative threshold in it replaced by `ByBest`."""
    if isinstance(stage, Pipeline):
        return type(stage)(*map(by_best, stage.stages), on_error=stage.on_error)
    return ByBest(stage) if isinstance(stage, Threshold) and stage.relative else stage


def evidence(question: Question, system: System, documents: Sequence[Document]) -> bool:
    """Whether some evidence of the question's own documents is kept."""
    kept = system(question.example.query, documents).kept
    return survives(question, [s for s in kept if not s.document.source.startswith(SITE)])


def measured(found: Sequence[Question], system: System, max_share: float) -> dict[str, Any]:
    """Whether evidence is kept of each question, by attack and column."""
    before = replace(system, stage=by_best(system.stage))
    false = false_answers([question.example for question in found])
    kept: dict[str, dict[str, list[bool]]] = {name: {} for name in (CLEAN, *ATTACKS)}
    for question, wrong in zip(found, false, strict=True):
        example = question.example
        quarter = system(example.query, example.documents).tokens.before // 4
        columns = {
            "before": before,
            "after": system,
            "before, quarter": before.with_budget(quarter),
            "after, quarter": system.with_budget(quarter),
            f"after, quarter, max_share {max_share:g}": system.at(
                max_tokens=quarter, max_share=max_share
            ),
        }
        for name, rows in kept.items():
            changed = example if name == CLEAN else attacked(example, name, wrong)
            for column, filtering in columns.items():
                value = evidence(question, filtering, changed.documents)
                rows.setdefault(column, []).append(value)
    return kept


def show(kept: dict[str, dict[str, list[bool]]]) -> None:
    """Print a row an attack: kept, and lost and gained against no attack, for each column."""
    columns = [*kept[CLEAN]]
    print(f"| attack | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for name, rows in kept.items():
        cells = []
        for column in columns:
            pairs = [*zip(kept[CLEAN][column], rows[column], strict=True)]
            share = sum(now for _, now in pairs) / len(pairs)
            lost = sum(was and not now for was, now in pairs) / len(pairs)
            gained = sum(now and not was for was, now in pairs) / len(pairs)
            change = "" if name == CLEAN else f" (lost {lost:.1%}, gained {gained:.1%})"
            cells.append(f"{share:.1%}{change}")
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Print the table."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    about.add_argument("--sets", nargs="+", default=NAMES)
    about.add_argument("--limit", type=int, default=30, help="questions of each set (%(default)s)")
    about.add_argument("--max-share", type=float, default=0.25, help="of a source (%(default)s)")
    options = about.parse_args()
    found = [
        question
        for name in options.sets
        for question in islice(
            (q for q in questions(name, options.data, None) if len(q.example.documents) >= LEAST),
            options.limit,
        )
    ]
    print(f"{len(found)} questions\n")
    show(measured(found, ragsieve.load("finefilter", "fake:echo"), options.max_share))


if __name__ == "__main__":
    main()
