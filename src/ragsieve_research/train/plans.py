"""Options of the trainings, which need no library of training to be read.

A field is an option: in Python, on the command line and in what a training writes.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from ragsieve.errors import InputError
from ragsieve.schema import Amount, Count, Positive, Share, Weight
from ragsieve.types import Example, Query
from ragsieve_research.artifacts.recipe import Base, Form
from ragsieve_research.artifacts.weights import verify
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.options import EmbedderName, LLMName, Options
from ragsieve_research.train.run import first_documents

PRUNER: Literal["pruner"] = "pruner"  # the form of extractor that reads once

MODES = ("point", "write")  # the forms in which an LLM names sentences

EPOCHS = 16  # of those, as in the paper

Context = Literal["relevant", "mixed", "irrelevant"]

Target = Literal["answer", "rationale", "informative"]

By = Literal["strinc", "lexical", "cxmi", "ib"]

FORMS = ("light", "llm")


def distances(epsilon: str) -> dict[str, float]:
    """Cosine distances by the name of a data set; that of all others under the empty name.

    Args:
        epsilon: As ``"0.1"`` or ``"triviaqa=0.05,hotpotqa=0.1"``; 0 for others that none names.

    Raises:
        InputError: If a distance is not from 0 to 2.
    """
    pairs = [one.strip().rpartition("=") for one in epsilon.split(",")]
    try:
        named = {name: float(value) for name, _, value in pairs}
    except ValueError:
        named = {"": math.nan}
    if not all(0 <= value <= 2 for value in named.values()):
        raise InputError(f"epsilon must be from 0 to 2, or NAME=DISTANCE,…, got {epsilon!r}")
    return {"": 0.0, **named}


@dataclass(frozen=True, kw_only=True)
class Reranking(Options):
    """Options of tuning a bi-encoder to rank clues.

    Args:
        epochs: How often all pairs are read; at least 1.
        batch_size: Pairs a step, on each device; at least 1.
        learning_rate: The highest, over 0; it falls to 0 in a line.
        warmup_steps: In which it rises; a tenth of all steps at most.
        rank: Of the LoRA matrices in all linear maps; 0 tunes all weights, as the paper does, with
            a learning rate of 2e-5 and a temperature of 1.
        temperature: T of the loss, over 0; the paper has none, that is 1.
        extra_negatives: Of each question so many sentences without an answer are negatives, too,
            see `pairs`; the paper's 0.
        seed: Of the adapter, the order of pairs and dropout.

    Raises:
        InputError: If an option breaks its rule.
    """

    epochs: Count = 4
    batch_size: Count = 64
    learning_rate: Positive = 1e-3
    warmup_steps: Amount = 1000
    rank: Amount = 16
    temperature: Positive = 0.05
    extra_negatives: Amount = 0
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class QuestionsPlan(Options):
    """Options of every training by a generator on some of the questions.

    Args:
        llm: The generator.
        limit: Only so many questions to learn from, and a fifth of that to choose by; all where
            None.
        epochs: How often all questions are read; at least 1.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: LLMName = "smollm2"
    limit: Count | None = None
    epochs: Count = 2
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class FineFilterPlan(QuestionsPlan):
    """Options of training FineFilter.

    Args:
        llm: The generator: by its word parts learn, and it answers; it may be behind a server.
        embedder: A bi-encoder: ranks what an LLM names; what a reranker is made of.
        extractor: What it is: a sentence pruner, as it is (``"pruner"``, which comes with the
            package, or ``"pruner:"`` with a folder of ``ragsieve train pruner``), or an LLM that is
            tuned to name sentences (``"point"``, ``"write"``, the paper's; ``"write:MODEL"`` where
            that is another than ``llm``).
        epsilon: Sentences at most this cosine distance from one with an answer are clues, too, from
            0 to 2; by data set where it is ``"NAME=0.05,NAME=0.1"``, with 0 for the others. See
            `ragsieve_research.train.targets.clues`.
        reranker: Train ``embedder``, too, behind an extractor that names sentences.
        truncator: The LLM that is tuned to choose how many sentences stay; none where empty, and a
            cut is fitted to the ranks' scores.
        epochs: Of an LLM as extractor or truncator; at least 1.
        labelled: So many questions of each part at most the generator answers, again and again:
            those of validation for the cut, those of training where an LLM or a reranker learns
            from them; all where None.
        reranking: How the reranker is tuned, by the seed above.

    Raises:
        InputError: If an option breaks its rule.
    """

    embedder: EmbedderName = "minilm"
    extractor: str = PRUNER
    epsilon: str = "0"
    reranker: bool = False
    truncator: LLMName = ""
    epochs: Count = EPOCHS
    labelled: Count | None = None
    reranking: Reranking = field(default_factory=Reranking)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in (PRUNER, *MODES):
            known = ", ".join(f"{form}[:MODEL]" for form in (PRUNER, *MODES))
            raise InputError(f"extractor must be one of {known}, got {self.extractor!r}")
        learning = {"reranker": self.reranker, "truncator": self.truncator, "epsilon": self.widens}
        for name, wanted in learning.items() if self.form == PRUNER else ():
            if wanted:
                raise InputError(f"{name} needs extractor point or write, got {self.extractor!r}")
        tuned = {"extractor": self.tuned, "truncator": self.truncator}
        tuned = {k: v for k, v in tuned.items() if v and self.form in MODES}
        for name in (self.llm, self.embedder, *tuned.values()):
            verify(Base(name))  # a name that could not be found again
        if tuned:
            from ragsieve_research.train.sft import tunable

            for option, name in tuned.items():
                tunable(name, option)

    @property
    def form(self) -> str:
        """Kind of the extractor."""
        return self.extractor.partition(":")[0]

    def check_data(self, names: Collection[str]) -> None:
        """Raise `InputError` where ``epsilon`` names a data set that is not among ``names``."""
        if other := [name for name in distances(self.epsilon) if name and name not in names]:
            known = ", ".join(names)
            raise InputError(f"epsilon must name data sets among {known}, got {other[0]!r}")

    @property
    def widens(self) -> bool:
        """Whether sentences near to a clue are clues in any data set."""
        return any(distances(self.epsilon).values())

    def epsilon_of(self, query: Query) -> float:
        """The distance for a question, whose id begins with the name of its data set."""
        known = distances(self.epsilon)
        return known.get(query.id.partition(":")[0], known[""])

    @property
    def mode(self) -> Literal["point", "write"]:
        """The form in which an LLM names sentences."""
        return "write" if self.form == "write" else "point"

    @property
    def tuned(self) -> str:
        """The model that extracts: the pruner as it is, or the LLM that is tuned for it."""
        if self.form == PRUNER:
            return self.extractor
        return self.extractor.partition(":")[2] or self.llm


