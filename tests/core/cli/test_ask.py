"""The command line, as a user meets it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragsieve.cli.ask import _EXAMPLE
from tests.blocks import ROOT
from tests.core.inspector.test_page import data_of
from tests.plugins.cli import Ended
from tests.processes import python

TEXT = "Bees make honey. Summer Breeze was sung by Seals and Crofts. Cheese is made of milk."
ASKED = "Who sang Summer Breeze?"
FAKE = ("--system", "finefilter-point", "--llm", "fake:echo", "--embedder", "fake:hashing")
ONE_PASS = "filter -q x --llm fake:echo --pruner fake:pruner a.txt"
RANKED = ("--system", "top-sentences", "--option", "k=1", "--embedder", "fake:hashing")


@pytest.fixture(autouse=True)
def files(ragsieve):
    """a.txt and q.jsonl in the folder."""
    Path("a.txt").write_text(TEXT)
    batch(Path("q.jsonl"), 3)


def batch(path, n):
    """A file of ``n`` questions."""
    rows = [
        {"question": f"{ASKED} {i}", "documents": [TEXT], "answers": ["Seals"]} for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def process(*arguments, given=None, **environment):
    """The command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "ragsieve", *arguments],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        env={**os.environ, **environment},
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_filter_and_ask_print_what_matters(ragsieve):
    """The text on stdout, what it cost on stderr; the answer; or all as one object."""
    ended = ragsieve("filter", *FAKE, "-q", ASKED, "a.txt")

    assert (0, "Summer Breeze was sung by Seals and Crofts.\n") == (ended.code, ended.out)
    assert ended.err.startswith("kept 1 of 3 spans, 9 of 19 tokens; ")

    ended = ragsieve("ask", *FAKE, "-q", ASKED, "a.txt")

    assert (0, "Summer Breeze was sung by Seals and Crofts.\n") == (ended.code, ended.out)

    found = json.loads(ragsieve("filter", *FAKE, "-q", ASKED, "a.txt", "--json").out)
    asked = json.loads(ragsieve("ask", *FAKE, "-q", ASKED, "a.txt", "--json").out)

    assert ["schema_version", "query", "kept", "text", "tokens", "trace"] == list(found)
    assert {**found, "trace": 0, "answer": found["text"]} == {**asked, "trace": 0}
    (kept,) = found["kept"]
    assert ("a.txt", TEXT[17:60]) == (kept["document"], kept["text"])
    assert (17, 60, {"before": 19, "after": 9}) == (kept["start"], kept["end"], found["tokens"])


def test_explain_shows_every_sentence(ragsieve):
    """Kept or dropped, by which stage; where the threshold comes from once."""
    ended = ragsieve("ask", *FAKE, "-q", ASKED, "a.txt", "a.txt", "--explain")
    lines = [re.sub(r" +[\d.]+$", "", line) for line in ended.out.splitlines()]

    assert ["", "a.txt", "  - Bees make honey.", "      Extract: not named as useful"] == lines[:4]
    assert "  + Summer Breeze was sung by Seals and Crofts." == lines[4]
    assert "note: document id 'a.txt' occurs again with the same text: read once" in lines
    assert "answer: Summer Breeze was sung by Seals and Crofts." in lines

    default = ("--llm", "fake:echo", "--pruner", "fake:pruner", "--keep-answer", "0.9")
    ended = ragsieve("filter", *default, "-q", ASKED, "a.txt", "--explain")
    lines = ended.out.splitlines()
    ranked = ragsieve("filter", *RANKED, "-q", ASKED, "a.txt", "--explain")

    assert ["note: Threshold: keep_answer=0.9 → 0.1"] == [x for x in lines if "keep_answer" in x]
    assert "      Threshold: score 0.000 is below 0.100" in lines
    assert re.search(r"^      TopK \d\.\d{3}: rank 2 is past k=1$", ranked.out, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments", ["-q x -", "--input -", "--input - --output o.jsonl"], ids=str
)
def test_a_closed_standard_input_is_named(arguments):
    """As `<&-` closes it."""
    command = f"exec {sys.executable} -m ragsieve filter --system all {arguments} <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)

    error = "error: standard input cannot be read: it is closed\n"
    assert (2, "", error) == (done.returncode, done.stdout, done.stderr)


