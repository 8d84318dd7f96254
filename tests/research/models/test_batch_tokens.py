"""Batches of local models: bounded by tokens, without a say in results, in which precision."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from ragsieve.models.base import Passage
from ragsieve_research.models.decoding import RowsDecoder
from ragsieve_research.models.provence import Provence
from ragsieve_research.models.sentence_transformers import LocalCrossEncoder, SentenceTransformer
from ragsieve_research.models.token_classifier import LocalTokenClassifier
from ragsieve_research.models.transformers import Transformers
from tests.research.models.test_decoding import CONTINUATIONS, END, tiny
from tests.research.models.test_provence import bert

BOUNDS = (16, 256, 10**6)
SENTENCE = "the a cat dog river town runs sleeps through old paris is capital"
WORDS = SENTENCE.split()
TEXTS = [" ".join((WORDS * 4)[n : n + 1 + 7 * n % 40]) for n in range(24)]


def embedder(make, _, bound):
    model = SentenceTransformer(str(make(WORDS, 64)), batch_tokens=bound)
    return model, model.net[0].auto_model, lambda: model.embed(TEXTS)


def spans(make, _, bound):
    model, net, _ = embedder(make, _, bound)
    return model, net, lambda: model.embed_spans(TEXTS, [[(0, len(t))] for t in TEXTS])


def cross_encoder(make, _, bound):
    folder = make(WORDS, 64, "BertForSequenceClassification", num_labels=1)
    model = LocalCrossEncoder(str(folder), batch_tokens=bound)
    return model, model.net.model, lambda: model.score([("the cat", t) for t in TEXTS])


def classifier(make, _, bound):
    folder = make(WORDS, 64, "BertForTokenClassification", num_labels=2)
    model = LocalTokenClassifier(str(folder), batch_tokens=bound)
    return model, model.net, lambda: [t.keep for some in model.classify(TEXTS) for t in some]


def pruner(make, folder, bound):
    model = Provence(str(bert(folder, make)), batch_tokens=bound)
    passages = [Passage("", [text]) for text in TEXTS]
    return model, model.net.encoder, lambda: model.prune(["the cat"], [passages])[0].sentences


ENCODERS = [embedder, spans, cross_encoder, classifier, pruner]


@contextmanager
def batches_of(net):
    """Rows and padded length of all that a net reads inside the block."""
    shapes = []
    words = net.get_input_embeddings()
    hook = words.register_forward_hook(lambda _, given, __: shapes.append((*given[0].shape,)))
    yield shapes
    hook.remove()


@pytest.mark.slow
@pytest.mark.parametrize("of", ENCODERS)
def test_a_batch_has_no_more_tokens_than_its_bound(of, make_encoder, tmp_path):
    """Padding counts; a longer text goes alone; numbers agree to 1e-5 whatever the bound is."""
    results, counts = [], []
    for bound in BOUNDS:
        _, net, call = of(make_encoder, tmp_path, bound)
        with batches_of(net) as shapes:
            results.append(np.array(call()))
        counts.append(len(shapes))

        assert all(rows * length <= bound or rows == 1 for rows, length in shapes)
    assert counts[0] > counts[1] >= counts[2]
    for other in results[1:]:
        assert np.allclose(results[0], other, atol=1e-5)


class Measured(RowsDecoder):
    """Keeps for how many rows of how many tokens it makes room."""

    def memory_of(self, rows, places, *, fresh=False):
        if not fresh:  # not for a close call, which is read alone
            self.rooms = [*getattr(self, "rooms", []), (rows, places)]
        return super().memory_of(rows, places, fresh=fresh)


def test_a_decoder_has_no_more_tokens_in_memory_than_its_bound():
    """Prompts with what they may write; replies are the same, probabilities to 1e-3."""
    prompts = [[*range(20, 22 + n)] for n in range(8)]
    replies, scores = [], []
    for bound in BOUNDS:
        decoder = Measured(tiny("float32"), eos=frozenset({END}), batch_tokens=bound)
        replies.append(decoder.generate(prompts, max_tokens=12))
        found = decoder.score(prompts, [CONTINUATIONS] * len(prompts))
        scores.append([value for some in found for row in some for value in row])

        assert all(rows * places <= bound or rows == 1 for rows, places in decoder.rooms)
    assert replies[0] == replies[1] == replies[2]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    assert scores[0] == pytest.approx(scores[2], abs=1e-3)


@pytest.mark.parametrize("kind", [LocalCrossEncoder, LocalTokenClassifier, Provence, Transformers])
def test_an_accelerator_computes_in_bfloat16(kind):
    """And a processor in float32; either may be asked for."""
    found = [
        kind("a", device=device).computed_dtype for device in ("cpu", "cuda", "cuda:1", "meta")
    ]

    assert ["float32", "bfloat16", "bfloat16", "bfloat16"] == found
    assert "float32" == kind("a", device="cuda", dtype="float32").computed_dtype


def test_vectors_are_of_float32_and_bfloat16_is_near(make_encoder):
    """An index serves elsewhere; bfloat16 has its own identity, and is near by 0.1."""
    names = [SentenceTransformer("a/b", device=d).identity for d in ("cpu", "cuda")]
    half = SentenceTransformer("a/b", device="cuda", dtype="auto")

    assert names[0] == names[1]
    assert f"{names[0]}:bfloat16" == half.identity

    folder = str(make_encoder(WORDS, 64))
    pairs = [("the cat", text) for text in TEXTS]
    judge = str(make_encoder(WORDS, 64, "BertForSequenceClassification", num_labels=1))
    whole, half = (SentenceTransformer(folder, dtype=d) for d in ("float32", "bfloat16"))
    scores = [LocalCrossEncoder(judge, dtype=d).score(pairs) for d in ("float32", "bfloat16")]
    vectors = half.embed(TEXTS)

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert np.allclose(whole.embed(TEXTS), vectors, atol=0.1)
    assert np.allclose(*scores, atol=0.1)


@torch.inference_mode()
def test_rows_are_read_where_the_model_is() -> None:
    """No tensor of a decoder is made elsewhere: on a device without numbers all steps run."""
    decoder = RowsDecoder(tiny("float32").to("meta"), eos=frozenset(), batch_tokens=10**4)
    memory = decoder.memory_of(2, 50)
    read = [memory.read([*range(20 + n)], n) for n in range(2)]
    memory.move(0, 1, 20)
    memory.copy(20)
    written = memory.extend([[5], [6]], [20, 21])

    assert {"meta"} == {logits.device.type for logits in [*read, written]}
    assert (2, 1) == written.shape[:2]
