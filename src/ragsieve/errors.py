"""What goes wrong, as one tree; each message is one line naming the option, rule and value.

RagsieveError
├── InputError          what the caller passed breaks a rule (also a ValueError)
├── MissingExtra        a backend needs a package that is not installed (also an ImportError)
├── StoreError          weights or an index could not be fetched, read or written
├── SourceError         a source of documents failed, or its reply could not be read
│   └── NotFound        its server has nothing by that name (HTTP 404 or 410)
└── ModelError          a model or its server failed
    ├── Unsupported     this backend cannot do what was asked of it
    ├── ContextOverflow the prompt does not fit the model's context
    └── BadReply        a reply could not be read; keeps the text
"""

from __future__ import annotations


class RagsieveError(Exception):
    """Base of everything ragsieve raises on purpose."""


class InputError(RagsieveError, ValueError):
    """What the caller passed breaks a rule."""


class MissingExtra(RagsieveError, ImportError):
    """A backend needs a package that is not installed.

    Args:
        package: The import name that is missing.
        extra: The extra of ragsieve that brings it.
    """

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'ragsieve[{extra}]'")
        self.package = package
        self.extra = extra


class StoreError(RagsieveError):
    """Weights or an index could not be fetched, read or written, or a checksum does not fit."""


class SourceError(RagsieveError):
    """A source of documents failed, or its reply could not be read."""


class NotFound(SourceError):
    """A source's server has nothing at a path (HTTP 404 or 410)."""


class ModelError(RagsieveError):
    """A model or its server failed."""


class Unsupported(ModelError):
    """The backend cannot do what was asked of it; the message names what it can do."""


class ContextOverflow(ModelError):
    """A prompt does not fit the model's context.

    Args:
        needed: Tokens that prompt and reply need.
        limit: Tokens that the model's context holds.
        model: The model's name.
    """

    def __init__(self, *, needed: int, limit: int, model: str) -> None:
        super().__init__(
            f"prompt and reply need {needed} tokens, the context of {model} holds {limit}"
        )
        self.needed = needed
        self.limit = limit


class BadReply(ModelError):
    """A model's reply could not be read.

    Args:
        rule: What the reply should have been.
        text: The reply, whole.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"the reply should be {rule}, got {text[:200]!r}")
        self.text = text
