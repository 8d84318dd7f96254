"""Runs and judgements as TREC files."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ragsieve.errors import InputError
from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Example, Query
from ragsieve_research.evaluate.retrieval import recall
from ragsieve_research.evaluate.trec import run_lines, write_recall
from ragsieve_research.retrieve.corpus import Corpus

RANKED = [("a", 1.0), ("b", 1.0), ("a", 2.0), ("c", 1.0 - 1e-12), ("d", -3.0)]


def test_scores_fall_from_rank_to_rank() -> None:
    """Equal ones and those that float32 does not tell apart, too; chunks count by the best."""
    rows = [line.decode().split() for line in run_lines("q", RANKED, "tag")]
    scores = [np.float32(row[4]) for row in rows]

    assert [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] == [(r[2], r[3]) for r in rows]
    assert all(one > other for one, other in pairwise(scores))

    with pytest.raises(InputError, match="no white space, got 'my page'"):
        list(run_lines("q", [("my page", 1.0)], "tag"))


def test_a_run_and_its_judgements_have_the_recall_of_an_index(tmp_path: Path) -> None:
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
