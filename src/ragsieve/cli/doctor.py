"""`ragsieve doctor`: what is installed, where models are, which servers answer."""

import json
import os
import platform
import re
import socket
import time
from collections.abc import Iterator
from importlib import metadata
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import Request

import click
from msgspec import Meta

from ragsieve import models
from ragsieve.cli.base import Json, printable, table
from ragsieve.cli.config import settings
from ragsieve.cli.opening import CHANGES
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.errors import RagsieveError, StoreError, one_line, typed_line
from ragsieve.models.fetch import fetch
from ragsieve.run.concurrency import cores
from ragsieve.schema import without_secrets
from ragsieve.spec import SystemSpec, entry
from ragsieve.text import json_value

_HUB = "https://huggingface.co"
_LOCAL = {"Ollama": 11434, "llama.cpp": 8080, "vLLM": 8000, "LM Studio": 1234}  # their own ports
_OK, _NOTE, _FAILS = "ok", "note", "fails"
_NEED = re.compile(r"([\w.-]+)(?:\[([\w.,-]*)\])?")
_SHOWN = 5  # models of a server


class Check(NamedTuple):
    """One line of the page; state is ``ok``, ``note`` or ``fails``."""

    about: str
    name: str
    state: str
    text: str


@command("doctor", short_help="Check what is installed, models, servers, the port.")
def doctor_command(
    *,
    port: Annotated[int | None, Meta(ge=1, le=65535)] = None,
    as_json: Json = False,
    **options: Any,
) -> int:
    """Check what is installed, where models are, which servers answer, whether the port is free,
    and what would be asked over the network. Nothing is fetched, and no text is sent.

    The exit code is 1 where something that settings or options name does not work. Keys are not
    shown; a server is asked for its list of models, with its key.

    \b
      ragsieve doctor
      ragsieve doctor --llm openai:NAME --llm-option base_url=http://127.0.0.1:8080/v1
      ragsieve doctor --system chunkrag-likelihood --source index:my-index --port 8080
      ragsieve doctor --json

    Args:
        port: Of `ragsieve serve`; 8000 where none is named.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    spec = from_options(SystemSpec, options)
    asked: dict[str, str] = {}
    checks = [*_installed(), *_set(), *_of_system(spec, asked), *_local(asked), _port(port)]
    checks.append(Check("network", "asked", _OK, ", ".join(sorted({*asked.values()})) or "nothing"))
    checks = [Check(*map(printable, one)) for one in checks]
    fails = any(one.state == _FAILS for one in checks)
    if as_json:
        click.echo(json.dumps({"ok": not fails, "checks": [one._asdict() for one in checks]}))
    else:
        table(("about", "name", "state", "what"), checks)
    return int(fails)


doctor_command.params[:0] = options_of(SystemSpec, (), CHANGES)


def _installed() -> Iterator[Check]:
    """Versions, and the extras that are complete."""
    machine = f"Python {platform.python_version()}, {platform.platform()}, {cores()} cores"
    yield Check("installed", "ragsieve", _OK, f"{metadata.version('ragsieve')}, {machine}")
    names = metadata.metadata("ragsieve").get_all("Provides-Extra") or []
    missing = {name: _missing("ragsieve", name) for name in names if name not in ("dev", "docs")}
    here = [name for name, lacks in missing.items() if not lacks]
    others = [f"{name} ({', '.join(sorted(lacks))})" for name, lacks in missing.items() if lacks]
    yield Check("installed", "extras", _OK, ", ".join(here) or "none")
    if others:
        text = f"extras, and what they lack: {', '.join(others)}"
        yield Check("installed", "not installed", _NOTE, text)


def _missing(package: str, extra: str) -> set[str]:
    """Packages that an extra of a package brings and that are not installed."""
    lacks = set()
    for line in metadata.requires(package) or []:
        need, _, marker = line.partition(";")
        match = _NEED.match(need)
        if not match or not re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", marker):
            continue
        try:
            metadata.version(match[1])
        except metadata.PackageNotFoundError:
            lacks.add(match[1])
        else:
            for inner in filter(None, (match[2] or "").split(",")):
                lacks |= _missing(match[1], inner)
    return lacks


def _set() -> Iterator[Check]:
    """Settings in force."""
    known = settings()
    values = without_secrets({name: setting.value for name, setting in known.items()})
    for name, value in values.items():
        shown = json.dumps(value, ensure_ascii=False)
        yield Check("settings", name, _OK, f"{shown}, of {known[name].origin}")


def _of_system(spec: SystemSpec, asked: dict[str, str]) -> Iterator[Check]:
    """The system, its models, its source; hosts go to ``asked`` by their URL."""
    try:
        spec.check()
        whole, needs_llm = spec.with_llm(answering=True), entry(spec.system).needs_llm
    except RagsieveError as error:
        yield Check("system", spec.system, _FAILS, one_line(error))
        return
    parts, roles = whole.named
    checks = [_model(role, name, {}, asked) for role, name in {**parts, **roles}.items()]
    yield from checks
    alone = not (asked or needs_llm or spec.source)
    if alone and all(one.state == _OK for one in checks):
        yield _tried(spec.replaced(llm=None, llm_options={}))
    name = whole.llm or ""
    if spec.llm or needs_llm:
        yield _model("llm", name, whole.llm_options, asked)
    else:
        check = _model("llm, only to answer", name, {}, None)
        yield check._replace(state=_NOTE if check.state == _FAILS else check.state)


def _tried(spec: SystemSpec) -> Check:
    """The system on a sentence; no LLM and no server is asked."""
    began = time.perf_counter()
    try:
        with spec.opened() as system:
            system("Is it warm?", ["It is warm."])
    except Exception as error:  # whatever a model's library raises
        return Check("system", spec.system, _FAILS, typed_line(error, 300))
    return Check("system", spec.system, _OK, f"filters, {time.perf_counter() - began:.1f} s")


def _model(role: str, name: str, options: dict[str, Any], asked: dict[str, str] | None) -> Check:
    """Where a model is: a folder, a server that answers, or the hub; none is asked where None."""
    try:
        if not models.local_calls(name):
            model = models.load(name, **options)
            if asked is not None and getattr(model, "base_url", None):
                return _server(role, name, model, bool(options.get("api_key")), asked)
        place = models.folder(name)
    except StoreError:
        url, fault = os.environ.get("HF_ENDPOINT") or _HUB, ""
        if asked is not None:
            asked[url] = urlsplit(url).netloc
            fault = _ask(url)[2]
        text = f"{name} is not here; it is fetched from {url} first. {fault}"
        return Check("models", role, _FAILS if fault else _NOTE, text.strip())
    except RagsieveError as error:
        return Check("models", role, _FAILS, one_line(error, 300))
    return Check("models", role, _OK, f"{name}, {place or 'needs no weights'}")


def _server(role: str, name: str, model: Any, own_key: bool, asked: dict[str, str]) -> Check:
    """Whether a model's server answers, takes the key, and lists the model."""
    url, key = model.base_url, "" if model.api_key == "none" else model.api_key
    asked[url] = urlsplit(url).netloc
    status, ids, fault = _ask(f"{url}/models", key)
    from_ = "the settings" if own_key else model.home.key_name
    about = f"{name} at {url}, {f'with the key of {from_}' if key else 'without a key'}"
    if fault or status >= 500 or 300 <= status < 400:  # no client of ours follows a redirect
        return Check("models", role, _FAILS, f"{about}: {fault or f'HTTP {status}'}")
    if status in (401, 403):
        return Check("models", role, _FAILS, f"{about}: the key is refused (HTTP {status})")
    if ids and model.model not in ids:
        return Check("models", role, _NOTE, f"{about}: it answers, but lists {_some(ids)}")
    return Check("models", role, _OK, f"{about}: it answers")


