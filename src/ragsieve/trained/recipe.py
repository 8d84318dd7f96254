"""What ``filter.json`` says: read strictly, as it may come from anyone."""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.select import Cut
from ragsieve.select.cut import Odds
from ragsieve.systems.finefilter import finefilter, finefilter_one_pass

FORMAT = 1
MAX_BYTES = 1 << 20  # of a JSON file
LARGE = 1e300  # an integer of JSON can be larger than any float
ONE_PASS = "finefilter-one-pass"
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
_FOLDER = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_SHA256 = re.compile(r"([0-9a-f]{64})?")

T = TypeVar("T")


@dataclass(frozen=True)
class Base:
    """A model that a filter was trained with.

    Args:
        model: A name of `ragsieve.models.load`: a named model, a hub id, or an absolute path.
        sha256: Of its weights (`sha256_of`); empty where they are not checked.

    Raises:
        InputError: If a field breaks its rule.
    """

    model: str
    sha256: str = ""

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise InputError(f"sha256 must be 64 hex digits or nothing, got {_short(self.sha256)}")
        place(self.model)


@dataclass(frozen=True)
class Part:
    """A trained part of a filter.

    Args:
        kind: One of its role's kinds in `ROLES`.
        model: The model, as in `Base`.
        adapter: The part folder with the adapter; the model as it is, where None.
        mode: How an extracting LLM names clues, ``"write"`` or ``"point"``.
        identity: Of the sentence pruner whose scores a cut was fitted to.

    Raises:
        InputError: If a field breaks its rule.
    """

    kind: str
    model: str
    adapter: str | None = None
    mode: Literal["write", "point"] | None = None
    identity: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise InputError(f"kind must be one of {', '.join(_KINDS)}, got {_short(self.kind)}")
        if self.adapter is not None and not _FOLDER.fullmatch(self.adapter):
            raise InputError(
                "a part folder must be small letters, digits, - and _, without a path, "
                f"got {_short(self.adapter)}"
            )
        place(self.model)
        models.check(self.model, _KINDS[self.kind])


@dataclass(frozen=True)
class Data:
    """A data set that a filter was trained on.

    Args:
        name: Its name.
        licence: Its licence.
        questions: How many of its questions were used; not negative.
        sha256: Of the file they were read from; empty where unknown.

    Raises:
        InputError: If a field breaks its rule.
    """

    name: str
    licence: str
    questions: int
    sha256: str = ""

    def __post_init__(self) -> None:
        if self.questions < 0:
            raise InputError(f"questions must not be negative, got {self.questions!r}")
        if not _SHA256.fullmatch(self.sha256):
            raise InputError(f"sha256 must be 64 hex digits or nothing, got {_short(self.sha256)}")


@dataclass(frozen=True)
class Split:
    """How questions were divided: the salt of the hash, and the rule in words."""

    salt: str
    rule: str


