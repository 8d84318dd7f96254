#!/usr/bin/env bash
# Guess: a table chunker cuts a Markdown table between rows, puts header and rule above each piece, and its indices lie around the
# rows, which a caller takes from the text again.
# Seen (chonkie 1.7.0): where a sentence stands above the table, the sentence counts as the header's first line and the rule as a
# row. Pieces behind the first have header but no rule, so that no reader of Markdown takes them for tables; the text below the
# table is a row of the last one. No piece is what the text has between its indices, with or without the sentence.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check chonkie==1.7.0 markdown-it-py==4.0.0
cd "$d"; timeout 120 "$d/v/bin/python" - <<'P'
from chonkie import TableChunker
from markdown_it import MarkdownIt

table = "| Name | Depth |\n|---|---|\n" + "\n".join(f"| berth {n} | {3 * n} m |" for n in range(8))
text = f"The berths are below.\n\n{table}\n\nAll else is closed.\n"
seen = {}
for name, source in (("table alone", table), ("below a sentence", text)):
    pieces = TableChunker(chunk_size=3).chunk(source)
    read = [any(t.type == "table_open" for t in MarkdownIt().enable("table").parse(p.text)) for p in pieces]
    exact = sum(source[p.start_index : p.end_index] == p.text for p in pieces)
    seen[name] = {"pieces": len(pieces), "tables": sum(read), "exact": exact, "rules": sum("|---" in p.text for p in pieces)}
    seen[name]["first begins at"] = pieces[0].start_index
print(seen)
assert seen == {
    "table alone": {"pieces": 3, "tables": 3, "exact": 0, "rules": 3, "first begins at": 27},
    "below a sentence": {"pieces": 3, "tables": 1, "exact": 0, "rules": 1, "first begins at": 40},
}, seen
P
