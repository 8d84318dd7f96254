"""Oracles: systems that know the gold answers, and show what a filter or a critic could reach."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.run.batch import accuracy
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import preset, system
from ragsieve.types import Query
from ragsieve_research.answer.agent import Argument
from ragsieve_research.answer.critic import Judgement
from ragsieve_research.answer.parts import plain
from ragsieve_research.peers.ablations import Clustering, Merging, winnowrag_ablated
from ragsieve_research.score.inclusion import CXMI, Inclusion
from ragsieve_research.systems.filco import best, filtering


@system("oracle", needs="gold answers")
def oracle(
    llm: LLM,
    answers: Mapping[str, Sequence[str]],
    *,
    documents: int | None = None,
    k: int | None = None,
) -> System:
    """Keep the sentences that hold a gold answer; for `bench`.

    Args:
        llm: The generator.
        answers: Gold answers by question.
        documents: So many of the first documents are read; all where None, not negative.
        k: So many sentences stay at most; all where None, not negative.

    Raises:
        InputError: If an option breaks its rule.

    Source: FILCO (arXiv 2311.08377), section 2: the silver context by StrInc, of the first 5
        documents with ``k`` 1.
    Differs: See `ragsieve_research.score.inclusion.Inclusion`.
    """
    measure = Inclusion(answers)
    stages: list[Stage] = [
        *([] if documents is None else [select.TopK(documents)]),
        split.Sentences(),
        measure,
        select.Threshold(measure.least),
        *([] if k is None else [select.TopK(k)]),
        select.Order("document"),
    ]
    return System(Pipeline(*stages), Reader(llm))


preset(
    "filco-strinc",
    oracle,
    "Keep the first sentence with a gold answer; for `bench`",
    paper="arXiv 2311.08377",
    documents=5,
    k=1,
)


@system("filco-cxmi", needs="LLM, gold answers", paper="arXiv 2311.08377", calls="loglik")
def filco_cxmi(
    llm: LLM,
    answers: Mapping[str, Sequence[str]],
    *,
    documents: int = 5,
    k: int = 1,
) -> System:
    """Keep the sentence that makes the gold answer likeliest; for `bench`.

    Args:
        llm: The generator; it has `loglik`.
        answers: Gold answers by question.
        documents: So many of the first documents are read; not negative.
        k: So many sentences stay at most; the paper's 1.

    Raises:
        InputError: If an option breaks its rule.
        Unsupported: When it runs, if the model has no `loglik`.

    Source: FILCO (arXiv 2311.08377), section 2: the silver context by CXMI.
    Differs: A sentence that makes the answer less likely goes even where it is the best; the
        authors' code keeps it.
    """
    return filtering(llm, documents, *best(CXMI(llm, answers), k))


@system("winnowrag-oracle", needs="LLM, embedder, gold answers", paper="arXiv 2511.04700v1")
def winnowrag_oracle(
    llm: LLM,
    embedder: Embedder,
    answers: Mapping[str, Sequence[str]],
    *,
    documents: int = 50,
    clusters: int = 10,
    rounds: int = 3,
    clustering: Clustering = "query",
    merging: Merging = "strategic",
    seed: int = 0,
) -> System:
    """WinnowRAG with a critic that knows the gold answers; for `bench`.

    Args:
        llm: The agents.
        embedder: Embeds documents together with the question.
        answers: Gold answers by question.
        documents: See `winnowrag_ablated`, as for what follows.
        clusters: K.
        rounds: M.
        clustering: How documents are divided.
        merging: How agents are merged.
        seed: Of what is drawn.

    Raises:
        InputError: If an option breaks its rule.
    """
    return winnowrag_ablated(
        llm,
        embedder,
        critic=Oracle(answers),
        documents=documents,
        clusters=clusters,
        rounds=rounds,
        clustering=clustering,
        merging=merging,
        seed=seed,
    )


@dataclass(frozen=True)
class Oracle:
    """A critic that knows the gold answers: what the algorithm could reach with a perfect one.

    Args:
        answers: Gold answers by question.
    """

    answers: Mapping[str, Sequence[str]] = field(repr=False)

    def same(self, query: Query, answers: Sequence[str], /) -> list[list[int]]:
        """Right answers are the same; wrong ones where they are plainly so."""
        groups: dict[str | None, list[int]] = defaultdict(list)
        for place, answer in enumerate(answers):
            groups[None if self._right(query, answer) else plain(answer)].append(place)
        return sorted(groups.values())

    def judge(self, query: Query, arguments: Sequence[Argument], /) -> Judgement:
        """Incorrect is what holds no gold answer; the first that holds one is consistent."""
        right = [self._right(query, argument.answer) for argument in arguments]
        wrong = tuple(place for place, known in enumerate(right) if not known)
        if any(right):
            return Judgement(wrong, "", arguments[right.index(True)].answer)
        return Judgement(wrong, "None of the answers given so far is right.")

    def by_pairs(
        self, query: Query, arguments: Sequence[Argument], disputed: Sequence[int], /
    ) -> Judgement:
        """As `judge`, which leaves none disputed."""
        return self.judge(query, arguments)

    def pick(self, query: Query, answers: Sequence[str], /) -> int:
        """The first right answer; the first, if none is right."""
        right = [self._right(query, answer) for answer in answers]
        return right.index(True) if any(right) else 0

    def _right(self, query: Query, answer: str) -> bool:
        return accuracy(answer, self.answers.get(query.text, ())) == 1