def _local(asked: dict[str, str]) -> Iterator[Check]:
    """Servers of models on this machine that nobody has named."""
    for name, port in _LOCAL.items():
        url = f"http://127.0.0.1:{port}/v1"
        if url not in asked and (ids := _ask(f"{url}/models", seconds=0.5)[1]):
            use = f"--llm openai:NAME --llm-option base_url={url}"
            text = f"{name}, or one like it, has {_some(ids)}: {use}"
            yield Check("servers", f"port {port}", _NOTE, text)


def _port(port: int | None) -> Check:
    """Whether `ragsieve serve` can listen."""
    number = port or 8000
    try:
        socket.create_server(("127.0.0.1", number)).close()
    except OSError as error:
        ours = "ragsieve" in _get(f"http://127.0.0.1:{number}/openapi.json")[1]
        by = "a `ragsieve serve`" if ours else f"another program ({error.strerror})"
        return Check("port", str(number), _FAILS if port and not ours else _NOTE, f"taken by {by}")
    return Check("port", str(number), _OK, "free")


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + f" and {len(ids) - _SHOWN} more" * (len(ids) > _SHOWN)


def _get(url: str, key: str = "", seconds: float = 1.0) -> tuple[int, str, str]:
    """A server's status, what it says, and why it does not answer."""
    try:
        request = Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
        return *fetch(request, seconds), ""
    except Exception as error:  # refused, silent, no HTTP
        fault = one_line(getattr(error, "reason", error), 200) or "no answer in time"
        return 0, "", f"it does not answer: {fault}"


def _ask(url: str, key: str = "", seconds: float = 5.0) -> tuple[int, list[str], str]:
    """A server's status, the models that it lists, and why it does not answer."""
    status, text, fault = _get(url, key, seconds)
    data = json_value(text, {})
    rows = data.get("data") if isinstance(data, dict) else None
    ids = [one.get("id") for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []
    return status, [one for one in ids if isinstance(one, str)], fault
