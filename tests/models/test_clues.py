"""Clue readers: tiny ones with random weights, and the one that comes with the package."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402

from ragsieve.errors import InputError, ModelError  # noqa: E402
from ragsieve.models.base import Passage  # noqa: E402
from ragsieve.models.clue_features import NAMES  # noqa: E402
from ragsieve.models.clues import ClueEncoder  # noqa: E402
from ragsieve.trace import Usage, step  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

SENTENCE = "the a cat dog river town runs sleeps through old paris is capital of france [ sep ]"
WORDS = SENTENCE.split()

WINDOW = {"size": 32, "question": 6, "title": 3, "sentence": 10, "overlap": 8}
DIM, HIDDEN = 16, 8
WEIGHT = "encoder.encoder.layer.0.output.dense.weight"
CITY = Passage("paris", ["paris is the capital of france", "the old river runs through the town"])
PETS = Passage("", ["a cat runs", "", "the dog sleeps", "old dog"])
LONG = Passage("the river", [" ".join(WORDS[n : n + 5]) for n in range(9)])
ASKED = {
    "is paris the capital": [CITY, PETS],
    "the dog": [PETS],
    "a river": [LONG, CITY, LONG, PETS],
    "old": [],
    "cat": [Passage("paris", [])],
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT of random weights and a tokenizer that knows `WORDS`."""
    folder = tmp_path_factory.mktemp("encoder")
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(known))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=DIM,
        intermediate_size=2 * DIM,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=WINDOW["size"],
        vocab_size=len(known),
        initializer_range=0.3,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def save(folder: Path, base: Path, **changes: Any) -> Path:
    """A folder with an adapter of random weights to ``base``; ``changes`` are to its recipe."""
    folder.mkdir(exist_ok=True)
    made = torch.Generator().manual_seed(1)
    shapes = {
        f"{WEIGHT}.up": (DIM, 2),
        f"{WEIGHT}.down": (2, 2 * DIM),
        WEIGHT.replace("weight", "bias.diff"): (DIM,),
        "cos_scale": (),
        "down.weight": (HIDDEN, 3 * DIM),
        "down.bias": (HIDDEN,),
        "mix.1.weight": (HIDDEN, HIDDEN + 1),
        "mix.1.bias": (HIDDEN,),
        "out.weight": (1, HIDDEN),
        "out.bias": (1,),
        "prior.mean": (len(NAMES),),
        "prior.scale": (len(NAMES),),
        "prior.net.0.weight": (HIDDEN, len(NAMES)),
        "prior.net.0.bias": (HIDDEN,),
        "prior.net.3.weight": (HIDDEN, HIDDEN),
        "prior.net.3.bias": (HIDDEN,),
        "prior.net.6.weight": (1, HIDDEN),
        "prior.net.6.bias": (1,),
    }
    tensors = {name: torch.randn(shape, generator=made) / 4 for name, shape in shapes.items()}
    save_file({**tensors, "prior.scale": torch.ones(len(NAMES))}, folder / "packed.safetensors")
    sha256 = hashlib.sha256((base / "model.safetensors").read_bytes()).hexdigest()
    recipe = {"encoder": str(base), "encoder_sha256": sha256, "window": WINDOW, "inputs": NAMES}
    (folder / "recipe.json").write_text(json.dumps({**recipe, **changes}))
    (folder / "calibration.json").write_text('{"a": 0.5, "b": -1.0}')
    return folder


