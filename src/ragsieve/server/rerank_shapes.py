"""Requests that rank documents, in the forms of Cohere, Jina, vLLM, Infinity and TEI."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from ragsieve.schema import Amount, Count, Probability
from ragsieve.server import shapes

_WARNINGS = 10  # lines about fields of a request
_READ_WHOLE = "documents are read whole"
_IGNORED = {
    **dict.fromkeys(("max_chunks_per_doc", "truncate_prompt_tokens"), _READ_WHOLE),
    **dict.fromkeys(("truncate", "truncation", "truncation_direction"), _READ_WHOLE),
    "priority": "requests are served in the order in which they come",
}
_COHERE = {"max_chunks_per_doc", "rank_fields", "priority"}  # and all that are not vLLM's below
_VLLM = {"use_activation"}


def ignored(fields: dict[str, Any] | None) -> list[str]:
    """A line for each of the first fields that are ignored; null says nothing, and is fine."""
    named = [name for name, value in (fields or {}).items() if value is not None]
    lines = [f"{n:.80} is ignored: {_IGNORED.get(n, 'it is not known')}" for n in named]
    more = [f"{len(lines) - _WARNINGS} other fields are ignored"][: len(lines) > _WARNINGS]
    return lines[:_WARNINGS] + more


class RelevantSpans(BaseModel):
    """Which spans of a document are asked for, as Cohere's Rerank 5 has it."""

    model_config = shapes.STRICT
    mode: Literal["enabled", "disabled"] = "enabled"
    threshold: float = shapes.ruled(Probability, 0.1, "Lowest score of a span.")
    max_spans: int | None = shapes.ruled(Count, about="Of a document; else all.")


class RerankIn(shapes.Open):
    """The request of Cohere, Jina and vLLM; the reply names other fields of theirs as ignored.

    Args:
        rank_fields: Of objects, the fields that are ranked; else `title` and `text`.
        model: A system of `/v1/systems`; the first for any other name, unless strict.
        top_n: Results at most; all for 0.
        return_documents: Where unset, no at `/v1/rerank`, but for models named `jina…`.
        max_tokens_per_doc: Only so many tokens of a document are read; else all.
        relevant_spans: Whether each result names the spans that speak for it.
        use_activation: Of vLLM: with false, scores are not in [0, 1] but their logits.
    """

    model_config = shapes.with_example("RerankIn")
    query: shapes.QuestionText
    documents: shapes.DocumentsIn
    rank_fields: list[str] | None = None
    model: str | None = None
    top_n: int | None = shapes.ruled(Amount)
    return_documents: bool | None = None
    max_tokens_per_doc: int | None = shapes.ruled(Count)
    relevant_spans: bool | RelevantSpans | None = None
    use_activation: bool | None = None

    @field_validator("query", mode="before")
    @classmethod
    def _query(cls, query: Any) -> Any:
        return _content(query) if isinstance(query, Mapping) else query

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or "documents" not in values:
            return values
        fields = values.get("rank_fields")
        fields = [f for f in fields if isinstance(f, str)] if isinstance(fields, list) else []
        return {**values, "documents": _documents(values["documents"], fields)}

    @property
    def warnings(self) -> list[str]:
        """Lines about fields that are ignored."""
        objects = [one for one in self.documents if isinstance(one, shapes.DocumentIn)]
        names = {f for one in objects for f in (*one.model_fields_set, *(one.model_extra or ()))}
        lost = bool(self.rank_fields) and names.isdisjoint(self.rank_fields or ()) and bool(objects)
        lines = ["rank_fields is ignored: no document has one of them"][: int(lost)]
        return [*lines, *ignored(self.model_extra)]

    @property
    def spans(self) -> RelevantSpans | None:
        """Which spans are asked for; None where none are."""
        asked = self.relevant_spans
        asked = RelevantSpans.model_validate({}) if asked is True else asked
        return asked if asked and asked.mode == "enabled" else None

    @property
    def unknown(self) -> list[str]:
        """Fields that are none of Cohere's."""
        return sorted(({*(self.model_extra or {})} - _COHERE) | (self.model_fields_set & _VLLM))


class TextsIn(shapes.Open):
    """The request of Text Embeddings Inference (TEI), which has ``texts`` for documents.

    Args:
        raw_scores: Logits in place of scores in [0, 1].
    """

    model_config = shapes.with_example("TextsIn")
    query: shapes.QuestionText
    texts: list[shapes.Text] = Field(min_length=1, fail_fast=True)
    raw_scores: bool = False
    return_text: bool = False

    @property
    def documents(self) -> list[str]:
        """The texts, by the name that they have in other requests."""
        return self.texts


def _documents(given: Any, fields: Sequence[str]) -> Any:
    """Documents as a list of texts and objects with ``text``; others pass, and are refused.

    vLLM takes one alone, and for an object of ``content`` a list of parts, each a document.
    """
    if isinstance(given, Mapping) and isinstance(given.get("content"), list):
        given = given["content"]
    given = [given] if isinstance(given, str | Mapping) else given
    return [_document(one, fields) for one in given] if isinstance(given, list) else given


def _document(one: Any, fields: Sequence[str]) -> Any:
    if not isinstance(one, Mapping):
        return one
    if "text" not in one and isinstance(one.get("content"), list):
        return {**one, "text": _content(one)}
    named = [name for name in fields if name in one]
    if not named:
        return one
    body = {name: _shown(one[name]) for name in named if name != "title"}
    lines = [f"{name}: {text}" for name, text in body.items()]
    text = "\n".join(lines if len(lines) > 1 else body.values()) or _shown(one["title"])
    return {**one, "title": one["title"] if body and "title" in named else "", "text": text}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _content(value: Mapping[str, Any]) -> str:
    """The text of one part of a message, or of an object with several as ``content``."""
    parts = value.get("content")
    texts = []
    for part in parts if isinstance(parts, list) else [value]:
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            raise ValueError(f"content must be parts of text, got {part!r:.80}")
        texts.append(text)
    return "\n".join(texts)
