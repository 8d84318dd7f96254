"""A system as somebody names it: checked, opened, identified.

`SystemSpec` is the one form: options of commands, ``ragsieve.toml``, a server's systems, rows of a
benchmark and the fields of adapters are read off it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache as cached
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import msgspec

from ragsieve import models, systems
from ragsieve.errors import InputError, nearest
from ragsieve.models.addresses import declared, written
from ragsieve.models.callables import as_embedder, as_llm
from ragsieve.models.pruner import others
from ragsieve.models.sharing import Share, sharing
from ragsieve.models.wrap import unwrap
from ragsieve.registry import points
from ragsieve.schema import Amount, Count, Probability, Schema, telling, without_secrets
from ragsieve.sources import Models, named_source
from ragsieve.system import Cuts, OnError, Source, System
from ragsieve.systems.base import PARTS, PRUNE, ROLES, SHARED, SYSTEMS, SystemEntry
from ragsieve.types import LAYOUT, FileNames, JsonAs, Layout, Mark

CUTS = Cuts._fields
"""Options of systems that fields of `SystemSpec` set."""

USUAL = {"embedder": "minilm", "pruner": "pruner"}
"""Models of `ragsieve.systems.base.ROLES` where nobody names others."""


class SystemSpec(Schema, frozen=True, kw_only=True):
    """A system with its models and its source, by their names.

    Args:
        system: One that `ragsieve systems` lists, or a trained filter: its folder or hub id.
        options: An option of the system, as k=3 of top-sentences, clusters=5 of winnowrag.
        models: A model of its own for a part of the system, as critic=openai:gpt-5-mini of
            winnowrag or chunkrag, where a critic that differs from --llm is worth most,
            extractor=openai:gpt-5-mini of finefilter-point.
        source: Search this in place of documents: index:FOLDER of `ragsieve index build`,
            sources:FILE of a TOML file of sources.
        source_options: An option of the source, as k=50 or by=bm25 of index, router=FOLDER of
            sources.
        llm: smollm2, transformers:ID_OR_FOLDER, openai:NAME; fake:echo needs no weights.
        llm_options: An option of the LLM, as base_url=http://127.0.0.1:8000/v1.
        model_options: An option of any other model, by its name, as
            openai:NAME.base_url=http://127.0.0.1:8000/v1; the LLM's own name has the LLM's.
        answer_tokens: Tokens of an answer at most, of most systems 64 by default.
        embedder: minilm, sentence_transformers:ID_OR_FOLDER; fake:hashing needs no weights.
        pruner: Of finefilter and provence: pruner, pruner:FOLDER, provence:ID; or fake:pruner.
        keep_answer: Of finefilter: probability that the answer survives, 0.5 to 0.99.
        min_score: Of finefilter, in place of keep_answer: the least probability that a span is
            evidence.
        min_answerable: Of finefilter: where the probability that some document answers is lower,
            the best span stays alone, with the option min_keep=0 none; 0.05 by default.
        first_look: Of finefilter: characters that the pruner reads at most, without the promise.
        max_tokens: Budget, in the LLM's tokens.
        max_chars: Budget, in characters.
        max_tokens_per_document: Budget of each document, in the LLM's tokens.
        max_chars_per_document: Budget of each document, in characters.
        max_share: The share of a budget that one site's documents may take, 0 to 1.
        mark: What stands where text of a document is left out; … by default.
        json_as: How JSON is shown: closed, with its brackets, or paths: lines "path: value".
        file_names: Whether a line names file and page, of several: shown, as usual, or hidden.
        compact: Rows of one shape stand under their heads once, where that is shorter.
        on_error: keep: a stage that fails is skipped, and a warning says so.
    """

    system: str = "finefilter"
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    models: dict[str, str] = msgspec.field(default_factory=dict)
    source: str | None = None
    source_options: dict[str, Any] = msgspec.field(default_factory=dict)
    llm: str | None = None
    llm_options: dict[str, Any] = msgspec.field(default_factory=dict)
    model_options: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    answer_tokens: Count | None = None
    embedder: str = "minilm"
    pruner: str = "pruner"
    keep_answer: float | None = None
    min_score: float | None = None
    min_answerable: Probability | None = None
    first_look: Count | None = None
    max_tokens: Amount | None = None
    max_chars: Amount | None = None
    max_tokens_per_document: Amount | None = None
    max_chars_per_document: Amount | None = None
    max_share: Probability | None = None
    mark: Mark | None = None
    json_as: JsonAs | None = None
    file_names: FileNames | None = None
    compact: bool | None = None
    on_error: OnError = "raise"

    def replaced(self, **changes: Any) -> Self:
        """The same with other fields."""
        return msgspec.structs.replace(self, **changes)

    def with_llm(self, *others: str, answering: bool = False) -> Self:
        """The same with an LLM: the one that a trained filter learnt from where none is named.

        Args:
            others: Systems that share it.
            answering: Whether it answers.
        """
        asking = answering or bool(self.llm_options) or any(entry(n).needs_llm for n in others)
        return self.replaced(llm=self.llm or generator(self.system, asking=asking))

    @property
    def own(self) -> dict[str, Any]:
        """Options of the system itself."""
        return {**self.options, **self._set(CUTS)}

    def _set(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the fields that are set."""
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def named(self) -> tuple[dict[str, str], dict[str, str]]:
        """Names of models: of parts that have one of their own, and of the roles it needs."""
        roles = roles_of(self.system, self.own)
        parts = {part: model for part, model in self.models.items() if part not in roles}
        return parts, {role: self.models.get(role, getattr(self, role)) for role in roles}

    @property
    def declared(self) -> dict[str, dict[str, Any]]:
        """Options of models by their names, the LLM's among them; one address a name."""
        return models.named(self.model_options, {self.llm: self.llm_options} if self.llm else {})

    def check(self) -> None:
        """Check all that can be known before a model is loaded.

        Raises:
            InputError: If options break a rule, or do not go together.
        """
        if entry(self.system).knows:
            why = "needs gold answers, which only `ragsieve bench` knows"
            raise InputError(f"system {self.system!r} {why}")
        if self.source_options and not self.source:
            raise InputError(f"source_options go with a source, got {self.source_options!r:.80}")
        if self.llm is not None:
            models.check(self.llm, "LLM")
        for name in self.declared:
            models.kind_of(name)
        needed = roles_of(self.system, self.options)
        for role, kind in ROLES.items():
            if role in needed or getattr(self, role) != USUAL[role]:
                models.check(getattr(self, role), kind)
        for name in self._set(CUTS).keys() & self.options.keys():
            raise InputError(f"name {name} or the option {name}, not both")
        Layout(**self._set(LAYOUT))
        check(self.system, self.own, self.models)
        if self.source:
            named_source(self.source, self.source_options).check()

    @property
    def identity(self) -> str:
        """What results depend on, by contents and not by places, without keys of servers."""
        roles = roles_of(self.system, self.options)
        parts: dict[str, Any] = {"system": identity(self.system), "llm": self.llm}
        parts |= {role: getattr(self, role) for role in roles}
        if "pruner" in roles:
            parts["pruner"] = "+".join(p.identity for p in (models.load(self.pruner), *others()))
        parts |= {**self._set(SHARED), "llm_options": telling(self.llm_options)}
        parts |= {"options": self.options, "models": self.models, "on_error": self.on_error}
        parts |= {"model_options": without_secrets(telling(self.model_options))}
        if self.source:
            found = named_source(self.source, self.source_options)
            parts["source"] = {self.source.partition(":")[0]: found.identity()}
        parts |= self._set((*CUTS, "answer_tokens"))
        shown = {name: value for name, value in parts.items() if value not in (None, {})}
        written = partial(json.dumps, sort_keys=True, default=str)
        return " ".join(f"{n}={v if isinstance(v, str) else written(v)}" for n, v in shown.items())

    @contextmanager
    def loaded(self, callers: int | None = 1, cache: Path | None = None) -> Iterator[Models]:
        """What gives models to systems, each once, for so many callers as `sharing` takes."""
        with sharing(callers, cache=cache) as share:

            @cached
            def load(model: str) -> Any:
                with declared(self.declared):
                    return share(models.defer(model))

            yield Models(share, load)

    @contextmanager
    def opened(self, callers: int = 1, cache: Path | None = None) -> Iterator[System]:
        """The system with models of its own; where no LLM is named, with that of `with_llm`."""
        with (spec := self.with_llm()).loaded(callers, cache) as own:
            yield spec.built(own)

    def built(self, own: Models, *, source: Source | None = None, **others: Any) -> System:
        """The system, its models imported when they are asked.

        Args:
            own: Its models.
            source: Finds evidence in place of `source`.
            others: What else it needs, as gold answers.

        Raises:
            InputError: If there is no such system, option or model.
        """
        llm = own.load(self.llm or "")
        parts, roles = ({n: own.load(model) for n, model in some.items()} for some in self.named)
        options = {**self.own, **parts}
        with declared(self.declared):  # for a router's model, and those of a trained filter
            if source is None and self.source:
                found = named_source(self.source, self.source_options)
                source = found.open(llm, own.load, own.share)
            rest: dict[str, Any] = {"source": source, "share": own.share, **roles, **others}
            system = build(self.system, llm, options, **rest)
        system = systems.limited(system, self._set(SHARED))
        system = system.with_answer_tokens(self.answer_tokens)
        return system.lenient() if self.on_error == "keep" else system