@pytest.fixture(scope="module")
def reader(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> ClueEncoder:
    return ClueEncoder(str(save(tmp_path_factory.mktemp("reader"), encoder)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_question_is_read_alike_in_any_company(
    reader: ClueEncoder, dtype: str, in_company: Callable[..., Any]
) -> None:
    """Bit for bit: alone, together, backwards, from threads, out of a cache."""
    together, *others = in_company(ClueEncoder(reader.model, dtype=dtype), ASKED)

    assert [together] * 4 == others
    assert [6, 4, 24, 0, 0] == [len(row) for row in together]
    assert all(0 < value < 1 for row in together for value in row)
    assert len({value for row in together for value in row}) > 20


def test_precisions_agree_roughly(reader: ClueEncoder) -> None:
    """bfloat16 has three digits."""
    rows = [
        np.concatenate(ClueEncoder(reader.model, dtype=dtype).clues([*ASKED], [*ASKED.values()]))
        for dtype in ("float32", "bfloat16")
    ]

    assert 0 < np.abs(rows[0] - rows[1]).max() < 0.05


def test_context_counts(reader: ClueEncoder) -> None:
    """A sentence means something else below another title, question or neighbour."""
    here, other = ["the dog sleeps", "a cat runs"], ["the dog sleeps", "old town"]
    found = reader.clues(
        ["the cat", "the dog", "the cat", "the cat"],
        [[Passage("", here)], [Passage("", here)], [Passage("paris", here)], [Passage("", other)]],
    )

    assert 4 == len({row[0] for row in found})


def test_each_question_is_charged(reader: ClueEncoder) -> None:
    """[CLS] the dog [SEP] and seven tokens of sentences with [SEP]: 3 + 0 + 3 + 2 + 1 is 9."""
    with step("test") as seen:
        reader.clues(["the dog", "old"], [[PETS], []])

    assert [Usage(reader.identity, 4 + 9), Usage(reader.identity, 0)] == seen.usages


def test_what_is_too_long_is_noted(reader: ClueEncoder) -> None:
    """Ten tokens of a sentence and six of a question count."""
    long = " ".join(WORDS[:12])
    with step("test") as seen:
        found = reader.clues([long], [[Passage("", [long, "cat"])]])
        reader.clues(["cat"], [[PETS]])

    assert [2] == [len(row) for row in found]
    assert [
        "the question has over 6 tokens: only these count; "
        "1 sentences have over 10 tokens: only these count",
    ] == seen.told


def test_a_text_holds_no_control_token(reader: ClueEncoder) -> None:
    """What looks like the end of a sentence is read as its three tokens; a lone half as none."""
    with step("test") as seen:
        found = reader.clues(["cat"], [[Passage("", ["[SEP]", "\ud800\x00"])]])

    assert 3 + 3 + 1 == seen.usages[0].tokens_in
    assert all(0 < value < 1 for value in found[0])


def test_a_difference_is_added_to_the_encoder(
    reader: ClueEncoder, differing: Callable[..., Any]
) -> None:
    """Two thin matrices are the difference that their product is; without it all is different."""
    found = [
        ClueEncoder(model, dtype="float32").clues(["the dog"], [[PETS]])[0]
        for model in (reader.model, *differing(reader.model, WEIGHT))
    ]

    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert np.abs(np.subtract(found[0], found[2])).max() > 1e-4


def test_identity_says_what_probabilities_depend_on(reader: ClueEncoder, tmp_path: Path) -> None:
    """Adapter, calibration, encoder and precision; not when the files were written."""
    folder = tmp_path / "r"
    found = []
    for calibration in ('{"a": 1, "b": 0}', '{"a": 1, "b": 0}', '{"a": 1, "b": 1}'):
        shutil.copytree(reader.model, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
        (folder / "calibration.json").write_text(calibration)
        found.append(ClueEncoder(str(folder), dtype="float32").identity)
    found.append(ClueEncoder(str(folder), dtype="bfloat16").identity)

    assert found[0] == found[1]
    assert 3 == len({*found})
    assert found[0].endswith(":float32")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"inputs": NAMES[1:]}, "trained on other inputs"),
        ({"encoder_sha256": "0" * 64}, "is made for an encoder with sha256 000000000000"),
        ({"window": {**WINDOW, "size": 33}}, "have 33 tokens, .* reads 32"),
        ({"window": {"size": 1}}, "cannot be loaded"),
        ({"encoder": "./none"}, "no folder at './none'"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(
    encoder: Path, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    """Rather than giving any number."""
    folder = save(tmp_path / "r", encoder, **changes)

    with pytest.raises((ModelError, InputError), match=reason):
        ClueEncoder(str(folder)).clues(["cat"], [[PETS]])


@pytest.mark.parametrize(
    ("missing", "added"), [("out.bias", None), (None, "more"), (None, f"{WEIGHT[:-6]}none.diff")]
)
def test_weights_that_do_not_fit_are_refused(
    reader: ClueEncoder, tmp_path: Path, missing: str | None, added: str | None
) -> None:
    """One line that names the model."""
    folder = Path(shutil.copytree(reader.model, tmp_path / "r"))
    tensors = load_file(folder / "packed.safetensors")
    tensors.pop(missing or "", None)
    if added:
        tensors[added] = torch.zeros(1)
    save_file(tensors, folder / "packed.safetensors")

    with pytest.raises(ModelError, match=r"model '.*r' cannot be loaded: "):
        ClueEncoder(str(folder)).clues(["cat"], [[PETS]])


def test_a_pickle_is_not_read(reader: ClueEncoder, pickled: Callable[[str], str]) -> None:
    """There is no other way in than safetensors."""
    with pytest.raises(ModelError, match=r"cannot be loaded: .*packed\.safetensors"):
        ClueEncoder(pickled(reader.model)).clues(["cat"], [[PETS]])


def test_options_are_checked() -> None:
    """The error names the option and what there is."""
    with pytest.raises(
        InputError, match="dtype must be one of auto, bfloat16, float32, got 'int8'"
    ):
        ClueEncoder(dtype="int8")
    with pytest.raises(InputError, match="a clue reader must be clues or a folder, got 'none'"):
        ClueEncoder("none").clues(["cat"], [[PETS]])
    with pytest.raises(InputError, match=r"one length, got \[1, 0\]"):
        ClueEncoder().clues(["cat"], [])


SONGS = [
    Passage(
        "Summer Breeze (song)",
        [
            "Summer Breeze is a song by Seals and Crofts.",
            "It was released in 1972, and reached No. 6.",
        ],
    ),
    Passage("Breeze", ["A breeze is a wind.", "Nobody knows who named it."]),
]
EXPECTED = [[0.3159, 0.0178, 0.0251, 0.0167], [0.0658, 0.3180, 0.0256, 0.0107]]


@pytest.mark.models
def test_the_reader_of_the_package_finds_clues() -> None:
    """What the trained model gave where it was trained, in either precision."""
    found = {
        dtype: ClueEncoder(dtype=dtype).clues(
            ["Who sang Summer Breeze?", "When was Summer Breeze released?"], [SONGS, SONGS]
        )
        for dtype in ("float32", "bfloat16")
    }

    for rows in found.values():
        np.testing.assert_allclose(EXPECTED, rows, atol=0.005)
