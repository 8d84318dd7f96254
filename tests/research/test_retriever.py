"""Retrievers of LangChain and LlamaIndex, and functions, where a source is taken."""

import pickle

import pytest

import ragsieve
from ragsieve import Document, Pipeline, Query, Segment, System, systems
from ragsieve.answer import Reader
from ragsieve.errors import InputError, SourceError
from ragsieve.models.fake import HashingEmbedder, OverlapPruner, ScriptedLLM, echo
from ragsieve.retriever import Retriever, as_source
from ragsieve_research.retrieve.route import Named, Routed

QUESTION = "Who drew the tower?"
TOWER = "The tower is 330 metres tall. Maurice Koechlin drew the tower."
DREW = "Maurice Koechlin drew the tower."
POINTS = [f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2)]
TEXTS = {"eiffel": TOWER, "fruit": "Bananas are yellow. They grow in bunches."}


def langchain(store=None, **options):
    """A retriever of one of LangChain's vector stores, by default of its own."""
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Hashing(Embeddings):
        def embed_documents(self, texts):
            return HashingEmbedder().embed(texts).tolist()

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    titles = [{"title": name} for name in TEXTS]
    options.setdefault("ids", [*TEXTS])
    made = (store or InMemoryVectorStore).from_texts(
        [*TEXTS.values()], Hashing(), titles, **options
    )
    return made.as_retriever(search_kwargs={"k": 2})


def qdrant():
    """The same of Qdrant in its local mode: its points have UUIDs, which it puts into metadata."""
    store = pytest.importorskip("langchain_qdrant").QdrantVectorStore
    return langchain(store, ids=POINTS, location=":memory:")


def llama_index():
    """A retriever of LlamaIndex's own vector store."""
    pytest.importorskip("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import TextNode

    class Hashing(BaseEmbedding):
        def _get_text_embedding(self, text):
            return HashingEmbedder().embed([text]).tolist()[0]

        def _get_query_embedding(self, query):
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

    nodes = [TextNode(id_=n, text=t, metadata={"title": n}) for n, t in TEXTS.items()]
    index = VectorStoreIndex(nodes, embed_model=Hashing(model_name="hashing"))
    return index.as_retriever(similarity_top_k=2)


def search(question, k):
    """Documents by the words that they share with the question."""
    wanted = {*question.lower().split()}
    found = sorted(TEXTS, key=lambda name: -len(wanted & {*TEXTS[name].lower().split()}))
    return [{"id": name, "text": TEXTS[name], "title": name} for name in found[:k]]


def broken(question, k):
    raise ConnectionError("store\nis away")


def nearest(source):
    """A system that keeps the sentence nearest to the question of what a source finds."""
    system = ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})
    return system.with_source(source)


@pytest.mark.parametrize("make", [langchain, llama_index, lambda: search])
def test_a_retriever_is_a_source(make):
    """Real vector stores of both libraries, and a function: ids and titles stay, spans are kept."""
    result = nearest(make()).ask(QUESTION)

    assert ["eiffel", "fruit"] == [document.id for document in result.documents]
    assert [("eiffel", 30, 62)] == [segment.key for segment in result.kept]
    assert ["eiffel"] == [segment.document.title for segment in result.kept]
    assert result.answer and DREW in result.answer.text
    assert 2 == len(result.trace.steps[0].after)


def test_qdrant_is_a_source():
    """Ids are those of its points, the same for every question."""
    first, second = (nearest(qdrant())(question) for question in (QUESTION, "Are bananas yellow?"))

    assert [(POINTS[0], 30, 62)] == [segment.key for segment in first.kept]
    assert [(POINTS[1], 0, 19)] == [segment.key for segment in second.kept]
    assert ["fruit"] == [segment.document.title for segment in second.kept]


@pytest.mark.parametrize("name", ["hyde", "pruningrag", "chunkrag", "iter-retgen"])
@pytest.mark.parametrize("make", [langchain, qdrant, llama_index, lambda: search])
def test_methods_that_search_take_it(name, make):
    """In words of their own, and what they read is what the retriever has found. An echo gives no
    verdicts: a warning says that no reply could be read."""
    roles = {"pruner": OverlapPruner()}
    system = systems.build(name, echo(), HashingEmbedder(), source=make(), **roles)
    result = system.lenient().ask(QUESTION)

    assert all("could not be read" in warning for warning in result.trace.warnings)
    assert DREW in result.text
    assert "eiffel" in {segment.document.title for segment in result.kept}


SEARCHING = ["hyde", "pruningrag", "chunkrag", "iter-retgen", "self-ask", "self-rag-prompted"]


