"""Training questions: divided by a salted hash, as sentences with labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from ragsieve.errors import InputError
from ragsieve.files import replace_lines
from ragsieve.models.base import Embedder
from ragsieve.text import counted, normalise, visible_answers
from ragsieve.types import Example, Query, Segment
from ragsieve_research.datasets import Dataset
from ragsieve_research.datasets.parts import Part, part_of
from ragsieve_research.train.targets import clues, sentences_of

T = TypeVar("T")


def gather(
    sources: Sequence[Dataset], part: Part | None, *, documents: bool = True
) -> Iterator[Example]:
    """The questions of ``part`` from all sources, in turns, so that any beginning is balanced.

    A question that comes twice is taken once; one without a document or a gold answer is left out.
    Its id gets the name of its source in front. Where a source's documents have no ranks, BM25
    ranks them, as in benchmarks: many trainings read the first ones alone.

    Args:
        sources: Data sets.
        part: Which; all where None.
        documents: Whether a question needs documents; they are left out where it does not.
    """
    seen: set[str] = set()
    for example in in_turns(_own(source, part, documents) for source in sources):
        if (question := normalise(example.query.text)) not in seen:
            seen.add(question)
            yield example


def check_enough(parts: Iterable[str], needed: Mapping[str, int], what: str, rule: str) -> None:
    """Check that there are questions enough; no more are read than that takes.

    Args:
        parts: The part of each question.
        needed: How many each part must have.
        what: What these have.
        rule: Which share of all questions a part gets; behind semicolons, what helps.

    Raises:
        InputError: If a part has too few: it names the part, and the numbers of all.
    """
    counts = Counter(dict.fromkeys(needed, 0))
    for part in parts:
        counts[part] += 1
        if all(counts[one] >= least for one, least in needed.items()):
            return
    few = next(part for part, least in needed.items() if counts[part] < least)
    least = counted(needed[few], "question")
    numbers = ", ".join(f"{part} {counts[part]}" for part in needed)
    share, *advice = rule.split("; ")
    why = f"a salted hash gives {share}" if counts.total() else "no question of the data has them"
    told = f"{few} must have at least {least} with {what}, got {counts[few]} ({numbers})"
    raise InputError("; ".join([told, why, *advice]))


def in_turns(iterables: Iterable[Iterable[T]]) -> Iterator[T]:
    """One item of each, then the next of each, while there are any."""
    for turn in zip_longest(*iterables):
        yield from filter(None, turn)


def _own(source: Dataset, part: Part | None, documents: bool) -> Iterator[Example]:
    from ragsieve_research.evaluate.questions import ranked

    for _, example in source.examples():
        wanted = part is None or part == part_of(example.query.text)
        known = example.documents if documents else ()
        if wanted and (known or not documents) and any(map(str.strip, example.answers)):
            query = replace(example.query, id=f"{source.name}:{example.query.id}")
            example = replace(example, query=query, documents=known)
            yield example if source.ranked else ranked(example)


def write(path: Path, examples: Iterable[Example]) -> int:
    """Write questions as JSONL, as `ragsieve annotate` reads it; how many they are."""
    from ragsieve_research.evaluate.questions import to_line

    return replace_lines(path, map(to_line, examples))


@dataclass(frozen=True)
class TrainingExample:
    """One question with the sentences of its documents, and what is known of them.

    Args:
        query: The question; its id begins with the name of its data set and a colon.
        answers: Gold answers.
        sentences: Of all its documents, in order.
        useful: For places of clues whether the generator answers from that sentence alone; empty
            where it was not asked.
        ranking: Places of the sentences that a cut point is for, best first.
        k: The smallest prefix of the ranking that the generator answers from; None if unknown.
        scores: Of the ranking.
        right: Whether the generator answers from its first 0, 1 … sentences.
        chosen: Places of the clues in order, by whatever measure; those with an answer where None.
    """

    query: Query
    answers: tuple[str, ...]
    sentences: tuple[Segment, ...]
    useful: dict[int, bool]
    ranking: tuple[int, ...] = ()
    k: int | None = None
    scores: tuple[float, ...] = ()
    right: tuple[bool, ...] = ()
    chosen: tuple[int, ...] | None = None

    @property
    def data(self) -> str:
        """Name of the data set."""
        return self.query.id.partition(":")[0]

    @cached_property
    def clues(self) -> tuple[int, ...]:
        """Places of the sentences that hold a gold answer; none of a yes or no."""
        if self.chosen is not None:
            return self.chosen
        return tuple(clues(self.sentences, self.answers))

    @property
    def asks_whether(self) -> bool:
        """Whether its answer is yes or no: one cannot see where such an answer stands."""
        return not visible_answers(self.answers)

    @property
    def shows_clues(self) -> bool:
        """Whether it teaches to name clues: of a yes or no one cannot see them."""
        return bool(self.sentences) and not self.asks_whether

    @property
    def usable(self) -> bool:
        """Whether there are both clues and other sentences."""
        return 0 < len(self.clues) < len(self.sentences)

    def widened(self, embedder: Embedder, epsilon: float) -> TrainingExample:
        """The same with the sentences near to a clue, by cosine distance; see `targets.clues`."""
        if not self.clues:
            return self
        wider = clues(self.sentences, self.answers, embedder, epsilon=epsilon)
        return replace(self, chosen=tuple(wider))

    @classmethod
    def of(cls, example: Example, labels: dict[str, Any] | None = None) -> TrainingExample:
        """An example from a question, and from its labels where they are known."""
        sentences = tuple(sentences_of(example))
        if labels is None:
            return cls(example.query, example.answers, sentences, {})
        if labels["sentences"] != [list(s.key) for s in sentences]:
            raise InputError(f"labels of question {example.query.id!r} are for other documents")
        useful = dict(zip(labels["clues"], labels["useful"], strict=True))
        cut = tuple(labels["ranking"]), labels["k"], tuple(labels["scores"]), tuple(labels["right"])
        return cls(example.query, example.answers, sentences, useful, *cut)


def gold(answers: Sequence[str]) -> str:
    """The first gold answer that is not blank; `gather` gives no question without one."""
    return next(text for text in answers if text.strip())
