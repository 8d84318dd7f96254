"""Worked examples, placed in a prompt before the question."""

from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from ragsieve.errors import InputError, naming
from ragsieve.run.questions import lines, parse_json, parse_record
from ragsieve_research.answer.examples import Demonstration

BUNDLED = Path(__file__).with_name("demonstrations.jsonl")
POOL = Path(__file__).with_name("reasoning.jsonl")


def read_demonstrations(
    shots: int, examples: str = "", *, rationales: bool = False
) -> tuple[Demonstration, ...]:
    """The first ``shots`` worked examples: of ragsieve's own four, or of a file.

    Args:
        shots: How many; not negative.
        examples: A file in the schema of `ragsieve.run.questions`, each line with an answer, of
            which the first is shown, and where known a ``rationale`` (or one in its
            ``metadata``); empty for the bundled ones. Take them from training questions: an
            example that is also a test question gives its answer away.
        rationales: Whether each must have a rationale.

    Raises:
        InputError: If ``shots`` is no whole number, negative or more than there are, or the file or
            a line of it breaks a rule.
    """
    if not isinstance(shots, int) or shots < 0:
        raise InputError(f"shots must be a whole number and not negative, got {shots!r}")
    path = Path(examples) if examples else BUNDLED
    demonstrations = _read(path, ("rationale",) if rationales else (), shots)
    if len(demonstrations) < shots:
        whose = path if examples else "ragsieve's own, name a file of yours in examples"
        most = len(demonstrations)
        raise InputError(f"shots must be at most the {most} examples of {whose}, got {shots}")
    return demonstrations


@cache
def reasoning_examples() -> dict[str, list[Demonstration]]:
    """Ragsieve's own fifteen worked examples with reasoning, by domain.

    Three a domain, all of things made up: one that is answered, one with a false premise ("invalid
    question") and one whose documents do not say enough ("I don't know").
    """
    domains: dict[str, list[Demonstration]] = {}
    for example in _read(POOL, ("domain", "rationale")):
        domains.setdefault(example.domain, []).append(example)
    return domains


def _read(path: Path, needed: Sequence[str], most: int | None = None) -> tuple[Demonstration, ...]:
    """The first examples of a file, each with the ``needed`` members."""
    examples = []
    for number, line in islice(lines(path), most):
        with naming(f"{path}, line {number}"):
            examples.append(_parse(line, needed))
    return tuple(examples)


def _parse(line: bytes, needed: Sequence[str]) -> Demonstration:
    example = parse_record(line)
    if not example.answers:
        raise InputError("a worked example must have an answer, got none in answers")
    members = {**example.metadata, **parse_json(line)}
    texts = {name: members.get(name) or "" for name in (*needed, "rationale")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise InputError(f"a {name} must be a string, got {value!r:.80}")
        if name in needed and not value.strip():
            raise InputError(f"a worked example must have a {name}, got {value!r}")
    return Demonstration(
        example.query.text, example.answers[0], documents=example.documents, **texts
    )
