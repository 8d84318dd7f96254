#!/usr/bin/env bash
# Guess: LangChain's CharacterTextSplitter on a regular expression gives chunks that stand in the text,
# each with its place as `start_index`.
# Seen: where a chunk has several pieces, the pattern itself, as it was written, stands between them
# (`closed.\n{2,}The ferry`, a backslash and braces), and `start_index` is -1, without a warning. With
# `keep_separator=True` chunks are verbatim and their places right.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check langchain-text-splitters==1.1.3 langchain-core==1.8.3 2>/dev/null
"$d/v/bin/python" - <<'P'
from importlib.metadata import version

from langchain_text_splitters import CharacterTextSplitter

TEXT = (
    "The pier is closed.\n\n\nThe ferry leaves at nine.\n\nIt takes an hour.\n\n\n\n"
    "Tickets cost four euros."
)
print("langchain-text-splitters", version("langchain-text-splitters"))
seen = {}
for keep in (False, True):
    splitter = CharacterTextSplitter(
        separator=r"\n{2,}", is_separator_regex=True, chunk_size=50, chunk_overlap=0,
        add_start_index=True, keep_separator=keep,
    )
    seen[keep] = splitter.create_documents([TEXT])
    for one in seen[keep]:
        start = one.metadata["start_index"]
        verbatim = TEXT[max(start, 0) :].startswith(one.page_content)
        print(f"keep_separator={keep}", start, repr(one.page_content), f"verbatim: {verbatim}")
written = [one for one in seen[False] if r"\n{2,}" in one.page_content]
placed = {one.metadata["start_index"] for one in written}
kept = all(TEXT[one.metadata["start_index"] :].startswith(one.page_content) for one in seen[True])
print("guess: no chunk with the pattern in it; seen:", len(written), "of", len(seen[False]))
raise SystemExit(not (written and placed == {-1} and kept))
P
