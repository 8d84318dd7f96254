"""Models that tests of several files share: tiny ones of random weights, and scripted ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from ragsieve.models.base import Message
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Usage, record_usage

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def ask(text):
    """A prompt of one message."""
    return (Message("user", text),)


class Likelihoods(ScriptedLLM):
    """An LLM that gives each token of a continuation the same nats, by the text of its prompt."""

    def __init__(self, nats, **options):
        super().__init__([], **options)
        self._nats = nats

    def loglik(self, prompts, continuations):
        tokens = super().loglik(prompts, continuations)
        texts = ["\n".join(turn.content for turn in prompt) for prompt in prompts]
        return [[self._nats(text)] * len(row) for text, row in zip(texts, tokens, strict=True)]


@dataclass(eq=False)
class Places:
    """An embedder that puts each text where a function says, and keeps the texts of its calls."""

    place: Callable[[str], Sequence[float]] = field(repr=False)
    asked: list[list[str]] = field(default_factory=list, repr=False)
    identity: str = "places"

    def embed(self, texts, *, query=False):
        self.asked.append([*texts])
        record_usage([Usage(self.identity, 1) for _ in texts])
        return np.array([self.place(text) for text in texts], np.float32)


@dataclass(eq=False)
class Scores:
    """A cross-encoder that scores each text, whatever the question, as a function says."""

    value: Callable[[str], float] = field(repr=False)
    identity: str = "scores"

    def score(self, pairs):
        record_usage([Usage(self.identity, 1) for _ in pairs])
        return np.array([self.value(text) for _, text in pairs], np.float32)


@dataclass(eq=False)
class Ranks:
    """A listwise reranker that puts each list in the order that a function gives; it keeps them."""

    order: Callable[[list[str]], Sequence[int]] = field(repr=False)
    asked: list[tuple[str, ...]] = field(default_factory=list, repr=False)
    identity: str = "ranks"

    def rank(self, questions, texts):
        self.asked += [tuple(group) for group in texts]
        return [[*self.order(group)] for group in texts]


def writing(text):
    """An LLM that writes a text where it is asked to, else answers by how it was asked."""

    def reply(prompt):
        if prompt[0].role == "user":
            return text
        return "read" if "Documents:" in prompt[0].content else "by itself"

    return ScriptedLLM(reply)


def llama(words, dtype="float32", attention=None, **options):
    """A llama of ``words`` tokens whose random weights are large, so that close calls are many."""
    torch, transformers = map(pytest.importorskip, ("torch", "transformers"))
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.3,
        "bos_token_id": None,
    }
    config = transformers.LlamaConfig(**{**sizes, "vocab_size": words, **options})
    return transformers.LlamaForCausalLM._from_config(
        config, dtype=getattr(torch, dtype), attn_implementation=attention
    ).eval()


def save_adapter(model, folder, targets):
    """A folder with a LoRA adapter of random weights for some layers of a model, and its path."""
    peft, torch = map(pytest.importorskip, ("peft", "torch"))
    config = peft.LoraConfig(r=4, target_modules=[*targets], init_lora_weights=False)
    torch.manual_seed(1)
    peft.get_peft_model(model, config).save_pretrained(folder)
    return str(folder)


def save_bytes(folder, texts, special, size, chat=CHAT, **names):
    """Save a byte-level BPE of texts, whose last special token ends them; how many it knows."""
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*special], initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(texts, trainer)
    names = {"eos_token": special[-1], **names}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast.chat_template = chat
    fast.save_pretrained(folder)
    return int(tokenizer.get_vocab_size())


def save_unigram(folder, special, words, **names):
    """Save a tokenizer of whole words and ``: . ?``; it, and how many it knows.

    Special tokens are those of start, padding, end and what is not known, in the order of ids.
    """
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = [*((token, 0.0) for token in special), ("▁", -4.0)]
    pieces += [*((mark, -3.0) for mark in ":.?"), *((f"▁{word}", -2.0) for word in words)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return tokenizer, len(pieces)


def save_t5(folder, pieces, seed=0, **names):
    """A folder with a T5 of random weights and a Unigram tokenizer of pieces, and its path."""
    torch, transformers = map(pytest.importorskip, ("torch", "transformers"))
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = ["<pad>", "</s>", "<unk>"]
    known = [*((name, 0.0) for name in special), *pieces]
    tokenizer = Tokenizer(models.Unigram(known, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(special)
    end = [("</s>", 1)]
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=end)
    names |= {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(
        folder
    )
    torch.manual_seed(seed)
    config = transformers.T5Config(
        vocab_size=len(known),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        initializer_factor=3.0,
        decoder_start_token_id=0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)
