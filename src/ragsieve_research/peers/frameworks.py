"""LangChain's and LlamaIndex's own filters: what people would use instead, on the same models.

Each runs as its framework's documents say, on what was retrieved, at the same budget of tokens.
What goes wrong is not put right: where a filter raises, the question fails; what it invents is
read, marked as written; what it repeats is read twice. The trace counts it; see
`ragsieve_research.peers.filters.base.Peer`.
"""

from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system


@system("langchain-embeddings-filter", needs="embedder")
def langchain_embeddings_filter(llm: LLM, embedder: Embedder, *, k: int | None = 20) -> System:
    """Keep the 20 documents nearest to the question, as LangChain's EmbeddingsFilter does it.

    Args:
        llm: The generator.
        embedder: Its embeddings.
        k: So many stay at most; all where None.

    Raises:
        InputError: If an option breaks its rule.
        MissingExtra: If LangChain is not installed.

    Source: ``EmbeddingsFilter`` of langchain-classic 1.0.8, with its defaults.
    """
    from ragsieve_research.peers.filters import langchain

    return System(Pipeline(langchain.EmbeddingsFilter(embedder, k)), Reader(llm))


@system("langchain-redundant-filter", needs="embedder")
def langchain_redundant_filter(llm: LLM, embedder: Embedder) -> System:
    """Keep documents but near-duplicates, as LangChain's EmbeddingsRedundantFilter does it.

    Args:
        llm: The generator.
        embedder: Its embeddings.

    Raises:
        MissingExtra: If LangChain is not installed.

    Source: ``EmbeddingsRedundantFilter`` of langchain-community 0.4.2, with its default, 0.95.
    """
    from ragsieve_research.peers.filters import langchain

    return System(Pipeline(langchain.EmbeddingsRedundantFilter(embedder)), Reader(llm))


@system("langchain-llm-filter", needs="LLM")
def langchain_llm_filter(llm: LLM, *, judge: LLM | None = None) -> System:
    """Keep the documents an LLM says YES to, as LangChain's LLMChainFilter does it.

    It raises where one reply of any document has neither YES nor NO as a word, or both.

    Args:
        llm: The generator.
        judge: Says YES or NO; ``llm`` where None.

    Raises:
        MissingExtra: If LangChain is not installed.

    Source: ``LLMChainFilter`` of langchain-classic 1.0.8, with its prompt.
    """
    from ragsieve_research.peers.filters import langchain

    return System(Pipeline(langchain.LLMChainFilter(judge or llm)), Reader(llm))


@system("langchain-llm-extractor", needs="LLM")
def langchain_llm_extractor(llm: LLM, *, extractor: LLM | None = None) -> System:
    """Keep what an LLM writes as the relevant parts, as LangChain's LLMChainExtractor does it.

    Args:
        llm: The generator.
        extractor: Writes; ``llm`` where None.

    Raises:
        MissingExtra: If LangChain is not installed.

    Source: ``LLMChainExtractor`` of langchain-classic 1.0.8, with its prompt.
    """
    from ragsieve_research.peers.filters import langchain

    return System(Pipeline(langchain.LLMChainExtractor(extractor or llm)), Reader(llm))


@system("llama-index-sentence-optimizer", needs="embedder")
def llama_index_sentence_optimizer(
    llm: LLM,
    embedder: Embedder,
    *,
    percentile_cutoff: float = 0.5,
    context: int | None = None,
) -> System:
    """Keep the nearest half of each document's sentences with neighbours, as LlamaIndex does it.

    Each comes with its neighbours, and a neighbour of two comes twice: a text may grow.

    Args:
        llm: The generator.
        embedder: Its embeddings.
        percentile_cutoff: Share of a document's sentences that are taken; their guide has 0.5.
        context: Neighbours on each side; its default, 1, where None.

    Raises:
        InputError: If an option breaks its rule.
        MissingExtra: If LlamaIndex is not installed.

    Source: ``SentenceEmbeddingOptimizer`` of llama-index-core 0.14.25.
    Differs: Titles are hidden from it, as it would write them into the text.
    """
    from ragsieve_research.peers.filters import llama_index

    stage = llama_index.SentenceEmbeddingOptimizer(embedder, percentile_cutoff, context)
    return System(Pipeline(stage), Reader(llm))


@system("llama-index-llm-rerank", needs="LLM")
def llama_index_llm_rerank(llm: LLM, *, judge: LLM | None = None, top_n: int = 10) -> System:
    """Keep the documents an LLM names, by relevance, as LlamaIndex's LLMRerank does it.

    Args:
        llm: The generator.
        judge: Names them; ``llm`` where None.
        top_n: So many stay at most; at least 1.

    Raises:
        InputError: If an option breaks its rule.
        MissingExtra: If LlamaIndex is not installed.

    Source: ``LLMRerank`` of llama-index-core 0.14.25, with its prompt for chat models and defaults.
    """
    from ragsieve_research.peers.filters import llama_index

    return System(Pipeline(llama_index.LLMRerank(judge or llm, top_n)), Reader(llm))
