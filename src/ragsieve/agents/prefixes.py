"""What a provider's prompt cache holds of a conversation, as far as this process has sent it."""

import hashlib
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from ragsieve.agents.messages import as_json
from ragsieve.models.lru import LRU

_REMEMBERED = 1 << 14  # beginnings of conversations


class Prefixes:
    """Counts tokens that were sent before and read otherwise now: a cache does not find them.

    A beginning of a conversation, as the caller has it, is known by its digest, and with it what
    was sent for it. Many threads may share one.
    """

    def __init__(self) -> None:
        self._sent: LRU[bytes, tuple[bytes, int]] = LRU(_REMEMBERED)  # digest and tokens so far

    def broken(
        self, given: Sequence[Any], sent: Sequence[Any], count: Callable[[Sequence[str]], list[int]]
    ) -> int:
        """Tokens of the longest known beginning, from the first message on that differs now.

        Args:
            given: The messages as the caller has them.
            sent: The same as they are sent, of the same number.
            count: Tokens of texts.
        """
        keys, digests = _chain(given), _chain(sent)
        known = self._sent.find(keys)
        same = 0
        while same < len(keys) and (one := known.get(keys[same])) and one[0] == digests[same]:
            same += 1
        total = start = known[keys[same - 1]][1] if same else 0
        for key, digest, message in zip(keys[same:], digests[same:], sent[same:], strict=True):
            total += count([as_json(message)])[0]
            self._sent.keep({key: (digest, total)})
        return max([start, *(tokens for _, tokens in known.values())]) - start


def _chain(messages: Sequence[Any]) -> list[bytes]:
    """A digest of each beginning."""

    def joined(digest: bytes, message: Any) -> bytes:
        return hashlib.sha256(digest + as_json(message).encode("utf-8", "replace")).digest()

    return [*accumulate(messages, joined, initial=b"")][1:]
