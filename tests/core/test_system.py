"""The one contract: stages in a pipeline, a pipeline and a reader in a system."""

import json
from contextlib import nullcontext

import pytest
from hypothesis import example, given, settings, strategies as st

from ragsieve import Trace, load, score, select, split
from ragsieve.answer import Reader
from ragsieve.documents import as_documents, documents_and_places
from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.prompts import context
from ragsieve.result import Tokens, Verdict
from ragsieve.system import Pipeline, System, fit
from ragsieve.testing import check_system
from ragsieve.types import Answer, Document, Query, Segment, StageResult
from tests.named import Finds, loses

QUERY = Query("Who sang Summer Breeze?")
DOCUMENTS = [
    "Summer Breeze is a song. Seals and Crofts sang it.",
    "It rained. A breeze is a light wind in summer.",
]


class Characters:
    """A reader whose tokens are the characters that are no white space."""

    def __call__(self, query, segments, /):
        return Answer("yes", tuple(segments))

    def context(self, segments, /):
        return context(segments)

    def count(self, texts, /):
        return [len("".join(text.split())) for text in texts]


class Letters(Characters):
    """A reader whose tokens are characters, white space too: joints cost as well."""

    def count(self, texts, /):
        return [len(text) for text in texts]


def first(query, segments, /):
    return list(segments[:1])


def broken(query, segments, /):
    raise ModelError("the server\nis gone")


def sentences(k, max_tokens=None):
    """The k best sentences by BM25, best first."""
    stages = Pipeline(split.Sentences(), score.BM25(), select.TopK(k))
    return System(stages, Characters()).with_budget(max_tokens)


def test_stages_run_in_order_and_a_pipeline_is_a_stage():
    """Each gets what the one before kept; nested or flat; without stages all stay."""
    given = [Segment.whole(document) for document in as_documents(DOCUMENTS)]
    flat = Pipeline(split.Sentences(), score.BM25(), select.TopK(2))
    nested = Pipeline(Pipeline(split.Sentences()), Pipeline(score.BM25(), select.TopK(2)))

    assert "Summer Breeze is a song." == flat(QUERY, given)[0].text
    assert flat(QUERY, given) == nested(QUERY, given)
    assert given == Pipeline()(QUERY, given)
    assert "Pipeline(TopK(k=2), Order(by='score'), on_error='keep')" == repr(
        Pipeline(select.TopK(2), select.Order("score"), on_error="keep")
    )


def test_a_failing_stage_raises_unless_lenient(caplog):
    """Then its input passes on, and trace and log say so; an interrupt stops any system."""
    with pytest.raises(ModelError, match="is gone"):
        System(Pipeline(first, broken), Characters())(QUERY, DOCUMENTS)
    with pytest.raises(StoreError, match="is gone"):
        System(Pipeline(), Characters(), source=loses).ask(QUERY)

    kept = System(Pipeline(first, broken, on_error="keep"), Characters())
    piped = System(Pipeline(first, broken), Characters()).lenient()
    bare = System(broken, Characters()).lenient()
    for system, texts in ((kept, DOCUMENTS[:1]), (piped, DOCUMENTS[:1]), (bare, DOCUMENTS)):
        caplog.clear()
        result = system(QUERY, DOCUMENTS)
        (warning,) = result.trace.warnings

        assert texts == [s.text for s in result.kept]
        assert "ModelError: the server is gone" in warning and "was skipped" in caplog.text

    def interrupted(query, segments, /):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        System(interrupted, Characters()).lenient()(QUERY, DOCUMENTS)


def gone(segments):
    yield segments[0]
    raise ModelError("the server is gone")


