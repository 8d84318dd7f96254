"""The TOML file of a benchmark: a declared schema, checked before anything is loaded."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from ragsieve import files, models, schema
from ragsieve.errors import InputError, check_choice, naming
from ragsieve.schema import Amount, Count, FileName, Probability, Schema
from ragsieve.spec import check, entry
from ragsieve.systems.base import ROLES, SYSTEMS
from ragsieve_research import datasets
from ragsieve_research.artifacts.places import Index, Sources
from ragsieve_research.evaluate.declared import shared
from ragsieve_research.evaluate.metrics import METRICS
from ragsieve_research.evaluate.noise import Kind, Noise, Position
from ragsieve_research.retrieve.corpus import By

_LONGEST = 200  # bytes of a file's name, before what stands behind it


class Data(Schema, frozen=True, kw_only=True):
    """A data set of the run, and where systems find evidence for its questions.

    Args:
        index: Folder of an index (`ragsieve index build`): systems search it, and the questions'
            own documents are only what it is measured by.
        retrieve: Chunks that the index returns for a question.
        by: How it is searched; hybrid, or by BM25 where it has no embedder, where None.
        sources: TOML file of sources (`ragsieve_research.retrieve.sources`): each is searched as a
            router says, and the questions' own documents are only what it is measured by.
        name: A name of `ragsieve_research.datasets.DATASETS`, or the path of one's own JSONL.
        only: ``"answerable"``: questions of which a document holds a gold answer;
            ``"unanswerable"``: those of which none does. A question without a gold answer other
            than yes or no is neither.
        poisoned: Whether the false documents that the data gives for a question (its metadata
            ``poisoned_documents`` or ``counterfactual_documents``) stand among its documents, at
            places drawn by the run's seed. A question without any stays as it is.
        part: ``"train"``, ``"validation"`` or ``"test"`` of its questions; see
            `ragsieve_research.datasets.parts.part_of`.
        rank: Whether the documents stand as they are ``"given"``, or ranked by ``"bm25"``; where
            None, by BM25 where their places are no ranks (`ragsieve_research.datasets.Entry`) and
            no noise is placed among them.
        documents: So many of the first documents are there, for every system; all where None.
        groups: Metadata of its questions by whose values the report has rows of their own; what
            its entry of `DATASETS` says where None. A question with a list is in each value's row.
        questions: How many; the run's number where None.
        layout, fields: Of one's own file or folder; see `ragsieve_research.datasets.load`.
    """

    index: str = ""
    retrieve: Count = 20
    by: By | None = None
    sources: str = ""
    name: str
    part: Literal["all", "train", "validation", "test"] = "all"
    only: Literal["all", "answerable", "unanswerable"] = "all"
    poisoned: bool = False
    rank: Literal["given", "bm25"] | None = None
    documents: Count | None = None
    groups: tuple[str, ...] | None = None
    questions: Count | None = None
    layout: str = ""
    fields: tuple[str, ...] = ()

    def load(self, folder: Path | None = None) -> datasets.Dataset:
        return datasets.load(self.name, folder=folder, layout=self.layout, fields=self.fields)

    @property
    def label(self) -> str:
        """Its name in tables."""
        choices = [
            self.part if self.part != "all" else "",
            self.only if self.only != "all" else "",
            "poisoned" * self.poisoned,
            f"rank {self.rank}" * bool(self.rank),
            f"first {self.documents}" * bool(self.documents),
            (self.by or "") if self.index else "",
            f"{self.retrieve} of {Path(self.index).name}" if self.index else "",
            f"from {Path(self.sources).stem}" * bool(self.sources),
        ]
        stem = Path(self.name).name.removesuffix(".gz").removesuffix(".jsonl")
        return f"{stem} ({names})" if (names := ", ".join(filter(None, choices))) else stem

    def source(self, router: str, folder: Path | None = None) -> Index | Sources | None:
        """Where systems find evidence; None where it is the questions' own documents.

        Args:
            router: Chooses among sources, see `ragsieve_research.artifacts.router.named_router`.
            folder: Where data sets lie that sources name; see `ragsieve_research.datasets.load`.
        """
        if self.index:
            return Index(place=self.index, k=self.retrieve, by=self.by)
        if not self.sources:
            return None
        return Sources(place=self.sources, router=router, data=str(folder) if folder else None)


class BenchSystem(Schema, frozen=True, kw_only=True):
    """A system of the run.

    Args:
        name: One of `ragsieve.systems.SYSTEMS`, or a trained filter: its folder or hub id.
        label: Its name in tables; its name where empty.
        options: Its options other than their defaults.
        models: Models of its own, as ``extractor = "transformers:ID"`` for a part that
            `ragsieve.systems.base.PARTS` names, or as ``embedder = "minilm"`` in the run's place.
        router: Chooses among a data set's sources: ``"all"``, ``"only:NAME,NAME"``, ``"llm"``, or a
            trained router's folder.
        questions: Asks only the first so many of each data set, where it is slow; it is compared
            with others on these.
    """

    name: str
    label: str = ""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    models: dict[str, str] = msgspec.field(default_factory=dict)
    router: str = "all"
    questions: Count | None = None


class Generator(Schema, frozen=True, kw_only=True):
    """A generator of the run.

    Args:
        llm: As `ragsieve.models.load` takes it.
        label: Its name in tables; ``llm`` where empty.
        options: Options of its backend.
    """

    llm: str = "smollm2"
    label: str = ""
    options: dict[str, Any] = msgspec.field(default_factory=dict)


class NoiseGrid(Schema, frozen=True, kw_only=True):
    """Noise to inject: every kind with every share and position; see
    `ragsieve_research.evaluate.noise`.

    Args:
        kinds: Kinds of noise documents.
        shares: Their shares of all documents, from 0 to 1.
        positions: Where the documents with the answer stand among them.
        documents: Noise documents at most.
    """

    kinds: Annotated[list[Kind], Meta(min_length=1)]
    shares: Annotated[list[Probability], Meta(min_length=1)]
    positions: Annotated[tuple[Position, ...], Meta(min_length=1)] = ("first",)
    documents: Count = 10


class Config(Schema, frozen=True, kw_only=True):
    """Systems × data sets × generators, and how they are measured.

    Args:
        systems: The systems to compare.
        data: Their questions.
        generators: Their generators.
        name: Of the run; the file's name where empty.
        about: A line of description.
        embedder: Ranks for systems; a name as `ragsieve.models.load` takes it.
        pruner: Prunes sentences for systems.
        judge: An LLM that says whether answers mean the same; none where empty.
        model_options: Options of models by their names, as ``[model_options."openai:NAME"]`` with
            ``base_url``: of the judge, of parts of systems, of the run's embedder. A model with the
            name of a generator is that generator.
        crag: Whether CRAG's accuracy, hallucination, missing and score are measured of every data
            set, by its evaluation's prompt; without a judge, one that holds a gold answer is right.
        answers: Whether generators answer; false measures filters alone: what they keep, in the
            generator's tokens, and their seconds. Where then none is named, and no system needs
            one to filter, tokens are those of the bundled sentence pruner.
        baseline: Label of the system that the others are compared with.
        metrics: Columns of the report's first table, by their names in `METRICS`, and with a judge
            ``"semantic_accuracy"`` or ``"judge"``; the usual ones where empty.
        max_tokens: Budget of every system's context, in the generator's tokens, where its own
            options give none.
        questions: The first so many of each data set; all where absent.
        sample: Draws them by ``seed`` instead of taking the first.
        noise: Noise to inject into every data set.
        seed: Seed of every random choice.
        workers: Questions at once.
        latency: Questions that are timed: asked again, one at a time and without a cache.
    """

    systems: Annotated[list[BenchSystem], Meta(min_length=1)]
    data: Annotated[list[Data], Meta(min_length=1)]
    generators: Annotated[tuple[Generator, ...], Meta(min_length=1)] = (Generator(),)
    name: FileName = ""
    about: str = ""
    embedder: str = "minilm"
    pruner: str = "pruner"
    judge: str = ""
    model_options: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    crag: bool = False
    answers: bool = True
    baseline: str = ""
    metrics: tuple[str, ...] = ()
    max_tokens: Count | None = None
    questions: Count | None = None
    sample: bool = False
    noise: NoiseGrid | None = None
    seed: int = 0
    workers: Count = 8
    latency: Amount = 20


def is_folder(name: str) -> bool:
    """Whether a model is in a folder of the place where the run starts."""
    return name.rpartition(":")[2].startswith("./")


def check_folder(model: str) -> None:
    """Raise `InputError` where the folder of a model named ``./…`` is not there."""
    if is_folder(model) and not Path(model.rpartition(":")[2]).is_dir():
        raise InputError(f"{model} must be a folder, there is none")


class Cell(NamedTuple):
    """One system on one data set with one generator; ``noise`` where some is injected."""

    data: Data
    noise: Noise | None
    system: BenchSystem
    generator: Generator

    @property
    def questions_file(self) -> str:
        """Name of the file of its questions."""
        return _slug(self.data.label, str(self.noise or ""))

    def question_count(self, questions: int) -> int:
        """Its questions out of so many of the data set."""
        return min(questions, self.system.questions or questions)

    @property
    def file(self) -> str:
        """Name of its files of records and times."""
        return _slug(self.questions_file, label(self.system), label(self.generator))


def label(spec: BenchSystem | Generator) -> str:
    """Its name in tables."""
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
            for kind, position, share in product(grid.kinds, grid.positions, grid.shares)
        ]
    every = product(config.data, noises, config.generators, config.systems)
    return (Cell(data, noise, system, generator) for data, noise, generator, system in every)


def read(path: Path, *, small: bool = False) -> Config:
    """The configuration in a TOML file.

    Args:
        path: The file; a relative path of a data set in it starts where the program runs.
        small: Whether the file's table ``[small]`` stands in for what it names.

    Raises:
        InputError: If the file cannot be read, or breaks a rule; names the place in it.
    """
    values = files.read_toml(dict[str, Any], path)
    variant = values.pop("small", None)
    with naming(path):
        if small and variant is None:
            raise InputError("there is no table [small]")
        values |= variant if small else {}
        config = _budgeted(schema.read(Config, values))
        asked = config.answers or any(entry(spec.name).needs_llm for spec in config.systems)
        if "generators" not in values and not asked:  # one that only counts tokens
            config = msgspec.structs.replace(config, generators=(Generator(llm=models.UNASKED),))
        generators, table = shared(config.generators, config.model_options)
        own = {"generators": generators, "model_options": table}
        config = msgspec.structs.replace(config, **own)
        _check(config)
    name = config.name or path.stem + ("-small" if small else "")
    return msgspec.structs.replace(config, name=name)


def _budgeted(config: Config) -> Config:
    """The same with the run's budget among the options of each system, unless it has its own."""
    if config.max_tokens is None:
        return config
    budget = {"max_tokens": config.max_tokens}
    specs = [
        msgspec.structs.replace(spec, options=budget | spec.options) for spec in config.systems
    ]
    return msgspec.structs.replace(config, systems=specs)


