"""What tools of coding agents return: programs run over fixed sources, as three agents show it.

    python benchmarks/agent_traces.py > traces.jsonl  # the last thirty of tests/traces.jsonl

Three packages come from PyPI at fixed versions (click and httpx: BSD-3-Clause; attrs: MIT), this
repository's history at a fixed commit; programs run in a folder of their own. A block of `ROWS` has
the agent, where and what is run, what the user asks, and a pattern for each span of evidence, which
somebody chose who knew the answer. Output is wrapped as Codex CLI 0.171, Claude Code 2.1 and Qwen
Code 0.15 wrap it. Of Codex' outputs the ids and seconds are made up.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("click==8.1.7", "httpx==0.27.2", "attrs==23.2.0")
COMMIT = "82e0c664"
APP = "/home/dev/app"
MOST = 18_500  # characters of a result
BROKEN = {  # what is changed in a file, so that tests and types fail
    "click-8.1.7/src/click/utils.py": (
        "total_length > max_length:  # too",
        "total_length > 9:  # too",
    ),
    "attrs-23.2.0/src/attr/converters.py": ('"yes", "y", "on"', '"y", "on"'),
    "httpx-0.27.2/httpx/_status_codes.py": ("<= 499", "<= 498"),
    "httpx-0.27.2/httpx/_decoders.py": (
        "self.decompressor.flush()",
        "self.decompressor.flush(1.5)",
    ),
}
LINES = r"(?:.*\n)*?"  # lines up to what follows
ROWS = r"""
codex httpx
cat httpx/_decoders.py
What does httpx do with a brotli answer if no brotli package is installed?
.*if brotli is None:.*\n<LINES>.*\) from None

codex click
cat src/click/formatting.py
How wide does click make the column with the option names in a help page?
.*first_col = min\(widths\[0\], col_max\) \+ col_spacing

codex httpx
grep -rn -e raise_for_status -e HTTPStatusError httpx tests
Where in httpx is the error for a 404 answer raised?
httpx/_models.py:\d+:.*raise HTTPStatusError\(.*

codex repo
git log --oneline -70 {commit}
Which commit makes the server stop at once when it gets SIGTERM twice?
.*End a server at once at a second SIGTERM.*

codex repo
git diff {commit}~40 {commit} -- src/ragsieve/cli/serve.py
Which new option of serve sets how long it waits for running requests at its end?
\+ +grace: .*

codex repo
git blame -L 60,170 {commit} -- src/ragsieve/server/chat.py
In which commit was line 100 of chat.py written?
.* 100\).*

codex click
python -m pytest -q -p no:cacheprovider tests/test_utils.py tests/test_formatting.py
The tests of click fail since my change. What goes wrong?
E .*assert .*
FAILED tests/.*

codex httpx
python -m mypy --no-error-summary --no-incremental --disallow-any-expr httpx/_decoders.py
What does the type checker object to in the decoders?
httpx/_decoders.py:\d+: error: .*

codex repo
python -m pip list
Which version of onnxruntime do we have here?
onnxruntime +\S+

codex attrs
ls -R
Where are the tests of the converters?
test_converters\.py

claude httpx
cat httpx/_auth.py
How does digest authentication compute the hash over method and path?
.*A2 = b\":\"\.join\(.*\n(?:.*\n)?.*HA2 = digest\(A2\)

claude click
cat src/click/testing.py
What happens to the temporary folder when a test leaves isolated_filesystem?
.*if temp_dir is None:\n<LINES>.*shutil\.rmtree\(dt\)

claude attrs
cat src/attr/validators.py
Which message do I get when a value is too long for max_len?
.*msg = f?\"Length of '\{attr\.name\}' must be <= .*

