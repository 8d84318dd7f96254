"""The errors, as one tree; each message is one line naming the option, rule and value.

RagsieveError
├── InputError          what the caller passed breaks a rule (also a ValueError)
├── MissingExtra        a backend needs a package that is not installed (also an ImportError)
├── StoreError          weights or an index could not be fetched, read or written
├── SourceError         a source of documents failed, or its reply could not be read
│   └── NotFound        its server has nothing by that name (HTTP 404 or 410)
└── ModelError          a model or its server failed
    ├── Unsupported     this backend cannot do what was asked of it
    ├── ContextOverflow the prompt does not fit the model's context
    ├── BadReply        a reply could not be read; keeps the text
    ├── EndedEarly      a streamed reply broke off; keeps the text so far
    ├── Overdue         a reply was not there in time
    └── PeerError       another framework's filter raised something that is not ours
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, get_args


class RagsieveError(Exception):
    """Base of everything ragsieve raises on purpose."""


class InputError(RagsieveError, ValueError):
    """An argument of the caller breaks a rule."""


class MissingExtra(RagsieveError, ImportError):
    """A backend needs a package that is not installed.

    Args:
        package: The import name that is missing.
        extra: The extra of ragsieve that brings it.
        instead: What does without it.
    """

    def __init__(self, package: str, *, extra: str, instead: str = "") -> None:
        super().__init__(f"{package} is not installed: pip install 'ragsieve[{extra}]'{instead}")
        self.package = package
        self.extra = extra


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Raise `MissingExtra` where an import in the block fails because ``extra`` is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra((error.name or extra).partition(".")[0], extra=extra) from error


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
        need = f"prompt and reply need {needed} tokens"
        super().__init__(f"{need}, the context of {model} holds {limit}")
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


class EndedEarly(ModelError):
    """A streamed reply broke off, which may say the opposite of the whole.

    Args:
        line: What happened.
        text: What came before.
    """

    def __init__(self, line: str, text: str) -> None:
        super().__init__(line)
        self.text = text


class Overdue(ModelError):
    """A reply was not there by the deadline that was set for it."""


def check_choice(choices: Any, **options: object) -> None:
    """Check that options are among the values of a `Literal`.

    Raises:
        InputError: If one is not.
    """
    for name, value in options.items():
        if value not in (known := get_args(choices)):
            near = nearest(str(value), known)
            raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}{near}")


@contextmanager
def translated(kind: type[RagsieveError], line: str, *others: type[Exception]) -> Iterator[None]:
    """Raise an error of ours, a line with the other's words behind it, for others of the block."""
    try:
        yield
    except others as error:
        raise kind(f"{line}: {error}") from error


def naming(place: object) -> AbstractContextManager[None]:
    """Let an `InputError` of the block begin with the place that it is about, and a colon."""
    return translated(InputError, str(place), InputError)


def one_line(error: object, chars: int | None = None) -> str:
    """An error's words on one line; at most so many characters."""
    return " ".join(str(error).split())[:chars]


def typed_line(error: BaseException, chars: int | None = None) -> str:
    """An error's type and words on one line; at most so many characters."""
    return one_line(f"{type(error).__name__}: {error}", chars)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: one of ``known`` that is like it, if any is."""
    from difflib import get_close_matches  # of few messages

    near = get_close_matches(name, [*known], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class PeerError(ModelError):
    """Another framework's filter raised something that is not ours."""
