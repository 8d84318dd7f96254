"""Parse a body as standard JSON; as a program: the one on standard input, in marshal's form."""

from __future__ import annotations

import gc
import json
import marshal
import math
import os
import re
import subprocess
import sys
from contextlib import suppress
from typing import Any, NoReturn

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MEMORY = 1 << 30  # bytes
_NICE = 10  # who sends megabytes waits for who does not


def parse(body: bytes, most: int) -> Any:
    """The value of a body.

    Args:
        body: In UTF-8.
        most: Values in it at most: texts, names, numbers, lists and objects.

    Raises:
        OverflowError: If there are more; nothing is parsed then.
        ValueError: If it is not JSON, or is nested too deeply; the message says why.
    """
    if _values(body) > most and (values := _values(_STRING.sub(b"", body))) > most:
        raise OverflowError(f"max_values must be at most {most}, got {values}")
    try:
        return _DECODER.decode(body.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("the body is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"the body must be JSON: {error}") from error


def parse_apart(body: bytes, most: int, timeout_s: float) -> Any:
    """The same in a process of its own: parsing takes memory, and the interpreter's lock.

    Raises:
        TimeoutError: If it takes longer.
    """
    command = [sys.executable, "-I", "-S", __file__, str(most)]
    try:
        ran = subprocess.run(command, input=body, capture_output=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if ran.returncode:
        raise ValueError("the body takes too much memory")
    value, too_many, error = marshal.loads(ran.stdout)
    if error:
        raise (OverflowError if too_many else ValueError)(error)
    return value


def _values(body: bytes) -> int:
    """Values of a body without strings; with them not fewer."""
    return 1 + sum(map(body.count, (b",", b":", b"[", b"{")))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _main(most: int) -> None:
    with suppress(AttributeError, OSError):  # Windows
        os.nice(_NICE)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    gc.disable()
    try:
        reply = parse(sys.stdin.buffer.read(), most), False, ""
    except (OverflowError, ValueError) as error:
        reply = None, isinstance(error, OverflowError), str(error)
    sys.stdout.buffer.write(marshal.dumps(reply))


if __name__ == "__main__":
    _main(int(sys.argv[1]))
