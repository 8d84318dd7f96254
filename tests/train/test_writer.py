"""Filter models are trained from questions to a folder: tiny models of random weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragsieve import datasets, models
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Done
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems import bottleneck, filco
from ragsieve.train.writer import By, WriterPlan, card, train_writer

YEARS = (1900, 1901, 1902, 1918)  # the salted hash puts the last alone in validation
WORDS = ["seals", "sang", "rain", "fell", "who", "in", ".", "?", "NONE", *map(str, YEARS)]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A tiny model of random weights that reads whole words, and ends most replies soon."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("peft")
    pytest.importorskip("trl")
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel

    pieces = ["<pad>", "</s>", "<unk>", *WORDS]
    made = Tokenizer(WordLevel({word: n for n, word in enumerate(pieces)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("llama")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(pieces), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=1400, initializer_range=0.3,
        bos_token_id=None, eos_token_id=1,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    yield f"transformers:{folder}"
    torch.set_num_threads(threads)


@pytest.fixture
def source(tmp_path: Path) -> Any:
    rows = [
        {
            "question": f"who sang in {year} ?",
            "answers": ["seals"],
            "documents": [{"text": f"seals sang in {year} . rain fell ."}, {"text": "rain ."}],
        }
        for year in YEARS
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return datasets.load(str(path))


@pytest.mark.parametrize("by", ["strinc", "ib"])
def test_a_filter_model_is_trained_and_a_second_start_asks_nothing(
    tmp_path: Path, llama: str, source: Any, by: By
) -> None:
    """Its folder is a model with a recipe, a card and its adapter; the system runs with it."""
    fresh: list[int] = []

    def told(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
        found = list(done)
        fresh.append(sum(not one.again for one in found))
        return found

    plan = WriterPlan(by=by, llm=llama, epochs=1)
    known: dict[str, Any] = {"work": tmp_path / "work", "told": told, "workers": 2}
    first, again = (train_writer(tmp_path / name, [source], plan, **known) for name in "ab")
    writer = models.load(f"transformers:{tmp_path / 'b'}")
    llm = ScriptedLLM(["seals"])
    system = bottleneck(llm, writer=writer) if by == "ib" else filco(llm, extractor=writer)
    result = system.ask("who sang ?", ["seals sang ."])

    assert [3, 1, 0, 0] == fresh
    assert first["log"] == again["log"]
    assert 1 == first["after"]["questions"]
    assert (by == "ib") == ("before" in first)
    assert {"README.md", "adapter", "model.safetensors", "recipe.json"} <= {
        path.name for path in (tmp_path / "b").iterdir()
    }
    assert result.tokens.after <= result.tokens.before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "luck"}, "by must be one of strinc, lexical, cxmi, ib, got 'luck'"),
        ({"documents": 0}, "documents must be at least 1, got 0"),
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"beta": float("nan")}, "beta must be finite and not negative, got nan"),
        ({"llm": "minilm"}, "minilm is no LLM"),
        ({"generator": "minilm"}, "minilm is no LLM"),
    ],
)
def test_plans_are_checked(options: dict[str, Any], message: str) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        WriterPlan(**options)


def test_the_card_says_how_it_is_used() -> None:
    """By the system that it is of, with its figures."""
    text = card({"after": {"questions": 7, "ib": -0.5}}, WriterPlan(by="ib"), [])

    assert "--system bottleneck --model writer=transformers:FOLDER" in text
    assert "| after | 7 | -0.5 |" in text
    assert "--system filco --model extractor=" in card({"after": {"x": 1}}, WriterPlan(), [])
