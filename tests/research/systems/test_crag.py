"""Corrective RAG: verdicts, strips, another source."""

from dataclasses import replace

import pytest

from ragsieve import Document, InputError, Pipeline, Query, Segment, score
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.score.calibrated import Calibrated, Logistic
from ragsieve_research.systems.crag import PAPER, JudgedEvidence, Strips, crag
from tests.named import Finds
from tests.tiny import Scores

QUERY = Query("Who sang it?")
WEB = Document("0", "Ann sang it. It rained. So it was. Bob wrote it.", "Web")
NAME = "fallback:0:c422ac42"  # SHA-256 of ('Web', 'Ann sang it. … Bob wrote it.', '') begins so


def web(*documents):
    """Finds documents whatever is asked."""
    return Finds([Segment.whole(document) for document in documents or [WEB]])


def table(words):
    """The score of the first of these words that a text has, else -1."""
    return Scores(lambda text: next((v for word, v in words.items() if word in text), -1.0))


def run(words, *texts, **options):
    llm = ScriptedLLM(["who sang it", "Ann"])
    given = {"evaluator": table(words), "rewrite": False, **PAPER._asdict(), **options}
    return crag(llm, HashingEmbedder(), **given)(QUERY, texts)


def verdict(result):
    return next(step for step in result.trace.steps if step.stage.startswith("Judged"))


SONG = "Ann sang it. It rained. So it was. Bob wrote it."


@pytest.mark.parametrize(
    ("best", "expected"),
    [(0.5, "correct"), (0.49, "ambiguous"), (-0.75, "ambiguous"), (-0.76, "incorrect")],
)
def test_the_best_document_decides(best, expected):
    """From upper correct, below lower incorrect; another document is at -1."""
    result = run({"Ann": best}, SONG, "Cats sing.", upper=0.5, lower=-0.75)

    assert [expected] == [event["verdict"] for event in verdict(result).events]


def test_a_calibrated_cross_encoder_is_judged_as_a_probability():
    """Log-odds 2 * 0.9 and 2 * -1 are 0.86 and 0.12: correct, and a strip below 0.3 goes."""
    curve = Logistic(2.0, 0.0)
    judge = Pipeline(score.Pair(table({"Ann": 0.9})), Calibrated(curve, of="pair"))
    result = crag(ScriptedLLM([]), HashingEmbedder(), evaluator=judge)(QUERY, [SONG])

    assert "correct: the best of 1 scores 0.858; upper=0.6, lower=0.3" in verdict(result).messages
    assert "Ann sang it. It rained. So it was." == result.text
    with pytest.raises(InputError, match="upper must be a number"):
        crag(ScriptedLLM([]), HashingEmbedder(), evaluator=Pipeline(judge.stages[0]))


@pytest.mark.parametrize(("rewrite", "asked"), [(True, "who sang it"), (False, QUERY.text)])
def test_the_other_source_is_asked_in_other_words(rewrite, asked):
    """Unless told; the trace says which."""
    source = web()
    result = run({}, "Cats sing.", fallback=source, rewrite=rewrite)
    notes = [text for step in result.trace.steps for text in step.messages]

    assert [asked] == source.questions
    assert rewrite == ("rewritten to search: 'who sang it'" in notes)


def test_nothing_retrieved_asks_another_source_if_there_is_one():
    """Else incorrect documents leave nothing, ambiguous ones are refined, nothing is nothing."""
    result = run({}, "Cats sing.")

    assert ("", ()) == (result.text, result.kept)
    assert "no fallback: nothing is looked up elsewhere" in verdict(result).messages

    result = run({"Dan": 0.5}, "Dan sang.")

    assert "Dan sang." == result.text
    assert "no fallback: nothing is looked up elsewhere" in verdict(result).messages

    assert [] == JudgedEvidence(0.5, 0.1)(QUERY, [])

    result = run({"Ann": 0.9}, fallback=web())

    assert "Web: Ann sang it. It rained. So it was." == result.text
    assert ["incorrect: nothing to judge; upper=0.59, lower=-0.99"] == verdict(result).messages


def test_found_documents_have_names_of_their_own():
    """Also where one in hand has it; the same text has the same name."""
    mine = Segment.whole(Document(NAME, "Cats sing.", rank=3)).scored("pair", 0.2)
    found = JudgedEvidence(0.5, 0.1, web(WEB, replace(WEB, rank=1)))(QUERY, [mine])

    assert [NAME, f"{NAME}#2", f"{NAME}#3"] == [s.document.id for s in found]
    assert [3, 4, 5] == [s.document.rank for s in found]

    words = [["Ann\ud800 sang.", "Cats."], ["Bob sang."], ["Ann\ud800 sang."]]
    searches = [[Document(str(n), text) for n, text in enumerate(texts)] for texts in words]
    found = [JudgedEvidence(0.5, 0.1, web(*documents))(QUERY, []) for documents in searches]
    first, other, again = (segments[0].document.id for segments in found)

    assert first == again != other


def test_strips_are_spans_of_whole_sentences():
    """Three each, the rest in the last; white space between stays inside."""
    text = " One.  Two.\nThree. Four."
    strips = Strips()(QUERY, [Segment.whole(Document("d", text)), Segment.whole(Document("e", ""))])

    assert ["One.  Two.\nThree.", "Four."] == [s.text for s in strips]


def test_cosine_or_an_llm_may_judge():
    """The question's own words are correct, others not; a rating of 9 is 1, one of 2 is 0.22."""
    system = crag(ScriptedLLM([]), HashingEmbedder())
    right, wrong = system(QUERY, ["Who sang it?"]), system(QUERY, ["Cats."])

    assert ("Who sang it?", "") == (right.text, wrong.text)
    assert "upper=0.6, lower=0.3" in verdict(right).messages[0]

    def rate(prompt, options):
        return [float(o == ("9" if "Ann" in prompt[1].content else "2")) for o in options]

    llm = ScriptedLLM([], choices=rate)
    system = crag(llm, HashingEmbedder(), evaluator=llm)

    assert "Ann sang it." == system(QUERY, ["Ann sang it.", "Cats sing."]).text
    assert "incorrect" in verdict(system(QUERY, ["Cats sing."])).messages[0]
