"""A result as people look at it: a line, a page in a notebook, rows of a data frame."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import jsonschema
import pytest

import ragsieve
from ragsieve import InputError, Pipeline, Result, System, score, select, split
from ragsieve.answer import Reader
from ragsieve.context.budget import LIMITS
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.serialization import schema
from ragsieve.types import Document, Layout, Query, Segment

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "result.schema.json"

DOCUMENTS = ["Ada wrote programs. It rained <b>a lot</b> that day.", "Nobody \x1b[31mknows."]


@pytest.fixture
def result():
    """Of three sentences one is kept."""
    stage = Pipeline(split.Sentences(), score.Cosine(HashingEmbedder()), select.TopK(1))
    return System(stage, Reader(ScriptedLLM(lambda prompt: "<i>Ada</i>"))).ask(
        "Who wrote programs?", DOCUMENTS
    )


def test_a_result_shows_itself(result):
    """In one line, in a notebook, as rows, each verbatim with stage and reason."""
    before, after = result.tokens.before, result.tokens.after

    assert (
        f"Result('Who wrote programs?', kept=1 of 3 spans, tokens={before}->{after}, "
        "answer='<i>Ada</i>')"
    ) == repr(result)

    page = result._repr_html_()

    assert "<span>Ada wrote programs.</span>" in page
    assert 2 == page.count("<del ")
    assert "It rained &lt;b&gt;a lot&lt;/b&gt; that day.</del>" in page
    assert "&lt;i&gt;Ada&lt;/i&gt;" in page
    assert "\x1b" not in page

    rows = result.rows

    assert [True, False, False] == [row["kept"] for row in rows]
    assert [DOCUMENTS[int(r["document"])][r["start"] : r["end"]] for r in rows] == [
        row["text"] for row in rows
    ]
    assert ["", True, True] == [row["stage"] and bool(row["reason"]) for row in rows]


QUESTION = "Who wrote programs for the engine?"
PAGES = [
    {"id": "a", "title": "Ada", "text": "Ada wrote programs. It rained. The engine was of brass."},
    {"id": "b", "text": "She wrote programs for the engine.\n\n- steam\n- brass\n\nNobody knows."},
    {"id": "c", "text": "Ada wrote programs. Es regnete in der Stadt und niemand war da."},
    {"id": "d", "text": "Der Regen fiel den ganzen Tag auf die Stadt. Wer schrieb das Programm?"},
]
BASELINES = ("all", "closed-book", "top-documents", "nearest-documents", "top-sentences")


def loaded(name, **options):
    """A system of the core, of fakes or with the pruner that comes with the package."""
    pruner = "pruner" if name == "bundled" else "fake:pruner"
    name = name if name in BASELINES else "finefilter"
    own = {"pruner": pruner} if name == "finefilter" else {"embedder": "fake:hashing"}
    return ragsieve.load(name, "fake:echo", options=options, **own)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        *(
            (name, numbers)
            for name in ("finefilter", "bundled")
            for numbers in (
                {"keep_answer": 0.5},
                {"keep_answer": 0.99, "max_chars": 60},
                {"min_score": 0.2},
                {"min_score": 0.9, "max_tokens": 30},
                {"max_tokens_per_document": 4},
            )
        ),
        ("top-sentences", {"min_score": 0.2}),
        ("nearest-documents", {"min_score": 0.2, "max_chars": 60}),
        *((name, {"max_chars": 40}) for name in BASELINES),
        *((name, {"max_tokens": 8, "max_chars_per_document": 25}) for name in BASELINES),
    ],
)
def test_a_result_can_be_cut_again(name, numbers):
    """As filtering anew with these numbers does; what a budget cuts is all that is read again."""
    limits = {key: value for key, value in numbers.items() if key in LIMITS}
    own = {k: numbers[k] for k in numbers.keys() - limits}
    late = {**limits, **own} if name in BASELINES else limits
    anew = loaded(name, **({} if name in BASELINES else own)).at(**late)(QUESTION, PAGES)
    first = loaded(name)(QUESTION, PAGES)

    for result in (first.at(**numbers), first.at().at(**numbers)):
        assert seen(anew) == seen(result)
        stages = [step for step in result.trace.steps if not step.stage.startswith("System(")]
        assert all(usage.cached for step in stages for usage in step.usages)


@pytest.mark.parametrize("threshold", [-1.0, 0.3, 2.0])
@pytest.mark.parametrize("name", ["top-sentences", "nearest-documents"])
def test_a_threshold_stands_in_place_of_a_number_of_the_best(name, threshold):
    """Also where more would be kept than the number."""
    everything = loaded(name, k=100)(QUESTION, PAGES)
    result = loaded(name, k=1)(QUESTION, PAGES).at(min_score=threshold)

    assert [s for s in everything.kept if s.score >= threshold] == [*result.kept]
    assert all("min_score" in verdict.reason for verdict in result.dropped)


def seen(result):
    """All of a result but what it cost."""
    values = result.to_dict()
    for step in values["trace"]["steps"]:
        for cost in ("calls", "embedded", "cached", "tokens_in", "tokens_out", "seconds"):
            del step[cost]
    return {**values, "rows": result.rows}


def test_a_pickled_result_holds_no_model(result):
    """It is the same, but cannot be cut again."""
    copy = pickle.loads(pickle.dumps(result))

    assert copy.to_dict() == result.to_dict()
    with pytest.raises(InputError, match="was pickled or read from JSON"):
        copy.at(max_chars=10)


def test_spans_are_told_apart():
    """What went, what is kept of each document, and what scored nearest to the cut."""
    result = loaded("finefilter", min_score=0.5)(QUESTION, PAGES[:2])
    near = result.borderline(3)

    assert [v for v in result.verdicts if v.stage] == result.dropped
    assert result.kept == tuple(s for spans in result.by_document().values() for s in spans)
    assert ["a", "b"] == sorted(document.id for document in result.by_document())
    assert 3 == len(near)
    assert [abs(v.segment.score - 0.5) for v in near] == sorted(
        abs(v.segment.score - 0.5) for v in result.verdicts
    )[:3]
    assert [] == loaded("all")(QUESTION, PAGES).borderline()


def written(query, segments):
    """Texts that a model wrote from all of them, and from none."""
    text = " ".join(s.text for s in segments)
    made = Document("made", text, written_by="scribe", parents=tuple(segments))
    alone = Document("alone", "Who knows?", written_by="scribe")
    return [Segment.whole(one).scored("own", 0.5) for one in (made, alone)]


def marked(query, segments):
    """The same with another layout."""
    return [replace(s, document=replace(s.document, layout=Layout("--"))) for s in segments]


STAGES = {"written": written, "marked": marked}


@pytest.mark.parametrize("name", ["finefilter", "bundled", *BASELINES, *STAGES])
def test_a_result_survives_json(name):
    """It is the same again, but for what needs the system; the values are as the schema says."""
    system = loaded("all" if name in STAGES else name)
    system = replace(system, stage=STAGES.get(name, system.stage))
    asked = Query(QUESTION, "q7", "2026-03-01")
    others = {"raw": b"no JSON", "view": MappingProxyType({"day": 3})}
    result = system.ask(asked, [{**PAGES[0], "day": 3, **others}, *PAGES[1:]])
    values = json.loads(json.dumps(result.to_dict()))
    again = Result.from_dict(values)

    jsonschema.validate(values, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert values == json.loads(json.dumps(again.to_dict()))
    assert (result.rows, result.tokens, asked) == (again.rows, again.tokens, again.query)
    assert {"day": 3} == again.documents[0].metadata
    assert repr(result) == repr(again)
    assert ("written" in values) == (name == "written")
    assert result.answerable == again.answerable
    with pytest.raises(InputError, match="read from JSON cannot be cut again"):
        again.at(max_chars=3)
    if name != "written":
        mine = Result.from_dict(result.to_dict(documents=False), PAGES)
        assert result.rows == mine.rows


def test_the_schema_is_that_of_the_types():
    """The file beside the reference is made of them."""
    assert schema() == json.loads(SCHEMA.read_text(encoding="utf-8"))


SPAN = {"document": "a", "start": 0, "end": 3, "text": "Ada"}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"schema_version": 2}, "schema_version must be 1, got 2"),
        ({"kept": None}, "kept must be a list, got None"),
        ({"documents": []}, "documents must have all that are named, got none of id 'a'"),
        ({"kept": [{**SPAN, "text": "Eve"}]}, "text of .* must be its document's, got 'Eve'"),
        ({"kept": [{**SPAN, "start": 5}]}, "a span must lie in its document"),
    ],
)
def test_values_that_break_the_schema_are_refused(change, line):
    """In a line that names field, rule and value."""
    values = {**loaded("finefilter")(QUESTION, PAGES).to_dict(), **change}

    with pytest.raises(InputError, match=line):
        Result.from_dict(values)
