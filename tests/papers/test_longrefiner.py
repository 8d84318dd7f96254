"""LongRefiner (arXiv 2505.10413) worked by hand: its authors' scores on one document.

Five paragraphs of 100 words, 104 tokens each with the title; the reply gives them the outline

    abstract          P1            local score .2
    section "Early"   P2            .4
      sub-section "School"   P3     .8
    section "Songs"   P4, P5        .0, .2

Means: abstract .2; School .8; Early (.4 + .8) / 2 = .6; Songs .1. All lie from 0 to .8, so that
they are divided by .8. "Songs" is named, and p(global) = .6 by the predictor's probabilities:

    node      [0, 1]   + global                   value
    School    1.000                               1.000
    P3        1.000                               1.000
    Early      .750                                .750
    Songs      .125    .6                          .725
    P5         .250    .6 / (0 sub-sections + 1)   .850
    P4         .000    .6                          .600
    P2         .500                                .500
    abstract, P1 .250                              .250

A budget of 312 tokens holds School (104), P3 (in it), P5 (208) and Early (with P2 312). These and
Songs are more than twice the budget, so no further node is looked at. Kept: P2, P3, P5.
"""

import pytest

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.systems.longrefiner import longrefiner
from tests.tiny import Scores

SCORES = {"one": 0.2, "two": 0.4, "three": 0.8, "four": 0.0, "five": 0.2}
PARAGRAPHS = [f"{name} begins here and" + " so" * 96 + "." for name in SCORES]
DOCUMENT = {"id": "d", "title": "A singer", "text": "\n".join(PARAGRAPHS)}
OUTLINE = """<abstract>one begins here and ... so so so so</abstract>
<section: Early>two begins here and ... so so so so
<sub-section: "School">three begins here and ... so so so so</sub-section: "School">
</section: Early>
<section: Songs>four begins here and ... so so so so</section: Songs>"""


def predicted(_, options):
    """Calls a question global with .6."""
    return [0.6 if option in ("global", "[Global]") else 0.4 for option in options]


def refined(outline=OUTLINE, titles='["songs"]', **options):
    def reply(prompt):
        return titles if "A singer" in prompt[-1].content else outline

    llm = ScriptedLLM(reply, choices=predicted)
    reranker = Scores(lambda text: SCORES[text.split()[-100]])
    return longrefiner(llm, HashingEmbedder(), reranker=reranker, **options)("Which?", [DOCUMENT])


def kept(result):
    return [segment.text.split()[0] for segment in result.kept]


def test_the_example_by_hand():
    """Kept in the order of the document; of the rest it is told why."""
    result = refined(max_tokens=312)
    reasons = {verdict.reason for verdict in result.verdicts if verdict.stage}

    assert ["two", "three", "five"] == kept(result)
    assert PARAGRAPHS[1] == result.kept[0].text
    assert {"in none of the best nodes of 312 tokens"} == reasons


def test_without_a_named_title_scores_alone_count():
    """P2 comes before P5 then; nobody asks whether the question is global."""
    assert ["two", "three"] == kept(refined(titles="[]", max_tokens=208))
    assert ["three", "five"] == kept(refined(max_tokens=208))
    assert ["three", "five"] == kept(
        refined(titles='{"selected_titles": ["Songs"]}', max_tokens=208)
    )


@pytest.mark.parametrize("reply", ["no outline", "<section: >one begins here and</section: >", ""])
def test_without_an_outline_paragraphs_are_chosen_by_score(reply):
    """No title is asked for; the trace says so."""
    result = refined(outline=reply, max_tokens=208)

    assert ["two", "three"] == kept(result)
    assert "the document has no sections" in str(result.trace.steps)


def test_parts_that_are_not_found_leave_their_text_to_the_one_before():
    """Nothing is lost: with budget enough all is kept."""
    result = refined(outline="<section: A>never said at all</section: A>" + OUTLINE[80:])

    assert [*SCORES] == kept(result)


def test_trained_models_are_asked_in_the_words_of_the_authors_code():
    """Each by itself; the outline ends with a line break there."""
    predictor, writer = ScriptedLLM([], choices=predicted), ScriptedLLM([OUTLINE])
    extractor = ScriptedLLM(['["Songs"]'])
    parts = {"predictor": predictor, "writer": writer, "extractor": extractor}
    result = refined(max_tokens=312, **parts)
    titles = (
        f"**Document abstract**: {PARAGRAPHS[0]}\n**Document outline**: Title: A singer\n"
        "Section1: Early\nSubsection1: School\nSection2: Songs\n\n**Question**:Which?\nOutput:"
    )

    assert ["two", "three", "five"] == kept(result)
    assert titles == extractor.prompts[0][1].content
    assert DOCUMENT["text"] == writer.prompts[0][1].content
    assert "Which?" == predictor.prompts[0][1].content


def test_a_document_of_one_paragraph_is_not_asked_about():
    """It is scored as it is."""
    llm = ScriptedLLM([])
    result = longrefiner(llm, HashingEmbedder())("Who sang?", ["They sang.\nIt rained."])

    assert ["They sang.", "It rained."] == [s.text for s in result.kept]
    assert [] == llm.prompts
