#!/usr/bin/env bash
# Guess: the newest pymupdf4llm brings its reader and what that needs, as all before it did.
# Seen: 2.0 is a wheel without a module and without requirements. The reader has moved into
# pymupdf 2.0, which requires the empty one: whoever installs the reader by its name has nothing.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
for name in pymupdf4llm pymupdf; do
  python3 -m venv "of-$name"; "of-$name/bin/pip" install -q --disable-pip-version-check "$name==2.0" 2>/dev/null
done
cat > look.py <<'P'
from importlib.metadata import distribution
from importlib.util import find_spec
own = distribution("pymupdf4llm")
code = [str(file) for file in own.files if file.suffix == ".py"]
print(own.version, code, own.requires, find_spec("pymupdf4llm") is not None)
P
alone=$(of-pymupdf4llm/bin/python look.py); beside=$(of-pymupdf/bin/python look.py)
echo "guess: its own code, and True in both; seen: pymupdf4llm alone: $alone; with pymupdf: $beside"
[ "$alone" == "2.0 [] None False" ] && [ "$beside" == "2.0 [] None True" ]
