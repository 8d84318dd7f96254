"""The folder of a trained filter: read, written in one step, and shared on the hub."""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from ragsieve.errors import InputError, StoreError, naming, needs_extra, one_line
from ragsieve.files import check_sealed, sealed, writing
from ragsieve_research.artifacts.card import filter_card, hub_id
from ragsieve_research.artifacts.recipe import MAX_BYTES, Saved, Trained, place, read_json
from ragsieve_research.artifacts.weights import ADAPTER, check_part

FILTER = "filter.json"
CARD = "README.md"
SHIPPED = (".safetensors", ".json", ".md")
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*", re.ASCII)


def read(folder: Path | str) -> Trained:
    """Read the ``filter.json`` of a trained filter; its parts are all there.

    Raises:
        InputError: If ``folder`` is no trained filter, or a part of it breaks a rule.
    """
    folder = Path(folder).expanduser()
    with naming(f"trained filter {str(folder)!r}"):
        trained = Trained.parse(read_json(folder / FILTER))
        for name, part in trained.folders.items():
            inner = folder / name
            if inner.resolve() != folder.resolve() / name:
                raise InputError(f"part {name!r} must lie in its filter's folder")
            if not inner.is_dir():
                raise InputError(f"part {name!r} must be a folder, there is none")
            check_part(inner, part.kind)
    return trained


def save(
    folder: Path | str, trained: Trained, parts: Mapping[str, Path], *, limits: Sequence[str] = ()
) -> Path:
    """Write a trained filter, whole or not at all; of its parts only safetensors, JSON, Markdown.

    Args:
        folder: Where; an older trained filter there is replaced.
        trained: What it is.
        parts: Where each of its part folders (`Trained.folders`) lies now.
        limits: What it is not good at, a line each; for the card.

    Returns:
        The folder.

    Raises:
        InputError: If ``folder`` holds anything but a trained filter, ``parts`` are not those of
            ``trained``, or a part breaks a rule.
    """
    folder = Path(folder).expanduser().absolute()
    if parts.keys() != trained.folders.keys():
        wanted = ", ".join(sorted(trained.folders)) or "none"
        raise InputError(f"parts must be {wanted}, got {', '.join(sorted(parts)) or 'none'}")
    check_free(folder)
    with atomic_dir(folder) as fresh:
        for name, source in parts.items():
            copy_part(source, fresh / name, hub_id(trained.folders[name].model))
        write_sealed(fresh / FILTER, trained)
        (fresh / CARD).write_text(filter_card(trained, limits), encoding="utf-8")
        read(fresh)
    return folder


def push_to_hub(
    folder: Path | str,
    repo_id: str,
    *,
    private: bool = True,
    token: str | None = None,
    api: Any = None,
) -> str:
    """Upload a trained filter to the hub: what `save` writes, nothing else that lies there.

    Args:
        folder: A trained filter.
        repo_id: ``OWNER/NAME``; made where it is not there.
        private: Whether a repository that is made is private.
        token: Of the hub; the one that is logged in, where None.
        api: What talks to the hub; `huggingface_hub.HfApi`, where None.

    Returns:
        Its address.

    Raises:
        InputError: If ``folder`` is no trained filter, or names a model that only this machine has.
        StoreError: If the hub refuses, or cannot be reached.
        MissingExtra: If huggingface_hub is not installed.
    """
    with needs_extra("local"):
        import huggingface_hub

    folder = Path(folder).expanduser()
    trained = read(folder)
    for model in trained.bases:
        if Path(place(model)).is_absolute():
            raise InputError(f"a shared filter must name models of the hub, got {model!r}")
    files = [FILTER, CARD] if (folder / CARD).is_file() else [FILTER]
    for name in trained.folders:
        files += [f"{name}/{file.as_posix()}" for file in shipped(folder / name)]
    hub = api or huggingface_hub.HfApi(token=token)
    try:
        url = hub.create_repo(repo_id, private=private, token=token, exist_ok=True)
        hub.upload_folder(
            repo_id=url.repo_id,
            folder_path=str(folder),
            allow_patterns=files,
            token=token,
            commit_message="Upload a trained ragsieve filter",
        )
    except Exception as error:  # also of the HTTP library that the hub's client uses
        line = one_line(error, 300)
        raise StoreError(f"{repo_id} could not be pushed to the hub: {line}") from error
    return str(url)


