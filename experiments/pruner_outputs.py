"""Questions over outputs of real programs for the sentence pruner: logs, tables, runs, helps.

Each row of `KINDS` runs commands of this machine, finds entries in what they print, and asks for
them by what they say. Programs marked as held out are for validation alone.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pruner_passages import content, place

Record = dict[str, Any]

SITE = str(Path(re.__file__).parent)
TOP = str(Path(__file__).parents[1])
PACKAGES = str(next(p for p in map(Path, sys.path) if p.name == "site-packages"))
WINDOW = (12, 90)  # lines of an output, around what is asked for
PROGRAMS = """
ls cp mv rm grep sed sort find tar df du ps cut tr head tail date touch chmod chown ln mkdir wc
uniq xargs diff cmp stat split comm join paste fold fmt nl od tee seq shuf dd env nice timeout
gzip bzip2 xz zip unzip less curl wget ssh scp rsync make gcc ld nm objdump strip readelf ar
git-log node npm python3 perl awk openssl dpkg apt-get apt-cache gpg top free uptime kill pgrep
pkill watch lsblk mount umount fdisk ip ss ping systemctl journalctl hostname who id su useradd
usermod passwd crontab tput bash install pip pytest mypy ruff uv mkdocs ray uvicorn jupyter
black isort coverage twine pre-commit huggingface-cli torchrun accelerate litellm dspy fonttools
markdown_py pygmentize tqdm yamllint nltk sqlite3 psql pg_dump createdb pdftotext pandoc ffmpeg
convert cmake ninja gdb strace xgettext msgfmt
"""
"""Programs whose options are asked for; a part is held out by name."""


class Kind(NamedTuple):
    """A program's outputs and what is asked of their entries.

    Args:
        commands: Each gives one output.
        entry: Finds an entry in an output, which is the evidence. Its groups fill the questions.
        questions: With names of groups; ``{words}`` are some of an entry's.
        held: Whether it is for validation alone.
    """

    commands: list[str]
    entry: str
    questions: tuple[str, ...]
    held: bool = False


_LS = r"^[-dl]\S+ +\d+ (?P<user>\S+) +\S+ +(?P<size>\S+) \w+ +\d+ +\S+ (?P<name>\S+).*"
KINDS: dict[str, Kind] = {
    "pip list": Kind(
        ["pip list", f"{sys.executable} -m pip list"],
        r"^(?P<name>[\w.-]+) +(?P<version>\d\S*)",
        ("which version of {name} is installed?", "{name} version", "is {name} installed?"),
    ),
    "dpkg -l": Kind(
        ["dpkg -l"],
        r"^ii +(?P<name>[^\s:]+)\S* +(?P<version>\S+) +\S+ +(?P<text>.+)",
        ("what is the package {name} for?", "{name} version", "which package is this: {words}",
         "is {name} installed, and in which version"),
        held=True,
    ),
    "ls -l": Kind(
        [f"ls -l {d}" for d in ("/usr/bin", "/etc", "/usr/lib/python3*", PACKAGES, "/usr/sbin",
                                "/usr/share", "/var/lib", f"{TOP}/src/ragsieve", "/usr/include")]
        + [f"ls -lh {d}" for d in ("/usr/bin", SITE, "/lib/x86_64-linux-gnu", "/etc/ssl/certs")],
        _LS,
        ("how large is {name}?", "when was {name} changed?", "who owns {name}", "{name}",
         "what are the permissions of {name}?"),
    ),
    "df": Kind(
        ["df -h", "df", "df -i", "mount", "findmnt"],
        r"^.*\s(?P<name>/[\w./-]+)(?:\s.*)?$",
        ("how full is {name}?", "what is mounted at {name}", "space left on {name}"),
        held=True,
    ),
    "ps": Kind(
        ["ps aux", "ps -ef", "ps -eo pid,rss,etime,comm"],
        r"^.*?(?P<pid>\d{2,}).*?(?P<name>[a-zA-Z][\w.-]{3,})\S*$",
        ("how much memory does {name} with pid {pid} use?", "what is process {pid}?", "pid {pid}"),
    ),
    "services": Kind(
        ["grep -v ^# /etc/services", "grep -v ^# /etc/protocols"],
        r"^(?P<name>[\w-]+)\s+(?P<port>\d+)(?:/\w+)?.*",
        ("which port does {name} use?", "what runs on port {port}", "{name} port"),
    ),
    "passwd": Kind(
        ["cat /etc/passwd", "cat /etc/group"],
        r"^(?P<name>[\w-]+):x:(?P<id>\d+).*",
        ("what is the id of {name}?", "who has id {id}?", "shell of {name}"),
    ),
    "meminfo": Kind(
        ["cat /proc/meminfo", "lscpu", "cat /proc/vmstat", "getconf -a", "sysctl -a",
         "openssl ciphers -v", "npm config ls -l", "cat /proc/self/status"],
        r"^(?P<name>[\w().:-]+(?: [\w()]+){0,3}?)\W*[:= ]\s*(?P<value>\S.*)",
        ("what is {name}?", "{name}", "value of {name}", "how high is {name}?"),
    ),
    "git log": Kind(
        [f"git -C {TOP} log -120 --skip {n}" for n in (0, 150, 400, 800)],
        r"^commit (?P<hash>\w{8})\w*\n(?:Author|Merge).*\n(?:.*\n)*?Date: +.*\n\n    (?P<text>.*)",
        ("which commit is this: {words}", "when did we {text}?", "what was done in {hash}?",
         "who wrote {hash}", "{words}"),
    ),
    "git oneline": Kind(
        [f"git -C {TOP} log --oneline -300 --skip {n}" for n in (0, 300, 600)]
        + [f"git -C {TOP} log -200 --format='%h %an %ad %s' --skip {n}" for n in (0, 200)],
        r"^(?P<hash>\w{7,}) (?P<text>.*)",
        ("which commit is this: {words}", "what is {hash}?", "in which commit did we {text}",
         "{words} commit"),
    ),
    "git stat": Kind(
        [f"git -C {TOP} show --stat HEAD~{n}" for n in range(0, 60, 3)]
        + [f"git -C {TOP} diff --numstat HEAD~{n}" for n in (20, 60)],
        r"^ *(?P<name>[\w/.-]+\.\w+) *\|.*|^\d+\t\d+\t(?P<file>\S+)",
        ("how many lines changed in {name}?", "what changed in {name}"),
    ),
    "git blame": Kind(
        [f"git -C {TOP} blame {f}" for f in ("README.md", "src/ragsieve/types.py", "Makefile",
                                             "src/ragsieve/system.py", "pyproject.toml")],
        r"^\^?\w{7,} .*?\([\w ]+? +\d{4}\S+ \S+ \S+ +(?P<line>\d+)\) *(?P<text>\S.{15,})",
        ("who wrote this line: {words}", "when was line {line} written?", "who changed: {words}"),
        held=True,
    ),
    "dpkg.log": Kind(
        ["cat /var/log/dpkg.log", "cat /var/log/alternatives.log"],
        r"^(?P<date>\S+ \S+) (?:status )?(?P<what>[\w-]+) (?P<name>[\w.+-]+):\w+ \S.*",
        ("when was {name} {what}?", "{name} {what}", "which {name} came at {date}"),
    ),
    "apt show": Kind(
        [f"dpkg -s {p}" for p in ("bash", "git", "curl", "perl", "gcc", "libc6", "openssl", "tar",
                                  "coreutils", "apt", "dpkg", "make", "nodejs", "python3")],
        r"^(?P<name>[A-Z][\w-]+): (?P<value>.*)",
        ("what is the {name}?", "{name}"),
    ),
    "pip show": Kind(
        [f"pip show {p}" for p in ("pip", "setuptools", "wheel")]
        + [f"{sys.executable} -m pip show {p}" for p in ("numpy", "torch", "pytest", "httpx",
                                                         "ray", "mypy", "langchain-core", "dspy")],
        r"^(?P<name>[A-Z][\w-]+): (?P<value>.+)",
        ("what is the {name}?", "{name}", "which {name} does it have?"),
    ),
    "du": Kind(
        [f"du -sh {PACKAGES}/*", "du -k --max-depth=2 /usr/share", "du -h --max-depth=1 /usr/lib"],
        r"^(?P<size>\S+)\t\S*?(?P<name>[\w.-]+)$",
        ("how much space does {name} take?", "size of {name}", "{name}"),
    ),
    "ruff": Kind(
        [f"{sys.executable} -m ruff check --select ALL --output-format concise {PACKAGES}/{p}"
         for p in ("httpx", "click", "yaml", "rich", "attr", "packaging", "pluggy", "markdown")],
        r"^\S*?(?P<file>\w+\.py):(?P<line>\d+):\d+: (?P<code>[A-Z]+\d+) (?P<text>.*)",
        ("what is wrong in line {line} of {file}?", "{file}:{line}", "where does it say: {words}",
         "which finding is at {file} line {line}"),
    ),
    "mypy": Kind(
        [f"cd $(mktemp -d); cp {PACKAGES}/{p} .; {sys.executable} -m mypy --strict "
         "--no-site-packages --ignore-missing-imports *.py; rm -r $PWD"
         for p in ("markdown/core.py", "yaml/constructor.py", "yaml/parser.py", "tqdm/std.py",
                   "bs4/dammit.py", "docx/document.py", "pygments/lexer.py", "nltk/util.py")],
        r"^\S*?(?P<file>\w+\.py):(?P<line>\d+): error: (?P<text>.*)",
        ("what is wrong in line {line} of {file}?", "{file}:{line}", "where is the error: {words}"),
        held=True,
    ),
    "imports": Kind(
        [f"{sys.executable} -X importtime -c 'import {m}'" for m in ("json", "asyncio", "numpy",
                                                                     "httpx", "logging.config")],
        r"^import time: +(?P<self>\d+) \| +(?P<all>\d+) \| +(?P<name>[\w.]+)",
        ("how long does the import of {name} take?", "import time of {name}", "{name}"),
    ),
    "wc": Kind(
        [f"wc -l {TOP}/src/ragsieve/*/*.py", f"wc -w {TOP}/docs/*.md",
         f"md5sum {TOP}/tests/core/*.py",
         f"sha256sum {TOP}/docs/*.md"],
        r"^ *(?P<value>\w+) +\S*?(?P<name>[\w.-]+)$",
        ("how many lines does {name} have?", "{name}", "what is the sum for {name}?"),
    ),
    "grep -rn": Kind(
        [f"grep -rnE '{w}' {PACKAGES}/{p} --include=*.py" for w, p in
         (("^def ", "httpx"), ("raise ", "click"), ("^class ", "rich"), ("TODO|FIXME", "torch/nn"),
          ("warnings.warn", "sklearn/utils"), ("def test", "numpy/linalg"), ("^import", "attr"))],
        r"^\S*?(?P<file>\w+\.py):(?P<line>\d+):\s*(?P<text>\S.{12,})",
        ("where does it say {words}?", "{file} line {line}", "which file has: {words}", "{words}"),
    ),
}  # fmt: skip
HELP = Kind(
    [],
    r"^ {1,10}(?P<flags>-[^\n]{0,60}?)(?: {2,}|\t|\n {10,})"
    r"(?P<text>\S[^\n]*(?:\n {12,}[^\s-][^\n]*)*)",
    ("which option of {program} is for this: {words}", "how do I get {program} to {sentence}?",
     "{program}: {words}", "what does {flag} do?", "{program} {flag}", "{words}"),
)  # fmt: skip
ASSERTS = (  # a failing test of a small module
    "    total = sum({a})\n    assert total == {n}",
    "    got = {d}\n    assert got['{k}'] == {n}",
    "    values = sorted({a})\n    assert values[0] > {n}, 'smallest {k} too small'",
    "    text = '{k} {j}'.upper()\n    assert '{k}' in text",
    "    {k} = {d}\n    {k}['{j}_id']",
    "    int('{k}')",
    "    import json\n    json.loads('[{n}, {k}]')",
    "    with open('/tmp/none/{k}.json') as file:\n        file.read()",
    "    [][{n}]",
    "    raise RuntimeError('{k} of {j} did not answer in {n} s')",
    "    None.{k}",
    "    1 / ({n} - {n})",
)
NOUNS = """
order invoice customer price stock login token cache report queue parser upload mail schedule
payment address search index user session export region basket refund ticket
"""


def printed(command: str) -> str:
    """What a command prints, at most 400,000 characters; empty where it cannot run."""
    try:
        ran = subprocess.run(
            ["bash", "-c", command + " 2>&1"], capture_output=True, timeout=60, cwd="/tmp",
            env={"PATH": f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}",
                 "COLUMNS": "100", "LANG": "C.UTF-8",
                 "MANPAGER": "cat", "PAGER": "cat", "HOME": "/tmp"},
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""
    return ran.stdout.decode("utf-8", "replace").replace("\r", "")[:400_000]


def outputs(chance: random.Random, most: int) -> Iterator[tuple[bool, Record]]:
    """Whether it is for validation, and a question; at most so many of a command."""
    pool: list[str] = []
    for name, kind in KINDS.items():
        count = max(4, 6 * most // len(kind.commands))
        for command in kind.commands:
            text = printed(command)
            for record in asked(name, kind, command, text, chance, count):
                yield kind.held, with_others(record, pool, chance)
            pool += [_cut(text, 0, 1, chance)[0]] if text else []
    for program in PROGRAMS.split():
        if shutil.which(program.replace("-", " ").split()[0]) or program in ("pytest", "mypy"):
            text = printed(f"{program.replace('git-', 'git ')} --help")
            for record in asked("help", HELP, program, text, chance, most // 8):
                yield place(program) < 12, with_others(record, pool, chance)
    for run in range(most):
        for record in failures(run, chance):
            yield run % 8 == 0, with_others(record, pool, chance)


def asked(
    name: str, kind: Kind, command: str, text: str, chance: random.Random, most: int
) -> Iterator[Record]:
    """Questions over one output."""
    entries = [*re.finditer(kind.entry, text, re.MULTILINE)]
    for number, found in enumerate(chance.sample(entries, min(len(entries), most))):
        said = {k: v for k, v in found.groupdict().items() if v}
        said |= {"name": said.get("name") or said.get("file", ""), "program": command}
        about = said.get("text", "")
        words = [w for w in re.findall(r"[\w'-]*\w", about) if content(w)]
        said["words"] = " ".join(w for w in words if chance.random() < 0.6) or " ".join(words)
        first = " ".join(re.split(r"[.;(]\s|\n\n", about)[0].split())
        said["sentence"] = said["text"] = first[:1].lower() + first[1:]
        said["flag"] = re.split(r"[ ,=\[<]", said.get("flags", ""))[0]
        fit = [q for q in kind.questions if all(said.get(k) for k in re.findall(r"\{(\w+)\}", q))]
        if not fit or (name == "help" and len(words) < 3):
            continue
        shown, at = _cut(text, *found.span(), chance)
        prompt = f"$ {command.split('/')[-1]}\n" if chance.random() < 0.2 else ""
        span = [at + len(prompt), at + len(prompt) + found.end() - found.start()]
        question = chance.choice(fit).format(**said)[:200]
        document = {"id": command, "title": chance.choice(("", "", name)), "text": prompt + shown}
        yield {
            "id": f"output:{name}:{place(command, 10**6)}:{number}",
            "question": question,
            "answers": [],
            "documents": [{**document, "evidence": [span]}],
        }


def _cut(text: str, start: int, end: int, chance: random.Random) -> tuple[str, int]:
    """Some lines around a span, now and then below the output's head; where the span is then."""
    lines = text.splitlines(keepends=True)
    first = text.count("\n", 0, start)
    last = text.count("\n", 0, end) + 1
    size = max(last - first, chance.randrange(*WINDOW))
    begin = max(0, min(first - chance.randrange(size - (last - first) + 1), len(lines) - size))
    head = "".join(lines[: chance.choice((1, 2))]) if begin > 5 else ""
    offset = sum(map(len, lines[:begin]))
    return head + "".join(lines[begin : begin + size]), start - offset + len(head)


