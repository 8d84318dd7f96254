"""Models of a run by their names: the options of each, opened once, and where they answer."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.addresses import Options, declared, merged
from ragsieve.models.deferred import identity_of
from ragsieve.models.wrap import unwrap


def shared(
    generators: Iterable[Any], options: Options
) -> tuple[tuple[Any, ...], dict[str, dict[str, Any]]]:
    """Generators with the options of their names, and the options of every name.

    Where generators of one name differ, what they have in common is the name's.

    Raises:
        InputError: If a model has two addresses.
    """
    table, own, common = models.named(options), list[Any](), dict[str, dict[str, Any]]()
    for one in generators:
        name = models.full_name(one.llm)
        known = merged({name: table.get(name, {})}, {name: one.options})[name]
        own.append(msgspec.structs.replace(one, options=known))
        other = common.setdefault(name, known)
        if other.get("base_url") != known.get("base_url"):
            raise InputError(f"generators of {name} must have one base_url: it may be one model")
        common[name] = {k: v for k, v in other.items() if k in known and known[k] == v}
    return tuple(own), {name: values for name, values in (table | common).items() if values}


@dataclass(frozen=True)
class RunModels:
    """Models of a run by their names, each opened once.

    Args:
        options: Options by name, of `shared`.
    """

    options: Options
    opened: dict[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, name: str, options: Mapping[str, Any] | None = None) -> Any:
        """The model of a name, the same each time, with its options or with those given."""
        key = json.dumps([name, options or {}], sort_keys=True)
        if key not in self.opened:
            with declared(self.options):
                self.opened[key] = models.defer(name, **(options or {}))
        return self.opened[key]

    def of(self, cell: Any, name: str) -> Any:
        """The model of a name in a cell; the generator's where it is the same name."""
        same = models.full_name(name) == models.full_name(cell.generator.llm)
        return self(name, cell.generator.options if same else None)

    def identities(self, cell: Any, names: Iterable[str]) -> dict[str, str]:
        """Identities of a cell's models by name; a generator that is never asked has none."""
        asked = [name for name in names if name != models.UNASKED]
        return {name: identity_of(self.of(cell, name)) for name in asked}

    @property
    def addresses(self) -> list[str]:
        """Each opened model that is behind a server, as ``BACKEND:NAME@URL``."""
        servers = (unwrap(model) for model in self.opened.values())
        return sorted({str(one.identity) for one in servers if getattr(one, "base_url", "")})
