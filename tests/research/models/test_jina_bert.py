"""JinaBERT: tiny ones with random weights, against BERT where both are the same."""

import json
import math

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file
from torch.nn import functional

from ragsieve.trace import step
from ragsieve_research.models.jina_bert import JinaBert, slopes
from ragsieve_research.models.pe_rank import named_encoder

DIM, HEADS, INNER, LAYERS = 12, 3, 20, 2
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ann", "sang", "it", "rained"]
KIND = {"position_embedding_type": "alibi", "feed_forward_type": "geglu", "auto_map": {"x": "y"}}


def tensors():
    """Of a JinaBERT, by the names that the published one has."""
    torch.manual_seed(0)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), DIM),
        "embeddings.token_type_embeddings.weight": (2, DIM),
    }
    norms = ["embeddings.LayerNorm"]
    for n in range(LAYERS):
        head = f"encoder.layer.{n}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{head}.attention.{part}.weight"] = (DIM, DIM)
            shapes[f"{head}.attention.{part}.bias"] = (DIM,)
        shapes[f"{head}.mlp.gated_layers.weight"] = (2 * INNER, DIM)
        shapes[f"{head}.mlp.wo.weight"] = (DIM, INNER)
        shapes[f"{head}.mlp.wo.bias"] = (DIM,)
        norms += [f"{head}.attention.output.LayerNorm", f"{head}.mlp.layernorm"]
    for name in norms:
        shapes |= {f"{name}.weight": (DIM,), f"{name}.bias": (DIM,)}
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def save(folder, prefix="", **changes):
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    save_file({prefix + k: t for k, t in tensors().items()}, folder / "model.safetensors")
    told = {"model_type": "bert", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    (folder / "config.json").write_text(json.dumps({**told, **KIND, **changes}))
    return folder


def by_hand(ids):
    """The vector of tokens, head by head and place by place, as the paper says it."""
    own = tensors()

    def linear(name, x):
        return x @ own[f"{name}.weight"].T + own.get(f"{name}.bias", 0.0)

    def norm(name, x):
        return functional.layer_norm(x, (DIM,), own[f"{name}.weight"], own[f"{name}.bias"], 1e-12)

    x = own["embeddings.word_embeddings.weight"][ids]
    x = norm("embeddings.LayerNorm", x + own["embeddings.token_type_embeddings.weight"][0])
    wide = DIM // HEADS
    for n in range(LAYERS):
        head = f"encoder.layer.{n}"
        q, k, v = (linear(f"{head}.attention.self.{p}", x) for p in ("query", "key", "value"))
        read = torch.zeros(len(ids), DIM)
        for h, slope in enumerate([1 / 16, 1 / 256, 1 / 4]):  # 2^-4, 2^-8, then 2^-2 of four heads
            part = slice(h * wide, (h + 1) * wide)
            for i in range(len(ids)):
                odds = q[i, part] @ k[:, part].T / math.sqrt(wide)
                odds = odds - slope * (torch.arange(len(ids)) - i).abs()
                read[i, part] = odds.softmax(-1) @ v[:, part]
        x = norm(
            f"{head}.attention.output.LayerNorm", x + linear(f"{head}.attention.output.dense", read)
        )
        both = linear(f"{head}.mlp.gated_layers", x)
        made = functional.gelu(both[:, :INNER]) * both[:, INNER:]
        x = norm(f"{head}.mlp.layernorm", x + linear(f"{head}.mlp.wo", made))
    mean = x.mean(0)
    return (mean / mean.norm()).tolist()


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_vector_is_the_papers(tmp_path, prefix):
    """[CLS] ann sang it [SEP]; tensors may be named as in a model with a head."""
    found = JinaBert(str(save(tmp_path, prefix))).embed(["Ann sang it", "Rained"])

    np.testing.assert_allclose([by_hand([2, 5, 6, 7, 3]), by_hand([2, 8, 3])], found, atol=1e-5)


def test_slopes_are_alibis():
    """Eight heads: 1/2 to 1/256; twelve: four more between them, of sixteen heads."""
    eight = [2.0**-n for n in range(1, 9)]

    assert eight == slopes(8)
    assert [*eight, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5] == slopes(12)


def test_a_long_text_ends_with_its_mark(tmp_path):
    """Its first tokens count, and the trace says so."""
    encoder = JinaBert(str(save(tmp_path)), max_tokens=4)
    with step("Stage") as record:
        found = encoder.embed(["ann sang it it it", "ann sang"])

    np.testing.assert_array_equal(found[0], found[1])
    assert (["a text has over 4 tokens: only these count"], [4, 4]) == (
        record.messages,
        [usage.tokens_in for usage in record.usages],
    )


def test_a_vector_is_alone_what_it_is_together(tmp_path):
    """Bit for bit; PE-Rank takes it though its configuration names code."""
    encoder, texts = JinaBert(str(save(tmp_path))), ["ann", "", "\ud800 it rained " * 9]
    together = encoder.embed(texts)

    np.testing.assert_array_equal(together, np.concatenate([encoder.embed([t]) for t in texts]))
    assert ((0, DIM), (3, DIM)) == (encoder.embed([]).shape, together.shape)

    assert JinaBert(str(save(tmp_path))) == named_encoder({"encoder_name": str(tmp_path)})
