"""`ragsieve.load` for type checkers: what `python tools/typed.py` writes.

With options, a name has to be one of these, or a folder's path; `ragsieve.spec.load` takes any
string with any options, as of another package's system.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, overload

from ragsieve.models.base import LLM, CrossEncoder, ListwiseReranker, TokenClassifier
from ragsieve.models.sharing import Share
from ragsieve.pipeline import Pipeline, Stage
from ragsieve.retriever import AnySource
from ragsieve.select.cut import Cut
from ragsieve.system import System
from ragsieve_research.answer.critic import Judge

class SystemOptions(TypedDict, total=False):
    max_tokens: int | None
    max_chars: int | None
    max_tokens_per_document: int | None
    max_chars_per_document: int | None
    max_share: float | None
    mark: str
    json_as: Literal["closed", "paths"]
    file_names: Literal["shown", "hidden"]
    compact: bool

class FinefilterOnePassOptions(SystemOptions, total=False):
    keep_answer: float
    min_score: float | None
    cut: Cut | None
    min_keep: int
    min_answerable: float
    order: Literal["document", "score", "ends"]
    distinct: bool
    first_look: int | None

class FinefilterOptions(SystemOptions, total=False):
    extractor: LLM | None
    reranker: CrossEncoder | Literal["cosine", "bm25", "none"]
    truncator: LLM | Cut | Literal["llm", "none"]
    mode: Literal["point", "write"]
    min_keep: int
    order: Literal["document", "score", "ends"]

class AdacompOptions(SystemOptions, total=False):
    predictor: LLM | None
    documents: int
    min_keep: int

class BottleneckOptions(SystemOptions, total=False):
    writer: LLM | None
    documents: int

class ChunkragOptions(SystemOptions, total=False):
    critic: LLM | None
    reranker: CrossEncoder | None
    k: int
    rating: Literal["scale", "likelihood"]
    calibration: str
    threshold: Literal["llm", "statistics"] | float

class CompactOptions(SystemOptions, total=False):
    writer: LLM | None
    documents: int
    together: int

class CoveOptions(SystemOptions, total=False):
    documents: int

class CpcOptions(SystemOptions, total=False):
    rate: float

class CragOptions(SystemOptions, total=False):
    evaluator: CrossEncoder | LLM | Pipeline | None
    fallback: AnySource | None
    rewrite: bool
    upper: float | None
    lower: float | None
    min_score: float | None
    k: int

class ExitSentencesOptions(SystemOptions, total=False):
    extractor: LLM | None
    min_score: float
    min_keep: int
    window: int
    wording: Literal["own", "published"]

class FilcoOptions(SystemOptions, total=False):
    extractor: LLM | None
    documents: int
    min_keep: int

class FilcoLexicalOptions(SystemOptions, total=False):
    documents: int
    k: int

class HydeOptions(SystemOptions, total=False):
    prune: str | Stage | None
    k: int

class IclOptions(SystemOptions, total=False):
    prune: str | Stage | None
    shots: int
    examples: str

class InstructragIclOptions(SystemOptions, total=False):
    prune: str | Stage | None
    shots: int
    examples: str

class IrcotOptions(SystemOptions, total=False):
    prune: str | Stage | None
    sentences: int
    passages: int
    k: int

class IterRetgenOptions(SystemOptions, total=False):
    prune: str | Stage | None
    iterations: int
    k: int

class LlmlinguaOptions(SystemOptions, total=False):
    pruner: LLM | None
    rate: float
    coarse: float

class Llmlingua2Options(SystemOptions, total=False):
    classifier: TokenClassifier | None
    rate: float
    force: str
    digits: bool
    pool: Literal["mean", "first"]

class LongllmlinguaOptions(SystemOptions, total=False):
    pruner: LLM | None
    rate: float
    coarse: float
    spread: float
    order: Literal["document", "score", "ends"]

class LongrefinerOptions(SystemOptions, total=False):
    predictor: LLM | None
    writer: LLM | None
    extractor: LLM | None
    reranker: CrossEncoder | None

class PairwiseRankingPromptingOptions(SystemOptions, total=False):
    ranker: LLM | None
    pairs: Literal["sliding", "all"]
    k: int

class PeRankOptions(SystemOptions, total=False):
    ranker: ListwiseReranker | None
    k: int
    window: int
    step: int

class ProvenceOptions(SystemOptions, total=False):
    reranker: CrossEncoder | None
    k: int
    min_score: float | None
    min_keep: int

class PruningragOptions(SystemOptions, total=False):
    pages: Literal["few", "many", "hybrid", "sparse"]
    window: int
    k: int
    examples: int
    cot: bool | None
    domain: str

class RaIsfOptions(SystemOptions, total=False):
    prune: str | Stage | None
    depth: int
    k: int

class RankgptOptions(SystemOptions, total=False):
    ranker: LLM | ListwiseReranker | None
    mode: Literal["write", "first"]
    k: int
    window: int
    step: int

class TopSentencesOptions(SystemOptions, total=False):
    documents: int | None
    k: int
    reranker: CrossEncoder | None

class RecompAbstractiveOptions(SystemOptions, total=False):
    writer: LLM | None
    documents: int

class RewriteRetrieveReadOptions(SystemOptions, total=False):
    prune: str | Stage | None
    k: int

class RichragOptions(SystemOptions, total=False):
    prune: str | Stage | None
    ranker: LLM | ListwiseReranker | None
    aspects: int
    k: int
    keep: int

class SailOptions(SystemOptions, total=False):
    pass

class SelectiveContextOptions(SystemOptions, total=False):
    pruner: LLM | None
    unit: Literal["sentence", "phrase", "token"]
    percent: float
    per: Literal["sum", "mean"]

class SelfAskOptions(SystemOptions, total=False):
    prune: str | Stage | None
    follow_ups: int
    k: int

class SelfCragOptions(SystemOptions, total=False):
    reflection: Literal["tokens", "prompted"]
    k: int

class SelfRagOptions(SystemOptions, total=False):
    prune: str | Stage | None
    reflection: Literal["tokens", "prompted"]
    beam: int
    depth: int
    threshold: float
    k: int

class WinnowragOptions(SystemOptions, total=False):
    critic: LLM | Judge | None
    documents: int
    clusters: int
    rounds: int
    max_calls: int | None
    max_llm_tokens: int | None
    max_seconds: float | None

class TopDocumentsOptions(SystemOptions, total=False):
    k: int | None

class NearestDocumentsOptions(SystemOptions, total=False):
    k: int
    reranker: CrossEncoder | None

@overload
def load(
    name: Literal["finefilter"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: FinefilterOnePassOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep what the answer may need, as often as promised, by one reading of each passage."""