def test_documents_come_by_standard_input():
    """Without a FILE, and as ``-``; what a fake answers never waits for torch."""
    code = (
        "import sys; from ragsieve.cli.commands import cli;"
        "cli(sys.argv[1:], standalone_mode=False);"
        "print({'torch', 'transformers', 'openai'} & set(sys.modules))"
    )
    done = python(code, "filter", *FAKE, "-q", ASKED, "-", input=TEXT)
    ended = process("filter", *FAKE, "-q", ASKED, given=TEXT.encode())

    assert (0, "Summer Breeze was sung by Seals and Crofts.\n") == (ended.code, ended.out)
    assert f"{ended.out}set()\n" == done.stdout


@pytest.mark.parametrize("given", [None, b""])
def test_without_a_file_there_is_an_example(given):
    """Of README's first command, and it is said; what is passed is read, also where it is empty."""
    ended = process("filter", *FAKE, "-q", "Who designed the Statue of Liberty?", given=given)
    example = given is None

    assert example == ("Bartholdi designed it." in ended.out)
    assert example == ("warning: no FILE is named: the documents are those of" in ended.err)
    assert (ROOT / "examples/eiffel.jsonl").read_bytes() == _EXAMPLE.read_bytes()


@pytest.mark.parametrize("unit", ["tokens", "chars"])
@pytest.mark.parametrize("of", ["", "-per-document"])
def test_a_budget_holds(ragsieve, unit, of):
    """Ten words, or their characters, hold one sentence of two; none hold none."""
    top = ("filter", *FAKE, "--system", "top-sentences", "-q", ASKED, "a.txt")
    most = {"tokens": 10, "chars": 50}[unit]
    kept = ragsieve(*top, f"--max-{unit}{of}={most}").out

    assert "Summer Breeze was sung by Seals and Crofts.\n" == kept
    assert "\n" == ragsieve(*top, f"--max-{unit}{of}=0").out


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_system_may_prune(ragsieve, workers):
    """One question, and many at once with a cache; no embedder is needed."""
    reading = ("--llm", "fake:echo", "--pruner", "fake:pruner", "--keep-answer", "0.6")
    one = ragsieve("ask", *reading, "-q", ASKED, "a.txt")
    options = ("--input", "q.jsonl", "--output", "o.jsonl", "--cache", "c", "--workers", workers)
    many = ragsieve("filter", *reading, *options)

    assert (0, "Summer Breeze was sung by Seals and Crofts.") == (one.code, one.out.strip())
    assert "; 2 model calls, " in one.err
    assert "; 1 model call, " in ragsieve("filter", *reading, "-q", ASKED, "a.txt").err
    assert 0 == many.code
    assert 3 == len(Path("o.jsonl").read_text().splitlines())
    assert "pruner=overlap-pruner" in Path("o.jsonl").read_text()


def test_a_system_takes_options_and_models_of_its_parts(ragsieve):
    """Each by its name; a model named as the LLM is the LLM."""
    top = ("filter", *FAKE, "--system", "top-sentences", "-q", ASKED, "a.txt", "--option")

    assert "Summer Breeze was sung by Seals and Crofts.\n" == ragsieve(*top, "k=1").out
    assert TEXT + "\n" == ragsieve(*top, "k=3").out
    assert "\n" == ragsieve(*top, "k=3", "--option", "max_tokens=3").out

    own = ("--model", "reranker=fake:overlap", "--option", "truncator=none")
    found = json.loads(ragsieve("filter", *FAKE, *own, "-q", ASKED, "a.txt", "--json").out)
    stages = [step["stage"].split("(")[0] for step in found["trace"]["steps"]]

    assert "Pair" in stages
    assert {"Cosine", "Truncate"}.isdisjoint(stages)

    small = ("--llm-option", "context=10", "--option", "truncator=none")
    ended = ragsieve(
        "filter", *FAKE, *small, "--model", "extractor=fake:echo", "-q", ASKED, "a.txt"
    )

    assert (2, "") == (ended.code, ended.out)
    assert ended.err.endswith("it holds 10\n")