@pytest.mark.parametrize(
    ("give", "kept", "error"),
    [
        (lambda segments: (s for s in segments[:1]), DOCUMENTS[:1], ""),
        (lambda segments: {s.key: s for s in segments[1:]}.values(), DOCUMENTS[1:], ""),
        (gone, DOCUMENTS, "ModelError: the server is gone"),
        (list.clear, DOCUMENTS, "> must give segments, got None"),
        (lambda _: "text", DOCUMENTS, "> must give segments, got 'text'"),
        (lambda segments: segments[0], DOCUMENTS, "must give segments, got Segment("),
        (lambda segments: [*segments, 1], DOCUMENTS, "must give segments, got [1]"),
        (lambda _: (n for n in "ab"), DOCUMENTS, "must give segments, got ['a', 'b']"),
    ],
)
def test_a_stage_may_give_any_iterable_of_segments(give, kept, error):
    """What it then raises, and what is none, are its failure: its input passes on, or it raises."""

    def stage(query, segments, /):
        return give(segments)

    for one in stage, Pipeline(stage):
        system = System(one, Characters())
        result = system.lenient()(QUERY, DOCUMENTS)
        [record] = result.trace.steps

        assert kept == [s.text for s in result.kept] == [s.text for s in record.after]
        assert error in record.error
        with pytest.raises((InputError, ModelError)) if error else nullcontext():
            assert kept == [s.text for s in system(QUERY, DOCUMENTS).kept]


def test_documents_come_as_strings_mappings_or_documents():
    """Places become ids and ranks where none are given; other keys are found in the metadata."""
    found = as_documents(
        [
            "one",
            {"text": "two", "title": None, "url": "http://x", "lang": "en", "metadata": {"k": 1}},
            {"id": 7, "text": "three", "title": "Three", "source": "s"},
            {"id": None, "text": "four"},
            Document("e", "five", rank=99),
        ]
    )

    assert ["0", "1", "7", "3", "e"] == [d.id for d in found]
    assert ["one", "two", "three", "four", "five"] == [d.text for d in found]
    assert ["", "http://x", "s", "", ""] == [d.source for d in found]
    assert [0, 1, 2, 3, 4] == [d.rank for d in found]
    assert {"k": 1, "lang": "en", "url": "http://x"} == found[1].metadata
    assert "Three" == found[2].title


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", "documents must be a list, got 'one text'"),
        ({"text": "one"}, "documents must be a list, got {'text': 'one'}"),
        (Document("d", "one"), r"documents must be a list, got Document\("),
        (None, "documents must be a list, got None"),
        (["a", 5], "a document must have a text, got 5 at place 1"),
        ([{"title": "t\nu"}], r"a document must have a text, got {'title': 't\\nu'} at place 0"),
        ([{"text": b"x"}], "a document's text must be a string, got b'x'"),
        ([{"text": None, "content": 3}], "a document's text must be a string, got 3"),
        ([{"text": "x", "title": ["t"]}], r"a document's title must be a string, got \['t'\]"),
        ([{"text": "x", "metadata": ["m"]}], r"a document's metadata must be a mapping, got \["),
    ],
)
def test_a_bad_document_is_named_in_a_line(documents, message):
    """The error names the rule, the value and, among many, the place."""
    with pytest.raises(InputError, match=message) as raised:
        sentences(1)(QUERY, documents)

    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 200


IDS = ["a", "a#2", "a#2'", "a#3", "a#2#2", "b", ""]


@example(["a", "a#2", "a", "a", "a#2"])
@given(st.lists(st.sampled_from(IDS)))
def test_equal_ids_are_told_apart(ids):
    """Later ones are renamed, also around names that are taken; the trace says which."""
    trace = Trace()
    with trace.recording():
        found = as_documents([{"id": id, "text": f"text {n}"} for n, id in enumerate(ids)])

    assert len(ids) == len({d.id for d in found})
    for n, id in enumerate(ids):
        assert id == found[n].id or id in {d.id for d in found[:n]}
    assert sum(d.id != id for d, id in zip(found, ids, strict=True)) == len(trace.notes)
    assert all("occurs again: renamed" in line for line in trace.notes)


def test_copies_of_a_document_are_read_once():
    """Those of one id and one text; the trace says so, places find them, metadata are joined."""
    trace = Trace()
    first = Document("a", "t", title="first", metadata={"x": 1})
    copy = Document("a", "t", title="second", source="s", metadata={"x": 2, "y": 2})
    given = [first, copy, Document("a", "u"), "t", "t"]
    with trace.recording():
        documents, places = documents_and_places(given)

    assert [("a", "first", 0), ("a#2", "", 2), ("3", "", 3), ("4", "", 4)] == [
        (d.id, d.title, d.rank) for d in documents
    ]
    assert ("s", {"x": 1, "y": 2}) == (documents[0].source, documents[0].metadata)
    assert [0, 0, 1, 2, 3] == places
    assert "document id 'a' occurs again with the same text: read once" == trace.notes[0]


