"""Named weights: a pinned revision of the Hugging Face hub, or a folder laid here before.

Weights are fetched once into ``home()``, in a folder that transformers and sentence-transformers
load directly. What lies there is used without asking anyone: a hub's snapshot of the pinned
revision, or the folder ``weights/NAME``, in which ``tools/weights.py`` of the repository lays
weights where no hub can be reached. A complete folder says in ``ragsieve.json`` where it is from.
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import platformdirs
from filelock import FileLock
from rich.console import Console

from ragsieve.errors import InputError, StoreError, nearest, needs_extra, one_line
from ragsieve.files import check_sealed, digest
from ragsieve.models.files import fetched as fetched_files
from ragsieve.models.files import locate
from ragsieve.text import json_value

__all__ = ["NAMED", "Weights", "home", "listed", "pull", "resolve"]

logger = logging.getLogger(__name__)

_PREFIX = {"llm": "transformers", "embedder": "sentence_transformers"}  # of a folder
_RECORD = "ragsieve.json"
_REACH_S = 5.0  # without a network, a start must not wait longer for the hub
_PATTERNS = ["*.safetensors", "*.json", "*.txt", "*.jinja", "*.model"]  # no pickles


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights with a name: what they are and where they come from.

    Args:
        name: Small letters, digits, ``-`` and ``_``.
        summary: One line for people.
        licence: SPDX identifier of the weights' licence.
        kind: ``"llm"`` or ``"embedder"``.
        hub: Where the hub has them: ``ID@REVISION``.
        sha256: Of ``model.safetensors`` there.

    Raises:
        InputError: If ``name`` breaks its rule.
    """

    name: str
    summary: str
    licence: str
    kind: str
    hub: str
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
        sha256="5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c",
    ),
    "minilm": Weights(
        name="minilm",
        summary="all-MiniLM-L6-v2: English sentences to 384 numbers",
        licence="Apache-2.0",
        kind="embedder",
        hub="sentence-transformers/all-MiniLM-L6-v2@c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def home() -> Path:
    """The folder for what ragsieve keeps: ``RAGSIEVE_HOME``, else the user's cache folder."""
    chosen = os.environ.get("RAGSIEVE_HOME")
    try:
        return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("ragsieve")
    except RuntimeError as error:  # of a user without a home
        raise StoreError(f"RAGSIEVE_HOME must be a folder: {error}") from error


def pull(name: str | Weights) -> Path:
    """The folder of named weights, fetched once; two pulls at once fetch once.

    Args:
        name: A name of `NAMED`, or weights of your own. With ``HF_HUB_OFFLINE`` set the hub is
            not asked.

    Raises:
        InputError: If ``name`` is none that is known.
        StoreError: If the hub cannot be reached, or the weights are not what their checksum says.
        MissingExtra: If ragsieve's extra ``local`` is not installed.
    """
    if not isinstance(name, Weights) and name not in NAMED:
        raise InputError(
            f"weights must be one of {sorted(NAMED)}, got {name!r}{nearest(name, NAMED)}"
        )
    weights = name if isinstance(name, Weights) else NAMED[name]
    if folder := _present(weights):
        return folder
    try:
        home().mkdir(parents=True, exist_ok=True)
        with FileLock(home() / f".{weights.name}.lock"):
            return _present(weights) or _from_hub(weights)
    except OSError as error:
        raise StoreError(f"RAGSIEVE_HOME must be writable, got {home()!s}: {error}") from error


def listed() -> list[tuple[Weights, Path | None]]:
    """All named weights, each with its folder where it is pulled; fetches nothing."""
    return [(weights, _present(weights)) for weights in NAMED.values()]


def origin(folder: Path) -> str:
    """Where pulled weights come from: hub id and revision, or what laid them there."""
    return record(folder).get("origin", "")


def resolve(id_or_path: str | Path) -> Path | str:
    """The argument of ``from_pretrained``: named weights' folder, a folder, else the hub id as is.

    Raises:
        InputError: If a path is given that is no folder.
        StoreError, MissingExtra: As in `pull`.
    """
    name = str(id_or_path)
    place = pull(name) if name in NAMED else locate(id_or_path)
    if isinstance(place, Path) and (settings := place / "recipe.json").is_file():
        check_sealed(settings, json_value(settings.read_bytes()))
    return place


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
    if sha256 := record(folder).get("sha256"):
        return sha256[:12]
    loaded = {".safetensors", ".json", ".jinja", ".txt", ".model", ".bin", ".gguf"}
    files = sorted(f for f in (*folder.glob("*"), *folder.glob("*/*")) if f.suffix in loaded)
    stats = [(f.relative_to(folder).as_posix(), f.stat()) for f in files]
    stamps = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()[:12]


def marked(*names: str | None) -> str:
    """Names of a model and its adapter, with what tells weights apart that lie in a folder."""
    folders = {name: Path(resolve(name)) for name in names if name}
    return "+".join(
        f"{name}@{fingerprint(folder)}" if folder.is_dir() else name
        for name, folder in folders.items()
    )


def encoder_identity(model: str) -> str:
    """The identity of a bi-encoder with default options: what its vectors depend on."""
    return f"sentence_transformers:{marked(model)}"


def llm_identity(model: str) -> str:
    """The identity of a causal LLM with default options: what its replies depend on."""
    return f"transformers:{marked(model)}:{'bfloat16' if has_accelerator() else 'float32'}"


def has_accelerator() -> bool:
    """Whether torch finds one; a build for CPUs is not imported to say so."""
    return not version("torch").endswith("+cpu") and import_module("torch").cuda.is_available()


def _present(weights: Weights) -> Path | None:
    hub_id, _, revision = weights.hub.partition("@")
    snapshot = home() / "hub" / f"models--{hub_id.replace('/', '--')}" / "snapshots" / revision
    for folder in (home() / "weights" / weights.name, snapshot):
        if record(folder).get("sha256"):
            return folder
    return None


def record(folder: Path) -> dict[str, str]:
    """Contents of ``ragsieve.json``; empty where there is none."""
    try:
        return dict(json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, TypeError, ValueError, RecursionError):
        return {}


def write_record(folder: Path, **record: str) -> None:
    """Say that the folder is complete: ``name``, ``origin`` and the ``sha256`` of its weights."""
    (folder / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _from_hub(weights: Weights) -> Path:
    with needs_extra("local"):
        import huggingface_hub
    hub_id, revision = weights.hub.split("@")
    api = huggingface_hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    try:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise ConnectionError("HF_HUB_OFFLINE is set")
        info = api.model_info(  # a download would try for long
            hub_id, revision=revision, timeout=_REACH_S, files_metadata=True
        )
        sizes = [
            file.size or 0
            for file in info.siblings or ()
            if any(fnmatch(file.rfilename, pattern) for pattern in _PATTERNS)
        ]
        say(f"{weights.name}: fetching {weights.hub} ({sum(sizes) / 1e6:.1f} MB)")
        folder = Path(
            api.snapshot_download(
                hub_id, revision=revision, cache_dir=home() / "hub", allow_patterns=_PATTERNS
            )
        )
    except Exception as error:  # also of the HTTP library that the hub's client uses
        raise StoreError(
            f"{weights.name} could not be pulled from {api.endpoint}: {one_line(error, 300)}; "
            f"without a hub, name a model of a server (openai:NAME with base_url=URL), "
            f"run 'hf download {hub_id} --local-dir DIR' elsewhere and name "
            f"{_PREFIX[weights.kind]}:DIR, or run tools/weights.py in a clone of the repository"
        ) from error
    check(folder / "model.safetensors", weights.sha256)
    write_record(folder, name=weights.name, origin=weights.hub, sha256=weights.sha256)
    logger.info("%s: using %s", weights.name, weights.hub)
    return folder


def check(file: Path, sha256: str) -> None:
    """Raises StoreError: If a file's sha256 is another."""
    if (got := digest(file)) != sha256:
        raise StoreError(f"sha256 of {file.name} must be {sha256}, got {got}")


def say(text: str) -> None:
    """Print a line on standard error; not under `ragsieve -q`."""
    if logger.isEnabledFor(logging.WARNING):
        Console(stderr=True, highlight=False, soft_wrap=True).print(text)
