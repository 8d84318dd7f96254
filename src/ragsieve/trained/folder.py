"""The folder of a trained filter: read, written whole or not at all, and shared by the hub."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragsieve.errors import InputError
from ragsieve.trained.card import card, hub_id
from ragsieve.trained.recipe import MAX_BYTES, Trained, place, read_json
from ragsieve.trained.weights import ADAPTER, check_part

FILTER = "filter.json"
CARD = "README.md"
SHIPPED = (".safetensors", ".json", ".md")
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*", re.ASCII)


def read(folder: Path | str) -> Trained:
    """What ``filter.json`` of a trained filter says; its parts are all there.

    Raises:
        InputError: If ``folder`` is no trained filter, or a part of it breaks a rule.
    """
    folder = Path(folder).expanduser()
    try:
        trained = Trained.parse(read_json(folder / FILTER))
        for name in trained.folders:
            inner = folder / name
            if inner.resolve() != folder.resolve() / name:
                raise InputError(f"part {name!r} must lie in its filter's folder")
            if not inner.is_dir():
                raise InputError(f"part {name!r} must be a folder, there is none")
            check_part(inner)
    except InputError as error:
        raise InputError(f"trained filter {str(folder)!r}: {error}") from error
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
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _write(work / folder.name, trained, parts, limits)
            _swap(work / folder.name, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise InputError(f"folder must be writable, got {str(folder)!r}: {error}") from error
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
    from ragsieve.trained.hub import pushed

    folder = Path(folder).expanduser()
    trained = read(folder)
    for model in trained.bases:
        if Path(place(model)).is_absolute():
            raise InputError(f"a shared filter must name models of the hub, got {model!r}")
    files = [FILTER, CARD] if (folder / CARD).is_file() else [FILTER]
    for name in trained.folders:
        files += [f"{name}/{file.as_posix()}" for file in shipped(folder / name)]
    return pushed(folder, repo_id, files, private=private, token=token, api=api)


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


def _write(
    folder: Path, trained: Trained, parts: Mapping[str, Path], limits: Sequence[str]
) -> None:
    folder.mkdir()
    for name, source in parts.items():
        base = hub_id(trained.folders[name].model)
        for file in shipped(source):
            _copy(source / file, folder / name / file, base)
    (folder / FILTER).write_text(_json(trained), encoding="utf-8")
    (folder / CARD).write_text(card(trained, limits), encoding="utf-8")
    read(folder)


def _swap(made: Path, folder: Path) -> None:
    old = made.with_name(f"{made.name}.old")
    if folder.exists():
        folder.replace(old)
    try:
        made.replace(folder)
    except BaseException:  # also an interrupt: the old one must come back
        if old.exists():
            old.replace(folder)
        raise


def _copy(source: Path, target: Path, base: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.name != ADAPTER[0]:
        shutil.copyfile(source, target)
        return
    values = read_json(source)
    if isinstance(values, dict):  # PEFT writes where the base lay: a path of this machine
        values["base_model_name_or_path"] = base
    target.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def check_free(folder: Path) -> None:
    """Refuse to replace what is no trained filter, or has more in it than one."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"folder must be a folder, got {str(folder)!r}")
    there = {file.name for file in folder.iterdir()} if folder.exists() else set()
    if not there:
        return
    if FILTER not in there:
        raise InputError(f"folder must be new or a trained filter, got {str(folder)!r}")
    if more := there - {FILTER, CARD, *read(folder).folders}:
        raise InputError(f"folder must hold nothing beside a trained filter, got {min(more)!r}")


def _json(trained: Trained) -> str:
    try:
        text = json.dumps(trained.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"a trained filter must be values of finite JSON: {error}") from error
    if len(text.encode()) >= MAX_BYTES:
        raise InputError(f"{FILTER} must have at most {MAX_BYTES} bytes, it has {len(text)}")
    return text + "\n"
