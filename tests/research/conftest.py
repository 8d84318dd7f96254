"""Drawn examples have no deadline: a machine that others share is late now and then."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
