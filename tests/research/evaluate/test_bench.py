"""Systems × data sets × generators in a folder."""

import json
import math
import re

import msgspec
import pytest

pytest.importorskip("rouge_score")

from msgspec.structs import replace

from ragsieve import Document, InputError, ModelError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.text import contains_answer
from ragsieve_research.artifacts.folder import save
from ragsieve_research.artifacts.recipe import Base, Trained
from ragsieve_research.evaluate.bench import Bench
from ragsieve_research.evaluate.config import BenchSystem, Config, Data, Generator, NoiseGrid
from ragsieve_research.evaluate.records import load_run
from ragsieve_research.evaluate.report import summarise
from ragsieve_research.retrieve.indexes import IndexOptions, create_index
from tests.named import write_rows

CONFIG = Config(
    systems=[
        BenchSystem(name="all"),
        BenchSystem(name="finefilter-point", label="fine", options={"truncator": "none"}),
        BenchSystem(name="top-sentences"),
    ],
    data=[Data(name="sample")],
    generators=(Generator(llm="fake:echo"),),
    embedder="fake:hashing",
    workers=4,
    latency=2,
)
ONE = replace(CONFIG, systems=[BenchSystem(name="all")], latency=0, workers=1)
TIMES = re.compile(r'"(seconds|filter_seconds|generator_seconds)": [0-9.e-]+')


def run(folder, config=CONFIG, llm=None, **options):
    """A run from start to end; ``llm`` stands in for fake:echo."""
    bench = Bench(config, folder, **options)
    if llm:
        bench.models.opened[json.dumps(["fake:echo", {}])] = llm
    bench.prepare()
    [*bench.run()]
    return bench


def own(folder, *rows):
    """A file of one's own questions."""
    return write_rows(folder / "mine.jsonl", rows)


def records(folder, name="sample--all--fake-echo"):
    return [json.loads(line) for line in (folder / "records" / f"{name}.jsonl").open()]


def files(folder):
    """All records of a run, without times."""
    return {
        f"{path.parent.name}/{path.name}": TIMES.sub("", path.read_text())
        for part in ("records", "latency")
        for path in sorted((folder / part).glob("*.jsonl"))
    }


