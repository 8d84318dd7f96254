"""Local models: each a row with its class, which is imported with the first model of it."""

from ragsieve.models import BACKENDS, Backend

_ENCODERS = "sentence_transformers"
_STORE = f"{__name__}.store"  # identities that need no torch
_TOLD = {"transformers": f"{_STORE}:llm_identity", _ENCODERS: f"{_STORE}:encoder_identity"}

for _prefix, _where, _kind, _calls in (
    ("transformers", "transformers:Transformers", "LLM", "complete choose loglik surprisals"),
    ("seq2seq", "seq2seq:Seq2Seq", "LLM", "complete choose loglik"),
    ("vllm", "vllm:VLLM", "LLM", ""),
    (_ENCODERS, f"{_ENCODERS}:SentenceTransformer", "embedder", "embed embed_spans"),
    ("cross_encoder", f"{_ENCODERS}:LocalCrossEncoder", "cross-encoder", "score"),
    ("dot", f"{_ENCODERS}:DotProduct", "cross-encoder", "embed embed_spans score"),
    ("crag", f"{_ENCODERS}:CRAGEvaluator", "cross-encoder", "score"),
    ("jina_bert", "jina_bert:JinaBert", "embedder", "embed"),
    ("provence", "provence:Provence", "sentence pruner", "prune score threshold"),
    ("pe_rank", "pe_rank:PERank", "listwise reranker", "rank"),
    ("token_classifier", "token_classifier:LocalTokenClassifier", "token classifier", "classify"),
):
    _own = frozenset(_calls.split()), _TOLD.get(_prefix, ""), f"{_STORE}:fetched"
    BACKENDS.register(_prefix, Backend(f"{__name__}.{_where}", _kind, *_own))

BACKENDS.register("smollm2", Backend(alias="transformers:smollm2"))
BACKENDS.register("minilm", Backend(alias=f"{_ENCODERS}:minilm"))
