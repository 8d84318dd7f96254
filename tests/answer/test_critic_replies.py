"""Verdicts in the shapes in which models without a schema give them, each read or asked again."""

from __future__ import annotations

import json

import pytest

from ragsieve.answer.agent import Argument
from ragsieve.answer.critic import Critic, Judgement
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Trace, step
from ragsieve.types import Query

AGENTS = ("Paris", "Lyon", "in Paris, France", "Rome")  # what the four responses answer
NAMES = ("Incorrect answers", "Explanation", "Consistent answer")


def lines(incorrect: str, consistent: str, why: str = "why") -> str:
    parts = zip(NAMES, (incorrect, why, consistent), strict=True)
    return "\n".join(f"{name}: {value}" for name, value in parts)


def obj(incorrect: object, consistent: object, **more: object) -> str:
    return json.dumps(
        {**dict(zip(NAMES, (incorrect, "why", consistent), strict=True)), **more}, indent=1
    )


PLAIN = lines("[2, 4]", "yes: Paris")
PARIS = {  # all say: 2 and 4 are incorrect, and Paris is consistent
    "as asked": PLAIN,
    "the paper's form": lines("[2], [4]", "Paris"),
    "quoted": lines("[2, 4]", '"Paris"'),
    "bold answer": lines("[2, 4]", "**Paris**"),
    "answer with a full stop": lines("[2, 4]", "Paris."),
    "other case": lines("[2, 4]", "PARIS").replace("PARIS", "paris"),
    "yes and a comma": lines("[2, 4]", "Yes, Paris"),
    "yes and a dash": lines("[2, 4]", "Yes — Paris"),
    "a sentence behind yes": lines("[2, 4]", "Yes, the consistent answer is Paris"),
    "a sentence behind yes with a colon": lines("[2, 4]", "yes: The consistent answer is: Paris"),
    "a sentence": lines("[2, 4]", "The consistent answer is Paris"),
    "another sentence": lines("[2, 4]", "Therefore, the correct answer is Paris"),
    "words of another agent": lines("[2, 4]", "in Paris, France"),
    "numbers with answers": lines("[2] (Lyon), [4] (Rome)", "yes: Paris"),
    "numbers with answers, no brackets": lines("2 (Lyon) and 4 (Rome)", "yes: Paris"),
    "responses with answers": lines("Response 2 (Lyon), Response 4 (Rome)", "yes: Paris"),
    "responses in brackets": lines("[Response 2, Response 4]", "yes: Paris"),
    "one number out of range": lines("[2, 4, 7]", "yes: Paris"),
    "numbers as words of a list": lines("2 and 4", "yes: Paris"),
    "bold names": PLAIN.replace("Incorrect answers:", "**Incorrect answers:**"),
    "bold lines": "\n".join(f"**{line}**" for line in PLAIN.split("\n")),
    "headings": "\n".join(f"## {line}" for line in PLAIN.split("\n")),
    "bullets": "\n".join(f"- {line}" for line in PLAIN.split("\n")),
    "numbered": "\n".join(f"{n}. {line}" for n, line in enumerate(PLAIN.split("\n"), 1)),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "prose before": f"Let me compare the responses.\n\n{PLAIN}",
    "fence": f"```\n{PLAIN}\n```",
    "thoughts": f"<think>{lines('[1]', 'yes: Rome')}</think>\n{PLAIN}",
    "lower case": PLAIN.replace("Incorrect answers", "incorrect answers"),
    "an object": obj([2, 4], "yes: Paris"),
    "an object, the paper's form": obj([2, 4], "Paris"),
    "an object with one more": obj([2, 4], "yes: Paris", Confidence=0.9),
    "an object with an analysis before": json.dumps({"Analysis": "hm"})[:-1]
    + ", "
    + obj([2, 4], "yes: Paris")[1:],
    "an object, other order": json.dumps(
        dict(reversed(json.loads(obj([2, 4], "yes: Paris")).items()))
    ),
    "an object behind prose": f"Here is the verdict:\n{obj([2, 4], 'yes: Paris')}",
    "an object in a fence": f"```json\n{obj([2, 4], 'yes: Paris')}\n```",
    "an object in a fence behind prose": f"Sure!\n```json\n{obj([2, 4], 'Paris')}\n```",
    "an object before prose": f"{obj([2, 4], 'yes: Paris')}\nI hope that this helps.",
    "an object with underscores": obj([2, 4], "Paris").replace(" answer", "_answer"),
    "an object with texts as numbers": obj(["2", "4"], "yes: Paris"),
    "an object with responses": obj(["Response 2 (Lyon)", "Response 4 (Rome)"], "yes: Paris"),
    "an object with one number out of range": obj([2, 4, 9], "yes: Paris"),
}
NONE = {  # all say: 2 is incorrect, and the others do not agree
    "no": lines("[2]", "no"),
    "no with a reason": lines("[2]", "No, the others differ"),
    "no consistent answer": lines("[2]", "No consistent answer"),
    "none": lines("[2]", "None"),
    "null": obj([2], None),
    "an object's no": obj([2], "no"),
}
DOUBT = {
    "contradictory": lines("[1, 3]", "yes: Paris"),
    "contradictory, in longer words": lines("[2, 1, 3]", "yes: Paris"),
    "contradictory, the paper's form": lines("[2]", "Lyon"),
    "contradictory object": obj([4], "yes: Rome"),
    "unknown": lines("[2]", "unknown"),
    "yes, unknown": lines("[2]", "yes: unknown"),
    "partly": lines("[2]", "yes, but only partly"),
    "yes, none": lines("[2]", "yes: no consistent answer"),
    "words of nobody": lines("[2]", "Marseille"),
    "two objects": f"{obj([2], 'no')}\n{obj([4], 'yes: Paris')}",
    "an object in what is explained": f"The reader said {obj([1], 'no')}\n{PLAIN}\n{PLAIN}",
    "numbers from 0": lines("[0, 1]", "no"),
    "all out of range": lines("[5, 6]", "no"),
}


def judged(*replies: str) -> tuple[Judgement, int]:
    """What is read, and how often the critic was asked."""
    llm = ScriptedLLM(replies, context=10**6)
    with Trace().recording(), step("judge"):
        found = Critic(llm).judge(Query("Where?"), [Argument(answer) for answer in AGENTS])
    return found, len(llm.prompts)


def test_there_are_forty_right_ones() -> None:
    """Each another."""
    assert len({*PARIS.values()}) == len(PARIS) >= 40


@pytest.mark.parametrize("shape", PARIS)
def test_a_right_verdict_is_read_at_once(shape: str) -> None:
    """Whatever stands around what is asked for."""
    found, calls = judged(PARIS[shape])

    assert ((1, 3), 1) == (found.incorrect, calls)
    assert found.answer
    assert "paris" in found.answer.lower()
    assert len(found.answer) <= len("in Paris, France")


@pytest.mark.parametrize("shape", NONE)
def test_a_verdict_without_an_answer_is_read_at_once(shape: str) -> None:
    """That the others do not agree is a verdict, too."""
    assert (Judgement((1,), "why"), 1) == judged(NONE[shape])


@pytest.mark.parametrize("shape", DOUBT)
def test_a_verdict_in_doubt_is_asked_for_once_more(shape: str) -> None:
    """Then the second counts; after two, none is incorrect and no answer stands."""
    assert (Judgement((1, 3), "why", "Paris"), 2) == judged(DOUBT[shape], PLAIN)
    assert (Judgement(readable=False), 2) == judged(DOUBT[shape], DOUBT[shape])
