"""What frameworks would do on import is switched off: calls home, and files in the home folder."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("DSPY_CACHEDIR", str(Path(tempfile.gettempdir()) / "ragsieve-dspy"))

FAKE = {"llm": "fake:echo", "embedder": "fake:hashing", "options": {"k": 1}}
QUESTION = "Who drew the first design of the Eiffel Tower?"
KEPT = "Maurice Koechlin drew the first design of the tower."
PAGE = f"The tower is 330 metres tall. {KEPT}"
FRUIT = "Bananas are yellow. They grow in bunches."
LONG = f"{PAGE} {' '.join(['It rains in the north.'] * 20)}"
