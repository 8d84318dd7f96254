"""The time to read a reply grows with its length alone, whatever a model writes."""

from contextlib import suppress

import pytest

from ragsieve.errors import BadReply
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.systems import build
from ragsieve.types import Document, Query, Segment
from ragsieve_research.answer.agent import Argument
from ragsieve_research.answer.critic import Critic
from ragsieve_research.models.replies import Field, option_field, paragraph, read_fields
from ragsieve_research.select.adaptive import Adaptive
from tests.timing import is_linear

QUERY = Query("Who sang Breeze?")
TEXT = Segment.whole(Document("a", ("Ann sang Breeze. " * 40 + "\n") * 3))
SCORED = [TEXT.scored("s", 0.1), TEXT.scored("s", 0.9)]


class Long(ScriptedLLM):
    """Writes past the limit of a reply, as a server may."""

    def __init__(self, reply):
        super().__init__([reply], context=10**9)

    def complete(self, prompts, *, max_tokens=128, schema=None):
        """The same reply to all."""
        return [*self.replies] * len(prompts)


def system(name):
    return lambda reply: build(name, Long(reply), HashingEmbedder(8)).ask(QUERY, [TEXT.document])


READERS = {
    **{name: system(name) for name in ("pruningrag", "self-ask", "longrefiner")},
    "evidence": lambda reply: Argument("a", reply).checked([TEXT]),
    "duplicates": lambda reply: Critic(Long(reply)).same(QUERY, ["a", "b"]),
    "threshold": lambda reply: Adaptive(Long(reply))(QUERY, SCORED),
    "rating": lambda reply: read_fields(reply, option_field("0123456789")),
    "parts": lambda reply: read_fields(reply, Field("text", paragraph, ("Answer",), False)),
}


@pytest.mark.parametrize(
    ("reader", "begin", "unit", "end"),
    [
        ("pruningrag", "Reasoning: a\nAnswer: x", " ", "x"),
        ("pruningrag", "x", " ", "x"),
        ("self-ask", "x", "*", "y"),
        ("self-ask", "So the final answer is", " ", "\xa0\nx"),
        ("longrefiner", "<section:", " ", "x"),
        ("evidence", "", "“", "x"),
        ("duplicates", "Unique answers: []\nDuplicate answers: [1]", ", [1]", "x"),
        ("threshold", "", "1", "x"),
        ("rating", "1 -", " ", "9"),
        ("rating", "score (", "score ", "8"),
        ("rating", "score", " ", ": x"),
        ("rating", "", "\n the score is 8 or 9", ""),
        ("rating", "1", "/10 8", "x"),
        ("parts", "1.", " ", "x"),
        ("parts", "", "**", "x"),
        ("parts", "", "*a ", "x"),
        ("parts", "", "<a>", "x"),
        ("parts", "", "{", "x"),
        ("parts", "", '{"a":', "x"),
        ("parts", "", "<think>", "x"),
        ("parts", "", "</think>`", "x"),
        ("parts", "", "the ", "x"),
        ("parts", "", "answer ", "x"),
        ("parts", "", "answer:\n", ""),
        ("rating", "", "(", "x"),
        ("rating", "|", " ", f"|{' ' * 99}| d |"),
        ("duplicates", "Unique answers: a\nDuplicate answers: ", "1 and ", "x"),
    ],
)
def test_runs_are_read_in_linear_time(reader, begin, unit, end):
    """Or found unreadable in it."""

    def read(size):
        with suppress(BadReply):
            READERS[reader](begin + unit * size + end)

    assert is_linear(read, 10_000)
