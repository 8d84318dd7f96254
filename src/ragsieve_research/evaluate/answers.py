"""Compare answers with gold answers; a question has one or several, any of which is right.

On Latin text words are compared as SQuAD compares them. Without a gold answer nothing is right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from ragsieve.errors import InputError, needs_extra
from ragsieve.models.base import LLM
from ragsieve.prompts import render
from ragsieve.run.batch import accuracy
from ragsieve.text import begins, normalise, safe, word_counts
from ragsieve_research.models.choices import yes_probability
from ragsieve_research.models.parsed import readable
from ragsieve_research.prompts import quoted
from ragsieve_research.score.inclusion import word_f1

CragVerdict = Literal["accurate", "missing", "hallucination"]
ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")
JUDGED_CHARS = 4000  # of an output are shown to a judge: twice the longest reader's 500 tokens
_INVALID = (  # normalised: without articles
    "invalid question",
    "this is invalid question",
    "question is invalid",
    "this question is invalid",
)


_UNSURE = ("i dont know", "i do not know", "im not sure", "i am not sure")  # normalised


def exact_match(output: str, answers: Sequence[str]) -> float:
    """1.0 where the normalised output is a normalised gold answer and not empty, else 0.0.

    Source: SQuAD v1.1 (arXiv 1606.05250), section 6.1.
    """
    said = normalise(output)
    return float(said != "" and said in map(normalise, answers))


def f1(output: str, answers: Sequence[str]) -> float:
    """Word overlap with the gold answer that overlaps most: harmonic mean of precision and recall.

    From 0 to 1. Words are counted as often as they occur in both.

    Source: SQuAD v1.1 (arXiv 1606.05250), section 6.1.
    Differs: In scripts written without spaces each character is a word, else F1 were exact match.
    """
    words = word_counts(output)
    return max((word_f1(words, word_counts(answer)) for answer in answers), default=0.0)


def rouge(output: str, answers: Sequence[str]) -> dict[str, float]:
    """ROUGE-1, ROUGE-2 and ROUGE-L F-measures, each the best over the gold answers, from 0 to 1.

    Words are runs of ASCII letters and digits, without stemming, so other scripts score 0.

    Raises:
        MissingExtra: If rouge-score is not installed.

    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries"; rouge-score.
    """
    scorer = _rouge_scorer()
    if not answers:
        return dict.fromkeys(ROUGE_TYPES, 0.0)
    scores = scorer.score_multi(list(answers), output)
    return {name: float(scores[name].fmeasure) for name in ROUGE_TYPES}


@cache
def _rouge_scorer() -> Any:
    with needs_extra("bench"):
        from rouge_score import rouge_scorer
    return rouge_scorer.RougeScorer(list(ROUGE_TYPES))


def asqa_exact_match(output: str, groups: Sequence[Sequence[str]]) -> float:
    """Share of the sub-answers, each a group of its spellings, that occur in the output; 0 to 1.

    Source: ASQA (arXiv 2204.06092), section 5, STR-EM.
    Differs: A spelling occurs at word boundaries only, as in `accuracy`.
    """
    return sum(accuracy(output, group) for group in groups) / len(groups) if groups else 0.0


def crag(
    output: str, answers: Sequence[str], judge: Callable[[str, Sequence[str]], float] | None = None
) -> CragVerdict:
    """Whether an output is right, abstains or is wrong.

    An empty output, or "I don't know" or "I'm not sure" at the beginning, is missing. A gold
    answer, normalised, is accurate. "Invalid question" for a question that gold does not call so
    is a hallucination. A judge decides all else; without one it is a hallucination.

    Args:
        output: The final answer.
        answers: Gold answers.
        judge: From output and gold answers, how sure it is from 0 to 1 that they say the same;
            accurate from 0.5.

    Source: PruningRAG (arXiv 2409.13694), section 4.4; CRAG (arXiv 2406.04744), section 4.
    """
    if unsure(output):
        return "missing"
    if exact_match(output, answers):
        return "accurate"
    if begins(output, _INVALID):
        invalid = any(begins(answer, _INVALID) for answer in answers)
        return "accurate" if invalid else "hallucination"
    if judge is not None and answers and judge(output, answers) >= 0.5:
        return "accurate"
    return "hallucination"


def contained(_question: str, output: str, answers: Sequence[str]) -> float:
    """A judge's place taken by a rule: whether a gold answer occurs in the output, 1.0 or 0.0."""
    return accuracy(output, answers)


@dataclass(frozen=True)
class AnswerJudge:
    """An LLM's probability that an output means the same as a gold answer, from 0 to 1.

    The probability of "yes" where the model can choose; else 1.0 or 0.0 from its written reply, and
    exact match's verdict where that stays unreadable or "yes" and "no" are improbable. It sees
    question, gold answers and output as JSON strings, so that no text can pass for the prompt's
    own, and of a long output the beginning.

    Args:
        llm: Judges; not the model that answered, if it can be helped.

    Source: ChunkRAG (arXiv 2410.19572), accuracy; PruningRAG (arXiv 2409.13694), section 4.4.
    """

    llm: LLM

    def __call__(self, question: str, output: str, answers: Sequence[str]) -> float:
        """Confidence that ``output`` says the same as one of ``answers``, from 0 to 1.

        Raises:
            InputError: If there is no gold answer to compare with.
            ModelError: If the model fails, or the prompt does not fit its context.
        """
        if not answers:
            raise InputError(f"a judge needs a gold answer, got {answers!r}")
        prompt = render(
            "judge",
            question=quoted(safe(question)),
            answers="\n".join(quoted(safe(answer)) for answer in answers),
            output=quoted(safe(output[:JUDGED_CHARS])),
        )
        (reply,) = yes_probability(self.llm, [prompt])
        return readable(reply, exact_match(output, answers), "exact match judges")


def unsure(answer: str) -> bool:
    """Whether an answer says nothing, or begins by saying that it is not known."""
    return not any(map(str.isalnum, answer)) or begins(answer, _UNSURE)
