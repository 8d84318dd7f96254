"""Structured API records to sentences, by rules, for the entities of the question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

from ragsieve.errors import InputError, SourceError
from ragsieve.schema import Count, Options
from ragsieve.text import safe, stemmed
from ragsieve.trace import note, warn
from ragsieve.types import Document, Query, Segment
from ragsieve_research.retrieve.apis.api import TEXT, Api, Endpoint
from ragsieve_research.retrieve.apis.calls import ApiClient, ApiHttp, Call, Value
from ragsieve_research.retrieve.apis.entities import (
    MAX_CHARS,
    Entities,
    apart,
    query_date,
    relative_dates,
)
from ragsieve_research.retrieve.apis.linking import Linker, name_words
from ragsieve_research.retrieve.apis.sentences import render, sentences
from ragsieve_research.retrieve.route import RECORD

_DATES = ("date", "month", "year")


@dataclass(frozen=True)
class Records(Options):
    """An API as a source: endpoints that fit a question, asked about what it names, as sentences.

    Entities of the question are linked to what the API knows: names that its search finds, or that
    the table lists, and that match closely enough; dates such as "yesterday" count from when the
    question was asked, where it says so. An endpoint is called if the question has a
    word of it and a value for each argument that it takes; who names nothing known calls nothing.
    Calls run at once; what fails is left out, and the trace warns of it. Each answer is a document,
    best fitting endpoint first: sentences by the endpoint's template (by rules where the answer
    does not fit that), its source the call, its metadata the record as JSON.

    Args:
        api: What it answers: `api.read`, `api.crag`, `openapi.described`.
        http: Asks its server; has a timeout a call.
        entities: Finds what the question names.
        max_calls: Most endpoints called for a question, and most names looked up.
        max_chars: Longest text of a document, in characters.

    Raises:
        InputError: If an option breaks its rule.
        SourceError: On a question, if calls fail, and no other call has an answer.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.2: entities guide the API, queries go to
        fitting calls only, rules make natural language of the answer.
    """

    api: Api
    http: ApiHttp
    entities: Entities = field(kw_only=True)
    max_calls: Count = field(default=8, kw_only=True)
    max_chars: Count = field(default=4000, kw_only=True)

    def __call__(self, query: Query, /) -> list[Segment]:
        question = safe(query.text[:MAX_CHARS])
        stems = stemmed(question)
        fits = [(endpoint.fit(stems), endpoint) for endpoint in self.api.endpoints]
        fitting = [e for fit, e in sorted(fits, key=lambda f: -f[0]) if fit or not e.about]
        entities = self.entities(question)
        if today := query_date(query.time):
            entities = apart([*entities, *relative_dates(question, today)])
        client = ApiClient(self.api, self.http)
        linker = Linker(client, question, fitting, self.max_calls)
        values = linker.link(entities)
        calls = list(islice(_calls(fitting, values), self.max_calls + 1))
        if len(calls) > self.max_calls:
            note(f"more calls fit than max_calls={self.max_calls}, the first were made")
            calls.pop()
        if not calls:
            note(f"{self.api.name!r} was not asked: it has nothing on what the question names")
        client.ask(calls)
        dates = [entity.text for entity in entities if entity.kind in _DATES]
        answers = [self._document(call, client.answer(call), dates) for call in calls]
        documents = [document for document in answers if document]
        if client.failed and not documents:  # unanswered is not unknown
            raise SourceError(client.failed[0])
        for failed in client.failed:
            warn(failed)
        return [Segment.whole(replace(d, rank=rank)) for rank, d in enumerate(documents)]

    def _document(self, call: Call, answer: Any, dates: list[str]) -> Document | None:
        record = _picked(call, answer)
        names = {key: value.name for key, value in call.values.items()}
        text = "" if empty(record) else self._text(call, record, names, dates)
        if not text:
            note(f"left out, {call.label} has no answer")
            return None
        title = call.endpoint.description or call.endpoint.name
        return Document(
            f"{self.api.name}: {call.label}",
            shortened(text, self.max_chars),
            safe(": ".join(filter(None, (title, ", ".join(names.values()))))),
            call.label,
            metadata={
                "endpoint": call.endpoint.name,
                "arguments": call.arguments,
                "names": names,
                "match": min((value.match for value in call.values.values()), default=100.0),
                RECORD: record,
            },
        )

    def _text(self, call: Call, record: Any, names: Mapping[str, str], dates: list[str]) -> str:
        name = next(iter(names.values()), "")
        values = {"reply": record, "args": call.arguments, "name": name, "names": names}
        if call.endpoint.template:
            try:
                return render(call.endpoint.template, {**values, "dates": dates})
            except InputError as error:
                note(f"{call.label} becomes text by rules: {error}")
        return sentences(record, name)


def empty(value: Any) -> bool:
    """Whether an answer says nothing: None, blank, or nothing but such values in it."""
    if isinstance(value, Mapping | list):
        return all(map(empty, value.values() if isinstance(value, Mapping) else value))
    return value is None or (isinstance(value, str) and not value.strip())


def shortened(text: str, max_chars: int) -> str:
    """``text``, cut behind a sentence, or a word, where it is longer than ``max_chars``."""
    if len(text) <= max_chars:
        return text
    head = text[:max_chars]
    cut = max(head.rfind(". ") + 1, head.rfind(" ") if ". " not in head else 0)
    return head[: cut or max_chars].rstrip()


def _calls(fitting: Sequence[Endpoint], values: Mapping[str, list[Value]]) -> Iterable[Call]:
    for endpoint in fitting:
        optional = {key: kind for key, kind in endpoint.may.items() if values[kind]}
        kinds = {**endpoint.takes, **optional}
        if TEXT not in kinds.values():
            for choice in product(*(values[kind] for kind in kinds.values())):
                yield Call(endpoint, dict(zip(kinds, choice, strict=True)))


def _picked(call: Call, answer: Any) -> Any:
    """The records of the name asked for, where the endpoint answers with a list of records."""
    key = call.endpoint.pick
    if not key or not isinstance(answer, list):
        return answer
    wanted = {name_words(value.name) for value in call.values.values()}
    named = [r for r in answer if isinstance(r, Mapping) and isinstance(r.get(key), str)]
    return [record for record in named if name_words(record[key]) in wanted]
