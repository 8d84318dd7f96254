"""Settings of ragsieve.toml and of the environment; completion; what -v and -q print."""

import json
import re
from collections import Counter
from pathlib import Path

import click
import platformdirs
import pytest
from click.shell_completion import ShellComplete

from ragsieve.cli.ask import filter_command
from ragsieve.cli.commands import cli
from ragsieve.cli.config import defaults
from ragsieve.cli.signature import from_options
from ragsieve.spec import SystemSpec

QUESTION = ("-q", "Who sang it?")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's configuration folder, and a document."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setattr(platformdirs, "user_config_path", lambda *_, **__: folder)
    (tmp_path / "a.txt").write_text("Nina sang it. Cheese is old. It rains today. Bees hum.")
    return folder


def system_of(ended):
    """Spans kept by the system that ran, and tokens it may keep."""
    result = json.loads(ended.out)
    return len(result["kept"]), result["tokens"]["after"]


def test_nothing_is_set(ragsieve):
    assert ragsieve("config").out.startswith("nothing is set: ")
    assert "{}\n" == ragsieve("config", "--json").out


def test_the_nearest_setting_goes_first(ragsieve, home, monkeypatch):
    """The user's file, the folder's, the environment, the command line."""
    (home / "ragsieve.toml").write_text('system = "top-sentences"\noptions = {k = 3}\nllm = "a"\n')
    Path("ragsieve.toml").write_text('llm = "fake:echo"\nembedder = "fake:hashing"\n')
    run = ("filter", *QUESTION, "--json")
    assert 3 == system_of(ragsieve(*run, "a.txt"))[0]
    assert 1 == system_of(ragsieve(*run, "--option", "k=1", "a.txt"))[0]

    monkeypatch.setenv("RAGSIEVE_MAX_TOKENS", "4")
    assert 4 >= system_of(ragsieve(*run, "a.txt"))[1]
    shown = json.loads(ragsieve("config", "--json").out)
    assert {"value": "fake:echo", "from": "ragsieve.toml"} == shown["llm"]
    assert {"value": "4", "from": "RAGSIEVE_MAX_TOKENS"} == shown["max_tokens"]
    assert {"value": 3, "from": str(home / "ragsieve.toml")} == shown["options.k"]


def test_a_folder_gets_no_key_for_its_own_server(ragsieve, home):
    (home / "ragsieve.toml").write_text('llm_options = {api_key = "secret"}\n')
    Path("ragsieve.toml").write_text('llm_options = {base_url = "http://127.0.0.1:1/v1"}\n')

    assert {"llm_options.base_url"} == {*json.loads(ragsieve("config", "--json").out)}


@pytest.mark.parametrize(
    ("user", "folder", "variables", "arguments", "left"),
    [
        (
            *("", "min_score = 0.9", {}, "--keep-answer 0.8 --min-answerable 0.9"),
            {"keep_answer": 0.8, "min_answerable": 0.9},
        ),
        ("", "keep_answer = 0.9", {}, "--option keep_answer=0.8", {"keep_answer": 0.8}),
        ("", "keep_answer = 0.9", {}, "--option=min_score=0.5", {"min_score": 0.5}),
        ("", "options = {keep_answer = 0.9}", {}, "--min-score 0.8", {"min_score": 0.8}),
        ("", "min_score = 0.5", {"KEEP_ANSWER": "0.8"}, "", {"keep_answer": 0.8}),
        ("keep_answer = 0.9", "options = {min_score = 0.5}", {}, "", {"min_score": 0.5}),
        ("options = {a = 1}", "options = {b = 2}", {}, "--option c=3", {"a": 1, "b": 2, "c": 3}),
        ("max_tokens = 9", "", {}, "--option max_tokens=4", {"max_tokens": 4}),
        ("keep_answer = 0.9", 'system = "all"', {}, "--option k=2", {"k": 2}),
        ("", 'keep_answer = 0.9\npruner = "fake:pruner"', {}, "--system all", {}),
        (
            'system = "all"',
            'system = "finefilter"\nkeep_answer = 0.9',
            {},
            "--min-score 0.9",
            {"min_score": 0.9},
        ),
        ('system = "all"', "options = {k = 2}", {"SYSTEM": "finefilter"}, "", {}),
        ("keep_answer = 0.9", "", {"SYSTEM": "finefilter"}, "", {"keep_answer": 0.9}),
    ],
)
def test_the_nearest_of_settings_that_exclude_each_other_is_in_force(
    home, ragsieve, monkeypatch, user, folder, variables, arguments, left
):
    """A field, its option, the other threshold, options of another system; other options stay."""
    (home / "ragsieve.toml").write_text(user)
    Path("ragsieve.toml").write_text(folder)
    for name, value in variables.items():
        monkeypatch.setenv(f"RAGSIEVE_{name}", value)
    words = ["filter", *arguments.split()]
    parent = click.Context(cli, default_map=defaults(words))
    params = filter_command.make_context("filter", words[1:], parent).params
    system = from_options(SystemSpec, params)
    limits = {} if system.max_tokens is None else {"max_tokens": system.max_tokens}

    assert left == {**system.own, **limits}


def test_a_source_that_is_set_is_one_for_agents(ragsieve):
    """And for questions without a file."""
    Path("ragsieve.toml").write_text('source = "index:nowhere"\n')

    assert "nowhere" in ragsieve("mcp").err
    assert 0 == ragsieve("filter", *QUESTION, "--llm", "fake:echo", "--system", "all", "a.txt").code


