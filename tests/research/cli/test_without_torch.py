"""Commands without torch, and those of the research package without an extra."""

import json
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from ragsieve.cli.commands import cli
from ragsieve.errors import MissingExtra
from ragsieve.registry import Registry
from ragsieve.systems.base import SystemEntry
from tests.core.test_public_api import with_core_alone

PROGRAM = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import PathFinder

class WithoutTorch(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "torch" else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutTorch
from ragsieve.cli import main
"""
ONE = f"{PROGRAM}main(sys.argv[1:])"
EACH = f"""{PROGRAM}
for line in sys.argv[1:]:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as err:
        try:
            main(line.split())
        except SystemExit as ended:
            code = ended.code
    print(json.dumps([code, err.getvalue()]))
"""
DREW = "Koechlin drew it. It rained."
QUESTIONS = [
    {"query": "Who drew it?", "documents": [DREW], "answers": ["Koechlin"]},
    {"query": "Who paid?", "documents": ["Eiffel paid.", "It snowed. Ice."], "answers": ["Eiffel"]},
]
RUN = """
answers = false
data = [{ name = "q.jsonl" }]
systems = [{ name = "finefilter" }, { name = "top-documents" }]
"""
SERVER = ", or name a server's: openai:NAME, openai_embeddings:NAME with base_url=URL"
NEEDED = f"error: torch is not installed: pip install 'ragsieve[local]'{SERVER}\n"

WORKS = (
    "filter --input q.jsonl --output kept.jsonl",
    "filter -q drew --system top-documents --max-tokens 9 notes.txt",
    "filter -q drew --system filco-lexical --html page.html --compare finefilter notes.txt",
    "scorers q.jsonl --scorer bm25 --scorer pruner",
    "plan q.jsonl --llm fake:echo",
    "annotate q.jsonl labels.jsonl --llm fake:echo --pruner pruner",
    "bench run.toml",
)
ASKS = (
    "ask -q drew notes.txt",
    "ask --input q.jsonl --output answers.jsonl",
    "filter -q drew --system top-sentences notes.txt",
    "filter -q drew --llm smollm2 notes.txt",
    "serve --system top-sentences",
    "scorers q.jsonl --scorer likelihood",
    "plan q.jsonl",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with questions, a document and a run."""
    path = tmp_path_factory.mktemp("without")
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (path / "q.jsonl").write_text(lines)
    (path / "notes.txt").write_text(DREW)
    (path / "run.toml").write_text(RUN)
    return path


def ended(folder, lines):
    """What each command ended with, and what it said, one after another in a process."""
    pytest.importorskip("fastapi")
    pytest.importorskip("scipy")
    program = [sys.executable, "-c", EACH, *lines]
    done = subprocess.run(program, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=240)
    results = map(json.loads, done.stdout.splitlines())
    return {line: (code, said) for line, (code, said) in zip(lines, results, strict=True)}


@pytest.mark.slow
def test_a_command_that_asks_no_local_model_needs_no_torch(folder):
    """It ends well."""
    for line, (code, said) in ended(folder, WORKS).items():
        assert (0, False) == (code, "error" in said), line


def test_a_command_that_asks_one_names_torch(folder):
    """Before it begins, whatever else is missing, too."""
    assert dict.fromkeys(ASKS, (2, NEEDED)) == ended(folder, ASKS)


@pytest.mark.slow
def test_the_log_says_what_is_loaded(folder):
    """Once, when its weights are read: nothing where all is done."""
    line = "-v filter --input q.jsonl --output logged.jsonl"
    program = [sys.executable, "-c", ONE, *line.split()]
    runs = [subprocess.run(program, cwd=folder, capture_output=True, text=True) for _ in range(2)]
    logs = [run.stderr for run in runs]

    assert [1, 0] == [log.count("loading") for log in logs]
    assert "loading pruner\n" in logs[0]


def post(url, body):
    """The reply to a request, as JSON values."""
    with urlopen(Request(url, body.encode(), {"Content-Type": "application/json"})) as reply:
        return json.load(reply)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--upstream", "http://127.0.0.1:9/v1")])
def test_a_server_filters(more):
    """An answer is refused in words: it would need the LLM."""
    pytest.importorskip("fastapi")
    program = [sys.executable, "-uc", ONE, "serve", "--port", "0", *more]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    body = json.dumps({"query": "Who drew it?", "documents": ["Koechlin drew it. It rained."]})
    try:
        url = process.stdout.readline().rpartition(" ")[2].strip()
        kept = post(f"{url}/v1/filter", body)["text"]
        with pytest.raises(HTTPError) as refused:
            post(f"{url}/v1/answer", body)
        message = refused.value.read().decode()
    finally:
        process.kill()
        process.wait()

    assert "Koechlin drew it." == kept
    assert "torch is not installed: pip install 'ragsieve[local]'" in message


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        *("--help", "index --help", "train --help", "train pruner --help", "datasets", "systems"),
        *("systems chunkrag", "systems oracle"),
    ],
)
def test_what_needs_no_extra_runs_without_one(line):
    """Nothing is left out, and nobody is warned of packages that were not asked for."""
    aloud = "import sys\nsys.stderr = sys.stdout\nfrom ragsieve import cli\n"
    done = with_core_alone(f"{aloud}cli.main({line.split()!r})")

    assert "left out" not in done
    assert "not installed" not in done


def test_a_module_of_another_package_says_what_it_lacks(tmp_path, install, caplog):
    """Where it is asked for by its name; a list goes on without it, aloud."""
    package = tmp_path / "needing"
    package.mkdir()
    (package / "__init__.py").touch()
    lacking = 'from ragsieve.errors import MissingExtra\nraise MissingExtra("cpp", extra="local")\n'
    (package / "needy.py").write_text(lacking, encoding="utf-8")
    install("needing", "needing", "all = needing")
    systems = Registry("system", "ragsieve.needing", SystemEntry, package="ragsieve.systems")
    with pytest.raises(MissingExtra, match=r"cpp is not installed: pip install 'ragsieve\[local\]"):
        systems.find("needy-one")

    assert [] == [name for name in systems if name.startswith("needy")]
    assert "module needing.needy of ragsieve.needing is left out" in caplog.text


def test_a_broken_command_of_another_package_leaves_the_others(install, caplog):
    """The list of commands shows what can run, and says what cannot."""
    install("broken", "commands", "break = broken:command")
    shown = CliRunner().invoke(cli, ["--help"])

    assert 0 == shown.exit_code
    assert "  filter  " in shown.output
    assert "command break of broken:command is left out: No module named 'broken'" in caplog.text
