"""Sources by name, as ``index:FOLDER``: their kinds are other packages'."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

from ragsieve.errors import InputError
from ragsieve.models.sharing import Share
from ragsieve.registry import Registry
from ragsieve.schema import Schema, read
from ragsieve.system import Source

Load = Callable[[str], Any]
"""A model by its specification, the same each time."""


class Models(NamedTuple):
    """Models that systems are made of, wrapped as many callers need them.

    Args:
        share: Wraps a model.
        load: A model by its specification, the same each time.
    """

    share: Share
    load: Load


class SourceKind(Protocol):
    """A kind of source by name, as ``index:FOLDER``.

    A `ragsieve.schema.Schema`, frozen and keyword-only, with ``place: str`` and its options as
    fields: ``k: Count = 20`` must be at least 1.
    """

    def check(self) -> None:
        """Raise `InputError` where it cannot be used; loads no model."""

    def identity(self) -> Mapping[str, Any]:
        """The inputs that results depend on: contents, not places, and options, as ``k``."""

    def about(self) -> Mapping[str, Any]:
        """What it holds, in a few values of JSON."""

    def open(self, llm: Any, load: Load, share: Share) -> Source:
        """The source; its models are loaded when they are needed.

        Args:
            llm: The generator, where the source asks one.
            load: Loads the other models.
            share: Wraps models that it loads itself.
        """


SOURCES: Registry[type[Any]] = Registry("source", "ragsieve.sources", type)
"""Kinds of sources by name: a class each, as `SourceKind`."""


def named_source(name: str, options: Mapping[str, Any]) -> SourceKind:
    """The source ``KIND:PLACE`` with its options.

    Raises:
        InputError: If there is no such kind or option, the kind is no `SourceKind`, or an option
            breaks its rule.
    """
    kind, _, place = name.partition(":")
    if not place:
        raise InputError(f"source must be KIND:PLACE, as index:FOLDER, got {name!r}")
    found: type[Any] = SOURCES.find(kind)
    methods = ("check", "identity", "about", "open")
    if not issubclass(found, Schema) or not all(hasattr(found, name) for name in methods):
        rule = f"must be a ragsieve.schema.Schema with {', '.join(methods)}"
        raise InputError(f"source kind {kind} {rule}, got {found.__qualname__}")
    return cast("SourceKind", read(found, {**options, "place": place}, f"source {kind}"))
