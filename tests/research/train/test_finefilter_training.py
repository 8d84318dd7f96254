"""FineFilter from questions to a folder."""

import json
from dataclasses import replace
from itertools import count as count_from, islice

import pytest

from ragsieve import InputError, load, models
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research import datasets
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.train import finefilter
from ragsieve_research.train.finefilter import train_finefilter
from ragsieve_research.train.plans import FineFilterPlan, Reranking
from ragsieve_research.train.run import Run
from tests.named import asking, who_ran, write_rows
from tests.serving import Handler, served

PLAN = FineFilterPlan(llm="fake:echo", embedder="fake:hashing", limit=35, labelled=6)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("data") / "mine.jsonl", who_ran())


@pytest.fixture(scope="module")
def done(source, tmp_path_factory):
    """A training that has come to its end; the filter lies beside its work."""
    work = tmp_path_factory.mktemp("done")
    run = Run([datasets.load(source)], work / "work", workers=1)
    train_finefilter(work / "made", PLAN, run)
    return run


@pytest.mark.slow
def test_a_trained_filter_is_a_folder_that_loads(done):
    """With the pruner, a cut by what the generator answered, and figures."""
    folder = done.work.parent / "made"
    system = load(folder, ScriptedLLM(lambda _: "seals"))
    result = system.ask("Who sang?", ["The seals ran. It rained."])
    values = json.loads((folder / "filter.json").read_text())

    assert result.answer is not None
    assert ["Blocks", "Pruner", "Copies", "Answerable", "Cut", "Order"] == [
        step.stage.split("(")[0] for step in result.trace.steps[:6]
    ]
    assert {"before", "after", "mean", "mine"} == set(values["figures"])
    assert values["figures"]["after"]["questions"] == 6
    assert {"filter.json", "README.md"} == {p.name for p in folder.iterdir()}


@pytest.mark.slow
def test_only_two_parts_of_the_questions_are_read(done):
    """Those of the third are for nobody, and no more than the limit are learned from."""
    for part, count in {"train": 35, "validation": 7}.items():
        rows = [json.loads(line) for line in (done.work / f"{part}.jsonl").open()]

        assert count == len(rows)
        assert {part} == {part_of(row["question"]) for row in rows}
    (data,) = json.loads((done.work.parent / "made/filter.json").read_text())["data"]
    assert 35 == data["questions"]


@pytest.mark.slow
def test_what_is_done_is_not_done_again(done):
    """A second start makes the same folder and asks nothing."""
    folder = done.work.parent
    labels = (done.work / "validation.labels.jsonl").read_bytes()
    train_finefilter(folder / "again", PLAN, done)

    assert labels == (done.work / "validation.labels.jsonl").read_bytes()
    made, again = (folder / name / "filter.json" for name in ("made", "again"))
    assert made.read_bytes() == again.read_bytes()


def _named(part, count):
    """Questions that belong to a part of the data."""
    texts = (f"Which Mr {n}?" for n in count_from(0))
    return [*islice((text for text in texts if part_of(text) == part), count)]


def _written(path, rows):
    """Questions with their sentences, each a document; all are answered by Seals."""
    records = (asking(question, *texts, answers=["Seals"]) for question, texts in rows)
    return datasets.load(write_rows(path, records))


@pytest.mark.slow
def test_no_question_is_measured_with_a_cut_that_was_fitted_to_it(tmp_path):
    """One is answered from the best sentence alone, one from the best two: neither cut fits both.
    The model that echoes replies with the second, which alone shares a word with the question."""
    learnt, (first, second) = _named("train", 1), _named("validation", 2)
    near, far = "He is Mister {} himself.", "It rained in Ohio, which {} left."
    rows = [
        (learnt[0], [near.format("Seals")]),
        (first, [far.format("Crofts"), near.format("Seals")]),
        (second, [far.format("Seals"), near.format("Crofts")]),
    ]
    plan = FineFilterPlan(llm="fake:echo", embedder="fake:hashing", labelled=2)
    source = _written(tmp_path / "own.jsonl", rows)
    made = train_finefilter(tmp_path / "made", plan, Run([source], tmp_path / "work", 1))
    labels = [json.loads(line) for line in (tmp_path / "work/validation.labels.jsonl").open()]

    assert [[False, True, False], [False, False, True]] == [row["right"] for row in labels]
    assert 0.0 == made.figures["after"]["accuracy"]


class _Stopped(Exception):
    """Raised where an extractor would learn."""


