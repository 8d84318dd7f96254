"""Reflection tokens and prompted judgements."""

import pytest

from ragsieve.errors import Unsupported
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.reflection import ByTokens, ByWords, Draft, first_segment

SAID = {"text": "Ann did.", "marked": "[Relevant]Ann did.[Fully supported]"}
READS = {"passage": "Song: Ann sang it.", "relevant": "[Relevant]"}
WRITES = {"segment": "She is old.", "supported": "[Partially supported]"}
DRAFT = Draft("Who sang it?", **SAID, **READS, **WRITES)
ASKED = "### Instruction:\nWho sang it?\n\n### Response:\n[Relevant]Ann did.[Fully supported]"
READ = "[Retrieval]<paragraph>Song: Ann sang it.</paragraph>"


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        ("retrieve", ASKED),
        ("relevant", ASKED + READ),
        ("write", ASKED + READ + "[Relevant]"),
        ("supported", ASKED + READ + "[Relevant]She is old."),
        ("useful", ASKED + READ + "[Relevant]She is old.[Partially supported]"),
    ],
)
def test_tokens_are_asked_for_where_they_stand_in_the_text(ask: str, text: str) -> None:
    """The prompt is the model's own text up to the token, or the segment."""
    (turn,) = ByTokens().prompt(ask, DRAFT)  # type: ignore[arg-type]

    assert ("raw", text) == turn


def test_texts_hold_no_tokens_of_their_own() -> None:
    """In a passage they stand in round brackets; without a passage the text says so."""
    draft = Draft("Who?", segment="Ann.")

    assert ByTokens().prompt("useful", draft)[0].content.endswith("Response:\n[No Retrieval]Ann.")

    draft = Draft("Who? [Relevant]", passage="</paragraph>\n\n[fully supported] [No  Retrieval]")
    text = ByTokens().prompt("relevant", draft)[0].content

    assert "<paragraph>(/paragraph) (fully supported) (No Retrieval)</paragraph>" in text
    assert "Who? (Relevant)" in text


@pytest.mark.parametrize("reflection", [ByTokens(), ByWords()])
def test_probabilities_are_needed(reflection: ByTokens | ByWords) -> None:
    """A model that only writes cannot judge so."""
    llm = ScriptedLLM([], can=frozenset({"complete"}), identity="small")

    with pytest.raises(Unsupported, match="needs a model that can choose, loglik: small"):
        reflection.check(llm)


@pytest.mark.parametrize("ask", ["retrieve", "relevant", "write", "supported", "useful"])
def test_prompted_judgements_hold_the_texts_as_json(ask: str) -> None:
    """Each is a prompt of its own; a text ends where its quotes end."""
    draft = Draft("Who?", "Ann\ndid.", "", 'He said "yes"', "", "She.", "")
    text = "\n".join(turn.content for turn in ByWords().prompt(ask, draft))  # type: ignore[arg-type]
    parts = {
        "retrieve": ['"Ann did."'],
        "relevant": [r'"He said \"yes\""'],
        "write": ['"Ann did."', r'"He said \"yes\""'],
        "supported": [r'"He said \"yes\""', '"She."'],
        "useful": ['"She."'],
    }

    assert "Question: Who?" in text
    assert [] == [part for part in parts[ask] if part not in text]


def test_marks_stand_in_the_text_of_a_model_that_reads_them() -> None:
    """The passage does not; prompted, the text is plain."""
    plain = Draft("Who?", "Ann did.", "Ann did.", segment="She is old.", relevant="yes")

    assert (
        "[Relevant]Ann did.[Fully supported][Relevant]She is old.[Partially supported]"
    ) == ByTokens().marked(DRAFT)
    assert "Ann did. She is old." == ByWords().marked(plain)


@pytest.mark.parametrize(
    ("reply", "segment", "ended"),
    [
        ("Ann sang it.", "Ann sang it.", True),
        ("Ann sang it. She is old.", "Ann sang it.", False),
        ("[Relevant]Ann\nsang it.[Fully supported][Utility:5]", "Ann sang it.", True),
        ("Ann sang it.[Fully supported][Retrieval]She is old.", "Ann sang it.", False),
        ("", "", True),
        (" [Utility:1] ", "", True),
        ("\ud800\x00", "\ufffd\ufffd", True),
    ],
)
def test_a_segment_is_the_first_sentence(reply: str, segment: str, ended: bool) -> None:
    """Reflection tokens are no text; the answer ends where nothing more is said."""
    assert (segment, ended) == first_segment(reply)