def test_the_budget_takes_the_best_that_fit():
    """Titles and joints count; a span that comes twice counts once; the order stays."""
    spans = [
        Segment.whole(Document("a", "x" * 5)).scored("s", 3),
        Segment.whole(Document("b", "x" * 9)).scored("s", 2),
        Segment.whole(Document("c", "x" * 4)).scored("s", 1),
    ]

    # 5 fits in 10; 5 + 9 does not; 5 + 4 does.
    assert ["a", "c"] == [s.document.id for s in fit(spans, 10, Characters())]

    spans = [Segment.whole(Document(id, "xx", title="T")) for id in "ab"]

    # "T: xx" is 5 characters, "T: xx\n\nT: xx" is 12.
    assert 2 == len(fit(spans, 12, Letters()))
    assert 1 == len(fit(spans, 11, Letters()))
    assert 0 == len(fit(spans, 4, Letters()))

    span = Segment.whole(Document("a", "xxxx")).scored("s", 1)
    other = Segment.whole(Document("a", "xxxx")).scored("s", 2)

    assert 4 >= Letters().count([context(fit([span, other, span], 4, Letters()))])[0]
    assert 1 == len(fit([span, other, span], 4, Letters()))


PIECES = ("He sang. ", "Summer. ", "你好。", "今天天气很好。", "\n\n", "😀! ", "- a\n", "\ud800. ")
TEXTS = st.lists(st.sampled_from([*PIECES, "x" * 30]), max_size=8).map("".join)
TITLES = st.sampled_from(["", "标题"])
CORPUS = st.lists(st.fixed_dictionaries({"text": TEXTS, "title": TITLES}), max_size=5)


@settings(max_examples=60, deadline=None)
@given(
    documents=CORPUS,
    max_tokens=st.none() | st.integers(0, 80),
    by=st.sampled_from(["score", "ends", "document"]),
    reader=st.sampled_from([Characters(), Letters(), Reader(ScriptedLLM(["unused"]))]),
)
def test_the_budget_is_never_passed(documents, max_tokens, by, reader):
    """The context is at most max_tokens long and no longer than all documents, in any order.
    Chinese sentences put into a new order need spaces that the documents do not have."""
    stage = Pipeline(split.Sentences(), score.Cosine(HashingEmbedder()), select.Order(by))
    result = System(stage, reader).with_budget(max_tokens)(QUERY, documents)
    whole = reader.count([reader.context([Segment.whole(d) for d in result.documents])])[0]

    assert whole == result.tokens.before
    assert reader.count([result.text])[0] == result.tokens.after
    assert reader.context(result.kept) == result.text
    assert result.tokens.after <= whole
    assert max_tokens is None or result.tokens.after <= max_tokens


def test_with_budget_drops_and_says_so():
    """What passes the budget is dropped by the system, with the reason."""
    result = sentences(4).with_budget(20)(QUERY, DOCUMENTS)
    verdicts = [v for v in result.verdicts if v.stage == "System(max_tokens=20)"]

    # "Summer Breeze is a song." has 20 characters that are no white space, and is the best.
    assert ["Summer Breeze is a song."] == [s.text for s in result.kept]
    assert 3 == len(verdicts)
    assert all("pass max_tokens=20" in v.reason for v in verdicts)


def _characters(segments):
    """Places of all characters but white space."""
    spans = [(s.document, n) for s in segments for n in range(s.start, max(s.end, s.start + 1))]
    return sorted((d.id, n) for d, n in spans if not d.text[n : n + 1].isspace())


@settings(max_examples=60, deadline=None)
@given(documents=CORPUS, k=st.integers(0, 4), max_tokens=st.none() | st.integers(0, 40))
def test_verdicts_cover_every_span_once(documents, k, max_tokens):
    """Every sentence, or its parts, and every document without one is kept or dropped."""
    result = sentences(k, max_tokens=max_tokens)(QUERY, documents)
    whole = [Segment.whole(d) for d in result.documents]
    found = split.Sentences()(QUERY, whole)
    split_documents = {s.document.id for s in found}
    expected = [*found, *(s for s in whole if s.document.id not in split_documents)]

    assert _characters(expected) == _characters([v.segment for v in result.verdicts])
    assert {s.key for s in result.kept} == {v.segment.key for v in result.verdicts if not v.stage}
    for verdict in result.verdicts:
        assert bool(verdict.stage) == bool(verdict.reason)


