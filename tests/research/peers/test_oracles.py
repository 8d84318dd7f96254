"""Oracles, and how the package that has them is found."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems import build
from ragsieve.types import Query
from ragsieve_research.peers.oracles import Oracle, filco_cxmi, oracle

ROOT = Path(__file__).parents[3]
QUERY = Query("What is the capital of France?")
QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained. Seals sang it.",
    "Summer Breeze was sung by Seals. A breeze is a wind.",
    "Seals and Crofts sang Summer Breeze.",
]
ANSWERS = {QUESTION: ("Seals",)}
strinc = partial(oracle, documents=5, k=1)


def found(code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """What a fresh interpreter prints that has these folders before ragsieve."""
    folders = [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    run = [sys.executable, "-c", code]
    return subprocess.run(run, capture_output=True, text=True, env=environment, check=False)


def test_the_package_registers_its_systems(tmp_path: Path) -> None:
    """By the entry points of its pyproject.toml, as pip writes them."""
    about = tmp_path / "ragsieve_research-0.1.0.dist-info"
    about.mkdir()
    project = tomllib.loads((ROOT / "research" / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["ragsieve.systems"]
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[ragsieve.systems]", *lines, ""]))
    (about / "METADATA").write_text("Name: ragsieve-research\nVersion: 0.1.0\n")
    code = "from ragsieve.systems import SYSTEMS; print(len(SYSTEMS), 'oracle' in SYSTEMS)"
    done = found(f"{code}; print(SYSTEMS['filco-strinc'].options)", tmp_path, ROOT / "src")

    assert "True" in done.stdout
    assert "{'documents': 5, 'k': 1, 'max_tokens': None}" in done.stdout


def test_oracles_keep_sentences_with_an_answer() -> None:
    """All, the first one (strinc), or what makes the answer likelier (CXMI: a tie counts)."""
    known = build("oracle", ScriptedLLM([]), answers={QUESTION: ("Crofts",)})

    assert DOCUMENTS[2:] == [s.text for s in known(QUESTION, DOCUMENTS).kept]
    assert () == known("Another question?", DOCUMENTS).kept
    with pytest.raises(InputError, match="oracle needs the gold answers, which only `ragsieve be"):
        build("oracle", ScriptedLLM([]))

    llm = ScriptedLLM([])
    first = strinc(llm, ANSWERS)(QUESTION, DOCUMENTS)
    more = strinc(llm, ANSWERS, k=9)(QUESTION, DOCUMENTS)

    assert ["Seals sang it."] == [s.text for s in first.kept]
    assert 3 == len(more.kept)

    llm = ScriptedLLM([])

    assert () == strinc(llm, {QUESTION: ("Croft",)})(QUESTION, DOCUMENTS).kept
    assert () == strinc(llm, {})(QUESTION, DOCUMENTS).kept

    result = filco_cxmi(ScriptedLLM([]), ANSWERS)(QUESTION, DOCUMENTS)

    assert ["It rained."] == [s.text for s in result.kept]


def test_a_critic_that_knows_takes_all_right_answers_for_the_same() -> None:
    """Whatever their words; and picks one of them at once where there are no rounds."""
    oracle = Oracle({QUERY.text: ["Paris", "Lutetia"]})

    assert [[0, 2], [1]] == oracle.same(QUERY, ["Paris", "Rome", "in Lutetia"])
    assert (1, 0) == (oracle.pick(QUERY, ["Rome", "Paris"]), oracle.pick(QUERY, ["Rome", "Oslo"]))

    oracle = Oracle({QUERY.text: ["no"]})

    assert 1 == oracle.pick(QUERY, ["There is no information.", "No, it is not."])
