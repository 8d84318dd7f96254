"""Sources that help, pruned inside each, then reasoning."""

import pytest

from ragsieve import Document, Segment
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.peers.ablations import pruningrag_ablated
from ragsieve_research.retrieve.records import RECORD
from ragsieve_research.retrieve.route import AskAll, Named, Routed
from ragsieve_research.systems.pruningrag import pruningrag
from tests.named import answer

QUESTION = "Who sang Summer Breeze?"
PAGES = ["Bees make honey.", "Summer Breeze is one. Seals sang Summer Breeze.", "It rained."]
FACT = "Summer Breeze was released in 1972."


def reasons(prompt):
    return "Reasoning: The song is named.\nAnswer: Seals"


def finds(*texts, **metadata):
    """A source of whole documents."""

    def search(query, /):
        found = [Document(str(n), text, metadata=metadata) for n, text in enumerate(texts)]
        return [Segment.whole(document) for document in found]

    return search


def system(**options):
    llm = ScriptedLLM(reasons, can=frozenset({"complete"}))
    return pruningrag(llm, HashingEmbedder(), **{"window": 5, "k": 1, **options})


def test_each_source_is_pruned_by_itself():
    """The best window of each of two sources stays, however good the other's are."""
    web, news = (
        Named("web", "", finds(*PAGES)),
        Named("news", "", finds("Rain fell.", "Snow fell.")),
    )
    result = system(source=Routed((web, news), AskAll())).ask(QUESTION)

    assert ["web/1", "news/0"] == [s.document.id for s in result.kept]
    assert "Seals sang Summer Breeze." == result.kept[0].text
    assert "Seals" == answer(result)
    assert all(s.document.text[s.start : s.end] == s.text for s in result.kept)


def test_records_stay_whole_and_go_before_windows():
    """They are facts already; the best k stay, and a budget takes the best of both."""
    other = "It has one writer."
    api = Named("api", "", finds(other, FACT, other * 2, **{RECORD: {"year": 1972}}))
    result = system(k=2, source=Routed((Named("web", "", finds(*PAGES)), api))).ask(QUESTION)

    assert [FACT, other] == [s.text for s in result.kept if "api" in s.document.id]
    assert 4 == len(result.kept)
    assert all("cosine" in segment.scores for segment in result.kept)

    told = "Seals sang Summer Breeze in 1972."
    api = Named("api", "", finds(told, **{RECORD: {}}))
    made = system(source=Routed((Named("web", "", finds("It rained.")), api))).with_budget(9)

    assert [told] == [segment.text for segment in made(QUESTION).kept]


@pytest.mark.parametrize(
    ("pages", "stages"),
    [
        ("few", ["Windows", "Cosine", "TopK"]),
        ("many", ["FewerPages", "Windows", "Cosine", "TopK"]),
        ("sparse", ["Windows", "BM25", "TopK"]),
        ("hybrid", ["Windows", "Hybrid", "TopK"]),
    ],
)
def test_pages_say_how_windows_are_ranked(pages, stages):
    """Few: dense at once; many: the 10 best by BM25 before."""
    result = system(pages=pages)(QUESTION, PAGES)

    assert stages == [step.stage.split("(")[0] for step in result.trace.steps]
    assert "Seals sang Summer Breeze." == result.kept[0].text


@pytest.mark.parametrize(("count", "left"), [(10, 10), (11, 10)])
def test_many_pages_are_told_by_their_number(count, left):
    """Of a source with more than ten, BM25 leaves ten; what an index ranked is left as it is."""
    pages = [f"Page {n} about bees." for n in range(count)]
    ranked = [
        Segment.whole(Document(str(n), text)).scored("bm25", 1) for n, text in enumerate(pages)
    ]
    index = Named("index", "", lambda _query: ranked)
    result = system(source=Routed((Named("web", "", finds(*pages)), index)))(QUESTION)

    names = [segment.document.id.partition("/")[0] for segment in result.trace.steps[1].after]
    assert (left, count) == (names.count("web"), names.count("index"))


def test_memory_comes_first_where_asked():
    """What the model answers by itself stands, and no source is asked; the trace says so."""
    llm = ScriptedLLM(reasons, can=frozenset({"complete"}))
    made = pruningrag_ablated(llm, HashingEmbedder(), source=finds(*PAGES), memory_first=True)
    result = made.ask(QUESTION)

    assert "Seals" == answer(result)
    assert () == result.kept
    assert any("answered by itself" in note for s in result.trace.steps for note in s.notes)


@pytest.mark.parametrize("first", [["Reasoning: none.\nAnswer: I don't know"], ["bla", "bla"]])
def test_the_source_is_asked_where_memory_does_not_know(first):
    """A first reply without evidence, or one without its parts twice; then one from evidence."""
    llm = ScriptedLLM([*first, "Reasoning: a.\nAnswer: Seals"])
    made = pruningrag_ablated(
        llm, HashingEmbedder(), source=finds(PAGES[1]), memory_first=True, window=5
    )
    result = made.ask(QUESTION)

    assert ["0"] == [segment.document.id for segment in result.kept]
    assert "Seals" == answer(result)
