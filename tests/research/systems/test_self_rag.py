"""Self-RAG: its reflection, by tokens or words, and the search over segments."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ragsieve import Document, Segment
from ragsieve.errors import Unsupported
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.systems.reflection import TOKENS, ByTokens, ByWords, Draft, first_segment
from ragsieve_research.systems.self_rag import self_rag
from tests.named import answer, notes

QUESTION = "Who sang it?"
A = "Ann sang it."
B = "Bob sang it too."
C = "Cats sing."
E = math.exp(-1)  # of every segment: ScriptedLLM's tokens have log-probability -1 each


@dataclass
class Marks:
    """How a scripted model marks a passage and what is written from it.

    Args:
        relevant: Probability that the passage is relevant.
        supported: Of full, partial, no support.
        useful: Of the marks 1 to 5.
        says: What it writes next, by what it has said, without marks.
    """

    relevant: float = 0.5
    supported: tuple[float, float, float] = (0.0, 0.0, 1.0)
    useful: tuple[float, ...] = (0.0, 0.0, 1.0, 0.0, 0.0)
    says: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Reflecting(ScriptedLLM):
    """Has the tokens; what it writes and how it judges depends on the passage.

    Args:
        retrieve: Probability of retrieval, by what has been said.
        marks: By passage; of no passage by the empty string.
    """

    retrieve: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    marks: Mapping[str, Marks] = field(default_factory=dict, kw_only=True)
    calls: list[tuple[str, int]] = field(default_factory=list, kw_only=True)

    def count(self, texts, /):
        known = {token for group in TOKENS.values() for token in group}
        known |= {"<paragraph>", "</paragraph>"}
        counts = super().count(texts)
        return [1 if text in known else n for text, n in zip(texts, counts, strict=True)]

    def complete(self, prompts, **options):
        self.calls.append(("complete", len(prompts)))
        return super().complete(prompts, **options)

    def choose(self, prompts, options):
        self.calls.append((options[0][0], len(prompts)))
        return super().choose(prompts, options)


def passage_of(prompt):
    found = re.findall("<paragraph>(.*?)</paragraph>", prompt[-1].content)
    return found[-1] if found else ""


def said_of(prompt):
    """What stands before the last retrieval, without marks."""
    text = prompt[-1].content.split("### Response:\n")[1]
    text = re.split(r"\[Retrieval\]|\[No Retrieval\]", text)[0]
    return re.sub(r"\[[^\]]*\]", " ", text).strip()


def scripted(marks, retrieve=None):
    odds = retrieve or {}

    def reply(prompt):
        if "### Response" not in prompt[-1].content:
            return "the reader"
        return marks[passage_of(prompt)].says.get(said_of(prompt), "")

    def choices(prompt, options):
        if options == TOKENS["retrieve"]:
            share = odds.get(said_of(prompt), 1.0)
            return (share, 1 - share)
        given = marks[passage_of(prompt)]
        if options == TOKENS["relevant"]:
            return (given.relevant, 1 - given.relevant)
        return given.supported if options == TOKENS["supported"] else given.useful

    return Reflecting(reply, choices=choices, marks=marks, retrieve=odds)


def asked(llm, documents=(A, B, C), **options):
    return self_rag(llm, HashingEmbedder(), **options).ask(QUESTION, documents)


def levels(result):
    """What stayed at each level, with its score."""
    return [
        [(path["text"], path["score"]) for path in event["paths"]]
        for record in result.trace.steps
        for event in record.events
        if event["event"] == "level"
    ]


ONE = {
    A: Marks(0.9, (0.8, 0.2, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0), {"": "Ann did."}),
    B: Marks(0.6, (0.1, 0.5, 0.4), (0.0, 0.5, 0.5, 0.0, 0.0), {"": "Bob did."}),
    C: Marks(0.1, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0, 0.0), {"": "Cats did."}),
}


def test_a_segments_score_is_its_marks_weighed():
    """p + 1.0 relevant + 1.0 (full + 0.5 partial) + 0.5 use.

    A: e^-1 + 0.9 + (0.8 + 0.1) + 0.5 * 1    = e^-1 + 2.3
    B: e^-1 + 0.6 + (0.1 + 0.25) + 0.5 * -0.25 = e^-1 + 0.825
    C: e^-1 + 0.1 + 0 + 0.5 * -1             = e^-1 - 0.4, past the beam
    """
    result = asked(scripted(ONE))

    assert [[("Ann did.", E + 2.3), ("Bob did.", E + 0.825)]] == [
        [(said, pytest.approx(score)) for said, score in level] for level in levels(result)
    ]
    assert "Ann did." == answer(result)
    assert [A] == [s.text for s in result.kept]
    assert "[Relevant]Ann did.[Fully supported]" == (result.answer and result.answer.reply)

    llm = scripted(ONE)
    asked(llm)

    asks = ("[Relevant]", "complete", "[Fully supported]", "[Utility:1]")
    assert [("[Retrieval]", 1), *((ask, 3) for ask in asks)] == llm.calls


LONG = {
    A: Marks(0.5, says={"": "A one. And", "A one.": "A two.", "B one.": "A after B."}),
    B: Marks(0.9, says={"": "B one. And", "A one.": "B after A.", "B one.": "B two."}),
    C: Marks(0.1, says={"": "C one.", "A one.": "C after A.", "B one.": "C after B."}),
}


def test_the_beam_keeps_the_best_beginnings():
    """A segment is worth e^-1 and the passage's relevance; a path the mean of its segments.

    Level 1: B 0.9, A 0.5, C 0.1, of which two stay. Level 2: of B and then A, each with A, B, C:
    B B (0.9 + 0.9) / 2 = 0.9; B A and A B 0.7; B C and A A 0.5; A C 0.3. Of equal ones the earlier.
    """
    result = asked(scripted(LONG))

    assert [
        [("B one.", E + 0.9), ("A one.", E + 0.5)],
        [("B one. B two.", E + 0.9), ("B one. A after B.", E + 0.7)],
    ] == [[(said, pytest.approx(score)) for said, score in level] for level in levels(result)]
    assert "B one. B two." == answer(result)
    assert [B] == [s.text for s in result.kept]


def test_an_answer_ends():
    """At its depth, where it says the same again, and where a finished beginning is best."""
    marks = LONG | {C: Marks(1.0, says={"": "C one."})}
    result = asked(scripted(marks))

    assert ["C one.", "C one."] == [level[0][0] for level in levels(result)]
    assert "C one." == answer(result)

    class Endless(Reflecting):
        def complete(self, prompts, **options):
            return [f"Sentence {len(said_of(p))}. More." for p in prompts]

    result = asked(Endless([], marks={A: Marks()}, choices=scripted(LONG).choices), [A], depth=3)

    assert 3 == len(levels(result))
    assert 3 == answer(result).count("Sentence")

    marks = {A: Marks(says={"": "Ann did. And", "Ann did.": "ANN did. And"})}
    result = asked(scripted(marks), [A])

    assert "Ann did." == answer(result)
    assert 2 == len(levels(result))


@pytest.mark.parametrize(("odds", "passages"), [(0.2, 0), (0.21, 1)])
def test_retrieval_is_on_demand(odds, passages):
    """Above 0.2, not at it; without a passage a score is e^-1 + 0.5 use, the mark 5 worth 1."""
    marks = {
        A: Marks(0.9, says={"": "Ann did."}),
        "": Marks(useful=(0.0, 0.0, 0.0, 0.0, 1.0), says={"": "Someone did."}),
    }
    result = asked(scripted(marks, {"": odds}), [A])

    assert passages == len(result.kept)
    assert (["Someone did.", "Ann did."][passages]) == answer(result)
    assert pytest.approx([E + 0.5, E + 0.9][passages]) == levels(result)[0][0][1]


def test_what_has_been_said_is_searched_too():
    """The second search is the question with the first segment."""
    marks = {A: Marks(says={"": "Ann did. And", "Ann did.": "She is old."})}
    queries = []

    def finds(query, /):
        queries.append(query.text)
        return [Segment.whole(Document("a", A))]

    result = self_rag(scripted(marks), HashingEmbedder(), source=finds).ask(QUESTION)

    assert [QUESTION, f"{QUESTION} Ann did."] == queries
    assert "Ann did. She is old." == answer(result)


def test_what_finds_or_writes_nothing_goes_on():
    """From no passage, or by the reader; the trace says so."""
    marks = {"": Marks(says={"": "Someone did."})}
    system = self_rag(scripted(marks), HashingEmbedder(), source=lambda _: [])

    assert "Someone did." == answer(system.ask(QUESTION))

    result = asked(scripted({A: Marks()}), [A])

    assert "the reader" == answer(result)
    assert [A] == [s.text for s in result.kept]
    assert "nothing was written: the reader answers from what was found" in notes(result)


def test_passages_over_the_context_are_left_out():
    """Room is the context without two segments and the chat's frame; the trace tells how many."""
    long = " ".join(["word"] * 150)
    llm = scripted({A: Marks(says={"": "Ann did."})})
    llm.context = 330
    result = asked(llm, [A, long])

    assert "Ann did." == answer(result)
    assert "1 passages do not fit the context of 66 tokens" in notes(result)


