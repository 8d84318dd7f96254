"""What a benchmark runs: a TOML file, read and checked before anything is loaded."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from ragsieve import models
from ragsieve.errors import InputError, MissingExtra
from ragsieve.evaluate.noise import Kind, Noise, Position
from ragsieve.retrieve.corpus import By
from ragsieve.systems.registry import ROLES
from ragsieve.trained import building

try:
    import msgspec
    from msgspec import Meta, Struct
except ModuleNotFoundError as error:
    raise MissingExtra("msgspec", extra="bench") from error

Count = Annotated[int, Meta(ge=1)]


class Data(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data set of the run.

    Args:
        name: A name of `ragsieve.datasets.DATASETS`, or the path of one's own JSONL.
        only: ``"answerable"``: questions of which a document holds a gold answer;
            ``"unanswerable"``: those with gold answers of which none does.
        poisoned: Whether the false documents that the data gives for a question (its metadata
            ``poisoned_documents`` or ``counterfactual_documents``) stand among its documents, at
            places drawn by the run's seed. A question without any stays as it is.
        part: ``"train"``, ``"validation"`` or ``"test"`` of its questions; see
            `ragsieve.datasets.parts.part_of`.
        questions: How many; the run's number where None.
        index: Folder of an index (`ragsieve index build`): systems search it, and the questions'
            own documents are only what it is measured by.
        retrieve: Chunks that the index returns for a question.
        by: How it is searched; hybrid, or by BM25 where it has no embedder, where None.
        sources: TOML file of sources (`ragsieve.systems.sources`): they are asked as each system's
            router says, and the questions' own documents are only what it is measured by.
    """

    name: str
    part: Literal["all", "train", "validation", "test"] = "all"
    only: Literal["all", "answerable", "unanswerable"] = "all"
    poisoned: bool = False
    questions: Count | None = None
    index: str = ""
    retrieve: Count = 20
    by: By | None = None
    sources: str = ""

    @property
    def label(self) -> str:
        """What tables call it."""
        stem = Path(self.name).name.removesuffix(".gz").removesuffix(".jsonl")
        choices: list[str] = [choice for choice in (self.part, self.only) if choice != "all"]
        choices += ["poisoned"] if self.poisoned else []
        if self.index:
            choices += [
                *([self.by] if self.by else []),
                f"{self.retrieve} of {Path(self.index).name}",
            ]
        choices += [f"from {Path(self.sources).stem}"] if self.sources else []
        return f"{stem} ({', '.join(choices)})" if choices else stem


class SystemSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A system of the run.

    Args:
        name: One of `ragsieve.systems.SYSTEMS`, or a trained filter: its folder or hub id.
        label: What tables call it; its name where empty.
        options: Its options other than their defaults.
        models: Models of its own, as ``extractor = "transformers:ID"`` for a part that
            `trained.building.MODELS` names, or as ``embedder = "minilm"`` in the run's place.
        router: Chooses among a data set's sources: ``"all"``, ``"only:NAME,NAME"``, ``"llm"``, or a
            trained router's folder.
        questions: Asks only the first so many of each data set, where it is slow; it is compared
            with others on these.
    """

    name: str
    label: str = ""
    options: dict[str, Any] = {}
    models: dict[str, str] = {}
    router: str = "all"
    questions: Count | None = None


class Generator(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A generator of the run.

    Args:
        llm: As `ragsieve.models.load` takes it.
        label: What tables call it; ``llm`` where empty.
        options: Options of its backend.
    """

    llm: str = "smollm2"
    label: str = ""
    options: dict[str, Any] = {}


