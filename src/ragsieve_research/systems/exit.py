"""EXIT: an LLM judges whether each sentence, read within its document, helps."""

from __future__ import annotations

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve_research.score.helpful import Helpful, Wording


@system("exit", needs="LLM", paper="arXiv 2412.12559")
def exit_sentences(
    llm: LLM,
    *,
    extractor: LLM | None = None,
    min_score: float = 0.5,
    min_keep: int = 0,
    window: int = 512,
    wording: Wording = "own",
) -> System:
    """Keep the sentences of which an LLM says Yes, each read in its document.

        documents ─ sentences ─ p(Yes | question, document, sentence) ≥ 0.5 ─ in their order

    Args:
        llm: The generator; judges the sentences, too, unless another does.
        extractor: Judges them: an LLM that `ragsieve_research.train.exit` tuned, or one with its
            adapter.
        min_score: From which probability a sentence stays, in [0, 1]; the paper's τ.
        min_keep: At least so many sentences stay, the most probable ones.
        window: Tokens of a document that are read with a sentence.
        wording: ``"published"`` for an ``extractor`` of the paper's weights, as
            ``"transformers:google/gemma-2b-it+doubleyyh/exit-gemma-2b"``: its words.

    Raises:
        InputError: If an option breaks its rule.

    Source: EXIT (arXiv 2412.12559), section 3: splitting, classification in context, threshold,
        reassembly; τ = 0.5.
    Differs: The paper tunes Gemma-2B with HotpotQA's supporting sentences; without tuning a small
        model's probabilities say little. The published adapter was not tried here.
        `ragsieve_research.score.helpful.Helpful` says how long documents are read.
    """
    stages = Pipeline(
        split.Sentences(),
        Helpful(extractor or llm, window, wording),
        select.Threshold(min_score, min_keep),
        select.Order("document"),
    )
    return System(stages, Reader(llm))
