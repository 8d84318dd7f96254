"""The server behind the clients that stacks have: they are given its address, and nothing else."""

import asyncio

import pytest

from ragsieve.server import Settings, create_app

TOKEN = "a-token-of-ours"
QUESTION = "Who sang Summer Breeze?"
TEXTS = ["It rained in Rome. Nobody sang.", "Seals sang Summer Breeze. A hit.", "Rome is a city."]


@pytest.fixture
def url(serve, system):
    """A server that wants a token."""
    return serve(create_app({"nearest": system}, settings=Settings(tokens=(TOKEN,))))


@pytest.mark.parametrize("version", ["Client", "ClientV2", "AsyncClient", "AsyncClientV2"])
def test_coheres_client_is_served(url, version):
    """By its base URL and a token as its key; its errors carry ours."""
    cohere = pytest.importorskip("cohere")
    client = getattr(cohere, version)(api_key=TOKEN, base_url=url)

    def rerank(query=QUESTION, **options):
        reply = client.rerank(model="rerank-v5.0-pro", query=query, documents=TEXTS, **options)
        return asyncio.run(reply) if version.startswith("Async") else reply

    two = version.endswith("V2")
    reply = rerank(top_n=2, **({"max_tokens_per_doc": 4096} if two else {"max_chunks_per_doc": 9}))

    assert [1, 0] == [one.index for one in reply.results]
    assert 1 >= reply.results[0].relevance_score > reply.results[1].relevance_score >= 0
    assert ("2" if two else "1") == reply.meta.api_version.version
    assert two == (not reply.meta.warnings)


def test_coheres_client_reads_spans(url):
    """In its own types; a field or a query that breaks a rule raises what its server's would."""
    cohere = pytest.importorskip("cohere", minversion="7")
    client = cohere.ClientV2(api_key=TOKEN, base_url=url)
    asked = {"model": "nearest", "query": QUESTION, "documents": TEXTS}
    spans = cohere.RerankRelevantSpans(mode="enabled", threshold=0.2, max_spans=1)
    best = client.rerank(**asked, relevant_spans=spans).results[0]
    (span,) = best.relevant_spans

    assert "Seals sang Summer Breeze." == TEXTS[best.index][span.start : span.end] == span.text
    assert span.score == pytest.approx(best.relevance_score)
    extra = {"additional_body_parameters": {"top_k": 2}}
    for wrong, why in (({"query": " "}, "must not be"), ({"request_options": extra}, "top_k")):
        with pytest.raises(cohere.UnprocessableEntityError, match=why):
            client.rerank(**{**asked, **wrong})


@pytest.mark.parametrize(
    ("provider", "path"),
    {
        "cohere": "",
        "jina_ai": "/v1",
        "hosted_vllm": "",
        "huggingface": "",
        "infinity": "/infinity",
    }.items(),
)
@pytest.mark.slow  # its import takes seconds
@pytest.mark.filterwarnings("ignore")  # its own
def test_litellm_is_served(url, provider, path):
    """As each of its providers that ranks."""
    litellm = pytest.importorskip("litellm")
    asked = {"query": QUESTION, "documents": TEXTS, "top_n": 2, "return_documents": True}
    where = {"model": f"{provider}/nearest", "api_base": url + path, "api_key": TOKEN}
    best = litellm.rerank(**asked, **where).results[0]

    assert 1 == best["index"] and 1 >= best["relevance_score"] > 0
    assert TEXTS[1] == best["document"]["text"]


def test_langchains_class_is_served(url):
    """Documents come back with their scores."""
    module = pytest.importorskip("langchain_cohere")
    ranker = module.CohereRerank(base_url=url, cohere_api_key=TOKEN, model="nearest", top_n=2)
    ranks = ranker.rerank(TEXTS, QUESTION, max_tokens_per_doc=512)

    assert [1, 0] == [one["index"] for one in ranks]


@pytest.mark.parametrize(
    ("module", "name", "options"),
    [
        ("cohere_rerank", "CohereRerank", {"api_key": TOKEN}),
        ("jinaai_rerank", "JinaRerank", {"api_key": TOKEN, "path": "/v1"}),
        ("tei_rerank", "TextEmbeddingInference", {"auth_token": f"Bearer {TOKEN}"}),
    ],
)
def test_llama_indexs_classes_are_served(url, module, name, options):
    """As postprocessors of nodes."""
    made = pytest.importorskip(f"llama_index.postprocessor.{module}")
    schema = pytest.importorskip("llama_index.core.schema")
    address = url + options.pop("path", "")
    ranker = getattr(made, name)(top_n=2, base_url=address, **options)
    nodes = [schema.NodeWithScore(node=schema.TextNode(text=text)) for text in TEXTS]
    best = ranker.postprocess_nodes(nodes, query_str=QUESTION)

    assert [TEXTS[1], TEXTS[0]] == [one.node.text for one in best]
    assert 1 >= best[0].score > best[1].score >= 0


def test_haystacks_class_is_served(url, monkeypatch):
    """As a component."""
    cohere = pytest.importorskip("haystack_integrations.components.rankers.cohere")
    from haystack import Document

    monkeypatch.setenv("COHERE_API_KEY", TOKEN)
    ranker = cohere.CohereRanker(model="nearest", top_k=2, api_base_url=url)
    ranker.warm_up()
    documents = [Document(content=text) for text in TEXTS]
    best = ranker.run(query=QUESTION, documents=documents)["documents"]

    assert [TEXTS[1], TEXTS[0]] == [one.content for one in best]
