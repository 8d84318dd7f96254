"""Stories that records hold, event by event, where a stage of their system tells one.

Clusters of documents with an agent each, their answers, merges, the critic's rounds, the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragsieve.cluster import inequality
from ragsieve.errors import InputError, MissingExtra
from ragsieve.evaluate.cells import Cell, records
from ragsieve.text import contains_answer, safe

try:
    import msgspec
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "msgspec", extra="bench") from error

_MAX_CHARS = 600  # of a text in a story
_MARK = b'"story"'


@dataclass(frozen=True)
class Placed:
    """A document in a cluster: the agent that reads it, and its place in two dimensions."""

    document: str
    agent: int
    title: str = ""
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Argument:
    """What an agent answers, and in a round of winnowing why."""

    agent: int
    answer: str
    evidence: str = ""
    explanation: str = ""


@dataclass(frozen=True)
class Fallen:
    """A document that a merge dropped, with the two sides of the inequality that it broke."""

    document: str
    value: float | None = None
    threshold: float | None = None

    @property
    def broken(self) -> str:
        """The inequality, with as many digits as tell its sides apart; empty where chance chose."""
        return inequality(self.value, self.threshold)


@dataclass(frozen=True)
class Merge:
    """Agents ``of`` go into agent ``into``, in a round or, in round 0, for their equal answer."""

    by: str
    into: int | None = None
    of: tuple[int, ...] = ()
    round: int = 0
    kept: tuple[str, ...] = ()
    dropped: tuple[Fallen, ...] = ()

    def __str__(self) -> str:
        into = [] if self.into is None else [self.into]
        return f"{self.by} of {_agents([*into, *self.of])}"


@dataclass(frozen=True)
class Round:
    """The agents' arguments, and the critic's verdict on them."""

    round: int
    arguments: tuple[Argument, ...] = ()
    incorrect: tuple[int, ...] = ()
    explanation: str = ""
    answer: str | None = None


@dataclass(frozen=True)
class End:
    """The answer, why it stands, and the agents and documents behind it."""

    answer: str = ""
    why: str = ""
    agents: tuple[int, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """What became of a question; texts longer than 600 characters are cut.

    Args:
        gold: Its gold answers; empty where unknown.
        right: Its accuracy; None where it was not measured.
        holding: Documents that hold a gold answer.
        unreadable: Replies of agents and critic that could not be read.
    """

    dataset: str
    system: str
    generator: str
    question: str
    gold: tuple[str, ...]
    right: float | None
    holding: tuple[str, ...]
    clusters: tuple[Placed, ...]
    answers: tuple[Argument, ...]
    merges: tuple[Merge, ...]
    rounds: tuple[Round, ...]
    end: End
    unreadable: int = 0

    def agents(self, rounds: int | None = None) -> int:
        """Agents that are left after so many rounds, or at the end."""
        gone = {of for m in self.merges if rounds is None or m.round <= rounds for of in m.of}
        return len({placed.agent for placed in self.clusters} - gone)


_EVENTS = {"clusters": Placed, "answers": Argument, "merge": Merge, "round": Round, "end": End}
_LISTS = {"clusters": "documents", "answers": "answers"}  # events that are lists


def stories(cell: Cell) -> Iterator[tuple[int, Story]]:
    """The stories of a cell with the line of their question, as they are recorded.

    Raises:
        InputError: If a story is not as a stage tells it.
    """
    if _tells(cell.file):
        for record in records(cell.file):
            if story := _story(cell, record):
                yield record["line"], story


def chapters(story: Story) -> list[tuple[str, list[str]]]:
    """The story to be read: a head and its lines for the clusters, each round and the end.

    ◎ marks documents that hold a gold answer.
    """
    titles = {p.document: short(p.title or p.document, 80) for p in story.clusters}
    said = {a.agent: short(a.answer, 200) for a in story.answers}
    first = []
    for agent in sorted({p.agent for p in story.clusters}):
        own = [p.document for p in story.clusters if p.agent == agent]
        marked = [titles[d] + (" ◎" if d in story.holding else "") for d in own]
        answer = f" answers “{said[agent]}”" if agent in said else ""
        first.append(f"Agent {agent}{answer} from {_many(own)}: {'; '.join(marked)}")
    parts = [("Clusters and answers", first)]
    if equal := [_merged(m, titles) for m in story.merges if m.round == 0]:
        parts.append(("Equal answers", equal))
    for told in story.rounds:
        lines = [*map(_argued, told.arguments), _verdict(told)]
        lines += [_merged(m, titles) for m in story.merges if m.round == told.round > 0]
        parts.append((f"Round {told.round}", lines))
    behind = f"{_many(story.end.documents)} of {_agents(story.end.agents)}"
    parts.append(("End", [f"“{short(story.end.answer, 200)}”: {story.end.why}; {behind}"]))
    return parts


def short(text: str, chars: int) -> str:
    """``text`` in one line of at most ``chars`` characters, an ellipsis where it was cut."""
    line = " ".join(safe(text[: 4 * chars]).split())
    return line if len(line) <= chars and len(text) <= 4 * chars else f"{line[: chars - 1]}…"


def _tells(path: Path) -> bool:
    """Whether a record may hold a story: no need to read the others."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return any(_MARK in line for line in file)


