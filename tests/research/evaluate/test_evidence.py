"""Kept spans against gold evidence."""

import pytest

from ragsieve import InputError, Pipeline, System, Trace, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.result import Result, Tokens
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.evaluate.evidence import (
    Presence,
    document_precision,
    document_recall,
    gold_sentences,
    presence,
    sentence_precision,
    sentence_recall,
)
from ragsieve_research.systems.finefilter import finefilter

QUERY = Query("Who sang it?")
TEXT = "Seals sang it. It rained. Crofts played."  # sentences at 0:14, 15:25 and 26:40
SANG, RAINED, PLAYED = (0, 14), (15, 25), (26, 40)


def document(id="d", text=TEXT, **metadata):
    return Document(id, text, metadata=metadata)


def kept(example, *spans):
    """A result that keeps spans of documents by id."""
    documents = {d.id: d for d in example.documents}
    segments = tuple(Segment(documents[id], start, end) for id, start, end in spans)
    return Result(QUERY, example.documents, segments, "", Tokens(40, 10), Trace())


def of_documents(example, result):
    """Recall and precision of documents."""
    return document_recall(example, result), document_precision(example, result)


def of_sentences(example, result):
    """Recall and precision of sentences."""
    return sentence_recall(example, result), sentence_precision(example, result)


@pytest.mark.parametrize(
    ("text", "sentences", "named", "expected"),
    [
        (  # twice, with other white space, without the final stop, blank, and what is nowhere
            *(TEXT, []),
            ["Crofts played.", "Seals sang it.", "Seals  sang\nit", " ", "Nobody said this."],
            [(0, 13), SANG, PLAYED],
        ),
        (TEXT, ["Seals sang it.", "It rained."], [1, 7], [RAINED]),  # by index, as HotpotQA does
        ("They resang it twice. He (sang it, twice).", [], ["sang it: twice"], [(26, 40)]),
        ("He won. Ann lost. He won.", ["He won.", "Ann lost.", "He won."], [2], [(18, 25)]),
        (
            "He won. Ann lost. He won.",
            ["He won.", "Ann lost.", "He won."],
            [0, 1],
            [(0, 7), (8, 17)],
        ),
        ("He won. Ann lost.", ["Ann lost.", "He won."], [1], [(0, 7)]),  # of another order
        ("He won. So [1] he won.", ["He won.", "Nobody.", "so 1 he won"], [2], []),
        ("He won. So [1] he won.", ["He won.", "Nobody.", "So 1 he won."], [2], [(8, 21)]),
        ("Anna saw Ann.", [], ["Ann"], [(9, 12)]),
        ("It was late.Ann lost.[2]", [], ["Ann lost.", "It was late."], [(0, 12), (12, 21)]),
        ("她在北京写了这首歌。", [], ["北京写了"], [(2, 6)]),
    ],
)
def test_a_gold_sentence_is_the_one_that_is_meant(text, sentences, named, expected):
    """By text in any order, or by index; a repeated one by its place; never a part of a word."""
    gold = document(text=text, sentences=sentences, supporting_sentences=named)

    assert expected == gold_sentences(gold)


@pytest.mark.data
@pytest.mark.parametrize("name", ["hotpotqa", "2wikimultihopqa", "multihoprag", "clapnq"])
def test_real_gold_sentences_are_found(records, name):
    """All of them, whose text stands in the document or differs from it by punctuation only."""
    documents = [d for example in records[name] for d in example.documents]
    named = sum(len({*d.metadata.get("supporting_sentences", [])}) for d in documents)
    found = sum(len(gold_sentences(d)) for d in documents)

    assert named > 400
    assert named - found <= 0.005 * named


def test_documents_count_by_any_span_and_sentences_by_half():
    """Gold a, b, c; kept a, a, b, x: 2 of 3 both. Of 14 characters 7 are enough, and 6 are not."""
    gold = [document(id, is_positive=True) for id in "abc"]
    example = Example(QUERY, (*gold, document("x", is_positive=False)))
    result = kept(example, ("a", *SANG), ("a", *PLAYED), ("b", *SANG), ("x", *RAINED))

    assert (2 / 3, 2 / 3) == of_documents(example, result)
    assert (0.0, 0.0) == of_documents(example, kept(example))

    gold = document(supporting_sentences=["Seals sang it.", "Crofts played."])
    example = Example(QUERY, (gold,))
    result = kept(example, ("d", 0, 32))  # "Seals sang it. It rained. Crofts"

    assert 1 / 2 == sentence_recall(example, result)
    assert 2 / 3 == sentence_precision(example, result)  # "Crofts" lies in a gold sentence
    assert 1.0 == sentence_recall(example, kept(example, ("d", 0, 7), ("d", 26, 33)))  # 7 of 14
    assert 0.0 == sentence_recall(example, kept(example, ("d", 0, 6), ("d", 26, 32)))  # 6 of 14


@pytest.mark.parametrize(
    ("gold", "spans", "expected"),
    [
        ("Seals sang it.", [("a", 15, 25), ("a", 0, 25)], (1.0, 0.5)),  # overlapping count once
        ("It rained.", [("b", *RAINED), ("a", *RAINED)], (1.0, 0.5)),  # b has no gold one
        ("It rained.", [], (0.0, 0.0)),
    ],
)
def test_sentences_worked_by_hand(gold, spans, expected):
    """Recall and precision of two equal texts, of which one is labelled."""
    example = Example(QUERY, (document("a", supporting_sentences=[gold]), document("b")))

    assert expected == of_sentences(example, kept(example, *spans))