def load(
    name: str | Path,
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: Mapping[str, Any] | None = None,
    share: Share = lambda model: model,
) -> System:
    """A system, or a trained filter as one: it filters, and the generator answers.

    Of a trained filter's folder, JSON and safetensors are read; no code of it is run, no pickle
    opened. Models are loaded when they are first needed, each once.

    Args:
        name: A system of `ragsieve.systems`, or a trained filter: a folder, or a hub id,
            ``OWNER/NAME`` or ``OWNER/NAME@REVISION``.
        llm: The generator: a name (`ragsieve.models.load`), a model, or anything that
            `ragsieve.models.callables.as_llm` takes, as a function from prompts to replies; where
            None, ``"smollm2"``, or the one that a trained filter learnt from, which may be one of a
            server (``"openai:…"``). Trained parts keep their own model.
        embedder: Embeds where the system needs it, or the filter has not trained its own: a name, a
            model, or anything that `ragsieve.models.callables.as_embedder` takes.
        pruner: Sentence pruner of a system that needs one: a model, or a name, as of one that
            `ragsieve train pruner` made, ``"pruner:FOLDER"``.
        options: Options other than their defaults, or than the folder says, also in place of
            trained parts.
        share: Wraps every model that is loaded here, as `ragsieve.models.sharing` does.

    Raises:
        InputError: If there is no such system, filter or option, or it breaks a rule.
        ModelError: If a model here is not the one that the filter was trained with.
        StoreError: If the hub or the package index cannot give what is missing.
        MissingExtra: If a model needs a package that is not installed.
    """
    with declared(written(map(unwrap, (llm, embedder, pruner, *(options or {}).values())))):
        llm, embedder = _own(llm, as_llm, share), _own(embedder, as_embedder, share)
        if not isinstance(name, str) or name not in SYSTEMS:
            return cast(System, _trained(name).load(name, llm, embedder, options, share))
        if isinstance(pruner, str):
            models.check(pruner, ROLES["pruner"])
            pruner = share(models.defer(pruner))
        elif pruner is not None and not hasattr(pruner, "prune"):
            raise InputError(f"pruner must be a name, or have prune(), got {pruner!r:.80}")
        roles = {r: m for r, m in (("embedder", embedder), ("pruner", pruner)) if m is not None}
        left = (role for role in roles_of(name, options or {}) if role not in roles)
        roles |= {role: share(models.defer(USUAL[role])) for role in left}
        llm = llm or share(models.defer(generator(name)))
        return build(name, llm, options, share=share, **roles)


