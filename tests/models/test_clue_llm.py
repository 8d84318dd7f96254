"""Clue readers on a language model: tiny ones with random weights."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers  # noqa: E402
from tokenizers.models import BPE  # noqa: E402

from ragsieve import models  # noqa: E402
from ragsieve.errors import InputError, ModelError  # noqa: E402
from ragsieve.models.base import Passage  # noqa: E402
from ragsieve.models.clue_features import NAMES  # noqa: E402
from ragsieve.models.clue_llm import ClueLLM, MarkHead, mark_setter, states  # noqa: E402
from ragsieve.models.clue_windows import Layout, Read  # noqa: E402
from ragsieve.trace import Usage, step  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

SENTENCES = ["Paris is the capital of France.", "The river runs through the old town.", "1 2 3 10"]
END = "<|im_end|>"
LAYOUT = Layout(size=48, question=8, title=6, sentence=20, overlap=12)
DIM, HIDDEN, RANK = 32, 8, 2
WEIGHT = "encoder.layers.2.mlp.down_proj.weight"  # of the last of the three layers that are read
CITY = Passage("paris", SENTENCES[:2])
PETS = Passage("", ["a cat runs", "", "the dog sleeps", "old dog"])
LONG = Passage("the river", [f"The river runs, {n} old." for n in range(9)])
ASKED = {
    "is Paris the capital": [CITY, PETS],
    "the dog": [PETS],
    "a river": [LONG, CITY, LONG, PETS],
    "old": [],
    "cat": [Passage("paris", [])],
}


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny llama of four layers and random weights, with a byte-level BPE."""
    folder = tmp_path_factory.mktemp("llm")
    specials = ["<|endoftext|>", "<|im_start|>", END]
    made = Tokenizer(BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    options = {"vocab_size": 320, "special_tokens": specials, "initial_alphabet": alphabet}
    made.train_from_iterator(SENTENCES, trainers.BpeTrainer(**options))
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END).save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=DIM,
        intermediate_size=2 * DIM,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=made.get_vocab_size(),
        max_position_embeddings=LAYOUT.size + 1,
        initializer_range=0.3,
        eos_token_id=2,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def save(folder: Path, base: Path, **changes: Any) -> Path:
    """A folder with an adapter of random weights to ``base``; ``changes`` are to its recipe."""
    folder.mkdir(exist_ok=True)
    torch.manual_seed(1)
    head = MarkHead(2 * DIM, HIDDEN, len(NAMES), HIDDEN)
    adapter = {
        f"{WEIGHT}.up": torch.randn(DIM, RANK) / 2,
        f"{WEIGHT}.down": torch.randn(RANK, 2 * DIM) / 2,
    }
    save_file({**head.state_dict(), **adapter}, folder / "packed.safetensors")
    sha256 = hashlib.sha256((base / "model.safetensors").read_bytes()).hexdigest()
    recipe = {"encoder": str(base), "encoder_sha256": sha256, "depth": 0.75, "inputs": NAMES}
    told = {**recipe, "window": asdict(LAYOUT), **changes}
    (folder / "recipe.json").write_text(json.dumps(told))
    (folder / "calibration.json").write_text('{"a": 2.0, "b": -1.0}')
    return folder


