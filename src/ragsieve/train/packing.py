"""A trained clue reader as a folder: what differs from the encoder, in few bytes; its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from ragsieve.models import store
from ragsieve.models.clue_features import NAMES
from ragsieve.models.clue_net import CALIBRATION, WEIGHTS
from ragsieve.models.clue_windows import Layout
from ragsieve.models.clues import RECIPE, ClueEncoder, sha256
from ragsieve.train.clue_data import passages
from ragsieve.train.clue_figures import Judged, calibration, figures
from ragsieve.train.lessons import Lesson

_SAME = 1e-6  # a difference that is none


def differences(
    before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor], rank: int
) -> dict[str, torch.Tensor]:
    """Differences of weights as 16-bit floats: ``NAME.up @ NAME.down``, or ``NAME.diff``.

    A matrix becomes the two thin ones whose product is nearest to its difference; where they would
    not be smaller, and for vectors, the difference itself is kept. What is the same is left out.

    Args:
        before: Weights by name.
        after: The same, tuned.
        rank: Of the product, at least 1.
    """
    packed: dict[str, torch.Tensor] = {}
    for name, tensor in after.items():
        change = tensor.detach().float().cpu() - before[name].float().cpu()
        if change.abs().max() < _SAME:
            continue
        if change.ndim != 2 or rank * sum(change.shape) >= change.numel():
            packed[f"{name}.diff"] = change.half()
            continue
        u, s, v = torch.linalg.svd(change, full_matrices=False)
        root = s[:rank].sqrt()
        packed[f"{name}.up"] = (u[:, :rank] * root).half()
        packed[f"{name}.down"] = (root[:, None] * v[:rank]).half()
    return {name: tensor.contiguous() for name, tensor in packed.items()}


def write(
    folder: Path,
    tensors: Mapping[str, torch.Tensor],
    encoder: str,
    layout: Layout,
    training: Mapping[str, Any],
) -> None:
    """Write a folder that `ragsieve.models.clues` reads; its numbers are not calibrated yet.

    Args:
        folder: Where; made if it is not there.
        tensors: Of the head, and `differences` to the encoder.
        encoder: Its name, folder or hub id.
        layout: Windows that it reads.
        training: How it was made, for people.
    """
    where = store.resolve(encoder)
    weights = Path(where, "model.safetensors")
    own_folder = isinstance(where, Path) and encoder not in store.NAMED
    recipe = {
        "about": "One pass over question and passages gives every sentence the probability that "
        "it is a clue",
        "encoder": str(Path(where).resolve()) if own_folder else encoder,
        "encoder_sha256": sha256(weights) if weights.is_file() else "",
        "window": asdict(layout),
        "inputs": NAMES,
        "target": "the sentence holds a gold answer, normalised, at word boundaries",
        "training": dict(training),
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors), folder / WEIGHTS)
    _save(folder / RECIPE, recipe)
    _save(folder / CALIBRATION, {"a": 1.0, "b": 0.0})


def judge(
    folder: Path, validation: Sequence[Lesson], reader: type[ClueEncoder] = ClueEncoder
) -> None:
    """Calibrate a folder's numbers, and note its figures in the recipe.

    Args:
        folder: As `write` makes it; ``reader`` reads it as it will be used.
        validation: Questions of which at least one has both clues and other sentences; all of
            them calibrate, those without a clue too.
        reader: What reads such a folder.
    """
    judged = judgements(reader(str(folder.resolve())), validation)
    a, b = calibration(judged)
    _save(folder / CALIBRATION, {"a": a, "b": b})
    recipe = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
    _save(folder / RECIPE, {**recipe, "validation": figures(judged)})


def judgements(reader: ClueEncoder, questions: Sequence[Lesson]) -> list[Judged]:
    """What a clue reader makes of questions, before calibration."""
    given = [passages(lesson) for lesson in questions]
    found = reader.logits([lesson.query.text for lesson in questions], given)
    return [Judged.of(*pair) for pair in zip(questions, found, strict=True)]


def _save(file: Path, values: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
