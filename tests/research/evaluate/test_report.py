"""The report of runs: what a folder says, as numbers, tables and a page."""

import csv
import html
import io
import json
import math
import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest

from ragsieve.errors import InputError
from ragsieve_research.evaluate.advice import advice
from ragsieve_research.evaluate.cost import break_even
from ragsieve_research.evaluate.page import to_html
from ragsieve_research.evaluate.plots import Point, front
from ragsieve_research.evaluate.prices import Prices
from ragsieve_research.evaluate.records import COSTS, load_run, load_runs
from ragsieve_research.evaluate.report import OVERALL, summarise
from ragsieve_research.evaluate.tables import tables, to_csv, to_markdown

HOSTILE = '<script>alert("1")</script>|$x_1$ 篩 =1'


def step(stage, calls, tokens_in, tokens_out=0):
    return {"stage": stage, "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out}


def record(line, skill, rng):
    """A question that a system of ``skill`` in [0, 1] answered, keeping fewer tokens with less."""
    before = int(rng.integers(400, 900))
    after = int(before * (0.1 + 0.9 * skill * rng.random()))
    right = float(rng.random() < 0.2 + 0.6 * skill)
    held = [True, rng.random() < 0.9, rng.random() < 0.5 + skill / 2]
    steps = [
        step("Sentences(language='en')", 0, 0),
        step("Extract", 1, before + 90, 20),
        step("Cosine", 3, before),
        step("Reader", 1, after + 60, 8),
    ]
    names = ("given", "Sentences", "Extract")
    return {
        "line": line,
        "input": f"{line:016x}",
        "id": f"q{line}",
        "tokens": {"before": before, "after": after},
        "trace": {"steps": steps, "notes": [], "warnings": []},
        "answer": HOSTILE,
        "metrics": {
            "accuracy": right,
            "exact_match": right * float(rng.random() < 0.5),
            "f1": right * (1 - float(rng.random()) / 2),
            "answer_present": float(held[-1]),
            "tokens_kept": after / before,
        },
        "presence": [
            {"stage": name, "present": bool(here), "first": None if name == "given" else bool(here)}
            for name, here in zip(names, held, strict=True)
        ],
    }


def failure(line, text=f"ModelError: {HOSTILE}"):
    metrics = {"accuracy": 0.0, "exact_match": 0.0, "f1": 0.0}
    return {"line": line, "input": f"{line:016x}", "id": f"q{line}", "error": text} | {
        "metrics": metrics
    }


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def seconds(line, skill, rng):
    parts = (0.2 + float(rng.random()) / 9, (1 + skill) * (0.5 + float(rng.random())))
    return {"line": line, "seconds": sum(parts)} | dict(
        zip(("filter_seconds", "generator_seconds"), parts, strict=True)
    )


def write_run(
    folder,
    systems=("all", "sieve"),
    datasets=("nq",),
    *,
    n=30,
    failed=0,
    timed=20,
    noises=(None,),
    seed=0,
    **header,
):
    """A run's folder with made-up records, the same for the same seed."""
    rng = np.random.default_rng(seed)
    cells = []
    for dataset in datasets:
        for noise in noises:
            for place, system in enumerate(systems):
                skill = 1 - place / len(systems) - (noise["share"] / 2 if noise else 0)
                name = f"{len(cells)}.jsonl"
                rows = [failure(line) for line in range(1, failed + 1)]
                rows += [record(line, max(0, skill), rng) for line in range(failed + 1, n + 1)]
                write_lines(folder / "records" / name, rows)
                if timed:
                    times = [seconds(line, skill, rng) for line in range(1, timed + 1)]
                    write_lines(folder / "latency" / name, times)
                about = {"dataset": dataset, "system": system, "generator": "", "noise": noise}
                cells.append(about | {"file": f"records/{name}", "latency": f"latency/{name}"})
    counts = {name: {"questions": n, "sha256": name} for name in datasets}
    values = {"name": folder.name, "baseline": systems[0], "datasets": counts, "cells": cells}
    (folder / "run.json").write_text(json.dumps(values | {"seed": seed} | header))
    return folder


def reported(*folders, baseline=None, draws=200):
    return summarise(load_runs(folders), baseline, draws=draws)


def one_cell(folder, rows):
    """A run of one system with these records."""
    write_run(folder, ["all"], n=max((row["line"] for row in rows), default=1))
    write_lines(folder / "records" / "0.jsonl", rows)
    return folder


def judged(report, value, low, verdict, system="sieve"):
    """The report with other accuracy of its second system, and another difference."""
    rows = []
    for row in report.rows:
        if row.system == "sieve":
            old = row.differences["accuracy"]
            new = replace(old, value=value, low=low, high=value + 0.02, verdict=verdict)
            accuracy = replace(row.metrics["accuracy"], value=0.5 + value)
            fewer = replace(row.differences["tokens_kept"], value=-0.6)
            differences = {"accuracy": new, "tokens_kept": fewer}
            row = replace(row, system=system, differences=differences)
        else:
            accuracy = replace(row.metrics["accuracy"], value=0.5)
        tokens = replace(row.metrics["tokens_kept"], value=0.8 if row.system == "all" else 0.2)
        metrics = {**row.metrics, "accuracy": accuracy, "tokens_kept": tokens}
        rows.append(replace(row, metrics=metrics))
    return replace(report, rows=tuple(rows))


@pytest.mark.parametrize(
    ("value", "low", "verdict", "system", "expected"),
    [
        (0.1, 0.05, "better", "sieve", "Take sieve: accuracy 60.0% against 50.0% of all"),
        (-0.01, -0.03, "tie", "sieve", "at most 5 points worse with 95% confidence."),
        (-0.01, -0.03, "tie", "sieve", "25% of its tokens and 0.262 s a question to filter, on 30"),
        (-0.05, -0.12, "tie", "sieve", "cannot tell: sieve ties with all, but may be 12.0 points"),
        (-0.05, math.nan, "tie", "sieve", "cannot tell: sieve ties with all, with no interval kn"),
        (-0.3, -0.4, "worse", "sieve", "Take all: no system beats it in accuracy"),
    ],
)
def test_one_sentence_says_which_system_to_take(tmp_path, value, low, verdict, system, expected):
    report = judged(reported(write_run(tmp_path / "run")), value, low, verdict, system)

    assert expected in advice(report)
    assert advice(report) in to_markdown(report)
    assert html.escape(advice(report)) in to_html(report)


@pytest.mark.parametrize("short", [0, 1])
def test_the_sentence_is_of_questions_that_both_were_asked(tmp_path, short):
    """The first 12 of 30, in which the baseline has nothing right and the other system all. Of the
    other 18, which only one was asked, all tokens are read."""
    folder = write_run(tmp_path / "r")
    for place in (0, 1):
        path = folder / f"records/{place}.jsonl"
        rows = read_lines(path)[: 12 if place == short else 30]
        for row in rows:
            first = row["line"] <= 12
            row["metrics"]["accuracy"] = float(first == bool(place))
            row["metrics"]["tokens_kept"] = (0.8, 0.2)[place] if first else 1.0
        write_lines(path, rows)

    sentence = advice(reported(folder))

    assert "accuracy 100.0% against 0.0% of all [+100.0, +100.0], with 25% of its" in sentence
    assert sentence.endswith("on 12 questions.")


def test_of_equally_good_systems_the_one_with_fewer_tokens_is_taken(tmp_path):
    """Wherever it stands in the run's file, and also where the baseline keeps nothing."""
    folder = write_run(tmp_path / "r", ["none", "all", "sieve"])
    for place, (accuracy, tokens) in enumerate([(0.0, 0.0), (1.0, 1.0), (1.0, 0.2)]):
        path = folder / f"records/{place}.jsonl"
        values = {"accuracy": accuracy, "tokens_kept": tokens}
        rows = read_lines(path)
        write_lines(path, [{**row, "metrics": row["metrics"] | values} for row in rows])

    assert advice(reported(folder)).startswith("Take sieve: accuracy 100.0% against 0.0% of none")


@pytest.mark.parametrize(
    ("systems", "header"),
    [
        (["all", "sieve"], {"baseline": ""}),
        (["all"], {}),
        (["all", "oracle"], {}),
        (["all", "sieve"], {"metrics": ["tokens_kept"]}),
        (["all", "sieve"], {"metrics": ["missing"]}),
    ],
)
def test_no_system_is_advised_where_none_can_be(tmp_path, systems, header):
    """Without a baseline or another system, by less of something, or knowing the answers."""
    folder = write_run(tmp_path / "run", systems, **header)
    for path in (folder / "records").iterdir():
        rows = read_lines(path)
        write_lines(path, [{**row, "metrics": row["metrics"] | {"missing": 0.0}} for row in rows])

    assert advice(reported(folder)) == ""


@pytest.mark.parametrize(
    ("place", "failed", "expected"),
    [
        (0, 16, "Nothing can be advised: 16 of 30 answers failed with all."),
        (0, 15, "Take sieve: accuracy"),
        (1, 16, ""),
    ],
)
def test_nothing_is_advised_by_what_mostly_failed(tmp_path, place, failed, expected):
    """A server that turns a key away answers nothing wrong, and nothing beats nothing."""
    folder = write_run(tmp_path / "run")
    for system, path in enumerate(sorted((folder / "records").iterdir())):
        rows = read_lines(path)
        for row in rows:
            row["metrics"]["accuracy"] = 1.0
        bad = [failure(row["line"]) for row in rows[:failed]] if system == place else []
        write_lines(path, bad + rows[len(bad) :])

    sentence = advice(reported(folder))

    assert sentence.startswith(expected) and bool(sentence) == bool(expected)


def test_a_failure_counts_unless_a_later_session_answered(tmp_path):
    """Three of four are right, one failed: 3/4, while tokens are those of three."""
    made = [record(line, 1, np.random.default_rng(0)) for line in (1, 2, 3)]
    for row in made:
        row["metrics"]["accuracy"] = 1.0
    (row,) = reported(one_cell(tmp_path, [*made, failure(4)])).rows

    assert (0.75, 4) == (row.metrics["accuracy"].value, row.metrics["accuracy"].n)
    assert 3 == row.metrics["tokens_kept"].n
    assert (4, 1) == (row.questions, row.failed)

    again = record(1, 1, np.random.default_rng(0))
    report = reported(one_cell(tmp_path, [failure(1), again]))

    assert (1, 0) == (report.rows[0].questions, report.rows[0].failed)
    assert () == report.failures


def test_a_start_with_fewer_questions_reports_these_alone(tmp_path):
    """Records of the others stay in the folder; a cell's own number comes first."""
    folder = write_run(tmp_path / "r")
    header = json.loads((folder / "run.json").read_text())
    header["datasets"]["nq"]["questions"], header["cells"][1]["asked"] = 10, 4
    (folder / "run.json").write_text(json.dumps(header))

    assert [10, 4] == [row.questions for row in reported(folder).rows]
    assert 30 == len(read_lines(folder / "records/0.jsonl"))


@pytest.mark.parametrize("name", ["/etc/passwd", "records/../../outside.jsonl"])
def test_a_strangers_run_names_no_file_elsewhere(tmp_path, name):
    """Nothing of it is read."""
    header = one_cell(tmp_path, []) / "run.json"
    header.write_text(re.sub(r'"file": ".*?"', f'"file": "{name}"', header.read_text()))

    with pytest.raises(InputError, match=f"file below the folder, got '{name}'"):
        load_run(header.parent)


def test_questions_without_ids_or_with_the_same_stay_apart(tmp_path):
    """Their line tells them apart."""
    rows = [{**record(line, 1, np.random.default_rng(0)), "id": name} for line, name in
            enumerate(["", "", "a", "a"], 1)]  # fmt: skip
    (cell,) = load_run(one_cell(tmp_path, rows)).cells

    assert ("line 1", "line 2", "a", "a (line 4)") == cell.keys


def test_systems_are_compared_by_question_in_a_metrics_direction(tmp_path):
    """Paired by id, whatever the order; equal ones differ nowhere, and fewer tokens are better."""
    folder = write_run(tmp_path / "r")
    write_lines(folder / "records/1.jsonl", read_lines(folder / "records/0.jsonl")[::-1])
    difference = reported(folder).rows[1].differences["f1"]

    assert (0.0, "tie") == (difference.value, difference.verdict)
    assert -difference.low == difference.high > 0

    differences = reported(write_run(tmp_path / "r", n=200), draws=2000).rows[1].differences

    assert "better" == differences["tokens_kept"].verdict
    assert "worse" == differences["accuracy"].verdict


def test_p_values_are_adjusted_over_the_systems(tmp_path):
    """Two systems that do as badly: each p-value is twice what it is alone."""
    three = write_run(tmp_path / "three", ["all", "a", "b"])
    text = (three / "records" / "1.jsonl").read_text()
    (three / "records" / "2.jsonl").write_text(text)
    alone = json.loads((three / "run.json").read_text())
    two = reported(three).rows[1].differences["tokens_kept"].p
    (three / "run.json").write_text(json.dumps(alone | {"cells": alone["cells"][:2]}))

    assert two == pytest.approx(2 * reported(three).rows[1].differences["tokens_kept"].p)


def test_overall_rows_average_common_datasets(tmp_path):
    """Each counts the same; what a system was not asked, or not yet, is left out, and said so."""
    first = write_run(tmp_path / "a", ["all", "sieve"], ["nq", "trivia"])
    second = write_run(tmp_path / "b", ["all", "top", "sieve"], ["crag"], baseline="")
    only = reported(write_run(tmp_path / "c", ["all", "sieve"], ["nq", "trivia"]))
    both = reported(first, second)
    by_name = {row.dataset: row.metrics["f1"].value for row in only.rows if row.system == "all"}

    assert [OVERALL, "nq", "trivia"] == only.datasets
    assert by_name[OVERALL] == pytest.approx((by_name["nq"] + by_name["trivia"]) / 2)
    assert OVERALL not in both.datasets
    assert ["nq", "trivia", "crag"] == both.datasets

    folder = write_run(tmp_path / "r", datasets=["nq", "trivia", "crag"])
    write_lines(folder / "records" / "5.jsonl", [])
    report = reported(folder)

    assert [60, 60] == [row.questions for row in report.select(OVERALL)]
    assert "Not every system was asked crag: left out of the overall rows" in report.notes


@pytest.mark.parametrize("header", [{}, {"name": "recipe"}])
def test_runs_with_the_same_system_stay_apart(tmp_path, header):
    """The run's name, or its folder's, comes before the system's; the baseline is the first's."""
    one = write_run(tmp_path / "one", **header)
    two = write_run(tmp_path / "two", ["all", "top"], seed=1, **header)
    report = reported(one, two)

    assert ["one/all", "sieve", "two/all", "top"] == [row.system for row in report.rows]
    assert "one/all" == report.baseline
    with pytest.raises(InputError, match="must differ in name where they have the same system"):
        reported(one, one)


def test_a_dataset_must_be_the_same_in_all_runs(tmp_path):
    """Else questions of the same id are others."""
    one = write_run(tmp_path / "one")
    two = write_run(tmp_path / "two", datasets=["nq"])
    values = json.loads((two / "run.json").read_text())
    values["datasets"]["nq"]["sha256"] = "other"
    (two / "run.json").write_text(json.dumps(values))

    with pytest.raises(InputError, match="'nq' must be the same in all runs, got other questions"):
        reported(one, two)


def test_a_baseline_must_be_there(tmp_path):
    """The error names the systems; without any baseline nothing is compared."""
    folder = write_run(tmp_path / "r")
    unnamed = reported(write_run(tmp_path / "n", baseline=""))

    with pytest.raises(InputError, match="baseline must be one of all, sieve, got 'none'"):
        reported(folder, baseline="none")
    assert {} == reported(folder, baseline="sieve").rows[1].differences
    assert [{}, {}] == [row.differences for row in unnamed.rows]
    assert any("No baseline is named" in note for note in unnamed.notes)


def test_costs_are_split_by_role(tmp_path):
    """One LLM call and three of an encoder come first; the reader's LLM is one in a filter, too."""
    folder = write_run(tmp_path / "r", ["all"])
    rows = read_lines(folder / "records/0.jsonl")
    before, after = (np.mean([row["tokens"][name] for row in rows]) for name in ("before", "after"))
    cost = partial(reported(folder).rows[0].figure, "cost")
    names = ("llm_calls", "encoder_calls", "llm_tokens_out", "generator_tokens_out")

    assert [1, 3, 20, 8] == [cost(name) for name in names]
    assert [before + 90, before, after + 60] == pytest.approx(
        [cost(f"{role}_tokens_in") for role in ("llm", "encoder", "generator")]
    )
    assert before / after == pytest.approx(cost("compression"))
    assert (before + 90 + 4 * 20) / 1000 == pytest.approx(cost("filter_price"))

    folder = write_run(tmp_path / "r", ["all"])
    path = folder / "records/0.jsonl"
    rows = read_lines(path)
    for row in rows:
        reads, writes = ({"calls": 2, "tokens_in": 9, "tokens_out": n} for n in (0, 4))
        *filters, reader = row["trace"]["steps"]
        for step in filters:
            step |= {**reads, "models": {"m": reads}}
        reader |= {**writes, "models": {"m": writes}}
    write_lines(path, rows)
    cost = partial(reported(folder).rows[0].figure, "cost")

    assert (2 * len(filters), 0) == (cost("llm_calls"), cost("encoder_calls"))


def test_latency_is_of_the_questions_asked_alone(tmp_path):
    """Without any times there are none, and a note says so."""
    timed = reported(write_run(tmp_path / "t"))
    untimed = reported(write_run(tmp_path / "u", timed=0))
    fewer = write_run(tmp_path / "f")
    write_lines(fewer / "latency/1.jsonl", read_lines(fewer / "latency/0.jsonl")[-5:])
    same = reported(fewer).rows[1]

    assert 0.0 == same.figure("cost", "saved_seconds")  # of the questions that both were timed on
    assert 20 == timed.rows[0].figures["cost"]["seconds"].n
    assert 0 < timed.rows[0].figure("cost", "p50") < timed.rows[0].figure("cost", "p95") < 10
    assert math.isnan(untimed.rows[0].figure("cost", "p50"))
    assert "Not measured for latency everywhere: all, sieve" in untimed.notes


@pytest.mark.parametrize(
    ("spent", "kept", "expected"),
    [
        ([120.0, 130.0], 0.4, 100 / (0.6 - 0.1)),  # 100 + 0.1 D
        ([0.0, 0.0], 0.4, 0.0),  # nothing spent: always
        ([20.0, 30.0], 0.4, 10 / (0.6 - 0.1)),  # 10 + 0.1 D
        ([10.0, 30.0], 0.4, 0.0),  # a fit that falls below 0 starts at 0
        ([200.0, 300.0], 0.4, math.inf),  # a token costs 1, and saves 0.6
        ([200.0, 100.0], 0.5, 150 / 0.5),  # a fit that falls is taken as level
        ([0.0, 0.0], 1.0, math.inf),  # nothing saved: never
    ],
)
def test_a_filter_pays_from_a_length_on(spent, kept, expected):
    """For documents of 100 and 200 tokens: a / (price (1 - kept) - b)."""
    before = np.array([200.0, 300.0]) if spent == [120.0, 130.0] else np.array([100.0, 200.0])

    assert expected == pytest.approx(break_even(before, np.array(spent), kept, 1.0))


def test_worked_examples_in_the_prompt_are_spent(tmp_path):
    """400 tokens beside the context, and the baseline's 60: a filter has to save 400 to pay."""
    folder = write_run(tmp_path / "r")
    path = folder / "records/1.jsonl"
    rows = read_lines(path)
    for row in rows:
        row["trace"]["steps"][-1]["tokens_in"] += 400
    write_lines(path, rows)
    free = Prices(filter_price_in=0, filter_price_out=0)
    cost = partial(summarise([load_run(folder)], prices=free, draws=50).rows[1].figure, "cost")

    assert 400 / (1 - 1 / cost("compression")) == pytest.approx(cost("break_even"))


def test_presence_is_of_documents_that_hold_an_answer(tmp_path):
    """One of two questions whose documents hold one loses it; the third had none to lose."""
    rows = [record(line, 1, np.random.default_rng(0)) for line in (1, 2, 3)]
    for row, held in zip(rows, [(1, 1), (1, 0), (0, 0)], strict=True):
        row["presence"] = [
            {"stage": "given", "present": bool(held[0]), "first": None},
            {"stage": "TopK", "present": bool(held[1]), "first": bool(held[1])},
        ]
    figures = reported(one_cell(tmp_path, rows)).rows[0].figures
    given, top = figures["stage 0 given"], figures["stage 1 TopK"]

    assert (1.0, 2, 0) == (given["held"].value, given["held"].n, given["first"].n)
    assert (0.5, 0.5, 2) == (top["held"].value, top["first"].value, top["held"].n)


def test_noise_stays_out_of_the_headline(tmp_path):
    """Noisy cells are compared under the same noise, and plotted against its share."""
    noises = [None]
    noises += [{"kind": "unrelated", "share": s, "position": "start"} for s in (0.4, 0.2)]
    report = reported(write_run(tmp_path / "r", noises=noises))

    assert 2 == len(report.select("nq"))
    assert [0.2, 0.2, 0.4, 0.4] == [
        row.noise.share for row in report.select("nq", noisy=True) if row.noise
    ]
    assert "f1" in report.rows[-1].differences
    assert "Unrelated noise, answer start" in to_html(report)


def test_unfinished_cells_are_named(tmp_path):
    """A cut last line is left out; a missing file has no questions."""
    folder = write_run(tmp_path / "r", ["all", "sieve", "top"])
    cut = folder / "records" / "1.jsonl"
    cut.write_bytes(cut.read_bytes()[:-20])
    (folder / "records" / "2.jsonl").unlink()
    report = reported(folder)

    assert "Unfinished: sieve on nq (29 of 30 questions), top on nq (0 of 30 questions)" in [
        *report.notes
    ]
    assert {} == report.rows[2].metrics
    assert "<svg" in to_html(report)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.json", None, r"r must be a folder with a run\.json"),
        ("run.json", "{", r"run\.json is not JSON"),
        ("run.json", '{"cells": []}', "needs at least one cell, got none"),
        ("records/0.jsonl", "nope\n", "line 1 of .*0.jsonl is not JSON"),
        ("records/0.jsonl", "{}\n", "must be as a benchmark writes it: line is missing"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path, name, text, message):
    """The error names the file and what is wrong with it."""
    path = write_run(tmp_path / "r") / name
    path.unlink() if text is None else path.write_text(text)

    with pytest.raises(InputError, match=message):
        reported(tmp_path / "r")


def hostile(folder):
    """A run with the worst names, failures and two datasets."""
    systems = [HOSTILE, "sieve"]
    names = {"command": ["ragsieve", HOSTILE], "machine": {HOSTILE: HOSTILE}}
    return reported(write_run(folder, systems, [HOSTILE, "nq"], failed=3, **names))


class Page(HTMLParser):
    """What a page holds: its tags, and what it would fetch."""

    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.links = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]


