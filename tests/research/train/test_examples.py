"""Questions to learn from: examples, and evidence that is marked or found."""

import json
from collections import Counter

import pytest

from ragsieve import Document, Example, InputError, Query
from ragsieve.models.fake import HashingEmbedder
from ragsieve_research import datasets
from ragsieve_research.datasets import load
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.train.evidence import records, share_of
from ragsieve_research.train.examples import TrainingExample, gather, write
from ragsieve_research.train.run import Run
from tests.named import write_rows

EXAMPLE = Example(
    Query("Who sang?", id="own:q"), (Document("d", "Seals sang. It rained. Sea."),), ("Seals",)
)


@pytest.mark.parametrize("documents", [True, False])
def test_sources_come_in_turns_and_a_question_once(tmp_path, documents):
    """No answer, or no document where one is needed: nothing to learn."""
    document = {"id": "d", "text": "Seals sang."}
    wanted = [f"q{n}" for n in range(60) if part_of(f"q{n}") == "train"][:4]
    bare = wanted.pop()
    for name, questions in (("a", wanted[:2]), ("b", wanted)):
        rows = [{"question": q, "answers": ["x"], "documents": [document]} for q in questions]
        rows += [{"question": "q", "answers": [], "documents": [document]}]
        rows += [{"question": bare, "answers": ["x"]}]
        write_rows(tmp_path / f"{name}.jsonl", rows)
    sources = [load(str(tmp_path / f"{name}.jsonl")) for name in "ab"]
    found = [*gather(sources, "train", documents=documents)]
    named = [(e.query.id, e.query.text) for e in found if e.query.text != bare]

    assert [*zip(["a:", "a:", "b:"], wanted, strict=True)] == named
    assert documents == (bare not in [e.query.text for e in found])
    assert {int(documents)} == {len(e.documents) for e in found}
    assert [] == [*gather(sources, "test", documents=documents)]


def test_documents_without_an_order_are_ranked_as_in_benchmarks(tmp_path):
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


def test_an_example_knows_its_clues_and_its_labels(tmp_path):
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


def test_near_sentences_are_clues_on_request():
    """The same words are at distance 0; a question without a clue, as a yes or no, stays."""
    text = "Seals sang. Crofts ran. Crofts ran."
    example = Example(EXAMPLE.query, (Document("d", text),), ("Seals",))
    alone, wide = (
        TrainingExample.of(example),
        TrainingExample.of(example).widened(HashingEmbedder(), 2.0),
    )
    other = TrainingExample.of(Example(EXAMPLE.query, example.documents, ("Bees",)))

    assert ((0,), (0, 1, 2)) == (alone.clues, wide.clues)
    assert other is other.widened(HashingEmbedder(), 2.0)

    example = Example(EXAMPLE.query, (Document("d", "Yes. It rained."),), ("yes",))

    assert () == TrainingExample.of(example).clues


TEXT = "Bees make honey. Seals sang it."


def read(tmp_path, *rows):
    """What the questions of a file become."""
    path = write_rows(tmp_path / "q.jsonl", ({"question": "Who?", **row} for row in rows))
    return list(records([datasets.load(path)]))


def test_spans_or_sentences_are_the_evidence(tmp_path):
    """Marked, supporting, or with the answer; without any a question is left out."""
    rows = [[[17, 31]], []]
    found = read(tmp_path, *({"documents": [{"text": TEXT, "evidence": spans}]} for spans in rows))

    assert rows == [record["documents"][0]["evidence"] for record in found]

    needed = {"text": TEXT, "is_positive": True, "supporting_sentences": ["Seals sang it."]}
    answered = {"text": TEXT, "is_positive": True}
    other = {"text": "Rome.", "is_positive": False}
    documents = [needed, answered, other]
    (found,) = read(tmp_path, {"answers": ["honey"], "documents": documents})

    expected = [[[17, 31]], [[0, 16]], []]
    assert expected == [document["evidence"] for document in found["documents"]]

    documents = [{"text": TEXT}]
    given = [["seals"], ["yes"], ["paris"], []]
    found = read(tmp_path, *({"answers": some, "documents": documents} for some in given))

    assert [["seals"]] == [record["answers"] for record in found]
    assert "evidence" not in found[0]["documents"][0]


@pytest.mark.parametrize(
    ("text", "answer", "more", "expected"),
    [
        ("Education matters. The CAT’s here.", "cats", {}, [[19, 34]]),
        ("Built in 1970. It has 7 floors.", "7", {}, [[15, 31]]),
        ("它在北京。它由王小重设计。", "王小重", {}, [[5, 13]]),
        ("It costs 10 pounds. It is 5 m high.", "no", {"supporting_sentences": [1]}, [[20, 35]]),
    ],
)
def test_an_answer_is_found_as_everywhere(tmp_path, text, answer, more, expected):
    """Normalised, as whole words, in any script; indexes of sentences are no digits."""
    split = {"sentences": [text[:19], text[20:]]}
    document = {"text": text, "is_positive": True, **split, **more}
    marked, bare = ({"answers": [answer], "documents": [d]} for d in (document, {"text": text}))
    found = read(tmp_path, marked, bare)

    assert expected == found[0]["documents"][0]["evidence"]
    assert (answer != "no") + 1 == len(found)


@pytest.mark.parametrize("spans", ["a", [3], [[0]], [[4, 3]], [[-1, 2]], [[0, 99]], [[0, 1.5]]])
def test_evidence_outside_of_the_text_is_refused(tmp_path, spans):
    """The error names file, line and rule."""
    with pytest.raises(InputError, match=r"q\.jsonl, line 1: evidence must be a list of \[start"):
        read(tmp_path, {"documents": [{"text": TEXT, "evidence": spans}]})


def test_a_hash_divides_the_questions():
    """Three quarters, an eighth and an eighth, however a question is typed."""
    counts = Counter(share_of(f"Question {n}?") for n in range(4000))

    assert pytest.approx([0.75, 0.125, 0.125], abs=0.02) == [
        counts[share] / 4000 for share in ("train", "calibration", "checking")
    ]
    assert share_of("Who sang it?") == share_of("who  SANG it")


def test_of_a_named_set_a_pruner_meets_what_no_pruner_learned_from(tmp_path):
    """Its part train teaches, validation calibrates and checks; of an own file all calibrates."""
    rows = [
        {"question": f"{n}?", "answers": ["seals"], "documents": [{"text": TEXT}]}
        for n in range(400)
    ]
    parts = Counter(part_of(row["question"]) for row in rows)
    own = read(tmp_path, *rows)
    (tmp_path / "q.jsonl").rename(tmp_path / "nq.jsonl")
    named = [*records([datasets.load("nq", folder=tmp_path)])]
    shares = Counter(
        (part_of(row["question"]), share_of(row["question"], named=True)) for row in rows
    )

    assert [400, parts["validation"]] == [len(own), len(named)]
    assert {"validation"} == {part_of(record["question"]) for record in named}
    assert [parts["train"], parts["test"]] == [shares["train", "train"], shares["test", None]]
    held = [shares["validation", share] for share in ("calibration", "checking")]
    assert parts["validation"] == sum(held) and min(held) > 10
