"""Training of the sentence pruner: labels, augmentations, the loss, and a run that was killed."""

import json
import math
import random
import shutil

import pytest
import torch

from ragsieve.errors import ModelError
from ragsieve.models.base import Passage
from ragsieve.models.windows import WindowTokenizer
from ragsieve_research.train.pruner import bfloat16_is_fast, loss, rate, train_pruner
from ragsieve_research.train.pruner_samples import (
    WINDOWS,
    Samples,
    labelled,
    reworded,
)
from tests.named import asking

WORDS = ["who", "sang", "it", "seals", "and", "crofts", "rained", "the", "old", "bees", "hum"]
WORDS += ["cheese", "is", "made", "of", "milk", "songs"]
SONG = "Seals and Crofts sang it. It rained. The old Seals hum."
SONGS = {"title": "Songs", "text": SONG, "evidence": [[0, 25]]}
CHEESE = {"id": "cheese", "text": "Cheese is made of milk."}
OTHER = "It rained. Bees hum. Cheese is old. The milk is old."
OTHERS = [{"title": f"Songs {n}", "text": OTHER} for n in range(6)]

MARKED = asking("Who sang it?", {"id": "song", **SONGS}, CHEESE, answers=["Seals"])
TEXTS = [{"text": text} for text in (SONG, "Yes, it rained.", " ")]
FOUND = asking("Who sang it?", *TEXTS, answers=["Seals", "yes"])
MANY = asking("Who sang it?", *OTHERS, SONGS, answers=["Seals"])


@pytest.fixture(scope="module")
def encoder(make_encoder):
    """A BERT of random weights that knows the words above."""
    return make_encoder(WORDS, 256)


@pytest.fixture(scope="module")
def tokenizer(encoder):
    """Its tokenizer."""
    return WindowTokenizer.read(encoder / "tokenizer.json")


def test_evidence_is_marked_or_holds_the_answer():
    """Repeats are ignored; an unanswerable question has none, a rival answers nothing."""
    sentences = ["Seals and Crofts sang it.", "It rained.", "The old Seals hum."]

    assert [
        (Passage("Songs", sentences), [1.0, 0.0, -1.0]),
        (Passage("", ["Cheese is made of milk."]), [0.0]),
    ] == [*labelled(MARKED)]

    assert [[1.0, 0.0, 1.0], [0.0]] == [labels for _, labels in labelled(FOUND)]

    rows = "song,by,year\n" + "".join(f"Song {n},Band {n},{1972 + n}\n" for n in range(40))
    record = {"question": "Who?", "answers": [], "documents": [{"text": rows, "evidence": []}]}

    ((passage, _),) = labelled(record)
    assert "song: Song 39; by: Band 39; year: 2011" == passage.sentences[-1]

    record = {"question": "Who?", "answers": [], "documents": [{"text": SONG, "evidence": []}]}

    assert [[0.0, 0.0, 0.0]] == [labels for _, labels in labelled(record)]

    rival = {"text": "Ada sang it.", "evidence": [], "rival": True}
    record = {"question": "Who sang it?", "answers": ["Ada"], "documents": [rival]}

    assert [[0.0]] == [labels for _, labels in labelled(record)]


def test_a_step_reads_some_windows_by_seed_and_turn(tokenizer):
    """Evidence is among them; without a seed all is read as it stands."""
    sample = Samples(tokenizer, seed=None).of(MARKED)

    assert [1.0, 0.0, -1.0, 0.0] == sample.labels
    assert [1.0, 0.0] == sample.holds
    assert [[0, 1, 2], [3]] == [[span.sentence for span in w.spans] for w in sample.windows]

    samples = [Samples(tokenizer).of(MANY, turn) for turn in range(20)]

    assert {WINDOWS} == {len(sample.windows) for sample in samples}
    assert all(1.0 in sample.labels and 1.0 in sample.holds for sample in samples)

    def drawn(seed, turns):
        return [Samples(tokenizer, seed=seed).of(MANY, turn) for turn in turns]

    assert drawn(0, range(10)) == drawn(0, range(10))
    assert drawn(0, range(10)) != drawn(0, range(10, 20))
    assert drawn(0, range(10)) != drawn(1, range(10))


def test_questions_are_reworded_without_losing_words():
    """Case and question mark change, and now and then somebody begins politely."""
    found = {reworded("Who sang it?", random.Random(n)) for n in range(200)}

    assert {"Who sang it?", "Who sang it", "who sang it?", "who sang it"} <= found
    assert all("sang it" in question for question in found)
    assert "Who sang it?" == reworded("Who sang it?", None)


