"""The schema of ``filter.json``, read strictly, as it may come from anyone."""

import re
from collections.abc import Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_type_hints

import msgspec
from msgspec import Meta

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.schema import Amount, FileName, Probability, Schema, fits, read, read_format
from ragsieve.select.cut import Cut, Odds
from ragsieve.systems.base import divided
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve_research.systems.finefilter import finefilter

FORMAT = 1
MAX_BYTES = 1 << 20  # of a JSON file
ONE_PASS: Literal["finefilter-one-pass"] = "finefilter-one-pass"
SYSTEMS: dict[str, Any] = {"finefilter": finefilter, ONE_PASS: finefilter_one_pass}
ROLES: dict[str, dict[str, tuple[str, ...]]] = {  # role: kind of part: what it says beside
    "extractor": {"pruner": ("model", "identity"), "llm": ("model", "adapter", "mode")},
    "reranker": {"embedder": ("model", "adapter"), "pair": ("model",)},
    "truncator": {"llm": ("model", "adapter")},
}
_KINDS = {
    "pruner": "sentence pruner",
    "llm": "LLM",
    "embedder": "embedder",
    "pair": "cross-encoder",
}
_LOCAL = ("transformers", "seq2seq", "sentence_transformers", "cross_encoder", "pruner")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")

Sha256 = Annotated[
    str, Meta(pattern=r"^([0-9a-f]{64})?\Z", extra={"rule": "64 hex digits or nothing"})
]


class Base(Schema, frozen=True):
    """A model that a filter was trained with.

    Args:
        model: A name of `ragsieve.models.load`: a named model, a hub id, or an absolute path.
        sha256: Of its weights (`sha256_of`); empty where they are not checked.

    Raises:
        InputError: If the model cannot be named so.
    """

    model: str
    sha256: Sha256 = ""

    def __post_init__(self) -> None:
        place(self.model)


class TrainedPart(Schema, frozen=True):
    """A trained part of a filter.

    Args:
        kind: One of its role's kinds in `ROLES`.
        model: The model, as in `Base`.
        adapter: The part folder with the adapter, or of an embedder with a whole model in its
            place; the model as it is, where None.
        mode: How an extracting LLM names clues, ``"write"`` or ``"point"``.
        identity: Of the sentence pruner whose scores a cut was fitted to.
        sha256: Of the weights of ``model``; empty where they are not checked.

    Raises:
        InputError: If the model cannot be named so, or is not of this kind.
    """

    kind: Literal["pruner", "llm", "embedder", "pair"]
    model: str
    adapter: FileName | None = None
    mode: Literal["write", "point"] | None = None
    identity: str | None = None
    sha256: Sha256 = ""

    def __post_init__(self) -> None:
        place(self.model)
        models.check(self.model, _KINDS[self.kind])


class TrainingData(Schema, frozen=True):
    """A data set that a filter was trained on.

    Args:
        name: Its name.
        licence: Its licence.
        questions: How many of its questions were used.
        sha256: Of the file they were read from; empty where unknown.
    """

    name: str
    licence: str
    questions: Amount
    sha256: Sha256 = ""


class Split(Schema, frozen=True):
    """Division of questions: the salt of the hash, and the rule in words."""

    salt: str
    rule: str


class Saved(Schema, frozen=True, kw_only=True):
    """Contents of a trained folder's JSON file, with the number of its format.

    Beside them stands what `ragsieve.files.sealed` adds.
    """

    data: tuple[TrainingData, ...] = ()
    split: Split | None = None
    training: Mapping[str, Any] = {}
    figures: Mapping[str, Any] = {}
    versions: Mapping[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"format": FORMAT, **msgspec.to_builtins(self)}

    @classmethod
    def parse(cls, values: object) -> Self:
        """From JSON values.

        Raises:
            InputError: If a field is missing, not known, of the wrong type, or breaks its rule.
        """
        if isinstance(values, dict):
            values = {name: value for name, value in values.items() if name != "files"}
        return read_format(cls, values, FORMAT)


class _Cut(Schema, frozen=True):
    """A filter's ``cut``: odds, price and the score that they read."""

    weights: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]
    price: Probability = Cut.price
    reads: str = ""


