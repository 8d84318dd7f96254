"""The clue reranker: pairs, loss, figures of rankings and training."""

import json
import math

import numpy as np
import pytest
import sentence_transformers
import torch

from ragsieve import Document, Query, Segment, models
from ragsieve_research.models.sentence_transformers import SentenceTransformer
from ragsieve_research.train import reranker
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.plans import Reranking
from ragsieve_research.train.ranking import JudgedSentences, figures
from ragsieve_research.train.reranker import TextPair, measure, pairs, train_reranker

SENTENCE = "who won in seals sang and cried . rain fell on rome 1990 1991 1992 1993 1994"
WORDS = SENTENCE.split()
TEXTS = ["seals sang in 1990 .", "seals cried in 1990 .", "rain fell .", "rome fell ."]


@pytest.fixture(scope="module")
def bert(make_encoder):
    """A bi-encoder with random weights; mean of tokens."""
    return str(make_encoder(WORDS, 16, num_hidden_layers=1))


def example(question="who won in 1990", useful=None, texts=TEXTS, ranking=(), answers=("1990",)):
    documents = [Document(str(n), text) for n, text in enumerate(texts)]
    sentences = tuple(Segment.whole(document) for document in documents)
    known = {0: True, 1: False} if useful is None else useful
    return TrainingExample(Query(question, "own:q"), answers, sentences, known, ranking)


def year(n):
    """That who sang won, whatever the year."""
    texts = [text.replace("1990", str(n)) for text in TEXTS]
    return example(f"who won in {n}", texts=texts, answers=(str(n),))


EXAMPLES = [year(n) for n in (1990, 1991, 1992)] * 4
OTHERS = [year(n) for n in (1993, 1994)]
QUICK = {"epochs": 2, "batch_size": 4, "learning_rate": 0.02, "rank": 4}


def learn(folder, bert, **options):
    """Tune the bi-encoder on the examples above."""
    options = QUICK | options
    return train_reranker(folder, EXAMPLES, OTHERS, embedder=bert, options=Reranking(**options))


