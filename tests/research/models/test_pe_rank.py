"""PE-Rank: tiny models with random weights, as its authors' folders are laid out."""

import json
import zlib

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from ragsieve.errors import ModelError
from ragsieve.models.fake import HashingEmbedder
from ragsieve.trace import step
from ragsieve_research.models.pe_rank import PLACE, PERank
from ragsieve_research.models.sentence_transformers import SentenceTransformer
from tests.tiny import save_bytes

SIZE, HIDDEN = 8, 32
TEXTS = ["Ann sang it.", "It rained.", "Cats sing.", "Bob wrote it in 1972.", ""]
FORMAT = "<s>[INST] {{ messages[0]['content'] }} [/INST]"


def save(folder, kind="mlp2x_gelu", **changes):
    """A tiny Mistral with a projector; ``changes`` are to what its configuration says."""
    specials = ["<s>", "</s>", "[INST]", "[/INST]", PLACE]
    ends = {"bos_token": "<s>", "eos_token": "</s>"}
    words = save_bytes(folder, TEXTS, specials, 320, FORMAT, **ends)
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=words, initializer_range=0.5, sliding_window=None,
        max_position_embeddings=changes.pop("positions", 512),
    )  # fmt: skip
    transformers.MistralForCausalLM(config).save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    parts = {"0": (HIDDEN, SIZE), "2": (HIDDEN, HIDDEN)} if kind.startswith("mlp") else {}
    if kind == "linear":
        parts = {"": (HIDDEN, SIZE)}
    for name, shape in parts.items():
        head = f"model.projector.{name}.".replace("..", ".")
        tensors |= {f"{head}weight": torch.randn(shape), f"{head}bias": torch.randn(shape[0])}
    tensors["model.encoder.encoder.embeddings.weight"] = torch.zeros(2, 2)  # is left out
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    told = json.loads((folder / "config.json").read_text())
    told |= {"model_type": "embed_mistral", "architectures": ["EmbedMistralForRankLM"]}
    told |= {"encoder_name": "fake", "encoder_pooling": "mean"}
    told |= {"projector_type": kind, "embedding_size": SIZE, **changes}
    told = {key: value for key, value in told.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("pe_rank"))


class Random:
    """Embeds every text as a random vector of its own."""

    identity = "random"

    def embed(self, texts, *, query=False):
        assert not query
        seeds = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
        rows = [np.random.default_rng(seed).normal(size=SIZE) for seed in seeds]
        found = np.array(rows, np.float32).reshape(len(texts), SIZE)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def ranker(folder, **options):
    return PERank(str(folder), **{"encoder": Random(), "dtype": "float32", **options})


def by_definition(folder, model, question, texts):
    """Every step from the start: the whole prompt and all passages chosen so far, no cache."""
    told = json.loads((folder / "config.json").read_text())
    config = transformers.MistralConfig.from_dict({**told, "model_type": "mistral"})
    lm = transformers.MistralModel.from_pretrained(folder, config=config, dtype=torch.float32)
    tensors = load_file(folder / "model.safetensors")
    w1, b1, w2, b2 = (
        tensors[f"model.projector.{n}.{part}"] for n in "02" for part in ("weight", "bias")
    )
    vectors = torch.from_numpy(Random().embed(texts))
    passages = torch.nn.functional.gelu(vectors @ w1.T + b1) @ w2.T + b2
    ids = torch.tensor(model.tokens(question, len(texts)))
    rows = lm.embed_tokens(ids)
    rows[ids == model.place] = passages
    order = []
    while len(order) < len(texts):
        read = torch.cat([rows, passages[order]])
        odds = passages @ lm(inputs_embeds=read[None]).last_hidden_state[0, -1]
        odds[order] = -torch.inf
        order.append(int(odds.argmax()))
    return order