def test_hostile_names_are_text_in_page_and_tables(tmp_path):
    """Escaped, links stay on the page, and every line of a table has as many cells."""
    text = to_html(hostile(tmp_path / "r"))
    page = Page(text)

    assert set() == page.tags & {"script", "link", "iframe", "img", "object", "image"}
    assert [] == [link for link in page.links if not link.startswith("#")]
    assert None is re.search(r"url\((?!#)|@import", text)
    assert text.count("&lt;script&gt;") > 10
    assert len(text) < 1_500_000

    text = to_markdown(hostile(tmp_path / "r"))
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    widths = [{len(re.findall(r"(?<!\\)\|", line)) for line in t.splitlines()} for t in tables]

    assert len(tables) >= 12
    assert {1} == {len(width) for width in widths}
    assert "<script" not in text


def test_csv_is_one_line_a_number(tmp_path):
    """In the columns promised; differences only beside the baseline's rivals; no formulas."""
    report = reported(write_run(tmp_path / "r", ["=all", "sieve"]))
    rows = list(csv.DictReader(io.StringIO(to_csv(report))))
    f1 = {row["system"]: row for row in rows if row["metric"] == "f1"}

    assert {"'=all", "sieve"} == f1.keys()
    assert report.rows[1].metrics["f1"].low == float(f1["sieve"]["low"])
    assert report.rows[1].differences["f1"].verdict == f1["sieve"]["verdict"]
    assert ("", "30") == (f1["'=all"]["p"], f1["'=all"]["n"])
    assert not any(None in row or None in row.values() for row in rows)