class Lengths:
    """Embeds a text as an angle that grows with its length; a question has none."""

    identity = "lengths"

    def embed(self, texts, *, query=False):
        angles = np.array([0 if query else len(text) / 100 for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_each_useful_clue_is_paired_with_each_other():
    """And with the best ranked sentences without an answer; one-sided questions are counted."""
    texts = ["in 1990 rain fell .", *TEXTS]
    found, _ = pairs([example("q", {0: True, 1: True, 2: False}, texts)])

    assert [TextPair("q", texts[0], texts[2]), TextPair("q", texts[1], texts[2])] == found

    found, left_out = pairs([example("q", {0: True, 1: True}, ranking=(1, 3))], extra_negatives=1)

    assert [TextPair("q", TEXTS[0], TEXTS[3]), TextPair("q", TEXTS[1], TEXTS[3])] == found
    assert 0 == left_out["all_useful"]

    one_sided = [example(useful={0: True, 1: True}), example(useful={0: False}), example(useful={})]
    asked = example(useful={0: True, 1: False}, texts=["yes .", "yes yes ."], answers=("yes",))
    found, left_out = pairs([*one_sided, asked])

    assert [] == found
    assert {"no_clue": 2, "none_useful": 1, "all_useful": 1} == left_out


def test_ranks_are_measured_where_only_some_clues_are_useful():
    """`seals sang` (20) is before `seals cried` (21) in one question of two; a tie is none."""
    both = [example(), example(useful={0: False, 1: True}), example(useful={0: True, 1: True})]

    assert {"questions": 2, "first": 0.5, "pairs": 0.5} == measure(both, Lengths())

    twice = example(texts=[TEXTS[0], TEXTS[0]])

    assert {"questions": 1, "first": 0.0, "pairs": 0.0} == measure([twice], Lengths())


def test_the_loss_is_that_of_the_paper(bert):
    """-log(e^a / (e^a + e^b)) = log(1 + e^(b - a)) for the cosines a and b, by temperature."""
    model = sentence_transformers.SentenceTransformer(bert, device="cpu")
    rows = reranker.training_rows([TextPair("who won", TEXTS[0], TEXTS[1])], {})
    columns = [model.tokenize(rows[name]) for name in ("question", "useful", "useless")]
    question, useful, useless = SentenceTransformer(bert).embed(["who won", *TEXTS[:2]])
    for temperature in (1.0, 0.05):
        loss = reranker.training_loss(model, temperature)(columns, torch.tensor(rows["label"]))
        expected = math.log1p(math.exp(float(question @ (useless - useful)) / temperature))

        assert pytest.approx(expected, rel=1e-4) == loss.item()


@pytest.mark.slow
def test_training_puts_useful_clues_first_and_writes_a_folder(bert, tmp_path):
    """Who sang won: learnt from three years, true of two others; what ships is no pickle."""
    folder = tmp_path / "reranker"
    log = learn(folder, bert, seed=1)
    recipe = json.loads((folder / "recipe.json").read_text())
    tuned = models.load(f"sentence_transformers:{bert}", adapter=str(folder))

    assert {"adapter_config.json", "adapter_model.safetensors", "recipe.json"} == {
        path.name for path in folder.iterdir()
    }
    assert ["reranker"] == [path.name for path in tmp_path.iterdir()]
    assert [1, 1, 2, 2] == [entry["epoch"] for entry in log]
    assert log[2]["loss"] < log[0]["loss"]
    assert recipe["after"] == measure(OTHERS, tuned) == {"questions": 2, "first": 1.0, "pairs": 1.0}
    assert (
        bert == json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
    )


@pytest.mark.slow
def test_the_defaults_learn_from_64_pairs(tmp_path):
    """Named as MiniLM reads it, what repeats the question comes first, and it is of no use."""

    def flipped(n):
        texts = [f"In {n} the cup went to team {n % 7}.", f"Who won the race in {n} is not known."]
        return example(f"Who won the race in {n}?", texts=texts, answers=(str(n),))

    learnt, others = (
        [flipped(n) for n in years] for years in (range(1700, 1764), range(1952, 1982))
    )
    train_reranker(tmp_path / "made", learnt, others)
    recipe = json.loads((tmp_path / "made" / "recipe.json").read_text())

    assert 0.0 == recipe["before"]["first"]
    assert 1.0 == recipe["after"]["first"]


@pytest.mark.slow
def test_a_run_that_was_ended_goes_on_to_the_same_weights(bert, tmp_path, killed):
    """Of two epochs of 3 steps the first is not read again; a checkpoint in pieces is no state."""
    learn(tmp_path / "a", bert)
    with killed(5):
        learn(tmp_path / "b", bert)
    (work,) = tmp_path.glob(".b.*.work")
    kept = [path.name for path in work.glob("checkpoint-*")]
    (work / "checkpoint-5").mkdir()
    log = learn(tmp_path / "b", bert)
    first, second = (SentenceTransformer(bert, adapter=str(tmp_path / x)) for x in "ab")

    assert ["checkpoint-3"] == kept
    assert [1, 1, 2, 2] == [entry["epoch"] for entry in log]
    assert first.embed(TEXTS).tobytes() == second.embed(TEXTS).tobytes()


@pytest.mark.slow
def test_checkpoints_of_other_options_are_not_gone_on_from(bert, tmp_path, killed):
    """To go on from them would give a model that no options give."""
    for seed in (0, 1):
        with killed(5):
            learn(tmp_path / "x", bert, seed=seed)

    assert 2 == len([*tmp_path.glob(".x.*.work")])


def judged(data, scores, clues, words=5):
    held = np.isin(np.arange(len(scores)), clues)
    return JudgedSentences(data, np.array(scores, np.float32), held, np.full(len(scores), words))


def test_figures_are_of_each_data_set_and_their_mean():
    """Four sentences: a clue in third place is above one of three others, AUC 1/3, and only among
    the first 3 and 5; a tenth of 20 words holds none, so the first stands alone."""
    found = figures(
        [judged("a", [4, 3, 2, 1], [2]), judged("b", [4, 3, 2, 1], [0]), judged("b", [1, 0], [])]
    )

    third = {"auc": 1 / 3, "recall_1": 0, "recall_3": 1, "recall_5": 1, "recall_tenth": 0}
    assert pytest.approx({"questions": 1, **third}) == found["a"]
    assert {"questions": 1, **dict.fromkeys(third, 1.0)} == found["b"]
    assert pytest.approx((2 / 3, 0.5)) == (found["mean"]["auc"], found["mean"]["recall_1"])

    scores = [float(-n) for n in range(50)]
    recalls = [figures([judged("a", scores, [n], 2)])["a"]["recall_tenth"] for n in (4, 5)]

    assert [1.0, 0.0] == recalls

    assert {} == figures([judged("a", [1, 2], []), judged("a", [1], [0])])
