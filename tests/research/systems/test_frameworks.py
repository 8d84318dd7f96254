"""HyDE, Rewrite-Retrieve-Read, Iter-RETGEN: what is asked of the model, and what is searched."""

import pytest

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.types import Document, Segment
from ragsieve_research.retrieve.records import RECORD
from ragsieve_research.systems.hyde import hyde, rewrite_retrieve_read
from ragsieve_research.systems.iter_retgen import iter_retgen
from tests.named import Finds, answer, notes

QUESTION = "Where was the singer of Breeze born?"
FOUND = (Segment.whole(Document("a", "Ann sang Breeze.")),)
DOCUMENTS = ["Ann sang Breeze.", "Ann Lee was born in Cork.", "Cats sleep."]


def test_hyde_searches_by_the_question_and_a_made_up_passage():
    """Two calls: the passage, then the answer, from an index or from documents in hand."""
    index, llm = Finds(FOUND), ScriptedLLM(["Ann Lee was born\nin Cork.", "Cork"])
    result = hyde(llm, HashingEmbedder(), source=index).ask(QUESTION)

    assert [f"{QUESTION}\nAnn Lee was born\nin Cork."] == index.questions
    assert "Cork" == answer(result)
    assert 2 == len(llm.prompts)
    assert QUESTION == llm.prompts[0][-1].content
    assert "Ann sang Breeze." in llm.prompts[1][0].content

    llm = ScriptedLLM(["Ann Lee, born in Cork, born in Cork.", "Cork"])
    result = hyde(llm, HashingEmbedder(), k=1).ask(QUESTION, DOCUMENTS)

    assert ["1"] == [s.document.id for s in result.kept]


@pytest.mark.parametrize("reply", ["", "  \n", "<think>What is it?"])
def test_hyde_without_a_passage_searches_by_the_question(reply):
    """The trace says that nothing was made up."""
    index = Finds(FOUND)
    result = hyde(ScriptedLLM([reply, "Cork"]), HashingEmbedder(), source=index).ask(QUESTION)

    assert [QUESTION] == index.questions
    assert "no passage was made up: the question as it is searches" in notes(result)


def test_rewrite_retrieve_read_searches_in_other_words():
    """The reader is asked the question itself; without a readable rewrite it searches, too."""
    index, llm = Finds(FOUND), ScriptedLLM(["Birthplace of the singer of Breeze?", "Cork"])
    result = rewrite_retrieve_read(llm, HashingEmbedder(), source=index).ask(QUESTION)

    assert ["Birthplace of the singer of Breeze?"] == index.questions
    assert QUESTION == llm.prompts[1][-1].content
    assert "Cork" == answer(result)

    index, llm = Finds(FOUND), ScriptedLLM(["", "Cats sleep.", "Cork"])
    rewrite_retrieve_read(llm, HashingEmbedder(), source=index).ask(QUESTION)

    assert [QUESTION] == index.questions
    assert 3 == len(llm.prompts)


def test_iter_retgen_searches_by_each_answer_with_the_question():
    """Three searches; fewer where an answer comes again or says nothing; one is naive RAG."""
    index, llm = Finds(FOUND), ScriptedLLM(["Ann sang\nit.", "Ann Lee of Cork.", "Cork"])
    result = iter_retgen(llm, HashingEmbedder(), source=index).ask(QUESTION)

    assert [QUESTION, f"Ann sang it. {QUESTION}", f"Ann Lee of Cork. {QUESTION}"] == index.questions
    assert "Cork" == answer(result)
    assert 3 == len(llm.prompts)

    index, llm = Finds(FOUND), ScriptedLLM(lambda _: "Ann")
    result = iter_retgen(llm, HashingEmbedder(), source=index, iterations=9).ask(QUESTION)

    assert [QUESTION, f"Ann {QUESTION}"] == index.questions
    assert 3 == len(llm.prompts)
    assert "search 3 would be the last one again: it is over" in notes(result)

    index = Finds(FOUND)
    iter_retgen(ScriptedLLM(lambda _: " "), HashingEmbedder(), source=index).ask(QUESTION)

    assert [QUESTION] == index.questions

    index, llm = Finds(FOUND), ScriptedLLM(["Cork"])
    iter_retgen(llm, HashingEmbedder(), source=index, iterations=1).ask(QUESTION)

    assert ([QUESTION], 1) == (index.questions, len(llm.prompts))


def test_iter_retgen_follows_its_answers_through_documents_in_hand():
    """The answer names Ann Lee, whose document the question itself does not find."""

    def reply(prompt):
        return "Ann Lee was born in Cork" if "Breeze." in prompt[0].content else "Cork"

    system = iter_retgen(ScriptedLLM(reply), HashingEmbedder(), k=1, iterations=2)
    result = system.ask(QUESTION, DOCUMENTS)

    assert ["Ann Lee was born in Cork."] == [s.text for s in result.kept]
    assert "Cork" == answer(result)


@pytest.mark.parametrize("in_hand", [True, False])
def test_records_of_an_api_are_found_whole_or_not_at_all(in_hand):
    """A page of 300 words is cut after 200 tokens, a record of as many is not."""
    text = "Breeze " * 300
    page, record = Document("page", text), Document("api", text, "API", metadata={RECORD: {}})
    found = [Segment.whole(document) for document in (page, record)]
    system = rewrite_retrieve_read(
        ScriptedLLM(lambda _: "Breeze?"), HashingEmbedder(), source=lambda _: found, k=9
    )
    result = system("Breeze?", [page, record] if in_hand else None)

    assert ["api", "page", "page"] == sorted(s.document.id for s in result.kept)
    assert [text] == [s.text for s in result.kept if s.document.id == "api"]