def test_a_key_is_not_shown_and_a_base_url_comes_beside_it(ragsieve, monkeypatch):
    Path("ragsieve.toml").write_text('llm_options = {api_key = "secret", timeout_s = 5}\n')
    monkeypatch.setenv("RAGSIEVE_BASE_URL", "http://127.0.0.1:1/v1")
    shown = json.loads(ragsieve("config", "--json").out)

    assert {"api_key": "…", "timeout_s": 5, "base_url": "http://127.0.0.1:1/v1"} == {
        name.removeprefix("llm_options."): one["value"] for name, one in shown.items()
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system = ", "ragsieve.toml must be TOML: "),
        ("sistem = 1", "ragsieve.toml: sistem is not known; known are system, options, "),
        ("llm = true", "ragsieve.toml: llm must be a string or null, got True"),
        ("options = 1", "ragsieve.toml: options must be an object, got 1"),
        ("max_tokens = -1", "ragsieve.toml: max_tokens must be a whole number >= 0"),
        ("keep_answer = 2", r"keep_answer must be .*, got 2.0 \(see `ragsieve config`\)"),
        ("options = {min_keep = -1}", r"min_keep .*, got -1 \(see `ragsieve config`\)"),
    ],
)
def test_a_wrong_setting_is_one_line(ragsieve, text, message):
    """That names the file or the command that shows it."""
    Path("ragsieve.toml").write_text(text)
    ended = ragsieve("filter", *QUESTION, "a.txt")

    assert (2, 1) == (ended.code, ended.err.count("\n"))
    assert re.search(message, ended.err)


def test_a_users_file_that_may_not_be_read_is_left_out(ragsieve, home, monkeypatch):
    """With one warning, as of a home of another user; the folder's file still counts."""

    class Closed(type(home)):
        def is_file(self):
            if self.is_absolute():
                raise PermissionError(13, "Permission denied", str(self))
            return bool(super().is_file())

    monkeypatch.setattr(platformdirs, "user_config_path", lambda *_, **__: Closed(home))
    Path("ragsieve.toml").write_bytes(b'\xef\xbb\xbfsystem = "all"\n')  # a byte order mark
    ended = ragsieve("filter", *QUESTION, "--llm", "fake:echo", "a.txt")

    assert (0, 1) == (ended.code, ended.err.count("warning"))
    assert f"warning: left out: {home}/ragsieve.toml cannot be read: Permission" in ended.err


def test_quiet_prints_errors_alone(ragsieve):
    """No cost line and no bar; what fails is still said."""
    fake = ("--system", "all", "--llm", "fake:echo")
    assert "" == ragsieve("-q", "filter", *QUESTION, *fake, "a.txt").err
    assert "kept" in ragsieve("filter", *QUESTION, *fake, "a.txt").err

    Path("q.jsonl").write_text('{"question": "Who?", "documents": ["a"]}\n{"question": 3}\n')
    ended = ragsieve("-q", "filter", "--input", "q.jsonl", "--output", "o.jsonl", *fake)
    assert (2, 1) == (ended.code, ended.err.count("\n"))
    assert "q.jsonl line 2" in ended.err


def test_a_model_that_the_folder_sets_is_named(ragsieve, home):
    """It may be on another server; the own file of a user needs no word."""
    (home / "ragsieve.toml").write_text('llm = "fake:echo"\n')
    run = ("filter", *QUESTION, "--system", "all", "a.txt")
    assert "is set by" not in ragsieve(*run).err

    Path("ragsieve.toml").write_text('llm = "fake:echo"\nembedder = "fake:hashing"\n')
    assert ["llm is set by ragsieve.toml"] == [
        line for line in ragsieve(*run).err.splitlines() if "is set by" in line
    ]


@pytest.mark.parametrize(
    ("words", "start", "offered"),
    [
        ((), "conf", ["config"]),
        (("systems",), "pruningr", ["pruningrag", "pruningrag-ablated"]),
        (("filter", "--system"), "finefilter-", ["finefilter-point", "finefilter-write"]),
        (("filter", "--system", "top-sentences", "--option"), "k", ["k="]),
        (("filter", "--system", "winnowrag", "--model"), "crit", ["critic="]),
        (("filter", "--system", "no-such", "--option"), "", []),
        (("filter", "--llm"), "open", ["openai:"]),
        (("ask", "--embedder"), "mini", ["minilm"]),
        (("serve", "--system"), "chunkrag-lik", ["chunkrag-likelihood"]),
        (("serve", "--system", "top-sentences", "--option"), "k", ["k="]),
        (("scorers",), "hotpotqa_f", ["hotpotqa_fullwiki"]),
    ],
)
def test_a_shell_completes(words, start, offered):
    """Commands, systems, their options and models, data sets."""
    complete = ShellComplete(cli, {}, "ragsieve", "_RAGSIEVE_COMPLETE")

    assert offered == [item.value for item in complete.get_completions([*words], start)]


def test_help_names_every_option_once(ragsieve):
    """The ten that matter come first."""
    text = ragsieve("filter", "--help").out
    flags = [option.opts[0] for option in filter_command.params if option.opts[0][0] == "-"]

    shown = re.findall(r"^  (-[\w-]+)", text, re.MULTILINE)

    assert Counter(flags) == Counter(shown[:-1])  # the last is the help itself
    assert (
        text.index("\nOptions:") < text.index("\n  --keep-answer") < text.index("Models and their")
    )
    assert re.search(r"Installed kinds: index,\s+sources\.", text)


def test_a_user_without_a_home_is_served(ragsieve, monkeypatch):
    """As in a container, under a number that no name has: there is the folder's file alone."""
    nobodys = lambda *_, **__: Path("~no-such-user").expanduser()  # noqa: E731
    monkeypatch.setattr(platformdirs, "user_config_path", nobodys)
    Path("ragsieve.toml").write_text("min_score = 0.1")

    assert 0 == ragsieve("filter", *QUESTION, "a.txt").code
    assert "min_score" in ragsieve("config").out
