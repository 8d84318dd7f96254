"""CoVe, IRCoT, RA-ISF and Self-Ask: what is asked of the model, what it sees, what is searched."""

import dataclasses
from collections.abc import Sequence

import pytest

from ragsieve import Document, Segment
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.systems.cove import cove
from ragsieve_research.systems.ircot import ircot
from ragsieve_research.systems.ra_isf import ra_isf
from ragsieve_research.systems.self_ask import self_ask
from tests.named import Finds, answer, notes

QUESTION = "Where was the singer of Breeze born?"
FIRST, SECOND = "Who sang Breeze?", "Where was Ann Lee born?"
FOUND = [Segment.whole(Document(name, f"Of {name}.")) for name in ("a", "b")]


def test_cove_checks_its_draft_without_sight_of_it():
    """A draft, its questions, an answer to each from the documents, and the answer: five calls."""
    llm = ScriptedLLM(["Rome", f"1. {FIRST}\n2. {SECOND}", "Ann Lee", "Cork", "It is Cork"])
    result = cove(llm, documents=1).ask(QUESTION, ["Ann Lee of Cork sang Breeze.", "It rained."])
    _, asks, *checks, final = llm.prompts

    assert ("It is Cork", 5) == (answer(result), len(llm.prompts))
    assert [FIRST, SECOND] == [prompt[1].content for prompt in checks]
    assert all("Ann Lee of Cork" in prompt[0].content for prompt in checks)
    assert ["Draft of the answer: Rome" in p[-1].content for p in (asks, *checks, final)] == [
        *(True, False, False, True),
    ]
    assert final[-1].content.endswith(f"{FIRST} Ann Lee\n{SECOND} Cork")
    assert ["It is Cork"] == [*cove(ScriptedLLM(llm.replies)).ask_stream(QUESTION, ["x"])][:1]


@pytest.mark.parametrize("replies", [["Cork", "It is right.", "No."], ["Cork", FIRST, "Ann", " "]])
def test_an_unchecked_draft_is_the_answer(replies):
    """Where no question can be read, or nothing is said behind them; also without documents."""
    assert "Cork" == answer(cove(ScriptedLLM(replies), documents=0).ask(QUESTION, ["It rained."]))


def test_ircot_searches_by_each_sentence_of_its_chain():
    """The first sentence of each reply, until one has the answer; then the reader answers."""
    thoughts = ["Ann Lee sang Breeze.", "Ann Lee was born in Cork."]
    said = f"Sure, here it is:\n\n{thoughts[0]} Bob, too.", f'{{"next_sentence": "{thoughts[1]}"}}'
    llm = ScriptedLLM([*said, "So the answer is: Cork.", "Cork"])
    index = Finds(FOUND)
    result = ircot(llm, HashingEmbedder(), source=index, passages=1).ask(QUESTION)

    assert [QUESTION, *thoughts] == index.questions
    assert llm.prompts[2][-1].content.endswith(
        f"{QUESTION}\n\nThoughts so far: {' '.join(thoughts)}"
    )
    assert ("Cork", ["a"]) == (answer(result), [s.document.id for s in result.kept])


@pytest.mark.parametrize(("reply", "searches"), [("Ann sang.", 2), ("", 1)])
def test_a_chain_that_does_not_go_on_ends(reply, searches):
    """A sentence that comes again, or none; all that was found is read."""
    index = Finds(FOUND)
    result = ircot(ScriptedLLM(lambda _: reply), HashingEmbedder(), source=index).ask(QUESTION)

    assert (searches, 2) == (len(index.questions), len(result.kept))
    assert "the chain ends: no new sentence comes" in notes(result)


FOUND_OUT = "Cork, by what was found out"


def feedback(known="", helps="", parts="", says=FOUND_OUT):
    """Knows questions of ``known``; passages of ``helps`` help; ``parts`` are the question's."""

    def reply(prompt):
        said, about = prompt[0].content, prompt[-1].content
        if "for sure" in said:
            return "yes" if known and known in about else "no"
        if "judge whether a passage" in said:
            return "yes" if helps and helps in about else "no"
        if "take a question apart" in said:
            return parts
        return {FIRST: "Ann Lee", SECOND: "Cork"}.get(about, says)

    return ScriptedLLM(reply, can=frozenset({"complete"}))


