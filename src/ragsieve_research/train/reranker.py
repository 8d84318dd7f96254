"""Train the reranker: a bi-encoder learns which clues the generator answers from.

Source: FineFilter (arXiv 2502.11811v4), section 4.2.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragsieve.errors import InputError, needs_extra

with needs_extra("train"):
    import peft
    import sentence_transformers
    import transformers
    from datasets import Dataset
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
    from sentence_transformers.sentence_transformer.losses import DistillKLDivLoss
    from sentence_transformers.util import pairwise_cos_sim

from ragsieve.models.base import Embedder
from ragsieve.models.callables import as_embedder
from ragsieve.text import safe
from ragsieve_research.models import store
from ragsieve_research.models.loading import available_device, loaded
from ragsieve_research.models.sentence_transformers import SentenceTransformer
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.plans import Reranking
from ragsieve_research.train.resuming import QUIET, Log, checkpoints, finish

_WARMUP = 0.1  # of all steps at most: few labels give few


class TextPair(NamedTuple):
    """A question, a sentence that the generator answers it from, and one that it does not."""

    question: str
    useful: str
    useless: str


def train_reranker(
    folder: Path,
    examples: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    *,
    embedder: str = "minilm",
    options: Reranking | None = None,
) -> Log:
    """Tune a bi-encoder so that useful clues come before others, and write it to ``folder``.

    The loss of a pair is ``-log(e^(sim(q, s+) / T) / (e^(sim(q, s+) / T) + e^(sim(q, s-) / T)))``,
    sim the cosine. After every epoch the pairs of ``validation`` are put in order; the best epoch
    stays. A run that was ended goes on from its last checkpoint, which lies beside ``folder`` until
    it ends. ``folder`` then holds a PEFT adapter for ``ragsieve.models.load(embedder,
    adapter=folder)``, or where ``rank`` is 0 a model; and ``recipe.json``: options, counts,
    figures before and after, and the log.

    Args:
        folder: Made if missing.
        examples: To learn from, with labels of the generator.
        validation: To choose the epoch by; of other questions.
        embedder: A named bi-encoder, a folder or a hub id.
        options: How; `Reranking`'s defaults where None.

    Returns:
        Two entries an epoch with ``step``, ``epoch`` and ``seconds``: one with the ``loss``, one
        with ``first`` and ``pairs`` of `measure`.

    Raises:
        InputError: If an option breaks its rule, or there is no pair to learn from or to choose by.
        ModelError: If the model cannot be loaded.

    Source: FineFilter (arXiv 2502.11811v4), section 4.2.
    Differs: The learning rate and the temperature are ours; the paper's 2e-5 is for all weights.
    """
    options = options or Reranking()
    learned, left_out = pairs(examples, extra_negatives=options.extra_negatives, seed=options.seed)
    if not learned:
        raise InputError(
            "train must have at least 1 pair of a useful clue and another, "
            f"got 0 in {len(examples)} questions: {left_out}"
        )
    before = measure(validation, SentenceTransformer(embedder))
    work = checkpoints(folder, embedder, options, learned)
    trainer = _trainer(embedder, options, learned, validation, work)

    def recipe() -> dict[str, Any]:
        lora = SentenceTransformer(embedder, adapter=str(folder)) if options.rank else None
        tuned = lora or SentenceTransformer(str(folder))
        return {
            "part": "reranker",
            "base": store.marked(embedder),
            "options": {"embedder": embedder, **asdict(options)},
            "questions": {"read": len(examples), **left_out, "pairs": len(learned)},
            "step": trainer.state.best_global_step,
            "before": before,
            "after": measure(validation, tuned),
        }

    return finish(trainer, folder, work, save=partial(_save, embedder=embedder), recipe=recipe)


def pairs(
    examples: Sequence[TrainingExample], *, extra_negatives: int = 0, seed: int = 0
) -> tuple[list[TextPair], dict[str, int]]:
    """Each useful clue with each other one, and how many questions give no pair, and why.

    Extra negatives of a question are sentences without an answer: first those of its ranking, best
    first, which are the hard ones, then others at random. With them a question whose clues are all
    useful gives pairs, too.
    """
    draw = random.Random(seed)
    learned: list[TextPair] = []
    left_out: Counter[str] = Counter(no_clue=0, none_useful=0, all_useful=0)
    for example in examples:
        useful, useless = _sides(example)
        if useful and extra_negatives:
            useless += _others(example, draw)[:extra_negatives]
        question, text = example.query.text, [s.text for s in example.sentences]
        learned += [TextPair(question, text[a], text[b]) for a in useful for b in useless]
        if not useful or not useless:
            left_out["all_useful" if useful else "none_useful" if useless else "no_clue"] += 1
    return learned, dict(left_out)


def measure(examples: Sequence[TrainingExample], embedder: Embedder) -> dict[str, float]:
    """Measure how ``embedder`` ranks the clues of questions where only some are useful.

    Returns:
        ``questions``: how many these are; ``first``: share of them with a useful clue first
        (Hit@1), ``pairs``: share of pairs of a useful and another clue in the right order, both in
        [0, 1].

    Raises:
        InputError: If there is no such question.
    """
    mixed = [example for example in examples if all(_sides(example))]
    if not mixed:
        raise InputError(
            "validation must have at least 1 question of which some clues are useful, some not, "
            f"got 0 of {len(examples)}"
        )
    questions = embedder.embed([safe(x.query.text) for x in mixed], query=True)
    texts = [[safe(x.sentences[n].text) for side in _sides(x) for n in side] for x in mixed]
    vectors = iter(embedder.embed([text for some in texts for text in some]))
    first, right = [], []
    for example, question, some in zip(mixed, questions, texts, strict=True):
        cosines = np.array([next(vectors) @ question for _ in some])
        positive, negative = np.split(cosines, [len(_sides(example)[0])])
        first.append(positive.max() > negative.max())
        right += (positive[:, None] > negative[None, :]).ravel().tolist()
    means = {"first": float(np.mean(first)), "pairs": float(np.mean(right))}
    return {"questions": len(mixed), **means}


def _sides(example: TrainingExample) -> tuple[list[int], list[int]]:
    """Places of useful and of other clues; none where the answer is yes or no."""
    clues = [] if example.asks_whether else sorted(example.useful)
    return [n for n in clues if example.useful[n]], [n for n in clues if not example.useful[n]]


def _others(example: TrainingExample, draw: random.Random) -> list[int]:
    clues = {*example.clues, *example.useful}
    hard = [n for n in example.ranking if n not in clues]
    easy = sorted(set(range(len(example.sentences))) - clues - set(hard))
    return [*hard, *draw.sample(easy, len(easy))]


def _trainer(
    embedder: str,
    options: Reranking,
    learned: Sequence[TextPair],
    validation: Sequence[TrainingExample],
    work: Path,
) -> sentence_transformers.SentenceTransformerTrainer:
    transformers.set_seed(options.seed)  # the adapter's first weights are drawn here
    model = _model(embedder, options.rank)
    steps = -(-len(learned) // options.batch_size) * options.epochs
    arguments = sentence_transformers.SentenceTransformerTrainingArguments(
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
        **QUIET,
        dataloader_pin_memory=available_device() != "cpu",
    )
    return sentence_transformers.SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=training_rows(learned, model.prompts),
        loss=training_loss(model, options.temperature),
        evaluator=_Evaluator(validation),
    )


def _model(embedder: str, rank: int | None) -> Any:
    model = loaded(
        embedder,
        sentence_transformers.SentenceTransformer,
        str(store.resolve(embedder)),
        model_kwargs={"use_safetensors": True},
        trust_remote_code=False,
    )
    if rank:
        adapter = peft.LoraConfig(
            task_type=peft.TaskType.FEATURE_EXTRACTION,
            r=rank,
            lora_alpha=2 * rank,
            target_modules="all-linear",
            exclude_modules=r".*pooler.*",  # is not on the way to a mean of tokens
        )
        model.add_adapter(adapter)
    return model


def training_loss(model: Any, temperature: float) -> DistillKLDivLoss:
    """That of `train_reranker`, where the teacher is sure: see `training_rows`."""
    return DistillKLDivLoss(model, lambda a, b: pairwise_cos_sim(a, b) / temperature)


def training_rows(learned: Sequence[TextPair], prompts: dict[str, str]) -> Dataset:
    """Texts as the model reads them, and a teacher who is sure of the useful one.

    The divergence from a sure teacher is minus the log of what the model gives the useful one.
    """
    query, document = prompts.get("query") or "", prompts.get("document") or ""
    rows = {
        "question": [query + safe(pair.question) for pair in learned],
        "useful": [document + safe(pair.useful) for pair in learned],
        "useless": [document + safe(pair.useless) for pair in learned],
        "label": [[0.0, -np.inf]] * len(learned),
    }
    return Dataset.from_dict(rows)


class _Evaluator(SentenceEvaluator):
    """`measure` as the trainer calls it."""

    def __init__(self, examples: Sequence[TrainingExample]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.examples = examples
        self.primary_metric = "pairs"

    def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
        """The figures of ``model``."""
        return measure(self.examples, as_embedder(model))


def _save(model: Any, folder: Path, embedder: str) -> None:
    """Write the adapter, or the model where it has none."""
    net = model[0].auto_model
    if not getattr(net, "peft_config", None):
        model.save_pretrained(str(folder), create_model_card=False)
        return
    net.save_pretrained(folder)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = embedder  # else the path on this machine
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
