"""Every backend of this machine is held to its protocol, on tiny models of random weights."""

from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from ragsieve import ModelError, models
from ragsieve.models import BACKENDS
from ragsieve.models.fake import HashingEmbedder
from ragsieve.testing import check_model
from ragsieve_research.models.pe_rank import PERank
from tests.research.models import (
    test_jina_bert as jina,
    test_pe_rank as pe_rank,
    test_provence as provence,
    test_token_classifier as classifier,
    test_transformers as llama,
)
from tests.tiny import save_adapter, save_t5

WORDS = ["who", "sang", "he", "it", "was", "late", "goats", "gave", "milk", "bees", "make", "songs"]


def tuned(folder):
    path = llama.save(folder)
    base = transformers.LlamaForCausalLM.from_pretrained(path)
    adapter = save_adapter(base, folder / "lora", ["q_proj", "v_proj"])
    return models.load(f"transformers:{path}", dtype="float32", adapter=adapter)


# How a model of each prefix is built; a new one needs a row here, and is then held to the laws.
BUILD = {
    "transformers": lambda folder, make: models.load(
        f"transformers:{llama.save(folder)}", dtype="float32"
    ),
    "transformers with an adapter": lambda folder, make: tuned(folder),
    "seq2seq": lambda folder, make: models.load(
        "seq2seq:" + save_t5(folder, [("▁", -1.0), *((c, -3.0) for c in "aehilnorstwy10")])
    ),
    "sentence_transformers": lambda folder, make: models.load(
        f"sentence_transformers:{make(WORDS, 32)}"
    ),
    "cross_encoder": lambda folder, make: models.load(
        f"cross_encoder:{make(WORDS, 32, 'BertForSequenceClassification', num_labels=1)}"
    ),
    "dot": lambda folder, make: models.load(f"dot:{make(WORDS, 32)}"),
    "jina_bert": lambda folder, make: models.load(f"jina_bert:{jina.save(folder)}"),
    "provence": lambda folder, make: models.load(f"provence:{provence.bert(folder, make)}"),
    "pe_rank": lambda folder, make: PERank(
        str(pe_rank.save(folder, positions=4096)), encoder=HashingEmbedder(pe_rank.SIZE)
    ),
    "token_classifier": lambda folder, make: models.load(
        f"token_classifier:{classifier.bert(folder, make)}"
    ),
}
ELSEWHERE = {"crag", "vllm"}  # test_published, test_vllm


def test_every_backend_is_under_the_laws():
    """A row above, or a file of its own that a server, or a published folder, is made in."""
    local = {name for name, row in BACKENDS.items() if "ragsieve_research" in str(row.make)}

    assert local == {name.split()[0] for name in BUILD} | ELSEWHERE


@pytest.mark.parametrize("name", BUILD)
def test_every_backend_keeps_the_laws(name, tmp_path, make_encoder):
    """As many as asked, finite, the same alone, together, in any order and in threads."""
    check_model(BUILD[name](tmp_path, make_encoder), tolerance=2e-3)


@pytest.mark.parametrize("name", BUILD)
def test_no_backend_opens_a_pickle(name, tmp_path, make_encoder):
    """It could run code: weights and adapters are safetensors, or the error is one line."""
    model = BUILD[name](tmp_path, make_encoder)
    for weights in Path(getattr(model, "adapter", "") or model.model).glob("*.safetensors"):
        stem = "pytorch_model" if weights.stem == "model" else weights.stem
        torch.save(load_file(weights), weights.with_name(f"{stem}.bin"))
        weights.unlink()

    with pytest.raises(ModelError, match=r"^model .* cannot be loaded: .*safetensors") as caught:
        check_model(model)
    assert "\n" not in str(caught.value)
