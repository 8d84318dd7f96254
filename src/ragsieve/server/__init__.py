"""The same calls over HTTP: `create_app` makes the application, `ragsieve serve` runs it."""

from ragsieve.errors import MissingExtra

try:  # here alone: whatever of the room is imported, this is run before
    from ragsieve.server.app import create_app
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "fastapi", extra="serve") from error
from ragsieve.server.settings import Limits, Settings, Upstream

__all__ = ["Limits", "Settings", "Upstream", "create_app"]
