"""`ragsieve train pruner` and `calibrate finefilter`, as a user meets them."""

import json
import re
from pathlib import Path

import accelerate
import pytest

from tests.named import asking, write_rows
from tests.processes import python

pytest.importorskip("peft")
pytest.importorskip("sklearn")
pytest.importorskip("onnxscript")


WORDS = ["seals", "paris", "rome", "ran", "who", "the", "it", "in", "old"]


@pytest.fixture
def questions():
    """A file of twelve questions, each with its answer in one of two sentences."""
    rows = [
        asking(f"Who {n}?", f"The seals in {WORDS[n % 4]}. It ran {n}.", answers=["seals"])
        for n in range(12)
    ]
    return str(write_rows(Path("q.jsonl"), rows))


KINDS = ["bees", "cats", "dogs", "frogs", "goats", "hens"]


@pytest.fixture
def marked():
    """A file of 120 questions, each with its evidence marked in one of two sentences."""
    rows = []
    for n in range(120):
        text = f"The {KINDS[n % 6]} ran in rome. The seals sang it."
        document = {"text": text, "evidence": [[0, text.index(".") + 1]]}
        rows.append({"question": f"Who ran {n}?", "documents": [document]})
    return str(write_rows(Path("marked.jsonl"), rows))


def test_a_checkpoint_to_go_on_from_must_be_there(ragsieve, questions):
    """One line names it before data are read, of which there are too few."""
    ended = ragsieve("train", "pruner", "made", questions, "--from", "./none")

    assert 2 == ended.code
    assert "no folder at './none'" in ended.err.splitlines()[-1]


def test_too_few_are_said_before_a_library_of_training_is_imported(ragsieve, questions):
    """By every training: three questions are of one part, or their documents hold no answer."""
    few = Path(questions).read_text().splitlines()[:3]
    none = [line.replace("seals", "bees", 1) for line in few * 9]
    rows = [
        json.dumps({**json.loads(row), "question": f"Is it {n}?"}) for n, row in enumerate(none)
    ]
    Path("few.jsonl").write_text("\n".join(few))
    Path("none.jsonl").write_text("\n".join(rows))
    Path("s.toml").write_text("")
    code = """
import sys
from ragsieve.cli import main
for place in sys.argv[1:]:
    file, name = place.split()
    more = ["--sources", "s.toml"] if name == "router" else []
    try:
        main(["train", name, "made", f"{file}.jsonl", *more])
    except SystemExit as ended:
        assert ended.code == 2, ended.code
assert "torch" not in sys.modules
"""
    names = ("finefilter", "recomp", "generator", "writer", "exit", "pruner", "router")
    places = ["none pruner", "none exit", *(f"few {name}" for name in names)]
    said = python(code, *places).stderr
    errors = [line for line in said.splitlines() if line.startswith("error: ")]

    assert len(places) == len(errors), said
    for line in errors:
        assert re.match(
            r"error: \w+ must have at least \d questions? with .*, got \d \(train \d", line
        )
    assert not Path("made.work").exists()


@pytest.mark.slow
def test_a_sentence_pruner_is_trained_and_gone_on_from(ragsieve, marked, make_encoder):
    """From an encoder, then from what that gave: figures of before and after, and it filters."""
    accelerate.state.AcceleratorState._reset_state(True)  # of other trainings in this process
    encoder = str(make_encoder([*WORDS, *KINDS, "sang"], 128))
    fast = ("--epochs", "1", "--batch", "16", "--learning-rate", "1e-3")
    first = ragsieve("train", "pruner", "first", marked, "--from", encoder, *fast)
    second = ragsieve("train", "pruner", "second", marked, "--from", "pruner:first", *fast)
    again = ragsieve("train", "pruner", "second", marked, "--from", "pruner:first", *fast)
    other = ragsieve("train", "pruner", "second", marked, "--from", "pruner:first", "--epochs", "2")
    Path("notes.txt").write_text("The bees ran in rome. The seals sang it.")
    asked = ("-q", "Who ran?", "notes.txt", "--llm", "fake:echo", "--keep-answer", "0.8")
    used = ragsieve("filter", "--pruner", "pruner:second", *asked)

    assert [0, 0, 0, 2, 0] == [one.code for one in (first, second, again, other, used)], first.err
    recipe = json.loads(Path("second/recipe.json").read_text())
    assert "warning: 120 questions are few: with under 200" in first.err
    assert ["after"] == [row.split()[0] for row in first.out.splitlines()[1:]]
    assert ["before", "after"] == [row.split()[0] for row in second.out.splitlines()[1:]]
    assert second.out == again.out
    assert "work must be a new folder or that of this plan" in other.err
    assert {"README.md", "config.json", "model.onnx", "pruner.json", "recipe.json"} < {
        path.name for path in Path("second").iterdir()
    }
    assert recipe["promises"][0] == 0.5 and recipe["promises"][-1] < 0.99
    assert "It goes on from `pruner:first`" in Path("second/README.md").read_text()


def test_the_bundled_pruner_is_calibrated_anew(ragsieve, marked):
    """A copy with another table; too few questions are said before weights are read."""
    made = ragsieve("calibrate", "finefilter", marked, "--output", "mine", "--keep-answer", "0.9")
    Path("notes.txt").write_text("The bees ran in rome. The seals sang it.")
    asked = ("-q", "Who ran?", "notes.txt", "--llm", "fake:echo", "--pruner", "pruner:mine")
    used = ragsieve("filter", *asked)
    Path("mine/model.onnx").write_bytes(b"")
    broken = ("--pruner", "pruner:mine", "--output", "more", "--keep-answer", "0.999")
    over = ragsieve("calibrate", "finefilter", marked, *broken)
    Path(marked).rename("nq.jsonl")
    known = ("nq", "--data", ".", "--output", "more", "--keep-answer", "0.999")
    learned = ragsieve("calibrate", "finefilter", *known, "--part", "all")
    held = ragsieve("calibrate", "finefilter", *known)

    assert [0, 0, 2] == [made.code, used.code, over.code]
    assert "warning: --part all: what a pruner learned from nq calibrates it" in learned.err
    assert "got 120" in learned.err and "warning" not in held.err and "got 120" not in held.err
    assert "promised: the answer survives in 90.0% of questions that have one" in made.out
    assert "written: mine" in made.err
    assert "needs at least 999 questions" in over.err and not Path("more").exists()
    assert 50 == len(json.loads(Path("mine/pruner.json").read_text())["thresholds"])