@dataclass(frozen=True, kw_only=True)
class Trained:
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
    extractor: Part | None = None
    reranker: Part | None = None
    truncator: Part | None = None
    cut: Mapping[str, Any] | None = field(default=None, hash=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    data: tuple[Data, ...] = ()
    split: Split | None = None
    training: Mapping[str, Any] = field(default_factory=dict, hash=False)
    figures: Mapping[str, Any] = field(default_factory=dict, hash=False)
    versions: Mapping[str, Any] = field(default_factory=dict, hash=False)
    licence: str = "other"
    system: str = "finefilter"

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS:
            known = ", ".join(SYSTEMS)
            raise InputError(f"system must be one of {known}, got {_short(self.system)}")
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
    def parts(self) -> dict[str, Part]:
        """Its trained parts by role."""
        found = {role: getattr(self, role) for role in ROLES}
        return {role: part for role, part in found.items() if part is not None}

    @property
    def folders(self) -> dict[str, Part]:
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
        """What is known of the weights of ``model``; empty where nothing is."""
        known = {base.model: base.sha256 for base in (self.embedder, self.generator)}
        return known.get(model, "")

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        values = asdict(self)
        for role, part in self.parts.items():
            values[role] = {k: v for k, v in asdict(part).items() if v is not None}
        return {"format": FORMAT, "system": self.system, **values}

    @classmethod
    def parse(cls, values: object) -> Trained:
        """From JSON values.

        Raises:
            InputError: If a field is missing, not known, of the wrong type, or breaks its rule.
        """
        given = dict(values) if isinstance(values, dict) else {}
        if type(given.get("format")) is not int or given.pop("format") != FORMAT:
            raise InputError(f"format must be {FORMAT}; another one needs another version")
        if not isinstance(given.get("data", []), list):
            raise InputError(f"data must be a list, got {_short(given['data'])}")
        inner = {"generator": Base, "embedder": Base, "split": Split, **dict.fromkeys(ROLES, Part)}
        for name, kind in inner.items():
            if given.get(name) is not None:
                given[name] = parsed(kind, name, given[name])
        rows = enumerate(given.get("data", []))
        given["data"] = tuple(parsed(Data, f"data[{n}]", row) for n, row in rows)
        return parsed(cls, "", given)

    def _check_options(self) -> None:
        make = SYSTEMS[self.system]
        names = {p.name for p in signature(make).parameters.values() if p.kind is _KEYWORD}
        names -= {*self.parts}
        names -= {"truncator"} if self.cut else set()
        names -= {"mode"} if self.extractor else set()
        for name, value in self.options.items():
            if name not in names:
                known = ", ".join(sorted(names))
                raise InputError(f"options must be of {known}, got {_short(name)}")
            check_option(self.system, name, value)


def check_option(system: str, name: str, value: object) -> None:
    """Raise `InputError` where a value of JSON is none that the option of a system takes."""
    hints = get_type_hints(SYSTEMS[system])
    if name not in hints or not fits(value, hints[name]):
        raise InputError(f"options.{name} has a wrong type or value: {_short(value)}")


_KEYWORD = Parameter.KEYWORD_ONLY


def cutting(values: Mapping[str, Any], min_keep: int = 0) -> Cut:
    """The stage that a filter's ``cut`` says.

    Raises:
        InputError: If it breaks a rule.
    """
    if set(values) - {"weights", "bias", "price", "reads"}:
        raise InputError(
            f"cut must have weights, bias, price and reads, got {_short(sorted(values))}"
        )
    price = values.get("price", Cut.price)
    if not fits(price, float):
        raise InputError(f"cut.price must be a number, got {_short(price)}")
    reads = values.get("reads", "")
    if not isinstance(reads, str):
        raise InputError(f"cut.reads must be the name of a score, got {_short(reads)}")
    return Cut(Odds.read(values), price=price, min_keep=min_keep, reads=reads)


def place(model: str) -> str:
    """What a backend is told of ``model``: the name without its prefix.

    Raises:
        InputError: If it is neither a name, a hub id nor an absolute path, where it is local.
    """
    prefix, _, rest = model.partition(":")
    if not rest or prefix not in _LOCAL:
        return model
    plain = Path(rest).is_absolute() and ".." not in Path(rest).parts
    if not plain and (".." in rest or not _HUB_ID.fullmatch(rest)):
        raise InputError(f"model must be a name, a hub id or an absolute path, got {_short(model)}")
    return rest


def read_json(path: Path) -> object:
    """What a JSON file of moderate size says, without NaN and infinity.

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
        return json.loads(data.decode("utf-8"), parse_constant=_finite, parse_float=_finite)
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path.name} must be JSON of UTF-8: {str(error)[:200]}") from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"numbers must be finite, got {text[:20]}")
    return value


def parsed(kind: type[T], where: str, given: object) -> T:
    if not isinstance(given, dict):
        raise InputError(f"{where} must be an object, got {_short(given)}")
    dot = f"{where}." if where else ""
    hints = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise InputError(f"{dot}{name[:40]} is not known; known are {', '.join(known)}")
    for name, option in known.items():
        needed = option.default is MISSING and option.default_factory is MISSING
        if name not in given and needed:
            raise InputError(f"{dot}{name} is missing")
        if name in given and not fits(given[name], hints[name]):
            raise InputError(f"{dot}{name} has a wrong type or value: {_short(given[name])}")
    try:
        return kind(**given)
    except InputError as error:
        raise InputError(f"{dot}{error}") from error


def fits(value: object, hint: Any) -> bool:
    """Whether a value of JSON, or what was made of one, is of a type; numbers are finite."""
    if (origin := get_origin(hint)) in (Union, types.UnionType):
        return any(fits(value, choice) for choice in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if origin is not None:
        return isinstance(value, origin)
    if hint is float:
        return isinstance(value, int | float) and type(value) is not bool and abs(value) < LARGE
    return type(value) is hint


def _short(value: object) -> str:
    return repr(value)[:80]