def test_an_extractor_learns_the_clues_that_the_generator_answers_from_first(
    llama, tmp_path, monkeypatch
):
    """The model that echoes has no tokens left for a long one's end: the second clue is of use."""
    given = []

    def train(*args, **_):
        given.append(args[1])
        raise _Stopped

    rows = [
        (question, [f"It rained {'and rained ' * 80}on Seals.", "Seals sang it."])
        for part in ("train", "validation")
        for question in _named(part, 2)
    ]
    plan = replace(PLAN, extractor=f"point:{llama}", limit=1)
    source = _written(tmp_path / "own.jsonl", rows)
    monkeypatch.setattr(finefilter, "tune", train)
    with pytest.raises(_Stopped):
        train_finefilter(tmp_path / "made", plan, Run([source], tmp_path / "work", 1))
    ((sample,),) = given

    assert "[2,1]" == sample.target


@pytest.fixture(scope="module")
def llama(make_llm):
    """A tiny language model of random weights, as a specification."""
    return f"transformers:{make_llm('', 1, width=32, positions=4096)}"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["point", "write"])
def test_an_llm_that_names_no_clue_leaves_all_to_cut(llama, source, tmp_path, form):
    """A tiny one of random weights writes what cannot be read; either filter answers."""
    some = datasets.load(source).take(24)
    plan = FineFilterPlan(llm=llama, embedder="fake:hashing", extractor=form, epochs=1, labelled=1)
    written = train_finefilter(tmp_path / "made", plan, Run([some], tmp_path / "work", 1))
    result = load(tmp_path / "made").ask("Who 0?", ["The seals ran."])
    stages = [step.stage.split("(")[0] for step in result.trace.steps]

    assert {"extractor"} == set(written.parts)
    assert ["Sentences", "Extract", "Cosine", "Cut"] == stages[:4]
    assert result.answer is not None


class _Parrot(Handler):
    """A generator that replies with its documents."""

    def do_POST(self):
        """Reply."""
        said = self.asked().get("messages", [{"content": ""}])[0]["content"]
        choice = {"index": 0, "message": {"role": "assistant", "content": said}}
        found = self.path.endswith("/chat/completions")
        self.reply(200 if found else 404, {"choices": [choice], "model": "m"})


@pytest.mark.slow
def test_all_parts_learn_from_a_server_each_on_a_model_of_its_own(
    make_llm, make_encoder, tmp_path, monkeypatch, counted
):
    """As the paper has it; the reranker by all weights. The extractor can be had as it was."""
    asked = [*_named("train", 8), *_named("validation", 3)]
    texts = ["It rained.", "The Seals ran.", "Old Crofts slept.", "It snowed."]
    some = _written(tmp_path / "own.jsonl", [(question, texts) for question in asked])
    encoder = str(make_encoder(["seals", "crofts", "ran", "slept", "which"], 16))
    tuned, other = (f"transformers:{make_llm('', n, width=32, positions=4096)}" for n in (1, 2))
    whole = Reranking(rank=0, learning_rate=2e-3, temperature=1, batch_size=8, epochs=1)
    plan = FineFilterPlan(
        llm="openai:m", embedder=f"sentence_transformers:{encoder}", extractor=f"point:{tuned}",
        epsilon="other=0.3", truncator=other, reranker=True, epochs=1, reranking=whole,
    )  # fmt: skip
    with served(_Parrot) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        run = Run([some], tmp_path / "work", 1)
        with pytest.raises(InputError, match="epsilon must name data sets among own, got 'other'"):
            train_finefilter(tmp_path / "made", plan, run)
        plan = replace(plan, epsilon="own=0.05")
        made = train_finefilter(tmp_path / "made", plan, replace(run, on_progress=counted))
        system = load(tmp_path / "made")
        result = system.ask("Who 0?", ["The seals ran. It rained."])
        untuned = load(tmp_path / "made", options={"extractor": models.load(tuned)})
    stages = [step.stage.split("(")[0] for step in result.trace.steps]

    assert ["openai:m", tuned, encoder, other] == [
        made.generator.model,
        *(part.model.removeprefix("sentence_transformers:") for part in made.parts.values()),
    ]
    assert ["Sentences", "Extract", "Cosine", "Truncate", "Order"] == stages[:5]
    assert f"{tmp_path / 'made' / 'reranker'}" in repr(untuned.stage)
    assert "made/extractor" in repr(system.stage)
    assert "made/extractor" not in repr(untuned.stage)
    assert ("train.useful.jsonl", 8) in counted.fresh