def test_each_cell_has_a_record_a_question(tmp_path):
    """In their order, with metrics, presence by stage and trace; the first two are timed alone."""
    run(tmp_path)
    found = records(tmp_path, "sample--fine--fake-echo")

    assert list(range(1, 13)) == [r["line"] for r in found]
    assert ["given", "Sentences", "Extract", "Cosine", "Order"] == [
        p["stage"] for p in found[0]["presence"]
    ]
    assert {"accuracy", "f1", "sentence_recall", "tokens_kept"} <= {*found[0]["metrics"]}
    assert found[0]["answers"]
    assert 5 == len(found[0]["trace"]["steps"])

    lines = (tmp_path / "latency" / "sample--fine--fake-echo.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]

    assert [1, 2] == [r["line"] for r in found]
    for r in found:
        assert abs(r["filter_seconds"] + r["generator_seconds"] - r["seconds"]) < 2e-4


def test_the_header_says_what_was_run(tmp_path):
    """Models, questions with checksum, machine, versions, seed and command; no key."""
    options = {"api_key": "secret"}
    config = replace(ONE, generators=(Generator(llm="openai:x", options=options),), seed=7)
    Bench(config, tmp_path, command=["ragsieve", "bench", "--x", "api_key=secret"]).prepare()
    text = (tmp_path / "run.json").read_text()
    header = json.loads(text)

    assert "secret" not in text
    assert 7 == header["seed"]
    assert 12 == header["datasets"]["sample"]["questions"]
    assert 64 == len(header["datasets"]["sample"]["sha256"])
    assert "openai:x" in header["models"]
    assert {"python", "cores", "processor"} <= {*header["machine"]}
    assert header["versions"]["numpy"]


def test_filters_are_measured_without_a_generator(tmp_path):
    """``answers = false``: no answer, no metric of one, no seconds of a generator."""
    llm = ScriptedLLM([])
    run(tmp_path, replace(CONFIG, answers=False, systems=[BenchSystem(name="top-sentences")]), llm)
    first = records(tmp_path, "sample--top-sentences--fake-echo")[0]
    (row,) = summarise([load_run(tmp_path)]).rows

    assert [] == llm.prompts
    assert "answer" not in first
    assert {"answer_present", "tokens_kept"} <= {*row.metrics}
    assert not {"accuracy", "f1"} & {*row.metrics}
    assert row.figure("cost", "filter_seconds") == pytest.approx(row.figure("cost", "seconds"))
    assert math.isnan(row.figure("cost", "generator_seconds"))


def test_what_a_generator_has_no_room_for_is_in_the_report(tmp_path):
    """A note counts the answers, and a document that was in no prompt was not read."""
    texts = ["Ann sings. " * 60, "Bob sings. " * 60]
    path = own(tmp_path, {"question": "Who sings?", "answers": ["Bob"], "documents": texts})
    small = Generator(llm="fake:echo", label="small", options={"context": 400})
    run(
        tmp_path / "r",
        replace(ONE, data=[Data(name=str(path))], generators=(*ONE.generators, small), latency=1),
    )
    report = summarise([load_run(tmp_path / "r")])
    seconds = report.rows[0].figure("cost", "generator_seconds")

    assert [2, 1] == [row.metrics["documents_read"].value for row in report.rows]
    assert (
        "1 answer read less than was kept, as the context of small is too small: all"
        in report.notes
    )
    assert report.rows[0].figure("cost", "throughput") == pytest.approx(1 / seconds)


def test_groups_by_two_metadata_have_a_row_a_value(tmp_path):
    """False and 0 are values, and each of a list; a key stands before its own, as two may have the
    same. A question that is in two rows counts once in the whole."""
    tags = [["a", "b"], ["a"], [], ["b", "b"]]
    metadata = [{"multi": n < 3, "early": n < 1, "hops": n // 2, "tags": tags[n]} for n in range(4)]
    rows = [{"question": "Who?", "documents": ["Ann."], "metadata": one} for one in metadata]
    data = Data(name=str(own(tmp_path, *rows)), groups=("multi", "early", "hops", "tags", "none"))
    run(tmp_path / "run", replace(ONE, data=[data]))
    counts = {"early False": 3, "early True": 1, "multi False": 1, "multi True": 3}
    counts |= {"hops 0": 2, "hops 1": 2, "tags a": 2, "tags b": 2}
    whole, *found = summarise([load_run(tmp_path / "run")]).rows

    assert 4 == whole.questions == whole.metrics["tokens"].n
    assert {f"mine: {group}": n for group, n in counts.items()} == {
        row.dataset: row.questions for row in found
    }


def test_a_damaged_header_is_written_anew(tmp_path):
    """A power cut leaves zeros: the records go on."""
    run(tmp_path, ONE)
    (tmp_path / "run.json").write_bytes(bytes(100))
    run(tmp_path, ONE)

    assert "sample" in json.loads((tmp_path / "run.json").read_text())["datasets"]


def test_a_second_start_asks_nothing(tmp_path):
    """The model is not even opened; records that a kill left unsorted are put in order."""

    class Closed(ScriptedLLM):
        def count(self, texts):
            raise AssertionError("it was opened")

    run(tmp_path)
    before = files(tmp_path)
    for path in (tmp_path / "records").glob("*.jsonl"):
        path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    run(tmp_path, llm=Closed([], identity="echo"))

    assert before == files(tmp_path)


def test_a_slow_system_can_be_asked_less(tmp_path):
    """Its first questions, which is no unfinished run; it is compared on what both were asked."""
    slow = BenchSystem(name="top-documents", questions=3)
    run(tmp_path, replace(CONFIG, systems=[*ONE.systems, slow], baseline="all"))
    report = summarise([load_run(tmp_path)])
    row = next(row for row in report.rows if row.system == "top-documents")

    assert [1, 2, 3] == [r["line"] for r in records(tmp_path, "sample--top-documents--fake-echo")]
    assert not [note for note in report.notes if "nfinished" in note]
    assert 3 == row.differences["accuracy"].n


def fails_on(word):
    def reply(prompt):
        if word in prompt[-1].content:
            raise ModelError("no luck")
        return "x"

    return ScriptedLLM(reply, identity="moody")


def test_a_failure_is_a_record_that_counts_as_wrong(tmp_path):
    """It stays until it is asked again; the other questions have theirs."""
    run(tmp_path, ONE, fails_on("symbol W"))
    first = records(tmp_path)
    run(tmp_path, ONE, ScriptedLLM(lambda _: "tungsten", identity="moody"))
    second = records(tmp_path)
    run(tmp_path, ONE, ScriptedLLM(lambda _: "tungsten", identity="moody"), retry=True)
    third = records(tmp_path)

    assert ["ModelError: no luck"] + [None] * 11 == [r.get("error") for r in first]
    assert first[0]["metrics"]["accuracy"] == 0.0 == first[0]["metrics"]["f1"]
    assert first == second
    assert [None] * 12 == [r.get("error") for r in third]
    assert 1.0 == third[0]["metrics"]["accuracy"]


def test_a_run_that_cannot_work_stops(tmp_path):
    """After ten failures and no answer; a server that is down costs no thousand waits."""
    with pytest.raises(ModelError, match="the first 10 questions of sample--all--fake-echo failed"):
        run(tmp_path, ONE, fails_on(""))


def test_a_cell_that_fails_ends_itself_and_the_others_go_on(tmp_path):
    """Where it cannot run, before the first call; the report says both."""

    def reply(prompt):
        if "Documents:" in prompt[0].content:
            raise ModelError("no luck")
        return "tungsten"

    some = [BenchSystem(name=name) for name in ("all", "chunkrag-likelihood", "closed-book")]
    llm = ScriptedLLM(reply, can=frozenset({"complete"}))
    bench = run(tmp_path, replace(ONE, systems=some), llm)
    notes = "\n".join(summarise([load_run(tmp_path)]).notes)

    assert 12 == len(records(tmp_path, "sample--closed-book--fake-echo"))
    assert 10 <= len(records(tmp_path, "sample--all--fake-echo"))
    assert 2 == len(bench.unable)
    assert "chunkrag-likelihood needs loglik of fake:echo" in notes
    assert "all on sample with fake:echo: the first 10 questions" in notes


def test_questions_can_be_those_whose_documents_hold_the_answer(tmp_path):
    """Those that are read; or do not; without a gold answer a question is neither."""
    asked = [("with?", ["x"]), ("without?", ["y"]), ("unknown?", [])]
    rows = [{"question": text, "answers": gold, "documents": ["x", "y"]} for text, gold in asked]
    mine = own(tmp_path, *rows)
    found = []
    for only in ("all", "answerable", "unanswerable"):
        config = replace(ONE, data=[Data(name=str(mine), only=only, documents=1)])
        Bench(config, tmp_path / "r").prepare()
        path = max((tmp_path / "r" / "questions").iterdir(), key=lambda p: p.stat().st_mtime_ns)
        found.append([json.loads(line)["question"] for line in path.open()])

    assert [["with?", "without?", "unknown?"], ["with?"], ["without?"]] == found


def test_questions_can_be_one_part_by_the_salted_hash(tmp_path):
    """The three parts together are all, and each has its own files."""
    asked = [f"question {n}" for n in range(20)]
    mine = own(tmp_path, *({"question": q, "answers": ["x"], "documents": ["x"]} for q in asked))
    data = [Data(name=str(mine), part=part) for part in ("train", "validation", "test")]
    Bench(replace(ONE, data=data), tmp_path / "r").prepare()
    files = {path.name: [*path.open()] for path in (tmp_path / "r" / "questions").iterdir()}

    assert {"mine-train.jsonl", "mine-validation.jsonl", "mine-test.jsonl"} == {*files}
    assert sorted(asked) == sorted(json.loads(q)["question"] for f in files.values() for q in f)


def test_a_trained_filter_is_a_system_by_its_folder(tmp_path):
    """Its files are part of what made the records: another cut is refused in the same run."""
    odds = {"weights": [[0.0], [0.0]], "bias": [0.0, 1.0]}
    made = Trained(generator=Base("fake:echo"), embedder=Base("fake:hashing"), cut=odds)
    folder = save(tmp_path / "mine", made, {})
    config = replace(ONE, systems=[BenchSystem(name=str(folder))])
    run(tmp_path / "r", config)
    header = json.loads((tmp_path / "r" / "run.json").read_text())
    save(folder, msgspec.structs.replace(made, cut={**odds, "price": 0.5}), {})

    assert 12 == len(records(tmp_path / "r", "sample--mine--fake-echo"))
    assert header["models"][str(folder)].startswith("mine@")
    with pytest.raises(InputError, match="was made by"):
        run(tmp_path / "r", config)


def test_an_index_is_searched_in_place_of_the_documents(tmp_path):
    """Its chunks are filtered, their tokens unknown before; gold ones may have other ids there."""
    index, text = tmp_path / "words", "Seals and Crofts sang Summer Breeze."
    gold = {"id": "g", "text": text, "is_positive": True}
    row = {"question": "Who sang Summer Breeze?", "answers": ["Seals"], "documents": [gold]}
    with create_index(index, IndexOptions(embedder="none", chunks="whole")) as corpus:
        corpus.add([Document("other", text), Document("more", "A breeze blows.")])
    data = [Data(name=str(own(tmp_path, row)), index=str(index), retrieve=1)]
    bench = run(tmp_path / "r", replace(ONE, data=data))
    (file,) = (tmp_path / "r" / "records").glob("*.jsonl")
    record = json.loads(file.read_text())

    assert "mine-1-of-words--all--fake-echo.jsonl" == file.name
    assert ["other"] == [span["document"] for span in record["kept"]]
    assert 1.0 == record["metrics"]["document_recall"]
    assert [1, *[None] * 4] == Bench(bench.config, tmp_path / "dry").costs(bench.cells[0])


def test_sources_are_asked_as_each_system_routes(tmp_path):
    """The same system by two routers; CRAG's metrics are measured where the run says so."""
    sources = tmp_path / "two.toml"
    texts = {"news": "Bees make honey.", "wiki": "Honey is sweet."}
    documents = [{"id": name, "text": text, "source": name} for name, text in texts.items()]
    question = {"question": "Who makes honey?", "answers": ["bees"], "documents": documents}
    mine = own(tmp_path, question)
    table = '[[sources]]\nname = "{0}"\nkind = "passages"\nquestions = "mine.jsonl"\nonly = "{0}"\n'
    sources.write_text("".join(map(table.format, texts)))
    systems = [BenchSystem(name="all"), BenchSystem(name="all", label="one", router="only:wiki")]
    data = [Data(name=str(mine), sources=str(sources))]
    llm = ScriptedLLM(lambda turns: f"Answer: {'bees' if 'Bees' in str(turns) else 'honey'}")
    run(tmp_path / "r", replace(ONE, data=data, systems=systems, crag=True), llm)
    assert all("invalid question" in prompt[0].content for prompt in llm.prompts)
    name = "mine-from-two--{}--fake-echo"
    (both,), (one,) = (records(tmp_path / "r", name.format(label)) for label in ("all", "one"))

    assert ["news/news", "wiki/wiki"] == [span["document"] for span in both["kept"]]
    assert ["wiki/wiki"] == [span["document"] for span in one["kept"]]
    assert (1.0, 0.0) == (both["metrics"]["crag_accuracy"], one["metrics"]["crag_accuracy"])
    assert (0.0, 1.0) == (both["metrics"]["hallucination"], one["metrics"]["hallucination"])
    report = summarise([load_run(tmp_path / "r")])
    assert ["crag_accuracy", "hallucination", "missing", "crag_score"] == report.headline[:4]


def test_the_oracle_is_told_the_gold_answers(tmp_path):
    """It keeps of each question what holds one, so recall of the answer is whole."""
    config = replace(ONE, systems=[BenchSystem(name="oracle")])
    run(tmp_path, config)
    found = records(tmp_path, "sample--oracle--fake-echo")

    assert any(record["kept"] for record in found)
    for record in found:
        assert all(contains_answer(s["text"], record["answers"]) for s in record["kept"])


def test_noise_is_written_into_the_questions(tmp_path):
    """A file for each share, and records under its name."""
    grid = NoiseGrid(kinds=["random"], shares=[0.5, 1])
    bench = run(tmp_path, replace(ONE, noise=grid))
    half, whole = (
        json.loads((tmp_path / "questions" / f"sample--random-{s}-first.jsonl").open().readline())
        for s in ("0.5", "1")
    )

    assert (2, 10) == (len(half["documents"]), len(whole["documents"]))
    assert 2 == len(bench.cells) == len([*(tmp_path / "records").glob("*.jsonl")])


def test_a_judge_is_asked_where_one_is_named(tmp_path):
    """Beside the rest, and not at the system's cost."""
    config = replace(ONE, judge="fake:echo")
    run(tmp_path, config)
    plain = tmp_path / "plain"
    run(plain, ONE)
    found, without = records(tmp_path)[0], records(plain)[0]

    assert {"judge", "semantic_accuracy"} == {*found["metrics"]} - {*without["metrics"]}
    assert [s["calls"] for s in without["trace"]["steps"]] == [
        s["calls"] for s in found["trace"]["steps"]
    ]


def test_a_sample_is_extended_and_a_refused_start_leaves_all_as_it_was(tmp_path):
    """A larger sample goes on from the records of the smaller; another seed's is refused first."""
    run(tmp_path, replace(ONE, questions=3, sample=True))
    first = files(tmp_path)["records/sample--all--fake-echo.jsonl"]
    run(tmp_path, replace(ONE, questions=6, sample=True))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"line \d of .*/questions/sample\.jsonl is not the one"):
        run(tmp_path, replace(ONE, questions=6, sample=True, seed=1))
    with pytest.raises(InputError, match="was made by"):
        run(tmp_path, replace(ONE, questions=4), ScriptedLLM([], identity="other"))

    assert files(tmp_path)["records/sample--all--fake-echo.jsonl"].startswith(first)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_systems_with_models_of_their_own_are_run(tmp_path):
    """By the run's pruner, or with one for a part; all models are in the header."""
    own = BenchSystem(
        name="finefilter-point", models={"reranker": "fake:overlap"}, options={"truncator": "none"}
    )
    run(
        tmp_path,
        replace(CONFIG, systems=[BenchSystem(name="finefilter"), own], pruner="fake:pruner"),
    )
    used = json.loads((tmp_path / "run.json").read_text())["models"]

    assert {"fake:echo", "fake:hashing", "fake:pruner", "fake:overlap"} == {*used}
    for name, stage in (("finefilter", "Pruner"), ("finefilter-point", "Pair")):
        stages = {
            step["stage"].split("(")[0]
            for record in records(tmp_path, f"sample--{name}--fake-echo")
            for step in record["trace"]["steps"]
        }
        assert stage in stages