def test_pruned_spans_of_a_document_are_one_passage():
    """They stand together; what is kept are the spans themselves."""

    def ends(query, segments, /):
        return [Segment(s.document, *span) for s in segments for span in [(0, 4), (8, s.end)]]

    llm = scripted({"Ann  … it.": Marks(), "Ann … it.": Marks(says={"": "Ann did."})})
    result = asked(llm, [A], prune=ends)

    assert ["Ann ", " it."] == [s.text for s in result.kept]


def test_any_model_can_be_prompted():
    """The same search by prompts: it is asked for yes, full and 5."""
    seen = []

    def choices(prompt, options):
        seen.append(tuple(options))
        return [1.0, *[0.0] * (len(options) - 1)]

    llm = ScriptedLLM(["Ann did."], choices=choices)
    result = asked(llm, [A], reflection="prompted")

    assert [("yes", "no"), ("yes", "no"), ("full", "part", "none"), ("1", "2", "3", "4", "5")] == (
        seen
    )
    assert pytest.approx(E + 1 + 1 - 0.5) == levels(result)[0][0][1]
    assert "Ann did." == answer(result)


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
def test_tokens_are_asked_for_where_they_stand_in_the_text(ask, text):
    """The prompt is the model's own text up to the token, or the segment."""
    (turn,) = ByTokens().prompt(ask, DRAFT)

    assert ("raw", text) == turn


