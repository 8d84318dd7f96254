#!/usr/bin/env bash
# Guess: what pip puts beside openvino-genai 2026.4.0 and calls consistent can be imported: a later patch of openvino keeps its ABI.
# Seen (openvino-genai 2026.4.0.0, openvino 2026.4.1, which a plain install takes): `pip check` finds nothing broken, `import openvino`
# works, `import openvino_genai` raises ImportError, as each patch names its library anew (libopenvino.so.2640, .2641). The requirement
# is openvino~=2026.4.0. openvino-tokenizers prints that the two are not binary compatible, and imports. With openvino 2026.4.0 all is well.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check openvino-genai==2026.4.0.0 openvino-tokenizers==2026.4.0.0 openvino==2026.4.1
cd "$d"
imported() { timeout 120 v/bin/python -c "import $1" >"$d/said" 2>&1 && echo works || tail -n 1 "$d/said"; }
checked=$(v/bin/pip --disable-pip-version-check check)
later="openvino $(imported openvino), openvino_genai $(imported openvino_genai)"
v/bin/pip install -q --disable-pip-version-check openvino==2026.4.0
same="openvino_genai $(imported openvino_genai)"
echo "guess: all work; seen: $checked | $later | with 2026.4.0: $same"
[[ $checked == "No broken requirements found." ]]
[[ $later == "openvino works, openvino_genai ImportError: libopenvino.so.2640: cannot open shared object file: No such file or directory" ]]
[[ $same == "openvino_genai works" ]]
