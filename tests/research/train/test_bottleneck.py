"""A filter that writes: what its texts are worth, and its training."""

import pytest

from ragsieve import Document, Example, Query, models
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.bottleneck import bottleneck
from ragsieve_research.systems.filco import filco
from ragsieve_research.train.bottleneck import Candidate, Candidates, figures
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.plans import WriterPlan
from ragsieve_research.train.run import Run
from ragsieve_research.train.writer import train_writer
from tests.tiny import Likelihoods


def example(question="who sang ?", *answers, texts=()):
    given = texts or ("seals sang . rain fell .", "snow fell .")
    documents = tuple(Document(str(n), text) for n, text in enumerate(given))
    return TrainingExample.of(Example(Query(question), documents, answers or (" ", "seals")))


def nats(text):
    """The answer is trusted where "seals" is read; documents the more, the more words are."""
    if notes := [line for line in text.splitlines() if line.startswith("Notes: ")]:
        return 0.1 * len(notes[0].split()) - 9  # the word "Notes:" counts in all alike
    return 3.0 * ("seals" in text) - 9


def rate(text="rain fell .", **options):
    return Candidates(Likelihoods(nats), ScriptedLLM([text] * 9), **options)


def test_candidates_are_rated_best_first():
    """Documents gain 0.1 a word of the text (an empty one is a pair of quotes: 1), the answer 3.
    "seals sang ." is both the sentence with the answer and the nearest to the question: it comes
    once. IB of its 3 words is 0.2 - 3, of all 9 words 0.8 - 3, of the written 3 words 0.2, of none
    0."""
    found = rate()(example())

    assert [
        ("seals sang .", -2.8),
        ("seals sang . rain fell .\n\nsnow fell .", -2.2),
        ("", 0.0),
        ("rain fell .", 0.2),
    ] == [(one.text, pytest.approx(one.score)) for one in found]


def test_the_filter_is_asked_as_the_system_asks():
    """The same prompt; nothing is written as a word; what does not fit has no candidates."""
    assert "NONE" == Candidate("", 0.0).reply
    assert "x" == Candidate("x", 0.0).reply

    llm = ScriptedLLM(["NONE"])
    bottleneck(llm)("who sang ?", ["seals sang . rain fell .", "snow fell ."])

    assert llm.prompts == [rate().prompt(example())]

    small = Candidates(Likelihoods(nats, context=100), ScriptedLLM(["NONE"] * 2))
    long = Example(Query("who sang ?"), (Document("d", "seals " * 300),), ("seals",))

    assert {"candidates": []} == small.labels(long)


def test_figures_are_means_of_what_is_written():
    """Of 3 words the score is 0.2 (see above) and of none 0: the mean is 0.1, of 1.5 words."""
    two = Candidates(Likelihoods(nats), ScriptedLLM(["rain fell .", "NONE"]))

    assert {"questions": 2, "ib": pytest.approx(0.1), "tokens": 1.5, "empty": 0.5} == figures(
        two, [example(), example()]
    )


YEARS = (1900, 1901, 1902, 1918)  # the salted hash puts the last alone in validation
WORDS = ["seals", "sang", "rain", "fell", "who", "in", "NONE", *map(str, YEARS)]


@pytest.fixture(scope="module")
def llama(make_llm):
    """A tiny model of random weights that reads whole words, and ends most replies soon."""
    return f"transformers:{make_llm(WORDS, 1, positions=1400, padded=False)}"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["strinc", "ib"])
def test_a_filter_model_is_trained_and_a_second_start_asks_nothing(
    tmp_path, llama, asked, counted, by
):
    """Its folder is a model with a recipe, a card and its adapter; the system runs with it."""
    source = asked(YEARS, "seals sang in {} . rain fell .", "rain .")
    plan = WriterPlan(by=by, llm=llama, epochs=1)
    run = Run([source], tmp_path / "work", 2, counted)
    first, again = (train_writer(tmp_path / name, plan, run) for name in "ab")
    writer = models.load(f"transformers:{tmp_path / 'b'}")
    llm = ScriptedLLM(["seals"])
    system = bottleneck(llm, writer=writer) if by == "ib" else filco(llm, extractor=writer)
    result = system.ask("who sang ?", ["seals sang ."])
    use = f"--system {'bottleneck' if by == 'ib' else 'filco'} --model "
    use += f"{'writer' if by == 'ib' else 'extractor'}=transformers:FOLDER"

    assert [3, 1, 0, 0] == [count for _, count in counted.fresh]
    assert first["log"] == again["log"]
    assert 1 == first["after"]["questions"]
    assert (by == "ib") == ("before" in first)
    assert {"README.md", "adapter", "model.safetensors", "recipe.json"} <= {
        path.name for path in (tmp_path / "b").iterdir()
    }
    assert use in (tmp_path / "b" / "README.md").read_text()
    assert result.tokens.after <= result.tokens.before