def test_a_source_stands_in_for_documents(ragsieve):
    """An index; a batch searches it, too, whatever documents its lines have. Of several sources
    those that the router chooses are asked; here all, one of which is the model's memory."""
    ragsieve("index", "build", "words", "a.txt", "--embedder", "none")
    asked = ("ask", "--system", "all", "--llm", "fake:echo", "--embedder", "fake:hashing")
    words = (*asked, "--source", "index:words", "--source-option", "k=1")
    found = json.loads(ragsieve(*words, "-q", ASKED, "--json").out)
    ragsieve(*words, "--input", "q.jsonl", "--output", "o.jsonl")

    assert TEXT == found["kept"][0]["text"] and "bm25" in found["kept"][0]["scores"]
    assert found["trace"]["steps"][0]["stage"].startswith("Search(")
    assert ["a.txt"] * 3 == [
        json.loads(line)["kept"][0]["document"] for line in Path("o.jsonl").read_text().splitlines()
    ]

    tables = ('"notes"\nkind = "index"\nfolder = "words"\n', '"memory"\nkind = "memory"\n')
    lines = (f'[[sources]]\ndescription = "x"\nname = {table}' for table in tables)
    Path("s.toml").write_text("".join(lines))
    found = json.loads(ragsieve(*asked, "--source", "sources:s.toml", "-q", ASKED, "--json").out)

    assert TEXT == found["kept"][0]["text"]
    assert ["asked: notes, memory; not asked: none"] == found["trace"]["steps"][0]["notes"][:1]


@pytest.mark.parametrize(
    "command", [[], ["filter"], ["ask"], ["models"], ["systems"], ["train", "router"]]
)
def test_help_has_examples(ragsieve, command):
    """Lines that can be copied."""
    ended = ragsieve(*command, "--help")

    assert 0 == ended.code
    assert re.search("^    ragsieve ", ended.out, re.MULTILINE)


@pytest.mark.parametrize("group", [[], ["train"], ["index"], ["models"]])
def test_a_bare_group_prints_its_help(ragsieve, group):
    """The same text as ``--help``, not an error; exit code 2, since nothing was done."""
    bare = ragsieve(*group)

    assert (2, "") == (bare.code, bare.out)
    assert ragsieve(*group, "--help").out == bare.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("fliter -q x a.txt", "No such command 'fliter'.*filter"),
        ("filter a.txt", "name one question by --query, or many by --input"),
        ("filter --input q.jsonl", "--input and --output go together"),
        ("filter --input s3://b/*.parquet --output o", "--input must be a file, got 's3://b/"),
        ("filter --input q.jsonl --output o --engine ray --limit 3", "and no --limit or --cache"),
        ("filter --input q.jsonl --output o.parquet", "got 'o.parquet': Parquet needs --engine"),
        ("filter -q x --explain --json a.txt", "name --explain or --json, not both"),
        ("filter --input q.jsonl --output q.jsonl", "must not be the input"),
        ("filter --input q.jsonl --output a.txt", "must be empty or made by ragsieve"),
        ("filter -q x --system finefiltr a.txt", "got 'finefiltr'; did you mean 'finefilter'\\?"),
        ("filter -q x --model extractor a.txt", "--model must be ROLE=MODEL, got 'extractor'"),
        ("filter -q x --source index:. a.txt", "name --source or FILE, not both"),
        ("filter -q x --source indx:.", "source must be one of .*got 'indx'; did you mean 'index'"),
        (f"{ONE_PASS} --system all --keep-answer 0.9", "options of all are k, got 'keep_answer'"),
        (f"{ONE_PASS} --keep-answer 0.9 --min-score 0.8", "keep_answer or min_score, not both"),
        (f"{ONE_PASS} --min-answerable 2", "--min-answerable': 2.0 is not in the range 0<=x<=1"),
        (f"{ONE_PASS} --compare all", "--compare goes with --html"),
        (f"{ONE_PASS} --html o.html --compare nonsense", "system must be one of"),
        (f"{ONE_PASS} --html no/where.html", "--html must be a file in a folder that is there"),
    ],
)
def test_bad_input_is_one_line_before_a_model_is_loaded(ragsieve, arguments, reason):
    """Exit code 2, nothing on stdout; the default models are named, and not imported."""
    loaded = set(sys.modules)
    ended = ragsieve(*arguments.split())

    assert (2, "") == (ended.code, ended.out)
    assert re.fullmatch(f"error: .*{reason}.*\n", ended.err)
    assert set() == {"torch", "transformers", "openai"} & (set(sys.modules) - loaded)


