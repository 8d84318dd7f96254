"""Applications on fakes, and servers on 127.0.0.1 that end with the test."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

import uvicorn
from fastapi.testclient import TestClient

import ragsieve
from ragsieve.pipeline import System
from ragsieve.server import Settings, create_app
from ragsieve.server.running import config
from ragsieve.types import Query, Segment

MakeClient = Callable[..., TestClient]
Serve = Callable[[Any], str]


@pytest.fixture(scope="session")
def system() -> System:
    """The sentence nearest to the question by the words they share; an echo answers."""
    return ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})


@pytest.fixture
def body() -> dict[str, Any]:
    """A question of three documents."""
    return {
        "query": "Who sang Summer Breeze?",
        "documents": [
            "It rained in Rome. Nobody sang.",
            {"id": "song", "title": "Song", "text": "Seals sang Summer Breeze. It was a hit."},
            {"id": "rome", "title": "Rome", "text": "Rome is a city."},
        ],
    }


def failing(system: System, error: Exception) -> System:
    """The same with a stage that fails."""

    def stage(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        raise error

    return replace(system, stage=stage)


@pytest.fixture(scope="module")
def shared(system: System) -> Iterator[Callable[[Settings], TestClient]]:
    """Clients of applications of the one system, which a file's tests share by their settings."""
    opened: list[tuple[Settings, TestClient]] = []

    def of(settings: Settings) -> TestClient:
        for known, made in opened:
            if known == settings:
                return made
        made = TestClient(
            create_app({"nearest": system}, settings=settings), raise_server_exceptions=False
        )
        opened.append((settings, made.__enter__()))
        return made

    yield of
    for _, one in opened:
        one.__exit__(None, None, None)


@pytest.fixture
def client(shared: Callable[[Settings], TestClient]) -> Iterator[MakeClient]:
    """Makes clients of applications, without a network; those of no systems are shared."""
    opened: list[TestClient] = []

    def make(
        systems: dict[str, System] | None = None, settings: Settings | None = None
    ) -> TestClient:
        if systems is None:
            return shared(settings or Settings())
        made = TestClient(create_app(systems, settings=settings), raise_server_exceptions=False)
        opened.append(made.__enter__())
        return made

    yield make
    for one in opened:
        one.__exit__(None, None, None)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves ASGI applications on free ports of 127.0.0.1: their addresses."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(app: Any) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        settings = config(app, app.state.service.settings)
        settings.log_level, settings.timeout_graceful_shutdown = "critical", 1
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for server, _ in running:
        server.should_exit = True
    for _, thread in running:
        thread.join(5)
