"""`/v1/excerpts`: of documents and pages the places that matter, within one budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from ragsieve.context.excerpts import ExcerptReader, excerpts_of
from ragsieve.read.web import page_text
from ragsieve.result import Result, Tokens
from ragsieve.server import shapes
from ragsieve.server.routes import REFUSALS, named_system
from ragsieve.server.service import Service
from ragsieve.server.strict import StrictRoute

_RESULT: dict[str, Any] = {
    "id": "0",
    "url": "",
    "title": "",
    "excerpts": ["Summer Breeze was sung by Seals and Crofts."],
    "scores": [0.93],
    "places": [[0, 43]],
}


class PageIn(BaseModel):
    """A page as HTML."""

    model_config = shapes.STRICT
    html: shapes.Text
    url: shapes.Text | None = None
    title: shapes.Text | None = None


class ExcerptsIn(shapes.QuestionIn):
    """A question with documents, pages, or both; budgets are of the excerpts, without titles."""

    model_config = shapes.strict(query=shapes.QUESTION, documents=shapes.DOCUMENTS, max_chars=1000)
    pages: Annotated[list[PageIn], Field(fail_fast=True)] | None = Field(
        None, description="HTML, whose text is read; the server needs the extra `html`."
    )

    @property
    def read(self) -> ExcerptsIn:
        """The same with the texts of its pages behind its documents; blocks."""
        documents = [*(self.documents or ())]
        for place, page in enumerate(self.pages or ()):
            title, text = page_text(page.html, name=page.url or f"page {place}")
            source = page.url or None
            documents.append(shapes.DocumentIn(text=text, title=page.title or title, source=source))
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

    model_config = shapes.with_example(
        system="finefilter",
        query=shapes.QUESTION,
        results=[_RESULT],
        tokens={"before": 24, "after": 10},
    )
    system: str
    query: str
    results: list[ExcerptsOfDocument]
    tokens: Tokens
    answerable: float | None = None
    warnings: list[str] = []


def excerpts(service: Service) -> APIRouter:
    """The route."""
    router = APIRouter(route_class=StrictRoute, responses=REFUSALS)

    @router.post("/v1/excerpts", response_model=ExcerptsOut)
    async def excerpts_(body: ExcerptsIn) -> Response:
        """Excerpts of documents or pages, the best first, within the budgets."""
        service.check_documents([*(body.documents or ()), *(body.pages or ())])
        name, system = named_system(service, body)
        system = replace(system, reader=ExcerptReader(system.reader))
        return await service.respond(lambda: _reply(service.run(system, body.read), name))

    return router


def _reply(result: Result, name: str) -> dict[str, Any]:
    own = ("query", "tokens", "answerable")
    known = {key: value for key, value in result.to_dict(documents=False).items() if key in own}
    found = [one.to_dict() for one in excerpts_of(result)]
    return {"system": name, "results": found, **known, "warnings": result.trace.warnings}
