"""`ragsieve mcp`: tools for agents, by the Model Context Protocol."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Meta

from ragsieve.cli.base import secret
from ragsieve.cli.opening import KEPT, SourceOption
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.errors import InputError, MissingExtra
from ragsieve.integrations.mcp_opening import Opening, standard_streams
from ragsieve.models.addresses import declared
from ragsieve.models.protocol import check_url
from ragsieve.server.settings import Limits
from ragsieve.sources import named_source
from ragsieve.spec import SystemSpec

_OTHERS = ("source", "source_options")
_NO_LIMITS = ("max_body_mb", "max_values", "workers", "queue", "per_client")  # of HTTP's server
_PARAMS = [*options_of(SystemSpec, _OTHERS, KEPT), *options_of(Limits, _NO_LIMITS, prefix="limit_")]


@command("mcp", short_help="Serve tools for agents by MCP.", params=_PARAMS)
def mcp_command(
    *,
    sources: Annotated[
        tuple[str, ...], {"flags": ["--source"], "metavar": "KIND:PLACE", "cls": SourceOption}
    ] = (),
    server: Annotated[str | None, {"metavar": "URL"}] = None,
    server_token_env: Annotated[str | None, {"metavar": "NAME"}] = None,
    http: bool = False,
    port: Annotated[int, Meta(ge=1, le=65535)] = 8000,
    **options: Any,
) -> None:
    """Serve filter_documents, search_index and show_dropped to agents.

    A model reads the sentences that matter, and asks for what was dropped by a handle.

    \b
      ragsieve mcp
      ragsieve mcp --source index:my-index --keep-answer 0.9
      ragsieve mcp --server http://127.0.0.1:8000 --server-token-env RAGSIEVE_TOKEN
      ragsieve mcp --http --port 8765

    \b
      {"mcpServers": {"ragsieve": {"command": "ragsieve", "args": ["mcp"]}}}

    Args:
        sources: Search this, as index:FOLDER of `ragsieve index build`, by the tool search_index,
            under the name of its folder; may come several times.
        server: A `ragsieve serve` that filters results of tools: show_dropped takes its handles,
            too.
        server_token_env: A variable with the bearer token that this server asks for.
        http: Serve at http://127.0.0.1:PORT/mcp, not over stdio.
        port: Of --http.
    """
    names = [Path(source.partition(":")[2]).resolve().stem for source in sources]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--source must be places of different names, got {repeated!r} twice")
    if server:
        check_url("--server", server)
    if server_token_env and not server:
        raise InputError("--server-token-env goes with --server")
    token = secret("--server-token-env", server_token_env)
    limits = from_options(Limits, options, prefix="limit_")
    system = from_options(SystemSpec, options).with_llm()
    system.check()
    kinds = [named_source(source, {}) for source in sources]
    for kind in kinds:
        kind.check()
    if not find_spec("mcp"):
        raise MissingExtra("mcp", extra="mcp")
    with declared(system.declared), system.opened() as built:
        searched = dict(zip(names, kinds, strict=True))
        session = None if http else Opening(*standard_streams(), bool(sources))
        if session and not session.answer():
            return
        from ragsieve.integrations.mcp import create_server  # takes longer than clients wait

        served = create_server(built, searched, server or "", token, limits)
        if session:
            served.serve(session)
        else:
            click.echo(f"ragsieve serves at http://127.0.0.1:{port}/mcp", err=True)
            served.run("streamable-http", host="127.0.0.1", port=port)
