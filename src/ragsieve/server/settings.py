"""Settings of a server: limits, tokens, hosts, and the upstream of chats."""

from dataclasses import dataclass, field
from pathlib import Path

from ragsieve.agents.rules import ToolRule
from ragsieve.errors import InputError
from ragsieve.models.protocol import check_secret, check_url
from ragsieve.schema import Amount, Count, Options, Positive, Seconds, check_number, check_options


@dataclass(frozen=True, kw_only=True)
class Limits(Options):
    """Limits of what a server takes; anything over them is refused with a reason, never held.

    Args:
        max_body_mb: Megabytes (10^6 bytes) of a request's body; over them 413, and over eight
            times as many of all that are inside, 503.
        max_documents: Documents of a request; over them 413.
        max_tokens: Tokens of a request's question and documents with all their fields, as the
            generator counts them; over them, or over eight bytes for each, 413.
        max_values: Values of a body's JSON, as texts, names, numbers, lists and objects; over them
            413.
        timeout_s: Seconds until a request that waits or runs is answered with 503, and its work
            ends at its model's next window or token.
        workers: Requests that run at once; what they ask of a model is batched. Of those with a
            body over a megabyte an eighth as many, at least one, beside.
        queue: Requests that may wait beside; over them 503.
        per_client: Requests that one client (by its token, or its address) may have inside; over
            them 429.

    Raises:
        InputError: If a limit breaks its rule.
    """

    max_body_mb: Positive = 16.0
    max_documents: Count = 1000
    max_tokens: Count = 1_000_000
    max_values: Count = 250_000
    timeout_s: Seconds = 60.0
    workers: Count = 16
    queue: Amount = 128
    per_client: Count = 64


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """The server that chats are forwarded to; it is never named by a request.

    Args:
        base_url: Where it answers, mostly ending in ``/v1``.
        api_key: Its key; where empty, and the server has no tokens of its own, the client's.
        timeout_s: Seconds that it may stay silent.
        total_s: Seconds of a reply in all, to its last byte or event.

    Raises:
        InputError: If one breaks its rule; a key is not shown.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    timeout_s: Seconds = 120.0
    total_s: Seconds = 900.0

    def __post_init__(self) -> None:
        check_url("upstream", self.base_url)
        if self.api_key:
            check_secret("the upstream's key", self.api_key)
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a server beside its systems.

    Args:
        limits: How much it takes.
        tokens: Bearer tokens, one of which a request must carry; none where all are let in.
        hosts: Names by which it may be called, without the port; any where empty. On a loopback
            address they keep other sites' pages away, whatever a name resolves to.
        upstream: Where chats are forwarded to, if anywhere.
        filter_tools: Patterns of the names of tools whose results in chats are filtered, as
            ``web_*``, or rules for them; ``*`` for all, none where empty.
        savings: An SQLite file, in which tokens before and after are kept by day, route and tool;
            nothing is kept where None.
        grace_s: Seconds that requests have to end once the server is told to.
        strict_models: Whether a rerank request is refused whose model is no system; else the
            default system ranks, and the reply names it.
        warm: Whether models are loaded at the start, by a question of one sentence to each system.

    Raises:
        InputError: If a token is empty or not printable ASCII without spaces; it is not shown.
    """

    limits: Limits = field(default_factory=Limits)
    tokens: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = ()
    upstream: Upstream | None = None
    filter_tools: tuple[str | ToolRule, ...] = ()
    savings: Path | None = None
    grace_s: Seconds = 30.0
    strict_models: bool = False
    warm: bool = False

    def __post_init__(self) -> None:
        check_number("grace_s", self.grace_s, Seconds)
        if isinstance(self.tokens, str):
            raise InputError("tokens must be a tuple (value not shown)")
        for token in self.tokens:
            check_secret("tokens", token)
