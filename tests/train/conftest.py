"""What tests of training share: tiny models and lessons that these can learn."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ragsieve.train.lessons import Lesson
from ragsieve.types import Document, Example, Query

MakeLLM = Callable[[Sequence[str], int], Path]
WORDS = ["seals", "crofts", "paris", "rome", "sang", "rained", "ran", "slept", "who", "the"]
WORDS += ["it", "in", "old"]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Threads take longer to meet than a tiny model takes to compute."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def make_llm(tmp_path_factory: pytest.TempPathFactory) -> MakeLLM:
    """Makes a llama of random weights that reads some words, ``.`` and ``?``, in so many layers."""

    def make(words: Sequence[str], layers: int) -> Path:
        pytest.importorskip("torch").manual_seed(0)
        transformers = pytest.importorskip("transformers")
        tokenizers = pytest.importorskip("tokenizers")
        folder = tmp_path_factory.mktemp("llm")
        known = ["<pad>", "</s>", "<unk>", ".", "?", *words]
        numbered = {word: n for n, word in enumerate(known)}
        made = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbered, unk_token="<unk>"))
        made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=made, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
        ).save_pretrained(folder)
        config = transformers.LlamaConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=layers,
            num_attention_heads=2,
            num_key_value_heads=2,
            vocab_size=len(known),
            max_position_embeddings=512,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=1,
            pad_token_id=0,
        )
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def words() -> list[str]:
    """All of which lessons are made."""
    return WORDS


@pytest.fixture(scope="session")
def taught() -> list[Lesson]:
    """Twelve lessons to learn from."""
    return _lessons(12, seed=0)


@pytest.fixture(scope="session")
def held_back() -> list[Lesson]:
    """Six others."""
    return _lessons(6, seed=1)


def _lessons(count: int, seed: int) -> list[Lesson]:
    """Questions with three documents of two sentences; the clue is the one with "the ... in"."""
    chance = random.Random(seed)
    found = []
    for n in range(count):
        answer, *others = chance.sample(WORDS[:8], 6)
        texts = [f"The {answer} in {others[0]}. It {others[1]}."]
        texts += [f"Old {word} {others[4]}. It {others[1]}." for word in others[2:4]]
        documents = tuple(Document(f"d{k}", text, rank=k) for k, text in enumerate(texts))
        found.append(Lesson.of(Example(Query(f"Who {n}?", id=f"own:{n}"), documents, (answer,))))
    return found
