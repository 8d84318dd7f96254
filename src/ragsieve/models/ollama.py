"""Ollama's server, by its own port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragsieve.models.openai import OpenAI
from ragsieve.models.server import Home


@dataclass(frozen=True)
class Ollama(OpenAI):
    """A model that Ollama serves; see `OpenAI`.

    Args:
        base_url: Unset, Ollama's own port on this machine.
        api_key: Unset, ``OLLAMA_API_KEY`` or none.
        context: Unset, as Ollama gives it to the model, 4,096 by default: it cuts longer prompts
            without a word. Its setting ``OLLAMA_CONTEXT_LENGTH`` or the model's ``num_ctx`` raises
            it; this option says what either has set.

    Source: Ollama's ``/v1``, ``/api/ps`` and ``/api/show``.
    """

    backend: ClassVar[str] = "ollama"
    home: ClassVar[Home] = Home("http://127.0.0.1:11434/v1", key_name="OLLAMA_API_KEY")
