"""Provence (arXiv 2501.16214) worked by hand: section 3, from two documents to kept sentences.

An encoder without layers, whose hidden states are of length 2: its last step evens out an embedding
(1, 0) to (1, -1), and (0, 1) to (-1, 1). The head of tokens takes log 3 times the first place for
keep, 0 for drop: a word of the first kind is kept with 3 / (3 + 1) = 3/4, one of the second with
(1/3) / (1/3 + 1) = 1/4. Of the first kind are: seals, crofts, sang.

    song   a  seals and crofts sang .        3/4 1/4 3/4 3/4 1/4     mean 11/20 = 0.55
           b  it rained .                    1/4 1/4 1/4             mean 0.25
           c  she sang .                     1/4 3/4 1/4             mean 5/12 = 0.417
    wind   d  the wind blew .                all 1/4                 mean 0.25

Kept from a mean of 0.4: a and c; as votes of tokens that reach 1/2: a 3/5, c 1/3, so that from half
of the tokens only a stays. The ranking by another model puts the second document first.
"""

import math

import pytest
import torch
import transformers
from safetensors.torch import save_file

from ragsieve.models.base import Passage
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.models.provence import Provence
from ragsieve_research.models.provence_net import TwoHeads
from ragsieve_research.systems.provence import provence
from tests.tiny import Scores

pytestmark = pytest.mark.usefixtures("one_thread")

QUESTION = "who sang it"
A, B, C, D = "seals and crofts sang.", "it rained.", "she sang.", "the wind blew."
DOCUMENTS = [f"{A} {B} {C}", D]
CLUES = ["seals", "crofts", "sang"]
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ":"]
OTHERS = [*MARKS, "a", "and", "it", "rained", "she", "the", "wind", "blew", "who"]
LLM = ScriptedLLM(lambda _: "seals and crofts")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The encoder of the figure; the head of passages counts for nothing here."""
    folder = tmp_path_factory.mktemp("pruner")
    words = [*OTHERS, *CLUES]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        hidden_size=2, num_hidden_layers=0, num_attention_heads=1, vocab_size=len(words)
    )
    config.save_pretrained(folder)
    weights = TwoHeads(transformers.BertModel(config)).state_dict()
    tensors = {n.replace("encoder.", "bert.", 1): torch.zeros_like(w) for n, w in weights.items()}
    kinds = [[1.0, 0.0] if word in CLUES else [0.0, 1.0] for word in words]
    tensors["bert.embeddings.word_embeddings.weight"] = torch.tensor(kinds)
    tensors["bert.embeddings.LayerNorm.weight"] = torch.ones(2)
    tensors["token_classifier.weight"] = torch.tensor([[0.0, 0.0], [math.log(3), 0.0]])
    save_file(tensors, folder / "model.safetensors")
    return folder


def read(folder, **options):
    pruner = Provence(str(folder), dtype="float32", **options)
    return pruner.prune([QUESTION], [[Passage("", [A, B, C]), Passage("", [D])]])[0].sentences


def test_a_sentence_has_the_mean_or_the_votes_of_its_tokens(folder):
    """Eleven of twenty parts, a quarter, five of twelve, a quarter; three of five, one of three."""
    assert pytest.approx([11 / 20, 1 / 4, 5 / 12, 1 / 4], abs=1e-5) == read(folder)
    assert pytest.approx([3 / 5, 0, 1 / 3, 0]) == read(folder, vote=0.5)


def test_sentences_stay_from_a_threshold(folder):
    """By the mean two, by the vote of half the tokens one."""
    pruner = Provence(str(folder), dtype="float32")
    mean = provence(LLM, pruner, min_score=0.4)(QUESTION, DOCUMENTS)
    voting = Provence(str(folder), dtype="float32", vote=0.5)
    vote = provence(LLM, voting, min_score=0.5)(QUESTION, DOCUMENTS)

    assert ([A, C], [A]) == ([s.text for s in mean.kept], [s.text for s in vote.kept])


def test_documents_are_read_best_first(folder):
    """As they are ranked, not as they were retrieved; in a document as it stands."""
    pruner = Provence(str(folder), dtype="float32")
    contrary = Scores(lambda text: "sang" not in text)
    ranked = provence(LLM, pruner, reranker=contrary, min_score=0.2).ask(QUESTION, DOCUMENTS)

    assert [D, A, B, C] == [s.text for s in ranked.kept]