@pytest.mark.parametrize(
    ("llm", "searched", "kept"),
    [
        (feedback(known="Breeze"), 0, []),
        (feedback(helps="Of b."), 1, ["b"]),
        (feedback(parts="none"), 1, ["a", "b"]),
        (feedback(known="Ann", parts=f"{FIRST}\n{SECOND}"), 2, []),
    ],
)
def test_ra_isf_answers_in_the_first_way_that_goes(llm, searched, kept):
    """As it is known, from what helps, from all that was found, or by the answers of its parts."""
    index = Finds(FOUND)
    result = ra_isf(llm, HashingEmbedder(), source=index, depth=2).ask(QUESTION)

    assert (searched, kept) == (len(index.asked), [s.document.id for s in result.kept])
    assert FOUND_OUT == answer(result)


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ({"known": "Breeze"}, "I can't look up songs on the web."),
        ({"known": "Breeze"}, "That is not in my training data."),
        ({"helps": "Of b."}, "I'm sorry, we do not cover tours and merchandise."),
        ({"helps": "Of b."}, "The passages discuss rivers, not singers."),
        ({"parts": "none"}, "UNANSWERED"),
        ({"known": "Ann", "parts": f"{FIRST}\n{SECOND}"}, "I cannot join these facts."),
    ],
)
def test_ra_isf_takes_no_refusal_for_an_answer(way, says):
    """In none of its ways, also without documents."""
    llm = feedback(**way, says=says)
    result = ra_isf(llm, HashingEmbedder(), source=Finds(FOUND), depth=2).ask(QUESTION)

    assert "nothing was found out: the reader answers from what is found" in notes(result)


def test_ra_isf_tells_what_its_parts_answered():
    """What is open on the last level is unknown; where all is, the reader answers from a search."""
    llm = feedback(known="Ann", parts=f"{FIRST}\n{SECOND}")
    ra_isf(llm, HashingEmbedder(), source=Finds(FOUND), depth=2).ask(QUESTION)

    assert f"{FIRST} unknown\n{SECOND} Cork" in llm.prompts[-1][-1].content

    index = Finds(FOUND)
    result = ra_isf(feedback(), HashingEmbedder(), source=index, depth=1).ask(QUESTION)

    assert ([QUESTION] * 2, 2) == (index.questions, len(result.kept))
    assert "nothing was found out: the reader answers from what is found" in notes(result)


@dataclasses.dataclass
class Index(Finds):
    """Finds its query as a document."""

    found: Sequence[Segment] = ()

    def __call__(self, query, /):
        super().__call__(query)
        return [Segment.whole(Document(f"d{len(self.asked)}", f"Of {query.text}"))]


def asked(*replies, **options):
    index, llm = Index(), ScriptedLLM(list(replies))
    return self_ask(llm, HashingEmbedder(), source=index, **options).ask(QUESTION), index, llm


def test_each_follow_up_is_looked_up_and_answered():
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


def test_the_first_line_of_a_reply_counts():
    """An answer at once searches nothing; the paper stops there; an empty one is unknown."""
    result, index, llm = asked("So the final answer is: Cork")

    assert ([], (), 1) == (index.questions, result.kept, len(llm.prompts))
    assert "Cork" == answer(result)

    _, index, _ = asked(
        "\n**Follow up: Who sang it?**\nIntermediate answer: Bob\nSo the final answer is: Bob",
        "Ann",
        "So the final answer is: Ann",
    )

    assert ["Who sang it?"] == index.questions

    _, _, llm = asked("Follow up: Who sang it?", " ", "So the final answer is: Ann")

    assert "Intermediate answer: unknown" == llm.prompts[-1][-1].content


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
def test_the_papers_own_lines_are_read(first, last):
    """Three calls: to ask, to answer what was asked, and to conclude."""
    result, index, llm = asked(first, "Ann Lee", last)

    assert (["Who sang Breeze?"], "Cork", 3) == (index.questions, answer(result), len(llm.prompts))


def test_what_comes_again_or_without_end_is_not_asked():
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


def test_unreadable_replies_leave_it_to_the_reader():
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


def test_a_filter_sees_the_follow_up():
    """What is found for a follow-up question is filtered for it."""
    seen = []

    def prune(query, segments, /):
        seen.append(query.text)
        return list(segments)

    asked("Follow up: Who sang it?", "Ann", "So the final answer is: Ann", prune=prune)

    assert ["Who sang it?"] == seen
