"""Records of other tools' layouts, with facts of our own."""

import json

import pytest

from ragsieve.errors import InputError
from ragsieve_research.datasets import load
from ragsieve_research.datasets.layouts import LAYOUTS

PASSAGES = [{"title": "W", "text": "W is tungsten."}], [{"title": "Pb", "text": "Pb is lead."}]
TEXTS = ["W is tungsten.", "Pb is lead."]
CTXS = {"positive_ctxs": PASSAGES[0], "negative_ctxs": PASSAGES[1], "hard_negative_ctxs": []}
PARAGRAPHS = [
    {"idx": n, "title": "", "paragraph_text": text, "is_supporting": n == 0}
    for n, text in enumerate(TEXTS)
]
ASKED, ANSWERS = "Which metal has the symbol W?", ["tungsten"]
FOUND = [{"id": str(n), "text": t, "contents": f'"T"\n{t}'} for n, t in enumerate(TEXTS)]
PAGES = [f"<html><body><p>{TEXTS[0]}</p></body></html>", TEXTS[1]]
CRAWLED = [{"page_name": "", "page_url": f"u{n}", "page_result": t} for n, t in enumerate(PAGES)]
CORPUS = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate([*TEXTS, "Other."])]
QUERIES = [{"_id": "q1", "text": ASKED}, {"_id": "q2", "text": "Not judged?"}]
POOL = [{"mapped_id": "q1", "doc_chunk": t, "support": int(n == 0)} for n, t in enumerate(TEXTS)]
KILT = {"input": ASKED, "output": [{"answer": "tungsten", "provenance": [{"title": "W"}]}]}
HOTPOT = {"context": [["W", TEXTS[:1]], ["Pb", TEXTS[1:]]], "supporting_facts": [["W", 0]]}
FLASH = {"question": ASKED, "golden_answers": ANSWERS, "output": {"retrieval_result": FOUND}}
PLACES = {  # files of each layout
    "ragsieve": {"a.jsonl": [{"question": ASKED, "answers": ANSWERS, "documents": TEXTS}]},
    "dpr": {"a.json": {"question": ASKED, "answers": ANSWERS, **CTXS}},
    "kilt": {"a.jsonl": [KILT]},
    "beir": {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES},
    "mteb": {"a.jsonl": [{"query": ASKED, "positive": TEXTS[:1], "negative": TEXTS[1:]}]},
    "mirage": {
        "dataset.json": {"query_id": "q1", "query": ASKED, "answer": ANSWERS},
        "doc_pool.json": POOL,
    },
    "flashrag": {"a.jsonl": [FLASH]},
    "musique": {"a.jsonl": [{"question": ASKED, "answer": "tungsten", "paragraphs": PARAGRAPHS}]},
    "hotpotqa": {
        "a.json": [
            {"_id": "q", "question": ASKED, "answer": "tungsten", "type": "bridge", **HOTPOT}
        ]
    },
    "crag": {"a.jsonl": [{"query": ASKED, "answer": "tungsten", "search_results": CRAWLED}]},
}


def written(folder, name):
    """The place of a layout's example."""
    for file, rows in PLACES[name].items():
        array = json.dumps(rows if isinstance(rows, list) else [rows], indent=1)
        lines = "\n".join(map(json.dumps, rows))
        (folder / file).write_text(array if file.endswith(".json") else lines)
    return folder if len(PLACES[name]) > 1 else folder / next(iter(PLACES[name]))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_by_its_name(tmp_path, name):
    """Question, answers, passages and which of them are gold, where the layout says so."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t1\nq1\td1\t0\n")
    (example,) = load(written(tmp_path, name), layout=name)
    gold = [d.metadata["is_positive"] for d in example.documents if "is_positive" in d.metadata]

    assert ASKED == example.query.text
    assert (TEXTS if name != "kilt" else []) == [d.text for d in example.documents]
    assert (tuple(ANSWERS) if name not in ("beir", "mteb") else ()) == example.answers
    assert gold in ([], [True, False])
    assert bool(gold) == (name in ("dpr", "beir", "mteb", "mirage", "musique", "hotpotqa"))
    assert ("gold_passages" in example.metadata) == (name == "kilt")


@pytest.mark.parametrize("key", ["context", "question"])
def test_a_layout_whose_key_is_missing_names_it(tmp_path, key):
    """Without a class of Python's."""
    (row,) = PLACES["hotpotqa"]["a.json"]
    (tmp_path / "a.json").write_text(json.dumps([{k: v for k, v in row.items() if k != key}]))

    with pytest.raises(InputError, match=f"behind record 0: no key '{key}'$"):
        [*load(tmp_path / "a.json", layout="hotpotqa")]


