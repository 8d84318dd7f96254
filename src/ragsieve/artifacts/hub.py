"""Trained filters on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "huggingface_hub", extra="local") from error

from ragsieve.errors import StoreError

# The base is what the hub's library takes for HTTP: a refused connection is one of its errors.
_HTTP: Any = HfHubHTTPError.__bases__
_FAILED: tuple[type[Exception], ...] = (OSError, ValueError, *_HTTP)


def pulled(name: str, files: Sequence[str]) -> Path:
    """The folder of a repository ``OWNER/NAME`` or ``OWNER/NAME@REVISION``, fetched once.

    Args:
        name: Which.
        files: Patterns of what is fetched of it.

    Raises:
        StoreError: If the hub has none, or cannot be reached.
    """
    repo_id, _, revision = name.partition("@")
    options: dict[str, Any] = {"revision": revision or None, "allow_patterns": list(files)}
    try:
        return Path(huggingface_hub.snapshot_download(repo_id, **options))
    except _FAILED as error:
        raise StoreError(f"{name} could not be fetched from the hub: {_line(error)}") from error


def pushed(
    folder: Path,
    repo_id: str,
    files: Sequence[str],
    *,
    private: bool,
    token: str | None,
    api: Any,
) -> str:
    """Upload ``files`` of ``folder``; the address of the repository.

    Raises:
        StoreError: If the hub refuses, or cannot be reached.
    """
    hub = api or huggingface_hub.HfApi(token=token)
    try:
        url = hub.create_repo(repo_id, private=private, token=token, exist_ok=True)
        hub.upload_folder(
            repo_id=url.repo_id,
            folder_path=str(folder),
            allow_patterns=list(files),
            token=token,
            commit_message="Upload a trained ragsieve filter",
        )
    except _FAILED as error:
        raise StoreError(f"{repo_id} could not be pushed to the hub: {_line(error)}") from error
    return str(url)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
