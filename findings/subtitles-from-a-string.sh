#!/usr/bin/env bash
# Guess: pysubs2 reads the same SRT alike from a file and from a string, as a retriever or a tool
# returns it. Seen: of a string with CRLF each cue but the last has a carriage return in each line
# and ends with a line more, so its plain text is not that of the file; number and times are.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check pysubs2==1.8.1 2>/dev/null
cd "$d"; v/bin/python - <<'P'
from pathlib import Path
import pysubs2
CUES = ["1", "00:00:01,000 --> 00:00:03,000", "The bridge was", "opened in May.", "",
        "2", "00:00:03,000 --> 00:00:05,000", "That was 1885.", ""]
text = "\r\n".join(CUES)
Path("bridge.srt").write_bytes(text.encode())
print("pysubs2", pysubs2.__version__)
seen = {name: [(e.start, e.end, e.plaintext) for e in subs] for name, subs in
        (("file", pysubs2.load("bridge.srt")), ("string", pysubs2.SSAFile.from_string(text)))}
for name, events in seen.items():
    print(f"{name:7}", events)
times = {name: [event[:2] for event in events] for name, events in seen.items()}
print("guess: equal; seen equal:", seen["file"] == seen["string"], "times equal:", times["file"] == times["string"])
held = [said for *_, said in seen["file"]] == ["The bridge was\nopened in May.", "That was 1885."]
other = [said for *_, said in seen["string"]] == ["The bridge was\r\nopened in May.\r\n\r", "That was 1885."]
raise SystemExit(not held or not other or times["file"] != times["string"])
P
