"""In-context learning, InstructRAG and SAIL: worked examples, or a tuned generator."""

from __future__ import annotations

from ragsieve.models.base import LLM
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import preset, system
from ragsieve_research.answer.demonstrations import read_demonstrations
from ragsieve_research.answer.examples import Demonstration, ExampleReader

ANSWER = "Answer:"
"""Beginning of the line of a reply that holds the answer."""


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


@system("instructrag-icl", paper="arXiv 2406.13629")
def instructrag_icl(
    llm: LLM,
    *,
    prune: Stage | None = None,
    shots: int = 2,
    examples: str = "",
) -> System:
    """Keep every document whole; the model says which help before it answers, after examples.

    Args:
        llm: The generator.
        prune: A filter of any kind in front, such as another system's stage; none where None.
        shots: Worked examples with rationales; 0 leaves the instruction alone.
        examples: A file of one's own, as
            `ragsieve_research.answer.demonstrations.read_demonstrations` takes it; each line must
            have a rationale.

    Raises:
        InputError: If an option or a line of the file breaks its rule.

    Source: InstructRAG (arXiv 2406.13629), InstructRAG-ICL; WinnowRAG, table 1.
    Differs: Rationales are written by hand, not by the model; examples show their documents; and
        the answer is a line of its own, so that a rationale that names several is no answer.
    """
    shown = read_demonstrations(shots, examples, rationales=True)
    return System(prune or Pipeline(), explaining(llm, "reader_rationale", shown))


preset(
    "instructrag-ft",
    instructrag_icl,
    "Keep every document whole, for an LLM of `train generator --target rationale`",
    shots=0,
)


@system("sail", paper="arXiv 2305.15225")
def sail(llm: LLM) -> System:
    """Keep every document whole, for an LLM of `train generator --target informative`.

    Args:
        llm: The generator, of ``ragsieve train generator --target informative``.

    Source: SAIL (arXiv 2305.15225).
    """
    return System(Pipeline(), explaining(llm, "reader_informative"))


def explaining(llm: LLM, prompt: str, examples: tuple[Demonstration, ...] = ()) -> ExampleReader:
    """A reader that says something before its answer, which stands on a line of its own.

    Args:
        llm: The generator.
        prompt: The template, with and without evidence.
        examples: Worked examples.
    """
    return ExampleReader(llm, 256, prompt, prompt, examples=examples, answer_after=ANSWER)