def test_the_order_is_the_papers(folder):
    """The largest product with the last state is next; an order is of question and all passages."""
    model = ranker(folder)
    questions = ["Who sang it?", "Did it rain?", "When?"]
    with torch.no_grad():
        expected = [by_definition(folder, model, question, TEXTS) for question in questions]

    assert expected == model.rank(questions, [TEXTS] * 3)
    assert all([*range(5)] == sorted(order) for order in expected)

    model = ranker(folder)
    lists = [[f"{n} {'x' * m}" for m in range(6)] for n in range(8)]
    first, second = (model.rank([asked] * 8, lists) for asked in ("Who?", "When did it rain?"))

    assert first != second
    assert len({tuple(order) for order in first}) > 1 or len({tuple(o) for o in second}) > 1


def test_a_question_opens_no_token_in_any_words(folder):
    """What it says never ends the turn; other words are part of the identity."""
    model = ranker(folder)
    tokens = model.tokens(f"{PLACE} [/INST] </s> \ud800", 2)
    special = model.tokenizer.convert_tokens_to_ids([PLACE, "[/INST]", "</s>"])

    assert [2, 1, 0] == [tokens.count(token) for token in special]
    assert [0, 1] == sorted(model.rank([PLACE], [["a", PLACE]])[0])

    model = ranker(folder, prompt="$most texts:\n$documents\nBest for $question?")
    text = model.tokenizer.decode(model.tokens("Who?", 2))

    assert f"[INST] 2 texts:\nPassage 1: [{PLACE}]\n\nPassage 2: [{PLACE}]\nBest for Who?" in text
    assert model.identity != ranker(folder).identity
    assert model.identity.startswith(f"pe_rank:{folder}@")


@pytest.mark.parametrize("kind", ["linear", "mlp2x_gelu"])
def test_a_projector_is_what_the_configuration_says(tmp_path, kind):
    """One map, or two with a GELU between."""
    model = ranker(save(tmp_path, kind))
    vector = torch.ones(1, SIZE)
    tensors = load_file(tmp_path / "model.safetensors")
    if kind == "linear":
        expected = vector @ tensors["model.projector.weight"].T + tensors["model.projector.bias"]
    else:
        inner = vector @ tensors["model.projector.0.weight"].T + tensors["model.projector.0.bias"]
        gelu = torch.nn.functional.gelu(inner)
        expected = gelu @ tensors["model.projector.2.weight"].T + tensors["model.projector.2.bias"]

    torch.testing.assert_close(expected, model.projector(vector))


def test_it_is_asked_as_its_authors_ask(folder):
    """The question stands before and behind the list, and the turn ends with two line ends."""
    text = ranker(folder).tokenizer.decode(ranker(folder).tokens("Who?", 2))

    assert (
        "<s>[INST] I will provide you with 2 passages, each with a special token representing the "
        "passage enclosed in [], followed by original text.\n"
        "Rank the passages based on their relevance to the search query: Who?.\n"
        f"Passage 1: [{PLACE}]\n\n"
        f"Passage 2: [{PLACE}]\n\n"
        "Search Query: Who?.\n"
        "Rank the 2 relatively ordered passages above based on their relevance to the search "
        "query, output the ranking in descending order. Only output the 2 unique special token in "
        "the ranking.\n\n [/INST]"
    ) == text


def test_what_was_read_is_charged(folder):
    """Tokens of the prompt in, a passage each out."""
    model = ranker(folder, encoder=HashingEmbedder(SIZE))
    with step("Stage") as record:
        model.rank(["Who?"], [["a", "b c"]])
    usages = [usage for usage in record.usages if usage.model == model.identity]

    assert [(len(model.tokens("Who?", 2)), 2)] == [(u.tokens_in, u.tokens_out) for u in usages]


def test_the_encoder_is_the_configurations(tmp_path, make_encoder):
    """Where none is passed; an encoder with code of its own is refused."""
    encoder = make_encoder(["ann", "sang"], 32)
    save(tmp_path, embedding_size=16, encoder_name=str(encoder))
    chosen = PERank(str(tmp_path)).passage_encoder
    told = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps({**told, "auto_map": {"AutoModel": "x.Y"}}))

    assert SentenceTransformer(str(encoder)) == chosen
    with pytest.raises(ModelError, match="needs code of its own, which is not run"):
        _ = PERank(str(tmp_path)).passage_encoder
