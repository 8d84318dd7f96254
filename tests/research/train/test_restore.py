"""A pruner's folder turned back into a checkpoint, on a tiny encoder."""

import json
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from ragsieve.models.base import Passage
from ragsieve.models.onnx import Encoder
from ragsieve.models.windows import Layout, WindowTokenizer
from ragsieve_research.train.export import export
from ragsieve_research.train.restore import restore

WORDS = [f"w{n}" for n in range(60)]
LAYOUT = Layout(size=40, question=6, title=3, context=6)


@pytest.fixture(scope="module")
def checkpoint(make_encoder):
    """An encoder of random weights that is wide enough to be stored in int8."""
    sizes = {"hidden_size": 96, "intermediate_size": 128, "num_hidden_layers": 2}
    folder = make_encoder(WORDS, 48, initializer_range=0.1, **sizes)
    auto = transformers.AutoModelForTokenClassification
    net = auto.from_pretrained(folder, num_labels=2).eval()
    with torch.no_grad():
        for weight in net.parameters():  # biases and norms, too, tell their places apart
            weight.add_(0.05 * torch.randn_like(weight))
    net.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def windows(checkpoint):
    """Some windows to measure and compare on."""
    reader = WindowTokenizer.read(checkpoint / "tokenizer.json", LAYOUT)
    texts = [" ".join(WORDS[n : n + 20]) for n in range(0, 40, 5)]
    return [reader.lay("w1 w2", [Passage("w3", [text])]).windows[0][0] for text in texts]


def logits(folder, windows):
    """Of all tokens, by transformers."""
    net = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        found = [
            net(torch.tensor([w.ids]), token_type_ids=torch.tensor([w.types])) for w in windows
        ]
    return np.concatenate([one.logits[0].numpy() for one in found])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "measured", "near"),
    [("float32", False, 1e-5), ("int8", False, 0.15), ("int8", True, 0.15)],
)
def test_a_folder_becomes_a_checkpoint_again(
    checkpoint, windows, tmp_path, precision, measured, near
):
    """Its logits are those of the first one but for what rounding lost; factors move back."""
    some = windows if measured else []
    export(checkpoint, tmp_path / "made", precision=precision, layout=LAYOUT, windows=some)
    restore(tmp_path / "made", tmp_path / "again")
    expected, found = logits(checkpoint, windows), logits(tmp_path / "again", windows)

    assert np.abs(expected - found).max() < near
    assert 40 == json.loads((tmp_path / "again" / "pruner.json").read_text())["layout"]["size"]
    assert "thresholds" not in json.loads((tmp_path / "again" / "pruner.json").read_text())


@pytest.mark.slow
def test_a_head_behind_the_layer_before_the_last_says_what_all_layers_say(
    checkpoint, windows, tmp_path, monkeypatch
):
    """Of [CLS] exactly, of sentences as it is fitted; all layers become a checkpoint again."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "experiments")
    wrap = partial(import_module("pruner_early").EarlyNet, windows=windows)
    export(checkpoint, tmp_path / "made", precision="float32", layout=LAYOUT, wrap=wrap)
    restore(tmp_path / "made", tmp_path / "again")
    found = Encoder(tmp_path / "made" / "model.onnx").run(windows, 1)
    plain = np.split(logits(checkpoint, windows), np.cumsum([len(w.ids) for w in windows])[:-1])

    for window, early, late in zip(windows, found, plain, strict=True):
        ((_, start, end),) = window.spans
        assert early[0] == pytest.approx(late[0], abs=1e-4)
        assert early[start:end, 0].mean() == pytest.approx(late[start:end, 0].mean(), abs=0.02)
    assert np.abs(logits(tmp_path / "again", windows) - np.concatenate(plain)).max() < 1e-4
