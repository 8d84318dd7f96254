"""In-context learning: every document whole, after worked questions with their answers."""

from __future__ import annotations

from ragsieve.models.base import LLM
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import system
from ragsieve_research.answer.demonstrations import read_demonstrations
from ragsieve_research.answer.examples import ExampleReader


@system("icl", paper="arXiv 2406.13629")
def icl(
    llm: LLM,
    *,
    prune: Stage | None = None,
    shots: int = 2,
    examples: str = "",
) -> System:
    """Keep every document whole, after worked questions with their answers.

    Args:
        llm: The generator.
        prune: A filter of any kind in front, such as another system's stage; none where None.
        shots: Questions with their answers that stand before the question.
        examples: A file of such questions, as
            `ragsieve_research.answer.demonstrations.read_demonstrations` takes it; ragsieve's own
            where empty.

    Raises:
        InputError: If an option or a line of the file breaks its rule.

    Source: WinnowRAG, table 1, "ICL"; InstructRAG (arXiv 2406.13629), few-shot demonstrations.
    Differs: Examples are not the data set's training set where no file is named.
    """
    reader = ExampleReader(llm, examples=read_demonstrations(shots, examples))
    return System(prune or Pipeline(), reader)
