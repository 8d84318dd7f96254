"""`ragsieve bench` and `report`, as a user meets them."""

import json
from pathlib import Path

import pytest

from tests.stalling import stalling

pytest.importorskip("scipy")
pytest.importorskip("matplotlib")


RUN = """
baseline = "all"
embedder = "fake:hashing"
questions = 4
latency = 1
workers = 1
data = [{ name = "sample" }]
systems = [{ name = "all" }, { name = "top-sentences" }]
generators = [{ llm = "fake:echo" }]
"""


@pytest.fixture(autouse=True)
def run_file(ragsieve):
    """run.toml in the folder."""
    Path("run.toml").write_text(RUN)


def test_a_run_ends_with_its_report(ragsieve):
    """Tables, page, Markdown and CSV."""
    ended = ragsieve("bench", "run.toml")

    assert 0 == ended.code
    assert "top-sentences" in ended.out
    assert "difference to all" in ended.out
    for name in ("run.json", "report.html", "report.md", "report.csv", "report.svg"):
        assert Path("runs", "run", name).stat().st_size


def test_no_llm_is_shown_where_none_is(ragsieve):
    """Neither in the plan nor in the folder of a run that only filters, nor in records."""
    Path("run.toml").write_text(RUN.replace(RUN.splitlines()[-1], "answers = false"))
    Path("q.jsonl").write_text('{"question": "Who?", "documents": ["Seals sang."]}')
    ended = [ragsieve("bench", "run.toml", "--dry-run"), ragsieve("bench", "run.toml")]
    ended += [ragsieve("filter", "--input", "q.jsonl", "--output", "kept.jsonl")]
    files = [path for path in Path().rglob("*") if path.is_file()]

    assert [0, 0, 0] == [one.code for one in ended]
    assert "smollm2" not in f"{ended}{files}".lower()
    assert [] == [path for path in files if b"smollm2" in path.read_bytes().lower()]


def test_judgements_of_questions_without_labels_are_said_to_be_empty(ragsieve):
    """A file of TREC's tools that has no line measures nothing, which nobody would see."""
    Path("q.jsonl").write_text('{"question": "Who sang?", "documents": ["Seals sang."]}')
    Path("run.toml").write_text(RUN.replace('"sample"', '"q.jsonl"'))
    ended = ragsieve("bench", "run.toml", "--run", "trec")

    assert "q.qrels is empty" in ended.err


def test_a_page_is_drawn_anew_where_its_figures_are_others(ragsieve):
    """The same run again leaves page and picture as they are; more questions change both."""
    pages = [Path("runs", "run", f"report.{kind}") for kind in ("html", "svg")]
    ragsieve("bench", "run.toml", "--limit", "2")
    first = [path.read_bytes() for path in pages]
    again = ragsieve("bench", "run.toml", "--limit", "2")

    assert first == [path.read_bytes() for path in pages]
    assert "report.html" not in again.err

    ragsieve("bench", "run.toml")

    assert not {*first} & {path.read_bytes() for path in pages}


@pytest.mark.parametrize("limit", [(), ("--limit", "9")])
@pytest.mark.parametrize("own", ["", ", questions = 4"])
def test_a_dry_run_asks_nothing(ragsieve, limit, own):
    """It lists the cells, with calls and tokens: 4 questions, and 1 that is timed. So many the
    run's file says, or its data set's; a limit is no more."""
    text = RUN.replace("questions = 4", "questions = 6") if own else RUN
    Path("run.toml").write_text(text.replace('"sample"', f'"sample"{own}'))
    ended = ragsieve("bench", "run.toml", "--dry-run", *limit)

    assert 0 == ended.code
    assert ["5", "5"] == ended.out.splitlines()[1].split()[3:5]
    assert "about 10 LLM calls" in ended.err
    assert 3 == len(ended.out.strip().splitlines())
    assert not Path("runs").exists()


def test_a_report_is_written_where_it_shall(ragsieve):
    """Each form to a file or to standard output, with another baseline and other prices."""
    ragsieve("bench", "run.toml", "--output", "r")
    page = ragsieve("report", "r", "--html", "p.html", "--baseline", "top-sentences")
    markdown = ragsieve("report", "r", "--markdown", "-")
    figures, dear = (ragsieve("report", "r", "--csv", "-", "--price-in", price) for price in "12")

    assert "difference to top-sentences" in page.out
    assert "<html" in Path("p.html").read_text()
    assert markdown.out.startswith("# ")
    assert figures.out.startswith("dataset,system,")
    assert figures.out != dear.out


