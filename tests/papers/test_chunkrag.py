"""ChunkRAG (arXiv 2410.19572) worked by hand: section 3, from two documents to the answer.

Embeddings lie in a plane. The question is at (0.96, 0.28), its rewrite at (0.8, 0.6).

    song   a  (1, 0)          Seals and Crofts sang Summer Breeze.
           b  (0.6, 0.8)      They wrote it in 1972.
           c  (0.6, -0.8)     Paris is rainy.
    wind   a' (0.96, -0.28)   Crofts and Seals sang Summer Breeze.
           d  (0, 1)          A breeze is a wind.
           e  (0.6, 0.8)      Winds blow in summer.        d and e together: (-0.28, 0.96)

Semantic chunking, cosine of neighbours at least 0.7:
    a·b = 0.6    b·c = 0.36 - 0.64 = -0.28    a'·d = -0.28    d·e = 0.8
    so the chunks are a, b, c, a', de.
Hybrid retrieval by the rewrite, "singers of Summer Breeze":
    dense   b 0.96    a 0.8    a' 0.768 - 0.168 = 0.6    de -0.224 + 0.576 = 0.352    c 0
    BM25    a and a' hold "summer" and "breeze" among 6 words, de among 9; b and c hold neither
    fused   a   0.5/62 + 0.5/61 = 0.016261        dense 2, BM25 1
            b   0.5/61 + 0.5/64 = 0.016009              1       4
            a'  0.5/63 + 0.5/62 = 0.016001              3       2
            de  0.5/64 + 0.5/63 = 0.015749              4       3
            c   0.5/65 + 0.5/65 = 0.015385              5       5
Redundancy: a' has the words of a, so that their TF-IDF cosine is 1, and is the later one: it goes.
By similarity to the question: a 0.96, b 0.576 + 0.224 = 0.8, c 0.576 - 0.224 = 0.352, de 0.
Three scores, in ninths, and their mean:
    a   9    9    6      24 / 27 = 0.889
    b   4.5  6    3    13.5 / 27 = 0.5        the LLM sees its 4.5 as 4 (a half goes to even)
    c   1    0.7  1     2.7 / 27 = 0.1
    de  6    5.4  4.8  16.2 / 27 = 0.6
Threshold: mean 2.0889 / 4 = 0.522; squares of what they differ by: 0.1344 + 0.0060 + 0.0005 +
    0.1783 = 0.3193, so the deviation is √(0.3193 / 4) = 0.283. The LLM proposes 0.45: c goes.
Order: by the mean a, de, b, so at both ends a, b, de; the reranker says b 0.9, de 0.5, a 0.2, so
    b, a, de.

Calls: 1 rewrite + 4 relevance + 4 reflection + 1 threshold + 1 answer = 11 of the LLM, 4 of the
critic; 6 sentences, 1 chunk of two of them, 2 questions = 9 texts of the embedder.
"""

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.chunkrag import chunkrag
from tests.tiny import Places, Scores

pytest.importorskip("sklearn")

QUESTION, REWRITE = "Who sang Summer Breeze?", "singers of Summer Breeze"
ANSWER = "Seals and Crofts"
A, B, C = "Seals and Crofts sang Summer Breeze.", "They wrote it in 1972.", "Paris is rainy."
TWIN, D, E = "Crofts and Seals sang Summer Breeze.", "A breeze is a wind.", "Winds blow in summer."
DE = f"{D} {E}"
DOCUMENTS = [
    {"id": "song", "title": "Songs", "text": f"{A} {B} {C}"},
    {"id": "wind", "title": "Winds", "text": f"{TWIN} {DE}"},
]
PLACES = {
    QUESTION: (0.96, 0.28), REWRITE: (0.8, 0.6), A: (1, 0), B: (0.6, 0.8), C: (0.6, -0.8),
    TWIN: (0.96, -0.28), D: (0, 1), E: (0.6, 0.8), DE: (-0.28, 0.96),
}  # fmt: skip
RELEVANCE = {A: 9, B: 4.5, C: 1, DE: 6}  # expected digits
REFLECTION = {A: 9, B: 6, C: 0.7, DE: 5.4}
CRITIQUE = {A: 6, B: 3, C: 1, DE: 4.8}


def rating(*tables):
    """Weights of the digits by the passage, the second table where a rating is shown again."""

    def weigh(prompt, options):
        table = tables[len(prompt) > 2]
        (expected,) = [v for text, v in table.items() if f': {text}"' in prompt[1].content]
        return [max(0.0, 1 - abs(expected - int(option))) for option in options]

    return weigh


def run(**options):
    llm = ScriptedLLM([REWRITE, "0.45", ANSWER], choices=rating(RELEVANCE, REFLECTION))
    critic = ScriptedLLM([], choices=rating(CRITIQUE), identity="critic")
    system = chunkrag(llm, Places(PLACES.__getitem__, identity="plane"), critic=critic, **options)
    return system.ask(QUESTION, DOCUMENTS), llm, critic