def shipped(folder: Path) -> list[Path]:
    """Files of a part that are shared, relative to it: no links, no state of a trainer."""
    return sorted(file.relative_to(folder) for file in _walk(folder))


def _walk(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise InputError(f"a part must be a folder, got {str(folder)!r}")
    for file in folder.iterdir():
        wanted = _NAME.fullmatch(file.name) and not file.name.startswith("checkpoint-")
        if not wanted or file.is_symlink() or file.name == "trainer_state.json":
            continue
        if file.is_dir():
            yield from _walk(file)
        elif file.suffix in SHIPPED:
            yield file


def copy_part(source: Path, target: Path, base: str | None = None) -> None:
    """Copy what is shared of a part; the configuration of an adapter then names ``base``."""
    for file in shipped(source):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, target / file)
    if base is not None and (config := target / ADAPTER[0]).is_file():
        values = read_json(config)
        if isinstance(values, dict):  # PEFT writes where the base lay: a path of this machine
            values["base_model_name_or_path"] = base
        config.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


@contextmanager
def atomic_dir(folder: Path) -> Iterator[Path]:
    """A new folder to write to, which then takes the place of ``folder``: whole or not at all.

    Its files get ordinary permissions.

    Raises:
        InputError: If it cannot be written.
    """
    folder = folder.absolute()
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            fresh = work / folder.name
            fresh.mkdir()
            yield fresh
            ordinary(fresh)
            _swap(fresh, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _swap(fresh: Path, folder: Path) -> None:
    old = fresh.with_name(f"{fresh.name}.old")
    if folder.exists():
        folder.replace(old)
    try:
        fresh.replace(folder)
    except BaseException:  # also an interrupt: the old one must come back
        if old.exists():
            old.replace(folder)
        raise


def check_free(folder: Path) -> None:
    """Refuse to replace what is no trained filter, or has more in it than one."""
    check_replaceable(folder, "filter", FILTER, lambda: (CARD, *read(folder).folders))


def check_replaceable(
    folder: Path, what: str, marker: str, names: Callable[[], Iterable[str]]
) -> None:
    """Refuse to replace a folder that is no trained ``what``, or has more in it than one.

    Args:
        folder: May be new or empty.
        what: What it may be.
        marker: The file that tells it.
        names: Gives names of all else that such a folder may hold.

    Raises:
        InputError: If it holds something else.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"folder must be a folder, got {str(folder)!r}")
    present = {file.name for file in folder.iterdir()} if folder.exists() else set()
    if not present:
        return
    if marker not in present:
        raise InputError(f"folder must be new or a trained {what}, got {str(folder)!r}")
    if more := present - {marker, *names()}:
        raise InputError(f"folder must hold nothing beside a trained {what}, got {min(more)!r}")


def write_sealed(settings: Path, trained: Saved) -> None:
    """Write the settings of a folder with the digests of all that lies there but cards."""
    files = [f for f in settings.parent.rglob("*") if f.is_file() and f.suffix != ".md"]
    values = json.loads(to_json(trained.to_dict()))
    settings.write_text(to_json(sealed(settings, values, files)), encoding="utf-8")


def check_files(settings: Path, what: str) -> None:
    """Check all files of a trained ``what`` by its settings, which were read before.

    Raises:
        InputError: If one is another than when the folder was written.
    """
    with naming(f"trained {what} {str(settings.parent)!r}"):
        check_sealed(settings, read_json(settings))


def to_json(values: object) -> str:
    """Text of a JSON file of moderate size, of finite numbers.

    Raises:
        InputError: If it is none.
    """
    try:
        text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"what is trained must be values of finite JSON: {error}") from error
    if len(text.encode()) >= MAX_BYTES:
        raise InputError(f"a JSON file must have at most {MAX_BYTES} bytes, it has {len(text)}")
    return text + "\n"


def ordinary(folder: Path) -> None:
    """Give all files in a folder the permissions of a new file: safetensors writes 0600."""
    probe = folder / f".{uuid4().hex[:12]}.new"
    probe.touch(exist_ok=False)
    mode = probe.stat().st_mode & 0o777
    probe.unlink()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            file.chmod(mode)
