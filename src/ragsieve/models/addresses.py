"""Options and addresses of the models that one run, command or system opens by name.

Within `declared`, `ragsieve.models.load` gives a model the options of its name, wherever that name
stands: a critic's, a judge's, an index's. Where any of them says an address, no model goes to a
public one that nobody wrote.
"""

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from ragsieve.errors import InputError
from ragsieve.timeouts import setting

Options = Mapping[str, Mapping[str, Any]]  # options of models by full name

_URL = "base_url"
_declared: ContextVar[dict[str, dict[str, Any]]] = ContextVar("_declared")


def declared(*tables: Options) -> AbstractContextManager[None]:
    """Open models with these options until the block ends, beside those declared around it.

    Raises:
        InputError: If a model would have two addresses.
    """
    return setting(_declared, merged(_declared.get({}), *tables))


def known() -> dict[str, dict[str, Any]]:
    """All that is declared here, for work that is done elsewhere."""
    return _declared.get({})


def merged(*tables: Options) -> dict[str, dict[str, Any]]:
    """Options of all tables by name; of a later table those that an earlier one has, too.

    Raises:
        InputError: If a model has two addresses.
    """
    result: dict[str, dict[str, Any]] = {}
    for name, options in ((name, own) for table in tables for name, own in table.items()):
        known = result.setdefault(name, {})
        one, other = known.get(_URL), options.get(_URL)
        if one and other and str(one).rstrip("/") != str(other).rstrip("/"):
            raise InputError(f"{name} must have one {_URL}, got {one!r} and {other!r}")
        known |= options
    return result


def options_of(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the model with this full name: ``own``, and those declared for it."""
    return merged({name: _declared.get({}).get(name, {})}, {name: own})[name]


def check_address(name: str, model: Any) -> None:
    """Raise `InputError` where a model's public address is nobody's word, and another's is."""
    urls = {n: str(own[_URL]).rstrip("/") for n, own in _declared.get({}).items() if own.get(_URL)}
    if urls and getattr(model, "is_unwritten", False) and model.base_url not in urls.values():
        other, url = next(iter(urls.items()))
        why = f"{name} has no {_URL}, while {other} has {url!r}"
        how = f"write its {_URL}, as --model-option {name}.{_URL}=URL"
        raise InputError(f"{why}: nothing is sent to {model.base_url} unasked; {how}")


def written(models: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Addresses, with keys, of models that somebody opened: those of servers, and of clients."""
    server = sys.modules.get("ragsieve.models.server")  # whose client takes a while to import
    result: dict[str, dict[str, Any]] = {}
    for model in models:
        if server and isinstance(model, server.Server):
            if not model.is_unwritten:
                own = {_URL: model.base_url, "api_key": model.api_key}
                result[f"{model.backend}:{model.model}"] = own
        elif isinstance(identity := getattr(model, "__dict__", {}).get("identity"), str):
            name, at, url = identity.partition("@http")  # a client's, see `as_llm`
            result |= {name: {_URL: f"http{url}"}} if at else {}
    return result
