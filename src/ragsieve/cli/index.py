"""`ragsieve index`: build, change, search and measure an index of documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ragsieve.cli.base import DATA, INFO, progress, shown, table
from ragsieve.errors import InputError
from ragsieve.types import Document, Query

if TYPE_CHECKING:
    from ragsieve.retrieve.corpus import By, Change, Corpus
    from ragsieve.retrieve.files import Sources

GROUP_HELP = """Index documents once, then search them for every question.

\b
  ragsieve index build my-index notes/ pages.html articles.jsonl.gz
  ragsieve index search my-index -q "Who sang Summer Breeze?"
  ragsieve index add my-index notes/new.md
  ragsieve index remove my-index notes/old.md
  ragsieve index recall my-index questions.jsonl
"""
BUILD_HELP = """Build an index in FOLDER of the documents of SOURCE….

A source is a file, or a folder with all that lies in it (.txt .md .html .htm .jsonl .jsonl.gz; no
hidden files). JSONL holds a document a line, or questions with documents, whose documents are
pooled; a name of `ragsieve datasets` is such a source, too. The same command goes on where it was
interrupted; what is in the index already is not embedded again.

\b
  ragsieve index build my-index notes/
  ragsieve index build pool nq popqa --data ~/questions
  ragsieve index build words notes/ --embedder none
  ragsieve index build shared notes/ --chroma http://127.0.0.1:8000
"""
ADD_HELP = """Add the documents of SOURCE… to the index in FOLDER.

One takes the place of the document of its id, if there is one. Sources are those of `ragsieve
index build`.

\b
  ragsieve index add my-index notes/new.md
"""
REMOVE_HELP = """Remove documents from the index in FOLDER, by their ids.

\b
  ragsieve index remove my-index notes/old.md articles.jsonl:12
"""
SEARCH_HELP = """Search the index in FOLDER: rank, score, document, span and text of a chunk a line.

\b
  ragsieve index search my-index -q "Who sang Summer Breeze?"
  ragsieve index search my-index -q "Who sang it?" -k 20 --by bm25 --json
"""
RECALL_HELP = """Measure on questions how much of what they need is among the first that is found.

DATA is a JSONL file of questions, or a name of `ragsieve datasets`. recall@K is the share of a
question's gold documents among the first K documents; answer@K says whether a gold answer stands
in the first K chunks. Gold documents that the index does not hold are left out, and counted.

\b
  ragsieve index build pool nq popqa --data ~/questions
  ragsieve index recall pool nq popqa --data ~/questions --at 5 --at 20