def test_a_model_that_fails_is_exit_code_1(ragsieve):
    """The question does not fit a context of ten tokens; ``keep`` cannot help the reader."""
    small = ("--llm-option", "context=10", "--system", "all")
    ended = ragsieve("ask", *FAKE, *small, "-q", "Who? " * 9, "a.txt")

    assert (1, "") == (ended.code, ended.out)
    assert re.fullmatch("error: prompt and reply need .* holds 10\n", ended.err)


@pytest.mark.parametrize("more", [(), ("--explain",), ("--json",)])
def test_documents_do_not_control_the_terminal(ragsieve, more):
    """Escapes, returns and half characters are shown as U+FFFD or written as JSON escapes."""
    given = {"text": "Bees \x1b[2J\x07 over\rwrite\f\x7f\x9b31m \ud800.", "id": "\x1b[1m"}
    Path("b.jsonl").write_text(json.dumps(given))
    ended = ragsieve("filter", *FAKE, "-q", "Bees?", *more, "b.jsonl")

    assert 0 == ended.code
    assert [] == re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", ended.out + ended.err)
    assert (ended.out + ended.err).encode()
    assert more or "write\n\ufffd" in ended.out


@pytest.mark.slow
def test_a_terminal_without_the_letters_shows_question_marks():
    """What cannot be encoded is no reason to fail."""
    given = "Bees make “honey”.".encode()
    ended = process("filter", *FAKE, "-q", "Bees?", given=given, PYTHONIOENCODING="latin-1")

    assert (0, "Bees make ?honey?.\n") == (ended.code, ended.out)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("-q", ASKED, "--system", "all"), ("--input", "-")])