@pytest.mark.parametrize("name", [*SEARCHING, "crag"])
def test_methods_that_search_answer_without_it(name):
    """A retriever that fails costs a lenient system its evidence, not its answer."""
    where = {"source": broken}
    if name == "crag":
        where = {"options": {"fallback": broken, "rewrite": False}}
    llm = ScriptedLLM(lambda _: "Koechlin")
    system = systems.build(name, llm, HashingEmbedder(), pruner=OverlapPruner(), **where)
    documents = ["Rome is a city."] if name == "crag" else None
    result = system.lenient().ask(QUESTION, documents)

    assert result.answer and "Koechlin" == result.answer.text
    assert any("broken failed: ConnectionError" in one for one in result.trace.warnings)
    if name != "pruningrag":  # which routes among sources: one that fails is left out in any case
        with pytest.raises(SourceError, match=r"^broken failed: ConnectionError: store is away$"):
            system.ask(QUESTION, documents)


def test_a_router_asks_retrievers_beside_sources():
    """One that fails is left out, and the trace says so: the others' answer stands."""

    def own(query):
        return [Segment.whole(Document("note", f"A note on: {query.text}"))]

    away = Named("away", "a store that is down", broken)
    found = Routed((Named("store", "towers", search), away, Named("notes", "notes", own)))
    result = nearest(found).lenient().ask(QUESTION)

    assert ["store/eiffel", "store/fruit", "notes/note"] == [d.id for d in result.documents]
    assert result.answer and "" != result.answer.text
    assert [
        "away was left out: SourceError: broken failed: ConnectionError: store is away"
    ] == result.trace.warnings


@pytest.mark.parametrize("found", ["one text", {"text": "one"}, [7], None, [{"id": "a"}]])
def test_what_is_no_list_of_documents_is_named(found):
    """A retriever's odd reply is an error of the source, as when it fails."""
    with pytest.raises(SourceError, match=r"failed: InputError: (a document|documents) must"):
        as_source(lambda question, k: found)(Query(QUESTION))


def test_scores_count_and_sources_stay_what_they_are():
    """Higher is better in LlamaIndex, LangChain tells none."""
    first, second = as_source(llama_index())(Query(QUESTION))

    assert ["retriever"] == [*first.scores]
    assert first.score > second.score
    assert [{}, {}] == [segment.scores for segment in as_source(langchain())(Query(QUESTION))]

    def own(query, best=1):
        return []

    assert own is as_source(own)
    assert own is System(Pipeline(), Reader(ScriptedLLM([])), source=own).source
    for wrong in (7, "notes", [own]):
        with pytest.raises(InputError, match=r"^a source must be a function of a query, or "):
            as_source(wrong)


class Scored:
    """Documents whose scores may be odd."""

    def __init__(self, *scores):
        self.scores = scores

    def retrieve(self, question):
        for score in self.scores:
            yield type("Node", (), {"page_content": "a", "metadata": {}, "score": score})()


@pytest.mark.parametrize("scores", [(0.5, None), (0.5, float("nan")), (None,), ()])
def test_scores_count_where_all_are_numbers(scores):
    """A half-scored list is as good as an unscored one."""
    found = as_source(Scored(*scores))(Query(QUESTION))

    assert [{}] * len(scores) == [segment.scores for segment in found]


@pytest.mark.parametrize("kind", [list, iter, lambda nodes: dict.fromkeys(nodes).keys()])
def test_a_document_found_twice_has_its_first_score(kind):
    """In whatever a retriever gives its documents that is no text and no mapping."""
    pairs = [("a", 0.9), ("a", 0.8), ("b", 0.7)]
    nodes = [type("Node", (), {"id": n, "content": n, "meta": {}, "score": s})() for n, s in pairs]
    found = as_source(lambda question, k: kind(nodes))(Query(QUESTION))

    assert [("a", 0.9), ("b", 0.7)] == [(s.document.id, s.score) for s in found]


def test_k_is_told_to_functions_and_bounds_retrievers():
    """The first ones count."""
    told = []

    def many(question, k=3):
        told.append(k)
        return [question] * 50

    assert 5 == len(as_source(many, 5)(Query(QUESTION)))
    assert [5] == told
    assert [0.9, 0.8] == [s.score for s in as_source(Scored(0.9, 0.8, 0.7), 2)(Query(QUESTION))]
    with pytest.raises(InputError, match=r"^k must be at least 1, got 0$"):
        as_source(many, 0)


def test_a_system_with_a_retriever_goes_to_other_processes():
    """Where the retriever does."""
    again = pickle.loads(pickle.dumps(Retriever(search, 1)))

    assert "Retriever(search, k=1)" == repr(again)
    assert ["eiffel"] == [segment.document.id for segment in again(Query(QUESTION))]