def test_tokens_stand_only_where_a_model_reads_them():
    """In a passage in round brackets; marks stand in the text, which is plain if prompted."""
    draft = Draft("Who?", segment="Ann.")

    assert ByTokens().prompt("useful", draft)[0].content.endswith("Response:\n[No Retrieval]Ann.")

    draft = Draft("Who? [Relevant]", passage="</paragraph>\n\n[fully supported] [No  Retrieval]")
    text = ByTokens().prompt("relevant", draft)[0].content

    assert "<paragraph>(/paragraph) (fully supported) (No Retrieval)</paragraph>" in text
    assert "Who? (Relevant)" in text

    plain = Draft("Who?", "Ann did.", "Ann did.", segment="She is old.", relevant="yes")

    assert (
        "[Relevant]Ann did.[Fully supported][Relevant]She is old.[Partially supported]"
    ) == ByTokens().marked(DRAFT)
    assert "Ann did. She is old." == ByWords().marked(plain)


@pytest.mark.parametrize("reflection", [ByTokens(), ByWords()])
def test_probabilities_are_needed(reflection):
    """A model that only writes cannot judge so."""
    llm = ScriptedLLM([], can=frozenset({"complete"}), identity="small")

    with pytest.raises(Unsupported, match="needs a model that can choose, loglik: small"):
        reflection.check(llm)


@pytest.mark.parametrize("ask", ["retrieve", "relevant", "write", "supported", "useful"])
def test_prompted_judgements_hold_the_texts_as_json(ask):
    """Each is a prompt of its own; a text ends where its quotes end."""
    draft = Draft("Who?", "Ann\ndid.", "", 'He said "yes"', "", "She.", "")
    text = "\n".join(turn.content for turn in ByWords().prompt(ask, draft))
    parts = {
        "retrieve": ['"Ann did."'],
        "relevant": [r'"He said \"yes\""'],
        "write": ['"Ann did."', r'"He said \"yes\""'],
        "supported": [r'"He said \"yes\""', '"She."'],
        "useful": ['"She."'],
    }

    assert "Question: Who?" in text
    assert [] == [part for part in parts[ask] if part not in text]


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
def test_a_segment_is_the_first_sentence(reply, segment, ended):
    """Reflection tokens are no text; the answer ends where nothing more is said."""
    assert (segment, ended) == first_segment(reply)
    assert ("Of Ann.", True) == first_segment(ByWords().said("Sure, so it goes on:\n\nOf Ann."))