def test_verdicts_stand_in_the_order_of_the_documents():
    """A person reads them beside the text."""
    unranked = [Segment.whole(Document(f"d{n}", text)) for n, text in enumerate(DOCUMENTS)]
    result = sentences(1)(QUERY, DOCUMENTS)
    for one in result, sentences(1).with_source(Finds(unranked))(QUERY):
        assert [
            "Summer Breeze is a song.",
            "Seals and Crofts sang it.",
            "It rained.",
            "A breeze is a light wind in summer.",
        ] == [v.segment.text for v in one.verdicts]

    assert Verdict(result.kept[0], "", "") in result.verdicts
    assert {"", "TopK(k=1)"} == {v.stage for v in result.verdicts}


def test_the_trace_tells_every_stage_and_what_it_cost():
    """In and out; asking adds the reader's; each call is charged to its stage."""
    steps = sentences(1).ask(QUERY, DOCUMENTS).trace.steps

    assert ["Sentences", "BM25", "TopK"] == [s.stage.split("(")[0] for s in steps[:3]]
    assert [(2, 4), (4, 4), (4, 1), (1, 1)] == [(len(s.before), len(s.after)) for s in steps]

    system = System(
        Pipeline(split.Sentences(), score.Cosine(HashingEmbedder()), select.TopK(1)),
        Reader(ScriptedLLM(["Seals and Crofts"])),
    )
    steps = [s.to_dict() for s in system.ask(QUERY, ["He sang. She danced."]).trace.steps]

    # The embedder reads the question's 4 words, then 2 + 2 words: 3 items.
    assert [(0, 0), (0, 3), (0, 0), (1, 0)] == [(s["calls"], s["embedded"]) for s in steps]
    assert [0, 4 + 2 + 2, 0] == [s["tokens_in"] for s in steps[:3]]
    assert 3 == steps[3]["tokens_out"]


def test_a_system_keeps_the_laws():
    """Those of `ragsieve.testing`: JSON, threads, budgets, reasons; of no documents come none."""
    check_system(sentences(2), pickles=False)

    shown = sentences(2).ask(QUERY, []).to_dict()

    assert shown == json.loads(json.dumps(shown))
    assert "answer" not in sentences(2)(QUERY, []).to_dict()


PAGE = Document("page", " ".join(DOCUMENTS), "Songs")

SPANS = (
    Segment(PAGE, 25, 50, {"fused": 0.5}),  # Seals and Crofts sang it.
    Segment(PAGE, 51, 61, {"fused": 0.25}),  # It rained.
)


def test_a_source_finds_where_no_documents_are_passed():
    """Its spans go through the stages as they are; their documents, as first found, come once."""
    source, bare = Finds(SPANS), System(Pipeline(select.TopK(1)), Characters()).with_budget(40)
    system = bare.with_source(source)
    result = system(QUERY)

    assert [QUERY] == source.asked
    assert Answer("yes", result.kept) == system.ask(QUERY).answer
    assert [QUERY, QUERY] == source.asked
    assert [("Seals and Crofts sang it.", {"fused": 0.5})] == [
        (s.text, dict(s.scores)) for s in result.kept
    ]
    assert (PAGE,) == result.documents
    assert "Songs: Seals and Crofts sang it." == result.text
    assert (bare, 40, None) == (system.with_source(None), system.budget.max_tokens, bare.source)

    other = Document("other", "It snowed.")
    found = (Segment.whole(other), *SPANS, Segment(other, 0, 2))
    result = System(Pipeline(), Characters(), source=Finds(found))(QUERY)

    assert ((other, PAGE), found) == (result.documents, result.kept)


def test_without_evidence_the_reader_is_alone():
    """A source that finds nothing did not fail; without one nothing can be filtered."""
    result = System(Pipeline(first), Characters(), source=Finds(())).ask(QUERY)

    assert ((), (), Answer("yes", ())) == (result.kept, result.documents, result.answer)
    assert [] == result.trace.warnings

    system = System(Pipeline(), Characters(), source=None)

    with pytest.raises(InputError, match="documents must be a list, got None"):
        system(QUERY)
    assert ((), Answer("yes", ())) == (system.ask(QUERY).kept, system.ask(QUERY).answer)


