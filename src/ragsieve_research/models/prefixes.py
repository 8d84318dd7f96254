"""Keys and values of earlier prompts, so that a common prefix is not read again."""

from collections.abc import Sequence

import torch


class Prefixes:
    """The prompts that were read last, with their states.

    States are the keys and values of a prompt, ``(layers, 2, heads, tokens, dim)``, which depend on
    nothing but its tokens. Prompts that were not used for longest go first. One thread at a time.

    Args:
        max_bytes: Bytes that all states may take together; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._known: dict[tuple[int, ...], torch.Tensor] = {}  # the one used last at the end

    @property
    def bytes(self) -> int:
        """Size of all states."""
        return sum(states.nbytes for states in self._known.values())

    def find(self, tokens: Sequence[int]) -> torch.Tensor | None:
        """States of the longest beginning of ``tokens`` that is known; None where none is."""
        best = max(self._known, key=lambda known: common(known, tokens), default=())
        alike = common(best, tokens)
        return self._known[best][..., :alike, :] if alike else None

    def add(self, tokens: Sequence[int], states: Sequence[torch.Tensor]) -> None:
        """Keep the states of a prompt's first tokens, by layer, as many as fit ``max_bytes``."""
        key = tuple(tokens[: self.max_bytes // sum(s[..., :1, :].nbytes for s in states)])
        if not key:
            return
        for begun in [known for known in self._known if known == key[: len(known)] != key]:
            del self._known[begun]  # the longer one says the same
        own = self._known.pop(key, None)
        self._known[key] = own if own is not None else _first(states, len(key))
        while self.bytes > self.max_bytes:
            del self._known[next(iter(self._known))]


def _first(states: Sequence[torch.Tensor], count: int) -> torch.Tensor:
    """A copy of the states of the first tokens."""
    return torch.stack([layer[..., :count, :] for layer in states])


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Number of tokens that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