def test_a_reader_may_close_its_end(arguments):
    """As ``| head -n 1`` does, also while questions still come: no traceback, and it ends."""
    question = json.dumps({"question": ASKED, "documents": [TEXT]}) + "\n"
    streams = "--input" in arguments
    command = [sys.executable, "-m", "ragsieve", "filter", *FAKE, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        running.stdin.write(question * 200 if streams else TEXT * 5000)
        running.stdin.flush()
        if streams:
            running.stdout.readline()
        running.stdout.close()
        running.stdin.close()
        err = running.stderr.read()

    assert "Traceback" not in err


def test_a_batch_reports_bad_lines_and_goes_on(ragsieve):
    """Each kind once, by its number, on one line; exit code 2, and the others are done."""
    unknown = {"question": "Who?", "positive_ctxs": [{"text": "Carol."}]}
    with Path("q.jsonl").open("ab") as file:
        file.write(b"\xff\n\n" + json.dumps({"question": "x" * 300, "documents": 3}).encode())
        file.write(b"".join(b"\n" + json.dumps(unknown).encode() for _ in range(3)))
    more = ("--workers", "1", "--input", "q.jsonl", "--output", "o.jsonl")
    ended = ragsieve("ask", *FAKE, *more)
    errors = sorted(line for line in ended.err.splitlines() if line.startswith("error"))

    assert 2 == ended.code
    assert "error: q.jsonl line 4: not UTF-8 at byte 0: 0xff" == errors[0]
    assert "error: q.jsonl line 6: documents must be a list, got 3" == errors[1]
    assert re.match(r"error: q.jsonl line [789]: documents must be named: ", errors[2])
    assert "by --layout or --fields documents=positive_ctxs" in errors[2]
    assert errors[3:] == [re.sub(r" line \d", ", 2 more", errors[2])]
    assert ended.err.endswith(
        "o.jsonl: 3 of 8 questions; kept 27 of 57 tokens (47.4%); accuracy 100.0% of 3\n"
    )


@pytest.mark.slow
def test_a_batch_may_come_from_a_pipe(tmp_path):
    """As ``<(zcat q.jsonl.gz)`` gives one, which can be read once."""
    given, output = Path("q.jsonl").read_bytes(), tmp_path / "o.jsonl"
    ended = process("ask", *FAKE, "--input", "/dev/stdin", "--output", str(output), given=given)

    assert (0, "", 3) == (ended.code, ended.out, len(output.read_text().splitlines()))


@pytest.mark.slow
def test_questions_of_standard_input_are_answered_as_they_come(tmp_path):
    """Each result is there before the next question is written; one line a question, in order."""
    command = [sys.executable, "-m", "ragsieve", "filter", *FAKE, "--input", "-"]
    lines = [{"id": f"q{n}", "question": f"{ASKED} {n}", "documents": [TEXT]} for n in range(3)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        records = []
        for line in lines:
            running.stdin.write(json.dumps(line).encode() + b"\n")
            running.stdin.flush()
            records.append(json.loads(running.stdout.readline()))
        running.stdin.close()

    assert 0 == running.returncode
    assert [(n + 1, f"q{n}") for n in range(3)] == [(r["line"], r["id"]) for r in records]
    assert all("Seals and Crofts" in record["text"] for record in records)


@pytest.mark.slow
def test_a_question_of_standard_input_that_fails_has_a_record():
    """So that lines out are lines in; blank ones count as lines only, and `--limit` stops."""
    good = json.dumps({"question": ASKED, "documents": [TEXT], "answers": ["Seals"]})
    given = f"{good}\n\nno JSON\n{good}\n{good}\n".encode()
    ended = process("ask", *FAKE, "--input", "-", "--limit", "3", given=given)
    records = [json.loads(line) for line in ended.out.splitlines()]

    assert 2 == ended.code
    assert [1, 3, 4] == [record["line"] for record in records]
    assert [False, True, False] == ["error" in record for record in records]
    assert "InputError: not JSON" in records[1]["error"]
    assert 1.0 == records[0]["accuracy"]
    assert re.search("standard input: 2 of 3 questions; .*; accuracy 100.0% of 2\n$", ended.err)


@pytest.mark.parametrize(
    ("other", "error"),
    [
        ("--option min_keep=1", "was made by"),
        ("--model reranker=fake:overlap", "was made by"),
        ("--llm-option context=5000", "was made by"),
        ("--llm-option api_key=x", "fake:echo cannot take options ['api_key']: its options are co"),
    ],
)
def test_options_and_models_tell_records_apart(ragsieve, other, error):
    """A batch goes on with the same ones only; the records name them, but for a key."""
    command = ("ask", *FAKE, "--input", "q.jsonl", "--output", "o.jsonl", "--option", "min_keep=2")
    command += ("--llm-option", "context=4000")
    first, again, wrong = (ragsieve(*command, *more) for more in ((), (), other.split()))

    assert (0, 0, 2) == (first.code, again.code, wrong.code)
    assert "3 of them from before" in again.err
    assert error in wrong.err
    assert all(one in Path("o.jsonl").read_text() for one in ("min_keep=2", "context=4000"))


def started(output, source):
    """A batch, in the middle of its work."""
    arguments = ["ask", *FAKE, "--input", str(source), "--output", str(output)]
    running = subprocess.Popen(
        [sys.executable, "-m", "ragsieve", *arguments],
        stderr=subprocess.PIPE,
        # a shell that runs the tests in the background has Ctrl-C ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 30
    while time.monotonic() < until and running.poll() is None:
        if output.exists() and output.stat().st_size > 20_000:
            break
        time.sleep(0.01)
    return running


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -int(signal.SIGKILL))]
)
def test_a_batch_goes_on_where_it_stopped(tmp_path, sent, code):
    """After Ctrl-C, which ends it at once, and after a kill: every question once."""
    source, output = tmp_path / "q.jsonl", tmp_path / "o.jsonl"
    batch(source, 400)
    with started(output, source) as running:
        running.send_signal(sent)
        sent_at = time.monotonic()
        _, err = running.communicate()
    before = output.read_bytes().count(b"\n")
    again = process("ask", *FAKE, "--input", str(source), "--output", str(output))
    rows = [json.loads(line) for line in output.read_text().splitlines()]

    assert (code, 0) == (running.returncode, again.code)
    assert time.monotonic() - sent_at < 60
    assert (sent != signal.SIGINT) or b"\nerror: interrupted" in err
    assert 0 < before < 400
    assert list(range(1, 401)) == [row["line"] for row in rows]


