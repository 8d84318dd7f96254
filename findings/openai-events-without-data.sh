#!/usr/bin/env bash
# Guess: OpenAI's client passes over an event without data (`retry: 3000`, `id: 7`), as WHATWG's server-sent events say: it is not dispatched.
# Seen (openai 3.54.0): the event's empty data is read as JSON, so that a stream of a whole reply ends in JSONDecodeError. An `id:` is
# never reset, so that behind one of it each further blank line is such an event, too.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check openai==3.54.0
cd "$d"; timeout 120 "$d/v/bin/python" - <<'P'
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai


def chunk(text, finish=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return "data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}) + "\n"


END = chunk("", "stop") + "\ndata: [DONE]\n\n"
STREAMS = {
    "plain": chunk("Cork") + "\n" + END,
    "a comment": ": ping\n\n" + chunk("Cork") + "\n" + END,
    "retry": "retry: 3000\n\n" + chunk("Cork") + "\n" + END,
    "event": chunk("Cork") + "\nevent: ping\n\n" + END,
    "an id, then a blank line": "id: 7\n" + chunk("Cork") + "\n\n" + END,
}


class Handler(BaseHTTPRequestHandler):
    body = ""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(Handler.body)))
        self.end_headers()
        self.wfile.write(Handler.body.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = openai.OpenAI(api_key="sk-x", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)


def read(name):
    Handler.body, text = STREAMS[name], ""
    asked = [{"role": "user", "content": "x"}]
    try:
        for event in client.chat.completions.create(model="m", messages=asked, stream=True):
            text += event.choices[0].delta.content or ""
        return text
    except Exception as error:
        return f"{text!r}, then {type(error).__name__}"


seen = {name: read(name) for name in STREAMS}
server.shutdown()
print("openai", openai.__version__, "guess: 'Cork' from all; seen:", seen)
assert seen == {"plain": "Cork", "a comment": "Cork", "retry": "'', then JSONDecodeError",
                "event": "'Cork', then JSONDecodeError", "an id, then a blank line": "'Cork', then JSONDecodeError"}, seen
P
