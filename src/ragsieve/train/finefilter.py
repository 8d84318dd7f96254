"""FineFilter from questions to a folder: extractor, reranker, truncator or cut, in that order.

WORK/plan.json                                    what the folder is of
WORK/train.jsonl, validation.jsonl                the questions
WORK/extractor, reranker, truncator               the parts, each when it is done
WORK/PART.useful.jsonl, PART.labels.jsonl         what the generator answers from
WORK/before.jsonl, after.jsonl                    its answers from 5 documents, and with the filter
WORK/PART.log.json, report.html                   how training went
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragsieve import models, score
from ragsieve.answer import Reader
from ragsieve.datasets import Dataset, parts
from ragsieve.errors import InputError, MissingExtra
from ragsieve.evaluate.run import Batch, Done, Process, Tally, judged
from ragsieve.models.sharing import Share, sharing
from ragsieve.pipeline import Pipeline, Stage, System
from ragsieve.select import Extract
from ragsieve.select.truncate import SHOWN
from ragsieve.systems.baselines import top_documents
from ragsieve.train.artifacts import Told
from ragsieve.train.cut import fit_odds
from ragsieve.train.examples import TrainingExample, gather, lessons, write
from ragsieve.train.extractor import train_extractor
from ragsieve.train.ranking import Judged, figures
from ragsieve.train.report import Log, to_html
from ragsieve.train.reranker import train_reranker
from ragsieve.train.sft import Tuning, tunable
from ragsieve.train.targets import Annotator
from ragsieve.train.truncator import train_truncator
from ragsieve.trained import Base, Data, Part, Split, Trained, load, read, save, sha256_of
from ragsieve.trained.folder import check_free
from ragsieve.trained.recipe import ONE_PASS, place
from ragsieve.trained.weights import verify
from ragsieve.types import Example

try:
    from accelerate import PartialState
except ModuleNotFoundError as error:
    raise MissingExtra("accelerate", extra="train") from error

PRUNER: Literal["pruner"] = "pruner"  # the form of extractor that reads once
MODES = ("point", "write")  # the forms in which an LLM names sentences
EPOCHS = 16  # of those, as in the paper
MORE = ("reranker", "truncator")
CLUES = 4  # sentences that a cut chooses from
LIBRARIES = ("ragsieve", "torch", "transformers", "peft")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How FineFilter is trained.

    Args:
        llm: The generator: by its word parts learn, and it answers.
        embedder: A bi-encoder: ranks what an LLM names; what a reranker is made of.
        extractor: What it is: a sentence pruner, as it is (``"pruner"``, which comes with the
            package, or ``"pruner:"`` with a folder of ``ragsieve train pruner``), or an LLM that is
            tuned to name sentences (``"point"``, ``"write"``; behind a colon another than ``llm``).
        epsilon: Sentences at most this cosine distance from one with an answer are clues, too, from
            0 to 2; see `ragsieve.train.targets.clues`.
        more: What is trained beside: ``"reranker"``, behind an extractor that names sentences, and
            ``"truncator"``, an LLM in place of the cut, which is fitted to the ranks' scores.
        epochs: Of an LLM as extractor; at least 1.
        labelled: So many validation questions at most the generator answers, again and again, for
            the cut, and as many of training where a reranker learns from them; at least 1.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: str = "smollm2"
    embedder: str = "minilm"
    extractor: str = PRUNER
    epsilon: float = 0.0
    more: tuple[str, ...] = ()
    epochs: int = EPOCHS
    labelled: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        if self.form not in (PRUNER, *MODES):
            known = ", ".join(f"{form}[:MODEL]" for form in (PRUNER, *MODES))
            raise InputError(f"extractor must be one of {known}, got {self.extractor!r}")
        if not 0 <= self.epsilon <= 2:
            raise InputError(f"epsilon must be from 0 to 2, got {self.epsilon!r}")
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, got {self.epochs!r}")
        if self.labelled < 1:
            raise InputError(f"labelled must be at least 1, got {self.labelled!r}")
        if wrong := set(self.more) - {*MORE}:
            raise InputError(f"more must be of {', '.join(MORE)}, got {min(wrong)!r}")
        if self.form == PRUNER and (self.more or self.epsilon):
            part = self.more[0] if self.more else "epsilon"
            raise InputError(f"{part} needs extractor point or write, got {self.extractor!r}")
        models.check(self.llm, "LLM")
        models.check(self.embedder, "embedder")
        for name in (self.llm, self.embedder):
            verify(Base(name))  # a name that could not be found again
        if self.form in MODES:
            tunable(self.llm if "truncator" in self.more else self.tuned)

    @property
    def form(self) -> str:
        """Which kind of extractor."""
        return self.extractor.partition(":")[0]

    @property
    def tuned(self) -> str:
        """The model that extracts: the pruner as it is, or the LLM that is tuned for it."""
        if self.form == PRUNER:
            return self.extractor
        return self.extractor.partition(":")[2] or self.llm


@dataclass(frozen=True)
class FineFilterTraining:
    """The way from questions to a trained filter; what an earlier start has done is kept.

    Under ``accelerate launch`` every process takes it; one of them asks the generator and writes.

    Args:
        plan: How.
        sources: Questions with documents and gold answers.
        work: Folder of this training, and of no other; made where missing.
        workers: Questions at once, where the generator is asked.
        told: Runs through the questions of a step in which the generator is asked, as they are
            done; it is given the step's name and how many there are.

    Raises:
        InputError: In `run`, if ``work`` is of another training, or there is nothing to learn.
    """

    plan: Plan
    sources: Sequence[Dataset]
    work: Path
    workers: int = 16
    told: Told | None = None

    def run(self, folder: Path) -> Trained:
        """Take all steps, and write the filter into ``folder``."""
        check_free(folder)
        state = PartialState()
        with state.main_process_first():
            self._claim()
            if state.is_main_process:
                self._gather()
        logs = {"extractor": self._extractor()} if self.plan.form in MODES else {}
        for name in self.plan.more:
            logs[name] = self._more(name)
        if state.is_main_process and "truncator" not in self.plan.more:
            self._label("labels", "validation")
        if state.is_main_process:
            made = self._made()
            where = {name: self.work / name for name in made.folders}
            save(folder, made, where)
            made = msgspec.structs.replace(made, figures={**made.figures, **self._answered(folder)})
            save(folder, made, where)
            (self.work / "report.html").write_text(to_html(made, logs), encoding="utf-8")
        state.wait_for_everyone()
        return read(folder)

    def lessons(self, part: str, labels: str = "") -> list[TrainingExample]:
        """What there is to learn from, or to check by; with labels only what has some."""
        path = self.work / f"{part}.{labels}.jsonl" if labels else None
        return lessons(self.work / f"{part}.jsonl", path)

    def figures(self) -> dict[str, Any]:
        """Of the extractor on validation: an LLM before and after it learnt, or a pruner."""
        if self.plan.form in MODES:
            recipe = self.work / "extractor" / "recipe.json"
            values = json.loads(recipe.read_text(encoding="utf-8"))
            return {"extractor before": values["before"], "extractor after": values["after"]}
        pruner = score.Pruner(models.load(self.plan.tuned))
        some = [lesson for lesson in self.lessons("validation") if lesson.usable]
        return figures(Judged.of(o, pruner.scores(o.query, o.sentences)) for o in some)

    def _claim(self) -> None:
        """Note what ``work`` is of, or check that it says the same."""
        data = [[source.origin, source.sha256()] for source in self.sources]
        told = json.dumps({**asdict(self.plan), "data": data}, indent=1)
        path = self.work / "plan.json"
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            if path.is_file() and path.read_text(encoding="utf-8") != told:
                raise InputError(f"work must be a new folder or that of this plan, got {self.work}")
            path.write_text(told, encoding="utf-8")
        except OSError as error:
            raise InputError(f"work cannot be used: {error.strerror or error}") from error

    def _gather(self) -> None:
        for part in ("train", "validation"):
            path = self.work / f"{part}.jsonl"
            if not path.is_file() and not write(path, gather(self.sources, part)):
                path.unlink()
                raise InputError(f"data must have a question with documents and answers in {part}")

    def _extractor(self) -> Log:
        """Train it, where it is not there; how that went."""
        plan, folder = self.plan, self.work / "extractor"
        if (folder / "recipe.json").is_file():
            return self._log("extractor")
        taught = self.lessons("train")
        if plan.epsilon:
            embedder = models.load(plan.embedder)
            taught = [lesson.widened(embedder, plan.epsilon) for lesson in taught]
        log = train_extractor(
            folder,
            taught,
            self.lessons("validation"),
            llm=plan.tuned,
            mode=_mode(plan.form),
            tuning=self._tuning,
        )
        return self._log("extractor", log)

    def _more(self, name: str) -> Log:
        """Train the reranker or the truncator by the generator's word, where it is not there."""
        folder, kind = self.work / name, "useful" if name == "reranker" else "labels"
        if (folder / "recipe.json").is_file():
            return self._log(name)
        with PartialState().main_process_first():
            if PartialState().is_main_process:
                self._label(kind, "train", "validation")
        given = self.lessons("train", kind), self.lessons("validation", kind)
        if name == "truncator":
            log: Log = train_truncator(folder, *given, llm=self.plan.llm, tuning=self._tuning)
        else:
            work, base = self.work / "reranker.work", place(self.plan.embedder)
            log = train_reranker(folder, *given, work=work, embedder=base, seed=self.plan.seed)
        return self._log(name, log)

    def _label(self, kind: str, *of: str) -> None:
        """Ask the generator what it answers from, of sentences in the order that is cut."""
        with self._shared() as share:
            reader = Reader(share(models.load(self.plan.llm)))
            ranker = self._ranker(share, tuned=kind == "labels")
            named = kind == "useful"
            most = SHOWN if named or "truncator" in self.plan.more else CLUES
            annotator = Annotator(reader, ranker, max_clues=most, every=True, named=named)
            for part in of:
                self._ask(part, f"{part}.{kind}.jsonl", annotator)

    def _ranker(self, share: Share, *, tuned: bool) -> Stage:
        """What puts sentences in order; by the tuned reranker, if there is one and it is wanted."""
        plan, folder = self.plan, self.work / "extractor"
        if plan.form == PRUNER:
            return score.Pruner(share(models.load(plan.tuned)))
        llm = share(models.load(plan.tuned, adapter=str(folder)))
        own = {"adapter": str(self.work / "reranker")} if "reranker" in plan.more and tuned else {}
        ranker = score.Cosine(share(models.load(plan.embedder, **own)))
        return Pipeline(Extract(llm, mode=_mode(plan.form)), ranker)

    def _answered(self, folder: Path) -> dict[str, Any]:
        """Accuracy and tokens over validation questions, from 5 documents and with the filter."""
        found = {}
        with self._shared() as share:
            llm = share(models.load(self.plan.llm))
            made = {"before": top_documents(llm), "after": load(folder, llm, share=share)}
            for name, system in made.items():
                tally = Tally()
                answer = partial(_answer, system)
                for done in self._ask("validation", f"{name}.jsonl", answer):
                    tally.add(done)
                found[name] = {
                    "questions": tally.judged,
                    "accuracy": tally.right / max(1, tally.judged),
                    "tokens_kept": tally.after / max(1, tally.before),
                }
        return found

    def _made(self) -> Trained:
        """What ``filter.json`` says."""
        plan = self.plan
        ranks, cuts = "reranker" in plan.more, "truncator" in plan.more
        cut = None if cuts else self._cut()
        return Trained(
            generator=Base(plan.llm, sha256_of(plan.llm)),
            embedder=Base(plan.embedder, sha256_of(plan.embedder)),
            extractor=self._part(),
            reranker=Part("embedder", plan.embedder, "reranker") if ranks else None,
            truncator=Part("llm", plan.llm, "truncator") if cuts else None,
            cut=cut,
            options=self._options(cut),
            data=tuple(map(_counted, self.sources)),
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
        elif not cut and "truncator" not in self.plan.more:
            options["truncator"] = "none"
        return options

    def _cut(self) -> dict[str, Any] | None:
        """What cuts, where a question has ranked sentences at all.

        It is fitted to validation: of what the extractor has learnt from, its scores are too good.
        """
        known = self.lessons("validation", "labels")
        most = max((len(lesson.right) for lesson in known), default=0) - 1
        if most < 1:
            return None
        odds = fit_odds(known, max_clues=min(CLUES, most))
        return {**odds.to_dict(), "reads": PRUNER if self.plan.form == PRUNER else "cosine"}

    def _part(self) -> Part:
        plan = self.plan
        if plan.form == PRUNER:
            return Part(PRUNER, plan.tuned, identity=models.load(plan.tuned).identity)
        return Part("llm", plan.tuned, "extractor", _mode(plan.form))

    def _ask(self, part: str, name: str, process: Process) -> list[Done]:
        """Ask about questions of ``part``, those excepted that an earlier start has asked."""
        label = (
            f"{name}, of up to {SHOWN} clues, of {json.dumps(asdict(self.plan), sort_keys=True)}"
        )
        with Batch(self.work / f"{part}.jsonl", self.work / name, label=label) as batch:
            limit = self.plan.labelled
            done = batch.run(process, workers=self.workers, limit=limit)
            found = self.told(name, done, batch.total(limit)) if self.told else [*done]
        if errors := [d.error for d in found if d.error]:
            raise errors[0]
        return found

    def _log(self, name: str, log: Log | None = None) -> Log:
        """How the training of a part went: written down, or read where None."""
        path = self.work / f"{name}.log.json"
        if log is None:
            return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []
        if PartialState().is_main_process:
            path.write_text(json.dumps(log), encoding="utf-8")
        return log

    @property
    def _tuning(self) -> Tuning:
        return Tuning(epochs=self.plan.epochs, seed=self.plan.seed)

    def _shared(self) -> Any:
        return sharing(self.workers, cache=self.work / "cache.sqlite")


def _mode(form: str) -> Literal["point", "write"]:
    return "write" if form == "write" else "point"


def _answer(system: System, example: Example) -> dict[str, Any]:
    return judged(example, system.ask(example.query, example.documents))


def _counted(source: Dataset) -> Data:
    licence = source.entry.licence if source.entry else "the user's own"
    learnt = sum(1 for _ in gather([source], "train"))
    return Data(source.name, licence, learnt, source.sha256())
