"""The loop that searches as a strategy asks."""

import dataclasses

import pytest

from ragsieve import select
from ragsieve.errors import StoreError
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.retriever import SOURCE_KEY
from ragsieve.types import Answer, Document, Query, Segment, StageResult
from ragsieve_research.retrieve.route import RECORD, Named, Routed
from ragsieve_research.systems.hyde import hyde
from ragsieve_research.systems.iterating import DeferredSource, iterating
from tests.named import answer, loses

QUESTION = "Who sang it?"
DOCUMENTS = [
    {"id": "ann", "text": "Ann sang it. Ann is old."},
    {"id": "bob", "text": "Bob wrote songs."},
    {"id": "cat", "text": "A cat slept."},
]
INDEX = {
    word: [
        Segment.whole(Document(f"{word}{n}", f"{word} says {n}.")).scored("bm25", 3 - n)
        for n in range(3)
    ]
    for word in ("red", "blue")
}


@dataclasses.dataclass(frozen=True)
class Asking:
    """Searches by each of its texts, and keeps what the last search, or every one, found."""

    texts: tuple[str, ...]
    every: bool = False

    def __call__(self, query, search, /):
        kept = []
        for text in self.texts:
            found = search(Query(text), query)
            kept = [*kept, *found] if self.every else found
        return kept


def finds(query, /):
    """Three documents of an index by the query's word, which it ranks."""
    return list(INDEX[query.text])


def first(query, segments, /):
    """Keeps the first four characters of each segment; the question is never a search."""
    assert query.text == QUESTION
    return [dataclasses.replace(s, end=s.start + 4) for s in segments]


def made(*texts, every=False, **options):
    strategy = Asking(texts, every)
    given = {"source": None, "prune": None, "k": 2} | options
    return iterating(strategy, ScriptedLLM(lambda _: "Ann"), HashingEmbedder(), **given)


def ids(segments):
    return [segment.document.id for segment in segments]


def test_documents_in_hand_go_before_the_source():
    """Each search has its nearest ones; without them the source is asked, also to filter alone."""
    last = made("cat", "bob songs", k=1).ask(QUESTION, DOCUMENTS)
    every = made("cat", "bob songs", every=True, k=1).ask(QUESTION, DOCUMENTS)

    assert ["bob"] == ids(last.kept)
    assert ["cat", "bob"] == ids(every.kept)

    result = made("cat", source=loses, k=1).ask(QUESTION, DOCUMENTS)

    assert ["cat"] == ids(result.kept)

    system = made("red", source=finds)

    assert system.ask(QUESTION).kept == system(QUESTION).kept


def test_without_documents_the_source_is_asked():
    """The first k of each search count; all of them are the question's documents."""
    result = made("red", "blue", source=finds).ask(QUESTION)

    assert ["blue0", "blue1"] == ids(result.kept)
    assert ["red0", "red1", "red2", "blue0", "blue1", "blue2"] == [d.id for d in result.documents]
    # "red says 0." and the others are 4 tokens each.
    assert (24, 8) == (result.tokens.before, result.tokens.after)
    why = {v.segment.document.id: v.reason for v in result.verdicts}
    assert ["", ""] == [why["blue0"], why["blue1"]]
    assert ["rank 3 is past k=2"] * 2 == [why["red2"], why["blue2"]]
    assert all("Asking" in why[name] for name in ("red0", "red1"))


def test_a_document_found_twice_is_kept_once():
    """Where it was first, also by another id; those that share a name are told apart."""
    result = made("red", "blue", "red", every=True, source=finds, k=1).ask(QUESTION)

    assert ["red0", "blue0"] == ids(result.kept)

    found = {"red": ["Alpha", "Beta"], "blue": ["Beta"]}

    def numbers(query, /):
        texts = found[query.text]
        return [Segment.whole(Document(f"{len(texts)}{n}", t)) for n, t in enumerate(texts)]

    result = made("red", "blue", every=True, source=numbers).ask(QUESTION)

    assert ["Alpha", "Beta"] == sorted(document.text for document in result.documents)

    def numbers(query, /):
        texts = ["always", query.text]
        found = [Segment.whole(Document(str(n), text)) for n, text in enumerate(texts)]
        return [segment.scored("bm25", 1.0) for segment in found]

    result = made("red", "blue", every=True, source=numbers).ask(QUESTION)

    assert [("0", "always"), ("1", "red"), ("1#2", "blue")] == [
        (s.document.id, s.text) for s in result.kept
    ]


