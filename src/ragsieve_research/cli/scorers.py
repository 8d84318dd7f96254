"""`ragsieve scorers`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from ragsieve import models
from ragsieve.cli.base import FILE, Json, info, print_error, printable, progress, warn
from ragsieve.cli.opening import CHANGES
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.errors import InputError, ModelError, naming
from ragsieve.schema import Count
from ragsieve.spec import SystemSpec
from ragsieve.text import counted
from ragsieve.types import Example
from ragsieve_research import datasets
from ragsieve_research.cli.base import Data, Questions, figures, means
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.score.named import SCORERS, create_scorers, needed

if TYPE_CHECKING:
    from ragsieve.score.base import Scorer
    from ragsieve_research.evaluate.scorers import Figures, Labels, ScoredSegments

_KINDS = {
    "llm": "LLM",
    "critic": "LLM",
    "embedder": "embedder",
    "pruner": "sentence pruner",
    "pair": "cross-encoder",
}
_MODELS = ("models", "llm", "llm_options", "model_options", "embedder", "pruner")
_CHANGES: dict[str, Any] = {
    **CHANGES,
    "models": {
        "flags": ["--model"],
        "metavar": "ROLE=MODEL",
        "help": "pair=MODEL: a cross-encoder or rerank server; critic=MODEL: rates for critique.",
        "show_default": "critic=--llm",
    },
    "llm": {"default": "smollm2"},
}
_NEEDS = {n: ", ".join(filter(None, [one.role, *one.after])) for n, one in SCORERS.items()}
_SCORERS = {
    "flags": ["--scorer"],
    "metavar": "NAME",
    "help": "One of these with the models and scorers that it needs; may come several times: "
    + ", ".join(f"{name} ({needs})" if needs else name for name, needs in _NEEDS.items()),
}
_PARTS = ("validation", "test")  # that a curve is fitted to, and measured on


@command(
    "scorers",
    short_help="Measure scorers on labelled questions.",
    params=options_of(SystemSpec, {*SystemSpec.__struct_fields__} - {*_MODELS}, _CHANGES),
)
def scorers_command(
    names: Questions,
    *,
    data: Data = None,
    scorers: Annotated[tuple[str, ...], _SCORERS] = ("bm25", "cosine"),
    limit: Count | None = None,
    cache: Annotated[Path | None, FILE] = None,
    as_json: Json = False,
    output: Annotated[Path | None, FILE, {"flags": ["--calibrate"]}] = None,
    **options: Any,
) -> int:
    """Measure on labelled questions how well scorers separate what helps from the rest.

    DATA is a JSONL file of questions, or a name of `ragsieve datasets`. What helps is said by human
    grades (`relevance` of a document), else gold sentences (`supporting_sentences`), else documents
    labelled `is_positive`, else by who holds a gold answer: the first kind that DATA has, which the
    output names. Questions without labels of that kind are left out.

    AUC is the probability that a segment that helps scores above one of the same question that does
    not; 0.5 is chance. rho is Spearman's. hit@1 is how often the best helps. Means over questions
    with 95% bootstrap intervals; equal scores count as drawn by lot.

    \b
      ragsieve scorers questions.jsonl
      ragsieve scorers noveleval clapnq --data ~/questions --scorer cosine --scorer likelihood
      ragsieve scorers nq --scorer pair --model pair=rerank:http://127.0.0.1:8000/rerank
      ragsieve scorers mine.jsonl --scorer mean --llm openai:NAME --calibrate mean.json
      ragsieve ask --system chunkrag --option calibration=mean.json -q "Who sang it?" notes.txt

    --calibrate fits one scorer to the questions of the part validation, and writes a curve from its
    score to the probability that a segment helps, measured on the part test. A curve never turns
    the order of two: a scorer at chance stays.

    Args:
        limit: Only the first questions of each DATA.
        cache: Remember model replies here; times mean little then.
        output: Write the curve of the one --scorer here.
    """
    needed(scorers)  # says early what there is not
    if output and len(scorers) != 1:
        raise InputError(f"--calibrate takes exactly one --scorer, got {len(scorers)}")
    if output and not output.absolute().parent.is_dir():
        raise InputError(f"--calibrate must name a file in a folder that exists, got {output}")
    data_sets = {name: datasets.load(name, folder=data).take(limit) for name in names}
    parts = _PARTS if output else ("",)
    sets = [_Set.read(name, one, parts) for name, one in data_sets.items()]
    _check_parts(sets, parts)
    system = from_options(SystemSpec, options)
    roles = _roles(system)
    with system.loaded(1, cache) as loaded:

        def model(role: str) -> Any:
            if role not in roles:
                raise InputError(f"scorer {role} needs --model {role}=MODEL")
            return loaded.load(roles[role])

        built = create_scorers(scorers, model)
        for one in sets:
            one.score(built)
    if output:
        _calibrate(sets, built, scorers[0], output, as_json)
    else:
        _print_figures(sets, scorers, as_json)
    return 1 if any(s.failed for s in sets) else 0


def _roles(system: SystemSpec) -> dict[str, str]:
    """The model of each role by its name, which is checked at once."""
    named = system.models
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
    """A data set: its questions by part, "" where parts do not count, as they are and scored."""

    name: str
    labels: Labels
    examples: Mapping[str, Sequence[Example]]
    questions: dict[str, list[ScoredSegments]] = field(default_factory=lambda: defaultdict(list))
    failed: int = 0
    unlabelled: int = 0

    @classmethod
    def read(cls, name: str, data: datasets.Dataset, parts: Sequence[str]) -> _Set:
        from ragsieve_research.evaluate.scorers import is_labelled, labels_of

        examples: dict[str, list[Example]] = defaultdict(list)
        for one in data:
            examples[part_of(one.query.text) if parts == _PARTS else ""].append(one)
        with naming(name):
            labels = labels_of(chain.from_iterable(examples.values()))
        known = {part: [e for e in examples[part] if is_labelled(e, labels)] for part in parts}
        unlabelled = sum(len(examples[part]) - len(known[part]) for part in parts)
        if unlabelled:
            info(f"{name}: {counted(unlabelled, 'question')} without {labels} left out", "dim")
        return cls(name, labels, known, unlabelled=unlabelled)

    def score(self, scorers: Mapping[str, Scorer]) -> None:
        """Score all, with a bar; those that fail are printed, and the error is raised if all do."""
        from ragsieve_research.evaluate.scorers import labelled, scored

        examples = [(part, one) for part, some in self.examples.items() for one in some]
        last = None
        with progress() as bars:
            for part, example in bars.track(examples, description=printable(self.name)):
                try:
                    question = labelled(example, self.labels)
                    if question.segments:
                        self.questions[part].append(scored(question, scorers))
                except ModelError as error:
                    self.failed, last = self.failed + 1, error
                    where = f"{self.name}: {example.query.text!r:.60}"
                    print_error(bars.console, f"error: {where}: {error}")
        if last and not self.questions:
            raise last

    def about(self, part: str = "") -> dict[str, Any]:
        """Its settings, as JSON values."""
        from ragsieve_research.evaluate.scorers import unit_of

        grades = [question.grades for question in self.questions[part]]
        return {
            "labels": self.labels,
            "unit": unit_of(self.labels),
            "questions": len(grades),
            "segments": sum(map(len, grades)),
            "helpful": sum(int((some > 0).sum()) for some in grades),
            "failed": self.failed,
            "unlabelled": self.unlabelled,
        }


def _check_parts(sets: Sequence[_Set], parts: Sequence[str]) -> None:
    """Raise `InputError` where no question is of one of the parts."""
    for part in filter(None, parts):
        if not any(one.examples[part] for one in sets):
            raise InputError(
                f"--calibrate needs questions of the parts {' and '.join(parts)}, got none of "
                f"{part}: take more questions"
            )


def _print_figures(sets: Sequence[_Set], scorers: Sequence[str], as_json: bool) -> None:
    from ragsieve_research.evaluate.scorers import CHANCE
    from ragsieve_research.evaluate.scorers import figures as measure

    measured = {
        s.name: [measure(s.questions[""], name) for name in (CHANCE, *scorers)] for s in sets
    }
    if as_json:
        results = {
            s.name: {**s.about(), "scorers": [one.to_dict() for one in measured[s.name]]}
            for s in sets
        }
        click.echo(json.dumps(results, indent=2))
        return
    for s in sets:
        _print_set(s, measured[s.name])


def _print_set(data: _Set, measured: Sequence[Figures]) -> None:
    means(
        data.name,
        {f.scorer: f.means for f in measured},
        {f.scorer: {"ms/segment": 1000 * f.seconds, "tokens/segment": f.tokens} for f in measured},
    )
    about = data.about()
    failed = f"; {counted(data.failed, 'question')} failed, left out" if data.failed else ""
    applies = measured[0].means["AUC"]
    info(
        f"{counted(about['questions'], 'question')}, "
        f"{applies.n if applies else 0} with both kinds; {about['segments']:,} {about['unit']}, "
        f"{about['helpful']:,} help by {data.labels}{failed}",
        "dim",
    )


def _calibrate(
    sets: Sequence[_Set], scorers: Mapping[str, Scorer], name: str, output: Path, as_json: bool
) -> None:
    from ragsieve_research.score.calibrated import models_of
    from ragsieve_research.train.scores import calibrate, write

    known, test = ([q for s in sets for q in s.questions[part]] for part in _PARTS)
    about = {
        "scorer": name,
        "models": models_of([scorers[n] for n in SCORERS[name].after or (name,)]),
        "prompts": [prompt for n in needed([name]) for prompt in SCORERS[n].prompts],
        "fitted_to": {s.name: s.about("validation") for s in sets},
        "measured_on": {s.name: s.about("test") for s in sets},
        "ragsieve": version("ragsieve"),
    }
    fitted = calibrate(known, test, name)
    write(output, fitted, about)
    if fitted.level:
        warn(f"{name} does not rise with what helps, so the curve says the same of all")
    if as_json:
        click.echo(json.dumps({**about, **fitted.to_dict()}, indent=2))
    else:
        rows = {"same for all": fitted.base, "as it is": fitted.before, "calibrated": fitted.after}
        figures({row: asdict(quality) if quality else {} for row, quality in rows.items()})
        if not fitted.before:
            info(f"{name} does not lie in [0, 1]: it is no probability by itself")
    info(f"written: {output}; measured on {counted(len(test), 'question')}", "dim")
