"""CoVe, IRCoT and RA-ISF: what is asked of the model, what it sees, and what is searched."""

import pytest

from ragsieve.models.base import Prompt
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.types import Document, Segment
from ragsieve_research.systems.cove import cove
from ragsieve_research.systems.ircot import ircot
from ragsieve_research.systems.ra_isf import ra_isf
from tests.named import Finds, answer, notes

QUESTION = "Where was the singer of Breeze born?"
FIRST, SECOND = "Who sang Breeze?", "Where was Ann Lee born?"
FOUND = [Segment.whole(Document(name, f"Of {name}.")) for name in ("a", "b")]


def test_cove_checks_its_draft_without_sight_of_it() -> None:
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
def test_an_unchecked_draft_is_the_answer(replies: list[str]) -> None:
    """Where no question can be read, or nothing is said behind them; also without documents."""
    assert "Cork" == answer(cove(ScriptedLLM(replies), documents=0).ask(QUESTION, ["It rained."]))


def test_ircot_searches_by_each_sentence_of_its_chain() -> None:
    """The first sentence of each reply, until one has the answer; then the reader answers."""
    thoughts = ["Ann Lee sang Breeze.", "Ann Lee was born in Cork."]
    llm = ScriptedLLM([f"{thoughts[0]} Bob, too.", thoughts[1], "So the answer is: Cork.", "Cork"])
    index = Finds(FOUND)
    result = ircot(llm, HashingEmbedder(), source=index, passages=1).ask(QUESTION)

    assert [QUESTION, *thoughts] == index.questions
    assert llm.prompts[2][-1].content.endswith(
        f"{QUESTION}\n\nThoughts so far: {' '.join(thoughts)}"
    )
    assert ("Cork", ["a"]) == (answer(result), [s.document.id for s in result.kept])


@pytest.mark.parametrize(("reply", "searches"), [("Ann sang.", 2), ("", 1)])
def test_a_chain_that_does_not_go_on_ends(reply: str, searches: int) -> None:
    """A sentence that comes again, or none; all that was found is read."""
    index = Finds(FOUND)
    result = ircot(ScriptedLLM(lambda _: reply), HashingEmbedder(), source=index).ask(QUESTION)

    assert (searches, 2) == (len(index.questions), len(result.kept))
    assert "the chain ends: no new sentence comes" in notes(result)


def feedback(known: str = "", helps: str = "", parts: str = "") -> ScriptedLLM:
    """Knows questions of ``known``; passages of ``helps`` help; ``parts`` are the question's."""

    def reply(prompt: Prompt) -> str:
        said, about = prompt[0].content, prompt[-1].content
        if "for sure" in said:
            return "yes" if known and known in about else "no"
        if "judge whether a passage" in said:
            return "yes" if helps and helps in about else "no"
        if "take a question apart" in said:
            return parts
        return {FIRST: "Ann Lee", SECOND: "Cork"}.get(about, "Cork, by what was found out")

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
def test_ra_isf_answers_in_the_first_way_that_goes(
    llm: ScriptedLLM, searched: int, kept: list[str]
) -> None:
    """As it is known, from what helps, from all that was found, or by the answers of its parts."""
    index = Finds(FOUND)
    result = ra_isf(llm, HashingEmbedder(), source=index, depth=2).ask(QUESTION)

    assert (searched, kept) == (len(index.asked), [s.document.id for s in result.kept])
    assert "Cork, by what was found out" == answer(result)


def test_ra_isf_tells_what_its_parts_answered() -> None:
    """What is open on the last level is unknown; where all is, the reader answers from a search."""
    llm = feedback(known="Ann", parts=f"{FIRST}\n{SECOND}")
    ra_isf(llm, HashingEmbedder(), source=Finds(FOUND), depth=2).ask(QUESTION)

    assert f"{FIRST} unknown\n{SECOND} Cork" in llm.prompts[-1][-1].content

    index = Finds(FOUND)
    result = ra_isf(feedback(), HashingEmbedder(), source=index, depth=1).ask(QUESTION)

    assert ([QUESTION] * 2, 2) == (index.questions, len(result.kept))
    assert "nothing was found out: the reader answers from what is found" in notes(result)
