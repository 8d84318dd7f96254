"""Every schema that a system holds replies to: each engine that constrains output writes JSON."""

import json
import random
import zlib
from functools import cache

import llguidance
import numpy as np
import pytest

from ragsieve.errors import RagsieveError
from ragsieve.models.base import Message
from ragsieve.models.protocol import response_format
from ragsieve.models.wrap import Wrapper
from ragsieve.sources import Models
from ragsieve.spec import SystemSpec
from ragsieve.systems.base import SYSTEMS
from ragsieve_research.evaluate.expected import stand_in
from ragsieve_research.models.choices import reply_tokens, written_odds

pytestmark = pytest.mark.slow
SAMPLES = 100
OPTIONS = {"pruningrag": {"cot": True}}
TEXTS = ("Seals sang Summer Breeze.", "Rome is in Italy. It is old.", "Parking is free.") * 3
CLOSING = b'"}]'
BLANK = b" \n\r\t"
LIKELY = b" abcyzAZ019.,:-[]{}()'\"\\/\n\t" + "é…中".encode()


class Recording(Wrapper):
    """Keeps the schemas that an LLM is asked to hold to, with the tokens that a reply may have."""

    def __init__(self, model, seen):
        super().__init__(model)
        self.seen = seen

    def _call(self, method, columns, options):
        prompts = [str(prompt) for prompt in columns[0]]
        if method == "choose":  # one of the options, another from prompt to prompt
            places = [
                zlib.crc32(p.encode()) % len(o) for p, o in zip(prompts, columns[1], strict=True)
            ]
            return [
                [float(n == p) for n in range(len(o))]
                for p, o in zip(places, columns[1], strict=True)
            ]
        if method != "complete":
            return self._inner(method, columns, options)
        if not (schema := options.get("schema")):
            return [_word(prompt) for prompt in prompts]
        self.seen[json.dumps(schema)] = options["max_tokens"]
        return [json.dumps(_filled(schema, prompt)) for prompt in prompts]


def _word(prompt):
    return f"Answer{zlib.crc32(prompt.encode()) % 97}"


def _filled(schema, prompt):
    """A value of a schema that differs from prompt to prompt."""
    if "enum" in schema:
        return schema["enum"][-1]
    if schema["type"] == "object":
        return {name: _filled(one, prompt) for name, one in schema["properties"].items()}
    return {"integer": schema.get("minimum"), "array": []}.get(schema["type"], _word(prompt))


@cache
def schemas():
    """Schemas of all systems, and the tokens of a reply."""
    seen = {}

    def load(name):
        model = stand_in(name)
        return Recording(model, seen) if hasattr(model, "complete") else model

    for name, entry in SYSTEMS.items():
        more = {"answers": {"Who sang?": ("Seals",)}} if entry.knows else {}
        try:
            spec = SystemSpec(system=name, llm="fake:echo", options=OPTIONS.get(name, {}))
            spec.built(Models(lambda m: m, load), **more).ask("Who sang?", TEXTS)
        except RagsieveError:  # what needs another model or a source
            continue
    question = (Message("user", "Who?"),)
    written_odds(Recording(stand_in("fake:echo"), seen), [question], [("1", "10", 'a "b"')])
    return seen


def walk(allowed, take, seed):
    """A reply of random bytes, each one that an engine allows; what may end, ends soon."""
    dice, written = random.Random(seed), bytearray()
    while choices := allowed():
        assert len(written) < 4000, f"no end: {written[-100:]}"
        ends = {*CLOSING} & choices
        likely = ends if ends and dice.random() < 0.2 else {*LIKELY} & choices
        byte = dice.choice([*(likely if likely - {*BLANK} else choices)])
        written.append(byte)
        if take(byte):
            break
    return written.decode()


def set_in(bits):
    """Bytes that a mask allows."""
    each = np.unpackbits(np.frombuffer(bits, np.uint8, 32), bitorder="little")
    return {*np.flatnonzero(each).tolist()}


def by_llguidance(grammar, seed):
    """A random reply by a grammar of llguidance."""
    matcher = llguidance.LLMatcher(BYTES, grammar)

    def take(byte):
        return not matcher.consume_token(byte) or bool(matcher.is_stopped())

    assert not matcher.is_error(), matcher.get_error()
    return walk(lambda: set_in(matcher.compute_bitmask()), take, seed)


BYTES = llguidance.LLTokenizer("byte")


def llama_cpp(schema):
    """llama.cpp's converter."""
    convert = pytest.importorskip("xllamacpp").json_schema_to_grammar
    grammar = llguidance.LLMatcher.grammar_from_lark(convert(json.dumps(schema)))
    return lambda seed: by_llguidance(grammar, seed)


def guidance(schema):
    """llguidance, as local models and vLLM have it."""
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    return lambda seed: by_llguidance(grammar, seed)


def xgrammar(schema):
    """xgrammar, vLLM's and SGLang's default."""
    xgr = pytest.importorskip("xgrammar")
    vocabulary = [bytes([n]) for n in range(256)] + [b"</s>"]
    info = xgr.TokenizerInfo(vocabulary, stop_token_ids=[256])
    compiled = xgr.GrammarCompiler(info).compile_json_schema(json.dumps(schema))

    def sample(seed):
        matcher, mask = xgr.GrammarMatcher(compiled), xgr.allocate_token_bitmask(1, 257)

        def allowed():
            mask.fill_(-1)
            matcher.fill_next_token_bitmask(mask)
            return set_in(mask.numpy().tobytes())

        def take(byte):
            return not matcher.accept_token(byte) or bool(matcher.is_terminated())

        return walk(allowed, take, seed)

    return sample


def test_all_systems_are_asked_for_their_forms():
    """A verdict, a summary, numbers, an argument, a threshold and a choice among them."""
    named = " ".join(schemas())

    assert len(schemas()) >= 8
    for name in ("Agreed answer", "Lacking", "maxItems", "Evidence", '"minimum"', '"enum"'):
        assert name in named


@pytest.mark.parametrize("engine", [llama_cpp, guidance, xgrammar])
def test_random_replies_are_json(engine):
    """Whatever a form lets through, of each engine."""
    for text in schemas():
        sent = response_format(json.loads(text), bounded=engine is not xgrammar)
        sample = engine(sent["json_schema"]["schema"])
        for seed in range(SAMPLES):
            json.loads(sample(seed))


def test_a_form_says_what_every_engine_holds_and_leaves_room():
    """No pattern, no bounds but of whole numbers, lists, choices; white space and fences fit."""
    for text in schemas():
        assert not {"pattern", "minLength", "number"} & {*text.split('"')}
        assert "maxLength" not in json.dumps(response_format(json.loads(text), bounded=False))

    for text, tokens in schemas().items():
        assert tokens >= reply_tokens(json.loads(text))
