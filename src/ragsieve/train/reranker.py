"""Train the reranker: a bi-encoder learns which clues the generator answers from.

Source: FineFilter (arXiv 2502.11811v4), section 4.2.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import peft
    import sentence_transformers
    import transformers
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
    from sentence_transformers.sentence_transformer.losses import DistillKLDivLoss
    from sentence_transformers.util import pairwise_cos_sim
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "datasets", extra="train") from error

from ragsieve.errors import InputError
from ragsieve.models import store
from ragsieve.models.base import Embedder
from ragsieve.models.loading import found_device, loaded, marked
from ragsieve.models.sentence_transformers import SentenceTransformer
from ragsieve.text import safe
from ragsieve.train.examples import TrainingExample
from ragsieve.train.resuming import Clock, last_checkpoint

RECIPE = "recipe.json"
_LOGGED = ("step", "loss", "first", "pairs", "seconds")
_WARMUP = 0.1  # of all steps at most: few labels give few


class Pair(NamedTuple):
    """A question, a sentence that the generator answers it from, and one that it does not."""

    question: str
    useful: str
    useless: str


@dataclass(frozen=True)
class Ranked:
    """How well a bi-encoder ranks clues, where some of a question's are useful and some are not.

    Args:
        questions: That it was measured on.
        first: Share of questions with a useful clue first (Hit@1), in [0, 1].
        pairs: Share of pairs of a useful and another clue in the right order, in [0, 1].
    """

    questions: int
    first: float
    pairs: float


@dataclass(frozen=True)
class _Options:
    """What `train_reranker` was asked for; the recipe keeps it."""

    embedder: str
    epochs: int
    batch_size: int
    learning_rate: float
    warmup_steps: int
    rank: int | None
    temperature: float
    extra_negatives: int
    seed: int

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "rank"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value!r}")
        for name in ("learning_rate", "temperature"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be over 0, got {getattr(self, name)!r}")
        for name in ("warmup_steps", "extra_negatives"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)!r}")


def train_reranker(
    folder: Path,
    lessons: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    *,
    work: Path,
    embedder: str = "minilm",
    epochs: int = 4,
    batch_size: int = 64,
    learning_rate: float = 2e-5,
    warmup_steps: int = 1000,
    rank: int | None = 16,
    temperature: float = 1.0,
    extra_negatives: int = 0,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Tune a bi-encoder so that useful clues come before others, and write it to ``folder``.

    The loss of a pair is ``-log(e^(sim(q, s+) / T) / (e^(sim(q, s+) / T) + e^(sim(q, s-) / T)))``,
    sim the cosine. After every epoch the pairs of ``validation`` are put in order; the best epoch
    stays. ``folder`` then holds a PEFT adapter for ``ragsieve.models.load(embedder,
    adapter=folder)``, or where ``rank`` is None a model; and ``recipe.json``: options, counts,
    figures before and after, and the log.

    Args:
        folder: Made if missing.
        lessons: To learn from, with labels of the generator.
        validation: To choose the epoch by; of other questions.
        work: Checkpoints; a run that was ended goes on from the last.
        embedder: A named bi-encoder, a folder or a hub id.
        epochs: How often all pairs are read.
        batch_size: Pairs a step, on each device.
        learning_rate: The highest; it falls to 0 in a line.
        warmup_steps: In which it rises; a tenth of all steps at most.
        rank: Of the LoRA matrices in all linear maps; None tunes all weights.
        temperature: T; the paper has none, that is 1.
        extra_negatives: Of each question so many sentences without an answer are negatives, too,
            see `pairs`; the paper's 0.
        seed: Of the adapter, the order of pairs and dropout.

    Returns:
        A line for each epoch, from 0, before training: ``epoch``, ``step``, ``loss``, ``first``
        and ``pairs`` of `Ranked`, ``seconds`` of training so far.

    Raises:
        InputError: If an option breaks its rule, there is no pair to learn from or to choose by,
            or ``work`` holds checkpoints of other options.
        ModelError: If the model cannot be loaded.

    Source: FineFilter (arXiv 2502.11811v4), section 4.2.
    """
    options = _Options(
        embedder,
        epochs,
        batch_size,
        learning_rate,
        warmup_steps,
        rank,
        temperature,
        extra_negatives,
        seed,
    )
    given, left_out = pairs(lessons, extra_negatives=extra_negatives, seed=seed)
    if not given:
        raise InputError(f"no pair of clues to learn from in {len(lessons)} questions: {left_out}")
    before = measure(validation, SentenceTransformer(embedder))
    trainer = _trainer(options, given, validation, work)
    if trainer.is_world_process_zero():
        _claim(work, {**asdict(options), "pairs": len(given)})
    trainer.train(resume_from_checkpoint=last_checkpoint(work))
    log = [{"epoch": 0, "step": 0, **_figures(before), "seconds": 0.0}, *_log(trainer)]
    if trainer.is_world_process_zero():
        _save(trainer.model, folder, options)
        tuned = SentenceTransformer(embedder, adapter=str(folder)) if rank else None
        after = measure(validation, tuned or SentenceTransformer(str(folder)))
        recipe = {
            "part": "reranker",
            "base": marked(embedder),
            "options": asdict(options),
            "questions": {"given": len(lessons), **left_out, "pairs": len(given)},
            "validation": {"before": asdict(before), "after": asdict(after)},
            "step": trainer.state.best_global_step,
            "log": log,
        }
        (folder / RECIPE).write_text(json.dumps(recipe, indent=1), encoding="utf-8")
    return log


