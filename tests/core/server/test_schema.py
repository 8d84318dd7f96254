"""The OpenAPI document: complete, and no request made from it breaks the server."""

import pytest
from hypothesis import HealthCheck, given, settings

import ragsieve
from ragsieve.server import create_app

SYSTEM = ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})
APP = create_app({"nearest": SYSTEM})


@pytest.mark.slow
def test_no_request_breaks_the_server():
    """Whatever fits the document, or does not, gets a reply under 500, in our shape of errors."""
    schemathesis = pytest.importorskip("schemathesis")  # takes seconds to import
    few = settings(max_examples=25, deadline=None, derandomize=True, database=None)
    few = settings(few, suppress_health_check=list(HealthCheck))

    def check(case):
        reply = case.call()

        assert reply.status_code < 500
        if reply.status_code >= 400:
            assert {"message", "type", "code"} == reply.json()["error"].keys()

    for found in schemathesis.openapi.from_asgi("/openapi.json", APP).get_all_operations():
        operation = found.ok()
        valid, broken = (operation.as_strategy(mode) for mode in schemathesis.GenerationMode)
        few(given(valid | broken if operation.body else valid)(check))()


def test_every_body_has_an_example():
    """Of requests and of replies but Prometheus' text, the upstream's and its models."""
    document = APP.openapi()
    shapes = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            bodies = [said["requestBody"]] if "requestBody" in said else []
            if "upstream" not in said["description"] and path != "/metrics":
                bodies.append(said["responses"]["200"])
            for body in bodies:
                content = body["content"]["application/json"]
                name = content["schema"].get("$ref", "").rpartition("/")[2]

                assert "example" in content or shapes.get(name, {}).get("examples"), (method, path)