def test_models_of_a_recipe_can_be_replaced(ragsieve):
    """Generators, judge, embedder, reranker, and LLMs of parts; the error names what is none."""
    critic = '{ name = "chunkrag", models = { critic = "openai:c", reranker = "rerank:r" } }'
    Path("run.toml").write_text(RUN.replace('{ name = "all" }', '{ name = "all" }, ' + critic))
    models = ["--llm", "openai:qwen", "--embedder", "openai:text-embedding-3-small"]
    models += ["--reranker", "fake:overlap"]
    ended = ragsieve("bench", "run.toml", "--dry-run", *models)
    wrong = ragsieve("bench", "run.toml", "--dry-run", "--embedder", "openai:qwen")

    assert (0, 2) == (ended.code, wrong.code)
    assert ["openai:qwen"] * 3 == [row.split()[2] for row in ended.out.splitlines()[1:4]]
    assert "openai:qwen is no embedder, it is of kind LLM" in wrong.err


def test_trained_folders_stay_and_equal_systems_run_once(ragsieve):
    """Where another LLM takes the places of all others; a folder that is not there is said."""
    exits = [("one", "openai:a"), ("two", "openai:b"), ("trained", "transformers:./trained/exit")]
    more = "".join(
        f', {{ name = "exit", label = "{label}", models = {{ extractor = "{model}" }} }}'
        for label, model in exits
    )
    Path("run.toml").write_text(RUN.replace('{ name = "all" }', '{ name = "all" }' + more))
    ended = ragsieve("bench", "run.toml", "--dry-run", "--llm", "fake:echo", "--reranker", "pruner")

    assert ["all", "one", "trained", "top-sentences"] == [
        row.split()[1] for row in ended.out.splitlines()[1:5]
    ]
    assert "./trained/exit must be a folder, there is none" in ended.err


def test_failures_are_shown_and_counted(ragsieve):
    """The first three with their line, then their number, by whether they count; the code, too."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, "?")).save("tokenizer.json")
    options = 'base_url = "http://127.0.0.1:1", tokenizer = "tokenizer.json", max_retries = 0'
    generator = f'{{ llm = "openai:x", options = {{ {options} }} }}'
    Path("down.toml").write_text(RUN.replace('{ llm = "fake:echo" }', generator))
    ended = ragsieve("bench", "down.toml", "--output", "r")

    assert 1 == ended.code
    assert 3 + 1 == ended.err.count("error: sample--all--openai-x line")
    assert "sample--all--openai-x: 4 failed; they count as wrong; --retry" in ended.err
    assert "sample--all--openai-x times: 1 failed; not counted; the same command" in ended.err
    assert "4 (4 failed)" in Path("r/report.md").read_text()


def test_a_debate_without_a_reply_in_time_is_an_error_of_its_question(ragsieve):
    """No answer, right or wrong: a batch counts it and ends with 1, and a retry asks again."""
    question = {"question": "Who sang?", "answers": ["Seals"], "documents": ["Seals sang.", "No."]}
    Path("q.jsonl").write_text(f"{json.dumps(question)}\n" * 2)
    with stalling("trickling body") as url:
        llm = f'{{ llm = "openai:x", options = {{ base_url = "{url}" }} }}'
        run = RUN.replace('baseline = "all"', "").replace("latency = 1", "latency = 0")
        run = run.replace('"sample"', '"q.jsonl"').replace('{ llm = "fake:echo" }', llm)
        system = '{ name = "winnowrag", options = { max_seconds = 0.5 } }'
        Path("run.toml").write_text(run.replace(RUN.splitlines()[-2], f"systems = [{system}]"))
        benches = [ragsieve("bench", "run.toml", *more) for more in ([], ["--retry"])]
        options = ["--llm-option", f"base_url={url}", "--option", "max_seconds=0.5"]
        options += ["--system", "winnowrag", "--llm", "openai:x", "--embedder", "fake:hashing"]
        asked = ragsieve("ask", *options, "--input", "q.jsonl", "--output", "a.jsonl")

    assert all("2 failed; they count as wrong; --retry" in bench.err for bench in benches)
    assert "a.jsonl: 0 of 2 questions" in asked.err and "" == Path("a.jsonl").read_text()
    assert [1, 1, 1] == [ended.code for ended in (*benches, asked)]
