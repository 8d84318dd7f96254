"""What tests of the two kinds of clue readers share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragsieve.models.base import ClueReader, Passage
from ragsieve.models.cache import Cached
from ragsieve.models.coalesce import Coalesced

Rows = list[list[float]]


@pytest.fixture
def in_company(tmp_path: Path) -> Callable[..., list[Rows]]:
    """Reads questions together, backwards, alone, from threads and, last, out of a cache."""

    def read(model: ClueReader, asked: Mapping[str, Sequence[Passage]]) -> list[Rows]:
        questions, passages = [*asked], [*asked.values()]
        together = model.clues(questions, passages)
        backwards = model.clues(questions[::-1], passages[::-1])[::-1]
        alone = [model.clues([q], [p])[0] for q, p in asked.items()]
        with (
            Coalesced(model) as shared,
            Cached(shared, tmp_path / "c") as cached,
            ThreadPoolExecutor(4) as pool,
        ):
            runs = [
                list(pool.map(lambda item: cached.clues([item[0]], [item[1]])[0], asked.items()))
                for _ in range(2)
            ]
        return [together, backwards, alone, *runs]

    return read


@pytest.fixture
def differing(tmp_path: Path) -> Callable[[str, str], list[str]]:
    """Makes of a reader's folder two: ``weight``'s difference in full, and without it."""

    def make(model: str, weight: str) -> list[str]:
        files = pytest.importorskip("safetensors.torch")
        tensors = files.load_file(Path(model, "packed.safetensors"))
        up, down = tensors.pop(f"{weight}.up"), tensors.pop(f"{weight}.down")
        given = {"same": {**tensors, f"{weight}.diff": up @ down}, "bare": tensors}
        for name, weights in given.items():
            shutil.copytree(model, tmp_path / name)
            files.save_file(weights, tmp_path / name / "packed.safetensors")
        return [str(tmp_path / name) for name in given]

    return make


@pytest.fixture
def pickled(tmp_path: Path) -> Callable[[str], str]:
    """Makes a copy of a reader's folder that has its weights as a pickle alone."""

    def make(model: str) -> str:
        folder = Path(shutil.copytree(model, tmp_path / "pickled"))
        pytest.importorskip("torch").save({}, folder / "packed.bin")
        (folder / "packed.safetensors").unlink()
        return str(folder)

    return make
