"""Every code block of the README and of docs/ does what the page says, as far as it can here.

- ``python`` blocks run, those of a page in order and with the same names; a ``text`` or ``json``
  block right after one is what it prints.
- ``sh`` blocks with such a block after them run, too. Of others every ``ragsieve`` command is read
  by the command line, with all its options, systems, models and files; ``pip`` lines are checked
  against pyproject's extras, ``docker`` lines against the Dockerfile, ``make`` against the
  Makefile, ``python`` scripts must be there.
- ``tests/installs`` runs blocks and commands where a line of installation brings what is there, and
  the server's page with a server.
- ``toml`` blocks are read by what reads the file that their first line names; other ``json`` blocks
  are JSON. There are no blocks of other languages, but ``text``.
"""

import contextlib
import importlib.util
import io
import json
import re
import shlex
import tomllib
from itertools import pairwise

import click
import pytest

from ragsieve import cli, files, models, spec
from ragsieve.agents.rules import ToolRules
from ragsieve.cli import commands
from ragsieve.cli.config import read as read_settings
from ragsieve.cli.signature import table_of
from ragsieve.systems import base as registry
from ragsieve.systems.base import PARTS
from ragsieve_research import artifacts
from ragsieve_research.evaluate import config
from ragsieve_research.retrieve.sources import sources_content
from tests.blocks import BLOCKS, EXTRAS, OUTPUT, PAGES, PYPROJECT, ROOT, write_files

FAKES = {
    "LLM": "fake:echo",
    "sentence pruner": "fake:pruner",
    "cross-encoder": "fake:overlap",
    "token classifier": "token_classifier:OWNER/NAME",  # loaded when it first reads
}
A_MODEL = {part: FAKES[kinds[0]] for part, kinds in PARTS.items()}


def runs(block):
    """Whether a block is run, not only read."""
    others = [name.replace("-", "_") for name in block.needs if not name.startswith("[")]
    if block.included or not all(map(importlib.util.find_spec, others)):
        return False  # an example, which has its own test, or one that `tests/installs` runs alone
    return block.language == "python" or bool(block.output)


COMMANDS = [
    pytest.param(line, id=f"{name}:{line[:60]}")
    for name, found in BLOCKS.items()
    for block in found
    if block.language == "sh"
    for line in block.lines
]


@pytest.fixture(scope="session")
def small_index(tmp_path_factory):
    """An index of one document, by words."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "notes.txt").write_text("Koechlin drew it.", encoding="utf-8")
    made = shlex.split(f"index build {folder / 'words'} {folder / 'notes.txt'} --embedder none")
    with pytest.raises(SystemExit):
        cli.main(made)
    return folder / "words"


@pytest.fixture
def workplace(tmp_path, small_index, monkeypatch):
    """A folder with the files that the pages speak of, in which blocks may write."""
    for name in ("examples", "experiments"):
        (tmp_path / name).symlink_to(ROOT / name)
    write_files(tmp_path)
    (tmp_path / "my-index").symlink_to(small_index)
    for name in ("my-router", "runs/run", "FOLDER", "notes"):
        (tmp_path / name).mkdir(parents=True)
    filter_ = artifacts.Trained(
        generator=artifacts.Base("fake:echo"), embedder=artifacts.Base("fake:hashing")
    )
    artifacts.save(tmp_path / "my-filter", filter_, {})
    for block in (b for found in BLOCKS.values() for b in found if b.language == "toml"):
        (tmp_path / file_of(block)).write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def file_of(block):
    """The file that a TOML block shows: its first line names it."""
    return block.text.partition("\n")[0].removeprefix("#").strip()


def printed(block, names, page):
    """What a block prints when it is run."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if block.language == "python":
            exec(compile(block.text, page, "exec", dont_inherit=True), names)
        else:
            for line in block.lines:
                with pytest.raises(SystemExit) as ended:
                    cli.main(shlex.split(line)[1:])
                assert 0 == (ended.value.code or 0), line
    return out.getvalue()


@pytest.mark.models
@pytest.mark.parametrize(
    "page",
    [
        name
        for name, found in BLOCKS.items()
        if any(map(runs, found)) and not name.endswith("server.md")  # `tests/installs` starts one
    ],
)
def test_blocks_print_what_they_show(page, workplace):
    """The blocks of a page run in order; each prints what stands behind it, or nothing."""
    names = {"__name__": "__main__", "__file__": str(workplace / "data.py")}
    ran = [block for block in BLOCKS[page] if runs(block)]

    with registry.SYSTEMS.isolated():
        shown = [printed(block, names, page) for block in ran]

    assert [block.output for block in ran] == shown


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_given(line, workplace):
    """A command line names options, systems, models, files, extras that there are."""
    for command in re.split(r" ; |; | && ", line):
        words = shlex.split(command, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words = words[1:]
        if words[0] == "ragsieve":
            check_ragsieve(words[1:])
        else:
            CHECKS[words[0]](words)


def check_ragsieve(words):
    """Raise unless the command line takes these arguments; nothing is run."""
    command = commands.cli
    context = click.Context(command)
    rest = words
    while isinstance(command, click.Group) and rest:
        name, found, rest = command.resolve_command(context, rest)
        assert name and found
        command, context = found, click.Context(found, parent=context, info_name=name)
    given = command.make_context(context.info_name, rest, parent=context.parent).params
    if {"options", "models"} <= {*given}:
        options = table_of("--option", given["options"], object)
        for system in given.get("names") or [given["system"]]:
            spec.check(system, options, table_of("--model", given["models"], str))
    for kind, name in (("LLM", given.get("llm")), ("embedder", given.get("embedder"))):
        if name and name != "none":
            models.check(name, kind)


def check_pip(words):
    """Raise unless pyproject has the extras."""
    for word in words:
        for extras in EXTRAS.findall(word):
            assert set() == {*extras.split(",")} - {*PYPROJECT["optional-dependencies"]}


def check_docker(words):
    """Raise unless the Dockerfile has the arguments, the wheel its files, the command a meaning."""
    if words[1] == "run" and (command := words[words.index("ragsieve") + 1 :]):  # else its own
        check_ragsieve(command)
    given = [after for word, after in pairwise(words) if word == "--build-arg"]
    known = re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M)

    assert set() == {word.partition("=")[0] for word in given} - {*known}
    for file in (ROOT / "Dockerfile", ROOT / ".dockerignore"):
        assert {"LICENSE", "NOTICE", "sbom.cdx.json"} <= {*re.findall(r"[\w.]+", file.read_text())}


