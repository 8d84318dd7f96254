"""Questions to learn from, divided and labelled."""

import json
from pathlib import Path

import pytest

from ragsieve.models.fake import HashingEmbedder
from ragsieve.types import Document, Example, Query
from ragsieve_research.datasets import load
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.train.examples import TrainingExample, gather, write
from ragsieve_research.train.run import Run

EXAMPLE = Example(
    Query("Who sang?", id="own:q"), (Document("d", "Seals sang. It rained. Sea."),), ("Seals",)
)


@pytest.mark.parametrize("documents", [True, False])
def test_sources_come_in_turns_and_a_question_once(tmp_path: Path, documents: bool) -> None:
    """No answer, or no document where one is needed: nothing to learn."""
    document = {"id": "d", "text": "Seals sang."}
    wanted = [f"q{n}" for n in range(60) if part_of(f"q{n}") == "train"][:4]
    bare = wanted.pop()
    for name, questions in (("a", wanted[:2]), ("b", wanted)):
        rows = [{"question": q, "answers": ["x"], "documents": [document]} for q in questions]
        rows += [{"question": "q", "answers": [], "documents": [document]}]
        rows += [{"question": bare, "answers": ["x"]}]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sources = [load(str(tmp_path / f"{name}.jsonl")) for name in "ab"]
    found = [*gather(sources, "train", documents=documents)]
    named = [(e.query.id, e.query.text) for e in found if e.query.text != bare]

    assert [*zip(["a:", "a:", "b:"], wanted, strict=True)] == named
    assert documents == (bare not in [e.query.text for e in found])
    assert {int(documents)} == {len(e.documents) for e in found}
    assert [] == [*gather(sources, "test", documents=documents)]


def test_documents_without_an_order_are_ranked_as_in_benchmarks(tmp_path: Path) -> None:
    """By BM25, where the table says so, for what reads the first ones; of others as they are."""
    texts = ["It rained.", "Seals sang Summer Breeze."]
    documents = [{"id": f"{n}", "text": text} for n, text in enumerate(texts)]
    row = {"question": "Who sang Summer Breeze?", "answers": ["Seals"], "documents": documents}
    kept = {}
    for name in ("hotpotqa", "nq"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
        (example,) = gather([load(name, folder=tmp_path)], None)
        kept[name] = [document.text for document in example.documents]

    assert {"hotpotqa": texts[::-1], "nq": texts} == kept


def test_an_example_knows_its_clues_and_its_labels(tmp_path: Path) -> None:
    """Sentences 0, 1, 2; the first holds the answer; labels say that it suffices. A question
    without labels is left out where these are wanted."""
    run = Run([], tmp_path)
    write(run.path("train"), [EXAMPLE, EXAMPLE])
    spans = [["d", 0, 11], ["d", 12, 22], ["d", 23, 27]]
    row = {"line": 1, "sentences": spans, "clues": [0], "useful": [True], "ranking": [0, 2]}
    cut = {"scores": [0.9, 0.2], "right": [False, True, False], "k": 1}
    run.path("train", "labels").write_text(json.dumps({**row, **cut}))
    (plain, _), (labelled,) = run.examples("train"), run.examples("train", "labels")

    assert ((0,), {}, None, "own") == (plain.clues, plain.useful, plain.k, plain.data)
    assert ({0: True}, (0, 2), 1) == (labelled.useful, labelled.ranking, labelled.k)
    assert ((0.9, 0.2), (False, True, False)) == (labelled.scores, labelled.right)
    assert labelled.usable


def test_yes_and_no_have_no_clues() -> None:
    """The word may stand anywhere."""
    example = Example(EXAMPLE.query, (Document("d", "Yes. It rained."),), ("yes",))

    assert () == TrainingExample.of(example).clues


def test_near_sentences_are_clues_on_request() -> None:
    """The same words again are at distance 0; a question without a clue stays as it is."""
    text = "Seals sang. Crofts ran. Crofts ran."
    example = Example(EXAMPLE.query, (Document("d", text),), ("Seals",))
    alone, wide = (
        TrainingExample.of(example),
        TrainingExample.of(example).widened(HashingEmbedder(), 2.0),
    )
    other = TrainingExample.of(Example(EXAMPLE.query, example.documents, ("Bees",)))

    assert ((0,), (0, 1, 2)) == (alone.clues, wide.clues)
    assert other is other.widened(HashingEmbedder(), 2.0)
