"""Schemas of requests and replies, with examples; the OpenAPI document is made of them."""

from __future__ import annotations

import json
from importlib.resources import files
from inspect import cleandoc
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from ragsieve.read.web import page_text
from ragsieve.result import Tokens
from ragsieve.schema import argument_texts, hints_of, rule_of
from ragsieve.spec import SystemSpec
from ragsieve.system import Cuts

OPENAPI: dict[str, dict[str, Any]] = json.loads((files(__package__) / "openapi.json").read_bytes())
"""Examples by the name of a shape or of a route, and what a status of a refusal says."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _question(value: Any) -> str:
    if not _text(value).strip():
        raise ValueError("must not be blank")
    return _text(value)


STRICT = ConfigDict(extra="forbid", strict=True)
"""Unknown fields are refused, and values of other types."""
Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
"""Any string of JSON, lone surrogates included: documents hold what they hold."""

_QUESTION = {"type": "string", "pattern": r"\S", "description": "The question; not blank."}
QuestionText = Annotated[str, PlainValidator(_question), WithJsonSchema(_QUESTION)]


def with_example(name: str) -> ConfigDict:
    """Of a shape with an example, whose fields have the texts under ``Args:``."""

    def about(schema: dict[str, Any], shape: type[BaseModel]) -> None:
        schema["examples"] = [OPENAPI["examples"][name]]
        schema["description"] = cleandoc(shape.__doc__ or "").partition("\n\nArgs:")[0]
        for field, text in argument_texts(shape).items():
            schema["properties"][field]["description"] = text

    return ConfigDict(json_schema_extra=about)


def replies(route: str) -> dict[int | str, dict[str, Any]]:
    """Of a route whose reply an example alone shows."""
    return {200: {"content": {"application/json": {"example": OPENAPI["examples"][route]}}}}


def strict(name: str) -> ConfigDict:
    """Of a request: unknown fields are refused, and values of other types."""
    return STRICT | with_example(name)


class Open(BaseModel):
    """Of a request with any other fields; values of other types are refused."""

    model_config = ConfigDict(extra="allow", strict=True)


class DocumentIn(Open):
    """A document; what it has beside these fields is metadata."""

    text: Text
    id: Text | int | None = None
    title: Text | None = None
    source: Text | None = None
    metadata: dict[str, Any] | None = None


DocumentsIn = Annotated[list[Text | DocumentIn], Field(fail_fast=True)]
"""Validated up to the first that breaks a rule, so that a body of a million costs no more."""


def ruled(hint: Any, default: Any = None, about: str | None = None) -> Any:
    """A field with the rule of a type of `ragsieve.schema`."""
    _, rule = rule_of(hint)
    return Field(default, description=about, ge=rule.ge, le=rule.le, lt=rule.lt)


def _option(name: str) -> Any:
    """A field with rule and text of the option of `SystemSpec` of that name."""
    return ruled(hints_of(SystemSpec)[name], about=_TEXTS[name])


_TEXTS = argument_texts(SystemSpec)


class Budgets(BaseModel):
    """Limits of the context, all of which hold."""

    model_config = STRICT
    max_tokens: int | None = _option("max_tokens")
    max_chars: int | None = _option("max_chars")
    max_tokens_per_document: int | None = _option("max_tokens_per_document")
    max_chars_per_document: int | None = _option("max_chars_per_document")


class QuestionIn(Budgets):
    """A question with its documents, and where to cut.

    Args:
        documents: Best first; none only where the system finds evidence by itself.
        system: One of `/v1/systems`; else the first of them.
    """

    query: QuestionText
    documents: DocumentsIn | None = None
    system: str | None = None
    keep_answer: float | None = Field(None, ge=0.5, le=0.99, description=_TEXTS["keep_answer"])
    min_score: float | None = _option("min_score")
    min_answerable: float | None = _option("min_answerable")
    first_look: int | None = _option("first_look")

    @property
    def numbers(self) -> dict[str, Any]:
        """Arguments of `System.at`."""
        return {name: getattr(self, name) for name in (*Cuts._fields, *Budgets.model_fields)}


class FilterIn(QuestionIn):
    """A question with its documents.

    Args:
        trace: Whether to say what every stage did and dropped.
    """

    model_config = strict("FilterIn")
    trace: bool = True


class AnswerIn(FilterIn):
    """The same, to be answered.

    Args:
        stream: Server-sent events: `kept` (the filter's result), `delta` (text of the answer; all
            at once from models that do not stream), `done`; or `error`.
    """

    stream: bool = False


class PageIn(BaseModel):
    """A page as HTML."""

    model_config = STRICT
    html: Text
    url: Text | None = None
    title: Text | None = None


class ExcerptsIn(QuestionIn):
    """A question with documents, pages, or both; budgets are of the excerpts, without titles.

    Args:
        pages: HTML, whose text is read; the server needs the extra `html`.
    """

    model_config = strict("ExcerptsIn")
    pages: Annotated[list[PageIn], Field(fail_fast=True)] | None = None

    @property
    def read(self) -> ExcerptsIn:
        """The same with the texts of its pages behind its documents; blocks."""
        documents = [*(self.documents or ())]
        for place, page in enumerate(self.pages or ()):
            title, text = page_text(page.html, name=page.url or f"page {place}")
            source = page.url or None
            documents.append(DocumentIn(text=text, title=page.title or title, source=source))
        return self.model_copy(update={"documents": documents}) if self.pages else self


class ExcerptsOfDocument(BaseModel):
    """Excerpts of a document, the best first, with their scores and places in it."""

    id: str
    url: str
    title: str
    excerpts: list[str]
    scores: list[float | None]
    places: list[list[int]]


class ExcerptsOut(BaseModel):
    """Documents with their excerpts, those with the best one first."""

    model_config = with_example("ExcerptsOut")
    system: str
    query: str
    results: list[ExcerptsOfDocument]
    tokens: Tokens
    answerable: float | None = None
    warnings: list[str] = []


class InspectIn(BaseModel):
    """A question for one or two systems, to be looked at."""

    model_config = strict("InspectIn")
    query: QuestionText
    documents: DocumentsIn | None = None
    systems: list[str] = Field(min_length=1, max_length=2)
    ask: bool = False


class ChatOptions(Budgets):
    """The field ``ragsieve`` of a chat request."""

    system: str | None = None
    trace: bool | None = None


class Span(BaseModel):
    """A verbatim span of a document: characters ``start`` to ``end``."""

    model_config = ConfigDict(extra="allow")
    document: str
    start: int
    end: int
    text: str
    score: float | None
    scores: dict[str, float]


class FilterOut(BaseModel):
    """Kept spans, in reading order; a `Result.to_dict` without documents."""

    model_config = with_example("FilterOut")
    schema_version: int
    system: str
    query: str
    kept: list[Span]
    text: str
    tokens: Tokens
    answerable: float | None = None
    trace: dict[str, Any] | None = None


class AnswerOut(FilterOut):
    """The same, with the answer."""

    model_config = with_example("AnswerOut")
    answer: str


Price = Annotated[float | None, Query(ge=0, le=1e9, description="Of a million input tokens.")]


class ErrorDetail(BaseModel):
    """The error: a line for people, its kind, and a word for programs."""

    message: str
    type: str
    code: str


class ErrorOut(BaseModel):
    """The reason why a request was not served."""

    model_config = with_example("ErrorOut")
    error: ErrorDetail
