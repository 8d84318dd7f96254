"""Every system by its name: a row of `SYSTEMS` each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from typing import Any

from ragsieve.pipeline import System
from ragsieve.systems.baselines import (
    all_documents,
    closed_book,
    nearest_documents,
    oracle,
    top_documents,
    top_sentences,
)
from ragsieve.systems.bottleneck import bottleneck
from ragsieve.systems.chunkrag import chunkrag
from ragsieve.systems.corrective import crag, self_crag
from ragsieve.systems.demonstrated import icl, instructrag_icl, sail
from ragsieve.systems.exit import exit_sentences
from ragsieve.systems.filco import filco, filco_cxmi, filco_lexical, filco_strinc
from ragsieve.systems.finefilter import finefilter, finefilter_one_pass
from ragsieve.systems.frameworks import hyde, iter_retgen, rewrite_retrieve_read
from ragsieve.systems.longllmlingua import llmlingua, longllmlingua
from ragsieve.systems.peers import (
    langchain_embeddings_filter,
    langchain_llm_extractor,
    langchain_llm_filter,
    langchain_redundant_filter,
    llama_index_llm_rerank,
    llama_index_sentence_optimizer,
)
from ragsieve.systems.provence import provence
from ragsieve.systems.pruningrag import pruningrag
from ragsieve.systems.rankgpt import pe_rank, rankgpt
from ragsieve.systems.recomp import recomp, recomp_abstractive
from ragsieve.systems.selective_context import selective_context
from ragsieve.systems.selfask import self_ask
from ragsieve.systems.selfrag import self_rag
from ragsieve.systems.winnowrag import winnowrag

ROLES = {"embedder": "embedder", "pruner": "sentence pruner"}
"""Models that systems may need beside a generator, by the name of the argument: their kind."""


@dataclass(frozen=True)
class Entry:
    """A system by name.

    Args:
        make: Makes it from a generator, then what ``needs`` names of `ROLES`; keywords are options.
        summary: What it does, in a line.
        needs: Models it runs before the generator reads.
        paper: Where it is from; empty for plain ones.
    """

    make: Callable[..., System]
    summary: str
    needs: str
    paper: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """Which models of `ROLES` it needs, in the order in which ``make`` takes them."""
        return tuple(role for role, kind in ROLES.items() if kind in self.needs.split(", "))

    @property
    def knows(self) -> bool:
        """Whether it is told the gold answers, which only a benchmark has."""
        return "gold answers" in self.needs.split(", ")

    @property
    def options(self) -> dict[str, Any]:
        """Its options by name, with their defaults; a source is none of them."""
        found = signature(self.make).parameters.values()
        keywords = [p for p in found if p.kind is Parameter.KEYWORD_ONLY]
        return {p.name: p.default for p in keywords if p.name != "source"}

    @property
    def searches(self) -> bool:
        """Whether it asks a source in a way of its own."""
        return "source" in signature(self.make).parameters


SYSTEMS: dict[str, Entry] = {
    "finefilter": Entry(
        finefilter_one_pass,
        "what the answer may need, as often as promised, by one reading of each passage",
        "sentence pruner",
        "arXiv 2502.11811v4",
    ),
    "finefilter-point": Entry(
        finefilter,
        "an untrained LLM names clue sentences by number, and how many of the ranked ones stay",
        "LLM, embedder",
        "arXiv 2502.11811v4",
    ),
    "finefilter-write": Entry(
        partial(finefilter, mode="write", order="score"),
        "the same as printed in the paper: clues are written out, and read best first",
        "LLM, embedder",
        "arXiv 2502.11811v4",
    ),
    "winnowrag": Entry(
        winnowrag,
        "clusters of documents answer, a critic winnows: the documents of the answer that stands",
        "LLM, embedder",
        "arXiv 2511.04700v1",
    ),
    "winnowrag-oracle": Entry(
        winnowrag,
        "the same with a critic that knows the gold answers; for `bench`",
        "LLM, embedder, gold answers",
        "arXiv 2511.04700v1",
    ),
    "chunkrag": Entry(
        chunkrag,
        "semantic chunks that an LLM and a critic rate, above a threshold made for the scores",
        "LLM, embedder",
        "arXiv 2410.19572",
    ),
    "chunkrag-likelihood": Entry(
        partial(chunkrag, rating="likelihood", threshold="statistics", rewrite=False),
        "the same for small LLMs: chunks are rated by how probable they make the question",
        "LLM, embedder",
        "arXiv 2410.19572",
    ),
    "pruningrag": Entry(
        pruningrag,
        "the 3 best windows of each source that was asked, read step by step after worked examples",
        "LLM, embedder",
        "arXiv 2409.13694",
    ),
    "hyde": Entry(
        hyde,
        "chunks found by a passage that the model makes up as the answer",
        "LLM, embedder",
        "arXiv 2212.10496",
    ),
    "rewrite-retrieve-read": Entry(
        rewrite_retrieve_read,
        "chunks found by the question in the model's words",
        "LLM, embedder",
        "arXiv 2305.14283",
    ),
    "iter-retgen": Entry(
        iter_retgen,
        "chunks found by the answer so far with the question, three times",
        "LLM, embedder",
        "arXiv 2305.15294",
    ),
    "self-ask": Entry(
        self_ask,
        "the model asks up to 5 follow-up questions, each is looked up, then it answers",
        "LLM, embedder",
        "arXiv 2210.03350",
    ),
    "self-rag": Entry(
        self_rag,
        "retrieval on demand, sentence by sentence, by a model with reflection tokens",
        "LLM, embedder",
        "arXiv 2310.11511",
    ),
    "self-rag-prompted": Entry(
        partial(self_rag, reflection="prompted"),
        "the same for any LLM: it is prompted for each judgement",
        "LLM, embedder",
        "arXiv 2310.11511",
    ),
    "crag": Entry(
        crag,
        "documents are judged: right ones are cut to their best strips, wrong ones replaced",
        "embedder",
        "arXiv 2401.15884",
    ),
    "self-crag": Entry(
        self_crag,
        "self-rag on what crag makes of each search",
        "LLM, embedder",
        "arXiv 2401.15884",
    ),
    "self-crag-prompted": Entry(
        partial(self_crag, reflection="prompted"),
        "the same for any LLM: it is prompted for each judgement",
        "LLM, embedder",
        "arXiv 2401.15884",
    ),
    "rankgpt": Entry(
        rankgpt,
        "the first 5 documents in the order that the LLM gives them, 20 at a time",
        "LLM",
        "arXiv 2304.09542",
    ),
    "pe-rank": Entry(
        pe_rank,
        "the same by a model that reads each document as one vector",
        "listwise reranker",
        "arXiv 2406.14848",
    ),
    "recomp": Entry(
        recomp,
        "the sentence nearest to the question by a bi-encoder: `ragsieve train recomp` tunes one",
        "embedder",
        "arXiv 2310.04408",
    ),
    "recomp-abstractive": Entry(
        recomp_abstractive,
        "a summary that a model writes for the question; nothing where it writes nothing",
        "LLM",
        "arXiv 2310.04408",
    ),
    "filco": Entry(
        filco,
        "the sentences that a filter model writes out of the documents",
        "LLM",
        "arXiv 2311.08377",
    ),
    "filco-lexical": Entry(
        filco_lexical,
        "the sentence that shares most words with the question",
        "nothing",
        "arXiv 2311.08377",
    ),
    "filco-strinc": Entry(
        filco_strinc,
        "the first sentence with a gold answer; for `bench`",
        "gold answers",
        "arXiv 2311.08377",
    ),
    "filco-cxmi": Entry(
        filco_cxmi,
        "the sentence that makes the gold answer likeliest; for `bench`",
        "LLM, gold answers",
        "arXiv 2311.08377",
    ),
    "longllmlingua": Entry(
        longllmlingua,
        "documents that make the question expected, and of them the tokens it explains",
        "LLM",
        "arXiv 2310.06839",
    ),
    "llmlingua": Entry(
        llmlingua,
        "the tokens that a language model does not expect, whatever is asked",
        "LLM",
        "arXiv 2310.05736",
    ),
    "selective-context": Entry(
        selective_context,
        "noun phrases and words that a language model expects less than half of all",
        "LLM",
        "arXiv 2310.06201",
    ),
    "exit": Entry(
        exit_sentences,
        "sentences of which an LLM says Yes, each read in its document",
        "LLM",
        "arXiv 2412.12559",
    ),
    "provence": Entry(
        provence,
        "documents ranked and sentences pruned by one pass of a cross-encoder",
        "sentence pruner",
        "arXiv 2501.16214",
    ),
    "top-sentences": Entry(
        top_sentences, "the 5 sentences nearest to the question by embedding", "embedder"
    ),
    "top-documents": Entry(top_documents, "the first 5 documents as retrieved", "nothing"),
    "nearest-documents": Entry(
        nearest_documents,
        "the 5 documents nearest to the question by embedding, or best by a cross-encoder",
        "embedder",
    ),
    "icl": Entry(
        icl,
        "every document whole, after worked questions with their answers",
        "nothing",
        "arXiv 2406.13629",
    ),
    "instructrag-icl": Entry(
        instructrag_icl,
        "every document whole; the model says which help before it answers, after worked examples",
        "nothing",
        "arXiv 2406.13629",
    ),
    "all": Entry(all_documents, "every document whole", "nothing"),
    "closed-book": Entry(closed_book, "no document: the model by itself", "nothing"),
    "bottleneck": Entry(
        bottleneck,
        "what a filter model copies out or writes for the answer; nothing where it writes nothing",
        "LLM",
        "arXiv 2406.01549",
    ),
    "instructrag-ft": Entry(
        partial(instructrag_icl, shots=0),
        "every document whole, for an LLM of `train generator --target rationale`",
        "nothing",
        "arXiv 2406.13629",
    ),
    "sail": Entry(
        sail,
        "every document whole, for an LLM of `train generator --target informative`",
        "nothing",
        "arXiv 2305.15225",
    ),
    "langchain-embeddings-filter": Entry(
        langchain_embeddings_filter,
        "the 20 documents nearest to the question, as LangChain's EmbeddingsFilter does it",
        "embedder",
    ),
    "langchain-redundant-filter": Entry(
        langchain_redundant_filter,
        "documents but near-duplicates, as LangChain's EmbeddingsRedundantFilter does it",
        "embedder",
    ),
    "langchain-llm-filter": Entry(
        langchain_llm_filter,
        "the documents an LLM says YES to, as LangChain's LLMChainFilter does it",
        "LLM",
    ),
    "langchain-llm-extractor": Entry(
        langchain_llm_extractor,
        "what an LLM writes as the relevant parts, as LangChain's LLMChainExtractor does it",
        "LLM",
    ),
    "llama-index-sentence-optimizer": Entry(
        llama_index_sentence_optimizer,
        "the nearest half of each document's sentences with neighbours, as LlamaIndex does it",
        "embedder",
    ),
    "llama-index-llm-rerank": Entry(
        llama_index_llm_rerank,
        "the documents an LLM names, by relevance, as LlamaIndex's LLMRerank does it",
        "LLM",
    ),
    "oracle": Entry(oracle, "the sentences with a gold answer; for `bench`", "gold answers"),
}