def _check(config: Config) -> None:
    """Everything that can be known before a model or a data set is loaded."""
    labels = [label(system) for system in config.systems]
    _check_distinct("systems", labels)
    _check_distinct("generators", [label(generator) for generator in config.generators])
    _check_distinct("data", names := [data.label for data in config.data])
    if "overall" in names:  # as `OVERALL` of reports, whose import takes a second
        raise InputError("a data set must not be named overall, as reports name the mean over all")
    if config.baseline and config.baseline not in labels:
        known = ", ".join(labels)
        raise InputError(f"baseline must be the label of a system ({known}): {config.baseline!r}")
    for name in config.metrics:
        check_choice(Literal[(*METRICS, "judge", "semantic_accuracy")], metrics=name)
    if twice := same(config.systems):
        raise InputError("systems {!r} and {!r} must differ, are the same".format(*twice[0]))
    for data in config.data:
        _check_documents(data, config.noise)
    for system in config.systems:
        if system.router != "all" and not any(data.sources for data in config.data):
            raise InputError(f"router of {label(system)} needs data with sources")
        check(system.name, system.options, system.models)
    for generator in config.generators:
        models.check(generator.llm, "LLM")
    for role, kind in ROLES.items():
        models.check(getattr(config, role), kind)
    if config.judge:
        models.check(config.judge, "LLM")
    for name in config.model_options:
        models.kind_of(name)
    longest = max((cell.file for cell in cells(config)), key=lambda name: len(name.encode()))
    if len(longest.encode()) > _LONGEST:
        raise InputError(f"labels must be at most {_LONGEST} bytes together, got {longest!r}")


