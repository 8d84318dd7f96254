"""An OpenAPI document as the table of an API."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ragsieve.errors import InputError
from ragsieve.text import words
from ragsieve_research.retrieve.apis.api import Api, Endpoint, Link

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEARCHED = frozenset({"q", "query", "search", "term", "name", "title", "keyword", "keywords"})
_GENERIC = frozenset(
    words(
        "a all an and any api as at by data detail details fetch find for from get given id in "
        "info information is json list of on one or query read return returns search show "
        "single that the to v1 v2 v3 with"
    )
)
_MOST_REFERENCES = 20


class _Parameter(NamedTuple):
    name: str
    schema: Mapping[str, Any]
    required: bool
    place: str  # query, path; header and cookie are not filled


def described(document: Mapping[str, Any]) -> Api:
    """The table of the API that an OpenAPI 3 document describes; what it reads only (GET).

    An endpoint fits a question that has a word of its summary, its tags or its path. Dates, years,
    tickers and listed values (``enum``) become arguments of their kind; numbers where the question
    has them behind the argument's name; other strings are what the question names, by its own
    words, as there is nothing to link them to. Left out are endpoints that need what a question
    cannot give (objects, headers). Answers become sentences by rules.

    Args:
        document: The document, read from JSON or YAML.

    Raises:
        InputError: If it is no OpenAPI document, or has no endpoint that can be asked.
    """
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if not isinstance(paths, Mapping):
        raise InputError(f"document must be OpenAPI with 'paths', got {document!r:.80}")
    read = _SpecificationReader(document)
    endpoints: list[Endpoint] = []
    links: list[Link] = []
    for path, item in paths.items():
        operation = read.at(item, "get")
        parameters = list(_parameters(read, item, operation))
        if operation and (endpoint := _endpoint(str(path), operation, parameters)):
            endpoints.append(endpoint[0])
            links += endpoint[1]
    if not endpoints:
        raise InputError("document must have endpoints to ask by GET, it has none")
    about = read.at(document, "info")
    name, description = str(about.get("title") or "api"), str(about.get("description") or "")
    return Api(name, tuple(endpoints), tuple(links), description)


class _SpecificationReader:
    """Reads any document: what is not there, or of another type, is an empty mapping."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def at(self, value: Any, *keys: str) -> Mapping[str, Any]:
        """The mapping behind ``keys`` of ``value``, references resolved inside the document."""
        for key in keys:
            value = self.at(value).get(key)
        for _ in range(_MOST_REFERENCES):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                return value if isinstance(value, Mapping) else {}
            value = self._document
            for key in reference.removeprefix("#/").split("/"):
                name = key.replace("~1", "/").replace("~0", "~")
                value = value.get(name) if isinstance(value, Mapping) else None
        return {}

    def schema(self, value: Any) -> Mapping[str, Any]:
        """A schema, of alternatives the first that is not null."""
        schema = self.at(value)
        options = schema.get("anyOf") or schema.get("oneOf")
        alternatives = map(self.at, options if isinstance(options, list) else [])
        return next((option for option in alternatives if option.get("type") != "null"), schema)


def _endpoint(
    path: str, operation: Mapping[str, Any], parameters: list[_Parameter]
) -> tuple[Endpoint, list[Link]] | None:
    name = f"GET {path}"
    takes: dict[str, str] = {}
    may: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    links = []
    for parameter in parameters:
        if "const" in parameter.schema:
            fixed[parameter.name] = parameter.schema["const"]
            continue
        link = _link(f"{name} {parameter.name}", parameter)
        searched = parameter.name.lower() in _SEARCHED
        if parameter.required and (not link or parameter.place not in ("query", "path")):
            return None
        any_name = link == Link(kind=f"{name} {parameter.name}")
        if link and (parameter.required or searched or not any_name):
            (takes if parameter.required or searched else may)[parameter.name] = link.kind
            links.append(link)
    if {*re.findall(r"\{(\w+)\}", path)} - {*takes, *fixed} or path.count("{") > len(takes):
        return None
    summary = str(operation.get("summary") or operation.get("operationId") or name)
    endpoint = Endpoint(
        path=path,
        name=name,
        description=summary,
        method="GET",
        about=_topics(path, operation),
        takes=takes,
        may=may,
        fixed=fixed,
    )
    return endpoint, links


def _link(kind: str, parameter: _Parameter) -> Link | None:
    """The way in which a question gives a parameter's value; None where it cannot."""
    schema, name = parameter.schema, parameter.name.lower()
    form, sort = schema.get("type", "string"), schema.get("format", "")
    parts = words(_CAMEL.sub(" ", parameter.name).replace("_", " "))
    if isinstance(values := schema.get("enum"), list):
        names = {str(value): str(value) for value in values if isinstance(value, str | int)}
        return Link(kind=kind, names=names) if names else None
    if form in ("integer", "number"):
        if "year" in parts:
            return Link(kind=kind, entities=("year",), form="integer")
        pattern = r"\W+".join(map(re.escape, parts)) or "number"
        return Link(kind=kind, pattern=rf"\b{pattern}\W+(\d{{1,18}})\b", form="integer")
    if form != "string":
        return None
    if sort == "date" or "date" in parts:
        return Link(kind=kind, entities=("date",))
    if "year" in parts:
        return Link(kind=kind, entities=("year",))
    if {"ticker", "symbol"} & {*parts, name}:
        return Link(kind=kind, entities=("ticker",))
    return Link(kind=kind)


def _parameters(
    read: _SpecificationReader, item: Any, operation: Mapping[str, Any]
) -> Iterator[_Parameter]:
    for listed in (read.at(item).get("parameters"), operation.get("parameters")):
        for parameter in map(read.at, listed if isinstance(listed, list) else []):
            if isinstance(name := parameter.get("name"), str):
                required, place = bool(parameter.get("required")), str(parameter.get("in"))
                yield _Parameter(name, read.schema(parameter.get("schema")), required, place)


def _topics(path: str, operation: Mapping[str, Any]) -> tuple[str, ...]:
    tags = operation.get("tags")
    texts = [operation.get("summary"), operation.get("operationId"), re.sub(r"\{.*?\}", " ", path)]
    texts += tags if isinstance(tags, list) else []
    text = " ".join(_CAMEL.sub(" ", t).replace("_", " ") for t in texts if isinstance(t, str))
    return tuple(dict.fromkeys(w for w in words(text) if w not in _GENERIC and len(w) > 2))