@pytest.mark.parametrize("documents", [(), [], DOCUMENTS])
def test_a_source_is_not_asked_where_documents_are_passed(documents):
    """Not even for none of them."""
    source = Finds(SPANS)
    system = System(Pipeline(), Characters(), source=source)

    assert [*documents] == [s.text for s in system(QUERY, documents).kept]
    assert [*documents] == [s.text for s in system.ask(QUERY, documents).kept]
    assert [] == source.asked


def test_spans_of_a_source_stay_verbatim_and_count_alone():
    """Also where stages split them; tokens before are "Songs:" with both spans, after with one."""
    result = System(Pipeline(split.Sentences(), first), Characters(), source=Finds(SPANS))(QUERY)
    one, two = (len(s.text.replace(" ", "")) for s in SPANS)

    assert ["Seals and Crofts sang it."] == [s.text for s in result.kept]
    assert [(PAGE, 25, 50)] == [(s.document, s.start, s.end) for s in result.kept]
    assert Tokens(len("Songs:") + one + two, len("Songs:") + one) == result.tokens


def test_the_trace_has_a_step_for_the_source():
    """With what was found and spent; what is dropped later has its verdict."""
    result = System(Pipeline(select.TopK(1)), Characters(), source=Finds(SPANS)).ask(QUERY)

    assert [(0, 2), (2, 1), (1, 1)] == [(len(s.before), len(s.after)) for s in result.trace.steps]
    assert result.trace.steps[0].stage.startswith("Finds(found=(Segment(")
    assert [("Seals and Crofts sang it.", ""), ("It rained.", "TopK(k=1)")] == [
        (v.segment.text, v.stage) for v in result.verdicts
    ]

    def source(query, /):
        HashingEmbedder().embed([query.text], query=True)
        return []

    result = System(Pipeline(), Characters(), source=source)(QUERY)
    for cut, cached in (result, False), (result.at(max_chars=9), True), (result.at().at(), True):
        (found,) = cut.trace.steps

        assert "source" == found.kind
        assert [(4, cached)] == [(usage.tokens_in, usage.cached) for usage in found.usages]


@pytest.mark.parametrize("stage", [Pipeline(first), first])
def test_a_lenient_system_answers_though_its_source_fails(stage):
    """Without evidence, with a warning of one line, also where the result is cut again."""
    result = System(stage, Characters(), source=loses).lenient().ask(QUERY)
    (warning,) = result.trace.warnings

    assert ((), Answer("yes", ())) == (result.kept, result.answer)
    assert "was skipped: StoreError: the index is gone" in warning
    assert [warning] == result.at(max_chars=9).trace.warnings


FOUND = Segment.whole(Document("elsewhere", "Seals sang it."))


def answers(query, segments, /):
    return StageResult(segments, answer=Answer("Crofts"), found=[FOUND])


def test_the_last_answer_of_a_pipeline_stands():
    """What a stage answers and finds is a value, also outside of a recording, and is counted."""
    given = [Segment.whole(Document("d", "It rained."))]
    result = Pipeline(Pipeline(answers), first)(QUERY, given)

    assert (given, Answer("Crofts"), (FOUND,)) == (result, result.answer, result.found)

    def later(query, segments, /):
        return StageResult(segments, answer=Answer("Seals"))

    result = Pipeline(answers, later, first)(QUERY, [])

    assert (Answer("Seals"), (FOUND,)) == (result.answer, result.found)

    result = System(answers, Characters()).ask(QUERY, ["It rained."])

    assert ["0", "elsewhere"] == [document.id for document in result.documents]
    assert Answer("Crofts") == result.answer
    assert result.tokens.before > result.tokens.after


def test_an_answer_cannot_steer_a_terminal():
    """Nor end a text early: its control characters and lone surrogates are gone."""
    made = load("top-sentences", ScriptedLLM(lambda _: "a\ud800\x00\x1b[3m\u202e"), "fake:hashing")
    *pieces, result = made.ask_stream("Who sang?", ["Seals sang."])
    answer = made.ask("Who sang?", ["Seals sang."]).answer

    assert ["a\ufffd\ufffd\ufffd[3m\ufffd"] == pieces == [answer.text]
    assert result.answer == answer
    assert not set("\ud800\x00\x1b\u202e") & set(answer.reply)
