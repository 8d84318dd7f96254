"""What a generator learns from, and to reply; and training from questions to a folder."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from ragsieve import Document, Example, Query, Segment, models
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.train.generator import (
    GeneratorPlan,
    chosen,
    figures,
    reader,
    target,
    train_generator,
    write_rationale,
)
from ragsieve_research.train.run import Run

YEARS = (1900, 1901, 1902, 1903, 1918)  # the salted hash puts the last alone in validation
WORDS = ["seals", "crofts", "sang", "rain", "who", "in", ":", "Answer", *map(str, YEARS)]


def example(name="q", *texts, answers=(" ", "Seals")):
    documents = tuple(Document(f"{name}{n}", text) for n, text in enumerate(texts))
    return Example(Query(f"Who sang {name}?", name), documents, answers)


OWN = example("a", "Seals sang.", "Seals did.", "Rain fell.")
OTHER = example("b", "Seals bark.", "Snow fell.", "Hail fell.", "Fog fell.")


def names(found):
    return [document.id for document in found.documents]


def test_relevant_and_irrelevant_are_the_first():
    """Of the question, or of another that hold no answer, in text or title; else none."""
    plan = GeneratorPlan(documents=2)

    assert ["a0", "a1"] == names(chosen(OWN, [OWN, OTHER], plan))

    plan = GeneratorPlan(context="irrelevant", documents=2)

    assert ["b1", "b2"] == names(chosen(OWN, [OWN, OTHER], plan))

    other = example("b", "They bark.", "Fog fell.")
    named = replace(
        other, documents=(replace(other.documents[0], title="Seals"), other.documents[1])
    )
    asked = replace(named, answers=("Seals",))

    assert ["b1"] == names(chosen(OWN, [named], GeneratorPlan(context="irrelevant")))
    assert "Informative: 1.\nAnswer: Seals" == target(asked, "informative")


@pytest.mark.parametrize("others", [[], [OWN], [OWN, example("c", "Seals.")]])
def test_where_no_question_has_other_documents_there_are_none(others):
    """The generator is asked by itself."""
    assert [] == names(chosen(OWN, others, GeneratorPlan(context="irrelevant")))


def test_mixed_are_first_last_or_anothers_by_chance():
    """Each about a third of 300: over 73, 3.3 deviations of 8.2 below 100; the same every time."""
    plan = GeneratorPlan(context="mixed", documents=1)
    asked = [Example(Query(f"Who {n}?", str(n)), OWN.documents, OWN.answers) for n in range(300)]
    found = [names(chosen(one, [OTHER], plan)) for one in asked]
    counts = Counter(name for given in found for name in given)

    assert {"a0", "a2", "b1"} == counts.keys()
    assert min(counts.values()) > 73
    assert found == [names(chosen(one, [OTHER], plan)) for one in asked]


@pytest.mark.parametrize(
    ("kind", "rationale", "reply"),
    [
        ("answer", "", "Seals"),
        ("rationale", "The first says so.", "The first says so.\nAnswer: Seals"),
        ("rationale", "", "Answer: Seals"),
        ("informative", "", "Informative: 1, 2.\nAnswer: Seals"),
    ],
)
def test_replies_end_with_the_first_answer_that_is_not_blank(kind, rationale, reply):
    """And the reader finds it there."""
    made = target(OWN, kind, rationale)

    assert reply == made
    assert "Seals" == reader(ScriptedLLM([made]), kind)(OWN.query, []).text


def test_documents_are_numbered_as_they_are_read():
    """A blank one is not; where none is informative, that is said."""
    shown = example("a", " ", "Rain fell.", "Seals sang.")

    assert "Informative: 2.\nAnswer: Seals" == target(shown, "informative")
    assert "Informative: none.\nAnswer: Seals" == target(example("a", "Rain."), "informative")

    asked = replace(example("a", "There is no river."), answers=("no",))

    assert "Informative: none.\nAnswer: no" == target(asked, "informative")


def test_the_model_explains_the_answer_that_it_is_told():
    """On one line, without its thoughts; documents that do not fit are cut as a reader cuts."""
    llm = ScriptedLLM(["<think>Hm.</think>The first\nsays so. "])
    found = write_rationale(llm, OWN)

    assert {"rationale": "The first says so."} == found
    assert "Who sang a?\nRight answer: Seals" in llm.prompts[0][1].content
    assert "Seals did." in llm.prompts[0][1].content


def test_figures_are_means_over_questions():
    """Of two, one is right and one has one word of two: F1 2/3."""
    llm = ScriptedLLM(["Seals", "the Seals barked"])
    found = figures(llm, [OWN, OWN], "answer")

    assert {"questions": 2, "accuracy": 1.0, "exact_match": 0.5, "f1": (1 + 2 / 3) / 2} == found


@pytest.fixture(scope="module")
def llama(make_llm):
    """A tiny generator of random weights that reads whole words."""
    return f"transformers:{make_llm(WORDS, 2, width=48)}"


@pytest.fixture
def source(asked):
    return asked(YEARS, "seals sang in {} .", "rain .")


@pytest.mark.slow
def test_a_generator_is_trained_and_loads_both_ways(tmp_path, llama, source):
    """As a whole model and as an adapter it replies the same, which it has learned."""
    folder = tmp_path / "made"
    plan = GeneratorPlan(llm=llama, epochs=30)
    recipe = train_generator(folder, plan, Run([source], tmp_path / "work"))
    whole = models.load(f"transformers:{folder}")
    adapted = models.load(llama, adapter=str(folder / "adapter"))
    ask = reader(whole, "answer")
    read = [(one, [Segment.whole(d) for d in one.documents]) for _, one in source.examples()]
    prompts = [ask.messages(one.query, segments) for one, segments in read]

    assert 1.0 == recipe["after"]["exact_match"] > recipe["before"]["exact_match"]
    assert "seals" in whole.complete(prompts, max_tokens=3)
    assert whole.complete(prompts, max_tokens=3) == adapted.complete(prompts, max_tokens=3)
    assert recipe.items() <= json.loads((folder / "recipe.json").read_text()).items()
    assert "## How good it is" in (folder / "README.md").read_text()


@pytest.mark.slow
def test_a_second_start_writes_and_trains_nothing_again(tmp_path, llama, source, counted):
    """Rationales and adapter are kept."""
    plan = GeneratorPlan(llm=llama, target="rationale", epochs=1, merged=False)
    run = Run([source], tmp_path / "work", 2, counted)
    first, again = (train_generator(tmp_path / n, plan, run) for n in "ab")
    fresh = [count for _, count in counted.fresh]

    assert min(fresh[:2]) > 0
    assert [0, 0] == fresh[2:]
    assert first == again
    assert ["README.md", "adapter", "recipe.json"] == sorted(
        path.name for path in (tmp_path / "b").iterdir()
    )