def test_the_front_holds_what_nothing_beats():
    """Fewer tokens or a higher value than every other."""
    points = [Point(x, y, y, y) for x, y in [(50, 80), (10, 40), (60, 70), (20, 40), (50, 60)]]

    assert [(10, 40), (50, 80)] == [(p.x, p.y) for p in front(points)]


def test_each_stage_has_its_cost(tmp_path):
    """Calls and tokens of every question, seconds of those asked alone; the generator last."""
    steps = [{**step("Extract(k=1)", 1, 90, 3), "seconds": 9}, {**step("Reader()", 1, 30, 5)}]
    asked = {"line": 1, "id": "1", "answer": "x", "metrics": {"f1": 1.0}, "trace": {"steps": steps}}
    alone = [{"stage": "Extract(k=1)", "seconds": 0.5}, {"stage": "Reader()", "seconds": 0.25}]
    times = {"line": 1, "seconds": 0.75, "filter_seconds": 0.5, "generator_seconds": 0.25}
    folder = one_cell(tmp_path, [asked])
    write_lines(folder / "latency/0.jsonl", [{**times, "trace": {"steps": alone}}])
    (row,) = reported(folder).rows

    assert [1, 90, 3, 0.5] == [row.figure("stage 1 Extract", n) for n in (*COSTS, "seconds")]
    assert [1, 30, 5, 0.25] == [row.figure("generator Reader", n) for n in (*COSTS, "seconds")]


