"""Keys and values of earlier prompts, so that a common prefix is not read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch


@dataclass(eq=False)
class _Node:
    """Tokens that follow those of the nodes above, and what a model made of them."""

    tokens: Sequence[int]
    states: torch.Tensor  # (layers, 2, heads, tokens, dim)
    used: int
    children: dict[int, _Node] = field(default_factory=dict)  # by their first token


class Prefixes:
    """A tree of the prompts that were read last; what several begin with is in it once.

    States are the keys and values of a prompt, ``(layers, 2, heads, tokens, dim)``, which depend on
    nothing but its tokens. Prompts that were not used for longest go first. One thread at a time.

    Args:
        max_bytes: Bytes that all states may take together; 0 keeps nothing.

    Source: SGLang (arXiv 2312.07104), section 3, "RadixAttention".
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._children: dict[int, _Node] = {}
        self._clock = 0

    def find(self, tokens: Sequence[int]) -> list[torch.Tensor]:
        """States of the longest beginning of ``tokens`` that is known, in parts that follow."""
        parts, at, children = [], 0, self._children
        while at < len(tokens) and (node := children.get(tokens[at])):
            alike = common(node.tokens, tokens[at:])
            parts.append(node.states[..., :alike, :])
            if alike < len(node.tokens):
                break
            at, children = at + alike, node.children
        return parts

    def add(self, tokens: Sequence[int], states: Sequence[torch.Tensor]) -> None:
        """Keep the states of a prompt's first tokens, by layer, as many as fit ``max_bytes``."""
        most = self.max_bytes // sum(layer[..., :1, :].nbytes for layer in states)
        tokens = tokens[:most]
        self._clock += 1
        at, children = 0, self._children
        while at < len(tokens):
            node = children.get(tokens[at])
            if node is None:
                node = self._node(tokens, states, at, len(tokens))
                self.bytes += node.states.nbytes
            elif (alike := common(node.tokens, tokens[at:])) < min(
                len(node.tokens), len(tokens) - at
            ):
                node = self._split(node, alike)
            children[tokens[at]] = node
            node.used = self._clock
            at, children = at + len(node.tokens), node.children
        while self.bytes > self.max_bytes:
            self._drop()

    def _node(
        self, tokens: Sequence[int], states: Iterable[torch.Tensor], start: int, end: int
    ) -> _Node:
        own = torch.stack([layer[..., start:end, :] for layer in states])
        return _Node(tokens[start:end], own, self._clock)

    def _split(self, node: _Node, at: int) -> _Node:
        """Two nodes for one, the second the child of the first, each with states of its own."""
        upper = self._node(node.tokens, node.states, 0, at)
        lower = self._node(node.tokens, node.states, at, len(node.tokens))
        lower.used, lower.children = node.used, node.children
        upper.children[lower.tokens[0]] = lower
        return upper

    def _drop(self) -> None:
        """Forget the end of the prompt that was not used for longest."""
        children, key = min(self._ends(), key=lambda end: end[0][end[1]].used)
        self.bytes -= children.pop(key).states.nbytes

    def _ends(self) -> Iterator[tuple[dict[int, _Node], int]]:
        """Where the nodes are that none follows."""
        waiting = [self._children]
        while waiting:
            children = waiting.pop()
            for key, node in children.items():
                if node.children:
                    waiting.append(node.children)
                else:
                    yield children, key


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