def _check_distinct(kind: str, labels: list[str]) -> None:
    for one, other in combinations(sorted(labels), 2):
        if one == other:
            raise InputError(f"labels of {kind} must differ, got {one!r} twice")
        if _slug(one) == _slug(other):
            rule = f"labels of {kind} must give different names of files"
            raise InputError(f"{rule}, {one!r} and {other!r} are both {_slug(one)!r}")


def same(
    systems: list[BenchSystem], usual: Mapping[str, str | None] = MappingProxyType({})
) -> list[tuple[str, str]]:
    """Labels of systems that are the same as an earlier one, behind that one's.

    A model of a system's own counts as none where it is the one that ``usual`` has for its role, or
    its ``"llm"``, the generator.
    """
    seen: dict[str, str] = {}
    found = []
    for one in systems:
        known = SYSTEMS.get(one.name)  # a trained filter's folder has defaults of its own
        what = known.function.__qualname__ if known else one.name
        options = (known.options if known else {}) | one.options
        own = {
            part: model
            for part, model in one.models.items()
            if not known or model not in (usual.get("llm"), usual.get(part))
        }
        mark = repr((what, sorted(options.items()), sorted(own.items()), one.router))
        if seen.setdefault(mark, label(one)) != label(one):
            found.append((seen[mark], label(one)))
    return found


def _check_documents(data: Data, noise: NoiseGrid | None) -> None:
    """Documents come from one place: the questions, with noise or poison, an index, or sources."""
    if noise and (data.rank or data.documents):
        raise InputError("rank and documents must be left out where the run has noise")
    if noise and data.poisoned:
        raise InputError("poisoned must be false where the run has noise, which replaces documents")
    for option, value in (searched := {"index": data.index, "sources": data.sources}).items():
        if value and (noise or data.poisoned):
            raise InputError(f"{option} must be empty where documents are noise, got {value!r}")
    if data.index and data.sources:
        raise InputError(f"index and sources exclude each other, got {searched!r}")


def _slug(*parts: str) -> str:
    return "--".join(re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in parts if part)
