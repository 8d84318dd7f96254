"""`ragsieve annotate`."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from ragsieve import models
from ragsieve.answer import Reader
from ragsieve.cli import base
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.documents import as_documents
from ragsieve.models.sharing import Share, sharing
from ragsieve.run.batch import Batch
from ragsieve.run.questions import lines, parse_record
from ragsieve.schema import Amount, Count, Distance
from ragsieve.score.embedding import Cosine
from ragsieve.score.pruner import Pruner
from ragsieve_research.train.targets import Annotator, LabelCounts


@dataclass(frozen=True, kw_only=True)
class Labelling:
    """What labels are made by.

    Args:
        llm: The generator; see `ragsieve ask --help`.
        embedder: Ranks clues; see `ragsieve ask --help`.
        pruner: Rank all sentences by it, not the clues alone, by cosine.
        epsilon: Sentences at most this cosine distance from one with an answer are clues, too.
        max_clues: Of a question at most.
    """

    llm: str = "smollm2"
    embedder: str = "minilm"
    pruner: str | None = None
    epsilon: Distance = 0.0
    max_clues: Count = 20

    def __post_init__(self) -> None:
        models.check(self.llm, "LLM")
        models.check(self.embedder, "embedder")
        if self.pruner is not None:
            models.check(self.pruner, "sentence pruner")

    @property
    def label(self) -> str:
        """What labels depend on."""
        known = {k: v for k, v in asdict(self).items() if v is not None}
        return " ".join(["annotate", *(f"{k}={v}" for k, v in known.items())])

    def annotator(self, share: Share) -> Annotator:
        """Labels a question."""
        near: Any = share(models.defer(self.embedder)) if self.epsilon or not self.pruner else None
        ranker = Pruner(share(models.defer(self.pruner))) if self.pruner else Cosine(near)
        reader = Reader(share(models.defer(self.llm)))
        every = bool(self.pruner)
        return Annotator(reader, ranker, near, self.epsilon, self.max_clues, every=every)


@command("annotate", short_help="Label questions for training.", params=options_of(Labelling))
def annotate_command(
    source: Annotated[Path, base.EXISTING_FILE],
    output: Annotated[Path, base.FILE],
    *,
    limit: Count | None = None,
    workers: base.Workers = base.WORKERS,
    cache: base.Cache = None,
    show: Amount = 0,
    **options: Any,
) -> int:
    """Label questions with what FineFilter's parts learn, by the generator's own word.

    Which sentences hold a gold answer (clues), from which of them alone the generator answers, and
    how many of the ranked clues it needs (K). A line of OUTPUT a question; goes on if interrupted.

    \b
      ragsieve annotate questions.jsonl labels.jsonl --show 5
      ragsieve annotate questions.jsonl labels.jsonl --llm openai:NAME --epsilon 0.1

    Args:
        limit: Only the first questions.
        show: Print so many labelled questions.
    """
    labelling = from_options(Labelling, options)
    summary, failed = LabelCounts(), 0
    batch = Batch(source, output, label=labelling.label)
    with batch, sharing(workers, cache=cache) as share:
        done = batch.run(labelling.annotator(share), workers=workers, limit=limit)
        for one in base.watched(done, batch.total(limit), str(source)):
            failed += bool(one.error)
            if not one.error:
                summary.add(one.record)
    base.info(f"{output}: {summary}")
    _show(source, output, show)
    return 1 if failed else 0


def _show(source: Path, output: Path, count: int) -> None:
    """Print the first labelled questions, each clue with its labels."""
    records = [json.loads(line) for _, line in zip(range(count), output.open("rb"), strict=False)]
    examples = {n: parse_record(line) for n, line in lines(source)} if records else {}
    for record in records:
        example = examples[record["line"]]
        texts = {d.id: d.text for d in as_documents(example.documents)}
        rows = [_row(place, record, texts) for place in record["ranking"]]
        click.echo(base.printable(f"\n{example.query.text}  [{'; '.join(example.answers[:4])}]"))
        base.table(("rank", "useful", "kept", "clue"), rows)


def _row(place: int, record: dict[str, Any], texts: dict[str, str]) -> tuple[str, ...]:
    rank = record["ranking"].index(place) + 1
    useful = dict(zip(record["clues"], record["useful"], strict=True)).get(place, False)
    name, start, end = record["sentences"][place]
    kept = "yes" if rank <= record["k"] else "no"
    return str(rank), "yes" if useful else "no", kept, " ".join(texts[name][start:end].split())
