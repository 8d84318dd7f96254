"""A trained router's folder: written whole, read strictly."""

import json

import pytest
from msgspec.structs import replace

from ragsieve import InputError, Query
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve_research.artifacts.recipe import Base, Known, TrainedRouter, TrainingData
from ragsieve_research.artifacts.router import (
    load_router,
    named_router,
    read_router,
    router_content,
    save_router,
)
from ragsieve_research.retrieve.route import LightRouter, Named, nothing

pytest.importorskip("safetensors")

EMBEDDER = HashingEmbedder()
LIGHT = LightRouter(EMBEDDER, ("web", "api"), ((0.1,) * 256, (-0.1,) * 256), (0.25, -1.0 / 3))
TRAINED = TrainedRouter(
    form="light",
    sources=(Known("web", "News | pages."), Known("api", "Prices.")),
    base=Base("fake:hashing"),
    generator=Base("fake:echo"),
    identity="hashing:256",
    data=(TrainingData("nq", "CC", 40),),
    training={"seed": 0},
    figures={"questions": 8, "routed": {"exact": 0.875}},
    versions={"scikit-learn": "1.5"},
)


@pytest.fixture
def folder(tmp_path):
    return save_router(tmp_path / "r", TRAINED, light=LIGHT)


def test_what_was_saved_is_loaded_bit_for_bit(folder):
    """Its embedder comes by its name, or from the caller; another one is refused."""
    assert LIGHT == load_router(folder)
    assert LIGHT == load_router(folder, EMBEDDER)
    assert TRAINED == read_router(folder)
    assert {"README.md", "router.json", "router.safetensors"} == {
        path.name for path in folder.iterdir()
    }
    assert ["web"] == load_router(folder)(Query("x"), [Named("web", "", nothing)])
    with pytest.raises(InputError, match="trained with, 'hashing:256', got 'hashing:8'"):
        load_router(folder, HashingEmbedder(8))


def test_a_router_is_replaced_and_nothing_else_is(folder):
    """A folder with anything beside a router stays as it is."""
    save_router(folder, replace(TRAINED, min_probability=0.25), light=LIGHT)
    assert 0.25 == read_router(folder).min_probability

    (folder / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="nothing beside a trained router"):
        save_router(folder, TRAINED, light=LIGHT)
    with pytest.raises(InputError, match="form light needs its weights, and no others"):
        save_router(folder.with_name("new"), TRAINED)
    assert not folder.with_name("new").exists()


def changed(**values):
    def change(folder):
        path = folder / "router.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return change


def swapped(arrays):
    def change(folder):
        numpy = pytest.importorskip("safetensors.numpy")
        numpy.save_file(arrays, folder / "router.safetensors")

    return change


def zeros(*shape):
    import numpy as np

    return np.zeros(shape)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "router.json").unlink(), "must be a file, there is none"),
        (changed(format=2), "format must be 1"),
        (changed(form="pickle"), "form must be one of light, llm, got 'pickle'"),
        (changed(base={"model": "fake:echo"}), "fake:echo is no embedder"),
        (changed(base={"model": "sentence_transformers:../x"}), "a hub id or an absolute path"),
        (changed(sources=[{"name": "a", "description": ""}]), "weights and bias must be 1, one a"),
        (lambda f: (f / "router.safetensors").unlink(), "must be a file of at most"),
        (lambda f: (f / "router.safetensors").write_bytes(b"\x80\x04."), "must be safetensors"),
        (swapped({"weights": zeros(2, 3) + 1e308, "bias": zeros(2)}), "must hold numbers from -1"),
        (swapped({"weights": zeros(2, 3) / 1 + float("nan"), "bias": zeros(2)}), "must be finite"),
        (changed(form="llm", base={"model": "smollm2"}), "adapter must be a folder in it"),
    ],
)
def test_a_folder_that_breaks_a_rule_is_refused(folder, change, message):
    """By one line, before any model is loaded; also where it has no digests."""
    changed(files=None)(folder)
    change(folder)

    with pytest.raises(InputError, match=message) as raised:
        load_router(folder)
    assert "\n" not in str(raised.value)


def test_an_adapter_that_names_modules_is_refused(folder, tmp_path):
    """Of an LLM's router a plain LoRA is read, and no link out of the folder is followed."""
    changed(form="llm", base={"model": "smollm2"}, files=None)(folder)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "adapter_config.json").write_text('{"peft_type": "XLORA"}')
    (outside / "adapter_model.safetensors").write_bytes(b"")
    (folder / "adapter").symlink_to(outside)
    with pytest.raises(InputError, match="adapter must be a folder in it"):
        load_router(folder)

    (folder / "adapter").unlink()
    outside.rename(folder / "adapter")
    with pytest.raises(InputError, match="must be a plain LoRA adapter"):
        load_router(folder)


def test_routers_by_name(tmp_path):
    """All, some, an untrained LLM's, or a folder's."""
    sources = [Named("web", "", nothing), Named("api", "", nothing)]
    folder = save_router(tmp_path / "r", TRAINED, light=LIGHT)
    asked = Query("x")

    assert ["web", "api"] == named_router("all", echo(), sources)(asked, sources)
    assert ["api"] == named_router("only: api", echo(), sources)(asked, sources)
    assert [] == named_router("only:", echo(), sources)(asked, sources)
    assert LIGHT == named_router(str(folder), echo(), sources)
    assert router_content("all") == "all" != router_content(str(folder))
