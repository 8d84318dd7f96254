"""What frameworks would do on import is switched off: calls home, and files in the home folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("DSPY_CACHEDIR", str(Path(tempfile.gettempdir()) / "ragsieve-dspy"))
