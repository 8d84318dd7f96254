#!/usr/bin/env bash
# Guess: Anthropic's client sends its key as `x-api-key`, and `data: {"type": "error"}` in a stream raises, as with OpenAI's client.
# Seen (anthropic 2.14.0): the key goes in `Authorization: Bearer`; an event without a name is skipped, so that a stream which a
# proxy ends in that way passes for a whole one. With the line `event: error` it raises.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check anthropic==2.14.0
cd "$d"; timeout 120 "$d/v/bin/python" - <<'P'
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic

HEADERS = []


class Handler(BaseHTTPRequestHandler):
    named = False

    def do_POST(self):
        HEADERS.append({key.lower() for key in self.headers})
        self.rfile.read(int(self.headers["content-length"]))
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m",
                   "usage": {"input_tokens": 1, "output_tokens": 1}}
        start = json.dumps({"type": "message_start", "message": message})
        error = json.dumps({"type": "error", "error": {"type": "api_error", "message": "broke off"}})
        name = "event: error\n" if Handler.named else ""
        body = f"event: message_start\ndata: {start}\n\n{name}data: {error}\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
client = anthropic.Anthropic(api_key="sk-x", base_url=url, max_retries=0)


def events():
    asked = [{"role": "user", "content": "x"}]
    try:
        return [e.type for e in client.messages.create(model="m", max_tokens=1, messages=asked, stream=True)]
    except anthropic.APIStatusError:
        return "raised"


without = events()
Handler.named = True
seen = {"without a name": without, "with a name": events(),
        "x-api-key": "x-api-key" in HEADERS[0], "authorization": "authorization" in HEADERS[0]}
server.shutdown()
print("anthropic", anthropic.__version__, "guess: raised, raised, True, False; seen:", seen)
assert seen == {"without a name": ["message_start"], "with a name": "raised", "x-api-key": False, "authorization": True}, seen
P