@pytest.fixture(scope="module")
def figure():
    """The whole figure, without a reranker."""
    return run()


def stage(result, name):
    return next(step for step in result.trace.steps if step.stage.startswith(name))


def test_sentences_are_joined_to_chunks(figure):
    """Only d and e agree."""
    assert [A, B, C, TWIN, DE] == [s.text for s in stage(figure[0], "Semantic").after]


def test_both_rankings_by_the_rewrite_are_fused(figure):
    """Half from each that ranks it; the LLM was asked to rewrite, and the trace shows what to. BM25
    does not rank B, which has no word of the rewrite, and neither ranks C."""
    record = stage(figure[0], "Rewritten")
    fused = {s.text: s.scores["fused"] for s in record.after}

    assert {
        A: pytest.approx(0.5 / 62 + 0.5 / 61),
        B: pytest.approx(0.5 / 61),
        TWIN: pytest.approx(0.5 / 63 + 0.5 / 62),
        DE: pytest.approx(0.5 / 64 + 0.5 / 63),
        C: 0,
    } == fused
    assert [A, TWIN, DE, B, C] == sorted(fused, key=fused.__getitem__, reverse=True)
    assert f"rewritten to search: {REWRITE!r}" in record.notes


def test_the_duplicate_goes_and_what_is_left_goes_by_similarity(figure):
    """Of the two the one later in the ranking; to the question, the original one."""
    (gone,) = stage(figure[0], "Distinct").dropped
    after = stage(figure[0], "Order(by='score')").after

    assert TWIN == gone.segment.text
    assert "nearly the same as the better ('song', 0, 36)" == gone.reason
    assert [A, B, C, DE] == [s.text for s in after]
    assert [0.96, 0.8, 0.352, 0.0] == pytest.approx([s.score for s in after], abs=1e-6)


def test_three_scores_and_their_mean(figure):
    """In ninths, expected digits; the mean is their sum by 27."""
    scores = {s.text: s.scores for s in stage(figure[0], "Mean").after}

    for name, table in (
        ("relevance", RELEVANCE),
        ("reflection", REFLECTION),
        ("critique", CRITIQUE),
    ):
        assert {text: pytest.approx(digit / 9) for text, digit in table.items()} == {
            text: found[name] for text, found in scores.items()
        }
    assert {
        A: pytest.approx(24 / 27),
        B: pytest.approx(13.5 / 27),
        C: pytest.approx(2.7 / 27),
        DE: pytest.approx(16.2 / 27),
    } == {text: found["mean"] for text, found in scores.items()}


def test_the_llm_sees_its_own_ratings(figure):
    """As digits, after the prompt in which it gave them; the critic sees none."""
    _, llm, critic = figure
    rated, again = llm.prompts[1:5], llm.prompts[5:9]

    assert rated == [prompt[:2] for prompt in again]
    assert ["9", "4", "1", "6"] == [prompt[2].content for prompt in again]
    assert {2} == {len(prompt) for prompt in critic.prompts}


def test_the_threshold_is_made_for_the_means(figure):
    """The LLM is shown them, best first; only c is below what it proposes."""
    result, llm, _ = figure
    ((asked,), (gone,)) = llm.prompts[9], stage(result, "Adaptive").dropped

    assert "best first: 89, 60, 50, 10." in asked.content
    assert "mean is 52, their standard deviation 28." in asked.content
    assert (C, "score 0.100 is below the threshold 0.450 (proposed by the LLM)") == (
        gone.segment.text,
        gone.reason,
    )


def test_the_best_stand_at_both_ends(figure):
    """Verbatim, with their titles; the reader is asked the original question."""
    result, llm, _ = figure
    asked = " ".join(message.content for message in llm.prompts[-1])

    assert [A, B, DE] == [s.text for s in result.kept]
    assert f"Songs: {A} {B}\n\nWinds: {DE}" == result.text
    assert result.text in asked
    assert QUESTION in asked
    assert REWRITE not in asked


def test_a_reranker_orders_what_is_read():
    """By itself: the same chunks stay; it reads titles, too."""
    said = {f"Songs: {A}": 0.2, f"Songs: {B}": 0.9, f"Winds: {DE}": 0.5}
    result, _, _ = run(reranker=Scores(said.__getitem__))

    assert [B, A, DE] == [s.text for s in result.kept]
    assert [0.9, 0.2, 0.5] == pytest.approx([s.scores["pair"] for s in result.kept])


def test_the_answer_stands_on_what_was_kept(figure):
    """After eleven calls of the LLM, four of the critic and nine texts embedded."""
    result, llm, critic = figure
    paid = [u for step in result.trace.steps for u in step.usages if not u.cached]

    assert (ANSWER, result.kept) == (result.answer.text, result.answer.segments)
    assert (11, 4) == (len(llm.prompts), len(critic.prompts))
    assert 9 == sum(usage.model == "plane" for usage in paid)
