"""The HTTP server: `create_app` makes the application, `ragsieve serve` runs it."""

from typing import TYPE_CHECKING, Any

from ragsieve.errors import MissingExtra
from ragsieve.server.settings import Limits, Settings, Upstream

if TYPE_CHECKING:
    from ragsieve.server.app import create_app

__all__ = ["Limits", "Settings", "Upstream", "create_app"]


def __getattr__(name: str) -> Any:
    """`create_app`, whose packages are an extra."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from ragsieve.server.app import create_app
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "fastapi", extra="serve") from error
    return create_app