def _story(cell: Cell, record: Mapping[str, Any]) -> Story | None:
    steps = (record.get("trace") or {}).get("steps", [])
    step = next((step for step in steps if _winnows(step)), None)
    if not step:
        return None
    told = step["story"]
    try:
        found = {name: tuple(_events(told, name)) for name in _EVENTS}
        gold = tuple(record.get("answers") or ())
        return Story(
            cell.dataset,
            cell.system,
            cell.generator,
            short(str(record.get("query") or record.get("id") or ""), 160),
            gold,
            (record.get("metrics") or {}).get("accuracy"),
            _holding(record, told, gold),
            found["clusters"],
            found["answers"],
            found["merge"],
            found["round"],
            found["end"][-1] if found["end"] else End(why="not told"),
            int(step.get("unreadable") or 0),
        )
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError) as error:
        where = f"line {record.get('line')} of {cell.file}"
        raise InputError(
            f"{where} must hold a story as a stage tells it: {error!r:.120}"
        ) from error


def _winnows(step: Mapping[str, Any]) -> bool:
    """Whether a step tells what winnowing did; other stages tell of events of their own."""
    told = step.get("story")
    if not told or step.get("error"):
        return False
    names = [event.get("event") if isinstance(event, dict) else None for event in told]
    return any(name is None or name in _EVENTS for name in names)


def _events(told: Sequence[Mapping[str, Any]], name: str) -> Iterator[Any]:
    for event in told:
        if event["event"] == name:
            for value in event[_LISTS[name]] if name in _LISTS else [event]:
                if name == "merge" and isinstance(value.get("of"), int):  # up to version 0.1
                    value = {**value, "of": [value["of"]]}
                yield msgspec.convert(_cut(value), _EVENTS[name])


def _cut(value: Any) -> Any:
    """The same with its texts safe to show, and not too long."""
    if isinstance(value, str):
        return safe(value if len(value) <= _MAX_CHARS else f"{value[: _MAX_CHARS - 1]}…")
    if isinstance(value, list):
        return [_cut(inner) for inner in value]
    return {k: _cut(v) for k, v in value.items()} if isinstance(value, dict) else value


def _holding(
    record: Mapping[str, Any], told: Sequence[Mapping[str, Any]], gold: Sequence[str]
) -> tuple[str, ...]:
    """Documents of which the title or a span, kept or dropped anywhere, holds a gold answer."""
    spans = list(record.get("kept") or ())
    spans += [span for s in record["trace"]["steps"] for span in s.get("dropped") or ()]
    texts: dict[str, list[str]] = {}
    for event in told:
        for document in event["documents"] if event["event"] == "clusters" else ():
            texts[document["document"]] = [document.get("title") or ""]
    for span in spans:
        if span["document"] in texts:
            texts[span["document"]].append(span["text"])
    return tuple(_cut(d) for d, t in texts.items() if contains_answer("\n".join(t), gold))


def _many(documents: Sequence[str]) -> str:
    return f"{len(documents)} document{'s' * (len(documents) != 1)}"


def _agents(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers or ("none",))
    return f"agents {', '.join(first)} and {last}" if first else f"agent {last}"


def _argued(argument: Argument) -> str:
    said = [f"Agent {argument.agent}: “{short(argument.answer, 200)}”"]
    if argument.evidence:
        said.append(f"Evidence: {short(argument.evidence, 400)}")
    if argument.explanation:
        said.append(f"Explanation: {short(argument.explanation, 400)}")
    return " — ".join(said)


def _verdict(told: Round) -> str:
    wrong = ", ".join(map(str, told.incorrect))
    many = len(told.incorrect) > 1
    verdict = f"agent{'s' * many} {wrong} {'are' if many else 'is'} incorrect" if wrong else ""
    answer = (
        "no consistent answer" if told.answer is None else f"“{short(told.answer, 200)}” stands"
    )
    reason = f" Reason: {short(told.explanation, 400)}" if told.explanation else ""
    return f"Critic: {verdict or 'no agent is incorrect'}; {answer}.{reason}"


def _merged(merge: Merge, titles: Mapping[str, str]) -> str:
    seen = len(merge.kept) + len(merge.dropped)
    into = f"into agent {merge.into} " if merge.into is not None else ""
    goes = "go" if len(merge.of) > 1 else "goes"
    stay = f"{len(merge.kept)} of {seen} documents stay"
    text = f"{_agents(merge.of).capitalize()} {goes} {into}by {merge.by}: {stay}"
    fallen = [
        titles.get(f.document, f.document) + (f" ({f.broken})" if f.broken else "")
        for f in merge.dropped
    ]
    return f"{text}; falls: {'; '.join(fallen)}" if fallen else text
