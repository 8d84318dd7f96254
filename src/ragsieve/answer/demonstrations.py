"""Worked examples that stand in a prompt before the question itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ragsieve.datasets.local import lines, parse_json, parse_record
from ragsieve.errors import InputError
from ragsieve.types import Document

BUNDLED = Path(__file__).with_name("demonstrations.jsonl")


@dataclass(frozen=True)
class Demonstration:
    """A question with its answer, shown to a model as one that was asked and answered before.

    Args:
        question: The question; not blank.
        answer: Its answer; not blank.
        rationale: Which documents help, why the others do not, and what follows; may be empty.
        documents: What the question was answered from; may be none.

    Raises:
        InputError: If ``question`` or ``answer`` is blank.
    """

    question: str
    answer: str
    rationale: str = ""
    documents: tuple[Document, ...] = ()

    def __post_init__(self) -> None:
        for name in ("question", "answer"):
            if not getattr(self, name).strip():
                raise InputError(f"a demonstration's {name} must not be blank, got {self!r:.80}")

    def reply(self, answer_after: str = "") -> str:
        """The reply it stands for: the answer, or the rationale and the answer on a marked line.

        Args:
            answer_after: What the line of the answer begins with; the answer alone where empty.
        """
        if not answer_after:
            return self.answer
        return f"{self.rationale}\n{answer_after} {self.answer}".strip()


def read_demonstrations(
    shots: int, examples: str = "", *, rationales: bool = False
) -> tuple[Demonstration, ...]:
    """The first ``shots`` worked examples: of ragsieve's own four, or of a file.

    Args:
        shots: How many; not negative.
        examples: A file in the schema of `ragsieve.datasets.local`, each line with an answer, of
            which the first is shown, and where known a ``rationale`` (or one in its
            ``metadata``); empty for the bundled ones. Take them from training questions: an
            example that is asked later is a given answer.
        rationales: Whether each must have a rationale.

    Raises:
        InputError: If ``shots`` is negative or more than there are, or the file or a line of it
            breaks a rule.
    """
    if shots < 0:
        raise InputError(f"shots must not be negative, got {shots!r}")
    path = Path(examples) if examples else BUNDLED
    found = []
    for number, line in islice(lines(path), shots):
        try:
            found.append(_parse(line, rationales))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
    if len(found) < shots:
        whose = path if examples else "ragsieve's own, name a file of yours in examples"
        raise InputError(f"shots must be at most the {len(found)} examples of {whose}, got {shots}")
    return tuple(found)


def _parse(line: bytes, rationales: bool) -> Demonstration:
    example = parse_record(line)
    if not example.answers:
        raise InputError("a worked example must have an answer, got none in answers")
    rationale = parse_json(line).get("rationale", example.metadata.get("rationale")) or ""
    if not isinstance(rationale, str):
        raise InputError(f"a rationale must be a string, got {rationale!r:.80}")
    if rationales and not rationale.strip():
        raise InputError(f"a worked example must have a rationale, got {rationale!r}")
    return Demonstration(example.query.text, example.answers[0], rationale, example.documents)
