"""Data sets by name, file or entry point: their questions, samples and parts; the bundled one."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from ragsieve import InputError
from ragsieve.text import normalise
from ragsieve_research.datasets import DATASETS, Dataset, Entry, load
from ragsieve_research.datasets.parts import SALT, part_of
from tests.named import asking
from tests.processes import python

LINE = b'{"id": "a", "question": "Who?", "documents": ["Me."]}\n'
FILES = json.loads(Path(__file__).with_name("files.json").read_text())
"""Lines, then of the first, tenth and last: checksum and documents."""


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    """No test finds a folder that it did not name."""
    monkeypatch.delenv("RAGSIEVE_DATA", raising=False)


def mark(example):
    """Checksum of what a record says, without copying what it says; and its documents."""
    texts = [[d.id, d.title, d.text] for d in example.documents]
    said = [example.query.id, example.query.text, list(example.answers), texts]
    return [hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16], len(texts)]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_real_files_are_read_whole(data, name):
    """Lines, and the first, the tenth and the last of them, as counted when they were written."""
    dataset = load(name, folder=data)
    examples = list(dataset)
    total, expected = FILES[name]

    assert total == len(examples)
    assert expected == [mark(e) for e in (examples[0], examples[min(9, total - 1)], examples[-1])]
    assert DATASETS[name] == dataset.entry


@pytest.mark.data
def test_the_table_knows_every_file_of_questions(data):
    """Rows may be more: their files can lie on the hub; what has no questions is no data set."""
    names = {path.name.removesuffix(".jsonl.gz") for path in data.glob("*.jsonl.gz")}

    assert names - {"crag_mock_api"} <= {*DATASETS}
    assert {*FILES} <= names


@pytest.mark.parametrize("name", ["nq.jsonl", "nq.jsonl.gz"])
def test_a_name_is_found_in_a_folder(tmp_path, monkeypatch, name):
    """Named by argument, which goes before the variable, or by the variable."""
    (tmp_path / name).write_bytes(gzip.compress(LINE) if name.endswith("gz") else LINE)
    by_argument = load("nq", folder=tmp_path, place="folder")
    monkeypatch.setenv("RAGSIEVE_DATA", str(tmp_path))

    assert ["a"] == [e.query.id for e in by_argument] == [e.query.id for e in load("nq")]
    assert (str(tmp_path / name), "nq") == (by_argument.origin, by_argument.name)
    with pytest.raises(InputError, match=r"elsewhere has no nq\.jsonl"):
        load("nq", folder=tmp_path / "elsewhere")


def test_an_own_file_is_a_data_set(tmp_path):
    """By its path, as text or not; packing it does not make another data set of it."""
    path = tmp_path / "bees.jsonl"
    path.write_bytes(LINE)

    assert ["a"] == [e.query.id for e in load(path)] == [e.query.id for e in load(str(path))]
    assert ("bees", None) == (load(path).name, load(path).entry)

    plain, packed = a_file(tmp_path / "a.jsonl"), a_file(tmp_path / "b.jsonl.gz")
    expected = hashlib.sha256(plain.read_bytes()).hexdigest()

    assert expected == Dataset.from_file(plain).sha256() == Dataset.from_file(packed).sha256()


def test_places_and_files_are_told_apart(tmp_path):
    """The sample needs no folder; an unknown place is named; no text stands for a file."""
    assert 12 == load("sample").count() == load("sample", folder=tmp_path).count()
    assert "Apache-2.0" == DATASETS["sample"].licence

    with pytest.raises(InputError, match="place must be one of auto, folder, hub, got 'web'"):
        load("nq", place="web")

    with pytest.raises(InputError, match=r"\(no copy of noveleval on the hub is known\)"):
        load("noveleval", place="hub")
    with pytest.raises(InputError, match=r"no folder was named\): put noveleval\.jsonl into"):
        load("noveleval", place="folder")

    with pytest.raises(InputError, match=r"a Path, as Path\(__file__\)\.with_name\('a.jsonl'\)"):
        Entry("x", "x", "x", file="a.jsonl")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ('load("nq", place="hub")', "MissingExtra: datasets is not installed: pip install"),
        ('load("nq")', "InputError: data set nq must be in a folder or on the hub (no folder was"),
    ],
)
def test_a_missing_library_is_named(call, error):
    """The extra that brings it is in either message; the folder is the other way."""
    program = (
        "import sys; sys.modules['datasets'] = None\n"
        "from ragsieve_research.datasets import load\n"
        f"try: {call}\n"
        "except Exception as error: print(f'{type(error).__name__}: {error}')"
    )
    said = python(program).stdout

    assert said.startswith(error)
    assert "ragsieve[hub]" in said


@pytest.mark.parametrize("name", DATASETS)
def test_the_table_says_what_each_is(name):
    """Summary, licence and use in a line each; NC licences are marked as such."""
    entry = DATASETS[name]

    assert all([entry.summary, entry.licence, entry.measures])
    assert ("-NC" in entry.licence) == entry.non_commercial


PACKAGE = """
from pathlib import Path

