"""Routes that rank documents, as Cohere's, Jina's, vLLM's and Text Embeddings Inference's do."""

import uuid
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from ragsieve.adapter import probability
from ragsieve.documents import documents_and_places
from ragsieve.rerank import ranked, raw, relevant_spans, shortened
from ragsieve.result import Result
from ragsieve.server import shapes
from ragsieve.server.faults import Fault, as_headers, json_response, valid
from ragsieve.server.rerank_shapes import RerankIn, TextsIn, ignored
from ragsieve.server.routes import REFUSALS
from ragsieve.server.service import Service, plain_documents
from ragsieve.server.strict import StrictRoute
from ragsieve.timeouts import check_time, deadline


def reranks(service: Service) -> APIRouter:
    """The routes that rank whole documents, and what tells clients of them what is served."""
    router = APIRouter(route_class=StrictRoute, responses=REFUSALS)

    async def reply(body: RerankIn, api: str, *, whole: bool, bare: bool = False) -> Response:
        service.check_documents(body.documents)
        lenient = not service.settings.strict_models and body.model not in service.systems
        name = service.named(None if lenient else body.model)
        values = partial(_reply, service, name, body, api, whole=whole, bare=bare)
        return await service.respond(values)

    @router.post("/v1/rerank", responses=shapes.replies("/v1/rerank"))
    async def rerank(body: RerankIn) -> Response:
        """All documents ranked, as clients of Cohere, Jina and vLLM ask.

        `results` are best first, with scores in [0, 1], documents dropped behind the others, and
        where asked for `relevant_spans` (in Unicode code points), the best first. `answerable` is
        the probability that some document answers; null where nothing tells it.
        `meta.warnings` names the fields of the request that are ignored. Also at `/v2/rerank`,
        where fields that are none of Cohere's are refused, and at `/rerank`, where documents come
        back unasked as vLLM's do, and `texts` is answered as Text Embeddings Inference does.
        """
        return await reply(body, "1", whole=(body.model or "").startswith("jina"))

    @router.post("/v2/rerank", include_in_schema=False)
    async def rerank_strictly(body: RerankIn) -> Response:
        if body.unknown:
            why = f"unknown field: parameter {body.unknown[0]!r:.80} is not a valid field"
            raise Fault(422, "unknown_field", why)
        return await reply(body, "2", whole=False)

    @router.post("/infinity/rerank", response_model=None, include_in_schema=False)
    async def rerank_infinity(body: RerankIn) -> Response:
        return await reply(body, "1", whole=False, bare=True)

    @router.post("/rerank", response_model=None, include_in_schema=False)
    async def rerank_any(body: dict[str, Any]) -> Response:
        if "texts" not in body or "documents" in body:
            return await reply(valid(RerankIn, body, "body"), "2", whole=True)
        try:
            if isinstance(body["texts"], list):
                service.check_documents(body["texts"])
            texts = valid(TextsIn, body, "body")
            return await service.work.run(lambda: _texts_reply(service, texts))
        except Fault as fault:
            return _texts_fault(fault)

    @router.get("/info", responses=shapes.replies("/info"))
    async def info() -> Response:
        """The default system, as Text Embeddings Inference tells of a reranker."""
        return json_response(_info(service))

    return router


def _reply(
    service: Service, name: str, body: RerankIn, api: str, *, whole: bool, bare: bool
) -> dict[str, Any]:
    """The reply of Cohere, Jina, vLLM and, where documents are bare texts, Infinity.

    Each has its fields, and none minds the others'.
    """
    read = body.model_copy(update={"documents": _read(service, name, body)})
    result = service.run(service.systems[name], read)
    asked = body.spans
    spans = relevant_spans(result, asked.threshold, asked.max_spans) if asked else {}
    texts = [one if isinstance(one, str) else one.text for one in body.documents]
    whole = whole if body.return_documents is None else body.return_documents
    results: list[dict[str, Any]] = []
    for index, document, score in _ranked(result, read.documents)[: body.top_n or None]:
        score = raw(score) if body.use_activation is False else score
        results.append({"index": index, "relevance_score": score})
        if whole:
            results[-1]["document"] = texts[index] if bare else {"text": texts[index]}
        if document in spans:
            results[-1]["relevant_spans"] = spans[document]
    tokens = result.tokens.before
    about = {"api_version": {"version": api}, "billed_units": {"search_units": 1}}
    warnings = [*body.warnings, *result.trace.warnings]
    meta = {**about, "tokens": {"input_tokens": tokens}, "warnings": warnings}
    usage = {"total_tokens": tokens, "prompt_tokens": tokens}
    told = {"answerable": probability(result), "usage": usage, "meta": meta}
    return {"id": uuid.uuid4().hex, "model": name, "results": results, **told}


def _read(service: Service, name: str, body: RerankIn) -> Sequence[Any]:
    """Documents of a request, of each as many tokens as it allows."""
    most = body.max_tokens_per_doc
    if most is None:
        return body.documents

    def count(texts: list[str]) -> list[int]:
        check_time(deadline())
        return service.systems[name].reader.count(texts)

    cut = partial(shortened, max_tokens=most, count=count)
    plain: list[Any] = plain_documents(body.documents)
    return [cut(d) if isinstance(d, str) else {**d, "text": cut(d["text"])} for d in plain]


def _ranked(result: Result, documents: Sequence[Any]) -> list[tuple[int, str, float]]:
    """Of each document of a request, best first: its place, its id in the result, its score."""
    _, places = documents_and_places(plain_documents(documents))
    return [(n, result.documents[places[n]].id, score) for n, score in ranked(result, places)]


def _texts_reply(service: Service, body: TextsIn) -> Response:
    """The reply of Text Embeddings Inference, a bare list, with a header for what was ignored."""
    result = service.run(service.systems[service.named(None)], body)
    ranks: list[dict[str, Any]] = []
    for index, _, score in _ranked(result, body.texts):
        ranks.append({"index": index, "score": raw(score) if body.raw_scores else score})
        if body.return_text:
            ranks[-1]["text"] = body.texts[index]
    lines = "; ".join([*ignored(body.model_extra), *result.trace.warnings])
    told = {"X-Ragsieve-Ignored": lines, "X-Ragsieve-Answerable": probability(result)}
    return json_response(ranks, headers=as_headers(told))


def _texts_fault(fault: Fault) -> Response:
    kind = "validation" if fault.status_code < 500 else "backend"
    kind = "overloaded" if fault.status_code in (429, 503) else kind
    values = {"error": fault.values["error"]["message"], "error_type": kind}
    return json_response(values, fault.status_code, fault.headers)


def _info(service: Service) -> dict[str, Any]:
    """The example of the OpenAPI document with this server's own values."""
    limits = service.settings.limits
    return {
        **shapes.OPENAPI["examples"]["/info"],
        **{"model_id": service.named(None), "version": version("ragsieve")},
        **dict.fromkeys(("max_input_length", "max_batch_tokens"), limits.max_tokens),
        "max_concurrent_requests": limits.workers + limits.queue,
        "max_client_batch_size": limits.max_documents,
        "tokenization_workers": limits.workers,
    }
