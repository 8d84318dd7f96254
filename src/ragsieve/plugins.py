"""Entry points by which other packages add systems, models and data sets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from ragsieve.errors import InputError

_log = logging.getLogger(__name__)


def load_group(group: str, fits: Callable[[Any], bool], rule: str) -> dict[str, Any]:
    """Import what other packages register in a group of entry points, by name.

    One that cannot be imported, or that does not fit ``rule``, is logged as a warning.
    """
    loaded = {}
    for point in entry_points(group=group):
        try:
            value = point.load()
            if not fits(value):
                raise InputError(f"{point.value} must be {rule}, got {value!r:.80}")
            loaded[point.name] = value
        except Exception as error:  # whatever another package raises when it is imported
            _log.warning("entry point %s of %s is left out: %s", point.name, group, error)
    return loaded
