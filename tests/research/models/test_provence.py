"""Provence models: tiny encoders of random weights with two heads, laid out as published."""

import json
import math
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from ragsieve.models.base import Passage, Pruned
from ragsieve.models.windows import NOTHING
from ragsieve.trace import Usage, step
from ragsieve_research.models.provence import Provence
from ragsieve_research.models.provence_net import TwoHeads, WordTokenizer, load_net
from tests.tiny import save_unigram

TEXT = "the a cat dog river town runs sleeps through old paris is capital of france"
WORDS = TEXT.split()
POSITIONS = 40
CITY = Passage("paris", ["paris is the capital of france.", "the old river runs."])
PETS = Passage("", ["a cat runs.", "", "the dog sleeps."])
LONG = Passage("the river", [f"{' '.join(WORDS[n : n + 5])}." for n in range(9)])
QUESTION = "is paris the capital?"


def save(net, prefix, folder):
    """Write the weights with the encoder's below its name, and the heads."""
    tensors = {n.replace("encoder.", prefix, 1): t for n, t in net.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")


def bert(folder, make_encoder):
    """A BERT below ``bert.``."""
    shutil.copytree(make_encoder(WORDS, POSITIONS), folder, dirs_exist_ok=True)
    save(TwoHeads(transformers.BertModel.from_pretrained(folder)), "bert.", folder)
    return folder


def deberta(folder, _):
    """What is published: a DeBERTa-v3 whose configuration only its own code knows."""
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    _, size = save_unigram(folder, special, WORDS, **names)
    config = transformers.DebertaV2Config(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=POSITIONS, vocab_size=size, initializer_range=0.3,
        relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
        pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0,
    )  # fmt: skip
    save(TwoHeads(transformers.DebertaV2Model(config), scores=2), "deberta.", folder)
    own = {"model_type": "Provence", "architectures": ["Provence"]}
    own["auto_map"] = {"AutoConfig": "code.ProvenceConfig", "AutoModel": "code.Provence"}
    (folder / "config.json").write_text(json.dumps({**config.to_dict(), **own}))
    (folder / "code.py").write_text("raise SystemExit('this code must never run')")
    return folder


def xlm_roberta(folder, _):
    """XProvence: an XLM-RoBERTa that keeps its own pooler."""
    names = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    _, size = save_unigram(folder, ["<s>", "<pad>", "</s>", "<unk>"], WORDS, **names)
    config = transformers.XLMRobertaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=POSITIONS + 2, vocab_size=size, initializer_range=0.3,
        type_vocab_size=1,
    )  # fmt: skip
    save(TwoHeads(transformers.XLMRobertaModel(config), scores=2), "roberta.", folder)
    tensors = load_file(folder / "model.safetensors")
    moved = {n.replace("pooler.", "roberta.pooler."): tensor for n, tensor in tensors.items()}
    save_file(moved, folder / "model.safetensors")
    own = {"model_type": "XProvence", "architectures": ["XProvence"]}
    (folder / "config.json").write_text(json.dumps({**config.to_dict(), **own}))
    return folder


@pytest.fixture(scope="module", params=[bert, deberta, xlm_roberta])
def folder(request, tmp_path_factory, make_encoder):
    make = request.param
    torch.manual_seed(0)
    return make(tmp_path_factory.mktemp(make.__name__), make_encoder)


def by_hand(folder, rows):
    """Score and mean keep-probability of each sentence of a short passage, by plain torch."""
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)

    def tokens(text):
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    ids = [tokenizer.cls_token_id, *tokens(QUESTION), tokenizer.sep_token_id]
    spans = []
    for words in rows:
        start = len(ids)
        ids += [token for word in words for token in tokens(word)]
        spans.append((start, len(ids)))
    net = load_net(folder)
    with torch.no_grad():
        both = net(torch.tensor([[*ids, tokenizer.sep_token_id]]), torch.ones(1, len(ids) + 1))[0]
    keep = torch.sigmoid(both[:, 0])
    return float(both[0, 1]), [float(keep[a:b].mean()) for a, b in spans]


