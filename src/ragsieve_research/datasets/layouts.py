"""Questions as other tools lay them out: one row of a table a layout, and one's own by fields."""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragsieve.documents import TEXT_KEYS
from ragsieve.errors import InputError, naming
from ragsieve.read.web import page_text
from ragsieve.run.questions import lines, load_json, text_lists
from ragsieve.schema import Schema
from ragsieve.score import BM25
from ragsieve.system import best_first
from ragsieve.types import Document, Query, Segment

logger = logging.getLogger(__name__)

_ANSWERS = re.compile(
    r"(?:^|[^a-z])(?:answer|target|reference|(?:ground_?)?truth)s?$", re.IGNORECASE
)
Row = Mapping[str, Any]
Records = Iterator[tuple[int, Row]]


def records(path: Path) -> Records:
    """Numbered objects of JSONL (packed, Parquet), of a JSON array, or of an object by ids."""
    numbered = lines(path, array=True)
    number, first = next(numbered, (1, b"[]"))
    try:
        value = load_json(first)
    except InputError:  # one value in many lines
        value = _loaded(path, number, first + b"".join(line for _, line in numbered))
    if isinstance(value, dict) and value and all(isinstance(v, dict) for v in value.values()):
        value = [{"id": name, **one} for name, one in value.items()]
    yield from enumerate(value, 1) if isinstance(value, list) else [(number, value)]
    yield from ((number, _loaded(path, number, line)) for number, line in numbered)


def _loaded(path: Path, number: int, text: bytes) -> Any:
    with naming(f"{path}, from line {number}"):
        return load_json(text)


def rows_of(value: Any, *keys: str) -> list[Row]:
    """Records that may be lists side by side, or lists of their values under some keys."""
    if isinstance(value, Mapping):
        keys, value = tuple(value), zip(*value.values(), strict=True)
    return [r if isinstance(r, Mapping) else dict(zip(keys, r, strict=True)) for r in value]


def hotpotqa(row: Row) -> dict[str, Any]:
    """HotpotQA and 2WikiMultihopQA, of the hub or as published: gold sentences by title and place.

    A sentence number past the paragraph's end, which HotpotQA has a few of, marks the paragraph and
    no sentence. Test splits have neither answers nor facts: no paragraph of theirs has a label.
    """
    facts: dict[str, set[int]] = {}
    for fact in rows_of(row.get("supporting_facts") or [], "title", "sent_id"):
        facts.setdefault(fact["title"], set()).add(fact["sent_id"])
    documents: list[dict[str, Any]] = []
    for paragraph in rows_of(row["context"], "title", "sentences"):
        title, sentences = paragraph["title"], [s.strip() for s in paragraph["sentences"]]
        gold = [s for i, s in enumerate(sentences) if i in facts.get(title, ()) and s]
        document = {"id": str(len(documents)), "title": title, "text": " ".join(sentences)}
        marked: dict[str, Any] = {"is_positive": title in facts} if facts else {}
        marked |= {"supporting_sentences": gold} if gold else {}
        documents.append({**document, "sentences": sentences, **marked})
    if not (answers := [row["answer"]] if row.get("answer") else []):
        check_answers(row)
    named = {"id": row.get("id", row.get("_id")), "question": row["question"]}
    metadata = {key: row.get(key) for key in ("type", "level")} | {"supporting_titles": [*facts]}
    return {**named, "answers": answers, "documents": documents, "metadata": metadata}


def _hotpotqa(path: Path) -> Records:
    return ((number, hotpotqa(row)) for number, row in records(path))


def _crag(path: Path) -> Records:
    """Questions with the text of their pages; of one that cannot be read, its HTML."""
    for number, row in records(path):
        pages = map(_read_page, found(row, ["search_results"]))
        yield number, {**row, "search_results": [*pages]}


def _read_page(page: Mapping[str, Any]) -> Mapping[str, Any]:
    html = page["page_result"]
    try:
        return {**page, "page_result": page_text(html)[1] if "</" in html else html}
    except InputError as error:
        logger.warning("%s", error)
        return page


def _beir(path: Path) -> Records:
    """Judged queries of a folder with corpus, queries and qrels; or of one file of its qrels."""
    folder = path.parent.parent if path.is_file() else path
    judged: dict[str, dict[str, int]] = {}
    for name, document, relevance in qrels(path if path.is_file() else _split(folder)):
        judged.setdefault(name, {})[document] = relevance
    wanted = {name for own in judged.values() for name in own}
    corpus = ((str(document["_id"]), document) for _, document in records(_file(folder, "corpus")))
    held = {name: document for name, document in corpus if name in wanted}
    for number, query in records(_file(folder, "queries")):
        if own := judged.get(str(query["_id"])):
            found = [{**held[name], "relevance": own[name]} for name in own if name in held]
            rows = [{**one, "is_positive": one["relevance"] > 0} for one in found]
            yield number, {**query, "documents": rows}