def test_whole_documents_of_several_sources_are_cut_and_ranked():
    """Each by itself gives its best first; the embedder says which of each source count."""
    long = "It rained. " * 300
    bees, songs = (
        Named("bees", "", lambda _: [Segment.whole(Document(str(n), long)) for n in range(3)]),
        Named("songs", "", lambda _: [Segment.whole(Document("0", f"{long}Ann sang it."))]),
    )
    result = made("Ann sang", source=Routed((bees, songs)), k=1).ask(QUESTION)
    other, kept = result.kept

    assert ("bees", "songs/0") == (other.document.id.partition("/")[0], kept.document.id)
    assert kept.text.endswith("Ann sang it.") and len(kept.text) < len(long)
    keys = {segment.key for segment in result.kept}
    assert all(v.stage and v.reason for v in result.verdicts if v.segment.key not in keys)


def test_what_fails_costs_itself_alone_where_that_is_said():
    """What was found passes, a search that failed found nothing, and a warning says so."""

    def fails(query, segments, /):
        raise StoreError("it is broken")

    system = made("red", source=finds, prune=fails)
    result = system.lenient().ask(QUESTION)

    assert ["red0", "red1"] == ids(result.kept)
    assert any("it is broken" in warning for warning in result.trace.warnings)
    with pytest.raises(StoreError, match="it is broken"):
        system.ask(QUESTION)

    def once(query, /):
        return finds(query) if query.text == "red" else loses(query)

    result = made("red", "blue", every=True, source=once, k=1).lenient().ask(QUESTION)

    assert ["red0"] == ids(result.kept)
    assert any("the index is gone" in warning for warning in result.trace.warnings)


def test_a_filter_prunes_what_each_search_finds():
    """It is told the question; what it lets go is in the trace, what it keeps is verbatim."""
    result = made("red", source=finds, prune=select.TopK(1)).ask(QUESTION)
    cut = made("red", every=True, source=finds, prune=first).ask(QUESTION)

    assert ["red0"] == ids(result.kept)
    assert ["rank 2 is past k=1", "rank 3 is past k=2"] == [
        v.reason for v in result.verdicts if v.stage
    ]
    assert ["red ", "red "] == [s.text for s in cut.kept]
    assert all(s.document.text[s.start : s.end] == s.text for s in cut.kept)


def test_the_system_answers_and_asks_in_its_own_words():
    """A filter's answer does not count; the first search asks nothing of the source."""

    def concludes(query, segments, /):
        return StageResult(segments, answer=Answer("not this"))

    result = made("red", source=finds, prune=concludes).ask(QUESTION)

    assert "Ann" == answer(result)

    assert [] == DeferredSource(loses)(Query(QUESTION))


def test_a_record_is_not_crowded_out_by_many_chunks():
    """Each source is cut by itself: 20 pages that answer better leave the API's record in."""
    pages = [
        Document(f"web/{n}", f"who sang it? {n}", metadata={SOURCE_KEY: "web"}) for n in range(20)
    ]
    record = Document("api/0", "Ann: 5.", metadata={SOURCE_KEY: "api", RECORD: {"Ann": 5}})
    found = [Segment.whole(document) for document in [*pages, record]]
    llm = ScriptedLLM(["Bob"] * 9)
    system = hyde(llm, HashingEmbedder(), source=lambda _query: found, k=3)

    kept = system("Who sang it?").kept

    assert 3 == sum(s.document.metadata[SOURCE_KEY] == "web" for s in kept)
    assert any(s.document.metadata[SOURCE_KEY] == "api" for s in kept)
