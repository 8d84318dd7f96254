"""The name of `ragsieve.artifacts` before 0.2.0."""

import warnings

from ragsieve.artifacts import push_to_hub, read, save

__all__ = ["push_to_hub", "read", "save"]

warnings.warn("ragsieve.trained is ragsieve.artifacts now", DeprecationWarning, stacklevel=2)
