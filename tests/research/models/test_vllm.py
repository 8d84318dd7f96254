"""vLLM's server, scripted: its shapes, filled by a tiny model, agree with the model here."""

import pytest
import torch
import transformers

from ragsieve import Document, models
from ragsieve.errors import ContextOverflow, ModelError
from ragsieve.models.base import Message
from ragsieve.trace import step
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.models.vllm import VLLM
from tests.tiny import llama, save_bytes

DOCUMENTS = [
    Document("0", "Paris is the capital of France. It lies on a river, and is old.", "Paris"),
    Document("1", "The library of Rome opens at ten. It was built by a king."),
]


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A llama of random weights that reads bytes, and begins every text with a token."""
    folder = tmp_path_factory.mktemp("llama")
    special = ["<s>", "<|im_start|>", "<|im_end|>"]
    words = save_bytes(folder, [d.text for d in DOCUMENTS], special, 330)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_key_value_heads": 4}
    llama(words, max_position_embeddings=2048, eos_token_id=2, **sizes).save_pretrained(folder)
    return Transformers(str(folder), dtype="float32", device="cpu")


def answers(local):
    """vLLM's replies of ``/tokenize`` and ``/v1/completions``, as its protocol.py declares them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(local.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(local.model).eval()

    def script(path, body, number):
        if path == "/tokenize":
            text = tokenizer.apply_chat_template(
                body["messages"], tokenize=False, add_generation_prompt=True
            )
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            shape = {"count": len(ids), "max_model_len": 2048, "tokens": ids}
            return 200, {**shape, "token_strs": None}
        assert path == "/v1/completions"
        ids = body["prompt"]
        with torch.no_grad():
            logs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        found = [None]  # nothing stands before the first token
        for place, token in enumerate(ids[1:]):
            entry = {"logprob": float(logs[place, token]), "rank": 3, "decoded_token": "?"}
            found.append({str(token): entry})
        choice = {
            **{"index": 0, "text": "x", "logprobs": None, "finish_reason": "length"},
            **{"stop_reason": None, "token_ids": None, "prompt_logprobs": found},
            "prompt_token_ids": None,
        }
        usage = {"prompt_tokens": len(ids), "total_tokens": len(ids) + 1, "completion_tokens": 1}
        reply = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": "m"}
        spent = {**usage, "prompt_tokens_details": None}
        return 200, {**reply, "choices": [choice], "usage": spent}

    return script


def posted(server):
    """Paths of requests, but for those that ask what the server is."""
    return [path for path in server.paths if not path.startswith("GET ")]


@pytest.fixture
def server(local, serve):
    """A scripted server of the model."""
    return serve(answers(local))


@pytest.fixture
def remote(local, server):
    """The model behind it."""
    return served(server, local)


def served(server, local, **options):
    options = {"context": 2048, "concurrency": 2, "max_retries": 0, **options}
    return VLLM("m", base_url=f"{server.url}/v1", tokenizer=local.model, **options)


def prompt(text):
    return (Message("system", "Reply."), Message("user", text))


def test_surprisals_are_those_of_the_model_here(local, remote):
    """Tokens, places and nats, behind prefixes and behind nothing; control tokens are text."""
    texts = ["Paris is  old.", "", "The library <|im_end|> é.", "A king."]
    prefixes = [("The capital.\n", "Rome"), (), (), ("It ",)]
    here, there = local.surprisals(prefixes, texts), remote.surprisals(prefixes, texts)

    assert [[span[:2] for span in text] for text in here] == [
        [span[:2] for span in text] for text in there
    ]
    assert [n for text in here for *_, n in text] == pytest.approx(
        [n for text in there for *_, n in text], abs=1e-3
    )


def test_likelihoods_are_those_of_the_model_here(local, remote, server):
    """The chat format is the server's; equal prompts are tokenized once, and charged as read."""
    prompts = [prompt("Who?"), prompt("Who?"), prompt("When?")]
    texts = ["a king", "Paris is old", ""]
    here = local.loglik(prompts, texts)
    with step("read") as seen:
        there = remote.loglik(prompts, texts)

    for one, other in zip(here, there, strict=True):
        assert one == pytest.approx(other, abs=1e-3)
    assert 2 == server.paths.count("/tokenize")
    assert 2 == server.paths.count("/v1/completions")
    assert [u.tokens_in > 0 and u.tokens_out == 0 for u in seen.usages] == [True] * 3
    sent = next(r for r, p in zip(server.requests, posted(server), strict=True) if "comp" in p)
    assert (0, 0, 1) == (sent["prompt_logprobs"], sent["temperature"], sent["max_tokens"])


def test_a_text_over_the_servers_context_is_read_in_parts(local, server):
    """No request has more tokens than leave space for the one that the server writes."""
    text = "Paris is the capital of France. " * 8
    (tokens,) = served(server, local, context=20).surprisals([()], [text])

    assert text == "".join(text[start:end] for start, end, _ in tokens)
    assert max(len(request["prompt"]) for request in server.requests) == 19


def test_a_server_without_probabilities_of_prompts_is_an_error(local, serve):
    """Of another make, or another version; too long a prompt is not sent."""
    server = serve(lambda *_: (200, {"choices": [{"text": "x"}], "tokens": [1, 2]}))
    llm = served(server, local, context=8)
    with pytest.raises(ModelError, match="no prompt_logprobs of its tokens"):
        llm.surprisals([()], ["Rome"])
    with pytest.raises(ContextOverflow):
        llm.loglik([prompt("Who?")], ["It was built by a king"])


def test_vllm_is_a_backend(local, tmp_path, monkeypatch):
    """By its prefix, with all four calls; without an address no text leaves this machine."""
    llm = models.load("vllm:Qwen/Qwen2.5-7B-Instruct", base_url="http://127.0.0.1:1/v1")

    assert "vllm:Qwen/Qwen2.5-7B-Instruct@http://127.0.0.1:1/v1" == llm.identity
    assert {"complete", "choose", "loglik", "surprisals"} == llm.can

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    assert "http://127.0.0.1:8000/v1" == VLLM("m").base_url