def _split(folder: Path) -> Path:
    files = sorted((folder / "qrels").glob("*.tsv"))
    test = [file for file in files if file.stem == "test"] or files
    if len(test) != 1:
        raise InputError(f"{folder} must have qrels/test.tsv, or name one of {[*map(str, files)]}")
    return test[0]


def qrels(path: Path) -> Iterator[tuple[str, str, int]]:
    """Query, document and relevance of a line: three columns, or TREC's four; with or without head.

    Raises:
        InputError: If a line has other columns.
    """
    for number, line in lines(path):
        text = line.decode("utf-8-sig").strip("\r\n")
        cells = text.split("\t") if "\t" in text else text.split()
        if len(cells) not in (3, 4) or not (relevance := re.fullmatch(r"-?\d+", cells[-1].strip())):
            if number == 1 and len(cells) in (3, 4):
                continue
            raise InputError(
                f"{path}, line {number}: a query, document and number, got {text!r:.80}"
            )
        yield cells[0], cells[-2], int(relevance[0])


def _mirage(path: Path) -> Records:
    """Questions of ``dataset.json`` with their chunks of ``doc_pool.json``."""
    pool: dict[str, list[Row]] = {}
    for _, chunk in records(_file(path, "doc_pool")):
        pool.setdefault(chunk["mapped_id"], []).append(chunk)
    for number, row in records(_file(path, "dataset")):
        yield number, {**row, "documents": pool.get(row["query_id"], [])}


def _file(folder: Path, stem: str) -> Path:
    for end in (".jsonl", ".jsonl.gz", ".json"):
        if (file := folder / f"{stem}{end}").is_file():
            return file
    raise InputError(f"{folder} must have a file {stem}.jsonl or {stem}.json")


class Layout(Schema, frozen=True, kw_only=True):
    """Where a record has what: keys, with "." between those of objects within; lists are flattened.

    Args:
        question: Of a question, or of several that ask for the same; the first is taken.
        id: Of its id.
        answers: Of its gold answers.
        documents: Of its passages, strings or objects.
        positive: Of passages that are gold.
        negative: Of passages that are not.
        text: Of a passage, its text.
        title: Of a passage, its title.
        passage_id: Of a passage, its id.
        is_positive: Of a passage, whether it is gold.
        gold: Of titles and ids of gold passages that are not there themselves.
        answerable: Of whether the passages answer; where not, gold answers are left out.
        ranked: Whether the place of a passage is its rank. Those of ``positive`` and ``negative``
            are ranked by BM25.
        files: What reads a place.
    """

    question: tuple[str, ...] = ("question", "query")
    id: tuple[str, ...] = ("id", "_id")
    answers: tuple[str, ...] = ("answers",)
    documents: tuple[str, ...] = ("documents",)
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    text: tuple[str, ...] = TEXT_KEYS
    title: tuple[str, ...] = ("title",)
    passage_id: tuple[str, ...] = ("id", "_id")
    is_positive: tuple[str, ...] = ("is_positive",)
    gold: tuple[str, ...] = ()
    answerable: tuple[str, ...] = ()
    ranked: bool = True
    files: Callable[[Path], Records] = records

    def record(self, row: Row) -> dict[str, Any]:
        """A row as a record of ours; what is plain beside it is metadata.

        Raises:
            InputError: If it has no question, or no passages but lists of texts under other keys.
        """
        if not isinstance(row, Mapping) or not (question := found(row, self.question)):
            raise InputError(f"a record must have {' or '.join(self.question)}, {_got(row)}")
        labels = ((self.documents, None), (self.positive, True), (self.negative, False))
        documents = [self._document(p, gold) for keys, gold in labels for p in found(row, keys)]
        if found(row, (*self.positive, *self.negative)):
            documents = _by_bm25(question[0], documents)
        keys = (*self.question, *self.id, *self.answers, *self.gold, "metadata")
        keys += (*self.documents, *self.positive, *self.negative)
        used = {key.split(".")[0] for key in keys}
        if not documents and (names := ",".join(text_lists(row, used))):
            known = "".join(
                f"--layout {name} or " for name, one in LAYOUTS.items() if one.knows(row)
            )
            raise InputError(
                f"a record must have documents: {known}--fields documents={names} reads those"
            )
        answers = [a for a in found(row, self.answers) if a is not None]
        if not answers:
            check_answers(row)
        if False in found(row, self.answerable):
            answers = []
        rest = {k: v for k, v in row.items() if k not in used and not isinstance(v, list | dict)}
        rest |= {"gold_passages": found(row, self.gold)} if self.gold else {}
        own = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
        return {
            "id": next(iter(found(row, self.id)), ""),
            "question": question[0],
            "answers": [
                *dict.fromkeys(a if isinstance(a, str) else json.dumps(a) for a in answers)
            ],
            "documents": documents,
            "metadata": {**own, **rest},
        }

    def knows(self, row: Row) -> bool:
        """Whether a row has passages under keys of the layout."""
        return bool(found(row, (*self.documents, *self.positive, *self.negative)))

    def _document(self, passage: Any, gold: bool | None) -> Any:
        if not isinstance(passage, Mapping):
            return {"text": passage} if gold is None else {"text": passage, "is_positive": gold}
        known = {"text": self.text, "title": self.title, "id": self.passage_id}
        named = {k: v[0] for k, keys in known.items() if (v := found(passage, keys))}
        label = found(passage, self.is_positive)[:1] if gold is None else [gold]
        own = {key for keys in (*known.values(), self.is_positive) for key in keys}
        rest = {k: v for k, v in passage.items() if k not in own}
        if "text" not in named:
            raise InputError(f"a passage must have {' or '.join(self.text)}, {_got(passage)}")
        return {**rest, **named, **({"is_positive": label[0]} if label else {})}