@dataclass(frozen=True, kw_only=True)
class RecompPlan(QuestionsPlan):
    """Options of training an extractive compressor.

    Args:
        llm: The generator, by whose likelihoods it learns; it has `loglik`.
        embedder: The bi-encoder that is tuned, and finds hard negatives before.
        documents: So many of the first documents of a question are read; at least 1.
        negatives: So many sentences of a question at most are negatives; at least 1.
        margin: By so much less than the best one a negative raises the answer's log-likelihood, in
            nats; not negative. Ours: the paper names none that we know.
        epochs: How often all pairs are read; at least 1.

    Raises:
        InputError: If an option breaks its rule.
    """

    embedder: EmbedderName = "minilm"
    documents: Count = 5
    negatives: Count = 5
    margin: Weight = 1.0
    epochs: Count = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedder.startswith("fake:"):
            raise InputError(f"embedder must be one that can be tuned, got {self.embedder!r}")


@dataclass(frozen=True, kw_only=True)
class GeneratorPlan(QuestionsPlan):
    """Options of tuning a generator: its evidence and its replies.

    The papers' ways: supervised fine-tuning is ``"relevant"`` and ``"answer"``; RetRobust
    ``"mixed"`` and ``"answer"``, with 1 document; InstructRAG-FT ``"relevant"`` and
    ``"rationale"``; SAIL ``"relevant"`` and ``"informative"``.

    Args:
        llm: The generator that is tuned: a local one.
        context: Which documents stand before a question: ``"relevant"``: the first that were
            retrieved for it; ``"irrelevant"``: the first of another question, those with the answer
            left out; ``"mixed"``: by chance, a third each, the first, the last of its own, or
            another's.
        target: What is replied: ``"answer"``; ``"rationale"``: which documents help and why, as the
            model itself explains it, knowing the answer, then the answer; ``"informative"``: the
            numbers of the documents that are informative, then the answer.
        documents: So many stand in a context; at least 1.
        merged: Whether the whole model is written, so that ``transformers:FOLDER`` loads it, or the
            adapter alone.
    """

    context: Context = "relevant"
    target: Target = "answer"
    documents: Count = 5
    merged: bool = True