@pytest.mark.models
def test_ask_with_the_default_models():
    """The small default model reads the answer off one sentence."""
    ended = process("ask", "-q", ASKED, "--system", "top-sentences", given=TEXT.encode())

    assert 0 == ended.code
    assert "Seals" in ended.out


PRUNED = ("--llm", "fake:echo", "--pruner", "fake:pruner", "-q", ASKED, "a.txt")


def test_a_question_that_no_document_answers_is_said(ragsieve):
    """Under a fifth a warning says so; else nothing does."""
    unanswered = ragsieve("filter", *PRUNED[:-2], "Why do dogs bark?", "a.txt")
    answered = ragsieve("filter", *PRUNED)

    blank = process("filter", *FAKE, "-q", ASKED, given=b" \n")
    misnamed = process("filter", *FAKE, "--input", "-", given=b'{"query": "q", "context": "a"}')

    assert "warning: the documents hold no text\n" in blank.err
    assert "warning: the documents hold no text\n" in misnamed.err
    assert "warning: no document seems to answer (0%)\n" in unanswered.err
    assert "seems" not in answered.err


PAGE = ("--llm", "fake:echo", "--embedder", "fake:hashing", "--pruner", "fake:pruner")


def views_of(path):
    """The views that a page holds."""
    return data_of(path.read_text(encoding="utf-8"))["views"]


def test_a_page_is_written_beside_the_answer(ragsieve):
    """The same run, and a second system's with its own options; many questions make none."""
    given = ("ask", *PAGE, "--system", "top-sentences", "--option", "k=1", "-q", ASKED, "a.txt")
    plain = ragsieve(*given)
    ended = ragsieve(*given, "--html", "out.html")
    (shown,) = views_of(Path("out.html"))

    assert (0, plain.out) == (ended.code, ended.out)
    assert ("top-sentences", plain.out.strip()) == (shown["name"], shown["answer"])
    assert 1 == len(shown["kept"])

    given = ("--system", "top-sentences", "--option", "k=1", "--html", "o.html", "--compare", "all")
    ended = ragsieve("filter", *PAGE, *given, "-q", ASKED, "a.txt")

    assert 0 == ended.code
    assert ["top-sentences", "all"] == [shown["name"] for shown in views_of(Path("o.html"))]

    ended = ragsieve("filter", "--input", "q.jsonl", "--output", "o", "--html", "o.html")

    assert 2 == ended.code
    assert "--input takes no FILE, --json, --explain or --html" in ended.err
