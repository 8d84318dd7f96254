"""CompAct (arXiv 2407.09014) worked by hand: section 3, rounds of five documents.

Twelve documents are three rounds: 1 to 5, 6 to 10, and 11 with 12. The writer's replies:

    round  reads                              writes
    1      1-5                                Seals and Crofts wrote it. [INCOMPLETE] Who sang?
    2      6-10, that summary and "Who sang?" They wrote and sang it in 1972. [COMPLETE] Both known.
    3      is not asked

So the reader reads "They wrote and sang it in 1972. Both known.", written from documents 1 to 10.
"""

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.compact import compact

FIRST = "Summary: Seals and Crofts wrote it.\nEvaluation: [INCOMPLETE] Who sang?"
SECOND = "Summary: They wrote and sang it in 1972.\nEvaluation: [COMPLETE] Both known."
TEXTS = [f"Fact {n}." for n in range(1, 13)]
BAD = "I cannot say."


def asked(replies, *, trained=False):
    writer = ScriptedLLM(replies)
    system = compact(ScriptedLLM([]), writer=writer) if trained else compact(writer)
    return system("Who sang Summer Breeze?", TEXTS), writer


def test_rounds_go_on_until_the_summary_is_complete():
    """What is kept is marked as written, by whom and from what."""
    result, writer = asked([FIRST, SECOND])
    documents = {s.document for s in result.kept}
    (document,) = documents
    second = writer.prompts[1][0].content

    assert "They wrote and sang it in 1972. Both known." == result.text
    assert ("scripted", TEXTS[:10]) == (document.written_by, [p.text for p in document.parents])
    assert 2 == len(writer.prompts)
    assert "Previous summary: Seals and Crofts wrote it." in second
    assert "Evaluation of previous summary: Who sang?" in second
    assert "Fact 6." in second
    assert "Fact 5." not in second
    assert "Previous summary: none" in writer.prompts[0][0].content
    reasons = {v.segment.text: v.reason for v in result.verdicts if v.stage}
    assert ("scripted: read for what it wrote", "scripted: not read") == (
        reasons["Fact 10."],
        reasons["Fact 11."],
    )


def test_it_ends_with_the_documents():
    """The last summary counts, complete or not."""
    last = "Summary: They sang it.\nEvaluation: [INCOMPLETE] When?"
    result, writer = asked([FIRST, FIRST, last])

    assert "They sang it. When?" == result.text
    assert 3 == len(writer.prompts)


def test_unreadable_rounds_are_asked_once_more_and_passed_over():
    """The summary before stands; the documents of a round that gave none are no parents."""
    result, writer = asked([FIRST, BAD, BAD, SECOND])

    assert "They wrote and sang it in 1972. Both known." == result.text
    assert 4 == len(writer.prompts)
    assert [*TEXTS[:5], *TEXTS[10:]] == [p.text for p in result.kept[0].document.parents]
    assert "unreadable twice, so the summary before stands" in str(result.trace.steps)


@pytest.mark.parametrize(
    "reply",
    [
        BAD,
        "Summary: They sang it.",
        "Evaluation: [COMPLETE] yes",
        "Summary: They sang it.\nEvaluation: complete",
        "Summary: They sang it.\nEvaluation: [COMPLETE] or [INCOMPLETE]",
        "Summary:\nEvaluation: [COMPLETE] It holds all.",
        f"{FIRST}\n{SECOND}",
    ],
)
def test_without_a_readable_reply_the_first_documents_stay(reply):
    """As they are, as spans of themselves."""
    result, _ = asked([reply] * 6)

    assert TEXTS[:5] == [s.text for s in result.kept]
    assert "no round gave a summary" in str(result.trace.steps)


def test_nothing_is_kept_where_nothing_helps():
    """The model may say so in each round."""
    replies = [
        f"Summary: {s}\nEvaluation: [INCOMPLETE] Who?" for s in ("none", "The texts don't say.")
    ]
    result, _ = asked([replies[0], *replies])

    assert () == result.kept


def test_trained_words_end_where_the_reply_begins():
    """So its first line needs no name; a JSON object is read, too."""
    result, writer = asked(["They sang it.\n\nEvaluation: [COMPLETE] Known."], trained=True)
    told = '{"Summary": "They sang it.", "Evaluation": "[COMPLETE] Known."}'

    assert "They sang it. Known." == result.text
    assert writer.prompts[0][0].content.endswith("Summary:")
    assert "They sang it. Known." == asked([told])[0].text
