#!/usr/bin/env bash
# Guess: start_char_idx and end_char_idx of LlamaIndex's nodes say where a node was cut out: without overlap, nodes cover a document once.
# Seen (llama-index-core 0.14.25): a node's text is searched from one character behind the beginning of the node before, so where lines
# repeat, as in logs, minutes and forms, all nodes but the first stand too early: eight equal lines in four nodes of two begin at 0, 10,
# 20, 30 in place of 0, 20, 40, 60. The ranges overlap and nothing points to the last third; the text at each place is the node's.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check llama-index-core==0.14.25
cat >"$d/look.py" <<'P'
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter

text = "All calm.\n" * 8
lines = lambda said: said.splitlines(keepends=True)
split = SentenceSplitter(chunk_size=4, chunk_overlap=0, tokenizer=str.split, chunking_tokenizer_fn=lines, include_metadata=False)
nodes = split.get_nodes_from_documents([Document(text=text)])
alike = all(text[one.start_char_idx : one.end_char_idx] == one.text for one in nodes)
print([one.text.count("calm") for one in nodes], [one.start_char_idx for one in nodes], alike, nodes[-1].end_char_idx, len(text))
P
seen=$("$d/v/bin/python" "$d/look.py" | tail -n 1)
echo "guess: [2, 2, 2, 2] [0, 20, 40, 60] True 79 80; seen: $seen"
[[ $seen == "[2, 2, 2, 2] [0, 10, 20, 30] True 49 80" ]]