def test_losses_by_hand():
    """One clue and one other, an unanswerable question, and what is ignored."""
    zero = torch.zeros(2)
    found = loss(zero, torch.tensor([1.0, 0.0]), zero[:1], torch.tensor([1.0]))

    assert pytest.approx(2.25 * math.log(2)) == found.item()

    found = loss(torch.tensor([math.log(3)]), torch.zeros(1), torch.zeros(1), torch.tensor([0.0]))

    assert pytest.approx(0.5 * math.log(4) + 0.25 * math.log(2)) == found.item()

    sentences, labels = torch.tensor([0.3, -0.2, 5.0]), torch.tensor([1.0, 0.0, -1.0])
    passages, holds = torch.tensor([0.1, 7.0]), torch.tensor([1.0, -1.0])
    found = loss(sentences, labels, passages, holds)

    assert loss(sentences[:2], labels[:2], passages[:1], holds[:1]).item() == found.item()


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 1 / 200), (99, 0.5), (199, 1.0), (800, 1.0), (900, 0.5), (1000, 0)]
)
def test_the_learning_rate_rises_stays_and_falls(step, expected):
    """Of 1,000 steps the first 200 warm up, and over the last 200 it falls."""
    assert pytest.approx(expected) == rate(step, 1000, 1.0)


@pytest.fixture(scope="module")
def trained(encoder, tmp_path_factory):
    """The checkpoint of two steps."""
    place = tmp_path_factory.mktemp("trained")
    train_pruner(
        place / "made", [MARKED, FOUND], work=place / "work", encoder=str(encoder), batch=1
    )
    return place


def state(place):
    """The step and the weights of the last checkpoint of a run."""
    import safetensors.torch as files

    (last,) = (place / "work").glob("checkpoint-*")
    step = json.loads((last / "trainer_state.json").read_text())["global_step"]
    return step, files.load_file(last / "model.safetensors")


@pytest.mark.slow
def test_training_changes_all_but_the_words(trained, encoder):
    """Embeddings stay as they were; the head and the layers learn."""
    import safetensors.torch as files

    before = files.load_file(encoder / "model.safetensors")
    after = files.load_file(trained / "made" / "model.safetensors")
    words, layer = "embeddings.word_embeddings.weight", "encoder.layer.0.output.dense.weight"

    assert torch.equal(before[words], after[f"bert.{words}"])
    assert not torch.equal(before[layer], after[f"bert.{layer}"])


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_result(trained, encoder, tmp_path):
    """After the checkpoint of step 1 the second step is the next, and gives the same weights."""

    def run(steps):
        options = {"encoder": str(encoder), "batch": 1, "steps": steps}
        train_pruner(tmp_path / "made", [MARKED, FOUND], work=tmp_path / "work", **options)

    run(1)
    first = state(tmp_path)
    run(2)
    second, full = state(tmp_path), state(trained)

    assert [1, 2, 2] == [first[0], second[0], full[0]]
    assert all(torch.equal(second[1][name], full[1][name]) for name in full[1])
    assert any(not torch.equal(second[1][name], first[1][name]) for name in full[1])


@pytest.mark.slow
def test_a_head_of_one_label_is_replaced(encoder, tmp_path):
    """As cross-encoders have; weights of another shape than the configuration says are refused."""
    import safetensors.torch as files
    import transformers

    shutil.copytree(encoder, tmp_path / "ranker")
    load = transformers.AutoModelForSequenceClassification.from_pretrained
    load(str(encoder), num_labels=1).save_pretrained(tmp_path / "ranker")
    options = {"work": tmp_path / "work", "encoder": str(tmp_path / "ranker"), "batch": 1}
    train_pruner(tmp_path / "made", [MARKED], **options)
    made = files.load_file(tmp_path / "made" / "model.safetensors")

    assert 2 == len(made["classifier.weight"])

    config = json.loads((tmp_path / "ranker/config.json").read_text())
    (tmp_path / "ranker/config.json").write_text(json.dumps({**config, "intermediate_size": 8}))
    with pytest.raises(ModelError, match="has weights of another shape than its config"):
        train_pruner(tmp_path / "made", [MARKED], **options)


@pytest.mark.parametrize(
    ("amx", "avx512", "fast"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_a_cpu_computes_in_bfloat16_where_it_has_instructions_for_it(
    monkeypatch, amx, avx512, fast
):
    """Elsewhere products in it take 39 times as long as in float32."""
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)

    assert bfloat16_is_fast(torch.device("cpu")) == fast
    assert bfloat16_is_fast(torch.device("cuda"))
