"""A tiny encoder to train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

MakeEncoder = Callable[[Sequence[str], int], Path]


@pytest.fixture(scope="session")
def make_encoder(tmp_path_factory: pytest.TempPathFactory) -> MakeEncoder:
    """Makes a BERT of random weights that knows some words and reads so many tokens."""

    def make(words: Sequence[str], positions: int) -> Path:
        torch = pytest.importorskip("torch")
        transformers = pytest.importorskip("transformers")
        folder = tmp_path_factory.mktemp("encoder")
        known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", ".", "?", *words]
        (folder / "vocab.txt").write_text("\n".join(known))
        transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
        torch.manual_seed(0)
        config = transformers.BertConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=6,
            num_attention_heads=2,
            max_position_embeddings=positions,
            vocab_size=len(known),
            initializer_range=0.3,
        )
        transformers.BertModel(config).save_pretrained(folder)
        return folder

    return make
