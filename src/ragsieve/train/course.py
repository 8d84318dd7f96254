"""FineFilter from questions to a folder: extractor, labels, reranker, cut, in that order.

WORK/plan.json                                    what the folder is of
WORK/train.jsonl, validation.jsonl                the questions
WORK/extractor, reranker                          the parts, each when it is done
WORK/train.labels.jsonl, validation.labels.jsonl  what the generator answers from
WORK/before.jsonl, after.jsonl                    its answers from 5 documents, and with the filter
WORK/log.json, report.html                        how training went
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from ragsieve import models, score, systems
from ragsieve.answer import Reader
from ragsieve.datasets import Dataset, parts
from ragsieve.errors import InputError, MissingExtra
from ragsieve.evaluate.run import Batch, Done, Process, Tally, judged
from ragsieve.models.sharing import Share, sharing
from ragsieve.pipeline import Pipeline, Stage, System
from ragsieve.select import Extract
from ragsieve.train.clue_figures import Judged, figures
from ragsieve.train.clue_llm import train_clue_llm
from ragsieve.train.clues import train_clues
from ragsieve.train.cut import fit_odds
from ragsieve.train.extractor import train_extractor
from ragsieve.train.lessons import Lesson, gather, lessons, write
from ragsieve.train.report import to_html
from ragsieve.train.reranker import train_reranker
from ragsieve.train.sft import Tuning
from ragsieve.train.targets import Annotator
from ragsieve.trained import Base, Data, Part, Split, Trained, load, read, save, sha256_of
from ragsieve.types import Example

try:
    from accelerate import PartialState
except ModuleNotFoundError as error:
    raise MissingExtra("accelerate", extra="train") from error

READERS = {"encoder": "clues", "llm": "clue_llm"}  # those that read once, by backend
EPOCHS = {"encoder": 2, "llm": 2, "point": 16, "write": 16}  # the paper's, where an LLM names
CLUES = 4  # sentences that a cut chooses from
LIBRARIES = ("ragsieve", "torch", "transformers", "peft")
Told = Callable[[str, Iterator[Done], int | None], list[Done]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How FineFilter is trained.

    Args:
        llm: The generator: by its word parts learn, and it answers.
        embedder: A bi-encoder: ranks what an LLM names; what a reranker is made of.
        extractor: What it is, and behind a colon the model that is tuned for it: by ``"encoder"``
            (of ``minilm``) and ``"llm"`` one reading gives every sentence a probability, by
            ``"point"`` and ``"write"`` an LLM names sentences (of ``llm``, where none is said).
        epsilon: Sentences at most this cosine distance from one with an answer are clues, too, from
            0 to 2; see `ragsieve.train.targets.clues`.
        reranker: Whether one is trained, too; an extractor that reads once ranks by itself.
        epochs: Of the extractor; by its kind where None: see `EPOCHS`.
        labelled: So many validation questions at most the generator answers, again and again, for
            the cut, and as many of training where a reranker learns from them; at least 1.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: str = "smollm2"
    embedder: str = "minilm"
    extractor: str = "encoder"
    epsilon: float = 0.0
    reranker: bool = False
    epochs: int | None = None
    labelled: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        if self.form not in EPOCHS:
            known = ", ".join(f"{form}[:MODEL]" for form in EPOCHS)
            raise InputError(f"extractor must be one of {known}, got {self.extractor!r}")
        if not 0 <= self.epsilon <= 2:
            raise InputError(f"epsilon must be from 0 to 2, got {self.epsilon!r}")
        if self.epochs is not None and self.epochs < 1:
            raise InputError(f"epochs must be at least 1, got {self.epochs!r}")
        if self.labelled < 1:
            raise InputError(f"labelled must be at least 1, got {self.labelled!r}")
        models.check(self.llm, "LLM")
        models.check(self.embedder, "embedder")

    @property
    def form(self) -> str:
        """Which kind of extractor."""
        return self.extractor.partition(":")[0]

    @property
    def tuned(self) -> str:
        """The model that is tuned for extraction."""
        base = self.extractor.partition(":")[2]
        return base or ("minilm" if self.form == "encoder" else self.llm)


@dataclass(frozen=True)
class Course:
    """The way from questions to a trained filter; what an earlier start has done is kept.

    Under ``accelerate launch`` every process takes it; one of them asks the generator and writes.

    Args:
        plan: How.
        sources: Questions with documents and gold answers.
        work: Folder of this course, and of no other; made where missing.
        workers: Questions at once, where the generator is asked.
        told: Runs through the questions of a step in which the generator is asked, as they are
            done; it is given the step's name and how many there are.

    Raises:
        InputError: In `run`, if ``work`` is of another course, or there is nothing to learn.
    """

    plan: Plan
    sources: Sequence[Dataset]
    work: Path
    workers: int = 16
    told: Told | None = None

    def run(self, folder: Path) -> Trained:
        """Take all steps, and write the filter into ``folder``."""
        self._claim()
        state = PartialState()
        if state.is_main_process:
            self._gather()
        state.wait_for_everyone()
        self._extractor()
        if state.is_main_process:
            self._label()
        state.wait_for_everyone()
        if self.plan.reranker:
            self._reranker()
        if state.is_main_process:
            made = self._made()
            where = {name: self.work / name for name in made.folders}
            save(folder, made, where)
            made = replace(made, figures={**made.figures, **self._answered(folder)})
            save(folder, made, where)
            page = to_html(made, json.loads((self.work / "log.json").read_text(encoding="utf-8")))
            (self.work / "report.html").write_text(page, encoding="utf-8")
        state.wait_for_everyone()
        return read(folder)

    def lessons(self, part: parts.Part, *, labelled: bool = False) -> list[Lesson]:
        """What there is to learn from, or to check by."""
        labels = self.work / f"{part}.labels.jsonl" if labelled else None
        return lessons(self.work / f"{part}.jsonl", labels)

    def figures(self) -> dict[str, Any]:
        """The extractor's figures on validation, and before it learnt: the cosine, or the LLM."""
        recipe = self.work / "extractor" / "recipe.json"
        values = json.loads(recipe.read_text(encoding="utf-8"))
        if self.plan.form not in READERS:
            return {"extractor before": values["before"], "extractor after": values["after"]}
        cosine = score.Cosine(models.load(self.plan.embedder))
        some = [lesson for lesson in self.lessons("validation") if lesson.usable]
        plain = figures(Judged.of(o, cosine.scores(o.query, o.sentences)) for o in some)
        found = values["validation"]
        return {name: {**found[name], "auc_cosine": plain[name]["auc"]} for name in found}

    def _claim(self) -> None:
        """Note what ``work`` is of, or check that it says the same."""
        told = json.dumps({**asdict(self.plan), "data": [s.origin for s in self.sources]}, indent=1)
        path = self.work / "plan.json"
        self.work.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.read_text(encoding="utf-8") != told:
            raise InputError(f"work must be a new folder or that of this plan, got {self.work}")
        path.write_text(told, encoding="utf-8")

    def _gather(self) -> None:
        for part in ("train", "validation"):
            path = self.work / f"{part}.jsonl"
            if not path.is_file() and not write(path, gather(self.sources, part)):
                path.unlink()
                raise InputError(f"data must have a question with documents and answers in {part}")

    def _extractor(self) -> None:
        plan, folder = self.plan, self.work / "extractor"
        if (folder / "recipe.json").is_file():
            return
        taught = self.lessons("train")
        if plan.epsilon:
            embedder = models.load(plan.embedder)
            taught = [lesson.widened(embedder, plan.epsilon) for lesson in taught]
        given = taught, self.lessons("validation")
        epochs, seed = plan.epochs or EPOCHS[plan.form], plan.seed
        work, log = self.work / "extractor.work", self.work / "log.json"
        found: Sequence[Mapping[str, float]]
        if plan.form == "encoder":
            found = train_clues(
                folder, *given, work=work, encoder=plan.tuned, epochs=epochs, seed=seed
            ).log
        elif plan.form == "llm":
            found = train_clue_llm(
                folder, *given, work=work, llm=plan.tuned, epochs=epochs, seed=seed
            ).log
        else:
            tuning = Tuning(epochs=epochs, seed=seed)
            found = train_extractor(
                folder, *given, llm=plan.tuned, mode=_mode(plan.form), tuning=tuning
            )
        log.write_text(json.dumps({"extractor": found}), encoding="utf-8")

    def _label(self) -> None:
        """Ask the generator what it answers from."""
        with self._shared() as share:
            reader = Reader(share(models.load(self.plan.llm)))
            annotator = Annotator(reader, self._ranker(share), max_clues=CLUES, every=True)
            for part in ("train", "validation") if self.plan.reranker else ("validation",):
                self._ask(part, f"{part}.labels.jsonl", annotator)

    def _ranker(self, share: Share) -> Stage:
        """What puts sentences in the order that is cut."""
        plan, folder = self.plan, self.work / "extractor"
        if backend := READERS.get(plan.form):
            return score.Clues(share(models.load(f"{backend}:{folder}")))
        llm = share(models.load(plan.tuned, adapter=str(folder)))
        ranker = score.Cosine(share(models.load(plan.embedder)))
        return Pipeline(Extract(llm, mode=_mode(plan.form)), ranker)

    def _reranker(self) -> None:
        folder = self.work / "reranker"
        if not (folder / "recipe.json").is_file():
            train_reranker(
                folder,
                self.lessons("train", labelled=True),
                self.lessons("validation", labelled=True),
                work=self.work / "reranker.work",
                embedder=self.plan.embedder,
                seed=self.plan.seed,
            )

    def _answered(self, folder: Path) -> dict[str, Any]:
        """Accuracy and tokens over validation questions, from 5 documents and with the filter."""
        found = {}
        with self._shared() as share:
            llm = share(models.load(self.plan.llm))
            made = {"before": systems.top_documents(llm), "after": load(folder, llm, share=share)}
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
        # of questions that the extractor has learnt from, its scores are too good to fit a cut to
        odds = fit_odds(self.lessons("validation", labelled=True), max_clues=CLUES)
        return Trained(
            generator=Base(plan.llm, sha256_of(plan.llm)),
            embedder=Base(plan.embedder, sha256_of(plan.embedder)),
            extractor=self._part(),
            reranker=Part("embedder", plan.embedder, "reranker") if plan.reranker else None,
            cut=odds.to_dict(),
            options={"order": "score", **({"min_score": 0.0} if plan.form in READERS else {})},
            data=tuple(map(_counted, self.sources)),
            split=Split(parts.SALT, parts.RULE),
            training=asdict(plan),
            figures=self.figures(),
            versions={name: version(name) for name in LIBRARIES},
        )

    def _part(self) -> Part:
        plan = self.plan
        if backend := READERS.get(plan.form):
            return Part(backend, "extractor")
        return Part("llm", plan.tuned, "extractor", _mode(plan.form))

    def _ask(self, part: str, name: str, process: Process) -> list[Done]:
        """Ask about questions of ``part``, those excepted that an earlier start has asked."""
        label = f"{name} of {json.dumps(asdict(self.plan), sort_keys=True)}"
        with Batch(self.work / f"{part}.jsonl", self.work / name, label=label) as batch:
            limit = self.plan.labelled
            done = batch.run(process, workers=self.workers, limit=limit)
            found = self.told(name, done, batch.total(limit)) if self.told else [*done]
        if errors := [d.error for d in found if d.error]:
            raise errors[0]
        return found

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
