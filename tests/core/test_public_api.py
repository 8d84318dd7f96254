"""The names people import, and what importing them costs."""

import functools
import importlib
import json
import os
import sys
import types
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ragsieve
from ragsieve.errors import InputError, MissingExtra
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems import build
from tests.processes import python

PACKAGES = ["split", "score", "select", "systems"]

CLIENTS = {"aiohttp", "httpx", "httpx2", "huggingface_hub", "requests", "urllib3"}


def required():
    """Names of what `pip install ragsieve` brings."""
    found, left = {"ragsieve"}, ["ragsieve"]
    while left:
        for line in metadata.requires(left.pop()) or []:
            need = Requirement(line)
            name = canonicalize_name(need.name)
            if name not in found and (not need.marker or need.marker.evaluate({"extra": ""})):
                found.add(name)
                left.append(name)
    return found


@functools.cache
def optional():
    """Modules of packages that `pip install ragsieve` does not bring."""
    brought = required()
    return tuple(
        module
        for module, owners in metadata.packages_distributions().items()
        if not brought & {canonicalize_name(owner) for owner in owners}
    )


ROOT = Path(__file__).parents[2]
QUESTION = "Who designed the Eiffel Tower?"


def loaded_by(code):
    """Top-level modules that a fresh interpreter has after ``code``."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    return {name.partition(".")[0] for name in json.loads(python(program).stdout.splitlines()[-1])}


def test_all_is_complete():
    """A public name of the package that is not a module is in __all__; they are about twenty."""
    public = {
        name
        for name, value in vars(ragsieve).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", "").startswith("ragsieve")
    }

    assert set() == public - {*ragsieve.__all__}
    assert len(ragsieve.__all__) <= 25


@pytest.mark.parametrize("package", ["ragsieve", *(f"ragsieve.{name}" for name in PACKAGES)])
def test_every_package_lists_what_it_has(package):
    """Every name of a package's __all__ is there, once, in order, and says what it is."""
    module = importlib.import_module(package)

    assert sorted({*module.__all__}) == module.__all__
    for name in module.__all__:
        with suppress(MissingExtra):  # a name that is there, and says what it needs
            assert getattr(module, name).__doc__


def test_names_that_are_unknown_are_named():
    """An attribute by its error; a system is built by its name."""
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = ragsieve.nonsense
    with pytest.raises(AttributeError, match=r"ragsieve\.select attribute nonsense"):
        _ = ragsieve.select.nonsense

    system = build("top-documents", ScriptedLLM(["x"]), None, {"k": 1})

    assert 1 == len(system("Who?", ["a", "b"]).kept)


def test_imports_are_light():
    """No module but itself before first use; no optional dependency in any package."""
    before = loaded_by("")  # of the interpreter, and of what starts with it here

    assert {"ragsieve"} == loaded_by("import ragsieve") - before - sys.stdlib_module_names

    code = "import ragsieve\nfor name in ragsieve.__all__: getattr(ragsieve, name)"

    taken = {"orjson", "scipy"}  # by bm25s, where they are there
    assert taken >= (loaded_by(code) - loaded_by("")) & {*optional()}


@pytest.mark.parametrize(
    ("code", "unread"),
    [
        ("from ragsieve.cli import main; main(['--version'])", {"click", "numpy", "rich"}),
        (
            "import ragsieve; ragsieve.load('finefilter')('Qui?', ['Le chat dort. Il pleut.'])",
            {"asyncio", "bm25s", "scipy", "sqlite3", "tqdm", *CLIENTS},
        ),
    ],
)
def test_a_cold_start_loads_what_it_needs(code, unread):
    """No package that it does not use: a filter sends nothing, and loads no client of HTTP."""
    assert set() == unread & loaded_by(code)