def test_without_a_gold_label_there_is_no_number():
    """Whatever was kept: unlabelled, and labelled with nothing gold among them."""
    for metadata in ({}, {"is_positive": False, "supporting_sentences": []}):
        example = Example(QUERY, (document(**metadata),))
        for result in (kept(example), kept(example, ("d", *SANG))):
            assert (None,) * 4 == of_documents(example, result) + of_sentences(example, result)


def test_labels_follow_equal_ids_and_equal_texts():
    """A second one is renamed; a copy's label counts; of equal texts each keeps its own."""
    example = Example(QUERY, (document("a", "It rained."), document("a", is_positive=True)))
    result = System(Pipeline(), Reader(ScriptedLLM([])))(QUERY, example.documents)
    first_only = Result(QUERY, result.documents, result.kept[:1], "", Tokens(2, 1), Trace())

    assert 0.5 == document_precision(example, result)
    assert 0.0 == document_recall(example, first_only)

    example = Example(QUERY, (document("a"), document("a", is_positive=True), document("b")))
    result = System(Pipeline(), Reader(ScriptedLLM([])))(QUERY, example.documents)

    assert (1.0, 0.5) == of_documents(example, result)

    twins = (Document("1", TEXT), Document("2", TEXT, metadata={"is_positive": True}))
    example = Example(QUERY, twins)

    assert [0.0, 1.0] == [document_recall(example, of_index((twin, 0, 14))) for twin in twins]


def test_an_answer_is_followed_through_the_stages():
    """Extract keeps two sentences, the wrong one is ranked first and alone survives."""
    llm = ScriptedLLM(lambda prompt: "[1, 2]", choices=lambda _, options: [0, 1, 0])
    system = finefilter(llm, HashingEmbedder())
    documents = ["Who was it? Seals sang. It rained."]
    result = system("Who was it?", documents)

    there = [Presence(name, True, None) for name in ("given", "Sentences", "Extract")]
    gone = [Presence(name, False, False) for name in ("Truncate", "Order")]
    assert [*there, Presence("Cosine", True, False), *gone] == presence(result, ["Seals"])
    with pytest.raises(InputError, match="result must be a call's own, got one read from JSON"):
        presence(Result.from_dict(result.to_dict()), ["Seals"])


def test_an_answer_is_present_in_what_a_stage_kept():
    """Not in titles or dropped text; the reader's step is none, and a budget's cut is one."""
    system = System(Pipeline(split.Sentences()), Reader(ScriptedLLM(["Seals"]))).with_budget(4)
    filtered, asked = system(QUERY, [TEXT]), system.ask(QUERY, [TEXT])
    stages = ["given", "Sentences", "System"]

    assert asked.answer is not None
    assert stages == [p.stage for p in presence(filtered, ["Crofts"])]
    assert stages == [p.stage for p in presence(asked, ["Crofts"])]
    assert [True, True, False] == [p.present for p in presence(asked, ["Crofts"])]

    system = System(Pipeline(split.Sentences(), select.TopK(1)), Reader(ScriptedLLM([])))
    result = system(QUERY, [Document("d", "他住在东京。 Crofts played.", "Seals")])

    assert [True] * 3 == [p.present for p in presence(result, ["东京"])]
    assert [False] * 3 == [p.present for p in presence(result, ["Seals"])]
    assert False is presence(result, ["Crofts"])[-1].present
    assert [] == presence(result, ["No", "yes."])


def of_index(*spans):
    """A result that keeps spans of documents as an index knows them."""
    segments = tuple(Segment(*span) for span in spans)
    documents = tuple(segment.document for segment in segments)
    return Result(QUERY, documents, segments, "", Tokens(40, 10), Trace())


GOLD = Document("7", TEXT, "Songs", metadata={"is_positive": True, "supporting_sentences": [TEXT]})
OTHER_TEXT = ("It snowed.", "Weather")
OTHER = Document("8", *OTHER_TEXT, metadata={"is_positive": False})
HAILED = [(Document(f"x{n}", "It hailed."), 0, 10) for n in range(3)]
INDEXED = Example(QUERY, (OTHER, GOLD))


@pytest.mark.parametrize(
    ("spans", "of_document", "of_sentence"),
    [
        (  # one of two is gold; three sentences of its text, one snowed
            [(Document("a:0", TEXT, "Songs"), 0, 40), (Document("a:1", *OTHER_TEXT), 0, 9)],
            *((1.0, 0.5), (1.0, 0.75)),
        ),
        # equal ids, another text or title: nothing gold is found, all that is kept is wrong
        ([(Document("7", "It hailed."), 0, 10)], (0.0, 0.0), (0.0, 0.0)),
        ([(Document("7", TEXT, "Another title"), 0, 10)], (0.0, 0.0), (0.0, 0.0)),
        # each stranger by itself: a quarter is gold, but less than half of its sentence
        ([(GOLD, 0, 14), *HAILED], (1.0, 0.25), (0.0, 0.25)),
        # half of the gold sentence from each of two copies is all of it
        (
            [(Document("x", TEXT, "Songs"), 0, 15), (Document("y", TEXT, "Songs"), 15, 40)],
            *((1.0, 1.0), (1.0, 1.0)),
        ),
    ],
)
def test_documents_of_an_index_are_known_by_what_they_say(spans, of_document, of_sentence):
    """Recall and precision, whatever ids they have there."""
    result = of_index(*spans)

    assert of_document == of_documents(INDEXED, result)
    assert of_sentence == of_sentences(INDEXED, result)
