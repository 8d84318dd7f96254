"""What rerank servers do with the same requests, and what clients make of our server's replies.

    python benchmarks/compatibility.py rerank

llama.cpp and Infinity serve one BERT of random weights, made here: their scores say nothing, what
they do with a request does. Clients ask `ragsieve serve`, which they are given as their address.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Rank = Callable[..., list[tuple[int, float]]]
SERVING = "ROOT[serve]"
PINS = {
    "llama.cpp": [SERVING, "xllamacpp==2026.10.11549", "gguf==0.19.0", "safetensors==0.8.0"],
    "Infinity": [
        *("infinity-emb[server]==0.0.78", "torch==2.13.0", "transformers==4.57.6"),
        *("sentence-transformers==5.7.0", "gguf==0.19.0", "click==8.1.8"),
    ],
    "clients": [
        *(SERVING, "cohere==5.21.1", "litellm==1.110.2", "langchain-cohere==0.6.0"),
        *("llama-index-postprocessor-cohere-rerank==0.10.0", "cohere-haystack==11.0.0"),
        *("llama-index-postprocessor-jinaai-rerank==0.6.0",),
        *("llama-index-postprocessor-tei-rerank==0.6.0",),
    ],
    "cohere 6": [SERVING, "cohere==6.1.0"],
    "cohere 7": [SERVING, "cohere==7.3.1"],
}
QUESTION = "Who sang Summer Breeze?"
TEXTS = ["It rained in Rome.", "Seals sang Summer Breeze. A hit.", "Rome is a city."]
SIZE, LAYERS, LONGEST = 32, 1, 128
PARTS = {  # of a BERT: in transformers, in GGUF, shape
    "embeddings.token_type_embeddings.weight": ("token_types.weight", (2, SIZE)),
    "embeddings.position_embeddings.weight": ("position_embd.weight", (LONGEST, SIZE)),
    "embeddings.LayerNorm": ("token_embd_norm", (SIZE,)),
    "encoder.layer.0.attention.self.query": ("blk.0.attn_q", (SIZE, SIZE)),
    "encoder.layer.0.attention.self.key": ("blk.0.attn_k", (SIZE, SIZE)),
    "encoder.layer.0.attention.self.value": ("blk.0.attn_v", (SIZE, SIZE)),
    "encoder.layer.0.attention.output.dense": ("blk.0.attn_output", (SIZE, SIZE)),
    "encoder.layer.0.attention.output.LayerNorm": ("blk.0.attn_output_norm", (SIZE,)),
    "encoder.layer.0.intermediate.dense": ("blk.0.ffn_up", (SIZE, SIZE)),
    "encoder.layer.0.output.dense": ("blk.0.ffn_down", (SIZE, SIZE)),
    "encoder.layer.0.output.LayerNorm": ("blk.0.layer_output_norm", (SIZE,)),
    "pooler.dense": ("cls", (SIZE, SIZE)),
    "classifier": ("cls.output", (1, SIZE)),
}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.?"]
WORDS += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
SERVED = (
    "| server | order | scores | `top_n=2` | `return_documents` | `usage` | 700 words |"
    " a blank document | a blank query | no documents | another `model` | `texts` |"
)


def weights() -> Iterator[tuple[str, str, Any]]:
    """Names in transformers and in GGUF, and numbers, from one seed."""
    draw = np.random.default_rng(7)

    def numbers(*shape: int) -> Any:
        return draw.normal(size=shape).astype(np.float32)

    yield "bert.embeddings.word_embeddings.weight", "token_embd.weight", numbers(len(WORDS), SIZE)
    for name, (short, shape) in PARTS.items():
        whole = name if name == "classifier" else f"bert.{name}"
        if name.endswith(".weight"):
            yield whole, short, numbers(*shape)
        else:
            yield f"{whole}.weight", f"{short}.weight", numbers(*shape)
            yield f"{whole}.bias", f"{short}.bias", numbers(shape[0])


def as_folder(folder: Path) -> None:
    """The BERT as transformers reads it."""
    save = import_module("safetensors.numpy").save_file
    data = {name: own for name, _, own in weights()}
    save(data, folder / "model.safetensors", {"format": "pt"})
    sizes = dict.fromkeys(("hidden_size", "intermediate_size"), SIZE)
    config = {"architectures": ["BertForSequenceClassification"], "model_type": "bert", **sizes}
    config |= {"num_hidden_layers": LAYERS, "num_attention_heads": 4, "vocab_size": len(WORDS)}
    config |= {"max_position_embeddings": LONGEST, "id2label": {"0": "LABEL_0"}, "pad_token_id": 0}
    (folder / "config.json").write_text(json.dumps({**config, "label2id": {"LABEL_0": 0}}))
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    named = {"tokenizer_class": "BertTokenizer", "model_max_length": LONGEST}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


def as_gguf(path: Path) -> None:
    """The BERT as llama.cpp reads it."""
    gguf = import_module("gguf")
    file = gguf.GGUFWriter(str(path), "bert")
    for name, value in {
        "context_length": LONGEST, "embedding_length": SIZE, "block_count": LAYERS,
        "feed_forward_length": SIZE, "head_count": 4, "layer_norm_eps": 1e-12,
        "causal_attention": False, "pooling_type": gguf.PoolingType.RANK, "token_type_count": 2,
        "tokenizer_model": "bert", "tokenizer_pre": "default", "pad_token_id": 0,
        "unk_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3,
        "mask_token_id": 4, "add_bos_token": True, "add_eos_token": True,
    }.items():  # fmt: skip
        getattr(file, f"add_{name}")(value)
    special = [word.startswith("[") for word in WORDS]
    file.add_token_list([re.sub("^##", "", re.sub(r"^(?![#\[])", "▁", word)) for word in WORDS])
    file.add_token_types([3 if s else 1 for s in special])
    for _, name, data in weights():
        file.add_tensor(name, data)
    for write in (
        file.write_header_to_file,
        file.write_kv_data_to_file,
        file.write_tensors_to_file,
    ):
        write()
    file.close()


@contextmanager
def llama() -> Iterator[str]:
    """The address of llama.cpp's server."""
    made = import_module("xllamacpp")
    with tempfile.TemporaryDirectory() as folder:
        as_gguf(path := Path(folder, "bert.gguf"))
        params = made.CommonParams()
        params.model.path, params.port, params.n_parallel = str(path), 0, 1
        params.n_ctx, params.embedding = LONGEST, True
        params.pooling_type = made.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        server = made.Server(params)
        yield str(server.listening_address)


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with its block."""
    out, quiet = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen([*command], stdout=out, stderr=quiet, text=True) as running:
        try:
            yield running
        finally:
            running.terminate()


@contextmanager
def infinity() -> Iterator[str]:
    """The address of Infinity's server."""
    port, name = "18779", str(Path(sys.executable).with_name("infinity_emb"))
    os.environ |= {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
    with tempfile.TemporaryDirectory() as folder:
        as_folder(Path(folder))
        options = ["--host", "127.0.0.1", "--port", port, "--engine", "torch", "--device", "cpu"]
        options += ["--no-bettertransformer", "--no-model-warmup"]
        with process(name, "v2", "--model-id", folder, *options):
            url = f"http://127.0.0.1:{port}"
            for _ in range(120):
                time.sleep(1)
                if reply(url, {}, "/models")[0]:
                    break
            yield url


@contextmanager
def ours() -> Iterator[str]:
    """The address of ragsieve's server."""
    with process(sys.executable, "-m", "ragsieve", "serve", "--port", "0") as running:
        assert running.stdout
        yield next(line for line in running.stdout if "http://" in line).split()[-1]


def reply(url: str, body: Mapping[str, Any], path: str = "/rerank") -> tuple[int, Any]:
    """A status, 0 where nothing answers, and JSON."""
    data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
    try:
        request = urllib.request.Request(url + path, data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, None


def served(url: str, name: str) -> str:
    """A row of what a server does."""
    asked = {"model": "m", "query": QUESTION, "documents": TEXTS}

    def ask(**more: Any) -> tuple[int, Any]:
        return reply(url, {**asked, **more})

    def status(**more: Any) -> str:
        code, data = ask(**more)
        if code != 200:
            return str(code)
        results = data if isinstance(data, list) else data["results"]
        return f"200, {len(results)} results"

    _, data = ask()
    scores = [one["relevance_score"] for one in data["results"]]
    order = "best first" if scores == sorted(scores, reverse=True) else "as given"
    bounded = "in [0, 1]" if all(0 <= score <= 1 for score in scores) else "logits"
    echoed = ask(return_documents=True)[1]["results"][0].get("document")
    back = {str: "a string", dict: "an object", type(None): "none"}[type(echoed)]
    used, characters = data["usage"]["total_tokens"], 3 * len(QUESTION) + sum(map(len, TEXTS))
    unit = f"{used} characters" if used == characters else f"{used} tokens"
    texts = reply(url, {"query": QUESTION, "texts": TEXTS})
    form = f"200, a {type(texts[1]).__name__}" if texts[0] == 200 else str(texts[0])
    cells = [order, bounded, status(top_n=2), back, unit, status(documents=["word " * 700, "a"])]
    cells += [status(documents=["", "a"]), status(query=" "), status(documents=[])]
    return f"| {name} | {' | '.join([*cells, status(model='other'), form])} |"


def clients(url: str) -> Iterator[tuple[str, str, Rank]]:
    """Clients of this environment: package, class, and what ranks for a question."""
    cohere = import_module("cohere")
    for kind in ("Client", "ClientV2"):
        client = getattr(cohere, kind)(api_key="any", base_url=url)
        ask = partial(client.rerank, model="any", documents=TEXTS, top_n=2)
        yield "cohere", kind, lambda q, ask=ask: [*map(pair, ask(query=q).results)]
    if find_spec("litellm"):
        yield from frameworks(url)


def frameworks(url: str) -> Iterator[tuple[str, str, Rank]]:
    """The clients that frameworks have."""
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    places = {"cohere": "", "hosted_vllm": "", "huggingface": "", "jina_ai": "/v1"}
    for provider, path in {**places, "infinity": "/infinity"}.items():
        where = {"model": f"{provider}/any", "api_base": url + path, "api_key": "any"}
        ask = partial(litellm.rerank, documents=TEXTS, top_n=2, **where)
        name = f'rerank("{provider}/…")'
        yield "litellm", name, lambda q, ask=ask: [*map(pair, ask(query=q).results)]
    chain = import_module("langchain_cohere").CohereRerank
    ranker = chain(base_url=url, cohere_api_key="any", model="any", top_n=2)
    yield "langchain-cohere", "CohereRerank", lambda q: [*map(pair, ranker.rerank(TEXTS, q))]
    schema = import_module("llama_index.core.schema")
    nodes = [schema.NodeWithScore(node=schema.TextNode(text=text)) for text in TEXTS]
    for package, kind, options in (
        ("cohere-rerank", "CohereRerank", {"api_key": "any", "base_url": url}),
        ("jinaai-rerank", "JinaRerank", {"api_key": "any", "base_url": f"{url}/v1"}),
        ("tei-rerank", "TextEmbeddingInference", {"base_url": url}),
    ):
        module = import_module(f"llama_index.postprocessor.{package.replace('-', '_')}")
        ask = getattr(module, kind)(top_n=2, **options).postprocess_nodes
        yield (
            f"llama-index-postprocessor-{package}",
            kind,
            lambda q, ask=ask: [
                (TEXTS.index(one.node.text), one.score) for one in ask(nodes, query_str=q)
            ],
        )
    os.environ["COHERE_API_KEY"] = "any"
    module = import_module("haystack_integrations.components.rankers.cohere")
    haystack = module.CohereRanker(model="any", top_k=2, api_base_url=url)
    documents = [import_module("haystack").Document(content=text) for text in TEXTS]
    yield (
        "cohere-haystack",
        "CohereRanker",
        lambda q: [
            (TEXTS.index(one.content), one.score)
            for one in haystack.run(query=q, documents=documents)["documents"]
        ],
    )


def pair(result: Any) -> tuple[int, float]:
    """Place and score of a result, a mapping or not."""
    own = result if isinstance(result, Mapping) else vars(result)
    return own["index"], own["relevance_score"]


def asked(rank: Rank) -> str:
    """What a client gives for a question, and for a blank one."""
    best = rank(QUESTION)
    cells = [", ".join(f"{index}: {score:.2f}" for index, score in best)]
    try:
        blank = f"{len(rank(' '))} results"
    except Exception as error:  # whichever class the client has
        said = "its line" if "must not be blank" in str(error) else "no line of ours"
        blank = f"`{type(error).__name__}`, {said}"
    return " | ".join([*cells, blank])


def main(name: str) -> None:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if name == "llama.cpp":
        print(f"{SERVED}\n|{'---|' * 12}")
        with ours() as url:
            print(served(url, "ragsieve"))
        with llama() as url:
            print(served(url, f"llama.cpp ({version('xllamacpp')})"), flush=True)
    elif name == "Infinity":
        with infinity() as url:
            print(served(url, f"Infinity {version('infinity_emb')}"), flush=True)
    else:
        if name == "clients":
            print("\n| client | class | `top_n=2` of three | a blank query |\n|---|---|---|---|")
        with ours() as url:
            for package, kind, rank in clients(url):
                print(f"| {package} {version(package)} | `{kind}` | {asked(rank)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
