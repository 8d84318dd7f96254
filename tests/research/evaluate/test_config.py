"""What a benchmark runs, read from TOML."""

from pathlib import Path

import pytest

from ragsieve.errors import InputError
from ragsieve.systems.base import SYSTEMS
from ragsieve_research.evaluate.config import cells, label, read
from ragsieve_research.evaluate.override import Override

PLAIN = """
[[data]]
name = "sample"
[[systems]]
name = "all"
[[systems]]
name = "finefilter-point"
label = "no cut"
options = { truncator = "none" }
"""
ECHO = "(with fake:echo)"
RUNS = Path(__file__).parents[3] / "experiments"


def parsed(folder, text, *, small=False):
    path = folder / "run.toml"
    path.write_text(text)
    return read(path, small=small)


def test_a_papers_table_says_how_many_documents_all_rows_read():
    """Once for all; two tables are ours."""
    tables = {p for p in RUNS.glob("[cfpw]*-*.toml") if p.stem[11:] not in ("kept", "trained")}
    runs = [read(path, small=small) for path in tables for small in (False, True)]

    assert 33 == len(tables)
    assert all(d.documents or d.index or d.sources for run in runs for d in run.data)


def test_a_short_file_is_enough_and_a_small_variant_stands_in(tmp_path):
    """All else has a default; the variant has a name, and stands in for what it names alone."""
    config = parsed(tmp_path, PLAIN)

    assert "run" == config.name
    assert ["all", "no cut"] == [label(system) for system in config.systems]
    assert ["sample--all--smollm2", "sample--no-cut--smollm2"] == [c.file for c in cells(config)]

    text = "questions = 500\nseed = 3\n[small]\nquestions = 5" + PLAIN.replace("[[s", "[[small.s")
    text = text.replace("[[data", "[[small.data") + PLAIN
    config = parsed(tmp_path, text, small=True)

    assert (5, 3, "run-small") == (config.questions, config.seed, config.name)
    assert (500, "run") == ((large := parsed(tmp_path, text)).questions, large.name)


@pytest.mark.parametrize(
    ("override", "baseline", "labels"),
    [
        (Override(), "weak", ["filco", "weak", "strong", "own", "tuned"]),
        (Override(llm="fake:echo"), "filco", ["filco", "own", f"tuned {ECHO}"]),
        (Override(llm="fake:echo"), "weak", [f"weak {ECHO}", "own", f"tuned {ECHO}"]),
        (Override(embedder="fake:hashing"), "", ["filco", "weak", "strong", "own", "tuned"]),
    ],
)
def test_rows_say_what_took_the_place_of_their_models(tmp_path, override, baseline, labels):
    """What runs the same runs once, as the baseline where that is one; trained folders stay."""
    own = {"weak": "openai:a", "strong": "openai:b", "own": "transformers:./made"}
    rows = ['name = "filco"', *(f'name = "filco"\nlabel = "{name}"\nmodels.extractor = "{model}"'
            for name, model in own.items())]  # fmt: skip
    rows.append('name = "me/filters"\nlabel = "tuned"\nmodels.extractor = "openai:a"')
    text = f'baseline = "{baseline}"\n' + "".join(f"[[systems]]\n{row}\n" for row in rows)
    Path(tmp_path, "run.toml").write_text(text + '[[data]]\nname = "sample"\n')
    config = override.applied(read(tmp_path / "run.toml"))

    assert labels == [label(system) for system in config.systems]
    assert not baseline or config.baseline in labels


def test_a_run_can_give_every_system_one_budget(tmp_path):
    """Of its own where it has one."""
    more = '[[systems]]\nname = "closed-book"\n[[systems]]\nname = "finefilter"\n'
    text = "max_tokens = 90\n" + PLAIN + more + "options = { max_tokens = 30 }"
    config = parsed(tmp_path, text)
    budgets = {label(s): s.options.get("max_tokens") for s in config.systems}

    assert {"all": 90, "no cut": 90, "closed-book": 90, "finefilter": 30} == budgets