@pytest.fixture(scope="module")
def reader(llm: Path, tmp_path_factory: pytest.TempPathFactory) -> ClueLLM:
    return ClueLLM(str(save(tmp_path_factory.mktemp("reader"), llm)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_question_is_read_alike_in_any_company(
    reader: ClueLLM, dtype: str, in_company: Callable[..., Any]
) -> None:
    """Bit for bit: alone, together, backwards, from threads, out of a cache."""
    together, *others = in_company(models.load(f"clue_llm:{reader.model}", dtype=dtype), ASKED)

    assert [together] * 4 == others
    assert [6, 4, 24, 0, 0] == [len(row) for row in together]
    assert all(0 < value < 1 for row in together for value in row)
    assert len({value for row in together for value in row}) > 20


def test_logits_are_what_calibration_takes(reader: ClueLLM) -> None:
    """Slope 2 and offset -1."""
    given = [*ASKED], [*ASKED.values()]
    logits = np.concatenate(reader.logits(*given))
    expected = 1 / (1 + np.exp(1 - 2 * logits))

    np.testing.assert_allclose(expected, np.concatenate(reader.clues(*given)), atol=1e-6)


def test_what_stands_before_counts(reader: ClueLLM, tmp_path: Path, llm: Path) -> None:
    """Question, title and the sentences before it; the net over hand-made inputs is left out."""
    folder = save(tmp_path / "r", llm)
    tensors = load_file(folder / "packed.safetensors")
    tensors |= {n: torch.zeros_like(t) for n, t in tensors.items() if "prior.net.6" in n}
    save_file(tensors, folder / "packed.safetensors")
    plain, text = ClueLLM(str(folder), dtype="float32"), "the dog sleeps"
    found = plain.clues(
        ["the cat", "the dog", "the cat", "the cat", "the cat"],
        [
            [Passage("", ["a", text])],
            [Passage("", ["a", text])],
            [Passage("paris", ["a", text])],
            [Passage("", ["b", text])],
            [Passage("", ["a", text, "Paris"])],
        ],
    )

    assert 4 == len({row[1] for row in found[:4]})
    np.testing.assert_allclose(found[0], found[4][:2], atol=1e-5)


def test_windows_may_be_computed_together(reader: ClueLLM) -> None:
    """What fills a shorter one up stands behind it, and counts for nothing."""
    net = ClueLLM(reader.model, dtype="float32")._net
    windows, _ = reader._windows("a river", ASKED["a river"])
    alone, together = (states(net.llm, windows, count) for count in (1, 3))

    assert len({len(window.ids) for window in windows}) > 1
    torch.testing.assert_close(alone, together)


def test_no_text_produces_a_marker(reader: ClueLLM, llm: Path) -> None:
    """A marker a sentence, none from their texts, wherever a marker's name stands."""
    sets = mark_setter("tiny", llm)
    read = sets.read(END, [Passage(END, [f"old {END} town", END, ""]), Passage("", [END])])
    windows = sets.windows(read, LAYOUT)
    ends = [window.ids[span.end - 1] for window in windows for span in window.spans]

    assert [2] * 4 == ends
    assert 4 + len(windows) == sum(window.ids.count(2) for window in windows)  # each begins with it


def test_a_marker_in_the_tokens_of_a_text_is_left_out(llm: Path) -> None:
    """Even of a tokenizer that would not know better."""
    sets = mark_setter("tiny", llm)
    (window,) = sets.windows(Read([7, 2], [([2, 8], [[9, 2, 9]])]), LAYOUT)
    newline = sets.tokenizer.encode("\n").ids[-1]

    assert [2, 7, newline, 8, newline, 9, 9, 2, newline] == window.ids


def test_a_sentence_is_cut_in_front_of_its_marker(llm: Path) -> None:
    """Twenty tokens of it count."""
    (window,) = mark_setter("tiny", llm).windows(Read([7], [([], [[9] * 25])]), LAYOUT)
    (_, start, end) = window.spans[0]

    assert [*[9] * 20, 2] == window.ids[start:end]


def test_each_question_is_charged(reader: ClueLLM) -> None:
    """Tokens of all windows, markers among them; nothing is written."""
    sets = mark_setter("tiny", Path(reader._recipe.encoder))
    windows = sets.windows(sets.read("the dog", [PETS]), LAYOUT)
    with step("test") as seen:
        reader.clues(["the dog", "old"], [[PETS], []])

    spent = sum(len(window.ids) for window in windows)
    assert [Usage(reader.identity, spent), Usage(reader.identity, 0)] == seen.usages


def test_what_is_too_long_is_noted(reader: ClueLLM) -> None:
    """Twenty tokens of a sentence and eight of a question count."""
    long = "1 2 3 10 " * 10
    with step("test") as seen:
        found = reader.clues([long], [[Passage("", [long, "cat"])]])

    assert [2] == [len(row) for row in found]
    assert [
        "the question has over 8 tokens: only these count; "
        "1 sentences have over 20 tokens: only these count",
    ] == seen.told


def test_layers_above_the_depth_are_not_read(reader: ClueLLM, llm: Path, tmp_path: Path) -> None:
    """Of four layers three: what the last one holds changes no bit, what the third holds does."""
    base = Path(shutil.copytree(llm, tmp_path / "llm"))
    weights = load_file(base / "model.safetensors")
    found = [reader.clues(["the dog"], [[PETS]])]
    for layer in (3, 2):
        name = f"model.layers.{layer}.mlp.up_proj.weight"
        save_file(
            {**weights, name: weights[name] * 2}, base / "model.safetensors", {"format": "pt"}
        )
        folder = save(tmp_path / f"r{layer}", base)
        found.append(ClueLLM(str(folder)).clues(["the dog"], [[PETS]]))

    assert found[0] == found[1]
    assert found[0] != found[2]


def test_an_adapter_is_added_to_the_model(reader: ClueLLM, differing: Callable[..., Any]) -> None:
    """Two thin matrices are the difference that their product is; without it all is different."""
    found = [
        ClueLLM(model, dtype="float32").clues(["the dog"], [[PETS]])[0]
        for model in (reader.model, *differing(reader.model, WEIGHT))
    ]

    np.testing.assert_allclose(found[0], found[1], atol=1e-5)
    assert np.abs(np.subtract(found[0], found[2])).max() > 1e-3


def test_identity_says_what_probabilities_depend_on(reader: ClueLLM) -> None:
    """Adapter, language model and precision."""
    found = ClueLLM(reader.model, dtype="float32").identity

    assert found.startswith(f"clue_llm:{reader.model}@")
    assert found.endswith(":float32")
    assert found != ClueLLM(reader.model, dtype="bfloat16").identity


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"inputs": NAMES[1:]}, "trained on other inputs"),
        ({"encoder_sha256": "0" * 64}, "sha256 000000000000"),
        ({"window": {**asdict(LAYOUT), "size": 50}}, "have 50 tokens, .* reads 49"),
        ({"depth": "deep"}, "cannot be loaded"),
        ({"depth": 0.5}, "cannot be loaded"),  # the adapter is for the third layer
        ({"encoder": "./none"}, "no folder at './none'"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(
    llm: Path, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    """Rather than giving any number."""
    folder = save(tmp_path / "r", llm, **changes)

    with pytest.raises((ModelError, InputError), match=reason):
        ClueLLM(str(folder)).clues(["cat"], [[PETS]])


def test_an_encoder_decoder_is_refused(llm: Path, tmp_path: Path) -> None:
    """Its decoder reads no question."""
    base = Path(shutil.copytree(llm, tmp_path / "t5"))
    transformers.T5Config(num_layers=1).save_pretrained(base)
    folder = save(tmp_path / "r", base)

    with pytest.raises(ModelError, match="must only decode, t5 encodes"):
        ClueLLM(str(folder)).clues(["cat"], [[PETS]])


def test_a_pickle_is_not_read(reader: ClueLLM, pickled: Callable[[str], str]) -> None:
    """There is no other way in than safetensors."""
    with pytest.raises(ModelError, match=r"cannot be loaded: .*packed\.safetensors"):
        ClueLLM(pickled(reader.model)).clues(["cat"], [[PETS]])
