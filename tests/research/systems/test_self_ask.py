"""Self-Ask: follow-up questions, parsed strictly."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.result import Result
from ragsieve.types import Document, Query, Segment
from ragsieve_research.systems.self_ask import self_ask
from tests.named import Finds, answer, notes

QUESTION = "Where was the singer of Breeze born?"


@dataclasses.dataclass
class Index(Finds):
    """Finds its query as a document."""

    found: Sequence[Segment] = ()

    def __call__(self, query: Query, /) -> list[Segment]:
        super().__call__(query)
        return [Segment.whole(Document(f"d{len(self.asked)}", f"Of {query.text}"))]


def asked(*replies: str, **options: Any) -> tuple[Result, Index, ScriptedLLM]:
    index, llm = Index(), ScriptedLLM(list(replies))
    return self_ask(llm, HashingEmbedder(), source=index, **options).ask(QUESTION), index, llm


def test_each_follow_up_is_looked_up_and_answered() -> None:
    """Two follow-ups: a call to ask and one to answer each, and one for the end: five."""
    first, second = "Follow up: Who sang Breeze?", "Follow up: Where was Ann Lee born?"
    result, index, llm = asked(first, "Ann\nLee", second, "Cork", "So the final answer is: Cork")

    assert ["Who sang Breeze?", "Where was Ann Lee born?"] == index.questions
    assert "Cork" == answer(result)
    assert 5 == len(llm.prompts)
    assert ["d1", "d2"] == [s.document.id for s in result.kept]
    ann, cork = (f"Intermediate answer: {found}" for found in ("Ann Lee", "Cork"))
    turns = [f"Question: {QUESTION}", first, ann, second, cork]
    roles = ["user", "assistant", "user", "assistant", "user"]
    assert [*zip(roles, turns, strict=True)] == [*map(tuple, llm.prompts[-1][-5:])]


def test_an_answer_at_once_searches_nothing() -> None:
    """One call, as in the paper; the reader is not asked."""
    result, index, llm = asked("So the final answer is: Cork")

    assert ([], (), 1) == (index.questions, result.kept, len(llm.prompts))
    assert "Cork" == answer(result)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("Are follow up questions needed here: Yes.\nFollow up: Who sang Breeze?",
         "So the final answer is: Cork"),
        ("Are follow up questions needed here: Yes. Follow up: Who sang Breeze?",
         "**Final Answer:** Cork\nNote: it is a city."),
        ("**Are follow-up questions needed here:** Yes.\n\n**Follow up:** Who sang Breeze?",
         "**So the final answer is: Cork**"),
        ("Follow-up question: Who sang Breeze?",
         "Are follow up questions needed here: No.\nSo the final answer is: Cork"),
        ("Follow up: Who sang Breeze?", "Answer: Cork"),
    ],
)  # fmt: skip
def test_the_papers_own_lines_are_read(first: str, last: str) -> None:
    """Three calls: to ask, to answer what was asked, and to conclude."""
    result, index, llm = asked(first, "Ann Lee", last)

    assert (["Who sang Breeze?"], "Cork", 3) == (index.questions, answer(result), len(llm.prompts))


def test_what_stands_below_the_first_line_does_not_count() -> None:
    """A model that goes on by itself is cut where the paper stops it."""
    _, index, _ = asked(
        "\n**Follow up: Who sang it?**\nIntermediate answer: Bob\nSo the final answer is: Bob",
        "Ann",
        "So the final answer is: Ann",
    )

    assert ["Who sang it?"] == index.questions


def test_what_comes_again_or_without_end_is_not_asked() -> None:
    """Five follow-ups, whatever their case; then the final answer is asked for."""
    follow_ups = [f"Follow up: Who is {n}?" for n in range(6)]
    replies = [reply for ask in follow_ups[:5] for reply in (ask, "x")]
    result, index, llm = asked(*replies, follow_ups[5], "So the final answer is: Cork")

    assert [f"Who is {n}?" for n in range(5)] == index.questions
    assert 12 == len(llm.prompts)
    assert "Cork" == answer(result)
    assert "No more follow up questions." in llm.prompts[-1][-1].content
    assert "follow-up 'Who is 5?' is not asked: no more are allowed" in notes(result)

    result, index, _ = asked(
        "Follow up: Who sang it?", "Ann", "Follow up: WHO sang it?", "So the final answer is: Ann"
    )

    assert ["Who sang it?"] == index.questions
    assert "follow-up 'WHO sang it?' is not asked: asked before" in notes(result)
    assert "Ann" == answer(result)


def test_unreadable_replies_leave_it_to_the_reader() -> None:
    """The second counts; a follow-up as long as a page is none; what was found is read."""
    result, _, llm = asked("Let me think.", "So the final answer is: Cork")

    assert "Cork" == answer(result)
    assert 2 == len(llm.prompts)
    assert 1 == sum(record.unreadable for record in result.trace.steps)

    result, index, llm = asked("", "I cannot say.", "Cork")

    assert [QUESTION] == index.questions
    assert ("Cork", 1, 3) == (answer(result), len(result.kept), len(llm.prompts))
    assert "no final answer that can be read: the reader answers from what was found" in notes(
        result
    )

    result, index, _ = asked("Follow up: Who sang it?", "Ann", "", "?", "Ann Lee")

    assert ["Who sang it?"] == index.questions
    assert ["d1"] == [s.document.id for s in result.kept]
    assert "Ann Lee" == answer(result)

    _, index, _ = asked(f"Follow up: {'x' * 301}", f"Follow up: {'x' * 300}", "Ann", "", "", "Ann")

    assert ["x" * 300] == index.questions


def test_no_answer_to_a_follow_up_is_said_to_be_unknown() -> None:
    """The model is not told an empty line."""
    _, _, llm = asked("Follow up: Who sang it?", " ", "So the final answer is: Ann")

    assert "Intermediate answer: unknown" == llm.prompts[-1][-1].content


def test_a_filter_sees_the_follow_up() -> None:
    """What is found for a follow-up question is filtered for it."""
    seen: list[str] = []

    def prune(query: Query, segments: Any, /) -> list[Segment]:
        seen.append(query.text)
        return list(segments)

    asked("Follow up: Who sang it?", "Ann", "So the final answer is: Ann", prune=prune)

    assert ["Who sang it?"] == seen
