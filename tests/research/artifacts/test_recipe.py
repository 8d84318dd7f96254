"""What ``filter.json`` may say, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve_research.artifacts.recipe import MAX_BYTES, Base, Trained, read_json

LLM = {"kind": "llm", "model": "smollm2", "adapter": "extractor"}
ODDS = {"weights": [[0.0], [1.0]], "bias": [0.0, 0.5], "price": 0.2}
PLAIN: dict[str, Any] = {"format": 1, "system": "finefilter"}
PLAIN |= {"generator": {"model": "smollm2"}, "embedder": {"model": "minilm"}}


def test_what_is_written_is_read_again(whole: Trained) -> None:
    """Every field survives JSON; parts may be missing, or null."""
    assert whole == Trained.parse(json.loads(json.dumps(whole.to_dict())))

    nulls = dict.fromkeys(["extractor", "reranker", "truncator", "split"])

    assert Trained(generator=Base("smollm2"), embedder=Base("minilm")) == Trained.parse(PLAIN)
    assert Trained.parse(PLAIN) == Trained.parse({**PLAIN, **nulls})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "format must be 1"),
        ({"system": "chunkrag"}, "system must be one of finefilter, finefilter-one-pass, got"),
        ({"generator": {"model": "minilm"}}, "minilm is no LLM"),
        ({"generator": {"model": "smollm2", "sha256": "A" * 64}}, "generator.sha256 must be 64"),
        ({"extractor": {**LLM, "kind": "pickle"}}, "extractor.kind must be one of "),
        ({"extractor": {**LLM, "kind": "pair"}}, "smollm2 is no cross-encoder"),
        ({"extractor": {**LLM, "mode": "both"}}, "mode must be one of point, write, got"),
        ({"truncator": {"kind": "pruner", "model": "pruner"}}, "truncator.kind must be one of llm"),
        ({"reranker": {**LLM}}, "reranker.kind must be one of embedder, pair, got llm"),
        ({"truncator": LLM, "cut": ODDS}, "cut must be none where there is a trained truncator"),
        ({"options": {"llm": "x"}}, "options must be of extractor, min_keep, "),
        ({"options": {"reranker": "/etc/x"}}, "options.reranker has a wrong type or value"),
    ],
)
def test_what_breaks_a_rule_is_named(changes: dict[str, Any], words: str) -> None:
    """One line that says which field, the rule and what was found."""
    with pytest.raises(InputError) as caught:
        Trained.parse({**PLAIN, **changes})

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "folder", ["..", ".", "", "/etc", "../up", "a/b", "a\\b", "~", "C:", "x\n", "x" * 65, ".hidden"]
)
def test_a_part_stays_in_the_folder(folder: str) -> None:
    """A part folder is a plain name."""
    with pytest.raises(InputError, match="adapter must be a name without a path: "):
        Trained.parse({**PLAIN, "extractor": {**LLM, "adapter": folder}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "must be JSON of UTF-8, of finite numbers"),
        ('{"a": -Infinity}', "finite numbers"),
        ('{"a": 1e999}', "Number out of range"),
        ("[" * 100_000, "must be JSON of UTF-8"),
        ('{"a": ' + "9" * 5000 + "}", "must be JSON of UTF-8"),
        ("not json", "must be JSON of UTF-8"),
        ('"\udcff"', "must be JSON of UTF-8"),
        ('"' + "a" * MAX_BYTES + '"', "must have at most 1048576 bytes"),
    ],
)
def test_hostile_json_is_an_input_error(tmp_path: Path, text: str, words: str) -> None:
    """Not finite, nested too deep, too long, no text: one line, whatever it is."""
    file = tmp_path / "filter.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_json(file)

    assert words in str(caught.value)
    assert len(str(caught.value)) < 300
