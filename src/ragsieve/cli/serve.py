"""`ragsieve serve`: the same calls over HTTP."""

import ipaddress
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Meta

from ragsieve.agents.rules import ToolRules
from ragsieve.cli.base import EXISTING_FILE, FILE, secret, warn
from ragsieve.cli.opening import KEPT, complete_systems
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.errors import InputError
from ragsieve.files import read_bytes, read_toml
from ragsieve.models.addresses import declared
from ragsieve.schema import Count, Seconds
from ragsieve.server.settings import Limits, Settings, Upstream
from ragsieve.spec import CUTS, SystemSpec

_Names = Annotated[tuple[str, ...], {"flags": ["--system"], "shell_complete": complete_systems}]
_Variable = Annotated[str | None, {"metavar": "NAME"}]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Who may ask, where chats go, and what of them is filtered; the fields are options.

    Args:
        token_env: A variable with the bearer tokens to ask.
        token_file: A file with the bearer tokens to ask for, with white space between.
        upstream: Where chats are forwarded to, with its /v1.
        upstream_key_env: A variable with the upstream's key.
        filter_tools: In chats, filter results of tools with such names, as 'web_*'; '*' for all.
        savings: Keep tokens before and after by day, route and tool in this SQLite file; /stats and
            the page at / show them.
        tool_rules: TOML with a table [[tools]] for each rule, which come before --filter-tools.
    """

    token_env: _Variable = None
    token_file: Annotated[Path | None, EXISTING_FILE] = None
    upstream: Annotated[str | None, {"metavar": "URL"}] = None
    upstream_key_env: _Variable = None
    filter_tools: Annotated[tuple[str, ...], {"metavar": "PATTERN"}] = ()
    tool_rules: Annotated[Path | None, EXISTING_FILE] = None
    savings: Annotated[Path | None, FILE] = None

    def __post_init__(self) -> None:
        if (self.filter_tools or self.tool_rules) and not self.upstream:
            raise InputError("--filter-tools and --tool-rules go with --upstream")
        if self.upstream_key_env and not self.upstream:
            raise InputError("--upstream-key-env goes with --upstream")

    def settings(self, host: str, **others: Any) -> Settings:
        """Settings of a server at an address, with those that are no options of this."""
        key, tokens = secret("--upstream-key-env", self.upstream_key_env), self._tokens()
        rules = read_toml(ToolRules, self.tool_rules).tools if self.tool_rules else ()
        return Settings(
            tokens=tokens,
            hosts=_hosts(host, tokens),
            upstream=Upstream(base_url=self.upstream, api_key=key) if self.upstream else None,
            filter_tools=(*rules, *self.filter_tools),
            savings=self.savings,
            warm=True,
            **others,
        )

    def _tokens(self) -> tuple[str, ...]:
        """Those that may ask; all where there is none."""
        tokens = secret("--token-env", self.token_env).split()
        if self.token_file:
            tokens += read_bytes(self.token_file).decode("utf-8", "replace").split()
            if not tokens:
                file = str(self.token_file)
                raise InputError(f"--token-file must hold a token, got none in {file!r}")
        if not all(re.fullmatch("[!-~]{8,}", token) for token in tokens):
            raise InputError("a token must be 8 or more printable ASCII characters (not shown)")
        return tuple(tokens)


_PARAMS = [
    *options_of(SystemSpec, ("system",), KEPT),
    *options_of(Limits, ("workers",), prefix="limit_"),
    *options_of(ServerOptions),
]


@command("serve", short_help="Serve systems over HTTP.", params=_PARAMS)
def serve_command(
    *,
    names: _Names = ("finefilter",),
    host: str = "127.0.0.1",
    port: Annotated[int, Meta(ge=0, le=65535)] = 8000,
    workers: Count = 16,
    grace: Seconds = 30.0,
    strict_models: bool = False,
    **options: Any,
) -> None:
    """Serve systems over HTTP: filter, answer, rerank, chat completions, an inspector.

    \b
      ragsieve serve
      ragsieve serve --keep-answer 0.9
      ragsieve serve --system finefilter --system top-sentences --port 8080
      ragsieve serve --llm openai:NAME --llm-option base_url=http://127.0.0.1:8000/v1
      ragsieve serve --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY
      ragsieve serve --upstream https://api.anthropic.com/v1 --filter-tools Bash --savings saved.db
      ragsieve serve --host 0.0.0.0 --token-env RAGSIEVE_TOKEN

    \b
      curl -s http://127.0.0.1:8000/v1/filter -H 'Content-Type: application/json' \\
        -d '{"query": "Who sang it?", "documents": ["…"]}'

    Args:
        names: One that `ragsieve systems` lists, or a trained filter's folder or hub id; several by
            name, the first is the default.
        host: The address to listen at.
        port: 0 for a free one.
        workers: Requests at once.
        grace: Seconds that requests have to end at SIGTERM; a second one ends them at once.
        strict_models: Refuse rerank requests for unknown models.
    """
    limits = replace(from_options(Limits, options, prefix="limit_"), workers=workers)
    own = from_options(ServerOptions, options)
    settings = own.settings(host, limits=limits, grace_s=grace, strict_models=strict_models)
    names = tuple(dict.fromkeys(names))
    system = from_options(SystemSpec, options).replaced(system=names[0])
    if len(names) > 1 and (system.options or system.models):
        raise InputError("--option and --model go with one --system")
    for cut in CUTS if len(names) > 1 else ():
        if getattr(system, cut) is not None:
            flag = "--" + cut.replace("_", "-")
            raise InputError(f"{flag} goes with one --system; a request may name {cut}")
    system = system.with_llm(*names)
    chosen = [system.replaced(system=name) for name in names]
    for one in chosen:
        one.check()
    from ragsieve.server import create_app  # fastapi and uvicorn are an extra
    from ragsieve.server.running import run

    upstream = {"--upstream": {"base_url": settings.upstream.base_url}} if settings.upstream else {}
    with chosen[0].loaded(callers=None) as loaded:
        with declared(upstream):
            systems = {one.system: one.built(loaded) for one in chosen}
        app = create_app(systems, settings=settings)
        busy = run(app, host, port, settings, on_start=click.echo)
        if busy:  # a model is still at what nobody waits for: it cannot be stopped
            sys.stdout.flush()
            os._exit(0)


def _hosts(host: str, tokens: Sequence[str]) -> tuple[str, ...]:
    """Names by which a server on this machine may be called; warns of another without tokens."""
    local = host == "localhost"
    with suppress(ValueError):  # another name
        local = ipaddress.ip_address(host).is_loopback
    if local:
        return ("localhost", "127.0.0.1", "::1", host)
    if not tokens:
        warn(f"all who reach {host} may ask: set --token-env or --token-file")
    return ()