@dataclass(frozen=True, kw_only=True)
class WriterPlan(QuestionsPlan):
    """Options of tuning a model that writes filtered text.

    Args:
        by: FILCO's: the sentence with a gold answer (``"strinc"``), that shares most words with it
            (``"lexical"``) or makes it likeliest (``"cxmi"``); BottleNeck's: the text that the
            information bottleneck rates best (``"ib"``).
        llm: The model that is tuned: a local one.
        generator: By whose likelihoods ``"cxmi"`` and ``"ib"`` choose; ``llm`` where empty.
        beta: How much the answer counts against brevity, for ``"ib"``; see
            `ragsieve_research.score.bottleneck`.
        documents: So many of the first documents of a question are read; at least 1.

    Raises:
        InputError: If an option breaks its rule.
    """

    by: By = "strinc"
    generator: LLMName = ""
    beta: Weight = 1.0
    documents: Count = 5

    @property
    def system(self) -> str:
        """Whose filter model it is."""
        return "bottleneck" if self.by == "ib" else "filco"


@dataclass(frozen=True, kw_only=True)
class ExitPlan(QuestionsPlan):
    """Options of tuning an LLM to judge sentences.

    Args:
        llm: The local model that is tuned, by LoRA.
        window: Tokens of a document that are read with a sentence; at least 1.
        layers: Upper share of its layers that is tuned, in (0, 1]; 1/3 takes about half the time.
        documents: So many of the first documents of a question are read; at least 1.
        epochs: How often all samples are read; at least 1.
        merged: Whether the whole model is written, so that ``transformers:FOLDER`` loads it, or the
            adapter alone.

    Raises:
        InputError: If an option breaks its rule.
    """

    window: Count = 512
    layers: Share = 1.0
    documents: Count = 5
    epochs: Count = 1
    merged: bool = True

    def teaches(self, example: Example) -> bool:
        """Whether a question has sentences with an answer, and others."""
        return TrainingExample.of(first_documents(self.documents)(example, ())).usable


@dataclass(frozen=True, kw_only=True)
class PrunerPlan(Options):
    """Options of training a sentence pruner.

    Args:
        base: What it goes on from: ``"pruner"``, which comes with the package, ``"pruner:"`` with a
            folder or hub id, a pruner's folder; or the name, folder or hub id of an encoder.
        limit: Only so many questions to learn from; all where None.
        epochs: How often each is read; at least 1.
        batch: Questions a step; at least 1.
        learning_rate: At its height, over 0.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    base: str = "pruner"
    limit: Count | None = None
    epochs: Count = 3
    batch: Count = 4
    learning_rate: Positive = 3e-5
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RouterPlan(QuestionsPlan):
    """Options of training a router.

    Args:
        llm: The generator, by whose answers it learns.
        embedder: A bi-encoder: embeds questions, and finds the best evidence of each source.
        form: ``"light"``: regressions on the question's embedding; ``"llm"``: an LLM by LoRA,
            ``llm`` itself, or the one behind a colon.
        limit: Only so many questions to learn from, and a fifth of that to measure by; all where
            None.
        epochs: Of an LLM; at least 1.

    Raises:
        InputError: If an option breaks its rule.
    """

    embedder: EmbedderName = "minilm"
    form: str = "light"

    def __post_init__(self) -> None:
        if self.form not in FORMS and not self.form.startswith("llm:"):
            raise InputError(f"form must be light, llm or llm:MODEL, got {self.form!r}")
        super().__post_init__()
        for name in {self.llm, self.embedder, self.base}:
            verify(Base(name))  # a name that could not be found again
        if self.kind == "llm":
            from ragsieve_research.train.sft import tunable

            tunable(self.base)

    @property
    def kind(self) -> Form:
        """The form without its model."""
        return "light" if self.form == "light" else "llm"

    @property
    def base(self) -> str:
        """The model that the router asks: its embedder, or the LLM that is tuned."""
        if self.kind == "light":
            return self.embedder
        return self.form.partition(":")[2] or self.llm
