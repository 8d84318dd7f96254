"""`ragsieve serve`: the same calls over HTTP."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragsieve import trained
from ragsieve.cli.base import INFO
from ragsieve.cli.opening import (
    SYSTEM_OPTIONS,
    built,
    check,
    check_keep_answer,
    loaded,
    on_error_option,
)
from ragsieve.errors import InputError
from ragsieve.models.batcher import DynamicBatcher

if TYPE_CHECKING:
    from ragsieve.pipeline import System
    from ragsieve.server.settings import Settings

SERVE_HELP = """Serve systems over HTTP: filter, answer, rerank, chat completions, an inspector.

\b
  ragsieve serve
  ragsieve serve --keep-answer 0.9
  ragsieve serve --system finefilter --system top-sentences --port 8080
  ragsieve serve --llm openai:NAME --llm-option base_url=http://127.0.0.1:8000/v1
  ragsieve serve --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY
  ragsieve serve --host 0.0.0.0 --token-env RAGSIEVE_TOKEN

\b
  curl -s http://127.0.0.1:8000/v1/filter -H 'Content-Type: application/json' \\
    -d '{"query": "Who sang it?", "documents": ["…"]}'
"""
_LIMITS = (  # option, what it limits
    ("max_body_mb", "Megabytes of a request."),
    ("max_documents", "Documents of a request."),
    ("max_tokens", "Tokens of a request's documents."),
    ("timeout_s", "Seconds until a request is given up."),
    ("queue", "Requests that may wait."),
    ("per_client", "Requests that one client may have inside."),
)
_JOIN_S = 0.002  # until calls that were answered together have come again
OPTIONS = (
    click.option(
        "--system",
        "names",
        multiple=True,
        default=["finefilter"],
        help="One that `ragsieve systems` lists, or a trained filter's folder or hub id; several "
        "by name, the first is the default.",
    ),
    *SYSTEM_OPTIONS,
    on_error_option("keep"),
    click.option("--host", default="127.0.0.1", help="The address to listen at."),
    click.option("--port", type=click.IntRange(0, 65535), default=8000, help="0 for a free one."),
    click.option("--token-env", metavar="NAME", help="A variable with the bearer tokens to ask."),
    click.option(
        "--token-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A file with the bearer tokens to ask for, with white space between.",
    ),
    click.option("--upstream", metavar="URL", help="Where chats are forwarded to, with its /v1."),
    click.option("--upstream-key-env", metavar="NAME", help="A variable with the upstream's key."),
    click.option("--workers", type=click.IntRange(1), default=16, help="Requests at once."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, what in reversed(_LIMITS):
        flag = f"--limit-{name.replace('_', '-')}"
        kind = float if name in ("max_body_mb", "timeout_s") else int
        command = click.option(flag, f"limit_{name}", type=kind, help=what)(command)
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command("serve", help=SERVE_HELP, short_help="Serve systems over HTTP.")
@_options
def serve_command(**options: Any) -> int:
    names = [*dict.fromkeys(options.pop("names"))]
    if len(names) > 1 and (options["system_options"] or options["system_models"]):
        raise InputError("--option and --model go with one --system")
    if len(names) > 1 and options["keep_answer"] is not None:
        raise InputError("--keep-answer goes with one --system; a request may name keep_answer")
    if options["index"] and options["sources"]:
        raise InputError("name --index or --sources, not both")
    options["llm"] = options["llm"] or trained.generator(
        names[0], asking=bool(options["llm_options"])
    )
    options["cache"] = None
    for name in names:
        check(system=name, **options)
    return _serve(names, _settings(options), options)


def _serve(names: Sequence[str], settings: Settings, options: Mapping[str, Any]) -> int:
    from ragsieve.server import create_app  # fastapi and uvicorn are an extra
    from ragsieve.server.running import run

    with loaded(callers=1, inner=_batched, **options) as found:
        systems = {name: built(found, system=name, **options) for name in names}

        @cache
        def rebuilt(name: str, percent: int) -> System:
            own = {"system": name, "keep_answer": percent / 100}
            return built(found, **{**options, **own})

        def keeping(name: str, keep_answer: float) -> System:
            check_keep_answer(name, keep_answer, ())
            return rebuilt(name, math.ceil(round(keep_answer * 100, 6)))  # 20 of each at most

        app = create_app(systems, settings=settings, keeping=keeping)
        left = run(app, options["host"], options["port"], settings, tell=click.echo)
        if left:  # a model is still at what nobody waits for: it cannot be stopped
            sys.stdout.flush()
            os._exit(0)
    return 0


def _batched(model: Any) -> Any:
    """A model whose calls are joined while it is busy: nobody waits for others who may not come."""
    size = 256
    if hasattr(model, "complete"):
        size = 32
    elif any(hasattr(model, call) for call in ("prune", "rank")):  # one at a time
        size = 1
    return DynamicBatcher(model, max_batch=size, wait_s=_JOIN_S)


def _settings(options: Mapping[str, Any]) -> Settings:
    from ragsieve.server.settings import Limits, Settings, Upstream

    given = {name: options[f"limit_{name}"] for name, _ in _LIMITS}
    limits = Limits(workers=options["workers"], **{k: v for k, v in given.items() if v is not None})
    tokens = _tokens(options["token_env"], options["token_file"])
    upstream = None
    if options["upstream"]:
        key = _secret("--upstream-key-env", options["upstream_key_env"])
        upstream = Upstream(base_url=options["upstream"], api_key=key)
    elif options["upstream_key_env"]:
        raise InputError("--upstream-key-env goes with --upstream")
    hosts: tuple[str, ...] = ()
    if _loopback(options["host"]):
        hosts = ("localhost", "127.0.0.1", "::1", options["host"])
    elif not tokens:
        INFO.print(
            f"warning: all who reach {options['host']} may ask: set --token-env or --token-file",
            style="yellow",
            markup=False,
        )
    return Settings(limits=limits, tokens=tokens, hosts=hosts, upstream=upstream, warm=True)


def _tokens(variable: str | None, file: Path | None) -> tuple[str, ...]:
    tokens = _secret("--token-env", variable).split()
    if file:
        tokens += file.read_text(encoding="utf-8", errors="replace").split()
        if not tokens:
            raise InputError(f"--token-file must hold a token, got none in {str(file)!r}")
    for token in tokens:
        if not re.fullmatch("[!-~]{8,}", token):
            raise InputError("a token must be 8 or more printable ASCII characters (not shown)")
    return tuple(tokens)


def _secret(flag: str, variable: str | None) -> str:
    if variable is None:
        return ""
    if not (value := os.environ.get(variable, "").strip()):
        raise InputError(f"{flag} must name a variable that is set, got {variable!r}")
    return value


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
