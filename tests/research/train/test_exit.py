"""Fine-tuning an LLM to say whether a sentence helps: a tiny model learns a word by heart."""

import json
from collections import Counter

import pytest

from ragsieve import Document, Example, Query, models
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research import datasets
from ragsieve_research.score.helpful import Helpful
from ragsieve_research.train.examples import TrainingExample, write
from ragsieve_research.train.exit import CLUES, learn_exit, samples, train_exit
from ragsieve_research.train.plans import ExitPlan
from ragsieve_research.train.run import Run
from ragsieve_research.train.sft import Tuning, tunable
from tests.named import asking, write_rows

WORDS = ["Yes", "No", "sang", "ran", "Seals", "He", "Who", "Document"]


def example(*texts, answer="Seals"):
    documents = tuple(Document(f"d{n}", text) for n, text in enumerate(texts))
    return TrainingExample.of(Example(Query("Who sang?", "own:1"), documents, (answer,)))


SONG = example("Seals sang. He ran.", "He sang. He slept.")
FAST = Tuning(epochs=8, lr=0.03, checks=1)


def run_of(work, *examples):
    """A run of one question in either part."""
    run = Run([], work)
    for part, one in zip(("train", "validation"), examples, strict=True):
        documents = tuple({s.document.id: s.document for s in one.sentences}.values())
        write(run.path(part), [Example(one.query, documents, one.answers)])
    return run


def asked(given):
    """Of each sample the sentence asked about, and the reply."""
    found = samples(given, Helpful(ScriptedLLM([])))
    mark = "Sentence of this document: "
    lines = [next(x for x in s.prompt[-1].content.splitlines() if mark in x) for s in found]
    return [(x.removeprefix(mark).strip('"'), s.target) for x, s in zip(lines, found, strict=True)]


def test_a_clue_comes_with_one_that_is_none():
    """Chance is the question's own; others come from both kinds of documents where there are."""
    (good, yes), (bad, no) = asked(SONG)

    assert ("Seals sang.", "Yes", "No") == (good, yes, no)
    assert bad in {"He ran.", "He sang.", "He slept."}

    given = example("Seals sang. He ran. Seals slept.", "He sat. He left. He ate.")
    found = asked(given)

    assert {"Yes": CLUES, "No": CLUES} == Counter(reply for _, reply in found)
    assert {"He ran."} < {text for text, reply in found if reply == "No"}

    found = asked(example("Seals sang. Seals ran. He slept. He left."))

    assert {"He slept.", "He left."} == {text for text, reply in found if reply == "No"}

    assert asked(SONG) == asked(SONG)


@pytest.fixture(scope="module")
def tiny(make_llm):
    return f"transformers:{make_llm(WORDS, 1)}"


@pytest.mark.slow
def test_a_tuned_model_tells_clues(tiny, tmp_path):
    """The one clue gets more than the other sentences, and the recipe says by how much."""
    adapter, _ = learn_exit(ExitPlan(llm=tiny), run_of(tmp_path, SONG, SONG), tunable(tiny), FAST)
    scorer = Helpful(models.load(tiny, adapter=str(adapter)))
    scores = [s.score for s in scorer(SONG.query, SONG.sentences)]
    recipe = json.loads((adapter / "recipe.json").read_text())
    after, log = recipe["after"], recipe["log"]

    assert 0 == scores.index(max(scores))
    assert "validation_loss" in log[-1]
    assert (1, 1.0) == (after["questions"], after["auc"])


@pytest.mark.slow
def test_a_made_extractor_is_a_whole_model(tiny, tmp_path):
    """A second start learns nothing again, and writes the same; the adapter lies beside."""
    rows = (asking(f"Who {n}?", "Seals sang. He.", answers=["Seals"]) for n in range(12))
    source = [datasets.load(write_rows(tmp_path / "q.jsonl", rows))]
    plan = ExitPlan(llm=tiny)
    run = Run(source, tmp_path / "work")
    first = train_exit(tmp_path / "made", plan, run)
    (adapter,) = (tmp_path / "work").glob("adapter-*/adapter_model.safetensors")
    before = adapter.stat().st_mtime_ns
    again = train_exit(tmp_path / "made", plan, run)
    scorer = Helpful(models.load(f"transformers:{tmp_path / 'made'}"))
    beside = Helpful(models.load(tiny, adapter=str(tmp_path / "made" / "adapter")))

    assert (first, before) == (again, adapter.stat().st_mtime_ns)
    assert {"before", "after"} < {*again}
    assert pytest.approx(beside.scores(SONG.query, SONG.sentences)) == scorer.scores(
        SONG.query, SONG.sentences
    )
    assert "--model extractor=transformers:FOLDER" in (tmp_path / "made" / "README.md").read_text()
