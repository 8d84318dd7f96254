"""What a clue reader learns from."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import numpy as np  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

from ragsieve.models.clue_features import NAMES  # noqa: E402
from ragsieve.models.clue_windows import Layout, Setter  # noqa: E402
from ragsieve.train.clue_data import (  # noqa: E402
    NOTHING,
    Item,
    Questions,
    batch,
    loss,
    passages,
    spread,
    targets,
)
from ragsieve.train.lessons import Lesson  # noqa: E402
from ragsieve.types import Document, Example, Query  # noqa: E402

LAYOUT = Layout(size=40, question=8, title=4, sentence=12, overlap=8)
DOCUMENTS = tuple(
    Document(f"d{n}", f"Sentence {n} rains. Here {who} sang.", title=f"Title {n}", rank=n)
    for n, who in enumerate(["Seals", "he", "Seals", "she", "it", "one", "two", "six"])
)
EXAMPLE = Example(Query("Who sang?", id="own:q"), DOCUMENTS, ("Seals",))
CLUES = (1, 5)


@pytest.fixture(scope="module")
def setter() -> Setter:
    """Every word is a token: its number among those of all texts."""
    texts = [EXAMPLE.query.text, ": . ?", *(f"{d.title} {d.text}" for d in DOCUMENTS)]
    split = pre_tokenizers.Whitespace()
    words = {word for text in texts for word, _ in split.pre_tokenize_str(text)}
    known = {word: n for n, word in enumerate(sorted(words), 4)}
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 3, **known}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = split
    return Setter(tokenizer, 0, 1, 2)


def test_sentences_stand_below_their_titles() -> None:
    """Two of each document."""
    found = passages(Lesson.of(EXAMPLE))

    assert [d.title for d in DOCUMENTS] == [p.title for p in found]
    assert ("Sentence 0 rains.", "Here Seals sang.") == tuple(found[0].sentences)


@pytest.mark.parametrize(
    ("feedback", "wanted"), [(0.0, [1.0, 1.0]), (0.25, [1.0, 0.75]), (1.0, [1.0, 0.0])]
)
def test_a_clue_that_did_not_help_counts_less(feedback: float, wanted: list[float]) -> None:
    """Others are none, whatever the feedback; a clue that was not asked about counts in full."""
    plain = Lesson.of(EXAMPLE)
    asked = Lesson(plain.query, plain.answers, plain.sentences, {CLUES[1]: False})
    found = targets(asked, feedback)

    assert [*wanted, *[-1.0] * 14] == [*found[[*CLUES]], *np.delete(found, CLUES)]
    assert [1.0, 1.0] == targets(plain, feedback)[[*CLUES]].tolist()


def test_loss_of_one_clue_and_one_other() -> None:
    """Logits 2 and 0: log(1 + e^-2), and half of the mean of log(1 + e^-2) and log 2."""
    found = loss(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, -1.0]]))
    listed = math.log(1 + math.exp(-2))

    assert pytest.approx(listed + 0.25 * (listed + math.log(2))) == found.item()


def test_padding_changes_no_loss() -> None:
    """Whatever logit stands there."""
    logits, wanted = torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([[1.0, -1.0, -1.0]])
    more = torch.tensor([[2.0, 0.0, 1.0, 99.0]]), torch.tensor([[1.0, -1.0, -1.0, NOTHING]])

    torch.testing.assert_close(loss(logits, wanted), loss(*more))


def test_a_discounted_clue_is_neither_one_nor_none() -> None:
    """At 0 no gradient reaches its logit; where it is alone, at 0.5 half the pull is left."""
    logits = torch.tensor([[1.0, 0.5, 0.0]], requires_grad=True)
    loss(logits, torch.tensor([[1.0, 0.0, -1.0]])).backward()
    assert 0 == logits.grad[0, 1]
    assert logits.grad[0, 0] < 0 < logits.grad[0, 2]

    pulls = []
    for weight in (1.0, 0.5, 0.0):
        logits = torch.tensor([[0.0, 0.0]], requires_grad=True)
        loss(logits, torch.tensor([[weight, -1.0]])).backward()
        pulls.append(logits.grad[0, 0].item())

    assert pytest.approx([pulls[0], pulls[0] / 2, 0.0]) == pulls


def test_an_epoch_reads_five_documents_with_the_clues_in(setter: Setter) -> None:
    """Other ones in each epoch and for each seed; what is read agrees with its targets."""
    item = Item.of(Lesson.of(EXAMPLE), setter)
    seen: dict[tuple[int, int], dict[str, Any]] = {}
    for seed in (0, 1):
        questions = Questions([item], setter, LAYOUT, seed=seed)
        for questions.epoch in (0, 1, 2):
            seen[seed, questions.epoch] = questions[0]
            assert questions[0]["windows"] == questions[0]["windows"]

    singer = setter.tokenizer.token_to_id("Seals")
    for row in seen.values():
        held = {
            span.sentence: singer in window.ids[span.start : span.end]
            for window in row["windows"]
            for span in window.spans
        }
        assert [held[n] for n in range(10)] == (row["targets"] > 0).tolist()
        assert 2 == sum(held.values())
    orders = [[window.ids for window in row["windows"]] for row in seen.values()]
    assert all(one != other for one, other in pairwise(orders))


def test_without_a_seed_all_is_read_in_order(setter: Setter) -> None:
    """As the trained model will read it."""
    item = Item.of(Lesson.of(EXAMPLE), setter)
    (row,) = [*Questions([item], setter, LAYOUT)]

    assert setter.windows(item.read, LAYOUT) == row["windows"]
    assert item.targets.tolist() == row["targets"].tolist()
    assert (16, len(NAMES)) == item.inputs.shape


def test_a_batch_numbers_sentences_through(setter: Setter) -> None:
    """The second question's begin behind the first's, and its targets in a row of their own."""
    item = Item.of(Lesson.of(EXAMPLE), setter)
    short = Item.of(Lesson.of(Example(EXAMPLE.query, DOCUMENTS[:1], EXAMPLE.answers)), setter)
    both = batch([*Questions([short, item], setter, LAYOUT)])
    places = [span.sentence for window in both["windows"] for span in window.spans]

    assert [*range(18)] == sorted(places)
    assert [[-1, 1], [NOTHING] * 14] == [
        both["labels"][0, :2].tolist(),
        both["labels"][0, 2:].tolist(),
    ]
    values = spread(torch.arange(18.0), both["labels"])
    assert [[0, 1], [*range(2, 18)]] == [values[0, :2].tolist(), values[1].tolist()]