class Trained(Saved, frozen=True, kw_only=True):
    """A trained filter, as ``filter.json`` says.

    Args:
        generator: The LLM that it learnt from, and that answers unless another is given.
        embedder: What ranks clues where no trained reranker does.
        extractor: Names the clues; the generator, where None.
        reranker: Ranks them; as the option says, where None.
        truncator: Chooses how many stay; as the option says, where None.
        cut: What chooses how many stay by their scores: `ragsieve.select.cut.Odds`,
            ``price`` and ``reads``.
        options: Options of the system.
        data: What it was trained on.
        split: How questions were divided; None where they were not.
        training: How it was trained.
        figures: How good it is: a number by its name, or by data set and name.
        versions: Of the libraries it was made with.
        licence: Of the folder, as the hub names it (``"apache-2.0"``).
        system: Which method it is: ``"finefilter"``, as the paper has it, or
            ``"finefilter-one-pass"``, whose extractor is a sentence pruner.

    Raises:
        InputError: If a field breaks its rule.
    """

    generator: Base
    embedder: Base
    extractor: TrainedPart | None = None
    reranker: TrainedPart | None = None
    truncator: TrainedPart | None = None
    cut: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = {}
    licence: str = "other"
    system: Literal["finefilter", "finefilter-one-pass"] = "finefilter"

    def __post_init__(self) -> None:
        models.check(self.generator.model, "LLM")
        models.check(self.embedder.model, "embedder")
        for role, part in self.parts.items():
            kinds = ROLES[role]
            if part.kind not in kinds:
                raise InputError(f"{role}.kind must be one of {', '.join(kinds)}, got {part.kind}")
            for name in ("adapter", "mode", "identity"):
                if getattr(part, name) is not None and name not in kinds[part.kind]:
                    raise InputError(f"{role}.{name} is not known of kind {part.kind}")
        prunes = self.extractor is not None and self.extractor.kind == "pruner"
        if prunes != (self.system == ONE_PASS):
            raise InputError(
                f"extractor must be a pruner where system is {ONE_PASS}, and only there"
            )
        if self.cut is not None:
            if self.truncator:
                raise InputError("cut must be none where there is a trained truncator")
            cutting(self.cut)
        self._check_options()

    @property
    def parts(self) -> dict[str, TrainedPart]:
        """Its trained parts by role."""
        return {role: part for role in ROLES if (part := getattr(self, role)) is not None}

    @property
    def folders(self) -> dict[str, TrainedPart]:
        """Its parts that have a folder, by the folder's name."""
        return {part.adapter: part for part in self.parts.values() if part.adapter is not None}

    @property
    def bases(self) -> list[str]:
        """Models that it names, each once."""
        named = [part.model for part in self.parts.values()]
        return list(dict.fromkeys([self.generator.model, self.embedder.model, *named]))

    @property
    def embeds(self) -> bool:
        """Whether its embedder ranks clues, which no trained reranker does."""
        own = self.reranker or self.system == ONE_PASS
        return not own and self.options.get("reranker", "cosine") == "cosine"

    def sha256(self, model: str) -> str:
        """Identity of the weights of ``model``; empty where unknown."""
        known = {part.model: part.sha256 for part in self.parts.values()}
        known |= {base.model: base.sha256 for base in (self.embedder, self.generator)}
        return known.get(model, "")

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        values = super().to_dict()
        for role in self.parts:
            values[role] = {k: v for k, v in values[role].items() if v not in (None, "")}
        return values

    def _check_options(self) -> None:
        make = SYSTEMS[self.system]
        names = {p.name for p in signature(make).parameters.values() if p.kind is _KEYWORD}
        names -= {*self.parts}
        names -= {"truncator"} if self.cut else set()
        names -= {"mode"} if self.extractor else set()
        for name, value in divided(self.options)[0].items():
            if name not in names:
                known = ", ".join(sorted(names))
                raise InputError(f"options must be of {known}, got {name!r:.80}")
            check_option(self.system, name, value)


Form = Literal["light", "llm"]


class Known(Schema, frozen=True):
    """A source that a router was trained on: its name, and its description then."""

    name: str
    description: str


class TrainedRouter(Saved, frozen=True, kw_only=True):
    """A trained router, as ``router.json`` says.

    Args:
        form: ``"light"``: regressions on the question's embedding; ``"llm"``: a LoRA adapter.
        sources: What it chooses among, in the order of its weights.
        base: The embedder, or the LLM below the adapter.
        identity: What its embedder said it was; empty of an LLM.
        generator: The LLM by whose answers it was taught.
        min_probability: From which a source is chosen, in [0, 1].
        data: What it was trained on.
        split: How questions were divided; None where they were not.
        training: How it was trained.
        figures: How good it is, on questions it has not learnt from.
        versions: Of the libraries it was made with.

    Raises:
        InputError: If a field breaks its rule.
    """

    form: Form
    sources: tuple[Known, ...]
    base: Base
    generator: Base
    identity: str = ""
    min_probability: Probability = 0.5

    def __post_init__(self) -> None:
        models.check(self.base.model, "embedder" if self.form == "light" else "LLM")
        models.check(self.generator.model, "LLM")
        names = [source.name for source in self.sources]
        if not names or len({*names}) < len(names):
            raise InputError(f"sources must have names of their own, got {names!r:.200}")


def check_option(system: str, name: str, value: object) -> None:
    """Raise `InputError` where a value of JSON is none that the option of a system takes."""
    hints = get_type_hints(SYSTEMS[system])
    if name not in hints or not fits(value, hints[name]):
        raise InputError(f"options.{name} has a wrong type or value: {value!r:.80}")


_KEYWORD = Parameter.KEYWORD_ONLY


def cutting(values: Mapping[str, Any], min_keep: int = 0) -> Cut:
    """The stage that a filter's ``cut`` says.

    Raises:
        InputError: If it breaks a rule.
    """
    cut = read(_Cut, values, "cut")
    return Cut(Odds(cut.weights, cut.bias), price=cut.price, min_keep=min_keep, reads=cut.reads)


def place(model: str) -> str:
    """Name of ``model`` for its backend: without the prefix.

    Raises:
        InputError: If it is neither a name, a hub id nor an absolute path, where it is local.
    """
    prefix, _, rest = model.partition(":")
    if not rest or prefix not in _LOCAL:
        return model
    plain = Path(rest).is_absolute() and ".." not in Path(rest).parts
    if not plain and (".." in rest or not _HUB_ID.fullmatch(rest)):
        raise InputError(f"model must be a name, a hub id or an absolute path, got {model!r:.80}")
    return rest


def read_json(path: Path) -> object:
    """Read a JSON file of moderate size, without NaN and infinity.

    Raises:
        InputError: If it is not there, is larger than `MAX_BYTES` or no such JSON.
    """
    if not path.is_file():
        raise InputError(f"{str(path)!r} must be a file, there is none")
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"{path.name} must have at most {MAX_BYTES} bytes, it has more")
        return msgspec.json.decode(data)
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path.name} must be JSON of UTF-8, of finite numbers: {str(error)[:200]}"
        ) from error