def test_xprovence_is_the_formula_of_its_authors(tmp_path, make_encoder):
    """``<s> question </s> passage </s>``; the encoder's own pooler, then a linear map, scores."""
    folder = xlm_roberta(tmp_path, make_encoder)
    tensors = load_file(folder / "model.safetensors")
    config = transformers.XLMRobertaConfig.from_json_file(folder / "config.json")
    encoder = transformers.XLMRobertaModel(config).eval()
    inside = {n.removeprefix("roberta."): t for n, t in tensors.items() if n.startswith("roberta.")}
    encoder.load_state_dict(inside)
    read = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    question, passage = (
        read(text, add_special_tokens=False)["input_ids"] for text in (QUESTION, said(CITY))
    )
    with torch.no_grad():
        out = encoder(torch.tensor([[0, *question, 2, *passage, 2]]))  # of <s> and </s>
    score = out.pooler_output @ tensors["classifier.weight"].T + tensors["classifier.bias"]
    both = out[0] @ tensors["token_classifier.weight"].T + tensors["token_classifier.bias"]
    keep = both.softmax(-1)[0, 2 + len(question) : -1, 1]
    first = len(read(CITY.sentences[0], add_special_tokens=False)["input_ids"])
    model = Provence(str(folder), dtype="float32")
    untitled = Passage("", CITY.sentences)

    assert model.score([(QUESTION, said(CITY))])[0] == pytest.approx(float(score[0, 0]), abs=1e-5)
    assert sentences(model, untitled) == pytest.approx(
        [float(keep[:first].mean()), float(keep[first:].mean())], abs=1e-5
    )
    assert 0.1 == model.min_score


def sentences(model, *passages, asked=QUESTION):
    """What is said of the sentences of one question's passages."""
    return model.prune([asked], [passages])[0].sentences


def test_one_pass_scores_passage_and_sentences(folder):
    """The title stands in front; a sentence has the mean of its tokens, one without words 0."""
    model = Provence(str(folder), dtype="float32")
    score, (_, *means) = by_hand(folder, [["paris:"], *(s.split() for s in CITY.sentences)])
    (found,) = model.prune([QUESTION], [[CITY]])

    assert pytest.approx(means, abs=1e-5) == found.sentences
    assert [pytest.approx(1 / (1 + math.exp(-score)), abs=1e-5)] == found.passages
    assert pytest.approx(score, abs=1e-5) == model.score([(QUESTION, f"paris: {said(CITY)}")])[0]
    assert 0.0 == sentences(model, PETS)[1]


def said(passage):
    return " ".join(passage.sentences)


def test_what_was_scored_is_not_read_again(folder):
    """The passage as one text and as title and sentences is one reading, charged once."""
    model = Provence(str(folder))
    with step("score") as scoring:
        model.score([(QUESTION, f"the river: {said(LONG)}"), (QUESTION, said(PETS))])
    with step("prune") as pruning:
        model.prune([QUESTION], [[PETS, LONG]])
    paid = scoring.usages

    assert [False, False] == [usage.cached for usage in paid]
    total = sum(usage.tokens_in for usage in paid)
    assert [Usage(model.identity, total, cached=True)] == pruning.usages


def test_a_long_passage_goes_in_windows(folder):
    """All sentences are judged; the score is the best window's; a long word is not cut off."""
    model = Provence(str(folder), dtype="float32")
    with step("prune") as record:
        found = sentences(model, LONG)
    long_word = sentences(model, Passage("", ["." * 100, "a cat runs."]))

    assert 9 == len(found)
    assert all(0 < value < 1 for value in [*found, *long_word])
    assert POSITIONS < record.usages[0].tokens_in


def test_hostile_text_is_text(folder):
    """Marks of the encoder in a text are words to it; control characters and surrogates pass."""
    model = Provence(str(folder), dtype="float32")
    odd = Passage("\ud800", ["[SEP] [CLS]", "\x00\x1f", " ", "\u202e", "a" * 10_000])
    found = sentences(model, odd, asked="\udfff")
    tokenizer = WordTokenizer(folder, POSITIONS)
    names = ["<pad>", "a", "</s>", "<s>", "[PAD]", "a", "[SEP]", "[CLS]"]
    ((window,),) = tokenizer.lay("[SEP] </s>", [names]).windows
    start, *inside, end = window.ids
    inside.remove(end)  # behind the question

    assert 5 == len(found)
    assert 0.0 == found[2]
    assert {start, end} <= tokenizer.control
    assert not tokenizer.control & {*inside}


def test_a_passage_without_words_comes_last(folder):
    """Its score is lower than that of any other; nothing asked is nothing said."""
    model = Provence(str(folder))
    scores = model.score([(QUESTION, ""), (QUESTION, "a")])

    assert NOTHING == scores[0] < scores[1]
    assert Pruned([], [0.0]) == model.prune([QUESTION], [[Passage("", [])]])[0]
    assert [[], []] == [
        one.sentences for one in model.prune(["a", "b"], [[], [Passage("cat", [])]])
    ]
    assert (0,) == model.score([]).shape


def test_a_long_question_is_cut_and_told(folder):
    """Only the first tokens count: an eighth of what the encoder reads."""
    model = Provence(str(folder), dtype="float32")
    with step("prune") as record:
        long = sentences(model, PETS, asked=" ".join(["cat"] * 50))

    assert ["the question has over 5 tokens: only these count"] == record.messages
    assert long == sentences(model, PETS, asked=" ".join(["cat"] * 5))
