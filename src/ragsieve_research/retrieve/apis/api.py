"""An API as a table: its endpoints, and the arguments that they take from a question.

A TOML file has ``name``, ``description``, ``at`` (see `Api`) and any number of ``[[endpoint]]`` and
``[[link]]`` tables with the fields of `Endpoint` and `Link`.
"""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import force_setattr

from ragsieve.errors import InputError
from ragsieve.files import read_toml
from ragsieve.schema import Schema
from ragsieve.text import stemmed
from ragsieve_research.retrieve.apis.entities import NAMES, Entity
from ragsieve_research.retrieve.apis.sentences import check

Method = Literal["GET", "POST"]
Form = Literal["text", "integer", "list"]
DOMAINS = ("open", "finance", "movie", "music", "sports")
TEXT = "text"  # the kind that stands for an entity's own words, in endpoints that search


class Endpoint(Schema, frozen=True, kw_only=True, dict=True):
    """One thing that an API can be asked.

    Args:
        path: Behind the base URL; ``{key}`` stands for an argument.
        name: What traces call it; the path where empty.
        description: What it answers.
        method: ``"GET"``: arguments as parameters; ``"POST"``: as a JSON object.
        about: Words or phrases of which a question must have one, in singular or plural; where
            there are none, every question fits that has what it takes.
        takes: Argument → kind of value, all of them needed.
        may: Argument → kind of value, given where a question has it.
        fixed: Arguments that are always the same.
        pick: Key of the name of a record, where the answer is a list of records of which only
            those of the linked name count.
        template: Jinja: the answer as sentences, see `sentences.render`; by rules where empty. It
            sees ``reply``, ``args``, ``name`` (as linked), ``names`` (argument → name), and
            ``dates`` (of the question).
    """

    path: str
    name: str = ""
    description: str = ""
    method: Method = "POST"
    about: tuple[str, ...] = ()
    takes: Mapping[str, str] = {}
    may: Mapping[str, str] = {}
    fixed: Mapping[str, Any] = {}
    pick: str = ""
    template: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            force_setattr(self, "name", self.path.strip("/"))
        check(self.template, f"the template of endpoint {self.name!r}")
        try:
            json.dumps(self.fixed, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"fixed of {self.name!r} must be JSON values: {error}") from error

    def __hash__(self) -> int:
        return hash(self.name)  # arguments are tables, which have none

    @cached_property
    def _topics(self) -> tuple[str, ...]:
        return tuple(f" {stemmed(topic)} " for topic in self.about)

    @property
    def kinds(self) -> set[str]:
        """Kinds of value that it takes, needed or not."""
        return {*self.takes.values(), *self.may.values()}

    def fit(self, question: str) -> int:
        """Number of words or phrases of ``about`` in the stemmed ``question``."""
        return sum(topic in f" {question} " for topic in self._topics)


class Link(Schema, frozen=True, kw_only=True):
    """A link from names in a question to values of one kind that endpoints take.

    Without ``pattern``, ``names`` and ``search`` an entity's text is the value itself.

    Args:
        kind: The kind of value, as ``takes`` and ``may`` of endpoints name it.
        entities: Kinds of entity that can be one; ``name`` stands for every kind of name.
        pattern: A regular expression over the question in small letters; its first group is the
            value, and no entity is needed.
        names: Known names → their values; one that a question has word for word needs no entity.
        search: Name of the endpoint that finds names; it takes ``text``.
        key: Key of the name, where ``search`` answers with records.
        then: Name of the endpoint that turns a name found into the value; it takes ``text``.
        ignore: Words left out where names are compared.
        form: ``"integer"`` or ``"list"`` (of one) where endpoints take values so.
    """

    kind: str
    entities: tuple[str, ...] = ("name",)
    pattern: str = ""
    names: Mapping[str, str] = {}
    search: str = ""
    key: str = ""
    then: str = ""
    ignore: tuple[str, ...] = ()
    form: Form = "text"

    def __post_init__(self) -> None:
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise InputError(f"pattern must be a regular expression: {error}") from error
        if self.pattern and not groups:
            raise InputError(f"pattern must have a group for its value, got {self.pattern!r}")

    def __hash__(self) -> int:
        return hash(self.kind)  # names are a table, which has none

    def suits(self, entity: Entity) -> bool:
        """Whether ``entity`` can be one of this kind."""
        kinds = {*self.entities, *(NAMES if "name" in self.entities else ())}
        any_name = entity.kind == "name" and not NAMES.isdisjoint(kinds)
        return not self.pattern and (any_name or entity.kind in kinds)


class Api(Schema, frozen=True, rename={"endpoints": "endpoint", "links": "link"}):
    """An API as a table.

    Args:
        name: What its documents and traces call it.
        endpoints: What it can be asked; names are unique.
        links: How what a question names becomes arguments.
        description: What it knows, for whoever chooses sources.
        at: Where its replies hold the answer: keys joined by dots; empty for the reply itself.

    Raises:
        InputError: If two endpoints have one name, a link names an endpoint that there is not, or
            an endpoint takes a kind that no link gives.
    """

    name: str
    endpoints: tuple[Endpoint, ...] = ()
    links: tuple[Link, ...] = ()
    description: str = ""
    at: str = ""

    def __post_init__(self) -> None:
        names = [endpoint.name for endpoint in self.endpoints]
        if twice := {name for name in names if names.count(name) > 1}:
            raise InputError(f"endpoints must have names of their own, got {sorted(twice)} twice")
        for link in self.links:
            for name in filter(None, (link.search, link.then)):
                if name not in names or TEXT not in self[name].takes.values():
                    raise InputError(
                        f"link {link.kind!r} must search an endpoint that takes {TEXT!r}, "
                        f"got {name!r}"
                    )
        kinds = {TEXT, *(link.kind for link in self.links)}
        for endpoint in self.endpoints:
            if lacking := endpoint.kinds - kinds:
                raise InputError(
                    f"endpoint {endpoint.name!r} must take kinds that a link gives, "
                    f"got {sorted(lacking)}"
                )

    def __repr__(self) -> str:
        return f"Api({self.name!r}, {len(self.endpoints)} endpoints)"

    def __getitem__(self, name: str) -> Endpoint:
        return next(endpoint for endpoint in self.endpoints if endpoint.name == name)


def read(path: str | Path) -> Api:
    """The API that a TOML file describes.

    Raises:
        InputError: If the file cannot be read, or breaks a rule of `Api`, `Endpoint` or `Link`.
    """
    return read_toml(Api, Path(path))


def crag(*domains: str) -> Api:
    """The mock API of the CRAG benchmark, as its open-source server answers; all five domains.

    Args:
        domains: Only these of `DOMAINS`.

    Raises:
        InputError: If a domain is not one of them.

    Source: CRAG (arXiv 2406.04744), the mock APIs.
    """
    if unknown := {*domains} - {*DOMAINS}:
        raise InputError(f"domains must be among {list(DOMAINS)}, got {sorted(unknown)}")
    chosen = [domain for domain in DOMAINS if domain in domains or not domains]
    parts = [read(Path(__file__).with_name(f"crag_{domain}.toml")) for domain in chosen]
    if len(parts) == 1:
        return parts[0]
    return Api(
        "crag",
        tuple(endpoint for part in parts for endpoint in part.endpoints),
        tuple(link for part in parts for link in part.links),
        " ".join(part.description for part in parts),
        parts[0].at,
    )
