"""FineFilter from questions to a folder: extractor, reranker, truncator or cut, in that order.

WORK/plan.json                                    what the folder is of
WORK/train.jsonl, validation.jsonl                the questions
WORK/extractor, reranker, truncator               the parts, each when it is done
WORK/PART.feedback.jsonl, PART.useful.jsonl, PART.labels.jsonl   what the generator answers from
WORK/before.jsonl, after.jsonl                    its answers from 5 documents, and with the filter
WORK/report.html                                  how training went
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec

from ragsieve import models, score
from ragsieve.answer import Reader
from ragsieve.errors import needs_extra
from ragsieve.files import replace_lines
from ragsieve.models.base import LLM
from ragsieve.models.sharing import Share
from ragsieve.run.batch import Done, Process, Tally, judged
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.baselines import top_documents
from ragsieve.types import Example
from ragsieve_research.artifacts.folder import check_free, read, save
from ragsieve_research.artifacts.recipe import ONE_PASS, Base, Split, Trained, TrainedPart, place
from ragsieve_research.artifacts.trained import assembled
from ragsieve_research.artifacts.weights import opening, sha256_of
from ragsieve_research.datasets import parts
from ragsieve_research.models.transformers import Transformers
from ragsieve_research.select.extract import Extract, Mode
from ragsieve_research.select.truncate import SHOWN, Truncate
from ragsieve_research.train import extractor, truncator
from ragsieve_research.train.artifacts import recipe_of
from ragsieve_research.train.cut import fit_odds
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.plans import MODES, PRUNER, FineFilterPlan
from ragsieve_research.train.ranking import JudgedSentences, figures
from ragsieve_research.train.report import to_html
from ragsieve_research.train.reranker import train_reranker
from ragsieve_research.train.run import PARTS, Run, counted
from ragsieve_research.train.sft import Measure, PromptSample, Tuning, tunable, tune
from ragsieve_research.train.targets import Annotator

with needs_extra("train"):
    from accelerate import PartialState

FOLDS = 5  # parts of the questions, each measured with a cut fitted to the others
CLUES = 4  # sentences that a cut chooses from
MEASURED, CUTS_MEASURED = 40, 200  # validation questions of an extractor's figures, a truncator's
LIBRARIES = ("ragsieve", "torch", "transformers", "peft")


def train_finefilter(folder: Path, plan: FineFilterPlan, run: Run) -> Trained:
    """Train a filter, and write it into ``folder``; what an earlier start has done is kept.

    Under ``accelerate launch`` every process calls it; one of them asks the generator and writes.

    Args:
        folder: New, or one of an earlier training.
        plan: How.
        run: What is read, and where it works.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, or there is
            nothing to learn.
        ModelError: If a model fails.
    """
    check_free(folder)
    plan.check_data([source.name for source in run.sources])
    training, state = _Training(plan, run), PartialState()
    with state.main_process_first():
        if state.is_main_process:
            run.check_same_run(asdict(plan))
            run.write_questions(plan.limit, lambda example, _: example)
    for name in training.parts:
        training.learn(name)
    if state.is_main_process:
        if not plan.truncator:
            training.label("labels", "validation")
        trained = training.trained()
        figures = {**trained.figures, **training.answered(trained)}
        trained = msgspec.structs.replace(trained, figures=figures)
        save(folder, trained, {name: run.work / name for name in trained.folders})
        logs = {name: recipe_of(run.work / name)["log"] for name in training.parts}
        replace_lines(run.work / "report.html", [to_html(trained, logs).encode()])
    state.wait_for_everyone()
    return read(folder)


@dataclass(frozen=True)
class _Training:
    """The steps of `train_finefilter`."""

    plan: FineFilterPlan
    run: Run

    @property
    def parts(self) -> list[str]:
        """Those that learn, in order."""
        wanted = (self.plan.form in MODES, self.plan.reranker, bool(self.plan.truncator))
        return [*compress(("extractor", "reranker", "truncator"), wanted)]

    def figures(self) -> dict[str, Any]:
        """Of the extractor on validation: an LLM before and after it learnt, or a pruner."""
        if self.plan.form in MODES:
            values = recipe_of(self.run.work / "extractor")
            return {"extractor before": values["before"], "extractor after": values["after"]}
        pruner = score.Pruner(models.load(self.plan.tuned))
        some = [example for example in self.run.examples("validation") if example.usable]
        return figures(JudgedSentences.of(o, pruner.scores(o.query, o.sentences)) for o in some)

    def learn(self, name: str) -> None:
        """Train a part where it is not there."""
        if recipe_of(self.run.work / name):
            return
        kind = {"extractor": "feedback", "reranker": "useful", "truncator": "labels"}[name]
        with PartialState().main_process_first():
            if PartialState().is_main_process:
                self.label(kind, *PARTS)
        getattr(self, f"_{name}")(self.run.work / name)

    def _extractor(self, folder: Path) -> None:
        """Tune an LLM to name every sentence with a gold answer, the useful ones first."""
        plan, llm = self.plan, tunable(self.plan.tuned, "extractor")
        known, validation = (self._fed_back(part) for part in PARTS)
        if plan.widens:
            embedder = models.load(plan.embedder)
            known = [one.widened(embedder, plan.epsilon_of(one.query)) for one in known]
        extract = Extract(llm, mode=plan.mode)
        samples = [extractor.samples_of(part, extract) for part in (known, validation)]
        measured = [example for example in validation if example.shows_clues][:MEASURED]
        measure = partial(extractor.figures, examples=measured, mode=plan.mode)
        self._tune(folder, llm, samples, measure, mode=plan.mode)

    def _tune(
        self,
        folder: Path,
        llm: Transformers,
        samples: Sequence[Sequence[PromptSample]],
        measure: Measure,
        **about: object,
    ) -> None:
        tuning = Tuning(epochs=self.plan.epochs, seed=self.plan.seed)
        about = {"part": folder.name, **about}
        tune(folder, *samples, llm=llm, tuning=tuning, about=about, measure=measure)

    def _reranker(self, folder: Path) -> None:
        known = (self.run.examples(part, "useful") for part in PARTS)
        options = replace(self.plan.reranking, seed=self.plan.seed)
        train_reranker(folder, *known, embedder=place(self.plan.embedder), options=options)

    def _truncator(self, folder: Path) -> None:
        """Tune an LLM to say how many ranked sentences the generator needs, 0 where none helps."""
        llm = tunable(self.plan.truncator, "truncator")
        truncate = Truncate(llm, max_clues=SHOWN)
        known, validation = (self.run.examples(part, "labels") for part in PARTS)
        measured = [e for e in validation if truncator.samples(e, truncate)][:CUTS_MEASURED]
        samples = [
            [s for e in part for s in truncator.samples(e, truncate)]
            for part in (known, validation)
        ]
        measure = partial(truncator.figures, examples=measured)
        self._tune(folder, llm, samples, measure, max_clues=SHOWN)

    def _fed_back(self, part: str) -> list[TrainingExample]:
        """Examples of ``part``; where the generator was asked, with the clues it answers from."""
        useful = {o.query.text: o.useful for o in self.run.examples(part, "feedback")}
        return [replace(o, useful=useful.get(o.query.text, {})) for o in self.run.examples(part)]

    def label(self, kind: str, *of: str) -> None:
        """Ask the generator what it answers from: of clues alone, or in the order that is cut."""
        with self.run.sharing() as share:
            reader = Reader(share(models.load(self.plan.llm)))
            if kind == "feedback":
                near = share(models.defer(self.plan.embedder))
                annotator = Annotator(reader, None, near, max_clues=SHOWN)
            else:
                alone = kind == "useful"
                most = SHOWN if alone or self.plan.truncator else CLUES
                annotator = Annotator(
                    reader,
                    self._ranker(share, tuned=not alone),
                    max_clues=most,
                    every=True,
                    named=alone,
                    ask="alone" if alone else "prefixes",
                )

            def ask(example: Example) -> dict[str, Any]:
                epsilon = self.plan.epsilon_of(example.query) if kind == "feedback" else 0.0
                return replace(annotator, epsilon=epsilon)(example)

            for part in of:
                self._ask(part, f"{part}.{kind}.jsonl", ask)

    def _ranker(self, share: Share, *, tuned: bool) -> Stage:
        """The scorer that orders sentences, by the tuned reranker if it is wanted."""
        plan, work = self.plan, self.run.work
        if plan.form == PRUNER:
            return score.Pruner(share(models.load(plan.tuned)))
        llm = share(models.load(plan.tuned, adapter=str(work / "extractor")))
        name, own = plan.embedder, dict[str, str]()
        if plan.reranker and tuned:
            name, own = opening(name, work / "reranker", "embedder")
        ranker = score.Cosine(share(models.load(name, **own)))
        return Pipeline(Extract(llm, mode=plan.mode), ranker)

    def answered(self, trained: Trained) -> dict[str, Any]:
        """Accuracy and tokens over validation questions, from 5 documents and with the filter.

        The cut of each question is fitted to the other folds: one fitted to the question itself
        seems to be right far too often.
        """
        figures = {}
        with self.run.sharing() as share:
            llm = share(models.load(self.plan.llm))
            plain, crossed = top_documents(llm), self._crossed(trained, llm, share)
            for name, pick in {"before": lambda _: plain, "after": crossed}.items():
                tally = Tally()
                answer = partial(_answer, pick)
                for done in self._ask("validation", f"{name}.jsonl", answer):
                    tally.add(done)
                figures[name] = {
                    "questions": tally["judged"],
                    "accuracy": tally["right"] / max(1, tally["judged"]),
                    "tokens_kept": tally["after"] / max(1, tally["before"]),
                }
        return figures

    def _crossed(self, trained: Trained, llm: LLM, share: Share) -> Callable[[Example], System]:
        """Gives for a question the filter with a cut that was not fitted to it."""
        known = [] if trained.truncator else self.run.examples("validation", "labels")
        fold_of = {example.query.text: n % FOLDS for n, example in enumerate(known)}

        def without(fold: int) -> System:
            cut = self._cut([o for o in known if fold_of[o.query.text] != fold])
            other = msgspec.structs.replace(trained, cut=cut, options=self._options(cut))
            return assembled(self.run.work, other, llm, share=share)

        systems = [without(fold) for fold in range(FOLDS if known else 1)]
        return lambda example: systems[fold_of.get(example.query.text, 0)]

    def trained(self) -> Trained:
        """Contents of ``filter.json``."""
        plan = self.plan
        cut = None if plan.truncator else self._cut(self.run.examples("validation", "labels"))
        return Trained(
            generator=Base(plan.llm, sha256_of(plan.llm)),
            embedder=Base(plan.embedder, sha256_of(plan.embedder)),
            extractor=self._part(),
            reranker=TrainedPart("embedder", plan.embedder, "reranker") if plan.reranker else None,
            truncator=self._tuned(plan.truncator, "truncator") if plan.truncator else None,
            cut=cut,
            options=self._options(cut),
            data=counted(
                self.run.sources, [example.query.id for example, _ in self.run.read("train")]
            ),
            split=Split(parts.SALT, parts.RULE),
            training=asdict(plan),
            figures=self.figures(),
            versions={name: version(name) for name in LIBRARIES},
            system=ONE_PASS if plan.form == PRUNER else "finefilter",
        )

    def _options(self, cut: Mapping[str, Any] | None) -> dict[str, Any]:
        options: dict[str, Any] = {"order": "score"}
        if self.plan.form == PRUNER:
            options["min_keep"] = 0 if cut else 1
        elif not cut and not self.plan.truncator:
            options["truncator"] = "none"
        return options

    def _cut(self, known: Sequence[TrainingExample]) -> dict[str, Any] | None:
        """The selector that cuts, where a question has ranked sentences at all.

        It is fitted to validation: of what the extractor has learnt from, its scores are too good.
        """
        most = max((len(example.right) for example in known), default=0) - 1
        if most < 1:
            return None
        odds = fit_odds(known, max_clues=min(CLUES, most))
        return {**odds.to_dict(), "reads": PRUNER if self.plan.form == PRUNER else "cosine"}

    def _part(self) -> TrainedPart:
        plan = self.plan
        if plan.form == PRUNER:
            return TrainedPart(PRUNER, plan.tuned, identity=models.load(plan.tuned).identity)
        return self._tuned(plan.tuned, "extractor", plan.mode)

    def _tuned(self, model: str, folder: str, mode: Mode | None = None) -> TrainedPart:
        return TrainedPart("llm", model, folder, mode, sha256=sha256_of(model))

    def _ask(self, part: str, name: str, process: Process) -> list[Done]:
        plan = json.dumps(asdict(self.plan), sort_keys=True)
        by = f"{name}, {FOLDS} folds, of up to {SHOWN} clues, of {plan}"
        return self.run.ask(part, name, process, by=by, limit=self.plan.labelled)


def _answer(pick: Callable[[Example], System], example: Example) -> dict[str, Any]:
    return judged(example, pick(example).ask(example.query, example.documents))
