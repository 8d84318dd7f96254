"""Trained filters beside the systems that have a name."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.models.wrap import unwrap
from ragsieve.spec import build, identity, load
from ragsieve_research.artifacts.folder import save
from ragsieve_research.artifacts.recipe import Base, Trained

ODDS = {"weights": [[0.0], [1.0]], "bias": [0.0, 0.5], "price": 0.2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A filter of fakes that ranks by words in common, and cuts by odds."""
    models = {"generator": Base("fake:echo"), "embedder": Base("fake:hashing")}
    made = Trained(**models, options={"reranker": "bm25", "order": "score"}, cut=ODDS)
    return save(tmp_path / "mine", made, {})


def stages(system: Any) -> list[str]:
    return [repr(stage).split("(")[0] for stage in system.stage.stages]


def test_a_system_by_its_name_or_a_folder(folder: Path) -> None:
    """One door for both; the folder's cut stands where its truncator would."""
    llm = ScriptedLLM(lambda _: "[1]")

    assert ["Sentences", "Extract", "BM25", "Cut", "Order"] == stages(build(str(folder), llm))
    assert ["TopK"] == stages(build("closed-book", llm))
    with pytest.raises(InputError, match=r"system must be one of .*finefilter, .* got 'no such'"):
        build("no such", llm)


def test_options_stand_in_for_what_the_folder_says(folder: Path) -> None:
    """Ablations of a trained filter need no other folder."""
    llm = ScriptedLLM(lambda _: "[1]")
    changed = build(str(folder), llm, {"truncator": "none", "reranker": "cosine"})

    assert ["Sentences", "Extract", "Cosine", "Order"] == stages(changed)
    with pytest.raises(InputError, match="another extractor needs another truncator"):
        build(str(folder), llm, {"extractor": llm})
    with pytest.raises(InputError, match=r"min_keep of .* must be a whole number, got 'x'"):
        build(str(folder), llm, {"min_keep": "x"})
    with pytest.raises(InputError, match=r"options of .*mine are extractor, .*got 'colour'"):
        build(str(folder), llm, {"colour": "red"})


def test_models_of_a_folder_are_shared_as_asked(folder: Path) -> None:
    """Each goes through the wrapper once."""
    seen: list[Any] = []

    def share(model: Any) -> Any:
        seen.append(model)
        return model

    load(folder, share=share)

    assert ["echo"] == [unwrap(model).identity for model in seen]


def test_what_a_folder_holds_is_its_identity(folder: Path) -> None:
    """Not where it lies, and another cut is another filter."""
    before = identity(str(folder))
    copied = folder.rename(folder.parent / "copied")
    moved = identity(str(copied)).partition("@")[2]
    values = json.loads((copied / "filter.json").read_text())
    (copied / "filter.json").write_text(json.dumps({**values, "cut": {**ODDS, "price": 0.3}}))

    assert before == f"mine@{moved}"
    assert moved not in identity(str(copied))
