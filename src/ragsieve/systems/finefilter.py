"""FineFilter in one pass: keep the sentences that the answer may need."""

from __future__ import annotations

from dataclasses import replace

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, SentencePruner
from ragsieve.models.pruner import others
from ragsieve.select.order import By
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import system
from ragsieve.systems.by_language import ByLanguage
from ragsieve.systems.rows import Rows


@system("finefilter", needs="sentence pruner", paper="arXiv 2502.11811v4")
def finefilter_one_pass(
    llm: LLM,
    pruner: SentencePruner,
    *,
    keep_answer: float = 0.95,
    min_score: float | None = None,
    cut: select.Cut | None = None,
    min_keep: int = 1,
    min_answerable: float = 0.05,
    order: By = "document",
    distinct: bool = True,
    first_look: int | None = None,
) -> System:
    """Keep what the answer may need, as often as promised, by one reading of each passage.

        documents ─ blocks ─▶ rows ─▶ sentence pruner ─▶ no copies ─▶ threshold ─▶ reader

    Lists and steps are kept or dropped whole; JSON, configuration, tables and code by records,
    entries, rows and statements, which are shown under their keys, heads and headers. Where
    question or document is not English, the pruner of ``ragsieve[multilingual]`` decides where it
    is installed and knows the language; else shared character n-grams, and more is kept.
    Where the question sets conditions on rows, those that meet them stay, all of them, and the
    others go; see `ragsieve.systems.rows`. Rows and lines that are unlike their neighbours stay
    where the question picks none; see `ragsieve.structure.odd`.

    Args:
        llm: The generator; it is not asked before it answers.
        pruner: Gives every sentence a probability, and the threshold for ``keep_answer``.
        keep_answer: Probability that the evidence survives, from 0.5 to 0.99, as calibrated on
            validation questions of many kinds; see `ragsieve.select.threshold`.
        min_score: The least probability of what stays, in place of the promise; where characters
            decide, the least score.
        cut: Keeps the fewest that one generator answers from, in place of the promise; it is fitted
            by ``ragsieve train finefilter``.
        min_keep: At least this many segments stay, the most probable ones; with 0 a question that
            no document seems to answer may keep nothing.
        min_answerable: Only these and what scores nearly as well stay where the probability that
            one of several documents answers is lower; with 0 it never counts.
        order: In which the generator reads them.
        distinct: Whether what several documents say in the same words is kept once.
        first_look: Characters that the pruner reads at most; of longer inputs those that share the
            question's rarer words, without the promise.

    Raises:
        InputError: If an option breaks its rule.

    Source: FineFilter (arXiv 2502.11811v4), section 4.1; conformal risk control
        (arXiv 2208.02814) for the threshold.
    Differs: A trained encoder gives probabilities where the paper's LLM writes clues out, and the
        cut is a promise to keep the evidence, not a fit to what one generator answers from.
    """
    once = [select.Copies()] if distinct else []
    least = 0.5 if min_score is None else min_score

    def read_by(model: SentencePruner) -> Pipeline:
        cutting: Stage = cut or select.Threshold(least, min_keep, odd=True)
        if cut is None and min_score is None:
            cutting = replace(select.Threshold.promised(model, keep_answer, min_keep), odd=True)
        answerable = select.Answerable(min_answerable, min_keep, odd=True)
        return Pipeline(score.Pruner(model, first_look), *once, answerable, cutting)

    other = Pipeline(score.Ngrams(), *once, select.Threshold(least, min_keep, odd=True))
    for model in others():
        other = ByLanguage(read_by(model), other, languages=model.languages)
    rows = Rows(ByLanguage(read_by(pruner), other))
    return System(Pipeline(split.Blocks(), rows, select.Order(order)), Reader(llm))
