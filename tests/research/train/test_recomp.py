"""RECOMP's compressor learns from the generator's likelihoods; from questions to a folder."""

import json

import pytest

from ragsieve import Document, Example, Query, models
from ragsieve.models.fake import HashingEmbedder
from ragsieve_research.train.examples import write
from ragsieve_research.train.plans import RecompPlan
from ragsieve_research.train.recomp import SentenceLabeller, first_gain, labelled, train_recomp
from ragsieve_research.train.run import Run
from tests.tiny import Likelihoods

YEARS = range(1900, 1930)
WORDS = ["seals", "crofts", "sang", "rain", "snow", "fell", "who", "in", *map(str, YEARS)]
TEXT = "Seals sang it. Rain fell. Snow fell. Seals did."


def nats(text):
    """-1 where "sang it" is read, else -4."""
    return -1 if "sang it" in text else -4


def example(*answers, text=TEXT, question="Who sang?"):
    return Example(Query(question, "own:q"), (Document("d", text),), answers)


@pytest.mark.parametrize(
    ("margin", "text"),
    [(3.0, TEXT), (1.0, "Rain fell. Snow fell."), (1.0, "Seals sang."), (1.0, "")],
)
def test_without_a_difference_there_is_no_pair(margin, text):
    """None falls short by more than the margin, all gain the same, there is one, or none."""
    labels = SentenceLabeller(Likelihoods(nats), HashingEmbedder(), margin=margin)(
        example("Seals", text=text)
    )

    assert ([], []) == (labels["clues"], labels["useful"])


def test_labels_are_read_back_whatever_the_answer(tmp_path):
    """Neither the negative that holds the answer nor a yes or no is left out."""
    asked = [example("Seals"), example("yes", question="Did Seals sing?")]
    labeller = SentenceLabeller(Likelihoods(nats), HashingEmbedder(), negatives=3)
    write(tmp_path / "train.jsonl", asked)
    records = [{"line": n, **labeller(e)} for n, e in enumerate(asked, 1)]
    (tmp_path / "train.labels.jsonl").write_text("\n".join(map(json.dumps, records)))
    found = labelled(Run([], tmp_path), "train")

    assert [{0, 1, 2, 3}] * 2 == [{*example.clues} for example in found]
    assert [[0], [0]] == [[n for n, good in o.useful.items() if good] for o in found]


def test_the_gain_is_of_the_sentence_that_is_put_first(tmp_path):
    """Of "Seals did." 0.5 nats, of "Rain fell." 1: 0.75; the best of each gain 3 and 1: 2. A
    question without sentences counts nothing."""
    asked = [example("x", question="seals did"), example("x", question="rain"), example(text="")]
    gained = [[3.0, 0.0, -1.0, 0.5], [0.0, 1.0, 0.0, 0.0], []]
    write(tmp_path / "validation.jsonl", asked)
    (tmp_path / "validation.labels.jsonl").write_text(
        "\n".join(json.dumps({"line": n, "gains": row}) for n, row in enumerate(gained, 1))
    )

    assert {"gain": 0.75, "most": 2.0} == first_gain(
        Run([], tmp_path), "validation", HashingEmbedder()
    )


@pytest.fixture(scope="module")
def llama(make_llm):
    """A generator of random weights: some sentence makes it trust an answer most."""
    return f"transformers:{make_llm(WORDS, 2, width=32)}"


@pytest.fixture
def plan(llama, make_encoder):
    encoder = f"sentence_transformers:{make_encoder(WORDS, 32)}"
    return RecompPlan(llm=llama, embedder=encoder, margin=0.0, negatives=1, epochs=1)


@pytest.fixture
def source(asked):
    return asked(YEARS, "seals sang in {0} . rain fell . snow fell in {0} .")


@pytest.mark.slow
def test_a_compressor_is_trained_and_a_second_start_labels_nothing(tmp_path, plan, source, counted):
    """Its folder is an embedder with a recipe and a card; labels and the model are kept."""
    folder, work = tmp_path / "made", tmp_path / "work"
    run = Run([source], work, 2, counted)
    recipe = train_recomp(folder, plan, run)
    fresh = dict(counted.fresh)
    again = train_recomp(folder, plan, run)
    card = (folder / "README.md").read_text()
    vectors = models.load(f"sentence_transformers:{folder}").embed(["seals sang", "rain fell"])

    assert {"train.labels.jsonl", "validation.labels.jsonl"} == fresh.keys()
    assert all(fresh.values())
    assert [0, 0] == [count for _, count in counted.fresh[2:]]
    assert recipe == again
    assert {"questions", "first", "pairs", "gain", "most"} == recipe["before"].keys()
    assert recipe["questions"]["pairs"] == fresh["train.labels.jsonl"]
    assert (2, 16) == vectors.shape
    assert "--system recomp --embedder sentence_transformers:FOLDER" in card
    assert "| questions | first | pairs | gain | most |" in card
