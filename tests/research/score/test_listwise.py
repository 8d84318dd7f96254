"""An order of a list, window by window."""

import re

import pytest

from ragsieve import Document, ModelError, Query, Segment
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import step
from ragsieve_research.score.listwise import Listwise, Permuting
from tests.segments import wholes
from tests.tiny import Ranks

QUERY = Query("Who sang it?")


def numbers():
    """Orders texts by the number in them, the largest first."""
    return Ranks(lambda texts: sorted(range(len(texts)), key=lambda n: -int(texts[n])))


def written(*replies, size=3):
    """The order of ``size`` texts that an LLM of these replies gives."""
    llm = ScriptedLLM(replies, can=frozenset({"complete"}))
    with step("Stage") as record:
        (order,) = Permuting(llm).rank(["Who?"], [[f"text {n}" for n in range(size)]])
    return order, record, llm


def test_windows_slide_from_the_back_to_the_front():
    """1 2 3 4 5: the last three become 5 4 3, then with 1 2: 5 2 1; a share is the score."""
    ranker = numbers()
    found = Listwise(ranker, 3, 2)(QUERY, wholes("1", "2", "3", "4", "5"))

    assert [("3", "4", "5"), ("1", "2", "5")] == ranker.asked
    assert [0.6, 0.8, 0.2, 0.4, 1.0] == pytest.approx([s.score for s in found])

    found = Listwise(numbers())(QUERY, wholes("2", "9", "1", "5"))

    assert [0.5, 1.0, 0.25, 0.75] == [s.score for s in found]

    found = Listwise(numbers())(QUERY, wholes(*map(str, range(100))))

    assert [1.0, 0.99] == pytest.approx([found[99].score, found[98].score])


@pytest.mark.parametrize(
    ("size", "sizes"), [(1, []), (2, [2]), (20, [20]), (21, [20, 11]), (40, [20] * 3)]
)
def test_every_segment_is_in_a_window(size, sizes):
    """Windows of 20 in steps of 10; the one at the head may be smaller, none is empty."""
    ranker = numbers()
    Listwise(ranker)(QUERY, wholes(*map(str, range(size))))

    assert sizes == [len(group) for group in ranker.asked]
    assert {*map(str, range(size))} == {*sum(ranker.asked, ())} or size == 1


@pytest.mark.parametrize("places", [(0, 0), (0,), (1, 2), (0, 1, 2)])
def test_an_order_that_is_none_is_an_error(places):
    """Whoever gives it."""
    with pytest.raises(ModelError, match="an order must have each of 2 once"):
        Listwise(Ranks(lambda _: places))(QUERY, wholes("1", "2"))


@pytest.mark.parametrize(
    ("reply", "expected", "told"),
    [
        ("[3]", [2, 0, 1], "lacked 2 and named 0 too many"),
        ("[2] > [1] > [", [1, 0, 2], "lacked 1 and named 0 too many"),
        ("[9] > [2]", [1, 0, 2], "lacked 2 and named 1 too many"),
        ("Order: 3 > 2 > 1", [2, 1, 0], ""),
        ("**[3] and [2], [1]**\n\n[3] states it.", [2, 1, 0], ""),
        (" [3] >\n[2] > [1]. ", [2, 1, 0], ""),
        ("[3]\n[2]\n[1]", [2, 1, 0], ""),
        ("[3], [2], [1]", [2, 1, 0], ""),
    ],
)
def test_an_order_is_repaired(reply, expected, told):
    """Missing ones follow as given, others are left out; the trace says so."""
    order, record, llm = written(reply)

    assert (expected, 1) == (order, len(llm.prompts))
    assert [told] == ([*map(str, record.notes)] or [""]) or told in record.notes[0]


CUT = '{"order": [{"id": 3}, {"id": 2}, {"id'


@pytest.mark.parametrize("babble", ["I think [2] is best.", "", "[a] > [b]", CUT])
def test_what_cannot_be_read_is_asked_once_more(babble):
    """The second reply counts; then the order stays as given, and the trace says why."""
    order, record, llm = written(babble, "[3] > [2] > [1]")
    given, twice, _ = written(babble, babble)

    assert ([2, 1, 0], 2, 1) == (order, len(llm.prompts), record.unreadable)
    assert [0, 1, 2] == given
    assert "unreadable twice, so the order of 3 stays as given" in twice.notes[-1]


def test_the_first_identifier_may_be_asked_for():
    """Their probabilities are the order; nothing is written, and equal ones stay as given."""
    weights = {"[1]": 0.1, "[2]": 0.4, "[3]": 0.1, "[4]": 0.4}
    llm = ScriptedLLM(
        [], can=frozenset({"choose"}), choices=lambda _, options: [weights[o] for o in options]
    )

    assert [[1, 3, 0, 2]] == Permuting(llm, "first").rank(["Who?"], [["a", "b", "c", "d"]])


def test_lists_of_several_questions_are_ordered_as_each_alone():
    """What is written of a short list is cut where it would be alone, after 8 tokens a passage."""
    llm = ScriptedLLM(lambda prompt: " > ".join(["[1] > [2]"] * 30))
    several = Permuting(llm).rank(["A?", "B?"], [["a", "b"], list("cdefghijkl")])
    with step("Stage") as alone:
        assert [several[0]] == Permuting(llm).rank(["A?"], [["a", "b"]])
    with step("Stage") as both:
        Permuting(llm).rank(["A?", "B?"], [["a", "b"], list("cdefghijkl")])

    # Room for 2 passages is 24 tokens, for 10 it is 88.
    assert [24, 24, 88] == [usage.tokens_out for usage in (*alone.usages, *both.usages)]


def passages(prompt):
    return re.findall(r"^\[\d+\] .*$", prompt[1].content, re.MULTILINE)


def test_a_passage_is_one_line_by_its_first_words():
    """Or characters, where it has no spaces; with its title; no identifier in it counts."""
    llm = ScriptedLLM(["[1] > [2]"])
    Permuting(llm).rank(["Who?"], [["He [2] sang.\n[2] > [1]", "She sang [17]."]])

    assert ["[1] He (2) sang. (2) > (1)", "[2] She sang (17)."] == passages(llm.prompts[0])

    llm = ScriptedLLM(["[1] > [2]"])
    Permuting(llm).rank(["Who?"], [["one " * 301, "x" * 10**6]])

    assert [f"[1]{' one' * 300}", f"[2] {'x' * 2400}"] == passages(llm.prompts[0])

    given = [Segment.whole(Document(str(n), "He sang.", "Seals")) for n in range(2)]
    llm = ScriptedLLM(["[2] > [1]"])
    Listwise(Permuting(llm))(QUERY, given)

    assert [True] == ["Seals" in prompt[1].content for prompt in llm.prompts]


def test_passages_are_shortened_until_they_fit():
    """A window always fits; the trace says how much of it is read."""
    llm = ScriptedLLM(["[1] > [2]"], context=280)
    with step("Stage") as record:
        Permuting(llm).rank(["Who?"], [["word " * 300] * 2])
    counts = [line.count("word") for line in passages(llm.prompts[0])]

    assert counts[0] == counts[1]
    assert 1 < counts[0] < 100
    assert [f"{counts[0]} words of each passage are read: more do not fit the context"] == (
        record.notes[:1]
    )
