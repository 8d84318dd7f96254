"""Rules of options of what is no stage, system or plan, and those of two options or of words."""

import math
from functools import partial
from inspect import signature

import pytest

from ragsieve import Document, InputError, Query, Segment, score, split
from ragsieve.answer import Reader
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.answer.agent import Agent
from ragsieve_research.answer.critic import Critic
from ragsieve_research.answer.demonstrations import read_demonstrations
from ragsieve_research.answer.reasoning import Reasoning
from ragsieve_research.evaluate.noise import Noise
from ragsieve_research.fusion import fuse
from ragsieve_research.retrieve.apis.api import Api
from ragsieve_research.retrieve.apis.entities import Rules
from ragsieve_research.retrieve.fetch import Http
from ragsieve_research.retrieve.indexes import IndexOptions
from ragsieve_research.retrieve.pages import Pages
from ragsieve_research.retrieve.records import Records
from ragsieve_research.retrieve.route import LightRouter, LLMRouter, Named, Routed
from ragsieve_research.score.bottleneck import answers, bottleneck
from ragsieve_research.score.calibrated import Logistic
from ragsieve_research.score.listwise import Listwise, Permuting
from ragsieve_research.split.semantic import Semantic
from ragsieve_research.split.windows import Windows
from ragsieve_research.systems.written import Write
from ragsieve_research.train.risk import ScoredQuestion, calibrate
from ragsieve_research.train.targets import Annotator
from tests.rules import check_rule

LLM, EMBEDDER = ScriptedLLM([]), HashingEmbedder()
GIVEN = [Segment.whole(Document("d", "Seals sang it."))]
NUMBERS = {  # each with a number for every option that is one
    "answer.Agent": partial(Agent, LLM),
    "answer.Critic": partial(Critic, LLM),
    "answer.Reader": partial(Reader, LLM),
    "answer.Reasoning": partial(Reasoning, LLM),
    "answer.read_demonstrations": partial(read_demonstrations, shots=1),
    "evaluate.Noise": partial(Noise, kind="random", share=0.5),
    "retrieve.Http": partial(Http, "http://example.org"),
    "retrieve.IndexOptions": IndexOptions,
    "retrieve.LLMRouter": partial(LLMRouter, LLM),
    "retrieve.Records": partial(Records, Api(name="a"), None, entities=Rules()),
    "retrieve.Named": partial(Named, name="a", description="", search=list, timeout_s=1.0),
    "retrieve.Pages": partial(Pages, []),
    "score.Permuting": partial(Permuting, LLM),
    "score.bottleneck": partial(bottleneck, LLM, Query("Who?"), GIVEN, [""], "Seals"),
    "split.Windows": partial(Windows, LLM, overlap=9),
    "systems.Write": partial(Write, LLM, "recomp"),
    "train.Annotator": partial(Annotator, Reader(LLM), score.BM25(), EMBEDDER),
    "train.calibrate": partial(calibrate, [ScoredQuestion((0.5,), (True,))] * 99),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_among_options_keep_their_rules(name):
    """That of each is what its error says; see `check_rule`."""
    make = NUMBERS[name]
    for option, parameter in signature(make).parameters.items():
        if option != "seed":
            check_rule(option, parameter.default, lambda value, of=option: make(**{of: value}))


LIGHT = partial(LightRouter, EMBEDDER)
BROKEN = [
    *((score.BM25, {"k1": k1}, f"k1 must be .*, got {k1}") for k1 in (-1, math.inf)),
    *(
        (fuse, {"rankings": [["a"]] * len(weights), "weights": weights}, "finite, not negative and")
        for weights in ((-0.1, 1), (0, 0), (math.nan, 1), (math.inf, 1), ())
    ),
    (fuse, {"rankings": [["a"]], "weights": (1, 1)}, r"must be 1, one a ranking, got \(1, 1\)"),
    (partial(Listwise, LLM), {"window": 4, "step": 5}, "step must be from 1 to window=4, got 5"),
    (partial(Permuting, LLM), {"mode": "x"}, "mode must be one of write, first, got 'x'"),
    *(
        (stage, {"language": ""}, "language must be an ISO 639-1 code.*, got ''")
        for stage in (split.Blocks, split.Sentences, partial(Semantic, EMBEDDER))
    ),
    (partial(Windows, LLM), {"overlap": 200}, r"in \[0, max_tokens=200\), got 200"),
    *(
        (Logistic, {"slope": slope, "bias": bias}, "slope must not be negative, both finite, got L")
        for slope, bias in ((-1, 0), (math.inf, 0), (math.nan, 0), (1, math.inf), (1e308, 0))
    ),
    (NUMBERS["answer.read_demonstrations"], {"shots": 5}, "shots must be at most the 4 examples"),
    (NUMBERS["evaluate.Noise"], {"kind": "loud"}, "kind must be one of random.*, got 'loud'"),
    (IndexOptions, {"embedder": "none"}, "semantic chunks need an embedder"),
    (IndexOptions, {"embedder": "smollm2"}, "smollm2 is no embedder"),
    (IndexOptions, {"embedder": "fake:hashing", "chunks": "x"}, "chunks must be one of semantic"),
    (NUMBERS["retrieve.Named"], {"name": " "}, "must be printable and not blank, got ' '"),
    *(
        (NUMBERS["retrieve.Named"], {"timeout_s": late}, "must be over 0 and at most 86,400, got")
        for late in (0, 1e300)
    ),
    (Routed, {"sources": ()}, "sources must not be empty"),
    (Routed, {"sources": (Named("a", "", list), Named("a", "", list))}, "differ, got 'a' twice"),
    (
        LIGHT,
        {"names": ("a",), "weights": ((1.0,), (2.0,)), "bias": (0.0, 0.0)},
        "weights and bias must be 1, one a source",
    ),
    (partial(answers, LLM, Query("Who?"), ["x"]), {"answer": " "}, "must not be blank, got ' '"),
    (NUMBERS["train.calibrate"], {"confidence": 0}, "confidence must be over 0 and below 1, got 0"),
    (partial(Annotator, Reader(LLM), None), {"epsilon": 0.1}, "epsilon=0.1 needs an embedder"),
]


@pytest.mark.parametrize(("make", "options", "message"), BROKEN)
def test_options_are_checked(make, options, message):
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        make(**options)
