"""Systems × data sets × generators: a folder with a record of every example, resumable.

RUN/run.json                what was run, where, with which models and questions
RUN/questions/DATA.jsonl    the questions
RUN/records/CELL.jsonl      a record for every question, in their order when the cell is done
RUN/latency/CELL.jsonl      times of the first questions, asked one at a time without a cache
RUN/cache/CELL.sqlite       replies of models until the cell is done
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ragsieve.errors import InputError, ModelError, PeerError, RagsieveError, one_line, typed_line
from ragsieve.files import replace_lines
from ragsieve.models.addresses import declared
from ragsieve.models.reopen import Reopened
from ragsieve.models.sharing import Share, sharing
from ragsieve.result import Result
from ragsieve.run.batch import Batch, Done, Failed, Process
from ragsieve.run.questions import lines, parse_record
from ragsieve.schema import telling, without_secrets
from ragsieve.sources import Models
from ragsieve.spec import SystemSpec, entry, identity
from ragsieve.system import System
from ragsieve.systems.base import SYSTEMS
from ragsieve.types import Example
from ragsieve_research.answer.reasoning import evaluated
from ragsieve_research.artifacts.trained import model_names
from ragsieve_research.evaluate import evidence, questions
from ragsieve_research.evaluate.answers import AnswerJudge, contained
from ragsieve_research.evaluate.config import Cell, Config, cells, check_folder
from ragsieve_research.evaluate.cost import costed_trace, timed
from ragsieve_research.evaluate.declared import RunModels
from ragsieve_research.evaluate.expected import TRIED, built, expected, failure
from ragsieve_research.evaluate.header import header, names
from ragsieve_research.evaluate.metrics import (
    METRICS,
    Metric,
    crag_metrics,
    failed,
    judged,
    measure,
    semantic_accuracy,
)
from ragsieve_research.evaluate.prices import Prices

_HOPELESS = 10  # questions of a cell that may fail before any is answered
_DONE: tuple[Process, Failed] = (lambda _: {}, lambda *_: {})  # of a cell that asks nothing


@dataclass(frozen=True)
class Progress:
    """A question of a cell that is done, in the pass of records or of times."""

    cell: Cell
    part: str
    done: Done


@dataclass
class Bench:
    """A run in a folder.

    Args:
        config: The run.
        folder: Created where missing; records of an earlier start stay.
        data: Where data sets lie; see `ragsieve_research.datasets.load`.
        command: The command line, for the header.
        retry: Ask again the questions that failed in an earlier start.

    Raises:
        InputError: In `prepare` or `run`, if an option breaks a rule, the folder cannot be written,
            or questions or a system have changed since an earlier start, which stays as it is.
    """

    config: Config
    folder: Path
    data: Path | None = None
    command: Sequence[str] = ()
    retry: bool = False
    _about: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def models(self) -> RunModels:
        """Its models by their names."""
        return RunModels(self.config.model_options)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that can run, in order."""
        return [cell for cell in cells(self.config) if cell.file not in self.unable]

    @cached_property
    def unable(self) -> dict[str, str]:
        """Why a cell cannot run, by its file; one that ended early is added when it does."""
        reasons = {cell.file: failure(partial(self._check, cell)) for cell in cells(self.config)}
        return {name: reason for name, reason in reasons.items() if reason}

    def check(self) -> None:
        """Raise `InputError` where no cell can run; nothing is fetched, and no model is asked."""
        if not self.cells:
            raise InputError(next(iter(self.unable.values())))

    def _check(self, cell: Cell) -> None:
        cell.data.load(self.data)
        found = list[str]()
        if source := cell.data.source(cell.system.router, self.data):
            source.check()
            found = source.models()
        for name in (*self._names(cell), *model_names(cell.system.name), *found):
            check_folder(name)
            self.models.of(cell, name)
        llm = self.models.of(cell, cell.generator.llm)
        if lacking := {*entry(cell.system.name).calls.split()} - llm.can:
            calls = ", ".join(sorted(lacking))
            raise InputError(f"{cell.system.name} needs {calls} of {cell.generator.llm}")
        self.standing(cell)

    def standing(self, cell: Cell) -> System | None:
        """The cell's system over stand-ins, which cost nothing; see `expected`."""
        known = entry(cell.system.name).knows
        system = built(self._spec(cell), **({"answers": {}} if known else {}))
        return evaluated(system) if system and self.config.crag else system

    def costs(self, cell: Cell) -> list[float | None]:
        """Questions asked, LLM calls, tokens read and written, and their price, to expect.

        By the first ones over stand-ins, without noise; None where that says nothing.
        """
        if cell.data.label not in self._about:
            dataset = questions.chosen(cell.data, None, self.config, self.data)
            first = [one for _, one in islice(dataset.examples(), TRIED)]
            self._about[cell.data.label] = sum(1 for _ in dataset.lines()), first
        every, examples = self._about[cell.data.label]
        asked = self.asked(cell, every)
        system = None if cell.data.index or cell.data.sources else self.standing(cell)
        if (one := expected(system, examples, answers=self.config.answers)) is None:
            return [asked, *[None] * 4]
        read, written = one.tokens_in * asked, one.tokens_out * asked
        price = Prices().generator(np.array(read), np.array(written)) / 1e6
        judges = self.config.judge and self.config.answers
        judged = cell.question_count(every) if judges else 0
        return [asked, one.calls * asked + judged, read, written, float(price)]

    def asked(self, cell: Cell, every: int) -> int:
        """Calls of the system, of so many questions: the first are asked again, to be timed."""
        return cell.question_count(every) + cell.question_count(min(self.config.latency, every))

    def prepare(self) -> dict[str, int]:
        """Write the questions and the header; the number of questions by questions file."""
        try:
            for part in ("questions", "records", "latency", "cache"):
                (self.folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"output {self.folder} cannot be created: {reason}") from error
        for cell in self.cells:
            name = cell.system.name  # of a trained filter, which may have to be fetched, or another
            if name not in SYSTEMS and (why := failure(partial(identity, name))):
                self.unable[cell.file] = why
        del self.cells
        self.check()
        with TemporaryDirectory(dir=self.folder) as fresh:
            try:
                self._about = self._asked(Path(fresh))
            except InputError as error:
                raise InputError(str(error).replace(fresh, f"{self.folder}/questions")) from error
            for path in Path(fresh).iterdir():
                path.replace(self.folder / "questions" / path.name)
        self._write_header()
        return {name: counts["questions"] for name, counts in self._about.items()}

    def _asked(self, folder: Path) -> dict[str, Any]:
        """Write the questions; what an earlier start wrote must be of these and of the systems."""
        about = {}
        for cell in self.cells:
            if (name := cell.questions_file) not in about:
                path = folder / self._questions(cell).name
                about[name] = questions.write(path, cell.data, cell.noise, self.config, self.data)
        for cell, part in product(self.cells, ("records", "latency")):
            output, asked = self.folder / part / f"{cell.file}.jsonl", self._questions(cell).name
            if output.is_file():
                with Batch(folder / asked, output, label=self._label(cell)) as batch:
                    [*batch.run(_DONE[0], limit=cell.system.questions)]
        return about

    def _write_header(self) -> None:
        used = {name: mark for cell in self.cells for name, mark in self.used_models(cell).items()}
        for name in {c.system.name for c in self.cells} - {*SYSTEMS}:
            used[name] = identity(name)
        values = header(self.config, self.cells, self._about, used, self.command)
        values["addresses"] = self.models.addresses
        values["unable"] = [
            {**names(cell), "why": self.unable[cell.file]}
            for cell in cells(self.config)
            if cell.file in self.unable
        ]
        replace_lines(self.folder / "run.json", [json.dumps(values, indent=2).encode() + b"\n"])

    def run(self) -> Iterator[Progress]:
        """Ask every question that has no record; one event a question, earlier ones included.

        A cell whose system or models fail ends by itself, and is then among `unable`.

        Raises:
            ModelError: If all of them end so.
        """
        for cell in self.cells:
            try:
                yield from self._records(cell)
                yield from self._times(cell)
            except _Ended as error:
                self.unable[cell.file] = str(error)
                self._write_header()
        if all(cell.file in self.unable for cell in self.cells):
            raise ModelError(self.unable[self.cells[0].file])

    def _records(self, cell: Cell) -> Iterator[Progress]:
        cache = self.folder / "cache" / f"{cell.file}.sqlite"
        limit, workers = cell.system.questions, self.config.workers
        batch = self._batch(cell, "records")
        with batch, sharing(workers, cache=cache) as wrap:
            try:
                process, failed = self._processes(cell, wrap) if batch.left(limit) else _DONE
            except RagsieveError as error:
                raise _Ended(one_line(error)) from error
            fresh = bad = 0
            for done in batch.run(process, failed=failed, workers=workers, limit=limit):
                fresh += not done.again
                bad += done.error is not None and not isinstance(done.error, PeerError)
                yield Progress(cell, "records", done)
                if fresh == bad == _HOPELESS:
                    why = one_line(done.error or "", 200)
                    raise _Ended(f"the first {bad} questions of {cell.file} failed: stopped: {why}")
            batch.sort()  # also what was killed between its last question and this
        if not bad:
            for path in cache.parent.glob(f"{cache.name}*"):
                path.unlink()

    def _processes(self, cell: Cell, wrap: Share) -> tuple[Process, Failed]:
        """From questions to records, where the system answers and where it fails."""
        system = self._system(cell, wrap)
        metrics, groups = self._metrics(wrap), questions.grouping(cell.data, self.data)
        return (
            lambda example: groups(example) | _record(example, self._ask(system, example), metrics),
            lambda example, error: _failure(example, error, metrics, groups(example)),
        )

    def _times(self, cell: Cell) -> Iterator[Progress]:
        limit = cell.question_count(self.config.latency)
        if not limit:
            return

        @cache
        def warm() -> System:
            system = self._system(cell, _reopened)
            self._call_of(system)("Is the sky blue?", ["The sky is blue. Grass is green."])
            return system  # with all it needs loaded

        def times(example: Example) -> dict[str, Any]:
            system = warm()
            return timed(lambda: self._ask(system, example))

        with self._batch(cell, "latency") as batch:
            for done in batch.run(times, workers=1, limit=limit):
                yield Progress(cell, "latency", done)
            batch.sort()

    def _call_of(self, system: System) -> Callable[..., Result]:
        """The call of a system: for an answer, or only to filter."""
        return system.ask if self.config.answers else system

    def _ask(self, system: System, example: Example) -> Result:
        """The result of a question with its documents, or with those that a source finds."""
        return self._call_of(system)(example.query, None if system.source else example.documents)

    def _system(self, cell: Cell, wrap: Share) -> System:
        """The cell's system, its models wrapped."""

        @cache
        def load(name: str) -> Any:
            return wrap(self.models.of(cell, name))

        llm = load(cell.generator.llm)
        llm.count(["?"])  # a model that is not there shows here
        found = cell.data.source(cell.system.router, self.data)
        with declared(self.config.model_options):
            source = found.open(llm, load, wrap) if found else None
        others = {"answers": self._answers(cell)} if entry(cell.system.name).knows else {}
        built = self._spec(cell).built(Models(wrap, load), source=source, **others)
        return evaluated(built) if self.config.crag else built

    def _spec(self, cell: Cell) -> SystemSpec:
        return SystemSpec(
            system=cell.system.name,
            options=cell.system.options,
            models=cell.system.models,
            llm=cell.generator.llm,
            llm_options=cell.generator.options,
            model_options=self.config.model_options,
            embedder=self.config.embedder,
            pruner=self.config.pruner,
        )

    def _answers(self, cell: Cell) -> dict[str, tuple[str, ...]]:
        """Gold answers by question; of a question that comes twice all that are known."""
        answers: dict[str, tuple[str, ...]] = {}
        for _, line in lines(self._questions(cell)):
            example = parse_record(line)
            text = example.query.text
            answers[text] = answers.get(text, ()) + example.answers
        return answers

    def _metrics(self, wrap: Share) -> list[Metric]:
        """Every metric, and those that need a model where the run says so."""
        judge = AnswerJudge(wrap(self.models(self.config.judge))) if self.config.judge else None
        more = [judged(judge), semantic_accuracy(judge)] if judge else []
        rule = contained if self.config.crag else None
        more += crag_metrics(judge or rule, everywhere=self.config.crag)
        every = {**METRICS, **{metric.name: metric for metric in more}}.values()
        return [metric for metric in every if self.config.answers or metric.group != "answer"]

    def _names(self, cell: Cell) -> list[str]:
        """Models of a cell by name: the generator, those of parts and roles, and the judge."""
        parts, roles = self._spec(cell).named
        names = [cell.generator.llm, *parts.values(), *roles.values(), self.config.judge]
        return [*filter(None, names)]

    def used_models(self, cell: Cell) -> dict[str, str]:
        """The identities of a cell's models, by specification; a generator may be none of them."""
        return self.models.identities(cell, self._names(cell))

    def _label(self, cell: Cell) -> str:
        """Everything that a cell's records depend on beside the questions, in a line."""
        spec, generator = cell.system, cell.generator
        used = self.used_models(cell)
        name = " ".join(identity(n) for n in (spec.name, spec.options.get("prune", "")) if n)
        parts: list[Any] = [name, spec.options, spec.models, generator.llm]
        parts += [telling(generator.options), used, False]  # an option that is gone
        source = cell.data.source(spec.router, self.data)
        parts += source.identity().values() if source else []
        parts += ["crag, by one prompt"] if self.config.crag else []
        parts += [] if self.config.answers else ["no answers"]
        return json.dumps(without_secrets(parts), sort_keys=True)

    def _batch(self, cell: Cell, part: str) -> Batch:
        output = self.folder / part / f"{cell.file}.jsonl"
        retry = self.retry and part == "records"
        return Batch(self._questions(cell), output, label=self._label(cell), retry=retry)

    def _questions(self, cell: Cell) -> Path:
        return self.folder / "questions" / f"{cell.questions_file}.jsonl"