COUNTS = {
    **{"event": "peer", "given": 5, "returned": 4, "invented": 1, "repeated": 2, "grown": 1},
    **{"words": 40, "invented_words": 3, "repeated_words": 10},
}
RAISED = "PeerError: LLMChainFilter raised ValueError: no YES"
PEERS = "Output of other frameworks' filters"


def filtered(line, **counts):
    """A question that a filter answered with `COUNTS`, changed by ``counts``."""
    step = {"stage": "Filter()", "unreadable": 1, "events": [COUNTS | counts]}
    steps = [step, {"stage": "Reader()"}]
    return {"line": line, "id": f"q{line}", "metrics": {"f1": 1.0}, "trace": {"steps": steps}}


def line_of(report):
    """The only line of the table of filters on ``nq``, without the system."""
    ((_, *cells),) = next(table.cells for table in tables(report, "nq") if table.name == PEERS)
    return cells


def test_counts_are_means_and_failures_shares(tmp_path):
    """Of 8 texts 4 have invented, 4 repeated words, 2 grew; of 80 words 6 and 20 are such. On one
    of three questions the filter raised; one that failed otherwise is none of its."""
    rows = [filtered(1), filtered(2, invented=3), failure(3, RAISED), failure(4)]
    report = reported(one_cell(tmp_path, rows))

    assert ["3", "33.3", "1.00", "5.00", "4.00"] == line_of(report)[:5]
    assert ["50.0", "50.0", "25.0", "7.5", "25.0"] == line_of(report)[5:]
    assert PEERS in to_markdown(report)
    assert "2 answers had a model's reply that could not be read: all" in report.notes
    assert 5 == report.rows[0].figures["peer"]["given"].value

    report = reported(one_cell(tmp_path, [filtered(1), failure(1, RAISED)]))

    assert ["1", "100.0", *["–"] * 8] == line_of(report)

    other = filtered(1)
    other["trace"]["steps"][0]["events"] = [{"event": "verdict", "verdict": "correct"}]

    assert "other frameworks" not in to_markdown(reported(one_cell(tmp_path, [failure(2), other])))
