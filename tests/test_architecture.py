"""Imports point downwards only."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ragsieve

ROOT = Path(ragsieve.__file__).parent
LAYERS = [  # a module imports from its own layer and those above it in this list
    ["errors", "types", "schema", "files", "plugins"],
    ["text", "fusion", "trace", "cluster", "documents", "result", "retriever", "many", "tables"],
    ["pipeline"],
    ["models", "prompts"],
    ["datasets"],
    ["retrieve", "split", "score", "select", "answer"],
    ["systems"],
    ["artifacts"],
    ["evaluate", "train", "integrations", "inspector", "ray", "cli", "server", "__main__"],
]
LAYER = {name: depth for depth, names in enumerate(LAYERS) for name in names}
STAGE_MODULES = {*LAYERS[5]}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"  # it names every module, on demand
}


def imports(path: Path) -> set[str]:
    """Modules of ragsieve that a file imports, anywhere in it, as names under ``ragsieve``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    inside = {name.removeprefix("ragsieve.") for name in found if name.startswith("ragsieve.")}
    return {name if name in MODULES else name.rpartition(".")[0] for name in inside} - {""}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module: str) -> None:
    """No module imports from a later layer; a part without a layer is not in the layout."""
    part = module.partition(".")[0]

    assert part in LAYER
    assert set() == {
        name for name in imports(MODULES[module]) if LAYER[name.partition(".")[0]] > LAYER[part]
    }


@pytest.mark.parametrize("module", [m for m in MODULES if m.partition(".")[0] in STAGE_MODULES])
def test_stage_modules_import_no_other_stage_module(module: str) -> None:
    """Split, score, select and answer meet in systems only."""
    package = module.partition(".")[0]
    others = {name for name in imports(MODULES[module]) if name.partition(".")[0] in STAGE_MODULES}

    assert set() == {name for name in others if name.partition(".")[0] != package}


def test_a_member_does_not_import_its_package() -> None:
    """A package imports its members, never the other way round: no import goes in a circle."""
    TopologicalSorter({name: imports(path) for name, path in MODULES.items()}).prepare()


@pytest.mark.parametrize("module", MODULES)
def test_files_are_small(module: str) -> None:
    """A file stays under 400 lines, each of at most 100 columns."""
    lines = MODULES[module].read_text(encoding="utf-8").splitlines()

    assert len(lines) < 400
    assert [] == [line for line in lines if len(line) > 100]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body without its docstring; a literal table counts as one line."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    lines = {n for part in body for n in range(part.lineno, (part.end_lineno or 0) + 1)}
    for node in ast.walk(function):
        if isinstance(node, ast.Tuple | ast.List | ast.Dict):
            lines -= {*range(node.lineno + 1, (node.end_lineno or 0) + 1)}
    return len(lines)


@pytest.mark.parametrize("module", MODULES)
def test_functions_are_small(module: str) -> None:
    """A function stays under 40 lines."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]

    assert {} == {f.name: length(f) for f in functions if length(f) >= 40}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is(module: str) -> None:
    """A module begins with a docstring."""
    assert ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