class NoiseGrid(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Noise to inject: every kind with every share and position; see `ragsieve.evaluate.noise`.

    Args:
        kinds: What noise documents are.
        shares: Their shares of all documents, from 0 to 1.
        positions: Where the documents with the answer stand among them.
        documents: Noise documents at most.
    """

    kinds: list[Kind]
    shares: list[Annotated[float, Meta(ge=0, le=1)]]
    positions: tuple[Position, ...] = ("first",)
    documents: Count = 10


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Systems × data sets × generators, and how they are measured.

    Args:
        systems: What is compared.
        data: On which questions.
        generators: With which generators.
        name: Of the run; the file's name where empty.
        about: What it shows, in a line.
        embedder: What systems rank with, as `ragsieve.models.load` takes it.
        pruner: What systems prune sentences with.
        judge: An LLM that says whether answers mean the same; none where empty.
        likelihood: Whether the gold answer's log-likelihood is measured, too.
        ib_beta: Where it is given, `ragsieve.evaluate.metrics.ib_score` is measured with it.
        crag: Whether CRAG's accuracy, hallucination, missing and score are measured of every data
            set, not only of CRAG's own; without a judge, an answer that holds a gold one is right.
        baseline: Label of the system that the others are compared with.
        max_tokens: Budget of every system's context, in the generator's tokens, where its own
            options give none.
        questions: The first so many of each data set; all where absent.
        sample: Draws them by ``seed`` instead of taking the first.
        shuffle: Puts each question's documents in an order drawn by ``seed``.
        noise: Noise to inject into every data set.
        seed: Draws whatever is drawn.
        workers: Questions at once.
        latency: So many questions are asked again, one at a time and without a cache, for times.
    """

    systems: Annotated[list[SystemSpec], Meta(min_length=1)]
    data: Annotated[list[Data], Meta(min_length=1)]
    generators: Annotated[tuple[Generator, ...], Meta(min_length=1)] = (Generator(),)
    name: str = ""
    about: str = ""
    embedder: str = "minilm"
    pruner: str = "pruner"
    judge: str = ""
    likelihood: bool = False
    ib_beta: Annotated[float, Meta(ge=0)] | None = None
    crag: bool = False
    baseline: str = ""
    max_tokens: Count | None = None
    questions: Count | None = None
    sample: bool = False
    shuffle: bool = False
    noise: NoiseGrid | None = None
    seed: int = 0
    workers: Count = 8
    latency: Annotated[int, Meta(ge=0)] = 20


class Cell(NamedTuple):
    """One system on one data set with one generator; ``noise`` where some is injected."""

    data: Data
    noise: Noise | None
    system: SystemSpec
    generator: Generator

    @property
    def questions_file(self) -> str:
        """Name of the file of its questions."""
        return _slug(self.data.label, str(self.noise or ""))

    def asked(self, questions: int) -> int:
        """How many of so many questions it is asked."""
        return min(questions, self.system.questions or questions)

    @property
    def file(self) -> str:
        """Name of its files of records and times."""
        return _slug(self.questions_file, label(self.system), label(self.generator))


def label(spec: SystemSpec | Generator) -> str:
    """What tables call it."""
    if isinstance(spec, Generator):
        return spec.label or spec.llm
    return spec.label or Path(spec.name).name


def cells(config: Config) -> Iterator[Cell]:
    """Every cell of the run, the data sets slowest."""
    grid = config.noise
    noises: list[Noise | None] = [None]
    if grid:
        noises = [
            Noise(kind, share, position, documents=grid.documents, seed=config.seed)
            for kind in grid.kinds
            for position in grid.positions
            for share in grid.shares
        ]
    for data in config.data:
        for noise in noises:
            for generator in config.generators:
                for system in config.systems:
                    yield Cell(data, noise, system, generator)


def read(path: Path, *, small: bool = False) -> Config:
    """The configuration in a TOML file.

    Args:
        path: The file; a relative path of a data set in it starts where the program runs.
        small: Whether the file's table ``[small]`` stands in for what it names.

    Raises:
        InputError: If the file cannot be read, or breaks a rule; names the place in it.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        less = values.pop("small", None)
        if small and less is None:
            raise InputError(f"{path} has no table [small]")
        config = _budgeted(msgspec.convert(values | (less if small and less else {}), Config))
        _check(config)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, InputError) as error:  # TOML, UTF-8, or a rule of the structure
        raise InputError(f"{path}: {error}".replace(f"{path}: {path}", str(path))) from error
    name = config.name or path.stem + ("-small" if small else "")
    return msgspec.structs.replace(config, name=name)


def _budgeted(config: Config) -> Config:
    """The same with the run's budget among the options of each system that takes one."""
    if config.max_tokens is None:
        return config
    budget = {"max_tokens": config.max_tokens}
    chosen = [
        msgspec.structs.replace(spec, options=budget | spec.options)
        if "max_tokens" in building.entry(spec.name).options
        else spec
        for spec in config.systems
    ]
    return msgspec.structs.replace(config, systems=chosen)


def _check(config: Config) -> None:
    """Everything that can be known before a model or a data set is loaded."""
    for kind, names in (
        ("systems", [label(s) for s in config.systems]),
        ("generators", [label(g) for g in config.generators]),
        ("data", [d.label for d in config.data]),
    ):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"labels of {kind} must differ, got {twice[0]!r} twice")
    if config.noise and any(data.poisoned for data in config.data):
        raise InputError("poisoned must be false where the run has noise, which replaces documents")
    for data in config.data:
        asked = {"index": data.index, "sources": data.sources}
        for option, value in asked.items():
            if value and (config.noise or data.poisoned):
                raise InputError(f"{option} must be empty where documents are noise, got {value!r}")
        if all(asked.values()):
            raise InputError(f"index and sources exclude each other, got {asked!r}")
    if config.baseline and config.baseline not in map(label, config.systems):
        known = ", ".join(map(label, config.systems))
        raise InputError(f"baseline must be the label of a system ({known}): {config.baseline!r}")
    for system in config.systems:
        if system.router != "all" and not any(data.sources for data in config.data):
            raise InputError(f"router of {label(system)} needs data with sources")
        building.check(system.name, system.options, system.models)
    for generator in config.generators:
        models.check(generator.llm, "LLM")
    for role, kind in ROLES.items():
        models.check(getattr(config, role), kind)
    if config.judge:
        models.check(config.judge, "LLM")


def _slug(*parts: str) -> str:
    return "--".join(re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in parts if part)