from ragsieve_research.datasets import Entry

FILE = Path(__file__).with_name("bees.jsonl")
BEES = Entry("questions about bees", "MIT", "that others can add", file=FILE)
BROKEN = 3
"""


def test_another_package_adds_data_sets(tmp_path, install, caplog):
    """By entry points; what is no entry is left out with a warning, and no name is taken over."""
    (tmp_path / "bees.jsonl").write_bytes(LINE)
    points = ["bees = other_data:BEES", "nq = other_data:BEES", "bad = other_data:BROKEN"]
    install("other_data", "datasets", *points, other_data=PACKAGE)
    with DATASETS.isolated():
        names, bees = [*DATASETS], load("bees")

    assert ["a"] == [e.query.id for e in bees]
    assert ("bees", "MIT") == (names[-1], bees.entry and bees.entry.licence)
    assert 1 == names.count("nq")
    assert DATASETS["nq"].hub
    assert "entry point bad of ragsieve.datasets is left out: other_data:BROKEN" in caplog.text


def a_file(path, n=20, documents=6):
    """``n`` questions; the first document of each has no id, and the second is bare text."""
    bees = [{"id": f"d{j}", "text": f"bee {j}", "rank": 9} for j in range(2, documents)]
    rows = [
        asking(f"Which bee is number {i}?", {"text": "bee 0"}, "bee 1", *bees, id=f"q{i}")
        for i in range(1, n + 1)
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def ids(dataset):
    return [example.query.id for example in dataset]


def test_a_data_set_is_read_line_by_line_again_and_again(tmp_path):
    """A bad line stops nobody before it, and is named as an editor shows it."""
    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 4))

    assert "bees" == dataset.name
    assert ["q1", "q2", "q3", "q4"] == ids(dataset) == ids(dataset)
    assert [1, 2, 3, 4] == [number for number, _ in dataset.examples()]
    assert 4 == dataset.count()
    assert ["q1", "q2"] == ids(dataset.take(2))
    assert ids(dataset) == ids(dataset.take(9)) == ids(dataset.take(None, seed=1))

    path = tmp_path / "bees.jsonl"
    path.write_bytes(b'{"id": 1, "question": "Who?"}\nnonsense\n')

    assert "1" == next(iter(Dataset.from_file(path))).query.id

    path.write_bytes(b'{"question": "Who?"}\n\n{"documents": []}\n')

    with pytest.raises(InputError, match=r"bees\.jsonl, line 3: a record must have a question"):
        list(Dataset.from_file(path))


def test_a_sample_is_drawn_by_its_seed(tmp_path):
    """In the order of the draw, evenly, the same between releases; a larger one begins with it."""
    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 99))
    some = dataset.take(20, seed=1)
    numbers = [number for number, _ in some.lines()]

    assert [f"q{n}" for n in numbers] == ids(some) == ids(some)
    assert 20 == len({*numbers})
    assert numbers != [number for number, _ in dataset.take(20, seed=2).lines()]
    assert {*ids(dataset)} == {*ids(dataset.take(500, seed=1))}
    assert ids(dataset.take(10, seed=3)) == ids(dataset.take(30, seed=3))[:10]

    drawn = [n for seed in range(100) for n, _ in dataset.take(10, seed=seed).lines()]

    assert 50 == pytest.approx(sum(drawn) / len(drawn), abs=4)  # about four standard errors

    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 50))

    assert [4, 7, 12, 26, 33] == sorted(number for number, _ in dataset.take(5, seed=7).lines())


def test_a_question_is_in_one_part_however_it_is_written():
    """By 8 hex digits of the salted hash of the normalised text, modulo 100: 50, 10 and 40."""
    place = int(hashlib.sha256(f"{SALT}\nwho sang song".encode()).hexdigest()[:8], 16) % 100

    wanted = "train" if place < 50 else "validation" if place < 60 else "test"

    assert wanted == part_of("Who sang the song?")
    assert part_of("Who sang the song?") == part_of("who  sang THE song")
    assert ["test", "train"] == [part_of(text) for text in ("谁唱的。", "“Who?”")]  # marks count

    parts = [part_of(f"question {n}") for n in range(2000)]

    assert pytest.approx(0.5, abs=0.04) == parts.count("train") / 2000
    assert pytest.approx(0.1, abs=0.04) == parts.count("validation") / 2000
    assert {"train", "validation", "test"} == set(parts)


EXAMPLES = list(load("sample"))


def positives(example):
    return [d for d in example.documents if d.metadata["is_positive"]]


def test_the_sample_has_every_kind_of_question():
    """Twelve with five to eight documents: two hops, no answer, yes or no, a contradicted one."""
    assert 12 == len({e.query.id for e in EXAMPLES}) == len(EXAMPLES)
    assert [] == [e.query.id for e in EXAMPLES if not 5 <= len(e.documents) <= 8]
    assert [] == [
        e.query.id for e in EXAMPLES if len({d.title for d in e.documents}) < len(e.documents)
    ]

    kinds = [e.metadata for e in EXAMPLES]

    assert 2 == sum(m["hops"] == 2 for m in kinds)
    assert 1 == sum("unanswerable" in m for m in kinds)
    assert 1 == sum(m.get("type") == "yes/no" for m in kinds)
    assert 1 == sum("counterfactual_documents" in m for m in kinds)

    two = [e for e in EXAMPLES if e.metadata["hops"] == 2]

    assert [2, 2] == [len(positives(e)) for e in two]
    assert [1, 1] == [
        sum(any(holds_answer(a, d.text) for a in e.answers) for d in positives(e)) for e in two
    ]

    (example,) = [e for e in EXAMPLES if "counterfactual_answer" in e.metadata]
    (document,) = example.metadata["counterfactual_documents"]

    assert holds_answer(example.metadata["counterfactual_answer"], document["text"])
    assert [] == [a for a in example.answers if holds_answer(a, document["text"])]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.query.id)
def test_supporting_sentences_lie_in_their_documents(example):
    """Each once, and in positive documents only; most of a question's documents are noise."""
    for document in example.documents:
        sentences = document.metadata.get("supporting_sentences", [])

        assert bool(sentences) == document.metadata["is_positive"]
        assert [1] * len(sentences) == [document.text.count(s) for s in sentences]
    assert len(positives(example)) <= 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.query.id)
def test_answers_stand_in_supporting_sentences_and_nowhere_else(example):
    """But for yes or no; a question without answer has neither answers nor positives."""
    if example.metadata.get("unanswerable"):
        assert ((), []) == (example.answers, positives(example))
        return
    if example.metadata.get("type") == "yes/no":
        assert example.answers in (("yes",), ("no",))
        return
    sentences = [s for d in positives(example) for s in d.metadata["supporting_sentences"]]
    noise = [f"{d.title} {d.text}" for d in example.documents if d not in positives(example)]

    assert any(holds_answer(answer, text) for answer in example.answers for text in sentences)
    assert [] == [t for t in noise for answer in example.answers if holds_answer(answer, t)]


def holds_answer(answer, text):
    return f" {normalise(answer)} " in f" {normalise(text)} "


def test_the_file_is_plain_text():
    """ASCII, and one line a question, so that it looks the same everywhere."""
    path = DATASETS["sample"].file
    data = path.read_bytes()

    assert data.isascii()
    assert 12 == data.count(b"\n")