claude attrs
cat src/attr/converters.py
Which texts does attrs turn into True?
.*truthy = \{.*

claude attrs
cat README.md
Is attrs still worth it now that there are dataclasses?
.*dataclasses.*

claude httpx
git status
Which files did I change?
.*modified: +httpx/_decoders\.py
.*modified: +httpx/_status_codes\.py

claude click
git diff
What have I changed in click?
-.*total_length > max_length:  # too.*\n\+.*total_length > 9:  # too.*

claude repo
git log -12 --stat {commit}
Who touched the notebook last, and in which commit?
.*Show in the notebook what the filter keeps now

claude httpx
grep -rn 'def .*timeout' httpx tests
Which test checks that connecting can time out?
tests/test_timeouts\.py:\d+:async def test_connect_timeout.*

claude attrs
python -m pytest -q -p no:cacheprovider -p no:hypothesispytest tests/test_converters.py
Why do the converter tests fail?
E +ValueError: Cannot convert value to bool: yes
FAILED tests/test_converters\.py.*

claude repo
jq '.components[:40]' sbom.cdx.json
Under which licence is msgspec?
.*\"name\": \"msgspec\".*

qwen httpx
cat httpx/_multipart.py
How does a multipart upload find out the length of a file?
.*def get_length\(self\) -> int \| None:\n<LINES>.*file_length = peek_filelike_length\(self\.file\)

qwen click
head -n 330 CHANGES.rst
What does echo of click do when no streams are attached?
.*``echo\(\)`` does not fail when no streams are attached.*

qwen attrs
cat pyproject.toml
Which versions of Python do we have to support?
requires-python = \">=3\.7\"

qwen click
wc -l src/click/*.py tests/*.py examples/*/*.py docs/*.rst
Which module of click is the longest?
 *3042 src/click/core\.py

qwen httpx
grep -n -C 4 'class ' httpx/_exceptions.py
What does PoolTimeout mean?
.*Timed out waiting to acquire a connection from the pool\.

qwen click
nl -ba src/click/utils.py
Where does click shorten the help text of a command, and what does it add at the end?
.*return \" \"\.join\(words\[:i\]\) \+ \"\.\.\.\"

qwen click
python -m pytest -p no:cacheprovider -v tests/test_types.py tests/test_parser.py
Do the tests of types and of the parser still pass?
=+ \d+ passed.*

qwen repo
git show --stat -p {commit}~2
What was this commit about, and which files does it change?
 *Show in the notebook what the filter keeps now

qwen attrs
grep -rn -A 1 versionadded:: src/attr
What is new in attrs since version 22.1 among the validators?
src/attr/validators\.py:\d+:.*versionadded:: 22\.1\.0
"""  # agent and folder, command, question, evidence


def sources(folder: Path) -> None:
    """The packages with their changes, in Git, and this repository."""
    command = ["pip", "download", "-q", "--no-deps", "--no-binary", ":all:", *PACKAGES]
    subprocess.run([sys.executable, "-m", *command], cwd=folder, check=True, capture_output=True)
    for archive in folder.glob("*.tar.gz"):
        subprocess.run(["tar", "--no-same-owner", "-xf", archive.name], cwd=folder, check=True)
    for package in PACKAGES:
        name, version = package.split("==")
        (folder / f"{name}-{version}").rename(folder / name)
        for git in ("init -q", "add -A", "-c user.name=a -c user.email=a@b.c commit -qm first"):
            subprocess.run(["git", *git.split()], cwd=folder / name, check=True)
    for name, (old, new) in BROKEN.items():
        path = folder / re.sub(r"-[\d.]+/", "/", name)
        path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")


def printed(folder: Path, command: str) -> tuple[str, int]:
    """What a command prints, without the folder's own name, and its exit code."""
    at = folder / "src" if (folder / "src").is_dir() else folder
    env = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(at)}
    env |= {"GIT_PAGER": "cat", "HOME": str(folder.parent), "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True)
    text = (done.stdout + done.stderr).rstrip("\n")
    for own, shown in ((folder, APP), (ROOT, APP), (sys.prefix, "/usr"), (sys.base_prefix, "/usr")):
        text = text.replace(str(own), shown)
    return re.sub(r" in \d+\.\d+s", " in 1.23s", text), done.returncode


def wrapped(agent: str, command: str, text: str, code: int) -> tuple[str, dict[str, str], str]:
    """A tool's name, its arguments and its result, as an agent has them."""
    name = shlex.split(command)
    reads = name[0] == "cat"
    mark = hashlib.sha256(command.encode()).hexdigest()
    if agent == "codex":
        head = f"Chunk ID: {mark[:6]}\nWall time: 0.0{int(mark[:3], 16)} seconds\n"
        head += (
            f"Process exited with code {code}\nOriginal token count: {len(text) // 4}\nOutput:\n"
        )
        return "exec_command", {"cmd": command, "workdir": APP}, head + text
    if agent == "claude" and reads:
        lines = enumerate(text.split("\n"), 1)
        shown = "\n".join(f"{n}\t{line}" for n, line in lines)
        return "Read", {"file_path": f"{APP}/{name[1]}"}, shown
    if agent == "claude" and name[0] == "grep":
        return "Grep", {"pattern": name[2], "path": " ".join(name[3:])}, text
    if agent == "claude":
        return "Bash", {"command": command}, f"Exit code {code}\n" * bool(code) + text
    if reads:
        return "read_file", {"absolute_path": f"{APP}/{name[1]}"}, text
    shown = f"Command: {command}\nDirectory: (root)\nOutput: {text}\nError: (none)\n"
    shown += f"Exit Code: {code}\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711"
    return "run_shell_command", {"command": command, "is_background": "false"}, shown


def main() -> None:
    """Print the traces, a line each."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sources(folder)
        rows = ROWS.replace("{commit}", COMMIT).replace("<LINES>", LINES)
        for n, row in enumerate(rows.strip().split("\n\n"), 1):
            place, command, question, *evidence = row.split("\n")
            agent, where = place.split()
            text, code = printed(ROOT if where == "repo" else folder / where, command)
            tool, arguments, result = wrapped(agent, command, text[:MOST], code)
            found = [re.search(pattern, result) for pattern in evidence]
            if missing := [p for p, one in zip(evidence, found, strict=True) if not one]:
                print(f"{n} {command}: {missing}\n{result[:1500]}", file=sys.stderr)
            trace = {"id": f"{agent}-{n:02}", "user": question, "said": "", "tool": tool}
            trace |= {"arguments": json.dumps(arguments), "result": result}
            print(json.dumps({**trace, "evidence": [one[0] for one in found if one]}))


if __name__ == "__main__":
    main()
