"""RankGPT and PE-Rank: a language model ranks the documents, the first ones stay."""

from __future__ import annotations

from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, ListwiseReranker
from ragsieve.models.wrap import unwrap
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve_research.score.listwise import Listwise, Mode, as_reranker


@system("rankgpt", needs="LLM", paper="arXiv 2304.09542")
def rankgpt(
    llm: LLM,
    *,
    ranker: LLM | ListwiseReranker | None = None,
    mode: Mode = "write",
    k: int = 5,
    window: int = 20,
    step: int = 10,
) -> System:
    """Keep the first 5 documents in the order that the LLM gives them, 20 at a time.

        documents ─ order the last 20 ─ order the 20 that begin 10 before ─ … ─ first k ─ answer

    Args:
        llm: The generator.
        ranker: Orders: an LLM that is asked, or a model trained to order lists; ``llm`` where None.
        mode: Whether it writes the order or is asked for the probability of each identifier; see
            `ragsieve_research.score.listwise.Permuting`.
        k: So many of the ordered documents stay.
        window: Documents ordered at once.
        step: By which the window moves to the head of the list.

    Raises:
        InputError: If an option breaks its rule.

    Source: RankGPT (arXiv 2304.09542), sections 3.1 and 3.2: windows of 20, steps of 10.
    Differs: See `ragsieve_research.score.listwise.Permuting`.
    """
    return _ordered(llm, as_reranker(ranker or llm, mode), k, window, step)


@system("pe-rank", needs="listwise reranker", paper="arXiv 2406.14848")
def pe_rank(
    llm: LLM,
    *,
    ranker: ListwiseReranker | None = None,
    k: int = 5,
    window: int = 20,
    step: int = 10,
) -> System:
    """Keep the first 5 documents in the order of a model that reads each as one vector.

        documents ─ vectors as tokens ─ order the last 20 ─ … ─ first k ─ answer

    Args:
        llm: The generator.
        ranker: Orders; the published weights of 7 billion parameters where None, loaded when they
            are first needed.
        k: So many of the ordered documents stay.
        window: Documents ordered at once.
        step: By which the window moves to the head of the list.

    Raises:
        InputError: If an option breaks its rule.
        MissingExtra: If there is no ranker and its packages are not installed.

    Source: PE-Rank (arXiv 2406.14848), section 3; windows of 20, steps of 10.
    Differs: See `ragsieve_research.models.pe_rank.PERank`.
    """
    if ranker is None:
        from ragsieve_research.models.pe_rank import PERank

        ranker = PERank()
    if not hasattr(unwrap(ranker), "rank"):
        raise InputError(f"ranker must be a model that orders lists, got {ranker!r:.80}")
    return _ordered(llm, ranker, k, window, step)


def _ordered(llm: LLM, ranker: ListwiseReranker, k: int, window: int, step: int) -> System:
    return System(Pipeline(Listwise(ranker, window, step), select.TopK(k)), Reader(llm))
