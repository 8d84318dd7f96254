"""Local bi- and cross-encoders: tiny ones with random weights, and the default bi-encoder."""

import numpy as np
import pytest
import sentence_transformers
import torch
import transformers

from ragsieve.errors import ModelError
from ragsieve.trace import Usage, step
from ragsieve_research.models.sentence_transformers import LocalCrossEncoder, SentenceTransformer
from tests.tiny import save_adapter

LIMIT = 32  # tokens that the tiny models read
SENTENCE = "the a cat dog river town runs sleeps through old paris is capital of france ask tell"
WORDS = SENTENCE.split()
TEXTS = [
    " ".join((WORDS * 3)[n : n + size]) for n, size in enumerate([1, 2, 5, 9, 20, 5, 5, 13, 0])
]

SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}


@pytest.fixture(scope="module")
def save(make_encoder):
    """Makes a folder with a tiny BERT of random weights and a tokenizer that knows `WORDS`."""
    return lambda kind, **options: str(make_encoder(WORDS, LIMIT, kind, **SIZES, **options))


@pytest.fixture(scope="module")
def bert(save):
    return save("BertModel")


@pytest.fixture(scope="module")
def embedder(bert, tmp_path_factory):
    """A bi-encoder with a prompt for what asks and one for what is asked."""
    folder = str(tmp_path_factory.mktemp("bi-encoder"))
    prompts = {"query": "ask ", "document": "tell "}
    sentence_transformers.SentenceTransformer(bert, prompts=prompts).save(folder)
    return SentenceTransformer(folder)


@pytest.fixture(scope="module")
def scorer(save):
    return LocalCrossEncoder(save("BertForSequenceClassification", num_labels=1))


def test_a_span_is_the_mean_of_its_tokens_states(embedder):
    """Read in its text, which is read once where it fits; of unit length, by transformers' own."""
    texts = ["the cat runs. the dog sleeps.", "", "paris is the capital."]
    spans = [[(0, 13), (14, 29), (13, 14)], [], [(0, 5)]]
    found = embedder.embed_spans(texts, spans)
    tokenizer, encoder = embedder.net.tokenizer, embedder.net[0]
    with torch.inference_mode():
        batch = tokenizer([texts[0]], return_tensors="pt")
        states = encoder(dict(batch))["token_embeddings"][
            0, 1:-1
        ]  # the cat runs . the dog sleeps .
    expected = [states[:4].mean(0), states[4:].mean(0)]

    assert [3, 0, 1] == [len(some) for some in found]
    for row, mean in zip(found[0], expected, strict=False):
        assert np.allclose((mean / mean.norm()).numpy(), row, atol=1e-5)
    assert not np.any(found[0][2])
    assert np.allclose(found[2], embedder.embed_spans(texts[2:], spans[2:])[0], atol=1e-5)


def test_a_long_text_is_read_in_windows(embedder):
    """Of 30 tokens: a span that starts behind them is as in a text that begins with it."""
    words = (WORDS * 3)[:40]
    text, tail = " ".join(words), " ".join(words[30:])
    start = len(text) - len(tail)
    with step("a step", []) as record:
        (behind,) = embedder.embed_spans([text], [[(0, 3), (start, len(text))]])
        embedder.embed_spans([text], [[(0, len(text))]])

    assert np.allclose(embedder.embed_spans([tail], [[(0, len(tail))]])[0][0], behind[1], atol=1e-5)
    assert ["a sentence has over 30 tokens: only these count"] == record.messages


def test_vectors_and_scores_are_those_of_sentence_transformers(embedder, scorer):
    """To 1e-5 with its own prompts, and the logit before any activation to 1e-4."""
    inner = sentence_transformers.SentenceTransformer(embedder.model, device="cpu")
    asked = inner.encode_query(TEXTS, normalize_embeddings=True)
    told = inner.encode_document(TEXTS, normalize_embeddings=True)

    assert np.allclose(asked, embedder.embed(TEXTS, query=True), atol=1e-5)
    assert np.allclose(told, embedder.embed(TEXTS), atol=1e-5)
    assert not np.allclose(asked, told, atol=1e-2)

    inner = sentence_transformers.CrossEncoder(scorer.model, device="cpu")
    pairs = [(text, "the cat sleeps") for text in TEXTS]
    expected = inner.predict(pairs, activation_fn=torch.nn.Identity())

    assert np.allclose(expected, scorer.score(pairs), atol=1e-4)


def test_an_item_is_charged_its_tokens(embedder, scorer):
    """With the model's prompt and marks, and no more than it reads."""
    with step("test") as seen:
        embedder.embed(["cat", " ".join(WORDS * 4)])
        scorer.score([("cat", "dog")])
    cut = "a text has over 32 tokens: only these count"

    assert [
        Usage(embedder.identity, 4, embedded=True),  # [CLS] tell cat [SEP]
        Usage(embedder.identity, LIMIT, note=cut, embedded=True),
        Usage(scorer.identity, 5),  # [CLS] cat [SEP] dog [SEP]
    ] == seen.usages


def tuned(base, folder):
    model = transformers.BertModel.from_pretrained(base)
    return save_adapter(model, folder, ["query", "value"])


def test_an_adapter_changes_vectors_and_identity(bert, tmp_path, save):
    """To 1e-5 as PEFT runs it; two folders of other weights are told apart, too."""
    bare = SentenceTransformer(bert)
    embedder = SentenceTransformer(bert, adapter=tuned(bert, tmp_path / "lora"))
    vectors = embedder.embed(TEXTS)
    inner = sentence_transformers.SentenceTransformer(bert, device="cpu")
    inner.load_adapter(embedder.adapter)

    assert np.allclose(inner.encode(TEXTS, normalize_embeddings=True), vectors, atol=1e-5)
    assert not np.allclose(bare.embed(TEXTS), vectors, atol=1e-2)
    assert embedder.identity.startswith(f"{bare.identity}+{embedder.adapter}@")

    first, second = (save("BertModel") for _ in range(2))
    marks = {SentenceTransformer(path).identity.split("@")[1] for path in (first, second)}

    assert 2 == len(marks)


def test_a_cross_encoder_has_one_output(bert, save):
    """Of three nobody could say which is the score; a missing head is not made up."""
    with pytest.raises(ModelError, match="must be a cross-encoder"):
        LocalCrossEncoder(bert).score([("a", "b")])

    path = save("BertForSequenceClassification", num_labels=3)
    with pytest.raises(ModelError, match="must have one output, it has 3"):
        LocalCrossEncoder(path).score([("a", "b")])
