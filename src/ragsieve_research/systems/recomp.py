"""RECOMP's abstractive compressor; its extractive one is a preset of `top_sentences`."""

from __future__ import annotations

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve_research.systems.written import Write


@system("recomp-abstractive", needs="LLM", paper="arXiv 2310.04408")
def recomp_abstractive(
    llm: LLM,
    *,
    writer: LLM | None = None,
    documents: int = 5,
) -> System:
    """Have a model sum up the documents for the question; keep nothing where it writes nothing.

    A summary is no span of a document: it is a document of its own, marked as written, with what it
    was written from as its parents; see `ragsieve_research.systems.written`.

    Args:
        llm: The generator.
        writer: Writes the summary from question and documents alone: an encoder-decoder trained
            for it, as ``"seq2seq:fangyuan/nq_abstractive_compressor"``. Where None, ``llm`` does,
            with instructions.
        documents: So many of the first documents are read; not negative.

    Raises:
        InputError: If an option breaks its rule.

    Source: RECOMP (arXiv 2310.04408), section 3.2, the abstractive compressor, and figure 1; the
        plain prompt is that of the authors' code.
    Differs: Untrained without a ``writer``: the paper has T5-large learn from GPT-3.5's summaries.
        Documents beyond the writer's context are read as far as their first sentences fit; the
        paper cuts its input at 1024 tokens.
    """
    prompt = "recomp" if writer else "summarise"
    stages = Pipeline(
        select.TopK(documents),
        split.Sentences(),
        Write(writer or llm, prompt, max_tokens=128, name="summary"),
        split.Sentences(),
    )
    return System(stages, Reader(llm))