@overload
def load(
    name: Literal["finefilter-point"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: FinefilterOptions | None = None,
    share: Share = ...,
) -> System:
    """Have an LLM name clue sentences by number; rank them, keep the fewest that answer."""

@overload
def load(
    name: Literal["finefilter-write"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: FinefilterOptions | None = None,
    share: Share = ...,
) -> System:
    """The same as printed in the paper: clues are written out, and read best first."""

@overload
def load(
    name: Literal["adacomp"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: AdacompOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep as many of the first 5 documents as an LLM says that the question needs."""

@overload
def load(
    name: Literal["bottleneck"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: BottleneckOptions | None = None,
    share: Share = ...,
) -> System:
    """Have a model copy out or write what the answer needs; keep nothing where it writes nothing."""

@overload
def load(
    name: Literal["chunkrag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: ChunkragOptions | None = None,
    share: Share = ...,
) -> System:
    """Have an LLM and a critic rate semantic chunks; keep those above a threshold for the scores."""

@overload
def load(
    name: Literal["chunkrag-likelihood"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: ChunkragOptions | None = None,
    share: Share = ...,
) -> System:
    """ChunkRAG for small LLMs: chunks are rated by how probable they make the question."""

@overload
def load(
    name: Literal["compact"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: CompactOptions | None = None,
    share: Share = ...,
) -> System:
    """Have a model sum up five documents after another, until its summary can answer."""

@overload
def load(
    name: Literal["cove"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: CoveOptions | None = None,
    share: Share = ...,
) -> System:
    """Check the answer by questions, each answered without sight of it, then answer again."""

@overload
def load(
    name: Literal["cpc"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: CpcOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the sentences nearest to the question, each embedded within its document."""

@overload
def load(
    name: Literal["crag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: CragOptions | None = None,
    share: Share = ...,
) -> System:
    """Judge the documents; cut right ones to their best strips, look elsewhere for wrong ones."""

@overload
def load(
    name: Literal["exit"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: ExitSentencesOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the sentences of which an LLM says Yes, each read in its document."""

@overload
def load(
    name: Literal["filco"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: FilcoOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the sentences that a filter model writes out of the documents, each where it stands."""

@overload
def load(
    name: Literal["filco-lexical"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: FilcoLexicalOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the sentence that shares most words with the question."""

@overload
def load(
    name: Literal["hyde"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: HydeOptions | None = None,
    share: Share = ...,
) -> System:
    """Search by a passage that the model makes up as the answer."""

@overload
def load(
    name: Literal["icl"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: IclOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep every document whole, after worked questions with their answers."""

@overload
def load(
    name: Literal["instructrag-ft"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: InstructragIclOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep every document whole, for an LLM of `train generator --target rationale`."""

@overload
def load(
    name: Literal["instructrag-icl"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: InstructragIclOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep every document whole; the model says which help before it answers, after examples."""

@overload
def load(
    name: Literal["ircot"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: IrcotOptions | None = None,
    share: Share = ...,
) -> System:
    """Search by each sentence of a chain of thought, and reason on from what is found."""

@overload
def load(
    name: Literal["iter-retgen"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: IterRetgenOptions | None = None,
    share: Share = ...,
) -> System:
    """Search by the question, then by the answer so far with the question, three times."""

@overload
def load(
    name: Literal["llmlingua"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: LlmlinguaOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the tokens that a language model does not expect, whatever is asked."""

@overload
def load(
    name: Literal["llmlingua-2"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: Llmlingua2Options | None = None,
    share: Share = ...,
) -> System:
    """Keep the words that an encoder calls worth keeping, whatever is asked."""

@overload
def load(
    name: Literal["longllmlingua"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: LongllmlinguaOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep documents that make the question expected, and of them the tokens it explains."""

@overload
def load(
    name: Literal["longrefiner"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: LongrefinerOptions | None = None,
    share: Share = ...,
) -> System:
    """Outline long documents, and keep the parts that their titles and paragraphs speak for."""

@overload
def load(
    name: Literal["pairwise-ranking-prompting"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: PairwiseRankingPromptingOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the first 5 documents in an order that an LLM gives them by comparing two at a time."""

@overload
def load(
    name: Literal["pe-rank"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: PeRankOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the first 5 documents in the order of a model that reads each as one vector."""

@overload
def load(
    name: Literal["provence"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: ProvenceOptions | None = None,
    share: Share = ...,
) -> System:
    """Rank documents and prune their sentences by one pass of a cross-encoder."""

@overload
def load(
    name: Literal["pruningrag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: PruningragOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the 3 best windows of each source that was asked; reason after worked examples."""

@overload
def load(
    name: Literal["ra-isf"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: RaIsfOptions | None = None,
    share: Share = ...,
) -> System:
    """Answer what the model knows, else from passages that help, else by sub-questions."""

@overload
def load(
    name: Literal["rankgpt"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: RankgptOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the first 5 documents in the order that the LLM gives them, 20 at a time."""

@overload
def load(
    name: Literal["recomp"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: TopSentencesOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the sentence nearest to the question by a bi-encoder: `ragsieve train recomp` tunes one."""

@overload
def load(
    name: Literal["top-sentences"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: TopSentencesOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the 5 sentences nearest to the question by embedding, as they stand in the text."""

@overload
def load(
    name: Literal["recomp-abstractive"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: RecompAbstractiveOptions | None = None,
    share: Share = ...,
) -> System:
    """Have a model sum up the documents for the question; keep nothing where it writes nothing."""

@overload
def load(
    name: Literal["rewrite-retrieve-read"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: RewriteRetrieveReadOptions | None = None,
    share: Share = ...,
) -> System:
    """Search by the question in the model's words; read with its own."""

@overload
def load(
    name: Literal["richrag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: RichragOptions | None = None,
    share: Share = ...,
) -> System:
    """Search by each aspect of the question, and keep the 10 results that cover them together."""

@overload
def load(
    name: Literal["sail"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SailOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep every document whole, for an LLM of `train generator --target informative`."""

@overload
def load(
    name: Literal["selective-context"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SelectiveContextOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep noun phrases and words that a language model expects less than half of all."""

@overload
def load(
    name: Literal["self-ask"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SelfAskOptions | None = None,
    share: Share = ...,
) -> System:
    """Ask up to 5 follow-up questions, look each up, then answer."""

@overload
def load(
    name: Literal["self-crag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SelfCragOptions | None = None,
    share: Share = ...,
) -> System:
    """Self-rag on what crag makes of each search."""

@overload
def load(
    name: Literal["self-crag-prompted"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SelfCragOptions | None = None,
    share: Share = ...,
) -> System:
    """The same for any LLM: it is prompted for each judgement."""

@overload
def load(
    name: Literal["self-rag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SelfRagOptions | None = None,
    share: Share = ...,
) -> System:
    """Retrieve on demand, sentence by sentence, by a model with reflection tokens."""

@overload
def load(
    name: Literal["self-rag-prompted"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: SelfRagOptions | None = None,
    share: Share = ...,
) -> System:
    """The same for any LLM: it is prompted for each judgement."""

@overload
def load(
    name: Literal["winnowrag"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: WinnowragOptions | None = None,
    share: Share = ...,
) -> System:
    """Let clusters of documents answer, a critic winnow; keep those of the answer that stands."""

@overload
def load(
    name: Literal["all"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: TopDocumentsOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep every document whole."""

@overload
def load(
    name: Literal["closed-book"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: TopDocumentsOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep no document: the model by itself."""

@overload
def load(
    name: Literal["top-documents"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: TopDocumentsOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the first 5 documents as they were retrieved, whole."""

@overload
def load(
    name: Literal["nearest-documents"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: NearestDocumentsOptions | None = None,
    share: Share = ...,
) -> System:
    """Keep the 5 documents nearest to the question by embedding, or best by a cross-encoder."""

@overload
def load(
    name: Path,
    llm: Any = None,
    embedder: Any = None,
    *,
    options: Mapping[str, Any] | None = None,
    share: Share = ...,
) -> System:
    """A trained filter's folder."""

@overload
def load(
    name: str,
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    share: Share = ...,
) -> System:
    """A system, or a trained filter: a folder or a hub id."""
