"""What requests and replies look like, with an example each: the OpenAPI document is made of it."""

from __future__ import annotations

from typing import Annotated, Any

from ragsieve.errors import MissingExtra

try:
    from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "pydantic", extra="serve") from error

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "Summer Breeze was sung by Seals and Crofts. It rained in Rome.",
    {"id": "rome", "title": "Rome", "text": "Rome is a city."},
]
_SPAN = {
    "document": "0",
    "start": 0,
    "end": 43,
    "text": "Summer Breeze was sung by Seals and Crofts.",
    "score": 0.93,
    "scores": {"clues": 0.93},
}
_RESULT = {
    "system": "finefilter",
    "query": QUESTION,
    "kept": [_SPAN],
    "text": _SPAN["text"],
    "tokens": {"before": 24, "after": 10},
}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _asked(value: Any) -> str:
    if not _text(value).strip():
        raise ValueError("must not be blank")
    return _text(value)


Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
"""Any string of JSON, lone surrogates included: documents hold what they hold."""

Asked = Annotated[
    str,
    PlainValidator(_asked),
    WithJsonSchema({"type": "string", "pattern": r"\S", "description": "The question; not blank."}),
]


def _shown(**example: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class DocumentIn(BaseModel):
    """A document; what it has beside these fields is metadata."""

    model_config = ConfigDict(extra="allow")
    text: Text
    id: Text | int | None = None
    title: Text | None = None
    source: Text | None = None
    metadata: dict[str, Any] | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """As `System.__call__` takes it."""
        return {**(self.model_extra or {}), **{k: getattr(self, k) for k in _FIELDS}}


_FIELDS = tuple(DocumentIn.model_fields)
DocumentsIn = list[Text | DocumentIn]


class FilterIn(BaseModel):
    """A question with its documents."""

    model_config = _shown(query=QUESTION, documents=DOCUMENTS, max_tokens=200)
    query: Asked
    documents: DocumentsIn | None = Field(
        None, description="Best first; none only where the system finds evidence by itself."
    )
    system: str | None = Field(None, description="One of `/v1/systems`; else the first of them.")
    max_tokens: int | None = Field(
        None, ge=0, lt=2**31, description="Budget of the context, in the generator's tokens."
    )
    keep_answer: float | None = Field(
        None,
        ge=0.8,
        le=0.99,
        strict=True,
        description="Probability that the answer survives, of systems that have this option.",
    )
    trace: bool = Field(True, description="Whether to say what every stage did and dropped.")


class AnswerIn(FilterIn):
    """The same, to be answered."""

    stream: bool = Field(
        False,
        description="Server-sent events: `kept` (the filter's result), `delta` (text of the answer;"
        " all at once from models that do not stream), `done`; or `error`.",
    )


class InspectIn(BaseModel):
    """A question for one or two systems, to be looked at."""

    model_config = _shown(query=QUESTION, documents=DOCUMENTS, systems=["finefilter"], ask=False)
    query: Asked
    documents: DocumentsIn | None = None
    systems: list[str] = Field(min_length=1, max_length=2)
    ask: bool = False


class RerankIn(BaseModel):
    """Cohere's and Jina's request."""

    model_config = _shown(model="finefilter", query=QUESTION, documents=DOCUMENTS, top_n=1)
    query: Asked
    documents: DocumentsIn
    model: str | None = Field(None, description="A system of `/v1/systems`; else the first.")
    top_n: int | None = Field(None, ge=1, lt=2**31, description="Results at most; else all.")
    return_documents: bool = False


class Span(BaseModel):
    """A verbatim span of a document: characters ``start`` to ``end``."""

    model_config = ConfigDict(extra="allow")
    document: str
    start: int
    end: int
    text: str
    score: float | None
    scores: dict[str, float]


class TokensOut(BaseModel):
    """Tokens of the context before and after."""

    before: int
    after: int


class FilterOut(BaseModel):
    """What was kept, in the order in which it is to be read."""

    model_config = _shown(**_RESULT)
    system: str
    query: str
    kept: list[Span]
    text: str
    tokens: TokensOut
    answerable: float | None = None
    trace: dict[str, Any] | None = None


class AnswerOut(FilterOut):
    """The same, with the answer."""

    model_config = _shown(**_RESULT, answer="Seals and Crofts")
    answer: str


class Ranked(BaseModel):
    """A document's place and score in [0, 1]."""

    index: int
    relevance_score: float
    document: dict[str, Any] | None = None


class RerankOut(BaseModel):
    """All documents, best first, those dropped behind those of which something was kept."""

    model_config = _shown(
        id="5f0c",
        model="finefilter",
        results=[{"index": 0, "relevance_score": 0.93}],
        usage={"total_tokens": 24},
        meta={"api_version": {"version": "2"}},
    )
    id: str
    model: str
    results: list[Ranked]
    usage: dict[str, int]
    meta: dict[str, Any]


class ViewsOut(BaseModel):
    """A view for each system, as the inspector's page shows it."""

    model_config = _shown(views=[{"name": "finefilter", "question": QUESTION}])
    views: list[dict[str, Any]]


class SystemOut(BaseModel):
    """A system that is served."""

    name: str
    summary: str


class SystemsOut(BaseModel):
    """Systems that are served, the default first."""

    model_config = _shown(systems=[{"name": "finefilter", "summary": "the fewest sentences …"}])
    systems: list[SystemOut]


class StatusOut(BaseModel):
    """How the server is."""

    model_config = _shown(status="ok")
    status: str


class Wrong(BaseModel):
    """What is wrong."""

    message: str
    type: str
    code: str


class ErrorOut(BaseModel):
    """Why a request was not served."""

    model_config = _shown(
        error={
            "message": "max_documents must be at most 1000, got 2000",
            "type": "invalid_request_error",
            "code": "too_many_documents",
        }
    )
    error: Wrong
