"""Training of clue readers on a tiny language model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

import ragsieve  # noqa: E402
from ragsieve.errors import InputError, ModelError  # noqa: E402
from ragsieve.train.clue_data import passages  # noqa: E402
from ragsieve.train.clue_figures import figures  # noqa: E402
from ragsieve.train.clue_llm import train_clue_llm  # noqa: E402
from ragsieve.train.clues import Trained  # noqa: E402
from ragsieve.train.lessons import Lesson  # noqa: E402
from ragsieve.train.packing import judgements  # noqa: E402
from ragsieve.types import Document, Example, Query  # noqa: E402

SAID = "seals crofts paris rome sang rained ran slept who the it in old"
WORDS = SAID.split()


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny llama of six layers and random weights, and a tokenizer that knows `WORDS`."""
    folder = tmp_path_factory.mktemp("llm")
    known = ["<unk>", "</s>", ".", "?", *WORDS]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(known)}, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    options = {"eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **options).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=6,
        num_attention_heads=2,
        num_key_value_heads=2,
        vocab_size=len(known),
        max_position_embeddings=512,
        initializer_range=0.3,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def lessons(count: int, seed: int = 0) -> list[Lesson]:
    """Questions with three documents of two sentences; the answer stands in one of these."""
    chance = random.Random(seed)
    found = []
    for n in range(count):
        answer, *others = chance.sample(WORDS[:8], 6)
        texts = [f"The {answer} in {others[0]}. It {others[1]}."]
        texts += [f"Old {word} {others[4]}. It {others[1]}." for word in others[2:4]]
        documents = tuple(Document(f"d{k}", text, rank=k) for k, text in enumerate(texts))
        found.append(Lesson.of(Example(Query(f"Who {n}?", id=f"own:{n}"), documents, (answer,))))
    return found


TAUGHT, HELD_BACK = lessons(12), lessons(6, seed=1)


def train(folder: Path, base: Path, /, **options: Any) -> Trained:
    """A run of three steps an epoch, in a folder of its own."""
    given = {"work": folder / "work", "llm": str(base), **options}
    return train_clue_llm(folder / "made", TAUGHT, HELD_BACK, **given)


@pytest.fixture(scope="module")
def run(llm: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """A run that nothing disturbed: where it is, what it told."""
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder, llm)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "made").iterdir()}


def test_a_trained_folder_is_a_clue_reader(run: tuple[Path, Trained]) -> None:
    """Three files, loaded by name; a probability for every sentence."""
    reader = ragsieve.models.load(f"clue_llm:{run[0] / 'made'}")
    (found,) = reader.clues([TAUGHT[0].query.text], [passages(TAUGHT[0])])

    assert {"calibration.json", "packed.safetensors", "recipe.json"} == {*files(run[0])}
    assert 6 == len(found)
    assert all(0 < value < 1 for value in found)


def test_only_the_upper_third_of_what_is_read_is_tuned(run: tuple[Path, Trained]) -> None:
    """Of six layers four are read, one is a third of them: the fourth, with all seven maps."""
    tensors = load_file(run[0] / "made" / "packed.safetensors")
    named = {name.removeprefix("encoder.") for name in tensors if name.startswith("encoder.")}

    assert {("layers", "3")} == {tuple(name.split(".")[:2]) for name in named}
    assert 7 * 2 == len(named)


def test_a_checkpoint_holds_only_what_learns(run: tuple[Path, Trained]) -> None:
    """The language model itself lies elsewhere, and may have billions of weights."""
    (file,) = run[0].glob("work/*/checkpoint-*/model.safetensors")

    assert all("lora_" in name or name.startswith("head.") for name in load_file(file))


def test_a_run_tells_losses_and_figures(
    run: tuple[Path, Trained], llm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each epoch is validated; the folder's figures are the recipe's; nothing is printed."""
    folder, told = run
    train(tmp_path, llm, epochs=1)
    recipe = json.loads((folder / "made" / "recipe.json").read_text())

    assert [3, 6] == [row["step"] for row in told.log if "validation" in row]
    assert {"own", "mean"} == {*told.figures}
    assert told.figures == recipe["validation"]
    assert "" == capsys.readouterr().out


def test_what_is_trained_finds_clues(llm: Path, tmp_path: Path) -> None:
    """Clues are first sentences with "the ... in": above others in most pairs, chance is half.

    The net over hand-made inputs finds them, too: without it the folder does what was validated.
    """
    told = train(tmp_path, llm, epochs=3, learning_rate=1e-2)
    alone = max(row.get("validation", 0.0) for row in told.log)
    packed = tmp_path / "made" / "packed.safetensors"
    tensors = load_file(packed)
    tensors |= {n: torch.zeros_like(t) for n, t in tensors.items() if "prior.net.6" in n}
    save_file(tensors, packed)
    reader = ragsieve.models.load(f"clue_llm:{tmp_path / 'made'}")

    assert told.figures["mean"]["auc"] > 0.9
    assert alone > 0.8
    assert alone == pytest.approx(figures(judgements(reader, HELD_BACK))["mean"]["auc"], abs=0.05)


def test_a_killed_run_goes_on_to_the_same_result(
    run: tuple[Path, Trained], llm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the second epoch's first step, it begins with that; bit for bit the same files."""

    class Kill(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 4:
                raise KeyboardInterrupt

    known = transformers.trainer.DEFAULT_CALLBACKS
    with monkeypatch.context() as patch:
        patch.setattr(transformers.trainer, "DEFAULT_CALLBACKS", [*known, Kill])
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, llm)
    assert not (tmp_path / "made").exists()
    told = train(tmp_path, llm)

    assert files(run[0]) == files(tmp_path)
    assert [3, 6] == [row["step"] for row in told.log if "validation" in row]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be over 0, got 0.0"),
        ({"depth": 0.0}, "depth must be over 0 to 1, got 0.0"),
        ({"layers": 1.5}, "layers must be over 0 to 1, got 1.5"),
        ({"feedback": 1.5}, "feedback must be from 0 to 1, got 1.5"),
        ({"llm": "./none"}, "no folder at './none'"),
    ],
)
def test_options_are_checked(
    llm: Path, tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=reason):
        train(tmp_path, llm, **options)


def test_a_model_without_layers_of_linear_maps_is_refused(llm: Path, tmp_path: Path) -> None:
    """GPT-2's maps are of another kind."""
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 32}
    base = tmp_path / "gpt2"
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(base)
    transformers.AutoTokenizer.from_pretrained(llm).save_pretrained(base)

    with pytest.raises(ModelError, match="has no layers of linear maps to be tuned"):
        train(tmp_path, base)


def test_there_must_be_something_to_learn_from(tmp_path: Path) -> None:
    """Both kinds of sentence, in what is learnt and in what is held back."""
    none = [Lesson(lesson.query, ("none",), lesson.sentences, {}) for lesson in TAUGHT]
    for given, reason in (((none, TAUGHT), "lessons must"), ((TAUGHT, none), "validation must")):
        with pytest.raises(InputError, match=reason):
            train_clue_llm(tmp_path / "made", *given, work=tmp_path)
