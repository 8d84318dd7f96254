"""Local encoder-decoders, by transformers: any of the hub, as Flan-T5."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from ragsieve.errors import InputError, needs_extra

with needs_extra("local"):
    import torch
    import transformers
    from transformers import DynamicCache, EncoderDecoderCache

from ragsieve.models.base import LLM, JsonSchema, Prompt
from ragsieve.models.reopen import once
from ragsieve.trace import note
from ragsieve_research.models.decoding import Decoder, DecoderMemory
from ragsieve_research.models.loading import cached
from ragsieve_research.models.transformers import Transformers


class Seq2Seq(Transformers):
    """A local encoder-decoder: the encoder reads the prompt, the decoder writes the reply.

    Options and errors are those of `ragsieve_research.models.transformers.Transformers`. There is
    no chat format: the prompt is its turns' contents, one after another, and an end token. A model
    that knows places by their distance, as T5 does, has 4096 tokens of context by default.

    Differs: Replies are not held to a schema. The pieces of such a tokenizer begin with the space
    before a word, and a schema knows of none. There are no `surprisals`: the decoder reads no text.
    """

    can = frozenset({"complete", "choose", "loglik"})
    _backend: ClassVar[str] = "seq2seq"
    _encodes: ClassVar[bool] = True

    def complete(
        self, prompts: Sequence[Prompt], *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """See `ragsieve.models.base.LLM.complete`; greedy, ``schema`` is not held to."""
        if schema is not None:
            note(f"replies of {self.model} are not held to a schema")
        return super().complete(prompts, max_tokens=max_tokens)

    surprisals = LLM.surprisals  # an encoder-decoder does not go on with a text

    @once
    def decoder(self) -> Decoder:
        model = self._opened(transformers.AutoModelForSeq2SeqLM)
        return EncoderDecoder(model, eos=frozenset({self.tokenizer.eos_token_id}))

    @once
    def _controls(self) -> re.Pattern[str]:
        tokens = self.tokenizer.get_added_vocab()
        return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))) or "$^")

    def plain(self, texts: Sequence[str]) -> list[list[int]]:
        # control tokens are pieces like any other to a Unigram model, so they are broken up
        broken = [self._controls.sub(lambda m: f"{m[0][0]} {m[0][1:]}", text) for text in texts]
        return super().plain(broken)

    def encode(self, prompt: Prompt, thinking: bool | int | None = None) -> list[int]:
        """The contents as plain text, and an end token."""
        if not prompt:
            raise InputError("a prompt must have at least one message, got none")
        text = "\n\n".join(message.content for message in prompt)
        return [*self.plain([text])[0], self.tokenizer.eos_token_id]


class EncoderDecoder(Decoder):
    """Runs an encoder-decoder over token rows, one by one; masks are not used."""

    def memory_of(self, rows: int, places: int, *, fresh: bool = False) -> DecoderMemory:
        return _Encoded(self.model)


class _Encoded(DecoderMemory):
    """A prompt that the encoder has read, and what the decoder has seen of the reply."""

    def read(self, prompt: Sequence[int], _row: int) -> torch.Tensor:
        rows = torch.tensor([prompt], device=self.model.device)
        self.prompt = self.model.get_encoder()(input_ids=rows)
        self.cache, self.forks = EncoderDecoderCache(DynamicCache(), DynamicCache()), False
        return self._run([self.model.config.decoder_start_token_id], self.cache, 1)

    def _run(self, tokens: Sequence[int], cache: Any, keep: int) -> torch.Tensor:
        out = self.model(
            encoder_outputs=self.prompt,
            decoder_input_ids=torch.tensor([tokens], device=self.model.device),
            use_cache=True,
            **cached(self.model, cache),
        )
        return out.logits[0]  # type: ignore[no-any-return]
