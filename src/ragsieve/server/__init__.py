"""The HTTP server: `create_app` makes the application, `ragsieve serve` runs it."""

from typing import TYPE_CHECKING, Any

from ragsieve.errors import needs_extra
from ragsieve.server.settings import Limits, Settings, Upstream

if TYPE_CHECKING:
    from ragsieve.server.app import create_app

__all__ = ["Limits", "Settings", "Upstream", "create_app"]


def __getattr__(name: str) -> Any:
    """`create_app`, whose packages are an extra."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("serve"):
        from ragsieve.server.app import create_app
    return create_app
