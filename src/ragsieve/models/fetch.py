"""One request to a server that somebody named, by the standard library alone."""

from functools import partial
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ragsieve.timeouts import start

_MOST = 1 << 22  # bytes of a reply


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """None: no other server is asked, and a key goes nowhere else."""


def fetch(request: Request, seconds: float) -> tuple[int, str]:
    """The status and the text of a reply, whatever the status is.

    Args:
        request: The request; of a long reply only the first 4 MiB are read.
        seconds: For the reply, to its last byte.

    Raises:
        OSError: If there is no reply, or none in time (`TimeoutError`).
    """
    return start(partial(_fetched, request, seconds)).result(seconds)


def _fetched(request: Request, seconds: float) -> tuple[int, str]:
    try:
        with build_opener(_NoRedirect).open(request, timeout=seconds) as reply:
            return reply.status, reply.read(_MOST).decode("utf-8", "replace")
    except HTTPError as error:
        return error.code, error.read(_MOST).decode("utf-8", "replace")
