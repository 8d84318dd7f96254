"""OpenProvence, Zilliz's highlighting: tiny rerankers of random weights, laid out as published."""

import json
from itertools import pairwise

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models as kinds, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

from ragsieve.models.base import Passage
from ragsieve.trace import step
from ragsieve_research.models.provence import Provence
from tests.tiny import save_unigram

TEXT = "The the a cat dog river town runs sleeps through old Paris is capital of France"
WORDS = TEXT.split()
QUESTION = "Is Paris the capital?"
SENTENCES = ["Paris is the capital of France.", "The old river runs.", "A dog sleeps."]
SIZES = {"hidden_size": 16, "intermediate_size": 32, "initializer_range": 0.3}
SIZES |= {"num_hidden_layers": 2, "num_attention_heads": 2}
ENDS = {"pad_token_id": 1} | dict.fromkeys(("bos_token_id", "cls_token_id"), 0)
ENDS |= dict.fromkeys(("eos_token_id", "sep_token_id"), 2)


def tokenizer(folder, made, cls, sep, pair):
    """Write ``tokenizer.json``, which puts control tokens around two texts; its size."""
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<cls>", "<sep>"])
    ids = [(name, made.token_to_id(name)) for name in ("<s>", "</s>")]
    made.post_processor = TemplateProcessing(single="<s> $A </s>", pair=pair, special_tokens=ids)
    names = {"cls_token": cls, "sep_token": sep, "pad_token": "<pad>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names).save_pretrained(folder)
    return int(made.get_vocab_size())


def bpe(folder, cls, sep, pair):
    """ModernBERT's kind: bytes, in which a word with a space before it is another token."""
    made = Tokenizer(kinds.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learn = trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([f"{TEXT} {' '.join(SENTENCES)}"] * 3, learn)
    return tokenizer(folder, made, cls, sep, pair)


def modernbert(folder):
    """gte's: the configuration is as transformers 4.57 wrote it."""
    size = bpe(folder, "<s>", "</s>", "<s> $A </s> $B:1 </s>:1")
    config = {**SIZES, "model_type": "modernbert", "vocab_size": size, "local_attention": 8}
    config |= {"global_attn_every_n_layers": 2, "max_position_embeddings": 64}
    config |= {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0}
    config |= {"classifier_pooling": "mean", "reference_compile": False, "torch_dtype": "float32"}
    return config | ENDS


def ruri(folder):
    """The other sizes': a ModernBERT whose tokenizer is a Llama's, with two starts in a pair."""
    bpe(folder, "<cls>", "<sep>", "<s> $A </s> <s>:1 $B:1 </s>:1")
    return modernbert_like(folder)


def modernbert_like(folder):
    """A ModernBERT for the tokenizer that lies there, which it pools at its first token."""
    read = Tokenizer.from_file(str(folder / "tokenizer.json"))
    base = {**SIZES, "model_type": "modernbert", "vocab_size": read.get_vocab_size()}
    return base | ENDS | {"classifier_pooling": "cls", "max_position_embeddings": 64}


def xlm_roberta(folder):
    """Zilliz's: a BGE reranker, two separators in a pair."""
    made, _ = save_unigram(folder, ["<s>", "<pad>", "</s>", "<unk>"], WORDS)
    size = tokenizer(folder, made, "<s>", "</s>", "<s> $A </s> </s> $B </s>")
    config = {**SIZES, "model_type": "xlm-roberta", "vocab_size": size, "type_vocab_size": 1}
    return config | {"pad_token_id": 1, "max_position_embeddings": 66}


def published(folder, make, **changes):
    """Write such a folder; the reranker and the head that are in it."""
    torch.manual_seed(0)
    base = make(folder)
    config = {
        "model_type": "open_provence",
        "architectures": ["OpenProvenceForSequenceClassification"],
        "auto_map": {"AutoModel": "code.OpenProvenceForSequenceClassification"},
        "mode": "reranking_pruning",
        "base_model_name_or_path": "somebody/reranker",
        "base_model_config": base,
        "tokenizer_name_or_path": None,
        "pruning_config": {"hidden_size": 16, "num_labels": 2, "sentence_pooling": "mean"},
        "max_length": 48,
        "num_labels": 1,
        "num_pruning_labels": 2,
        "encoder_architecture": base["model_type"],
        **changes,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text("raise SystemExit('this code must never run')")
    kind, rest = base["model_type"], {k: v for k, v in base.items() if k != "model_type"}
    made = transformers.AutoConfig.for_model(kind, **rest, num_labels=1)
    ranking = transformers.AutoModelForSequenceClassification.from_config(made).eval()
    for parameter in ranking.parameters():  # norms, too, do something
        parameter.data += 0.1 * torch.randn_like(parameter)
    head = torch.nn.Linear(16, 2)
    tensors = {f"ranking_model.{n}": t for n, t in ranking.state_dict().items()}
    tensors |= {f"pruning_head.classifier.{n}": t for n, t in head.state_dict().items()}
    save_file({n: t.clone() for n, t in tensors.items()}, folder / "model.safetensors")
    return ranking, head


def by_hand(folder, ranking, head):
    """The authors' formula: the reranker reads the pair, the head its last layer's states. A
    sentence has the mean over its tokens of the softmax's second value; where its tokens are is
    found by tokenizing question and text up to its end."""
    read = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pairs = [(QUESTION, " ".join(SENTENCES[:n])) for n in range(len(SENTENCES) + 1)]
    ids = read.encode(*pairs[-1]).ids
    ends = [len(read.encode(*pair).ids) - 1 for pair in pairs]  # but for the last control token
    tensor = torch.tensor([ids])
    whole = torch.ones_like(tensor)
    with torch.no_grad():
        score = float(ranking(tensor, attention_mask=whole).logits[0, 0])
    encoder = ranking.base_model
    if hasattr(encoder, "final_norm"):  # in transformers 4 it comes behind the last hidden_states
        encoder.final_norm = torch.nn.Identity()
    with torch.no_grad():
        states = encoder(tensor, attention_mask=whole).last_hidden_state
        keep = head(states)[0].softmax(-1)[:, 1]
    return score, [float(keep[a:b].mean()) for a, b in pairwise(ends)]


@pytest.mark.parametrize("make", [modernbert, ruri, xlm_roberta])
def test_it_is_the_formula_of_its_authors(make, tmp_path):
    """Score of the passage and means of its sentences, of one pass over the pair."""
    ranking, head = published(tmp_path, make)
    model = Provence(str(tmp_path), dtype="float32")
    with step("score"):
        found = model.score([(QUESTION, " ".join(SENTENCES))])[0]
    with step("prune") as pruning:
        (pruned,) = model.prune([QUESTION], [[Passage("", SENTENCES)]])
    score, means = by_hand(tmp_path, ranking, head)

    assert pytest.approx(score, abs=1e-4) == found
    assert pytest.approx(means, abs=1e-4) == pruned.sentences
    assert [True] == [usage.cached for usage in pruning.usages]
    assert len({round(mean, 3) for mean in means}) == len(SENTENCES)  # else any order would do


@pytest.mark.parametrize("make", [modernbert, xlm_roberta])
def test_a_long_passage_goes_in_windows_of_its_length(make, tmp_path):
    """``max_length`` of the configuration is a window's, where the encoder reads so many."""
    published(tmp_path, make)
    model = Provence(str(tmp_path))
    long = Passage("Paris", SENTENCES * 8)
    with step("prune") as record:
        (pruned,) = model.prune([QUESTION], [[long]])

    assert 24 == len(pruned.sentences)
    assert all(0 < value < 1 for value in pruned.sentences)
    assert record.usages[0].tokens_in > 48
    assert 48 == model.net.size


def test_weights_of_the_earlier_form_load_alike(tmp_path):
    """The reranker's tensors had their own names; weights that nothing reads are left out."""
    published(tmp_path, modernbert)
    before = Provence(str(tmp_path)).score([(QUESTION, SENTENCES[0])])[0]
    tensors = load_file(tmp_path / "model.safetensors")
    renamed = {n.removeprefix("ranking_model."): tensor for n, tensor in tensors.items()}
    renamed["pruning_head.pooling_weights.weight"] = torch.zeros(1, 16)
    save_file(renamed, tmp_path / "model.safetensors")

    assert before == Provence(str(tmp_path)).score([(QUESTION, SENTENCES[0])])[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0.1),
        ({"default_threadshold": None}, 0.1),
        ({"default_threadshold": 0.05}, 0.05),
        ({"default_threshold": 0.5}, 0.5),
    ],
)
def test_the_configuration_says_where_to_cut(changes, expected, tmp_path):
    """By the name that its authors misspelt, or the right one; 0.1 as their code without."""
    published(tmp_path, xlm_roberta, **changes)

    assert expected == Provence(str(tmp_path)).min_score
