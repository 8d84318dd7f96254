#!/usr/bin/env bash
# Guess: a JSON schema without strings bounds how long a constrained reply is: an object with one
# integer from 0 to 9 is a dozen characters.
# Seen: llguidance's grammar of the schema takes 2,000 blanks before the value, or line breaks behind
# the bracket, so a small model may spend all its tokens on them and be cut without a value.
# `"x-guidance": {"whitespace_flexible": false}` in the schema takes none.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check llguidance==1.9.1 2>/dev/null
"$d/v/bin/python" - <<'P' 2>/dev/null
import llguidance
from llguidance import LLMatcher, LLTokenizer

SCHEMA = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["rating"],
    "additionalProperties": False,
}
print("llguidance", llguidance.__version__)


def taken(schema: dict, text: str) -> bool:
    """Whether the grammar of a schema takes a text, byte by byte."""
    matcher = LLMatcher(LLTokenizer("byte"), LLMatcher.grammar_from_json_schema(schema))
    return all(matcher.consume_token(byte) for byte in text.encode())


texts = ['{"rating":7}', '{"rating":' + " " * 2000 + "7}", "{" + "\n" * 2000]
usual = [taken(SCHEMA, text) for text in texts]
strict = [taken({**SCHEMA, "x-guidance": {"whitespace_flexible": False}}, text) for text in texts]
print("guess: only the first of three is taken; seen by default:", usual, "strict:", strict)
raise SystemExit(not (usual == [True] * 3 and strict == [True, False, False]))
P
