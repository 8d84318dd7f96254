"""One training: its questions and its folder.

WORK/plan.json          what the folder is of, where the training says so
WORK/PART.jsonl         the questions of a part, with the documents that are read
WORK/PART.KIND.jsonl    what is known of them
WORK/adapter-…          what an LLM learned
WORK/cache.sqlite       replies of models
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ragsieve.errors import InputError
from ragsieve.files import replace_lines, writing
from ragsieve.models.sharing import Share, sharing
from ragsieve.run.batch import Batch, Done, Process
from ragsieve.run.questions import lines, parse_json, parse_record
from ragsieve.types import Example
from ragsieve_research.artifacts.recipe import TrainingData
from ragsieve_research.datasets import Dataset, parts
from ragsieve_research.train.examples import TrainingExample, check_enough, gather, write

logger = logging.getLogger(__name__)

PARTS: tuple[parts.Part, ...] = ("train", "validation")
USABLE = "sentences that hold an answer and sentences that hold none"
HELD_OUT = 5  # under a limit, a question of validation to so many of training
OnProgress = Callable[[str, Iterator[Done], int | None], list[Done]]
Change = Callable[[Example, Sequence[Example]], Example]


@dataclass(frozen=True)
class Run:
    """Options of every training beside its plan; work of an earlier start is kept.

    Args:
        sources: Questions with gold answers, divided by a salted hash.
        work: Folder of this training, and of no other; made where missing.
        workers: Questions at once, where models are asked.
        on_progress: Runs through questions as they are done; it is given the file's name and how
            many there are.
        warn: Given a line where something is amiss.
    """

    sources: Sequence[Dataset]
    work: Path
    workers: int = 16
    on_progress: OnProgress = lambda _name, done, _total: [*done]
    warn: Callable[[str], object] = logger.warning

    def check_same_run(self, plan: Mapping[str, Any]) -> None:
        """Note what ``work`` is of.

        Raises:
            InputError: If it is of another plan or other data, or cannot be written.
        """
        data = [[s.origin, s.sha256(), *([] if s.ranked else ["BM25"])] for s in self.sources]
        check_same_run(self.work, {**plan, "data": data})

    def check_questions(
        self, *, documents: bool = True, usable: Callable[[Example], bool] | None = None
    ) -> None:
        """Check that each part has a question to learn from, before libraries are imported.

        Args:
            documents: See `gather`.
            usable: Whether a question has what `USABLE` says; all have where None.

        Raises:
            InputError: If a part has none: it names the part, and the numbers of all.
        """
        known = gather(self.sources, None, documents=documents)
        found = (parts.part_of(e.query.text) for e in known if usable is None or usable(e))
        needed = "documents and answers" if documents else "a gold answer"
        check_parts(found, USABLE if usable else needed)

    def write_questions(
        self,
        limit: int | None,
        change: Change,
        *,
        documents: bool = True,
        key: Callable[[Example], Any] | None = None,
    ) -> None:
        """Write the questions of each part.

        Args:
            limit: Only so many to learn from, and a fifth of that to choose by; all where None.
            change: Gives of a question, and all of its part, the question with the documents to
                read.
            documents: See `gather`.
            key: Of the order of the questions; that of `gather` where None.

        Raises:
            InputError: If a part has no question.
        """
        self.check_questions(documents=documents)
        with writing(f"work {self.work}"):
            self.work.mkdir(parents=True, exist_ok=True)
        for part, most in limits(limit).items():
            known = gather(self.sources, part, documents=documents)
            examples = list(islice(sorted(known, key=key) if key else known, most))
            write(self.path(part), (change(one, examples) for one in examples))

    def path(self, part: str, kind: str = "") -> Path:
        """Path of a part's questions, or of labels of this kind."""
        return self.work / (f"{part}.{kind}.jsonl" if kind else f"{part}.jsonl")

    def read(self, part: str, kind: str = "") -> list[tuple[Example, dict[str, Any]]]:
        """The questions of a part, each with what is known of it of this kind, if anything.

        Raises:
            InputError: If a file cannot be read.
        """
        known = lines(self.path(part, kind)) if kind else ()
        by_line = {record["line"]: dict(record) for record in (parse_json(one) for _, one in known)}
        questions = lines(self.path(part))
        return [(parse_record(line), by_line.get(number, {})) for number, line in questions]

    def examples(self, part: str, labels: str = "") -> list[TrainingExample]:
        """The questions of a part as sentences; with labels of this kind only those that have some.

        Raises:
            InputError: If a file cannot be read, or labels are for other documents.
        """
        rows = [(example, row if labels else None) for example, row in self.read(part, labels)]
        return [TrainingExample.of(*one) for one in rows if one[1] is None or "k" in one[1]]

    def label(self, kind: str, process: Process, *, by: str) -> None:
        """Write what ``process`` says of the questions of both parts; see `ask`."""
        for part in PARTS:
            self.ask(part, self.path(part, kind).name, process, by=by)

    def ask(
        self,
        part: str,
        name: str,
        process: Process,
        *,
        by: str,
        limit: int | None = None,
        max_failed: float = 0.0,
    ) -> list[Done]:
        """Write what ``process`` says of each question of a part into ``WORK/NAME``.

        What an earlier start wrote ``by`` it stays.

        Args:
            part: Whose questions.
            name: Of the file.
            process: What is asked.
            by: What the results depend on.
            limit: Only so many questions; all where None.
            max_failed: Share of the questions that may fail; the next start tries these again.

        Raises:
            InputError: If a file is of another ``by``, or of other questions.
            ModelError: If a model fails too often; the first such error, when all others are asked.
        """
        with Batch(self.path(part), self.work / name, label=by) as batch:
            done = batch.run(process, workers=self.workers, limit=limit)
            results = self.on_progress(name, done, batch.total(limit))
        errors = [one.error for one in results if one.error]
        if len(errors) > max_failed * len(results):
            raise errors[0]
        return results

    def sharing(self) -> AbstractContextManager[Share]:
        """Wraps models, so that questions are asked together and replies are kept."""
        return sharing(self.workers, cache=self.work / "cache.sqlite")

    def adapter(self, *learned: object) -> Path:
        """Path of an adapter that was learned so, by the ``repr`` of all of it."""
        return self.work / f"adapter-{digest(*learned)}"


