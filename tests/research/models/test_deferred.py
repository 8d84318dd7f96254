"""Models that are imported with their first call."""

import copy
import pickle
from contextlib import ExitStack
from importlib import import_module

import pytest

from ragsieve import Document, InputError, Query, RagsieveError, Segment, models, spec
from ragsieve.answer import Reader
from ragsieve.models.base import Message, Streamer
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.deferred import Deferred, DeferredLLM, identity_of, opened
from ragsieve.models.pruner import Pruner
from ragsieve.models.sharing import sharing
from ragsieve.models.wrap import is_concurrent
from ragsieve.systems.base import SYSTEMS
from ragsieve.trace import Trace, step
from ragsieve_research.split.windows import counts_by_request
from tests import tiny

PROMPT = (Message("user", "Who sang it?"),)
ENCODER_CALLS = ("embed", "embed_spans", "score", "prune", "threshold", "rank", "classify")
LLM_CALLS = ("complete", "choose", "loglik", "surprisals", "stream", "count")
NOWHERE = "./no-such-folder"
LOCAL = [
    "smollm2",
    "minilm",
    "none",
    *(f"{p}:{NOWHERE}" for p, e in models.BACKENDS.items() if e.calls),
]


def is_open(model):
    """Whether it is imported; what is not deferred counts as such."""
    return not isinstance(model, Deferred) or "opened" in vars(model)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A tiny llama that reads 400 tokens, each a byte, by the name that loads it."""
    folder = tmp_path_factory.mktemp("models") / "llama"
    words = tiny.save_bytes(folder, [], ["<|im_start|>", "<|im_end|>"], 258)
    tiny.llama(words, max_position_embeddings=400).save_pretrained(folder)
    return f"transformers:{folder}"


@pytest.fixture(params=LOCAL)
def looked_at(request):
    """A model of each local backend, which the test must not open."""
    pytest.importorskip("torch")
    model = models.defer(request.param)
    yield model

    assert not is_open(model)


def test_looking_at_a_model_opens_nothing(looked_at):
    """Its calls, its identity, how it is shared, copies of it: all that is read before a call."""
    name = models.full_name(looked_at.name)

    assert name == looked_at.identity
    assert models.local_calls(name) == {
        call for call in (*ENCODER_CALLS, *LLM_CALLS[:4]) if call in vars(looked_at)
    }
    assert [hasattr(looked_at, call) for call in LLM_CALLS] == [hasattr(looked_at, "can")] * 6
    assert isinstance(looked_at, Streamer) == hasattr(looked_at, "can")
    assert not is_concurrent(looked_at)
    assert not counts_by_request(looked_at)
    assert f"(name={looked_at.name!r}" in repr(looked_at)
    assert looked_at is copy.deepcopy(looked_at)
    for other in (copy.copy(looked_at), pickle.loads(pickle.dumps(looked_at))):
        assert (looked_at, hash(looked_at)) == (other, hash(other))
        assert not is_open(other)


@pytest.mark.parametrize("prefix", [p for p, e in models.BACKENDS.items() if e.calls])
def test_the_calls_of_a_deferred_model_are_its_class(prefix):
    """And no local class has what a deferred one denies."""
    pytest.importorskip("sentence_transformers")
    known = models.BACKENDS[prefix]
    module, _, name = str(known.make).partition(":")
    made = getattr(import_module(module), name)
    calls = (
        made.can if known.kind == "LLM" else {call for call in ENCODER_CALLS if hasattr(made, call)}
    )

    assert calls == models.BACKENDS[prefix].calls
    assert not hasattr(made, "is_concurrent")
    assert not hasattr(made, "counts_by_request")


@pytest.mark.parametrize("name", [n for n in SYSTEMS if not SYSTEMS[n].knows])
def test_making_a_system_opens_no_model(name, tmp_path):
    """However it is wrapped; only Self-RAG asks the tokenizer whether it has its tokens."""
    pytest.importorskip("sentence_transformers")
    roles = {role: models.defer(spec.USUAL[role]) for role in spec.roles_of(name, {})}
    llm, tokens = models.defer(f"transformers:{NOWHERE}"), name in ("self-rag", "self-crag")
    with sharing(4, cache=tmp_path / "cache.db") as share, ExitStack() as stack:
        if tokens:
            stack.enter_context(pytest.raises(RagsieveError, match=NOWHERE))
        shared = {role: share(model) for role, model in roles.items()}
        repr(spec.build(name, share(llm), **shared))

    assert tokens == is_open(llm)
    assert "embedder" not in roles or not is_open(roles["embedder"])


def test_the_first_call_opens_the_model(llama):
    """It then answers as the model itself does, under its identity."""
    own, model = models.load(llama), models.defer(llama)
    before = model.identity
    replies = model.complete([PROMPT], max_tokens=3)

    assert llama == before
    assert own.complete([PROMPT], max_tokens=3) == replies
    assert own.identity == model.identity
    assert (own.context, own.is_small) == (model.context, model.is_small)
    assert own.count(["a cat"]) == model.count(["a cat"])
    assert "".join(model.stream(PROMPT, max_tokens=3)) == replies[0]


def test_what_results_depend_on_is_the_identity_of_the_model_itself(llama, tmp_path):
    """Replies in a file are found by it, whoever wrote them; they need no weights."""
    Cached(models.load(llama), tmp_path / "c").complete([PROMPT], max_tokens=3)
    model = models.defer(llama)
    with Trace().recording(), step("again") as record:
        Cached(model, tmp_path / "c").complete([PROMPT], max_tokens=3)

    assert [True] == [usage.cached for usage in record.usages]
    assert models.load(llama).identity == identity_of(DynamicBatcher(models.defer(llama)))
    assert "_decoder" not in vars(opened(model))


@pytest.mark.parametrize("wrap", [lambda model: model, DynamicBatcher])
def test_a_model_is_known_without_its_library(make_encoder, llama, wrap):
    """A run that is finished, or whose results are cached, waits for no import."""
    for name in (f"sentence_transformers:{make_encoder(['a'], 16)}", llama):
        model = models.defer(name)

        assert models.load(name).identity == identity_of(wrap(model))
        assert not is_open(model)


def test_options_are_checked_at_once():
    """By the class that takes them."""
    pytest.importorskip("torch")
    model = models.defer("smollm2", max_context=64)

    assert 64 == model.max_context
    with pytest.raises(InputError, match="smollm2 cannot take options"):
        models.defer("smollm2", colour=1)


def test_tokens_are_counted_without_an_llm_that_nobody_named(llama):
    """By the bundled pruner; what it reads fits by its own tokens."""
    model = models.load("none")
    with DynamicBatcher(model) as shared:
        counts = shared.count(["The Eiffel Tower.", ""])

    assert Pruner().count(["The Eiffel Tower.", ""]) == counts
    assert not is_open(model)

    llm = DeferredLLM(llama, bundled=True)
    segments = [Segment.whole(Document(str(n), "0123456789 " * 9)) for n in range(4)]
    answers = [Reader(m, max_tokens=4)(Query("Who?"), segments) for m in (models.load(llama), llm)]

    assert sum(llm.count([s.text for s in segments])) < llm.context
    assert 2 == len(answers[0].segments)
    assert answers[0] == answers[1]