def build(
    name: str,
    llm: Any,
    options: Mapping[str, Any] | None = None,
    *,
    source: Any = None,
    share: Share = lambda model: model,
    **roles: Any,
) -> System:
    """A system by its name, as `ragsieve.systems.build` makes it, or a trained filter.

    Args:
        name: One of `ragsieve.systems`, or a trained filter.
        llm: Its generator.
        options: Options other than their defaults, or than a trained filter's folder says;
            ``prune`` may name a system.
        source: Finds evidence where the caller passes no documents.
        share: Wraps the models of a trained filter.
        roles: What it needs of `ragsieve.systems.base.ROLES`, and gold answers.

    Raises:
        InputError: If there is no such system or option, or something is missing.
    """
    if isinstance(prune := (options or {}).get(PRUNE), str):
        options = {**(options or {}), PRUNE: build(prune, llm, share=share, **roles).stage}
    if name in SYSTEMS:
        return systems.build(name, llm, options=options, source=source, **roles)
    systems.check_options(name, entry(name), options)
    return load(name, llm, options=options, share=share).with_source(source)


def entry(name: str) -> SystemEntry:
    """Entry of a system by its name: one of `ragsieve.systems`, or a trained filter.

    Raises:
        InputError: If there is neither; of the hub, it is not looked for.
    """
    return SYSTEMS[name] if name in SYSTEMS else cast(SystemEntry, _trained(name).entry(name))


