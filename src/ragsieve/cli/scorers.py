"""`ragsieve scorers`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from ragsieve import datasets, models
from ragsieve.cli.base import (
    FILE,
    Count,
    Data,
    Json,
    Questions,
    figures,
    info,
    pairs,
    print_error,
    printable,
    progress,
    table,
    warn,
)
from ragsieve.cli.opening import CHANGES, SystemOptions
from ragsieve.cli.signature import command, options_of, taken
from ragsieve.datasets.parts import part_of
from ragsieve.errors import InputError, ModelError
from ragsieve.text import counted
from ragsieve.types import Example

if TYPE_CHECKING:
    from ragsieve.evaluate.scorers import Figures, Labels, ScoredSegments, Unit
    from ragsieve.score.base import Scorer
    from ragsieve.train.scores import Fit

_KINDS = {
    "llm": "LLM",
    "critic": "LLM",
    "embedder": "embedder",
    "pruner": "sentence pruner",
    "pair": "cross-encoder",
}
_MODELS = ("llm", "llm_options", "embedder", "pruner")
_CHANGES: dict[str, Any] = {**CHANGES, "llm": {"default": "smollm2"}}


@command(
    "scorers",
    short_help="Measure scorers on labelled questions.",
    params=options_of(SystemOptions, {*vars(SystemOptions())} - {*_MODELS}, _CHANGES),
)
def scorers_command(
    names: Questions,
    *,
    data: Data = None,
    scorers: Annotated[tuple[str, ...], {"flags": ["--scorer"], "metavar": "NAME"}] = (
        "bm25",
        "cosine",
    ),
    unit: Annotated[
        Literal["documents", "sentences", "chunks"] | None,
        {"show_default": "documents where these are labelled, else sentences"},
    ] = None,
    limit: Count = None,
    own: Annotated[
        tuple[str, ...],
        {"flags": ["--model"], "metavar": "ROLE=MODEL", "show_default": "critic=--llm"},
    ] = (),
    cache: Annotated[Path | None, FILE] = None,
    as_json: Json = False,
    output: Annotated[Path | None, FILE, {"flags": ["--calibrate"]}] = None,
    method: Literal["logistic", "isotonic"] = "logistic",
    part: Literal["train", "validation"] = "validation",
    **options: Any,
) -> int:
    """Measure on labelled questions how well scorers separate what helps from the rest.

    DATA is a JSONL file of questions, or a name of `ragsieve datasets`. What helps is said by human
    grades (`relevance` of a document), else gold sentences (`supporting_sentences`), else documents
    labelled `is_positive`, else by who holds a gold answer: the first kind that DATA has, which the
    output names.

    AUC is the probability that a segment that helps scores above one of the same question that does
    not; 0.5 is chance. rho is Spearman's. hit@1 is how often the best helps. Means over questions
    with 95% bootstrap intervals; equal scores count as drawn by lot.

    Scorers: bm25, cosine, hybrid (both), pruner, pair (with --model pair=…), likelihood;
    relevance, reflection (after it), critique, and the mean of these three, in which an LLM rates.

    \b
      ragsieve scorers questions.jsonl
      ragsieve scorers noveleval clapnq --data ~/questions --scorer cosine --scorer likelihood
      ragsieve scorers nq --scorer pair --model pair=rerank:http://127.0.0.1:8000/rerank
      ragsieve scorers mine.jsonl --scorer mean --llm openai:NAME --calibrate mean.json
      ragsieve ask --system chunkrag --option calibration=mean.json -q "Who sang it?" notes.txt

    --calibrate fits one scorer to the questions of --part, and writes a curve from its score to the
    probability that a segment helps. A curve never turns the order of two: a scorer at chance
    stays.

    Args:
        scorers: One of the scorers above; may come several times.
        unit: What is scored; chunks are semantic ones.
        limit: Only the first questions of each DATA.
        own: pair=MODEL: a cross-encoder or rerank server; critic=MODEL: rates for critique.
        cache: Remember model replies here; times mean little then.
        output: Write the curve of the one --scorer here.
        method: Of --calibrate. isotonic: any shape, for many labels; makes some scores equal.
        part: Fitted to by --calibrate, which measures on the part test.
    """
    from ragsieve.evaluate.scorers import create_scorers, needed

    needed(scorers)  # says early what there is not
    if output and len(scorers) != 1:
        raise InputError(f"--calibrate takes exactly one --scorer, got {len(scorers)}")
    if output and not output.absolute().parent.is_dir():
        raise InputError(f"--calibrate must name a file in a folder that exists, got {output}")
    keep = (part, "test") if output else ()
    data_sets = {name: datasets.load(name, folder=data).take(limit) for name in names}
    sets = [_Set.read(name, one, unit, keep) for name, one in data_sets.items()]
    _check_parts(sets, keep)
    system = taken(SystemOptions, options)
    roles = _roles(system, own)
    with system.loaded(1, cache) as loaded:

        def model(role: str) -> Any:
            if role not in roles:
                raise InputError(f"scorer {role} needs --model {role}=MODEL")
            return loaded.load(roles[role])

        chain = create_scorers(scorers, model)
        for one in sets:
            one.score(chain, lambda: model("embedder"))
    if output:
        _calibrate(sets, chain, scorers[0], method, part, output, as_json)
    else:
        _print_figures(sets, scorers, as_json)
    return 1 if any(s.failed for s in sets) else 0


def _roles(system: SystemOptions, own: Sequence[str]) -> dict[str, str]:
    """The model of each role by its name, which is checked at once."""
    named = pairs("--model", own, "ROLE=MODEL")
    if wrong := set(named) - {"pair", "critic"}:
        raise InputError(f"--model must be pair=MODEL or critic=MODEL, got {min(wrong)!r}")
    llm = system.llm or ""
    defaults = {"llm": llm, "critic": llm, "embedder": system.embedder, "pruner": system.pruner}
    roles = {**defaults, **named}
    for role, name in roles.items():
        models.check(name, _KINDS[role])
    return roles


@dataclass
class _Set:
    """A data set: its questions, of ``parts`` where they are named, and what scorers made of it."""

    name: str
    labels: Labels
    unit: Unit
    examples: Sequence[tuple[str, Example]]  # each with its part
    questions: list[tuple[str, ScoredSegments]] = field(default_factory=list)
    failed: int = 0

    @classmethod
    def read(
        cls, name: str, data: datasets.Dataset, unit: Unit | None, parts: Sequence[str]
    ) -> _Set:
        from ragsieve.evaluate.scorers import labels_of, unit_of

        examples = [(part_of(one.query.text) if parts else "", one) for one in data]
        try:
            labels = labels_of(one for _, one in examples)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        kept = [(part, one) for part, one in examples if not parts or part in parts]
        return cls(name, labels, unit or unit_of(labels), kept)

    def score(self, chain: Mapping[str, Scorer], embedder: Callable[[], Any]) -> None:
        """Score all, with a bar; those that fail are printed, and the error is raised if all do."""
        from ragsieve.evaluate.scorers import labelled, scored, splitter

        split = splitter(self.unit, embedder)
        last = None
        with progress() as bars:
            for part, example in bars.track(self.examples, description=printable(self.name)):
                try:
                    question = labelled(example, self.labels, split)
                    if question.segments:
                        self.questions.append((part, scored(question, chain)))
                except ModelError as error:
                    self.failed, last = self.failed + 1, error
                    where = f"{self.name}: {example.query.text!r:.60}"
                    print_error(bars.console, f"error: {where}: {error}")
        if last and not self.questions:
            raise last

    def of(self, part: str = "") -> list[ScoredSegments]:
        return [scored for own, scored in self.questions if part in ("", own)]

    def about(self, part: str = "") -> dict[str, Any]:
        """What it is, as JSON values."""
        grades = [question.grades for question in self.of(part)]
        return {
            "labels": self.labels,
            "unit": self.unit,
            "questions": len(grades),
            "segments": sum(map(len, grades)),
            "helpful": sum(int((some > 0).sum()) for some in grades),
            "failed": self.failed,
        }


def _check_parts(sets: Sequence[_Set], parts: Sequence[str]) -> None:
    """Raise `InputError` where no question is of one of the parts."""
    counts = Counter(part for one in sets for part, _ in one.examples)
    if missing := [part for part in parts if not counts[part]]:
        raise InputError(
            f"--calibrate needs questions of the parts {' and '.join(parts)}, got none of "
            f"{missing[0]}: take more questions, or another --part"
        )


def _print_figures(sets: Sequence[_Set], scorers: Sequence[str], as_json: bool) -> None:
    from ragsieve.evaluate.scorers import CHANCE
    from ragsieve.evaluate.scorers import figures as measure

    measured = [[measure(s.of(), name) for name in (CHANCE, *scorers)] for s in sets]
    if as_json:
        results = {
            s.name: {**s.about(), "scorers": [one.to_dict() for one in some]}
            for s, some in zip(sets, measured, strict=True)
        }
        click.echo(json.dumps(results, indent=2))
        return
    for s, some in zip(sets, measured, strict=True):
        _print_set(s, some)


def _print_set(data: _Set, measured: Sequence[Figures]) -> None:
    from ragsieve.evaluate.formatting import value_text

    table(
        (data.name, *measured[0].means, "ms/segment", "tokens/segment"),
        [
            (
                f.scorer,
                *map(value_text, f.means.values()),
                f"{1000 * f.seconds:.1f}",
                f"{f.tokens:.1f}",
            )
            for f in measured
        ],
    )
    about = data.about()
    failed = f"; {counted(data.failed, 'question')} failed, left out" if data.failed else ""
    applies = measured[0].means["AUC"]
    info(
        f"{counted(about['questions'], 'question')}, "
        f"{applies.n if applies else 0} with both kinds; "
        f"{about['segments']:,} {data.unit}, {about['helpful']:,} help by {data.labels}{failed}",
        "dim",
    )


def _calibrate(
    sets: Sequence[_Set],
    chain: Mapping[str, Scorer],
    name: str,
    method: Any,
    part: str,
    output: Path,
    as_json: bool,
) -> None:
    from ragsieve.evaluate.scorers import RECIPES, needed
    from ragsieve.score.calibrated import models_of
    from ragsieve.train.scores import calibrate, write

    known, test = ([q for s in sets for q in s.of(p)] for p in (part, "test"))
    read = RECIPES[name].after or (name,)
    about = {
        "scorer": name,
        "method": method,
        "models": models_of([chain[n] for n in read]),
        "prompts": [prompt for n in needed([name]) for prompt in RECIPES[n].prompts],
        "part": part,
        "fitted_to": {s.name: s.about(part) for s in sets},
        "measured_on": {s.name: s.about("test") for s in sets},
        "ragsieve": version("ragsieve"),
    }
    fitted = calibrate(known, test, name, method)
    write(output, fitted, about)
    if fitted.level:
        warn(f"{name} does not rise with what helps, so the curve says the same of all")
    if as_json:
        click.echo(json.dumps({**about, **fitted.to_dict()}, indent=2))
    else:
        _print_fit(fitted, name, method)
    info(f"written: {output}; measured on {counted(len(test), 'question')}", "dim")


def _print_fit(fitted: Fit, name: str, method: str) -> None:
    rows = {
        "the same for all": fitted.base,
        f"{name} as it is": fitted.before,
        f"{name}, {method}": fitted.after,
    }
    figures({name: asdict(quality) if quality else {} for name, quality in rows.items()})
    if not fitted.before:
        info(f"{name} does not lie in [0, 1]: it is no probability by itself")