@pytest.mark.parametrize(
    ("more", "llm"),
    [
        ("", "smollm2"),
        ("answers = false\n", "none"),
        ("answers = false\ngenerators = [{ }]\n", "smollm2"),
        ("answers = false\n[[systems]]\nname = 'chunkrag'\n", "smollm2"),
    ],
)
def test_a_generator_that_nobody_names_or_asks_is_deferred(tmp_path, more, llm):
    """Tables say none; where a system asks it, all count by its own tokens."""
    config = parsed(tmp_path, more + PLAIN.partition('[[systems]]\nname = "finefilter-point')[0])
    (generator,) = config.generators

    assert (llm, llm) == (generator.llm, label(generator))


def test_noise_and_poison_have_cells_of_their_own(tmp_path):
    """2 kinds, shares, positions and systems are 16; a poisoned set has a label and files."""
    noise = '[noise]\nkinds = ["random", "duplicates"]\nshares = [0, 0.5]\n'
    config = parsed(tmp_path, noise + 'positions = ["first", "last"]\n' + PLAIN)
    files = [cell.file for cell in cells(config)]

    assert 16 == len(files) == len(set(files))
    assert "sample--random-0.5-last--all--smollm2" in files

    more = '[[data]]\nname = "sample"\npoisoned = true\n'
    config = parsed(tmp_path, PLAIN + more + more + 'part = "test"')
    labels = [data.label for data in config.data]

    assert ["sample", "sample (poisoned)", "sample (test, poisoned)"] == labels
    assert 3 == len({cell.questions_file for cell in cells(config)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "systems is missing"),
        ("name = '../../x'\n" + PLAIN, "name must be a name without a path: .*, got '../../x'"),
        (PLAIN.replace("all", "al"), "system must be one of .*finefilter-point, .* got 'al'"),
        (
            PLAIN + "[[systems]]\nname = 'top-documents'\noptions = {}\n"
            "[[systems]]\nname = 'top-documents'\nlabel = 'five'\noptions = { k = 5 }",
            "systems 'top-documents' and 'five' must differ, are the same",
        ),
        (PLAIN.replace("no cut", "all"), "labels of systems must differ, got 'all' twice"),
        (
            PLAIN + "[[systems]]\nname = 'top-documents'\nlabel = 'no <cut>'",
            "labels of systems must give different names of files, 'no <cut>' and 'no cut' are",
        ),
        ('baseline = "x"\n' + PLAIN, "baseline must be the label of a system .*'x'"),
        (PLAIN.replace("no cut", "x" * 200), "labels must be at most 200 bytes together, got"),
        ("[noise]\nkinds = []\nshares = [0]\n" + PLAIN, "noise.kinds must be .* length >= 1"),
        (
            "[[data]]\nname = 'x'\nrank = 'bm25'\n[noise]\nkinds = ['random']\nshares = [0]\n"
            + PLAIN,
            "rank and documents must be left out where the run has noise",
        ),
        *(  # documents that are not asked cannot be made worse
            (
                f"[[data]]\nname = 'x'\n{option} = 'i'\n{more}" + PLAIN,
                f"{option} must be empty where documents are noise",
            )
            for option in ("index", "sources")
            for more in ("poisoned = true", "[noise]\nkinds = ['random']\nshares = [0.5]")
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, text, message):
    """One line with the file, the place in it and the rule."""
    with pytest.raises(InputError, match=f"run.toml:? .*{message}") as caught:
        parsed(tmp_path, text)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", sorted(RUNS.glob("*.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("small", [False, True])
def test_every_experiment_can_be_read(path, small):
    """Its systems, options and models exist; what is trained has not learnt its questions."""
    config = read(path, small=small)
    learnt = [s for s in config.systems if s.router.startswith("routers/") or s.name not in SYSTEMS]

    assert config.about
    assert [*cells(config)]
    assert not learnt or {"test"} == {data.part for data in config.data}
