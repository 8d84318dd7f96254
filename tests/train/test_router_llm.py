"""Fine-tuning an LLM to choose sources: a tiny model learns by heart which it shall ask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("peft")
pytest.importorskip("sklearn")

from tokenizers import Tokenizer, pre_tokenizers  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402

from ragsieve import models  # noqa: E402
from ragsieve.errors import InputError  # noqa: E402
from ragsieve.models.base import Message  # noqa: E402
from ragsieve.retrieve.route import LLMRouter, Named, nothing  # noqa: E402
from ragsieve.train.router_llm import samples, train_llm_router  # noqa: E402
from ragsieve.train.sft import Tuning  # noqa: E402
from ragsieve.types import Query  # noqa: E402

WORDS = ["<pad>", "</s>", "<unk>", "yes", "no", "price", "song", "shop", "music", "Question"]
SOURCES = (Named("shop", "shop", nothing), Named("music", "music", nothing))


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """A model of random weights that reads a few words."""
    made = Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(tmp_path / "tiny")
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            initializer_range=0.3, bos_token_id=None, eos_token_id=1, pad_token_id=0,
        )
    ).save_pretrained(tmp_path / "tiny")  # fmt: skip
    return f"transformers:{tmp_path / 'tiny'}"


def test_a_sample_is_what_the_router_asks() -> None:
    """A prompt a source, yes for those that help."""
    first, second = samples(Query("price"), [True, False], SOURCES)

    assert ("yes", "no") == (first.target, second.target)
    assert Message("user", first.prompt[-1].content) == first.prompt[-1]
    assert "Source: shop: shop" in first.prompt[-1].content
    assert 'Question: "price"' in second.prompt[-1].content


def test_a_tuned_model_chooses(tmp_path: Path, tiny: str) -> None:
    """Where the shop helped and music did not, it says so, and needs no warning."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    queries, helps = [Query("price")] * 6, np.array([[True, False]] * 6)
    fast = Tuning(epochs=8, lr=0.02, checks=1)
    log = train_llm_router(tmp_path / "a", queries, helps, SOURCES, llm=tiny, tuning=fast)
    router = LLMRouter(models.load(tiny, adapter=str(tmp_path / "a")), trained=True)
    found = router(Query("price"), SOURCES)
    torch.set_num_threads(threads)

    assert ["shop"] == found
    assert "validation_loss" in log[-1]
    assert {"adapter_config.json", "adapter_model.safetensors", "recipe.json"} == {
        path.name for path in (tmp_path / "a").iterdir()
    }


def test_labels_must_fit() -> None:
    """The error says how many."""
    with pytest.raises(InputError, match=r"at least 2 questions by 2 sources, got \(1, 2\)"):
        train_llm_router(Path("a"), [Query("x")], np.ones((1, 2), bool), SOURCES)
