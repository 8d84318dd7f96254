"""What records tell of winnowing: its numbers, its text, its picture."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.evaluate.cells import load_run
from ragsieve.evaluate.page import to_html
from ragsieve.evaluate.report import OVERALL, Report, summarise
from ragsieve.evaluate.stories import Fallen, Merge, chapters, short
from ragsieve.evaluate.tables import merging, reasons, to_csv, to_json, to_markdown
from ragsieve.evaluate.winnowing import Merging, Winnowing

HOSTILE = '</title><script>alert("1")</script>\x00\x1b[31m\u202e & | ' + "x" * 10_000
TEXTS = {"a": "In Paris.", "b": "In Rome.", "c": "See the title.", "d": "Paris!", "e": "Nowhere."}
ELLIPSE = {
    **{"event": "merge", "round": 0, "by": "ellipse", "into": 1, "of": 2, "kept": ["a", "c"]},
    "dropped": [
        {"document": "b", "value": 1.93, "threshold": 1.87},
        {"document": "d", "value": 1.9, "threshold": 1.87},
    ],
}
HYPERBOLA = {
    **{"event": "merge", "round": 1, "by": "hyperbola", "into": 1, "of": 3, "kept": ["a", "c"]},
    "dropped": [{"document": "e", "value": 0.1, "threshold": 0.25}],
}


def told(
    *, question: str = "Where?", answer: str = "Paris", merges: Sequence[Any] = (ELLIPSE, HYPERBOLA)
) -> list[dict[str, Any]]:
    """Agents 1 and 2 agree, 3 is judged incorrect, and the second round ends it."""
    places = [("a", 1, "One"), ("b", 1, question), ("c", 2, "Paris"), ("d", 2, ""), ("e", 3, "")]
    equal, wrong = merges
    arguments = [
        {"agent": 1, "answer": answer, "evidence": f"It says {answer}.", "explanation": "So it is."}
    ]
    rome = {"agent": 3, "answer": "Rome", "evidence": "", "explanation": ""}
    verdict = {"event": "round", "explanation": f"Not {question}"}
    return [
        {
            "event": "clusters",
            "documents": [
                {"document": d, "title": title, "agent": agent, "x": float(n), "y": n * n / 2}
                for n, (d, agent, title) in enumerate(places)
            ],
        },
        {
            "event": "answers",
            "answers": [
                {"agent": n, "answer": a} for n, a in enumerate((answer, answer, "Rome"), 1)
            ],
        },
        equal,
        {**verdict, "round": 1, "arguments": [*arguments, rome], "incorrect": [3], "answer": None},
        wrong,
        {**verdict, "round": 2, "arguments": arguments, "incorrect": [], "answer": answer},
        {
            **{"event": "end", "answer": answer, "why": "the answers agree"},
            **{"agents": [1], "documents": ["a", "c"]},
        },
    ]


def record(line: int, story: Any = None, **others: Any) -> dict[str, Any]:
    """A question with that story, its texts among what was kept and dropped."""
    spans = [{"document": d, "text": text} for d, text in TEXTS.items()]
    kept = [span for span in spans if span["document"] in ("a", "c")]
    dropped = [span for span in spans if span not in kept]
    steps = [{"stage": "Winnow()", "dropped": dropped, "story": story}, {"stage": "Reader()"}]
    if story is None:
        del steps[0]["story"]
    values = {"line": line, "id": f"q{line}", "query": "Where?", "kept": kept, "answer": "Paris"}
    values |= {"answers": ["Paris"], "metrics": {"accuracy": 1.0}, "trace": {"steps": steps}}
    return values | others


def run(folder: Path, **datasets: Sequence[dict[str, Any]]) -> Path:
    """A run of one system with these records."""
    (folder / "records").mkdir(parents=True)
    cells = [
        {"dataset": name, "system": "winnowrag", "file": f"records/{name}"} for name in datasets
    ]
    (folder / "run.json").write_text(json.dumps({"name": "r", "cells": cells, "datasets": {}}))
    for name, rows in datasets.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "records" / name).write_text(lines)
    return folder


def reported(folder: Path, stories: int = 3, **datasets: Sequence[dict[str, Any]]) -> Report:
    return summarise([load_run(run(folder, **datasets))], draws=200, stories=stories)


def winnowed(report: Report, dataset: str = "nq") -> Winnowing:
    (row,) = report.select(dataset)
    assert row.winnowing
    return row.winnowing


def kept(found: Merging) -> tuple[float, float, float]:
    return found.holding.value, found.others.value, found.gain.value


def test_merging_is_judged_by_what_it_keeps(tmp_path: Path) -> None:
    """a and d hold the answer, c does by its title: the ellipse keeps 2 of 3, and b it drops.

    The hyperbola keeps both that hold it, a and c, and drops e.
    """
    ellipse, hyperbola = winnowed(reported(tmp_path / "r", nq=[record(1, told())])).merging

    assert ("ellipse", 1, 4, 3, 1) == (
        *(ellipse.by, ellipse.merges, ellipse.documents),
        *(ellipse.n_holding, ellipse.n_others),
    )
    assert (2 / 3, 0, 2 / 3) == pytest.approx(kept(ellipse))
    assert ("hyperbola", 2, 1) == (hyperbola.by, hyperbola.n_holding, hyperbola.n_others)
    assert (1, 0, 1) == pytest.approx(kept(hyperbola))


def test_shares_are_of_all_documents_together(tmp_path: Path) -> None:
    """Kept 1 of 1 and 0 of 3 documents that hold the answer: a quarter, not the mean of shares.

    Nothing that holds none is merged, so nothing is known of it.
    """
    one = {**ELLIPSE, "kept": ["a"], "dropped": []}
    three = {**ELLIPSE, "kept": [], "dropped": [{"document": d} for d in ("a", "c", "d")]}
    rows = [record(n, told(merges=(m, {**m, "by": "x"}))) for n, m in enumerate((one, three), 1)]
    report = reported(tmp_path / "r", nq=rows)
    found = winnowed(report).merging[0]
    line, *_ = merging(report, "nq")[1]

    assert 0.25 == pytest.approx(found.holding.value)
    assert found.holding.low < 0.25 < found.holding.high
    assert ["4", "0", "– [–, –]", "– [–, –]"] == [line[n] for n in (4, 6, 7, 8)]


def test_data_sets_count_the_same(tmp_path: Path) -> None:
    """The ellipse keeps 2 of 3 on one question of nq, 3 of 3 on two of popqa: 5/6 overall."""
    better = {**ELLIPSE, "kept": ["a", "c", "d"], "dropped": []}
    rows = [record(n, told(merges=(better, HYPERBOLA))) for n in (1, 2)]
    report = reported(tmp_path / "r", nq=[record(1, told())], popqa=rows)
    found = winnowed(report, OVERALL)

    assert 5 / 6 == pytest.approx(found.merging[0].holding.value)
    assert (3, 9) == (found.questions, found.merging[0].n_holding)


def test_noise_is_named_beside_the_system(tmp_path: Path) -> None:
    """In the same table, behind the questions without; its clusters are not drawn."""
    folder = run(tmp_path / "r", nq=[record(1, told())], noisy=[record(1, told())])
    header = json.loads((folder / "run.json").read_text())
    noise = {"kind": "random", "share": 0.2, "position": "last"}
    header["cells"][1] |= {"dataset": "nq", "noise": noise}
    (folder / "run.json").write_text(json.dumps(header))
    report = summarise([load_run(folder)], draws=200)

    assert ["winnowrag", "winnowrag (20% random, last)"] == [
        line[0] for line in merging(report, "nq")[1][::2]
    ]
    assert 1 == len(report.stories)


def test_questions_are_followed_to_their_end(tmp_path: Path) -> None:
    """Two rounds, one reply unreadable; three agents, two with unlike answers, one at the end."""
    other = told()
    other[-1] = {**other[-1], "why": "the majority's"}
    rows = [record(1, told()), record(2, told()), record(3, other), record(4)]
    rows[0]["trace"]["steps"][0]["unreadable"] = 1
    report = reported(tmp_path / "r", nq=rows)
    found = winnowed(report)

    assert 3 == found.questions
    assert [2, 1 / 3, 3, 2, 1, 1, 2] == pytest.approx([*found.counts.values()])
    assert [
        ["winnowrag", "the answers agree", "66.7"],
        ["winnowrag", "the majority's", "33.3"],
    ] == reasons(report, "nq")[1]


def test_rare_reasons_are_told_together(tmp_path: Path) -> None:
    """Eight by name at most."""
    stories = [told() for _ in range(10)]
    for number, story in enumerate(stories):
        story[-1] = {**story[-1], "why": f"reason {number}"}
    rows = [record(n, story) for n, story in enumerate(stories, 1)]
    ends = winnowed(reported(tmp_path / "r", nq=rows)).ends

    assert (9, 0.2) == (len(ends), pytest.approx(ends["other"]))


def test_a_question_asked_again_tells_one_story(tmp_path: Path) -> None:
    """The last; one that failed tells none."""
    rows = [record(1, told(answer="Rome")), record(1, told()), record(2, error="ModelError: x")]
    report = reported(tmp_path / "r", nq=rows)

    assert 1 == winnowed(report).questions
    assert ["Paris"] == [story.end.answer for story in report.stories]


def test_without_gold_answers_nothing_holds_any(tmp_path: Path) -> None:
    """Merges are counted, what they keep is not judged."""
    found = winnowed(reported(tmp_path / "r", nq=[record(1, told(), answers=[])])).merging[0]

    assert (1, 0, 0) == (found.merges, found.n_holding, found.n_others)


def test_records_without_stories_leave_no_trace(tmp_path: Path) -> None:
    """No table, plot or section of them."""
    report = reported(tmp_path / "r", nq=[record(1), record(2)])
    text = to_html(report)

    assert None is report.rows[0].winnowing
    for word in ("merging", "clusters", "Why answers stand", "How questions end"):
        assert word not in text.split("</style>")[1]
        assert word not in to_markdown(report)
    assert "story" not in to_csv(report)


def test_the_story_is_told_in_order(tmp_path: Path) -> None:
    """Clusters with answers, equal answers, rounds with verdicts and what fell, the end."""
    (story,) = reported(tmp_path / "r", nq=[record(1, told())]).stories

    assert [
        (
            "Clusters and answers",
            [
                "Agent 1 answers “Paris” from 2 documents: One ◎; Where?",
                "Agent 2 answers “Paris” from 2 documents: Paris ◎; d ◎",
                "Agent 3 answers “Rome” from 1 document: e",
            ],
        ),
        (
            "Equal answers",
            [
                "Agent 2 goes into agent 1 by ellipse: 2 of 4 documents stay; falls: "
                "Where? (1.93 > 1.87); d (1.90 > 1.87)"
            ],
        ),
        (
            "Round 1",
            [
                "Agent 1: “Paris” — Evidence: It says Paris. — Explanation: So it is.",
                "Agent 3: “Rome”",
                "Critic: agent 3 is incorrect; no consistent answer. Reason: Not Where?",
                "Agent 3 goes into agent 1 by hyperbola: 2 of 3 documents stay; falls: "
                "e (0.10 ≤ 0.25)",
            ],
        ),
        (
            "Round 2",
            [
                "Agent 1: “Paris” — Evidence: It says Paris. — Explanation: So it is.",
                "Critic: no agent is incorrect; “Paris” stands. Reason: Not Where?",
            ],
        ),
        ("End", ["“Paris”: the answers agree; 2 documents of agent 1"]),
    ] == chapters(story)


def test_the_page_draws_the_first_questions(tmp_path: Path) -> None:
    """As many as asked for; points say what they are and why they fell, arrows who merged."""
    report = reported(tmp_path / "r", stories=2, nq=[record(n, told()) for n in (1, 2, 3)])
    text = to_html(report)

    assert 2 == text.count('aria-label="Clusters of the question Where?"')
    for title in (
        "One (a), agent 1, holds a gold answer; kept",
        "Where? (b), agent 1; ellipse of agents 1 and 2: 1.93 &gt; 1.87",
        "(e), agent 3; hyperbola of agents 1 and 3: 0.10 ≤ 0.25",
        "hyperbola of agents 1 and 3: 2 kept, 1 dropped",
        "winnowrag, ellipse: 66.7 % kept of 9 documents that hold a gold answer",
    ):
        assert f"<title>{title}</title>" in text


def test_a_page_without_clusters_is_asked_for_by_zero(tmp_path: Path) -> None:
    """The tables stay."""
    text = to_html(reported(tmp_path / "r", stories=0, nq=[record(1, told())]))

    assert "What became of the clusters" not in text
    assert "What merging keeps" in text


def test_documents_without_a_place_are_not_drawn(tmp_path: Path) -> None:
    """The story is told all the same."""
    story = told()
    for document in story[0]["documents"]:
        document["x"] = None
    text = to_html(reported(tmp_path / "r", nq=[record(1, story)]))

    assert "Clusters of the question" not in text
    assert "Agent 3 answers “Rome”" in text


def test_merging_by_chance_needs_no_numbers(tmp_path: Path) -> None:
    """Dropped without an inequality, and with no agent to go to."""
    half = {**ELLIPSE, "by": "half", "dropped": [{"document": "b", "value": None}]}
    discard = {**HYPERBOLA, "by": "discard", "into": None, "dropped": [{"document": "e"}]}
    report = reported(tmp_path / "r", nq=[record(1, told(merges=(half, discard)))])
    lines = [line for _, lines in chapters(report.stories[0]) for line in lines]

    assert "<title>Where? (b), agent 1; dropped by half of agents 1 and 2</title>" in to_html(
        report
    )
    assert "Agent 3 goes by discard: 2 of 3 documents stay; falls: e" in lines


def test_sides_of_an_inequality_are_told_apart() -> None:
    """With the digits it takes; equal ones stay equal."""
    fallen = (Fallen("a", 1.93421, 1.93384), Fallen("a", 0.5, 0.5), Fallen("a"))

    assert ["1.9342 > 1.9338", "0.50 ≤ 0.50", ""] == [one.broken for one in fallen]
    assert "discard of agent 3" == str(Merge("discard", of=(3,)))


def test_hostile_stories_are_text(tmp_path: Path) -> None:
    """Markup, control characters and 10,000 characters in titles, answers, reasons and ids."""
    story = told(question=HOSTILE, answer=HOSTILE)
    story[-1] = {**story[-1], "why": HOSTILE}
    story[2] = {**ELLIPSE, "by": HOSTILE, "kept": ["a", HOSTILE]}
    rows = [record(n, story, query=HOSTILE, answers=[HOSTILE, "Paris"]) for n in (1, 2, 3)]
    report = reported(tmp_path / "r", nq=rows)
    text = to_html(report)
    table = re.findall(r"(?:^\|.*\n)+", to_markdown(report), flags=re.MULTILINE)

    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert None is re.search("[\x00-\x08\x0e-\x1f\u202e]", text)
    assert len(text) < 400_000
    assert {1} == {
        len({len(re.findall(r"(?<!\\)\|", row)) for row in t.splitlines()}) for t in table
    }


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    """One line of as many characters as asked for, also where white space fills the text."""
    assert ("a b", "abc…", "a…") == (
        short(" a\n b", 4),
        short("abcdef", 4),
        short("a" + " " * 99, 4),
    )


def test_figures_are_given_to_programs(tmp_path: Path) -> None:
    """As lines of CSV with intervals, and as strict JSON with the stories."""
    report = reported(tmp_path / "r", nq=[record(n, told()) for n in (1, 2)])
    lines = {row["metric"]: row for row in csv.DictReader(io.StringIO(to_csv(report)))}
    values = json.loads(to_json(report))

    assert (2 / 3, "6") == (
        pytest.approx(float(lines["ellipse_kept_holding"]["value"])),
        lines["ellipse_kept_holding"]["n"],
    )
    assert ("2.0", "1.0") == (
        lines["story_rounds"]["value"],
        lines["story_end: the answers agree"]["value"],
    )
    assert 2 == values["rows"][0]["winnowing"]["counts"]["rounds"]
    assert ["a", "c", "d"] == values["stories"][0]["holding"]


@pytest.mark.parametrize(
    "story",
    [
        [{"event": "clusters"}],
        [{"event": "merge", "by": "ellipse", "kept": 3}],
        [{"event": "end", "agents": "all"}],
        ["end"],
        {"event": "end"},
    ],
)
def test_a_story_that_is_none_is_refused(tmp_path: Path, story: Any) -> None:
    """With the line and the file."""
    with pytest.raises(InputError, match=r"line 1 of .*nq must hold a story as a stage tells it"):
        reported(tmp_path / "r", nq=[record(1, story)])


def test_what_other_stages_tell_is_no_winnowing(tmp_path: Path) -> None:
    """Verdicts, searches and counts of other systems are in their records alone."""
    rows = [record(1, [{"event": "verdict", "verdict": "correct"}])]

    assert reported(tmp_path / "r", nq=rows).rows[0].winnowing is None


def test_a_stage_that_was_skipped_tells_no_story(tmp_path: Path) -> None:
    """What it did before it failed has dropped nothing."""
    broken = record(1, told())
    broken["trace"]["steps"][0]["error"] = "ModelError: gone"
    report = reported(tmp_path / "r", nq=[broken, record(2, told())])

    assert 1 == winnowed(report).questions