def pairs(
    lessons: Sequence[TrainingExample], *, extra_negatives: int = 0, seed: int = 0
) -> tuple[list[Pair], dict[str, int]]:
    """Each useful clue with each other one, and how many questions give no pair, and why.

    Extra negatives of a question are sentences without an answer: first those of its ranking, best
    first, which are the hard ones, then others at random. With them a question whose clues are all
    useful gives pairs, too.
    """
    draw = random.Random(seed)
    found: list[Pair] = []
    left_out: Counter[str] = Counter(no_clue=0, none_useful=0, all_useful=0)
    for lesson in lessons:
        useful, useless = _sides(lesson)
        if useful and extra_negatives:
            useless += _others(lesson, draw)[:extra_negatives]
        question, text = lesson.query.text, [s.text for s in lesson.sentences]
        found += [Pair(question, text[a], text[b]) for a in useful for b in useless]
        if not useful or not useless:
            left_out["all_useful" if useful else "none_useful" if useless else "no_clue"] += 1
    return found, dict(left_out)


def measure(lessons: Sequence[TrainingExample], embedder: Embedder) -> Ranked:
    """How well ``embedder`` ranks the clues of those questions where only some are useful.

    Raises:
        InputError: If there is no such question.
    """
    mixed = [lesson for lesson in lessons if all(_sides(lesson))]
    if not mixed:
        raise InputError(f"in none of {len(lessons)} questions are some clues useful, some not")
    questions = embedder.embed([lesson.query.text for lesson in mixed], query=True)
    texts = [[x.sentences[n].text for side in _sides(x) for n in side] for x in mixed]
    vectors = iter(embedder.embed([text for some in texts for text in some]))
    first, right = [], []
    for lesson, question, some in zip(mixed, questions, texts, strict=True):
        cosines = np.array([next(vectors) @ question for _ in some])
        positive, negative = np.split(cosines, [len(_sides(lesson)[0])])
        first.append(positive.max() > negative.max())
        right += (positive[:, None] > negative[None, :]).ravel().tolist()
    return Ranked(len(mixed), float(np.mean(first)), float(np.mean(right)))


def _sides(lesson: TrainingExample) -> tuple[list[int], list[int]]:
    """Places of useful and of other clues; none where the answer is yes or no."""
    asked = [] if lesson.asks_whether else sorted(lesson.useful)
    return [n for n in asked if lesson.useful[n]], [n for n in asked if not lesson.useful[n]]


def _others(lesson: TrainingExample, draw: random.Random) -> list[int]:
    clues = {*lesson.clues, *lesson.useful}
    hard = [n for n in lesson.ranking if n not in clues]
    easy = sorted(set(range(len(lesson.sentences))) - clues - set(hard))
    return [*hard, *draw.sample(easy, len(easy))]