def _by_bm25(question: str, documents: list[Any]) -> list[Any]:
    """Passages of two lists in one order, which tells nothing of their labels."""
    whole = [Segment.whole(Document(str(n), one["text"])) for n, one in enumerate(documents)]
    return [documents[int(s.document.id)] for s in best_first(BM25()(Query(question), whole))]


def check_answers(row: Row) -> None:
    """Whether a record without gold answers has some under a key that is called like them.

    Raises:
        InputError: If it has.
    """
    named = (k for k, v in row.items() if v and isinstance(v, str | list) and _ANSWERS.search(k))
    if names := ",".join(named):
        raise InputError(f"a record must have answers: --fields answers={names} reads those")


def _got(row: Any) -> str:
    return f"got the keys {sorted(row)!r:.200}" if isinstance(row, Mapping) else f"got {row!r:.80}"


def found(row: Any, keys: Sequence[str]) -> list[Any]:
    """The values under some keys, those of lists one by one, and of lists side by side, too."""
    return [value for key in keys for value in _under(row, key.split("."))]


def _under(value: Any, path: Sequence[str]) -> Iterator[Any]:
    plain = isinstance(value, Mapping) and not path and value
    if plain and all(isinstance(one, list) for one in value.values()):
        value = rows_of(value)
    if isinstance(value, list):
        for one in value:
            yield from _under(one, path)
    elif not path:
        yield value
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _under(value[path[0]], path[1:])


LAYOUTS = {
    "ragsieve": Layout(),
    "dpr": Layout(
        documents=("ctxs", "contexts"),
        positive=("positive_ctxs",),
        negative=("negative_ctxs", "hard_negative_ctxs"),
        passage_id=("passage_id", "psg_id", "id", "docid"),
    ),
    "kilt": Layout(
        question=("input",), answers=("output.answer",), documents=(), gold=("output.provenance",)
    ),
    "beir": Layout(question=("text",), files=_beir, ranked=False),
    "mteb": Layout(documents=(), positive=("positive",), negative=("negative",)),
    "mirage": Layout(
        id=("query_id",),
        answers=("answer",),
        text=("doc_chunk",),
        title=("doc_name",),
        is_positive=("support",),
        files=_mirage,
        ranked=False,
    ),
    "flashrag": Layout(
        answers=("golden_answers",),
        documents=("output.retrieval_result",),
        text=("text", "contents"),
    ),
    "hotpotqa": Layout(files=_hotpotqa, ranked=False),
    "musique": Layout(
        answers=("answer", "answer_aliases"),
        documents=("paragraphs",),
        text=("paragraph_text",),
        passage_id=("idx",),
        is_positive=("is_supporting",),
        answerable=("answerable",),
        ranked=False,
    ),
    "crag": Layout(
        id=("interaction_id",),
        answers=("answer", "alt_ans"),
        documents=("search_results",),
        text=("page_result",),
        title=("page_name",),
        passage_id=("page_url",),
        files=_crag,
    ),
}
"""Layouts by name; each has an example in `tests/research/datasets/test_layouts.py`."""


def layout_of(name: str, fields: Sequence[str]) -> Layout | None:
    """A layout by its name, with other keys by ``FIELD=KEY,KEY``; none where neither is given.

    Raises:
        InputError: If there is no such layout or field.
    """
    if not name and not fields:
        return None
    if name and name not in LAYOUTS:
        raise InputError(f"layout must be one of {', '.join(LAYOUTS)}, got {name!r}")
    layout = LAYOUTS[name] if name else Layout()
    named = (part.partition("=") for part in fields)
    keys = {field: tuple(filter(None, keys.split(","))) for field, _, keys in named}
    known = [one for one in Layout.__struct_fields__ if one not in ("files", "ranked")]
    if wrong := [part for part in fields if part.partition("=")[0] not in known or "=" not in part]:
        raise InputError(f"fields must be FIELD=KEY,KEY with {', '.join(known)}, got {wrong[0]!r}")
    return replace(layout, **keys)