def check_parts(found: Iterable[str], needed: str) -> None:
    """Check that there is a question of each part among those whose parts are given.

    Raises:
        InputError: If there is none; it says what ``needed`` is of it.
    """
    rule = "half of all questions to train, a tenth to validation"
    check_enough(found, dict.fromkeys(PARTS, 1), needed, rule)


def digest(*inputs: object) -> str:
    """A mark of inputs, by the ``repr`` of all of them."""
    return hashlib.sha256(repr(inputs).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def check_same_run(work: Path, values: Mapping[str, Any]) -> None:
    """Note what ``work`` is of, or check that it says the same; see `Run.check_same_run`."""
    path, text = work / "plan.json", json.dumps(values, indent=1)
    with writing(f"work {work}"):
        work.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            replace_lines(path, [text.encode()])
        if path.read_text(encoding="utf-8") != text:
            raise InputError(f"work must be a new folder or that of this plan, got {str(work)!r}")


def limits(limit: int | None) -> dict[parts.Part, int | None]:
    """Number of questions of each part; all where None."""
    return {"train": limit, "validation": limit and -(-limit // HELD_OUT)}


def first_documents(most: int) -> Change:
    """Leaves of each question's documents the first."""
    return lambda example, _: replace(example, documents=example.documents[:most])


def labels_of(name: str, plan: Any) -> str:
    """By what labels are made: all options of a plan but those that are for the training."""
    known = {k: v for k, v in asdict(plan).items() if k not in ("limit", "epochs", "seed")}
    return f"{name} {json.dumps(known)}"


def counted(sources: Sequence[Dataset], ids: Iterable[str]) -> tuple[TrainingData, ...]:
    """Data sets with the number of questions learned from, by ids that begin with their names."""
    known = Counter(one.partition(":")[0] for one in ids)
    return tuple(
        TrainingData(source.name, licence, known[source.name], source.sha256())
        for source, (_, licence) in zip(sources, licences(sources), strict=True)
    )


def licences(sources: Sequence[Dataset]) -> list[tuple[str, str]]:
    """Names of data sets with their licences."""
    return [(s.name, s.entry.licence if s.entry else "the user's own") for s in sources]
