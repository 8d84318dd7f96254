#!/usr/bin/env bash
# Guess: llama.cpp's /rerank of a BERT cross-encoder gives what transformers gives of the same
# weights, as the file has the vectors of both token types and its documents are type 1.
# Seen: every token is read as type 0. Two files that differ in the vector of type 1 alone score
# alike, so logits differ from those that the model was trained and published with.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check --only-binary=:all: xllamacpp==2026.10.11549 gguf==0.19.0 2>/dev/null
cd "$d"; v/bin/python - 2>/dev/null <<'P'
import json, urllib.request
from importlib.metadata import version
import gguf, numpy, xllamacpp
SIZE, WORDS = 32, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁rain", "▁in", "▁rome", "▁who", "▁sang"]

def written(changed):
    """A BERT of one layer; the vector of one token type is another."""
    path, draw = f"type{changed}.gguf", numpy.random.default_rng(1)
    file = gguf.GGUFWriter(path, "bert")
    for name, value in {"context_length": 64, "embedding_length": SIZE, "block_count": 1, "feed_forward_length": SIZE,
                        "head_count": 4, "layer_norm_eps": 1e-12, "causal_attention": False, "token_type_count": 2,
                        "pooling_type": gguf.PoolingType.RANK, "tokenizer_model": "bert", "tokenizer_pre": "default",
                        "pad_token_id": 0, "unk_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3,
                        "token_list": WORDS, "token_types": [3] * 5 + [1] * 5}.items():
        getattr(file, f"add_{name}")(value)
    shapes = {"token_embd.weight": (len(WORDS), SIZE), "token_types.weight": (2, SIZE), "position_embd.weight": (64, SIZE)}
    square = ["blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output", "blk.0.ffn_up", "blk.0.ffn_down", "cls"]
    for name in ["token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm", *square]:
        shapes |= {f"{name}.weight": (SIZE, SIZE) if name in square else (SIZE,), f"{name}.bias": (SIZE,)}
    for name, shape in (shapes | {"cls.output.weight": (1, SIZE), "cls.output.bias": (1,)}).items():
        numbers = draw.normal(size=shape).astype(numpy.float32)
        if name == "token_types.weight" and changed is not None:
            numbers[changed] += numpy.arange(SIZE, dtype=numpy.float32)
        file.add_tensor(name, numbers)
    file.write_header_to_file(), file.write_kv_data_to_file(), file.write_tensors_to_file(), file.close()
    return path

def scored(path):
    params = xllamacpp.CommonParams()
    params.model.path, params.port, params.n_ctx, params.n_parallel, params.embedding = path, 0, 64, 1, True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    server = xllamacpp.Server(params)
    body = json.dumps({"query": "who sang", "documents": ["rain in rome"]}).encode()
    request = urllib.request.Request(f"{server.listening_address}/rerank", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["results"][0]["relevance_score"]

as_made, other_0, other_1 = (scored(written(changed)) for changed in (None, 0, 1))
print("xllamacpp", version("xllamacpp"), "scores:", as_made, "other vector of type 0:", other_0, "of type 1:", other_1)
seen = (other_0 == as_made, other_1 == as_made)
print("guess: equal to the first in (False, False); seen:", seen)
raise SystemExit(seen != (False, True))
P
