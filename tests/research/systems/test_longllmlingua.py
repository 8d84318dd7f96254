"""LLMLingua and LongLLMLingua: documents, sentences and tokens cut to a budget."""

import pytest

from ragsieve import Document, Pipeline, Query, Segment, models
from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.select.order import Order
from ragsieve_research.score.surprisal import Expected
from ragsieve_research.systems.lingua import Prune, Reading
from ragsieve_research.systems.longllmlingua import llmlingua, longllmlingua, recovered

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained all day in the old town by the river.",
    "Summer Breeze was sung by Seals and Crofts in 1972.",
    "",
    "A breeze is a gentle wind that blows in the summer months.",
]


def nats(before, token):
    """Long words surprise; less behind the question where they are in it; it behind its answer."""
    word = token.strip()
    if "Who" in before and word in before.partition("?")[0]:
        return 0.0
    if "Seals" in before and word in QUESTION:
        return 0.5
    return float(len(word))


def llm():
    return ScriptedLLM(lambda prompt: "Seals and Crofts", nats=nats)


def spans(*pieces, text):
    """Each piece as a span of ``text``, the first one found behind the one before."""
    document, found, at = Document("d", text), [], 0
    for piece in pieces:
        start = text.index(piece, at)
        at = start + len(piece)
        found.append(Segment(document, start, at))
    return found


def test_a_budget_decides_what_is_read():
    """Nothing where all fits; documents past the coarse budget say so; LLMLingua keeps order."""
    result = longllmlingua(llm(), max_tokens=500)(QUESTION, DOCUMENTS)

    assert {d for d in DOCUMENTS if d} == {s.text for s in result.kept}

    result = llmlingua(llm(), rate=0.6)(QUESTION, DOCUMENTS)
    ids = [s.document.id for s in result.kept]

    assert sorted(ids) == ids

    result = longllmlingua(llm(), max_tokens=5, coarse=1.0)(QUESTION, DOCUMENTS)
    gone = result.trace.steps[4].dropped
    told = {d.segment.text: (list(d.segment.scores)[-1], d.reason.split(" ", 1)[1]) for d in gone}

    why = "below the least document that stays"
    assert ("document", why) == told[DOCUMENTS[0]] == told[DOCUMENTS[3]]


def test_a_token_over_two_documents_is_one_of_each():
    """No character of either is lost: "on" and "e two, a break, three" are two tokens."""

    class Coarse(Reading):
        def _worth(self, text):
            return [(0, 2, 1.0), (2, len(text), 2.0)]

    documents = [Segment.whole(Document("a", "one two")), Segment.whole(Document("b", "three"))]
    tokens = Coarse(llm(), "", 9).tokens(documents, [0.5, 0.5])

    assert [[(0, 2), (2, 7)], [(0, 5)]] == [[token[:2] for token in some] for some in tokens]


def test_the_question_is_read_before_a_long_text_to_its_end():
    """What was kept goes, first words first, where it does not fit half a context of 40 tokens."""
    seen = []

    def told(before, token):
        seen.append(before)
        return 1.0

    small = ScriptedLLM([], nats=told, context=40)
    long = Segment.whole(Document("d", "w " * 200))
    (tokens,) = Reading(small, QUESTION, 8).tokens([long], [0.5])
    asked = [before for before in seen if before.startswith(QUESTION)]

    assert 200 == len(asked)
    assert max(small.count(asked)) <= 40
    assert 4 * 25 == sum(worth >= 0 for *_, worth in tokens)


def test_a_name_gets_back_what_was_cut_from_it():
    """Between and inside its words; of 3,000 equal words in time; the reply is kept."""
    text = "In 1961 Barack Hussein Obama was born in Honolulu. He left."
    kept = spans("Bar", "Obama", "born", "nolulu", text=text)

    assert "It is Barack Hussein Obama." == recovered("It is Bar Obama.", kept)
    assert "Honolulu" == recovered("nolulu", kept)

    equal = spans(*["ab"] * 3_000, text="ab " * 3_000)
    text = "x" * 1_000_000
    cut = [Segment(Document("d", text), at, at + 3) for at in range(50, 100_000, 10)]

    assert "ab ab ab" == recovered("ab ab ab", equal)
    assert "x" * 67 == recovered("xxx", cut)

    text = "Summer Breeze was sung by James Eugene Seals of Texas."
    document = Document("d", text)
    found = spans("by James", "Seals", text=text)
    answer = longllmlingua(ScriptedLLM(["James Seals"])).reader(Query(QUESTION), found)

    assert document == found[0].document
    assert ("James Eugene Seals", "James Seals") == (answer.text, answer.reply)


def test_what_was_not_read_off_stays_as_it_is():
    """Other words, whole words, words far apart, of two sentences, and those that are no name."""
    text = "Anna met one two three four five Bela. Carl came to the old island."
    kept = spans("Anna", "Bela", "Carl", "the", "island", text=text)

    answers = ["the island", "The island", "Dora", "anna", "Anna Bela", "Bela Carl", ""]
    for answer in (*answers, "Anna, then Bela!"):
        assert answer == recovered(answer, kept)


LIGHTHOUSE = [
    "The old lighthouse on Gull Rock was built in 1871 by the engineer Mary Tallis, who came from "
    "Bristol. It was painted red and white, and its lamp could be seen from twenty miles away.",
    "Gull Rock is a small island with many birds. In spring thousands of puffins nest there, and "
    "visitors are asked to stay on the paths.",
    "The harbour of Penmoor was closed for some years. Fishing boats used the bay to the north, "
    "and the market moved to the town.",
]
KEPT = [  # by llmlingua 0.2.2, its thresholds by window and document, a token by its own worth
    [
        *[(0, 41), (44, 48), (49, 65), (70, 75), (78, 92), (104, 108), (116, 124), (130, 135)],
        *[(158, 170), (176, 182)],
    ],
    [(0, 4), (9, 12), (14, 27), (37, 44), (80, 86), (113, 118), (125, 131)],
]


@pytest.mark.models
def test_tokens_stay_as_by_the_authors_package():
    """On SmolLM2 in float32, 40 tokens, windows of 40; the last document is not read there."""
    smollm2 = models.load("smollm2", dtype="float32")
    stages = Pipeline(
        Expected(smollm2), Order("score"), Prune(smollm2, Reader(smollm2), keep=40, window=40)
    )
    given = [Segment.whole(Document(str(n), text, rank=n)) for n, text in enumerate(LIGHTHOUSE)]
    runs = stages(Query("Who built the lighthouse on Gull Rock?"), given)
    ours = {(s.document.rank, at) for s in runs if s.score >= 0 for at in range(s.start, s.end)}
    theirs = {(n, at) for n, spans in enumerate(KEPT) for a, b in spans for at in range(a, b)}
    places = [(n, at) for n in (0, 1) for at, char in enumerate(LIGHTHOUSE[n]) if char != " "]
    equal = sum((place in ours) == (place in theirs) for place in places)

    assert ["0", "1", "2"] == list(dict.fromkeys(s.document.id for s in runs))
    assert equal / len(places) > 0.95
