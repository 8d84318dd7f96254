"""An OpenAPI document as the table of an API."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ragsieve.errors import InputError
from ragsieve.retrieve.apis.api import Api, Endpoint, Link, Method
from ragsieve.text import words

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASKED = frozenset({"q", "query", "search", "term", "name", "title", "keyword", "keywords"})
_GENERIC = frozenset(
    words(
        "a all an and any api as at by data detail details fetch find for from get given id in "
        "info information is json list of on one or query read return returns search show "
        "single that the to v1 v2 v3 with"
    )
)
_MOST_REFERENCES = 20
_READING: tuple[Method, ...] = ("GET",)


class _Parameter(NamedTuple):
    name: str
    schema: Mapping[str, Any]
    required: bool
    place: str  # query, path, body; header and cookie are not filled


def described(
    document: Mapping[str, Any], *, at: str = "", methods: Collection[Method] = _READING
) -> Api:
    """The table of the API that an OpenAPI 3 document describes.

    An endpoint fits a question that has a word of its summary, its tags or its path. Dates, years,
    tickers and listed values (``enum``) become arguments of their kind; numbers where the question
    has them behind the argument's name; other strings are what the question names, by its own
    words, as there is nothing to link them to. Left out are endpoints that need what a question
    cannot give (objects, headers). Answers become sentences by rules.

    Args:
        document: The document, read from JSON or YAML.
        at: Where replies hold the answer; see `Api`.
        methods: ``"POST"`` only where posting changes nothing on the server.

    Raises:
        InputError: If it is no OpenAPI document, or has no endpoint that can be asked.
    """
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if not isinstance(paths, Mapping):
        raise InputError(f"document must be OpenAPI with 'paths', got {document!r:.80}")
    endpoints: list[Endpoint] = []
    links: dict[str, Link] = {}
    for path, item in paths.items():
        for method in methods:
            operation = _mapping(_mapping(item).get(method.lower()))
            if operation:
                parameters = list(_parameters(document, _mapping(item), operation))
                if made := _endpoint(str(path), method, operation, parameters):
                    endpoints.append(made[0])
                    links |= {link.kind: link for link in made[1]}
    if not endpoints:
        raise InputError(f"document must have endpoints to ask by {sorted(methods)}, it has none")
    about = _mapping(document.get("info"))
    name = str(about.get("title") or "api")
    description = str(about.get("description") or "")
    return Api(name, tuple(endpoints), tuple(links.values()), description, at)


def _endpoint(
    path: str, method: Method, operation: Mapping[str, Any], parameters: list[_Parameter]
) -> tuple[Endpoint, list[Link]] | None:
    name = f"{method} {path}"
    takes: dict[str, str] = {}
    may: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    links = []
    for parameter in parameters:
        if "const" in parameter.schema:
            fixed[parameter.name] = parameter.schema["const"]
            continue
        link = _link(f"{name} {parameter.name}", parameter)
        asked = parameter.name.lower() in _ASKED
        if parameter.required and (not link or parameter.place not in ("query", "path", "body")):
            return None
        any_name = link == Link(kind=f"{name} {parameter.name}")
        if link and (parameter.required or asked or not any_name):
            (takes if parameter.required or asked else may)[parameter.name] = link.kind
            links.append(link)
    if {*re.findall(r"\{(\w+)\}", path)} - {*takes, *fixed} or path.count("{") > len(takes):
        return None
    summary = str(operation.get("summary") or operation.get("operationId") or name)
    endpoint = Endpoint(
        path=path,
        name=name,
        description=summary,
        method=method,
        about=_topics(path, operation),
        takes=takes,
        may=may,
        fixed=fixed,
    )
    return endpoint, links


def _link(kind: str, parameter: _Parameter) -> Link | None:
    """How a question gives a value for a parameter; None where it cannot."""
    schema, name = parameter.schema, parameter.name.lower()
    form, sort = schema.get("type", "string"), schema.get("format", "")
    told = words(_CAMEL.sub(" ", parameter.name).replace("_", " "))
    if isinstance(values := schema.get("enum"), list):
        names = {str(value): str(value) for value in values if isinstance(value, str | int)}
        return Link(kind=kind, names=names, entities=("name",)) if names else None
    if form in ("integer", "number"):
        if "year" in told:
            return Link(kind=kind, entities=("year",), form="integer")
        pattern = r"\W+".join(map(re.escape, told)) or "number"
        return Link(kind=kind, pattern=rf"\b{pattern}\W+(\d{{1,18}})\b", form="integer")
    if form != "string":
        return None
    if sort == "date" or "date" in told:
        return Link(kind=kind, entities=("date",))
    if "year" in told:
        return Link(kind=kind, entities=("year",))
    if {"ticker", "symbol"} & {*told, name}:
        return Link(kind=kind, entities=("ticker",))
    return Link(kind=kind, entities=("name",))


def _parameters(
    document: Mapping[str, Any], item: Mapping[str, Any], operation: Mapping[str, Any]
) -> Iterator[_Parameter]:
    for listed in (item.get("parameters"), operation.get("parameters")):
        for given in listed if isinstance(listed, list) else []:
            told = _resolved(document, given)
            schema = _resolved(document, told.get("schema"))
            if isinstance(name := told.get("name"), str):
                yield _Parameter(name, schema, bool(told.get("required")), str(told.get("in")))
    body = _resolved(document, operation.get("requestBody"))
    content = _mapping(_mapping(body.get("content")).get("application/json"))
    schema = _resolved(document, content.get("schema"))
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    properties = _mapping(schema.get("properties"))
    if body.get("required") and not properties:
        yield _Parameter("body", {"type": "object"}, True, "body")
    for name, given in properties.items():
        yield _Parameter(str(name), _single(document, given), name in needed, "body")


def _single(document: Mapping[str, Any], given: Any) -> Mapping[str, Any]:
    """A schema, of alternatives the first that is not null."""
    schema = _resolved(document, given)
    options = schema.get("anyOf") or schema.get("oneOf")
    for option in options if isinstance(options, list) else []:
        if (found := _resolved(document, option)).get("type") != "null":
            return found
    return schema


def _resolved(document: Mapping[str, Any], given: Any) -> Mapping[str, Any]:
    """``given`` itself, or what it refers to inside the document."""
    for _ in range(_MOST_REFERENCES):
        reference = _mapping(given).get("$ref")
        if not isinstance(reference, str):
            return _mapping(given)
        given = document
        for key in reference.removeprefix("#/").split("/"):
            given = _mapping(given).get(key.replace("~1", "/").replace("~0", "~"))
    return {}


def _topics(path: str, operation: Mapping[str, Any]) -> tuple[str, ...]:
    tags = operation.get("tags")
    told = [operation.get("summary"), operation.get("operationId"), re.sub(r"\{.*?\}", " ", path)]
    told += tags if isinstance(tags, list) else []
    text = " ".join(_CAMEL.sub(" ", t).replace("_", " ") for t in told if isinstance(t, str))
    return tuple(dict.fromkeys(w for w in words(text) if w not in _GENERIC and len(w) > 2))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