def generator(name: str, *, asking: bool = False) -> str:
    """The LLM a trained filter learnt from; else smollm2, or `models.UNASKED` where none is needed.

    Args:
        name: A system, or a trained filter.
        asking: Whether it is asked anyhow, or has options, so that its own tokens count.

    Raises:
        InputError: If there is no such filter, or it breaks a rule.
    """
    if name not in SYSTEMS:
        return str(_trained(name).generator(name))
    return models.USUAL if asking or SYSTEMS[name].needs_llm else models.UNASKED


def identity(name: str) -> str:
    """A trained filter's name with twelve hex digits of what its files hold; a system's name.

    Raises:
        InputError: If there is neither.
    """
    return name if name in SYSTEMS else str(_trained(name).identity(name))


def roles_of(name: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Models of `ragsieve.systems.base.ROLES` that a system needs, with what prunes for it."""
    prune = options.get(PRUNE)
    needed = {*entry(name).roles, *(entry(prune).roles if isinstance(prune, str) else ())}
    return tuple(role for role in ROLES if role in needed)


def check(name: str, options: Mapping[str, Any], own: Mapping[str, str]) -> None:
    """Raise `InputError` unless a system takes these options and models; loads nothing.

    Args:
        name: One of `ragsieve.systems`, or a trained filter.
        options: Options other than their defaults, by name, as JSON has them.
        own: Models of its own, as `ragsieve.models.load` takes them, by part or role.
    """
    known = entry(name)
    systems.check_options(name, known, options, written=True)
    prune = options.get(PRUNE)
    if isinstance(prune, str) and entry(prune).knows:
        raise InputError(f"{PRUNE} of {name} must not know gold answers, got {prune!r}")
    kinds = {part: kinds for part, kinds in PARTS.items() if part in known.options}
    kinds |= {role: (ROLES[role],) for role in roles_of(name, options)}
    for part, model in own.items():
        if part not in kinds:
            parts, near = ", ".join(kinds) or "none", nearest(part, kinds)
            raise InputError(f"models of {name} are {parts}, got {part!r}{near}")
        if part in options:
            raise InputError(f"{part} of {name} must be an option or a model, got both")
        models.check(model, *kinds[part])


def _own(model: Any, adapt: Callable[[Any], Any], share: Share) -> Any:
    """A caller's model as one of ours; shared where it is loaded here."""
    own = None if model is None else adapt(model)
    return share(own) if isinstance(model, str) else own


def _trained(name: str | Path) -> Any:
    """The module that loads trained filters: ``entry``, ``generator``, ``identity``, ``load``."""
    for point in points("ragsieve.loaders"):
        return point.load()
    raise InputError(SYSTEMS.unknown(str(name)))
