"""What all `ragsieve train` commands refuse, as a user meets it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("peft")
pytest.importorskip("sklearn")

FAKE = ("--llm", "fake:echo", "--embedder", "fake:hashing")
NAMES = ("generator", "recomp", "writer", "exit")
ROW = {"answers": ["Seals"], "documents": [{"text": "Seals sang. It rained."}]}


def refused(ragsieve, *arguments, questions=40):
    """The one line that a training of some questions ends with."""
    rows = [json.dumps({"question": f"Who sang song {n}?", **ROW}) for n in range(questions)]
    Path("q.jsonl").write_text("\n".join(rows) + "\n")
    name, *options = arguments
    ended = ragsieve("train", name, "made", "q.jsonl", *options)

    assert (2, 1) == (ended.code, len(ended.err.splitlines()))
    return str(ended.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(((name, "--epochs", "0"), "--epochs': 0 is not in the range x>=1") for name in NAMES),
        *(((name, "--documents", "0"), "--documents': 0 is not in the range") for name in NAMES),
        *(((name, "--work", "made"), "--work must be another folder than") for name in NAMES),
        (("generator", "--context", "own"), "'own' is not one of"),
        (("generator", "--target", "reason"), "'reason' is not one of"),
        (("generator", "--llm", "openai:x"), "llm must be a local one"),
        (("writer", "--by", "luck"), "'luck' is not one of"),
        (("exit", "--llm", "openai:x"), "llm must be a local one"),
        (("finefilter", *FAKE, "--extractor", "x"), "extractor must be one of pruner"),
        (
            ("finefilter", *FAKE, "--reranker-lr", "0"),
            "--reranker-lr': 0.0 is not in the range x>0",
        ),
        (("pruner", "--epochs", "0"), "--epochs': 0 is not in the range x>=1"),
        (("pruner", "--learning-rate", "0"), "--learning-rate': 0.0 is not in the range x>0"),
        (("pruner", "--work", "made"), "--work must be another folder than FOLDER"),
        (("exit", "--layers", "0"), "--layers': 0.0 is not in the range 0<x<=1"),
        (("exit", "--seed", "-1"), "-1 is not in the range"),
    ],
)
def test_options_must_be_fit(ragsieve, arguments, message):
    """One line before any model is asked, with option, rule and value."""
    assert message in refused(ragsieve, *arguments)
    assert not Path("made").exists()
    assert not Path("made.work").exists()


@pytest.mark.parametrize("name", ["finefilter", *NAMES])
@pytest.mark.parametrize("keys", [(), ("question",), ("question", "documents")])
def test_where_no_question_is_fit_no_division_is_blamed(ragsieve, name, keys):
    """An empty file, questions without documents or without answers."""
    row = {"question": "Who sang?", **ROW}
    Path("q.jsonl").write_text(json.dumps({key: row[key] for key in keys}) * bool(keys))
    ended = ragsieve("train", name, "made", "q.jsonl")

    assert "got 0 (train 0, validation 0); no question of the data has them" in ended.err
    assert "salted hash" not in ended.err


@pytest.mark.parametrize("name", NAMES)
def test_what_lies_in_a_folder_is_not_overwritten(ragsieve, name):
    """Only a folder of an earlier training is."""
    Path("made").mkdir()
    Path("made/mine.txt").write_text("x")

    assert "folder must be new or a trained" in refused(ragsieve, name)