def with_others(record: Record, pool: list[str], chance: random.Random) -> Record:
    """With one or two outputs of other programs beside it."""
    some = chance.sample(pool, min(len(pool), chance.choice((0, 1, 2))))
    documents = [
        {"id": f"other{n}", "title": "", "text": t, "evidence": []} for n, t in enumerate(some)
    ]
    return {**record, "documents": [*record["documents"], *documents]}


def failures(run: int, chance: random.Random) -> Iterator[Record]:
    """Questions over a run of pytest with tests that fail, and over tracebacks of a script."""
    source, names = "", []
    for _ in range(chance.randrange(4, 9)):
        k, j = chance.sample(NOUNS.split(), 2)
        name = (
            f"test_{k}_{chance.choice(('total', 'is_kept', 'of', 'without', 'after', 'with'))}_{j}"
        )
        values = [chance.randrange(2, 90) for _ in range(4)]
        body = chance.choice(ASSERTS).format(
            a=values, n=values[0], k=k, j=j, d={k: values[1], j: values[2]}
        )
        if name not in names:
            names.append(name)
            source += f"def {name}():\n{body}\n\n\n"
            source += f"def {name}_again():\n    assert len('{k}') == {len(k)}\n\n\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"test_{chance.choice(NOUNS.split())}.py")
        file.write_text(source)
        option = chance.choice(("", "-v", "-q", "--tb=short", "-v --tb=short", "-rA"))
        text = printed(
            f"cd {folder} && {sys.executable} -m pytest -p no:cacheprovider {option} {file.name}"
        )
    sections = [
        *re.finditer(
            r"^_{3,} (?P<name>\w+) _{3,}\n(?:.*\n)*?(?=^_{3,} |^={3,} )", text, re.MULTILINE
        )
    ]
    for found in chance.sample(sections, min(len(sections), 2)):
        told = re.finditer(r"^(?:E|>) .*", text[: found.end()], re.MULTILINE)
        gold = [[*m.span()] for m in told if m.start() >= found.start()]
        summary = re.search(rf"^(?:FAILED|ERROR) \S+::{found['name']}\b.*", text, re.MULTILINE)
        gold += [[*summary.span()]] if summary else []
        name = found["name"]
        plain = name.removeprefix("test_").replace("_", " ")
        forms = (
            "why does {n} fail?",
            "what went wrong in {n}",
            "error of {n}",
            "why is {p} broken?",
        )
        question = chance.choice(forms).format(n=name, p=plain)
        document = {"id": "pytest", "title": "", "text": text, "evidence": gold}
        yield {
            "id": f"output:pytest:{run}:{name}",
            "question": question,
            "answers": [],
            "documents": [document],
        }