def test_a_first_call_imports_few_modules_and_opens_one_net():
    """Of this package 78 at most: without compiled files each costs 3 ms."""
    code = """
import gc, sys, ragsieve
system = ragsieve.load('finefilter')
system('Who?', ['It rained. He slept.', 'Cats eat.'])
from onnxruntime import InferenceSession
own = [name for name in sys.modules if name.partition('.')[0].startswith('ragsieve')]
print(len(own), sum(isinstance(one, InferenceSession) for one in gc.get_objects()))
"""
    modules, nets = map(int, python(code).stdout.split())

    assert modules <= 78 and 1 == nets


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "active"}, "ACTIVE")]
)
def test_threads_wait_asleep_by_default(own, policy):
    """OpenMP's own word, once torch is there: beside other processes a spinning thread delays."""
    pytest.importorskip("torch")
    inherited = {key: value for key, value in os.environ.items() if "OMP_" not in key}
    environment = {**inherited, "OMP_DISPLAY_ENV": "true", **own}

    said = python("import ragsieve, torch", env=environment).stderr
    assert f"OMP_WAIT_POLICY = '{policy}'" in said


FILTERED = "import ragsieve; ragsieve.load('finefilter')('Who?', ['Ann drew it.'])"


@pytest.mark.parametrize("code", [FILTERED, "import ragsieve_research.train.export"])
def test_nothing_is_reported_to_makers_of_libraries(code, tmp_path):
    """onnxruntime would note a device's identity and each process in the home, and send it."""
    if "research" in code:
        pytest.importorskip("onnxscript")
    inherited = {key: value for key, value in os.environ.items() if key[:4] not in ("ORT_", "XDG_")}
    python(code, env={**inherited, "HOME": str(tmp_path)})

    assert [] == [*tmp_path.rglob("*onnxruntime*")]


CORE_ALONE = """
import json, sys
from pathlib import Path

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
"""A program's beginning: packages that its arguments name cannot be imported."""


def with_core_alone(code):
    """What a fresh interpreter prints where only the packages of the core are installed."""
    # tokenizers needs the hub's client, but only where it downloads
    missing = {*optional(), "huggingface_hub"} - {"ragsieve_research"}
    offline = {"HF_HUB_OFFLINE": "1", "NO_PROXY": "", "HTTPS_PROXY": "http://0.0.0.0:1"}
    done = python(CORE_ALONE + code, *missing, env={**os.environ, **offline}, check=False, cwd=ROOT)
    assert 0 == done.returncode, done.stderr
    return str(done.stdout)


def test_the_command_line_filters_without_an_extra():
    """`pip install ragsieve` alone filters: verbatim spans, a token count, and fewer of them."""
    arguments = ["filter", "--json", "-q", QUESTION, "examples/eiffel.jsonl"]
    result = json.loads(with_core_alone(f"from ragsieve import cli\ncli.main({arguments!r})"))
    stages = [step["stage"].partition("(")[0] for step in result["trace"]["steps"]]
    expected = ["Blocks", "Pruner", "Copies", "Answerable", "Threshold", "Order"]

    assert expected == stages
    assert 0 < result["tokens"]["after"] < result["tokens"]["before"]
    assert 0 < len(result["kept"]) < 16
    assert 0 <= result["answerable"] <= 1


def test_what_is_missing_names_its_extra(tmp_path):
    """A page, and an LLM that nobody named, are refused with the line that installs them."""
    (page := tmp_path / "page.html").write_text("<p>Gustave Eiffel designed it.</p>")
    code = f"""
from ragsieve import cli, registry
sys.stderr, registry.points = sys.stdout, lambda group: []
for command in "filter", "ask":
    try: cli.main([command, "-q", "Who?", {str(page)!r}])
    except SystemExit as end: print(end.code)
"""
    no_html, filtered, no_llm, asked = with_core_alone(code).splitlines()

    missing = "html_to_markdown is not installed: pip install 'ragsieve[html]'"
    assert f"error: {missing}, to read {page}" == no_html
    assert no_llm.startswith("error: smollm2 is not installed: pip install 'ragsieve[local]', or ")
    assert ("2", "2") == (filtered, asked)


@pytest.mark.parametrize(
    ("name", "missing"),
    [("finefilter", "pruner, a model of kind sentence"), ("finefilter-point", "embedder, a")],
)
def test_a_model_that_a_system_needs_is_asked_for(name, missing):
    """When it is built, not when the first question comes."""
    with pytest.raises(InputError, match=f"{name} needs {missing}"):
        build(name, ScriptedLLM([]))