@pytest.mark.parametrize("text", ["q1\td0\t2\n", "q1 0 d0 2\n", "qid\tdid\trel\r\nq1\td0\t2\r\n"])
def test_judgements_have_three_columns_or_four(tmp_path, text):
    """With tabs or blanks, with and without a header; the grade stays."""
    place = written(tmp_path, "beir")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/dev.tsv").write_text(text)
    (example,) = load(place, layout="beir")

    assert [("d0", 2)] == [(d.id, d.metadata["relevance"]) for d in example.documents]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([], "layouts.jsonl, line 1: .*lists of texts under found,context; "),
        (["documents=ctxs"], "must have documents: --fields documents=found,context reads"),
        (["documents=found"], "must have answers: --fields answers=golden_answers reads"),
        (["answers=golden_answers"], "must have documents: --fields documents=found"),
        (["passages=found"], "fields must be FIELD=KEY,KEY with question,"),
    ],
)
def test_what_is_not_read_is_refused(tmp_path, fields, reason):
    """Passages and answers under other keys, by an error that names them and the option."""
    path = tmp_path / "layouts.jsonl"
    nested = {"found": FOUND, "context": [["W", [TEXTS[0] * 3]]]}
    path.write_text(json.dumps({"question": ASKED, "golden_answers": ANSWERS, **nested}))

    with pytest.raises(InputError, match=reason):
        list(load(path, fields=fields))


def test_labels_are_no_order(tmp_path):
    """Gold passages of a list of their own do not come first; BM25 says which do."""
    path = tmp_path / "a.jsonl"
    lists = {"positive": ["It is blue."], "negative": ["A red house."]}
    path.write_text(json.dumps({"query": "Is the house red?", **lists}))
    (example,) = load(path, layout="mteb")

    assert [False, True] == [d.metadata["is_positive"] for d in example.documents]
    assert (True, False) == (load(path, layout="mteb").ranked, load(path, layout="musique").ranked)


@pytest.mark.parametrize("indent", [None, 1])
def test_an_object_of_records_by_id_is_read(tmp_path, indent):
    """As a retriever's results are written for DPR's scripts, in a line or in many."""
    path = tmp_path / "results.json"
    own = {"question": ASKED, "answers": ANSWERS, "ctxs": [{"docid": "7", "text": TEXTS[0]}]}
    path.write_text(json.dumps({"0": own, "1": own}, indent=indent))
    examples = [*load(path, layout="dpr")]

    with pytest.raises(InputError, match="must have documents: --layout dpr or --fields documents"):
        list(load(path))

    assert ["0", "1"] == [example.query.id for example in examples]
    assert ["7", "7"] == [example.documents[0].id for example in examples]

    with pytest.raises(InputError, match="is a folder: layout beir or mirage reads one"):
        load(tmp_path, layout="dpr")


@pytest.mark.parametrize(("label", "read"), [(0, False), (1, True), (1.0, True), (False, False)])
def test_a_label_is_read_once(tmp_path, label, read):
    """As a boolean, whoever asks; what is none is an error."""
    path = tmp_path / "a.jsonl"
    document = {"text": "W is tungsten."}
    path.write_text(
        json.dumps({"question": "W?", "documents": [{**document, "is_positive": label}]})
    )
    (example,) = load(path)

    assert read is example.documents[0].metadata["is_positive"]

    path.write_text(json.dumps({"question": "W?", "documents": [], "target": ["tungsten"]}))
    with pytest.raises(InputError, match="--fields answers=target reads"):
        list(load(path))

    path.write_text(json.dumps({"question": "W?", "documents": [{**document, "is_positive": "1"}]}))
    with pytest.raises(InputError, match="is_positive must be 0, 1, true or false, got '1'"):
        list(load(path))