def check_make(words):
    """Raise unless the Makefile has the target."""
    assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def check_python(words):
    """Raise unless the script is there."""
    assert (ROOT / words[1]).is_file()


CHECKS = {
    "python": check_python,
    "pip": check_pip,
    "docker": check_docker,
    "make": check_make,
    "claude": lambda words: check_ragsieve(words[words.index("--") + 2 :]),
    **dict.fromkeys(("curl", "openssl"), len),  # `tests/installs` runs them
    **dict.fromkeys(("vllm", "ollama", "llama-server"), len),  # others', not ours to check
}


@pytest.mark.parametrize("page", [n for n, found in BLOCKS.items() if found])
def test_data_blocks_can_be_read(page, workplace):
    """TOML is what the file that its first line names may hold; JSON is JSON."""
    for block in BLOCKS[page]:
        assert block.language in ("python", "sh", "toml", *OUTPUT)
        if block.language == "toml":
            read_toml(workplace / file_of(block))
        elif block.language == "json":
            json.loads(block.text)


def read_toml(path):
    """Raise unless the file can be read as what it is."""
    if path.name.startswith("run"):
        config.read(path)
    elif path.name.startswith("sources"):
        (path.parent / "openapi.json").write_text("{}", encoding="utf-8")
        sources_content(path)
    elif path.name == "ragsieve.toml":
        read_settings(path)
    elif path.name == "config.toml":  # Codex'
        assert {"model_providers", "mcp_servers"} & tomllib.loads(path.read_text("utf-8")).keys()
    elif path.name == "rules.toml":
        files.read_toml(ToolRules, path)
    else:
        raise AssertionError(f"nobody reads {path.name}")


@pytest.mark.models
def test_the_notebook_prints_what_it_shows():
    """Run anew but for its installation; what stands under a cell is what it gives, no warnings."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", 4)
    shown = outputs(notebook)
    assert not [
        o for c in notebook.cells for o in c.get("outputs", ()) if o.get("name") == "stderr"
    ]
    nbclient.NotebookClient(notebook, timeout=120, startup_timeout=120).execute()

    assert len(shown) > 5
    assert shown == outputs(notebook)


def outputs(notebook):
    """What each cell that ran printed, and what it was worth."""
    cells = [cell.outputs for cell in notebook.cells if cell.get("execution_count")]
    kinds = ("stdout", "execute_result")
    return [
        "".join(
            o.get("text") or o.data["text/plain"]
            for o in cell
            if o.get("name", o.output_type) in kinds
        )
        for cell in cells
    ]


@pytest.mark.models
def test_the_picture_shows_what_the_default_filter_keeps():
    """`python docs/picture.py` draws it."""
    module = script("picture")

    assert module.PICTURE.read_text(encoding="utf-8") == module.picture()


def script(name):
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hooks():
    """What fills the generated parts of the site."""
    pytest.importorskip("griffe")
    return script("hooks")


def test_every_system_has_a_page_in_a_group():
    """Which says when to use it, when not and what it costs."""
    found = {path.stem: path for path in (ROOT / "docs" / "systems").glob("*.md")}
    parts = ["When to use it", "When not", "Cost"]

    names = hooks().names()

    assert {*names, "index"} == {*found}
    for name in names:
        assert parts == re.findall(r"^## (.*)", found[name].read_text(encoding="utf-8"), re.M)

    four, others, baselines = hooks().groups().values()

    assert {"finefilter", "winnowrag", "chunkrag", "pruningrag"} <= {*four}
    assert "provence" in others
    assert "top-sentences" in baselines
    assert sorted([*four, *others, *baselines]) == sorted(hooks().names())


def test_generated_parts_tell_every_option_and_stage(workplace):
    """A system's page has each option with what the docstring says, and a command that works."""
    module = hooks()
    for name in module.names():
        text = module.system_page(name, "# x")
        for option in spec.entry(name).options:
            row = re.search(rf"^\| `{option}` \| .* \|$", text, re.M)
            assert row, (name, option)
            assert not row[0].endswith("|  |"), (name, option)
        for line in re.findall(r"^ragsieve .*", text, re.M):
            known = re.sub(r"(\w+)=MODEL", lambda m: f"{m[1]}={A_MODEL[m[1]]}", line)
            check_ragsieve(shlex.split(known)[1:])


def test_figures_show_the_stages_of_the_composition():
    """A figure is read off the system itself, with its models named for what they are."""
    found = [(box.module, box.name, box.options) for box in hooks().boxes("top-sentences")]

    assert [
        ("split", "Sentences", "language=None, max_chars=1000"),
        ("score", "Cosine", "embedder=embedder, titles=True"),
        ("select", "TopK", "k=5"),
        ("select", "Order", "by='document'"),
    ] == found[:-1]


def links(page):
    """Paths of this repository that a page links to."""
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    """What a page links to in the repository exists."""
    assert [] == [target for target in links(page) if not (page.parent / target).exists()]
