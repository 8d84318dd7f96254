"""`ragsieve plan`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from msgspec import Meta

from ragsieve.cli.base import EXISTING_FILE, INFO, WORKERS, Json, Workers, info, table
from ragsieve.cli.opening import CHANGES
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.spec import SystemSpec
from ragsieve.text import counted
from ragsieve_research.evaluate.prices import Prices

if TYPE_CHECKING:
    from ragsieve_research.evaluate.plan import Plan

_ROLES = {"llm": "LLMs of the filter", "encoder": "encoders", "generator": "generator"}


@command(
    "plan",
    params=[*options_of(SystemSpec, changes=CHANGES), *options_of(Prices)],
    short_help="Say what a run will cost.",
)
def plan_command(
    questions: Annotated[Path, EXISTING_FILE],
    *,
    sample: Annotated[int, Meta(ge=2)] = 50,
    workers: Workers = WORKERS,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Say what `ragsieve ask --input QUESTIONS` will cost: calls, tokens, seconds and money.

    Some of the questions are asked now, spread evenly over those in order of length; ± is half of
    a 95% interval. Break-even is against a generator that reads all documents.

    \b
      ragsieve plan questions.jsonl --llm openai:NAME --price-in 0.25 --price-out 2
      ragsieve plan questions.jsonl --system chunkrag --llm openai:NAME --sample 20
      ragsieve plan questions.jsonl --llm fake:echo --json

    Args:
        sample: Questions to ask.
    """
    from ragsieve_research.evaluate.plan import plan

    prices = from_options(Prices, options)
    system = from_options(SystemSpec, options).with_llm(answering=True)
    system.check()
    with system.opened(workers, None) as opened, INFO.status("asking a sample …"):
        planned = plan(opened, questions, sample=sample, workers=workers, prices=prices)
    if planned.unreadable or planned.failed:
        failed = counted(planned.failed, "question")
        info(
            f"left out: {counted(planned.unreadable, 'line')} that cannot be read, {failed} that "
            "failed",
            "yellow",
        )
    if as_json:
        click.echo(json.dumps(planned.to_dict()))
    else:
        _print(planned)


def _print(planned: Plan) -> None:
    click.echo(f"{counted(planned.questions, 'question')}, {planned.asked} of them asked\n")
    table(("", "calls", "tokens read", "tokens written", "price"), [*_rows(planned)])
    own = {name: planned.costs[name] for name in ("tokens_before", "tokens_after", "seconds")}
    before, after, seconds = (f"{e.value:,.0f} ± {e.margin:,.0f}" for e in own.values())
    click.echo(f"\ncontext: {after} of {before} tokens\nseconds: {seconds}")
    click.echo(f"break-even: {_pays(planned.break_even)}")


def _rows(planned: Plan) -> Iterator[tuple[str, ...]]:
    for role, name in _ROLES.items():
        sums = [planned.costs[f"{role}_{part}"] for part in ("calls", "tokens_in", "tokens_out")]
        price = "-" if role == "encoder" else f"{planned.price(role):,.4g}"
        yield (name, *(f"{e.value:,.0f} ± {e.margin:,.0f}" for e in sums), price)
    both = planned.price("llm") + planned.price("generator")
    yield "together", "", "", "", f"{both:,.4g}"
    yield "a generator that reads all", "", "", "", f"{planned.price('all'):,.4g}"


def _pays(tokens: float) -> str:
    if tokens == 0:
        return "the filter always costs less than it saves"
    if tokens < float("inf"):
        return f"the filter costs less than it saves from {tokens:,.0f} document tokens on"
    return "the filter never costs less than it saves"
