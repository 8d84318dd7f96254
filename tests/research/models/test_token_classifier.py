"""Token classifiers: tiny encoders of random weights, laid out as LLMLingua-2's are published."""

from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models as kinds, pre_tokenizers

from ragsieve.trace import step
from ragsieve_research.models.token_classifier import LocalTokenClassifier

WORDS = ["the", "tower", "in", "paris", "by", "koech", "drew", "it"]
POSITIONS = 16  # of a chunk: 14 tokens between two
TEXT = "the tower in paris. koechlin drew it"


def bert(folder, make_encoder):
    """As ``llmlingua-2-bert-base-multilingual-cased-meetingbank``: a WordPiece tokenizer."""
    kind = "BertForTokenClassification"
    return make_encoder([*WORDS, "##lin"], POSITIONS, kind, num_labels=2)


def roberta(folder, _):
    """As ``llmlingua-2-xlm-roberta-large-meetingbank``: sentencepiece, two positions more."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*((s, 0.0) for s in special), ("▁", -5.0), (".", -3.0), ("lin", -3.0), ("你", -3.0)]
    pieces += [(f"▁{word}", -2.0) for word in WORDS]
    made = Tokenizer(kinds.Unigram(pieces, unk_id=3))
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    made.pre_tokenizer = pre_tokenizers.Sequence(split)
    names = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token"), special, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names).save_pretrained(folder)
    config = transformers.XLMRobertaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=POSITIONS + 2, vocab_size=len(pieces), initializer_range=0.5,
        pad_token_id=1, type_vocab_size=1, num_labels=2,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.XLMRobertaForTokenClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=[bert, roberta])
def folder(request, tmp_path_factory, make_encoder):
    return Path(request.param(tmp_path_factory.mktemp("classifier"), make_encoder))


def alone(classifier, pieces):
    """The softmax of transformers' own class over one chunk, the second label's."""
    tokenizer = classifier.tokenizer
    ids = tokenizer.convert_tokens_to_ids([tokenizer.cls_token, *pieces, tokenizer.sep_token])
    kind = transformers.AutoModelForTokenClassification
    with torch.inference_mode():
        logits = kind.from_pretrained(classifier.model)(input_ids=torch.tensor([ids])).logits
    return logits[0].softmax(-1)[1:-1, 1].tolist()


def pieces_of(folder, text):
    """Tokens by hand: a mark stands before a word, or before what goes on with one."""
    joined = text.replace(".", " .").replace("koechlin", "koech ##lin").split()
    if (folder / "vocab.txt").exists():
        return joined
    return [p.removeprefix("##") if p[0] in "#." else f"▁{p}" for p in joined]


def test_each_token_has_its_place_and_probability(folder):
    """Spans are of the text; a word begins behind a space, and a full stop is one."""
    classifier = LocalTokenClassifier(str(folder))
    (tokens,) = classifier.classify([TEXT])
    expected = ["the", "tower", "in", "paris", ".", "koech", "lin", "drew", "it"]

    assert expected == [TEXT[t.start : t.end] for t in tokens]
    assert [True] * 6 + [False] + [True] * 2 == [t.begins for t in tokens]
    assert alone(classifier, pieces_of(folder, TEXT)) == pytest.approx(
        [t.keep for t in tokens], abs=1e-5
    )


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ("the tower in paris. koechlin drew.", "it drew the tower it drew", 11 + 8),
        (" ".join(["tower"] * 14), "tower", 16 + 3),
    ],
)
def test_a_long_text_is_read_in_chunks_up_to_a_full_stop(folder, first, second, read):
    """Of 5 + 4 + 6 tokens 14 fit; without a full stop 14, then the rest."""
    classifier = LocalTokenClassifier(str(folder))
    with step("a step", []) as record:
        (tokens,) = classifier.classify([f"{first} {second}"])
    chunks = [alone(classifier, pieces_of(folder, text)) for text in (first, second)]

    assert [*chunks[0], *chunks[1]] == pytest.approx([t.keep for t in tokens], abs=1e-5)
    assert read == record.usages[0].tokens_in


def test_signs_of_the_tokenizer_in_a_text(folder, tmp_path):
    """A control token is unknown; a sign of white space may be an empty token."""
    classifier = LocalTokenClassifier(str(folder))
    control = classifier.tokenizer.sep_token
    (row,) = classifier.rows(classifier.text_tokenizer.encode(f"it {control} it"))

    assert [classifier.tokenizer.sep_token_id] == [n for n in row[1:] if n in (row[-1],)]

    (tokens,) = LocalTokenClassifier(str(roberta(tmp_path, None))).classify(["it 你"])

    assert [(0, 2, True), (3, 3, True), (3, 4, False)] == [
        (t.start, t.end, t.begins) for t in tokens
    ]
