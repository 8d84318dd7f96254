"""Systems by name: what is imported, who may add one, what is said of a name that nobody has."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

import ragsieve
from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.registry import Registry
from ragsieve.systems.base import SYSTEMS, SystemEntry, preset, system
from ragsieve.systems.baselines import top_documents
from tests.processes import python

OTHERS = '''"""Systems of another package."""
from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import preset, system

@system("first-documents", "the first documents")
def first_documents(llm, *, k: int = 1) -> System:
    """Keep the first ``k`` documents."""
    return System(Pipeline(select.TopK(k)), Reader(llm))

preset("first-two-documents", first_documents, "the first two", k=2)

def unregistered(llm) -> System:
    """No system: it has no entry."""
'''


@pytest.fixture(autouse=True)
def forgotten():
    """Entries that a test adds are gone after it."""
    with SYSTEMS.isolated():
        yield


IMPORTED = """
import json, sys, ragsieve
from ragsieve.systems import SYSTEMS
START, told = "ragsieve_research.systems.", []
for name in ("finefilter", "finefilter-point", "chunkrag-likelihood"):
    SYSTEMS[name]
    told.append([m.removeprefix(START) for m in sys.modules if m.startswith(START)])
ragsieve.load("top-sentences", "fake:echo", "fake:hashing")
ragsieve.load("chunkrag", "fake:echo", "fake:hashing")
told.append([m.removeprefix(START) for m in sys.modules if m.startswith(START)])
print(json.dumps(told))
"""


@pytest.mark.slow
def test_a_name_imports_its_module_alone():
    """A preset is in the module called like the beginning of its name; `load` adds no other."""
    default, point, likelihood, loaded = map(set, json.loads(python(IMPORTED).stdout))

    assert (set(), {"finefilter"}, {"chunkrag"}) == (default, point, likelihood - point)
    assert not {"winnowrag", "pruningrag", "self_rag", "peers", "rankgpt"} & loaded


def test_the_default_comes_first_and_plain_systems_last():
    """The order of the list: the default, methods of papers by name, then the others by name."""
    names = [*SYSTEMS]
    plain = [name for name in names if not SYSTEMS[name].paper]

    assert ["finefilter", "finefilter-point", "finefilter-write", "adacomp"] == names[:4]
    assert sorted(plain) == plain == names[-len(plain) :]
    assert len(SYSTEMS) == len({*names})
    assert [] == [name for name in names if not (SYSTEMS[name].summary and SYSTEMS[name].needs)]


@pytest.mark.parametrize(
    ("point", "name", "kept"),
    [
        ("others = other_systems", "first-two-documents", 2),
        ("first-documents = other_systems:first_documents", "first-documents", 1),
    ],
)
def test_another_package_adds_systems(install, point, name, kept):
    """What an entry point's module registers, or the function that it names, is like any other."""
    install("other", "systems", point, other_systems=OTHERS)

    assert "the first documents" == SYSTEMS["first-documents"].summary and name in [*SYSTEMS]
    assert kept == len(ragsieve.load(name, ScriptedLLM(["x"]))("Who?", ["a", "b", "c"]).kept)


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ("broken = no_such_module", "No module named 'no_such_module'"),
        (
            "bare = other_systems:unregistered",
            "must be a module, a ragsieve.systems.base.SystemEntry or",
        ),
    ],
)
def test_a_package_that_cannot_be_imported_is_left_out_aloud(install, caplog, point, reason):
    """It takes no other system with it, and a warning says which it was."""
    install("other", "systems", point, other_systems=OTHERS)
    with caplog.at_level(logging.WARNING):
        names = [*SYSTEMS]

    assert "finefilter" in names
    assert f"entry point {point.partition(' ')[0]} of ragsieve.systems is left out" in caplog.text
    assert reason in caplog.text


def test_a_module_here_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    """By its name, with what its import raised."""
    (tmp_path / "making").mkdir()
    (tmp_path / "making" / "__init__.py").touch()
    (tmp_path / "making" / "gone.py").write_text("import no_such_module\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    reason = r"making\.gone cannot be imported: ModuleNotFoundError: No module named"
    with pytest.raises(ImportError, match=reason):
        Registry("system", "ragsieve.none", SystemEntry, package="making")["gone"]


def test_threads_that_ask_at_once_all_find_another_package(install):
    """While one reads the entry points, the others wait for what they bring."""
    slow = f"import time\ntime.sleep(0.3)\n{OTHERS}"
    install("other", "systems", "others = other_systems", other_systems=slow)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: "first-documents" in SYSTEMS, range(4))]

    assert [True] * 4 == found


def test_names_are_given_once_and_checked():
    """The error ends with the nearest name; a preset names options of its function."""
    with pytest.raises(InputError, match=r"got 'chunkrga'; did you mean 'chunkrag'\?$"):
        ragsieve.systems.build("chunkrga", ScriptedLLM([]))

    before = SYSTEMS["top-documents"]
    with pytest.raises(InputError, match=r"system 'top-documents' of .* is there"):
        system("top-documents", "x")(lambda llm: top_documents(llm))

    assert before is SYSTEMS["top-documents"]

    with pytest.raises(InputError, match=r"order of finefilter must be one of .document., .score"):
        ragsieve.load("finefilter", options={"order": "x"})
    with pytest.raises(InputError, match="k of top-documents must be a whole number or null"):
        ragsieve.load("top-documents", options={"k": "x"})
    with pytest.raises(InputError, match=r"options of top-3 are k, got 'n'"):
        preset("top-3", top_documents, "the first 3", n=3)
    with pytest.raises(InputError, match="must be of a function registered by system"):
        preset("top-3", lambda llm: top_documents(llm), "the first 3")
    with pytest.raises(InputError, match="a system's name must be of a-z, 0-9 and dashes"):
        preset("Top 3", top_documents, "the first 3", k=3)
    with pytest.raises(InputError, match="option k of system 'bare' must say its type, as k: int"):
        system("bare")(lambda llm, *, k=1: top_documents(llm, k=k))


@pytest.mark.parametrize("name", ["", "x y", "../a", "Chunkrag", "chunkrag-", "registry", 3])
def test_what_is_no_name_of_a_system_is_in_none(name):
    """Paths, modules that hold no system and other values are just not there."""
    assert name not in SYSTEMS
