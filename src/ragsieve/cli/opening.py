"""From options to a system with its models: what `filter`, `ask` and `serve` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache as cached
from pathlib import Path
from typing import Any, NamedTuple

import click

from ragsieve import models, trained
from ragsieve.cli.base import pairs, values
from ragsieve.errors import InputError
from ragsieve.models.sharing import Share, sharing
from ragsieve.pipeline import Source, System
from ragsieve.retrieve.route import Routed
from ragsieve.systems.indexes import index_source, ready
from ragsieve.systems.registry import ROLES
from ragsieve.systems.sources import read_sources, sources_content
from ragsieve.trained import building
from ragsieve.trained.router import check_router, named_router

KEEP_ANSWER = "keep_answer"
"""The option of systems that --keep-answer sets."""

SYSTEM_OPTIONS = (  # but for --system, of which a command may take one or several
    click.option(
        "--option",
        "system_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the system, as k=3 of top-sentences, clusters=5 of winnowrag.",
    ),
    click.option(
        "--model",
        "system_models",
        multiple=True,
        metavar="ROLE=MODEL",
        help="A model of its own for a part of the system, as critic=openai:gpt-5-mini of "
        "winnowrag or chunkrag, where a critic that differs from --llm is worth most, "
        "extractor=openai:gpt-5-mini of finefilter-point.",
    ),
    click.option(
        "--index",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Search this index (`ragsieve index build`) in place of documents.",
    ),
    click.option(
        "--retrieve", type=click.IntRange(1), show_default="20", help="Chunks from the index."
    ),
    click.option(
        "--by",
        type=click.Choice(["hybrid", "dense", "bm25"]),
        show_default="hybrid, or bm25 where the index has no embedder",
        help="How the index is searched.",
    ),
    click.option(
        "--sources",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Ask the sources of this TOML file (see `ragsieve train router --help`).",
    ),
    click.option(
        "--router",
        show_default="all",
        help="Which of --sources: all, only:NAME,…, llm (untrained), or a folder of "
        "`ragsieve train router`.",
    ),
    click.option(
        "--llm",
        show_default="smollm2, or what a trained filter learnt from",
        help="smollm2, transformers:ID_OR_FOLDER, openai:NAME; fake:echo needs no weights.",
    ),
    click.option(
        "--llm-option",
        "llm_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the LLM, as base_url=http://127.0.0.1:8000/v1.",
    ),
    click.option(
        "--embedder",
        default="minilm",
        help="minilm, sentence_transformers:ID_OR_FOLDER; fake:hashing needs no weights.",
    ),
    click.option(
        "--pruner",
        default="pruner",
        help="Of the systems finefilter and provence: pruner, pruner:FOLDER, of provence also "
        "provence:ID; fake:pruner needs no weights.",
    ),
    click.option(
        "--keep-answer",
        type=float,
        show_default="0.95",
        help="Of the system finefilter: the probability that the answer survives, 0.8 to 0.99; "
        "more keeps more.",
    ),
    click.option("--max-tokens", type=click.IntRange(0), help="Budget, in the LLM's tokens."),
)


def on_error_option(default: str) -> Callable[..., Any]:
    """``--on-error`` with its default."""
    return click.option(
        "--on-error",
        type=click.Choice(["raise", "keep"]),
        default=default,
        help="keep: a stage that fails is skipped, and a warning says so.",
    )


class Loaded(NamedTuple):
    """Models that systems are made of, wrapped as many questions need them.

    Args:
        share: Wraps a model.
        generator: What answers.
        made: A model by its specification, loaded once; the generator's is the generator.
    """

    share: Share
    generator: Any
    made: Callable[[str], Any]


def check(
    *,
    system: str,
    llm: str,
    llm_options: Sequence[str],
    system_options: Sequence[str],
    system_models: Sequence[str],
    keep_answer: float | None,
    index: Path | None,
    sources: Path | None,
    router: str | None,
    **options: Any,
) -> None:
    """Everything about the options that can be known before a model is loaded."""
    if router and not sources:
        raise InputError("--router goes with --sources")
    if not index and (options["retrieve"] or options["by"]):
        raise InputError("--retrieve and --by go with --index")
    if trained.entry(system).knows:
        raise InputError(f"system {system!r} needs gold answers, which only `ragsieve bench` knows")
    models.check(llm, "LLM")
    for role, kind in ROLES.items():
        models.check(options[role], kind)
    values("--llm-option", llm_options)
    check_keep_answer(system, keep_answer, system_options)
    building.check(system, *of_system(system_options, system_models, keep_answer))
    if index:
        ready(index)
    if sources:
        sources_content(sources)
    if router:
        check_router(router)


def check_keep_answer(system: str, keep_answer: float | None, options: Sequence[str]) -> None:
    """Raise `InputError` where --keep-answer is given, and the system cannot take it."""
    if keep_answer is None:
        return
    if KEEP_ANSWER not in trained.entry(system).options:
        raise InputError(
            f"--keep-answer goes with a system that has the option {KEEP_ANSWER}, as finefilter, "
            f"got {keep_answer!r} for {system!r}"
        )
    if KEEP_ANSWER in values("--option", options):
        raise InputError(f"name --keep-answer or --option {KEEP_ANSWER}=…, not both")


def of_system(
    options: Sequence[str], own: Sequence[str], keep_answer: float | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """What --option, --keep-answer and --model say of the system."""
    given = values("--option", options)
    if keep_answer is not None:
        given[KEEP_ANSWER] = keep_answer
    return given, pairs("--model", own, "ROLE=MODEL")


@contextmanager
def loaded(
    *,
    callers: int,
    cache: Path | None,
    llm: str,
    llm_options: Sequence[str],
    inner: Share | None = None,
    **_: Any,
) -> Iterator[Loaded]:
    """The generator that the options name, and what loads others, for so many callers at once."""
    with sharing(callers, cache=cache, inner=inner) as share:
        generator = share(models.load(llm, **values("--llm-option", llm_options)))

        @cached
        def made(model: str) -> Any:  # the LLM by its name is the one with its options
            return generator if model == llm else share(models.load(model))

        yield Loaded(share, generator, made)


@contextmanager
def opened_system(**options: Any) -> Iterator[System]:
    """The system that the options name, with the models of its own."""
    with loaded(**options) as found:
        yield built(found, **options)


def built(
    found: Loaded,
    *,
    system: str,
    system_options: Sequence[str],
    system_models: Sequence[str],
    keep_answer: float | None,
    max_tokens: int | None,
    on_error: str,
    index: Path | None,
    retrieve: int | None,
    by: Any,
    sources: Path | None,
    router: str | None,
    **options: Any,
) -> System:
    """The system that the options name, of models that are loaded."""
    share, generator, made = found
    given, own = of_system(system_options, system_models, keep_answer)
    parts, roles = building.models_of(system, given, own, options)
    given |= {part: made(model) for part, model in parts.items()}
    others = {role: made(model) for role, model in roles.items()}
    searched: Source | None = None
    if index:
        searched = index_source(index, made, k=retrieve or 20, by=by)
    elif sources:
        asked = read_sources(sources, made)
        searched = Routed(asked, named_router(router or "all", generator, asked, share))
    one = trained.build(system, generator, given, share=share, source=searched, **others)
    if max_tokens is not None:
        one = one.with_budget(max_tokens)
    return one.lenient() if on_error == "keep" else one
