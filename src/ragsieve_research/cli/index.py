"""`ragsieve index`: build, change, search and measure an index of documents."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import click

from ragsieve.cli.base import FILE, FOLDER, Json, info, printable, progress, table, warn
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.errors import InputError
from ragsieve.schema import Count
from ragsieve.text import counted
from ragsieve.trace import segment_to_dict
from ragsieve.types import Query
from ragsieve_research import datasets
from ragsieve_research.cli.base import Data, Questions, means
from ragsieve_research.retrieve import indexes
from ragsieve_research.retrieve.corpus import By, Change, Corpus
from ragsieve_research.retrieve.pooled import Sources

_Index = Annotated[Path, FOLDER]
_Sources = Annotated[tuple[str, ...], {"metavar": "SOURCE..."}]
_CHANGES: dict[str, dict[str, Any]] = {
    "embedder": {"help": "minilm, sentence_transformers:ID_OR_FOLDER; none for BM25 alone."},
    "chunks": {
        "default": None,
        "show_default": "semantic, or windows without an embedder",
        "help": "What is found: sentences that are about the same, windows of words, or documents.",
    },
}


@click.group("index", short_help="Index documents, and search them.")
def index_group() -> None:
    """Index documents once, then search them for every question.

    \b
      ragsieve index build my-index notes/ pages.html articles.jsonl.gz
      ragsieve index search my-index -q "Who sang Summer Breeze?"
      ragsieve index add my-index notes/new.md
      ragsieve index remove my-index notes/old.md
      ragsieve index recall my-index questions.jsonl
    """


@command(
    "build",
    of=index_group,
    short_help="Build an index.",
    params=options_of(indexes.IndexOptions, changes=_CHANGES),
)
def build_command(folder: _Index, sources: _Sources, *, data: Data = None, **options: Any) -> None:
    """Build an index in FOLDER of the documents of SOURCE….

    A source is a file, or a folder with all that lies in it (texts, tables, logs, settings, .html
    .pdf .docx .eml .mbox .ipynb .json .jsonl .jsonl.gz; no hidden files). JSONL holds a document a
    line, JSON an array of documents; or they hold questions with documents, which are pooled; a
    name of `ragsieve datasets` is such a source, too. The same command goes on where it was
    interrupted; what is in the index already is not embedded again.

    \b
      ragsieve index build my-index notes/
      ragsieve index build pool nq popqa --data ~/questions
      ragsieve index build words notes/ --embedder none
    """
    alone = options["embedder"] == indexes.NO_EMBEDDER
    options["chunks"] = options["chunks"] or ("windows" if alone else "semantic")
    index = from_options(indexes.IndexOptions, options)
    _add(Sources(sources, data, folder, warn), folder, lambda: indexes.create_index(folder, index))


@command("add", of=index_group, short_help="Add documents, or replace them.")
def add_command(folder: _Index, sources: _Sources, *, data: Data = None) -> None:
    """Add the documents of SOURCE… to the index in FOLDER.

    One takes the place of the document of its id, if there is one. Sources are those of `ragsieve
    index build`.

    \b
      ragsieve index add my-index notes/new.md
    """
    indexes.ready(folder)  # says early that there is none
    _add(Sources(sources, data, folder, warn), folder, lambda: indexes.open_index(folder))


def _add(sources: Sources, folder: Path, opened: Callable[[], Corpus]) -> None:
    """Add the documents of the sources; without any, the index stays untouched."""
    documents = iter(sources)
    first = next(documents, None)
    if first is None:
        raise InputError(f"{', '.join(sources.names)} must hold at least one document, got none")
    with opened() as corpus, progress() as bars:
        bar = bars.add_task("indexing", total=None)  # unknown before all are read

        def on_progress(done: int, chunks: int) -> None:
            bars.update(bar, completed=done, description=f"indexing, {chunks:,} chunks embedded")

        change = corpus.add(chain([first], documents), progress=on_progress)
        bars.update(bar, visible=False)
    if sources.repeated:
        info(f"pooled: {counted(sources.repeated, 'document')} of questions had come before", "dim")
    _print_change(folder, change)


def _print_change(folder: Path, change: Change) -> None:
    names = ("added", "changed", "unchanged", "removed")
    counts = ", ".join(f"{getattr(change, name):,} {name}" for name in names)
    click.echo(printable(f"{folder}: {counts}; {counted(change.chunks, 'chunk')} embedded"))


@command("remove", of=index_group, short_help="Remove documents.")
def remove_command(folder: _Index, ids: Annotated[tuple[str, ...], {"metavar": "ID..."}]) -> None:
    """Remove documents from the index in FOLDER, by their ids.

    \b
      ragsieve index remove my-index notes/old.md articles.jsonl:12
    """
    with indexes.open_words(folder) as corpus:
        known = set(corpus.ids())
        if unknown := [name for name in ids if name not in known]:
            raise InputError(f"every ID must be in index {folder}, got {unknown[0]!r}")
        change = corpus.remove(ids)
    _print_change(folder, change)


@command("search", of=index_group, short_help="Search an index.")
def search_command(
    folder: _Index,
    *,
    query: Annotated[str, {"flags": ["-q", "--query"], "metavar": "TEXT"}],
    k: Annotated[Count, {"flags": ["-k"]}] = 5,
    by: Annotated[By | None, {"show_default": "hybrid, or bm25 without an embedder"}] = None,
    run: Annotated[Path | None, FILE] = None,
    as_json: Json = False,
) -> None:
    """Search the index in FOLDER: rank, score, document, span and text of a chunk a line.

    \b
      ragsieve index search my-index -q "Who sang Summer Breeze?"
      ragsieve index search my-index -q "Who sang it?" -k 20 --by bm25 --json

    Args:
        query: The question.
        k: Chunks at most.
        by: How to search.
        run: Write the documents as a TREC run, too, of the question "1"; `ragsieve index recall`
            does so for many questions.
    """
    by = by or ("hybrid" if _embeds(folder) else "bm25")
    with _opened(folder, [by]) as corpus:
        results = corpus.search(Query(query), k=k, by=by)
        empty = not results and not corpus.ids()
    if run:
        from ragsieve_research.evaluate.trec import scored, write_run

        write_run(run, [("1", scored(results))], by)
    if as_json:
        hits = [
            {"rank": rank, **segment_to_dict(s), "title": s.document.title}
            for rank, s in enumerate(results, 1)
        ]
        click.echo(json.dumps({"query": query, "by": by, "hits": hits}, indent=2))
        return
    for rank, hit in enumerate(results, 1):
        name, text = (" ".join(part.split()) for part in (hit.document.id, hit.text))
        line = f"{rank:>{len(str(k))}}  {hit.score:.4f}  {name}  {hit.start}:{hit.end}  {text}"
        click.echo(printable(line))
    if not results:
        why = ": it is empty, and an interrupted build goes on by the same command" if empty else ""
        info(f"nothing found{why}")


def _embeds(folder: Path) -> bool:
    return indexes.index_options(folder).embedder != indexes.NO_EMBEDDER


def _opened(folder: Path, methods: Sequence[By]) -> Corpus:
    """The index, without its embedder where no way of searching needs one."""
    return indexes.open_words(folder) if {*methods} == {"bm25"} else indexes.open_index(folder)


@command("info", of=index_group, short_help="Show what an index holds.")
def info_command(folder: _Index, *, as_json: Json = False) -> None:
    """Show what the index in FOLDER holds, and how it was built."""
    options = indexes.index_options(folder).to_dict()
    with indexes.open_words(folder) as corpus:
        held = asdict(corpus.about())
    about = {name: held[name] for name in ("documents", "chunks", "bytes")}
    built = {"built with": options, "identity": held["embedder"], "splitter": held["splitter"]}
    if as_json:
        click.echo(json.dumps({**about, **built}, indent=2))
        return
    built["built with"] = ", ".join(f"{name}={value}" for name, value in options.items())
    rows = [(name, f"{value:,}") for name, value in about.items()]
    table(("name", "value"), rows + [(name, str(value)) for name, value in built.items()])


@command("recall", of=index_group, short_help="Measure retrieval on questions.")
def recall_command(
    folder: _Index,
    names: Questions,
    *,
    data: Data = None,
    at: tuple[Count, ...] = (5, 20),
    by: Annotated[tuple[By, ...], {"show_default": "all that the index can"}] = (),
    limit: Count | None = None,
    run: Annotated[Path | None, FILE] = None,
    as_json: Json = False,
) -> None:
    """Measure on questions how much of what they need is among the first that is found.

    DATA is a JSONL file of questions, or a name of `ragsieve datasets`. recall@K is the share of a
    question's gold documents among the first K documents; answer@K says whether a gold answer
    stands in the first K chunks. Gold documents that the index does not hold are left out, and
    counted.

    \b
      ragsieve index build pool nq popqa --data ~/questions
      ragsieve index recall pool nq popqa --data ~/questions --at 5 --at 20
      ragsieve index recall my-index questions.jsonl --by bm25 --at 100 --run bm25.run

    Args:
        at: K.
        by: How to search.
        limit: Only the first questions of each DATA.
        run: Write what is found, by the first way of searching, as a TREC run, and the gold
            documents as FILE.qrels.
    """
    from ragsieve_research.evaluate.retrieval import recall
    from ragsieve_research.evaluate.trec import write_recall

    methods = [*by] or (["bm25", "dense", "hybrid"] if _embeds(folder) else ["bm25"])
    sets = {name: datasets.load(name, folder=data).take(limit) for name in names}
    with _opened(folder, methods) as corpus:
        if run:
            asked = (one for dataset in sets.values() for one in dataset.examples())
            written = write_recall(run, corpus, asked, methods[0], max(at))
            info(f"{run}: {counted(written, 'line')}; judgements: {run}.qrels", "dim")
        recalls = {
            name: recall(corpus, _watched(name, dataset), at, methods)
            for name, dataset in sets.items()
        }
    if as_json:
        click.echo(json.dumps({name: one.to_dict() for name, one in recalls.items()}, indent=2))
        return
    for name, one in recalls.items():
        means(name, one.means, {by: {"ms a question": ms} for by, ms in one.median_ms.items()})
        info(f"{name}: {one.counted()}", "dim")


def _watched(name: str, examples: Any) -> Iterator[Any]:
    """The examples, with a bar over them."""
    with progress() as bars:
        yield from bars.track(examples, examples.count(), description=printable(name))
