"""What filters of other frameworks gave back: what they invented, repeated, grew, and raised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragsieve.errors import InputError
from ragsieve.evaluate.cells import Cell, records

_RAISED = "PeerError: "  # how the error begins where such a filter raised
_MARKS = (b'"event": "peer"', b'"error": "PeerError: ')


@dataclass(frozen=True)
class Returned:
    """Counts over questions, as `ragsieve.systems.peers.base.Peer` counts them.

    Args:
        questions: Questions that a filter of another framework was asked.
        raised: Those on which it raised; nothing else of them is counted.
        unreadable: Replies of a model that it could not read.
        given: Texts that it was given.
        returned: Texts that it gave back.
        invented: Of these, those with words that were not given.
        repeated: Those with words that were given back before.
        grown: Those that are longer than what they are of.
        words: Words of all that it gave back.
        invented_words: Of these, those that were not given.
        repeated_words: Those that were given back before.
    """

    questions: int = 0
    raised: int = 0
    unreadable: int = 0
    given: int = 0
    returned: int = 0
    invented: int = 0
    repeated: int = 0
    grown: int = 0
    words: int = 0
    invented_words: int = 0
    repeated_words: int = 0


def returned(cell: Cell) -> Returned | None:
    """The counts of a cell, a question recorded twice as it was last; None where there are none.

    Raises:
        InputError: If a count is not as a stage tells it.
    """
    if not _tells(cell):
        return None
    found: dict[int, Returned] = {}
    for record in records(cell.file):
        try:
            if counts := _counts(record):
                found[record["line"]] = counts
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            where = f"line {record.get('line')} of {cell.file}"
            raise InputError(
                f"{where} must count what a filter returned: {error!r:.120}"
            ) from error
    return together(list(found.values()))


def together(counts: Sequence[Returned | None]) -> Returned | None:
    """The sums; None where one is not known."""
    total: Counter[str] = Counter()
    for one in counts:
        if one is None:
            return None
        total.update(asdict(one))
    return Returned(**total) if counts else None


def _tells(cell: Cell) -> bool:
    """Whether a record may hold counts: no need to parse the others."""
    if not cell.file.is_file():
        return False
    with cell.file.open("rb") as file:
        return any(mark in line for line in file for mark in _MARKS)


def _counts(record: Mapping[str, Any]) -> Returned | None:
    if str(record.get("error", "")).startswith(_RAISED):
        return Returned(questions=1, raised=1)
    own = together([*_steps(record)])
    return own and Returned(**{**asdict(own), "questions": 1})


def _steps(record: Mapping[str, Any]) -> Iterator[Returned]:
    for step in (record.get("trace") or {}).get("steps", []):
        events = [told for told in step.get("story") or () if told["event"] == "peer"]
        unreadable = int(step.get("unreadable") or 0) if events else 0
        for told in events:
            counts = {name: int(value) for name, value in told.items() if name != "event"}
            yield Returned(**counts, unreadable=unreadable)
