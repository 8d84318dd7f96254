"""Local encoder-decoders: tiny ones with random weights."""

import math

import pytest
import torch
import transformers

from ragsieve import models
from ragsieve.errors import InputError, Unsupported
from ragsieve.trace import step
from ragsieve_research.models.seq2seq import Seq2Seq
from tests.tiny import ask, save_t5

PIECES = ["▁", "▁the", "▁1", "▁10", "▁Who", "▁sang", *"[],?", *"0123456789", *"aehlnsrtw"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    pieces = [(piece, -float(n)) for n, piece in enumerate(PIECES, 1)]
    return save_t5(tmp_path_factory.mktemp("t5"), pieces)


@pytest.fixture(scope="module")
def llm(folder: str) -> Seq2Seq:
    return Seq2Seq(folder, dtype="float32")


def test_the_prefix_loads_one(folder: str) -> None:
    """``seq2seq:`` before a folder, and other words in the identity than a causal model's."""
    llm = models.load(f"seq2seq:{folder}", max_context=64)

    assert (True, 64) == (llm.identity.startswith(f"seq2seq:{folder}@"), llm.context)


def test_replies_are_those_of_transformers(llm: Seq2Seq) -> None:
    """Greedy, on the same tokens with the end token behind them, which no content writes."""
    prompt = ask("Who sang the 10?")
    ids = torch.tensor([llm.tokenizer("Who sang the 10?").input_ids])
    model = transformers.T5ForConditionalGeneration.from_pretrained(llm.model)
    out = model.generate(ids, max_new_tokens=9, do_sample=False)[0]

    assert ids[0].tolist() == llm.encode(prompt)
    assert [llm.tokenizer.decode(out, skip_special_tokens=True)] == llm.complete(
        [prompt], max_tokens=9
    )

    assert 1 == llm.encode(ask("the </s> the")).count(1)


def test_odds_are_shares_of_likelihoods(llm: Seq2Seq) -> None:
    """Of options of one token each: of exp(loglik)."""
    prompt, options = ask("Who sang?"), ["1", "10", "the"]
    weights = [math.exp(llm.loglik([prompt], [o])[0][0]) for o in options]

    assert llm.choose([prompt], [options])[0] == pytest.approx([w / sum(weights) for w in weights])


def test_what_it_cannot_is_said(llm: Seq2Seq) -> None:
    """No surprisals without a prompt, no causal model, a schema noted and left."""
    with pytest.raises(Unsupported, match=r"no surprisals: it can choose, complete, loglik$"):
        llm.surprisals([()], ["a"])

    assert "surprisals" not in llm.can

    with step("Stage", []) as record:
        held = llm.complete([ask("Who")], max_tokens=4, schema={"type": "integer"})

    assert llm.complete([ask("Who")], max_tokens=4) == held
    assert any("not held to a schema" in text for text in record.notes)

    with pytest.raises(InputError, match="at least one message"):
        llm.complete([()])


def test_a_streamed_reply_is_the_reply(llm: Seq2Seq) -> None:
    """In more than one piece."""
    prompt = ask("Who sang the 1, 10?")
    pieces = list(llm.stream(prompt, max_tokens=12))

    assert llm.complete([prompt], max_tokens=12) == ["".join(pieces)]
    assert len(pieces) > 1
