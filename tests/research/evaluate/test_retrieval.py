"""Recall of an index, here and in files of TREC."""

from itertools import pairwise

import numpy as np
import pytest

from ragsieve import Document, Example, InputError, Query
from ragsieve.models.fake import HashingEmbedder
from ragsieve.split.sentences import Sentences
from ragsieve_research.evaluate.retrieval import gold_passages, recall
from ragsieve_research.evaluate.trec import run_lines, write_recall
from ragsieve_research.retrieve.corpus import Corpus
from ragsieve_research.retrieve.pooled import Sources

GOLD = {"is_positive": True}
BEES = Document("b", "Bees make honey. Bees fly. Bees hum. Bees sting.")
GOATS = Document("g", "Goats give milk. Bees fear goats.")
WOOL = Document("w", "Sheep give wool.", "Sheep")


def labelled(document):
    return Document("other id", document.text, document.title, metadata=GOLD)


def values(measured):
    """Means by measure, of the only way."""
    (means,) = measured.means.values()
    return {name: mean.value for name, mean in means.items()}


@pytest.fixture
def corpus(tmp_path):
    """Three documents by their sentences, BM25 alone."""
    with Corpus(tmp_path, splitter=Sentences()) as corpus:
        corpus.add([BEES, GOATS, WOOL])
        yield corpus


def test_recall_is_over_documents_and_answers_over_chunks(corpus):
    """Goats are the second document behind four chunks of bees; milk stands in the second chunk."""
    example = Example(Query("bees bees"), (labelled(BEES), labelled(GOATS)))
    found = recall(corpus, [example], at=(1, 2), by=["bm25"])

    assert {"recall@1": 0.5, "recall@2": 1.0} == values(found)

    example = Example(Query("goats fear milk bees"), (), ("milk",))
    chunks = [s.text for s in corpus.search(example.query, by="bm25")]
    found = recall(corpus, [example], at=(1, 2), by=["bm25"])

    assert ["Bees fear goats.", "Goats give milk."] == chunks[:2]
    assert {"answer@1": 0.0, "answer@2": 1.0} == values(found)


def test_means_are_over_the_questions_that_have_what_is_measured(corpus):
    """Yes and no are no answers that a text could hold; what the index lacks does not count."""
    examples = [
        Example(Query("honey"), (labelled(BEES), labelled(Document("", "Wax."))), ("honey",)),
        Example(Query("Is wool good?"), (labelled(WOOL),), ("Yes.", "no")),
        Example(Query("honey"), (BEES,), ("gold",)),
    ]
    found = recall(corpus, examples, at=(1,), by=["bm25"])

    assert (3, 2, 2, 3, 1) == (
        *(found.questions, found.with_gold, found.with_answers),
        *(found.gold, found.absent),
    )
    assert {"recall@1": 1.0, "answer@1": 0.5} == values(found)
    assert "1 of 3 gold documents do not count: the index does not hold them" in found.counted()


def test_gold_is_what_is_labelled_else_what_the_metadata_name():
    """By title and text, since ids are a question's own."""
    named = {"gold_passages": [{"title": "Sheep", "text": "Sheep give wool."}, {"title": "T"}, 3]}
    query = Query("wool")

    assert {("Sheep", "Sheep give wool.")} == gold_passages(Example(query, (BEES,), (), named))
    assert {("", BEES.text)} == gold_passages(Example(query, (labelled(BEES),), (), named))
    assert set() == gold_passages(Example(query, (BEES,), (), {"gold_passages": "none"}))


def test_ways_of_searching_stand_beside_each_other(tmp_path):
    """Each with every measure; where all are right, the interval is exact: 0.025 ** (1 / 6)."""
    names = ["bees", "goats", "sheep", "cows", "hens", "pigs"]
    documents = [Document(name, f"{name.title()} live on the farm.") for name in names]
    examples = [
        Example(Query(f"Where do {name} live?"), (labelled(document),), (name,))
        for name, document in zip(names, documents, strict=True)
    ]
    with Corpus(tmp_path, HashingEmbedder()) as corpus:
        corpus.add(documents)
        found = recall(corpus, examples, at=(1,))

    assert ["bm25", "dense", "hybrid"] == list(found.means)
    assert pytest.approx(0.541, abs=0.001) == found.means["hybrid"]["recall@1"].low


@pytest.mark.data
def test_real_passages_are_found(data, records, tmp_path):
    """Of pooled HotpotQA passages BM25 finds most gold ones among 20, and some among 5."""
    with Corpus(tmp_path) as corpus:
        corpus.add(Sources(["hotpotqa"], data))
        found = recall(corpus, records["hotpotqa"][:20], by=["bm25"])

    assert (20, 0) == (found.with_gold, found.absent)
    assert 0.4 < values(found)["recall@5"] < values(found)["recall@20"] <= 1


RANKED = [("a", 1.0), ("b", 1.0), ("a", 2.0), ("c", 1.0 - 1e-12), ("d", -3.0)]


def test_scores_fall_from_rank_to_rank():
    """Equal ones and those that float32 does not tell apart, too; chunks count by the best."""
    rows = [line.decode().split() for line in run_lines("q", RANKED, "tag")]
    scores = [np.float32(row[4]) for row in rows]

    assert [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] == [(r[2], r[3]) for r in rows]
    assert all(one > other for one, other in pairwise(scores))

    with pytest.raises(InputError, match="no white space, got 'my page'"):
        list(run_lines("q", [("my page", 1.0)], "tag"))


def test_a_run_and_its_judgements_have_the_recall_of_an_index(tmp_path):
    """By its ids: documents once, chunks as far as they take; what it lacks is no judgement."""
    texts = {"b": "Bees fly. Bees hum. Bees sting.", "g": "Goats fear bees.", "w": "Sheep sing."}
    grades = [("Bees fly. Bees hum. Bees sting.", 2), ("Goats fear bees.", 1), ("Wax.", 1)]
    known = {"relevance": 0, "is_positive": False}
    own = [
        Document(f"own{n}", text, metadata={"relevance": grade, "is_positive": True})
        for n, (text, grade) in enumerate(grades)
    ]
    example = Example(Query("bees bees"), (*own, Document("x", texts["w"], metadata=known)))
    with Corpus(tmp_path / "i", splitter=Sentences()) as corpus:
        corpus.add([Document(name, text) for name, text in texts.items()])
        write_recall(tmp_path / "a.run", corpus, [(7, example)], "bm25", 2)
        (ours,) = recall(corpus, [example], at=[1, 2], by=["bm25"]).means.values()
        with pytest.raises(InputError, match="questions must differ, got '7' twice"):
            write_recall(tmp_path / "a.run", corpus, [(7, example)] * 2, "bm25", 2)
    ranked = [line.split()[:4] for line in (tmp_path / "a.run").read_text().splitlines()]
    qrels = (tmp_path / "a.run.qrels").read_text()

    assert [["7", "Q0", "b", "1"], ["7", "Q0", "g", "2"]] == ranked
    assert "7 0 b 2\n7 0 g 1\n7 0 w 0\n" == qrels
    assert [0.5, 1.0] == [mean.value for mean in ours.values()]