def _reopened(model: Any) -> Any:
    """The same model with nothing in memory of the questions whose records were made."""
    make, arguments = model.__reduce__() if isinstance(model, Reopened) else (lambda: model, ())
    return make(*arguments)


class _Ended(Exception):
    """A cell ended, though the run goes on."""


class _Unmeasured(Exception):
    """A metric failed, not the system: the question stays without a record."""


def _record(example: Example, result: Result, metrics: Sequence[Metric]) -> dict[str, Any]:
    """The record of a question: its result, gold answers and metrics."""
    try:
        values = {
            "answers": list(example.answers),
            "metrics": measure(example, result, metrics),
            "presence": [asdict(p) for p in evidence.presence(result, example.answers)],
        }
    except RagsieveError as error:
        raise _Unmeasured(f"not measured: {error}") from error
    return {**result.to_dict(documents=False), "trace": costed_trace(result), **values}


def _failure(
    example: Example, error: Exception, metrics: Sequence[Metric], more: dict[str, Any]
) -> dict[str, Any] | None:
    """The record of a question that failed; None where a metric did, not the system."""
    if isinstance(error, _Unmeasured):
        return None
    values = {"answers": list(example.answers), "metrics": failed(example, metrics)}
    return {**more, "error": typed_line(error), **values}
