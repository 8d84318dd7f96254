"""RECOMP's extractive compressor: rank sentences by the likelihood of the generator's answer."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve import models
from ragsieve.models.base import LLM, Embedder
from ragsieve.score.embedding import Cosine
from ragsieve.types import Example, Segment
from ragsieve_research.artifacts.recipe import place
from ragsieve_research.score.inclusion import gains
from ragsieve_research.train.artifacts import check_free, model_dir, recipe_of
from ragsieve_research.train.examples import TrainingExample, gold
from ragsieve_research.train.plans import RecompPlan, Reranking
from ragsieve_research.train.run import PARTS, Run, first_documents, labels_of
from ragsieve_research.train.targets import sentences_of

_USE = """\
It ranks sentences by how much likelier they make this generator's right answer (RECOMP, arXiv \
2310.04408).

    ragsieve ask --system recomp --embedder sentence_transformers:FOLDER …

Below, `first` and `pairs` are of the best sentence against those that fall short and were nearest \
to the question before; `gain` is by how many nats the first of all sentences raises the answer's \
log-likelihood, `most` what the best one would."""
BATCH = 16  # pairs: all weights of MiniLM take 9 GB with the 64 of `Reranking`


@dataclass(frozen=True)
class SentenceLabeller:
    """The sentence of a question after which the answer is likeliest, and those that do far less.

    Args:
        llm: The generator.
        embedder: Says which negatives are hard: those nearest to the question.
        negatives: See `RecompPlan`; so for ``margin``.
        margin: In nats.

    Source: RECOMP (arXiv 2310.04408), section 3.1.
    Differs: By the likelihood for questions, too; the labels of the authors' code for them say
        whether the generator answers rightly.
    """

    llm: LLM
    embedder: Embedder
    negatives: int = 5
    margin: float = 1.0

    def __call__(self, example: Example) -> dict[str, Any]:
        """The labels as JSON values, as `ragsieve_research.train.run.Run.examples` reads them.

        Returns:
            ``sentences``: the document's id, start and end of each; ``gains`` of each, in nats;
            ``clues``: places of the positive and the negatives, hardest first, none where there
            is no such pair; ``useful``: which of these is the positive.
        """
        sentences, answer = sentences_of(example), gold(example.answers)
        raised = gains(self.llm, example.query, sentences, answer).tolist() if sentences else []
        clues = self._pair(example, sentences, raised)
        return {
            "sentences": [list(s.key) for s in sentences],
            "gains": [round(gain, 4) for gain in raised],
            "clues": clues,
            "useful": [place == 0 for place in range(len(clues))],
            **{"ranking": [], "scores": [], "right": [], "k": None},  # nothing is cut
        }

    def _pair(
        self, example: Example, sentences: Sequence[Segment], raised: Sequence[float]
    ) -> list[int]:
        best = int(np.argmax(raised)) if raised else 0
        worse = [n for n, gain in enumerate(raised) if gain < raised[best] - self.margin]
        if not worse:
            return []
        near = Cosine(self.embedder).scores(example.query, [sentences[n] for n in worse])
        hard = [worse[n] for n in np.argsort(-near, kind="stable").tolist()]
        return [best, *hard[: self.negatives]]


def train_recomp(folder: Path, plan: RecompPlan, run: Run) -> dict[str, Any]:
    """Label questions by the generator, tune the bi-encoder on them, and write it to ``folder``.

    ``models.load(f"sentence_transformers:{folder}")`` is the tuned model.

    Args:
        folder: New, or one of an earlier training; gets ``README.md``, the card, too.
        plan: How.
        run: What is read, and where it works.

    Returns:
        What ``recipe.json`` says: see `ragsieve_research.train.reranker.train_reranker`.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, or there is
            nothing to learn.
        ModelError: If a model fails.

    Source: RECOMP (arXiv 2310.04408), section 3.1.
    Differs: The loss is over pairs of the positive and a negative, 16 a step, not over all of a
        question's at once nor over those of others in the batch; similarity is a cosine over 0.05,
        not an inner product. MiniLM, where the paper begins from Contriever.
    """
    check_free(folder, "compressor")
    run.write_questions(plan.limit, first_documents(plan.documents))
    from ragsieve_research.train.reranker import train_reranker  # labels need none of its libraries

    with run.sharing() as share:  # let go before the bi-encoder needs the memory
        llm, embedder = share(models.load(plan.llm)), share(models.load(plan.embedder))
        labeller = SentenceLabeller(llm, embedder, plan.negatives, plan.margin)
        run.label("labels", labeller, by=labels_of("recomp", plan))
    examples = [labelled(run, part) for part in PARTS]
    options = Reranking(
        epochs=plan.epochs, batch_size=BATCH, learning_rate=2e-5, rank=0, seed=plan.seed
    )
    tuned = run.adapter(plan.embedder, options, examples)
    if not recipe_of(tuned):
        train_reranker(tuned, *examples, embedder=place(plan.embedder), options=options)
    recipe = recipe_of(tuned)
    names = {"before": plan.embedder, "after": f"sentence_transformers:{tuned}"}
    for name, model in names.items():
        recipe[name] |= first_gain(run, "validation", models.load(model))
    with model_dir(
        folder,
        recipe,
        plan,
        run.sources,
        title=f"An extractive compressor for {plan.llm}",
        use=_USE,
        base=plan.embedder,
        library="sentence-transformers",
    ) as fresh:
        shutil.copytree(tuned, fresh, dirs_exist_ok=True)
    return recipe


def labelled(run: Run, part: str) -> list[TrainingExample]:
    """Examples of ``part``: by `SentenceLabeller` the positive is useful, negatives are not."""
    return [replace(one, chosen=tuple(one.useful)) for one in run.examples(part, "labels")]


def first_gain(run: Run, part: str, embedder: Embedder) -> dict[str, float]:
    """Measure the help of the sentence that ``embedder`` puts first; of all, not of pairs.

    Returns:
        ``gain``: of its log-likelihood, in nats, the mean over questions; ``most``: that of the
        best sentence.
    """
    ranker, rows = Cosine(embedder), []
    for example, row in run.read(part, "labels"):
        if gained := row.get("gains"):
            first = int(np.argmax(ranker.scores(example.query, sentences_of(example))))
            rows.append((gained[first], max(gained)))
    gain, most = np.mean(rows, axis=0).tolist() if rows else (0.0, 0.0)
    return {"gain": gain, "most": most}
