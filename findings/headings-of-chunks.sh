#!/usr/bin/env bash
# Guess: a splitter by Markdown headings gives each chunk the headings above it, its own the last one; so the path of a chunk names it,
# and the same page has the same paths from each library.
# Seen (langchain-text-splitters 1.1.3, llama-index-core 0.14.25, haystack-ai 3.4.1): LangChain's path ends with the chunk's own heading,
# which is cut out of the text. LlamaIndex's header_path ends with the parent, the own heading is in the text alone, and a heading
# without text is a chunk of itself. Haystack has its own heading under `header`, and a parent without text stands in the text of its
# first child only: two sections of one parent read as if they had different ones.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check langchain-text-splitters==1.1.3 llama-index-core==0.14.25 haystack-ai==3.4.1
HAYSTACK_TELEMETRY_ENABLED=False timeout 300 "$d/v/bin/python" -W ignore - <<'P'
import haystack
from haystack.components.preprocessors import MarkdownHeaderSplitter
from langchain_text_splitters import MarkdownHeaderTextSplitter
from llama_index.core import Document
from llama_index.core.node_parser import MarkdownNodeParser

page = "## Prices\n\n### Student\n\nFour euros.\n\n### Team\n\nTwelve euros.\n"
chain = MarkdownHeaderTextSplitter([("##", "2"), ("###", "3")]).split_text(page)
index = MarkdownNodeParser().get_nodes_from_documents([Document(text=page)])
stack = MarkdownHeaderSplitter().run([haystack.Document(content=page)])["documents"]
seen = {
    "LangChain": [([*one.metadata.values()], one.page_content) for one in chain],
    "LlamaIndex": [(one.metadata["header_path"], one.get_content()) for one in index],
    "Haystack": [(one.meta["parent_headers"], one.meta["header"], one.content.strip()) for one in stack],
}
for name, chunks in seen.items():
    print(name, chunks)
assert seen == {
    "LangChain": [(["Prices", "Student"], "Four euros."), (["Prices", "Team"], "Twelve euros.")],
    "LlamaIndex": [
        ("/", "## Prices"),
        ("/Prices/", "### Student\n\nFour euros."),
        ("/Prices/", "### Team\n\nTwelve euros."),
    ],
    "Haystack": [
        (["Prices"], "Student", "## Prices\n\n### Student\n\nFour euros."),
        (["Prices"], "Team", "### Team\n\nTwelve euros."),
    ],
}, seen
P
