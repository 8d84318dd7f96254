"""vLLM's server: the OpenAI protocol, and the probability of every token of a prompt."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from ragsieve.errors import needs_extra
from ragsieve.models import protocol
from ragsieve.models.base import Nats, Prompt, check_fits
from ragsieve.models.openai import OpenAI
from ragsieve.models.server import OPENAI, Home
from ragsieve.models.tokenizer import read_tokenizer
from ragsieve.models.wrap import check_columns
from ragsieve.text import safe
from ragsieve.trace import Usage, record_usage
from ragsieve_research.models.reflection import retokenized
from ragsieve_research.models.surprisal import read_surprisals

with needs_extra("openai"):
    from tokenizers import Tokenizer

REPLY = 1  # tokens that the server writes at least behind a prompt


@dataclass(frozen=True)
class VLLM(OpenAI):
    """A model behind vLLM's server, with ``loglik`` and ``surprisals`` by ``prompt_logprobs``.

    Each text is one request of token ids, which writes one token. vLLM does not use its prefix
    cache for such requests; it batches those that are in flight at once, so that ``concurrency`` is
    64 here.

    Args:
        model: The model's name on the server.
        base_url: See `OpenAI`; unset, ``OPENAI_BASE_URL`` or vLLM's own port on this machine.
        tokenizer: See `OpenAI`; where None, ``loglik`` and ``surprisals`` take the hub's of
            ``model``.

    Source: vLLM's ``/v1/completions`` and ``/tokenize``.
    """

    concurrency: int = field(default=64, kw_only=True)

    can = frozenset({"complete", "choose", "loglik", "surprisals"})
    backend: ClassVar[str] = "vllm"
    home: ClassVar[Home] = OPENAI._replace(
        url="http://127.0.0.1:8000/v1"
    )  # never a hosted server by default

    def loglik(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[list[float]]:
        """See `LLM.loglik`; equal prompts are sent to ``/tokenize`` once.

        Raises:
            ModelError: If the server fails, or gives no probabilities.
            ContextOverflow: If a prompt and its continuation do not fit the context.
        """
        check_columns([prompts, continuations])
        chats = {prompt: protocol.messages(prompt) for prompt in prompts}
        rows = dict(zip(chats, self._map(self._chat_ids, [*chats.values()]), strict=True))
        encoded = self._plain.encode_batch(
            [safe(c) for c in continuations], add_special_tokens=False
        )
        pairs = [(rows[p], e.ids) for p, e in zip(prompts, encoded, strict=True)]
        sizes = [len(row) + len(ids) for row, ids in pairs]
        check_fits(sizes, REPLY, self.context, self.model)
        scores: list[list[float]] = self._map(self._logs, pairs)
        self._charge_rows(sizes)
        return scores

    def surprisals(
        self, prefixes: Sequence[Sequence[str]], texts: Sequence[str]
    ) -> list[list[Nats]]:
        """See `LLM.surprisals`; what the tokenizer begins with comes first.

        Raises:
            ModelError: If the server fails, or gives no probabilities.
        """
        check_columns([prefixes, texts])
        start, context = self._framed.encode("").ids, self.context - REPLY
        read = read_surprisals(
            self._plain, start, prefixes, texts, context, lambda pairs: self._map(self._logs, pairs)
        )
        self._charge_rows(read.sizes)
        return read.surprisals

    @cached_property
    def _framed(self) -> Tokenizer:
        return read_tokenizer(self.tokenizer or self.model)

    @cached_property
    def _plain(self) -> Tokenizer:
        return retokenized(self._framed.to_str(), plain=True)

    @cached_property
    def _evenly(self) -> float:
        return -math.log(self._framed.get_vocab_size())

    def _charge_rows(self, sizes: Sequence[int]) -> None:
        record_usage([Usage(self.identity, size, 0) for size in sizes])

    def _chat_ids(self, chat: list[dict[str, str]]) -> list[int]:
        """Tokens of a chat up to the reply, as the server's template makes them."""
        url = f"{self.base_url.removesuffix('/v1')}/tokenize"
        data = self._post(url, {"model": self.model, "messages": chat})
        ids = data.get("tokens")
        if not isinstance(ids, list) or not all(type(token) is int for token in ids):
            raise self._failed(f"/tokenize gave no tokens: {data!r}")
        return ids

    def _logs(self, pair: tuple[Sequence[int], Sequence[int]]) -> list[float]:
        """Log-probabilities of tokens, behind those before them."""
        before, wanted = pair
        if not wanted:
            return []
        body = {"model": self.model, "prompt": [*before, *wanted], "prompt_logprobs": 0}
        settings = {"max_tokens": REPLY, "temperature": 0, "seed": 0}
        data = self._post("completions", {**body, **settings})
        try:
            logprobs = data["choices"][0]["prompt_logprobs"][len(before) :]
            rows = zip(wanted, logprobs, strict=True)
            return [self._log(token, row) for token, row in rows]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._failed(f"reply has no prompt_logprobs of its tokens: {data!r}") from error

    def _log(self, token: int, row: Mapping[str, Any] | None) -> float:
        """A token's log-probability; the first of a prompt, of which there is none, as any."""
        return self._evenly if row is None else min(0.0, float(row[str(token)]["logprob"]))