"""
WAYS = click.Choice(["hybrid", "dense", "bm25"])
FOLDER = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
SOURCES = click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group("index", help=GROUP_HELP, short_help="Index documents, and search them.")
def index_group() -> None:
    """The commands on an index."""


@index_group.command("build", help=BUILD_HELP, short_help="Build an index.")
@FOLDER
@SOURCES
@DATA
@click.option(
    "--embedder",
    default="minilm",
    help="minilm, sentence_transformers:ID_OR_FOLDER; none for BM25 alone.",
)
@click.option(
    "--chunks",
    type=click.Choice(["semantic", "windows", "whole"]),
    show_default="semantic, or windows without an embedder",
    help="What is found: sentences that are about the same, windows of words, or documents.",
)
@click.option("--min-similarity", default=0.7, help="Of semantic chunks: joins neighbours.")
@click.option("--max-chars", default=500, help="Of semantic chunks: characters at most.")
@click.option("--max-tokens", default=200, help="Of windows: words and marks at most.")
@click.option("--chroma", default="", metavar="URL", help="A Chroma server that holds the vectors.")
def build_command(
    folder: Path,
    sources: Sequence[str],
    data: Path | None,
    embedder: str,
    chunks: Any,
    chroma: str,
    **chunking: Any,
) -> int:
    from ragsieve.retrieve.files import Sources
    from ragsieve.systems.indexes import NO_EMBEDDER, IndexOptions, create_index

    chunks = chunks or ("windows" if embedder == NO_EMBEDDER else "semantic")
    options = IndexOptions(embedder=embedder, chunks=chunks, url=chroma.rstrip("/"), **chunking)
    found = Sources(sources, data, without=folder)
    return _add(found, folder, lambda: create_index(folder, options))


@index_group.command("add", help=ADD_HELP, short_help="Add documents, or replace them.")
@FOLDER
@SOURCES
@DATA
def add_command(folder: Path, sources: Sequence[str], data: Path | None) -> int:
    from ragsieve.retrieve.files import Sources
    from ragsieve.systems.indexes import index_options, open_index

    index_options(folder)  # says early that there is none
    return _add(Sources(sources, data, without=folder), folder, lambda: open_index(folder))


def _add(sources: Sources, folder: Path, opened: Callable[[], Corpus]) -> int:
    """Add what the sources hold; the index is only touched if that begins well."""
    documents = iter(sources)
    first = next(documents, None)
    if first is None:
        _left_out(sources)
        raise InputError(f"{', '.join(sources.names)} must hold at least one document, got none")
    with opened() as corpus:
        change = _added(corpus, chain([first], documents))
    _left_out(sources)
    click.echo(shown(f"{folder}: {_said(change)}"))
    return 0


def _added(corpus: Corpus, documents: Iterable[Document]) -> Change:
    """The same with a bar; how many documents there will be is not known before they are read."""
    counts = TextColumn("{task.completed:,} documents, {task.fields[chunks]:,} chunks embedded")
    columns = (TextColumn("indexing"), BarColumn(), counts, TimeElapsedColumn())
    with Progress(*columns, console=INFO) as bars:
        bar = bars.add_task("", total=None, chunks=0)

        def told(done: int, chunks: int) -> None:
            bars.update(bar, completed=done, chunks=chunks)

        change = corpus.add(documents, progress=told)
        bars.update(bar, total=1, completed=1, visible=False)
    return change


def _said(change: Change) -> str:
    names = ("added", "changed", "unchanged", "removed")
    counts = ", ".join(f"{getattr(change, name):,} {name}" for name in names)
    return f"{counts}; {change.chunks:,} chunks embedded"


def _left_out(sources: Sources) -> None:
    if sources.others:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sources.others.most_common())
        INFO.print(Text(shown(f"left out files of other kinds: {kinds}"), style="yellow"))
    if sources.repeated:
        line = f"pooled: {sources.repeated:,} documents of questions had come before"
        INFO.print(Text(line, style="dim"))


@index_group.command("remove", help=REMOVE_HELP, short_help="Remove documents.")
@FOLDER
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def remove_command(folder: Path, ids: Sequence[str]) -> int:
    from ragsieve.systems.indexes import open_words

    with open_words(folder) as corpus:
        known = set(corpus.ids())
        if unknown := [name for name in ids if name not in known]:
            raise InputError(f"every ID must be in index {folder}, got {unknown[0]!r}")
        change = corpus.remove(ids)
    click.echo(shown(f"{folder}: {_said(change)}"))
    return 0


@index_group.command("search", help=SEARCH_HELP, short_help="Search an index.")
@FOLDER
@click.option("-q", "--query", required=True, metavar="TEXT", help="The question.")
@click.option("-k", type=click.IntRange(1), default=5, help="Chunks at most.")
@click.option(
    "--by", type=WAYS, show_default="hybrid, or bm25 without an embedder", help="How to search."
)
@JSON
def search_command(folder: Path, query: str, k: int, by: By | None, as_json: bool) -> int:
    from ragsieve.systems.indexes import NO_EMBEDDER, index_options, open_index, open_words
    from ragsieve.trace import segment_to_dict

    asked = Query(query)
    by = by or ("bm25" if index_options(folder).embedder == NO_EMBEDDER else "hybrid")
    with open_words(folder) if by == "bm25" else open_index(folder) as corpus:
        found = corpus.search(asked, k=k, by=by)
        empty = not found and not corpus.ids()
    if as_json:
        hits = [
            {"rank": rank, **segment_to_dict(s), "title": s.document.title}
            for rank, s in enumerate(found, 1)
        ]
        click.echo(json.dumps({"query": query, "by": by, "hits": hits}, indent=2))
        return 0
    for rank, hit in enumerate(found, 1):
        name, text = (" ".join(part.split()) for part in (hit.document.id, hit.text))
        line = f"{rank:>{len(str(k))}}  {hit.score:.4f}  {name}  {hit.start}:{hit.end}  {text}"
        click.echo(shown(line))
    if not found:
        why = ": it is empty, and an interrupted build goes on by the same command" if empty else ""
        INFO.print(f"nothing found{why}")
    return 0


@index_group.command("info", short_help="Show what an index holds.")
@FOLDER
@JSON
def info_command(folder: Path, as_json: bool) -> int:
    """Show what the index in FOLDER holds, and how it was built."""
    from ragsieve.systems.indexes import index_options, open_words

    options = index_options(folder).to_dict()
    with open_words(folder) as corpus:
        held = asdict(corpus.about())
    about = {name: held[name] for name in ("documents", "chunks", "bytes")}
    built = {"built with": options, "identity": held["embedder"], "splitter": held["splitter"]}
    if as_json:
        click.echo(json.dumps({**about, **built}, indent=2))
        return 0
    built["built with"] = ", ".join(f"{name}={value}" for name, value in options.items())
    rows = [(name, f"{value:,}") for name, value in about.items()]
    table(("name", "value"), rows + [(name, shown(str(value))) for name, value in built.items()])
    return 0


@index_group.command("recall", help=RECALL_HELP, short_help="Measure retrieval on questions.")
@FOLDER
@click.argument("names", nargs=-1, required=True, metavar="DATA...")
@DATA
@click.option("--at", type=click.IntRange(1), multiple=True, default=(5, 20), help="K.")
@click.option(
    "--by", type=WAYS, multiple=True, show_default="all that the index can", help="How to search."
)
@click.option("--limit", type=click.IntRange(1), help="Only the first questions of each DATA.")
@JSON
def recall_command(
    folder: Path,
    names: Sequence[str],
    data: Path | None,
    at: Sequence[int],
    by: Sequence[By],
    limit: int | None,
    as_json: bool,
) -> int:
    from ragsieve import datasets
    from ragsieve.evaluate.retrieval import gain_rows, recall, way_rows
    from ragsieve.systems.indexes import NO_EMBEDDER, index_options, open_index, open_words

    alone = index_options(folder).embedder == NO_EMBEDDER
    ways = [*by] or (["bm25"] if alone else ["bm25", "dense", "hybrid"])
    found = {name: datasets.load(name, folder=data).take(limit) for name in names}
    with open_words(folder) if {*ways} == {"bm25"} else open_index(folder) as corpus:
        measured = {
            name: recall(corpus, _watched(name, dataset), at, ways)
            for name, dataset in found.items()
        }
    if as_json:
        click.echo(json.dumps({name: m.to_dict() for name, m in measured.items()}, indent=2))
        return 0
    for name, one in measured.items():
        headings, rows = way_rows(one)
        table((shown(name), *headings[1:]), rows)
        if gains := gain_rows(one):
            table(("hybrid gains", "over", "difference", "p", "so it is"), gains)
        INFO.print(Text(shown(f"{name}: {one.counted()}"), style="dim"))
    return 0


def _watched(name: str, examples: Any) -> Iterator[Any]:
    """The examples, with a bar over them."""
    with progress() as bars:
        bar = bars.add_task(shown(name), total=examples.count())
        for example in examples:
            yield example
            bars.advance(bar)
