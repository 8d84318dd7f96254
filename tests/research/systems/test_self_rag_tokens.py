"""Self-RAG on a model whose tokenizer has the reflection tokens: a tiny random Llama."""

import pytest
import torch
import transformers
from tokenizers import processors

from ragsieve.models.base import Message
from ragsieve.models.cache import Cached
from ragsieve.models.fake import HashingEmbedder
from ragsieve_research.models.reflection import decoded
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.systems.reflection import NEEDED, TOKENS, ByTokens, Draft
from ragsieve_research.systems.self_rag import self_rag
from tests.tiny import llama, save_bytes

DRAFT = Draft("Who sang it?", passage="Ann </s> sang [Irrelevant] it.", relevant="[Relevant]")


def save(path):
    """Weights drawn at random; tokens are bytes, then ``<s>``, ``</s>`` and the reflection tokens.
    The chat format would stand out: a prompt of reflection tokens must not be written in it."""
    chat = "{% for m in messages %}<chat>{{ m.content }}</chat>{% endfor %}"
    special = ["<s>", *NEEDED, "</s>"]
    save_bytes(path, [], special, 300, chat, bos_token="<s>", additional_special_tokens=[*NEEDED])
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    start = [("<s>", tokenizer.bos_token_id)]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A", None, start
    )
    tokenizer.save_pretrained(path)
    llama(len(tokenizer), hidden_size=16, intermediate_size=16).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("self-rag"))


@pytest.mark.parametrize("ask", ["retrieve", "relevant", "supported", "useful"])
def test_a_judgement_is_the_models_own_probability_behind_the_raw_text(folder, ask):
    """``<s>`` and the text; a token is one id. What a passage says of ``</s>`` is bytes."""
    llm = Transformers(str(folder), dtype="float32", device="cpu")
    prompt = ByTokens().prompt(ask, DRAFT)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    before, behind = prompt[0].content.split("</s>") if ask != "retrieve" else (prompt[0][1], "")
    ids = tokenizer(before)["input_ids"]
    if ask != "retrieve":
        ids += tokenizer.backend_tokenizer.encode("</", add_special_tokens=False).ids
        ids += tokenizer("s>", add_special_tokens=False)["input_ids"]
        ids += tokenizer(behind, add_special_tokens=False)["input_ids"]
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.inference_mode():
        logits = model(torch.tensor([ids])).logits[0, -1]
    own = tokenizer.convert_tokens_to_ids([*TOKENS[ask]])
    expected = torch.softmax(logits[own], 0).tolist()

    (found,) = llm.choose([prompt], [TOKENS[ask]])

    assert pytest.approx(expected, abs=1e-4) == found
    assert [1] * len(NEEDED) == llm.count(NEEDED)


def test_reflection_tokens_of_a_reply_are_read(folder):
    """A reply keeps them, so that its first segment ends where the next mark stands."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    reply = "Ann did.[Fully supported][Utility:5]"

    assert reply == decoded(tokenizer, tokenizer(f"<s>{reply}</s>")["input_ids"])


def test_a_model_with_reflection_tokens_answers(folder):
    """Also behind a wrapper; another role is still written in the chat format."""
    llm = Transformers(str(folder), dtype="float32", device="cpu")
    system = self_rag(llm, Cached(HashingEmbedder()), depth=1, threshold=0.0)
    result = system.ask("Who sang it?", ["Ann sang it.", "Bob sang it, too."])

    assert result.answer is not None
    assert any(event["event"] == "level" for step in result.trace.steps for event in step.events)
    assert len(llm.encode((Message("user", "x"),))) > len(llm.encode((Message("raw", "x"),)))
