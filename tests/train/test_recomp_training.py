"""RECOMP's training from questions to a folder: tiny models of random weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")
pytest.importorskip("datasets")
pytest.importorskip("peft")

from tokenizers import Tokenizer, pre_tokenizers  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402

from ragsieve import datasets, models  # noqa: E402
from ragsieve.errors import InputError  # noqa: E402
from ragsieve.evaluate.run import Done  # noqa: E402
from ragsieve.train.recomp import RecompPlan, train_recomp  # noqa: E402

YEARS = range(1900, 1930)
WORDS = ["seals", "crofts", "sang", "rain", "snow", "fell", "who", "in", *map(str, YEARS)]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads take longer to meet than a tiny model takes to compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A generator of random weights: some sentence makes it trust an answer most."""
    folder = tmp_path_factory.mktemp("llama")
    pieces = ["<pad>", "</s>", "<unk>", *WORDS]
    made = Tokenizer(WordLevel({word: n for n, word in enumerate(pieces)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=256,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return f"transformers:{folder}"


@pytest.fixture
def plan(llama: str, make_encoder: Any) -> RecompPlan:
    encoder = f"sentence_transformers:{make_encoder(WORDS, 32)}"
    return RecompPlan(llm=llama, embedder=encoder, margin=0.0, negatives=1, epochs=1)


@pytest.fixture
def source(tmp_path: Path) -> Any:
    rows = [
        {
            "question": f"who sang in {year} ?",
            "answers": ["seals"],
            "documents": [{"text": f"seals sang in {year} . rain fell . snow fell in {year} ."}],
        }
        for year in YEARS
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return datasets.load(str(path))


def test_a_compressor_is_trained_and_a_second_start_labels_nothing(
    tmp_path: Path, plan: RecompPlan, source: Any
) -> None:
    """Its folder is an embedder with a recipe and a card; labels and checkpoints are kept."""
    fresh: dict[str, int] = {}

    def told(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
        found = list(done)
        fresh[name] = sum(not one.again for one in found)
        return found

    folder, work = tmp_path / "made", tmp_path / "work"
    recipe = train_recomp(folder, [source], plan, work=work, workers=2, told=told)
    labelled = dict(fresh)
    again = train_recomp(folder, [source], plan, work=work, workers=2, told=told)
    vectors = models.load(f"sentence_transformers:{folder}").embed(["seals sang", "rain fell"])

    assert {"train.labels.jsonl", "validation.labels.jsonl"} == labelled.keys()
    assert all(labelled.values())
    assert [0, 0] == [*fresh.values()]
    assert recipe["validation"].keys() == again["validation"].keys() == {"before", "after"}
    assert recipe["questions"]["pairs"] == labelled["train.labels.jsonl"]
    assert (2, 16) == vectors.shape
    assert "## How good it is" in (folder / "README.md").read_text()


def test_a_folder_with_something_else_is_not_written_to(
    tmp_path: Path, plan: RecompPlan, source: Any
) -> None:
    """The error names it, before anything is done."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="folder must be new or a trained compressor, got "):
        train_recomp(tmp_path, [source], plan, work=tmp_path / "work")

    assert not (tmp_path / "work").exists()