def _claim(work: Path, wanted: dict[str, Any]) -> None:
    """Say in ``work`` what it is for: checkpoints of other options would give another model."""
    work.mkdir(parents=True, exist_ok=True)
    path = work / "options.json"
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != wanted:
        raise InputError(f"work={str(work)!r} holds checkpoints of other options: name another")
    path.write_text(json.dumps(wanted), encoding="utf-8")


def _trainer(
    options: _Options, given: Sequence[Pair], validation: Sequence[TrainingExample], work: Path
) -> SentenceTransformerTrainer:
    transformers.set_seed(options.seed)  # the adapter's first weights are drawn here
    model = _model(options)
    steps = -(-len(given) // options.batch_size) * options.epochs
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(work),
        num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        warmup_steps=min(options.warmup_steps, int(steps * _WARMUP)),
        seed=options.seed,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="pairs",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=found_device() != "cpu",
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=_rows(given, model.prompts),
        loss=_loss(model, options.temperature),
        evaluator=_Evaluator(validation),
        callbacks=[Clock()],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def _model(options: _Options) -> Any:
    model = loaded(
        options.embedder,
        sentence_transformers.SentenceTransformer,
        str(store.resolve(options.embedder)),
        model_kwargs={"use_safetensors": True},
        trust_remote_code=False,
    )
    if options.rank:
        adapter = peft.LoraConfig(
            task_type=peft.TaskType.FEATURE_EXTRACTION,
            r=options.rank,
            lora_alpha=2 * options.rank,
            target_modules="all-linear",
            exclude_modules=r".*pooler.*",  # is not on the way to a mean of tokens
        )
        model.add_adapter(adapter)
    return model


def _loss(model: Any, temperature: float) -> DistillKLDivLoss:
    """That of `train_reranker`, where the teacher is sure: see `_rows`."""
    return DistillKLDivLoss(model, lambda a, b: pairwise_cos_sim(a, b) / temperature)


def _rows(given: Sequence[Pair], prompts: dict[str, str]) -> Dataset:
    """Texts as the model reads them, and a teacher who is sure of the useful one.

    The divergence from a sure teacher is minus the log of what the model gives the useful one.
    """
    asked, told = prompts.get("query") or "", prompts.get("document") or ""
    rows = {
        "question": [asked + safe(pair.question) for pair in given],
        "useful": [told + safe(pair.useful) for pair in given],
        "useless": [told + safe(pair.useless) for pair in given],
        "label": [[0.0, -np.inf]] * len(given),
    }
    return Dataset.from_dict(rows)


class _Evaluator(SentenceEvaluator):
    """`measure` as the trainer calls it."""

    def __init__(self, lessons: Sequence[TrainingExample]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lessons = lessons
        self.primary_metric = "pairs"

    def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
        """The figures of ``model``."""
        return _figures(measure(self.lessons, _Encoder(model)))


@dataclass(frozen=True)
class _Encoder:
    """The model in training as an embedder."""

    model: Any
    identity: str = "in training"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Unit vectors of ``texts``, ``(len(texts), dim)``."""
        encode = self.model.encode_query if query else self.model.encode_document
        found = encode(list(map(safe, texts)), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, np.float32)


def _figures(ranked: Ranked) -> dict[str, float]:
    return {"first": ranked.first, "pairs": ranked.pairs}


def _log(trainer: SentenceTransformerTrainer) -> list[dict[str, Any]]:
    """The lines of each epoch as one."""
    found: dict[int, dict[str, Any]] = {}
    for line in trainer.state.log_history:
        if "loss" in line or "eval_pairs" in line:
            values = {key.removeprefix("eval_"): value for key, value in line.items()}
            row = found.setdefault(round(line["epoch"]), {})
            row.update((name, values[name]) for name in _LOGGED if name in values)
    return [{"epoch": epoch, **row} for epoch, row in found.items()]


def _save(model: Any, folder: Path, options: _Options) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if options.rank is None:
        model.save_pretrained(str(folder), create_model_card=False)
        return
    model[0].auto_model.save_pretrained(folder)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = options.embedder  # else the path on this machine
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
