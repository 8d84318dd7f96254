"""WinnowRAG (arXiv 2511.04700v1) worked by hand: section 3, from six documents to the three kept.

Embeddings lie in a plane; K = 3; the documents as retrieved, best first:

    d1 (0, 21)    d2 (36, 14)    d3 (0, 0)    d4 (72, 0)    d5 (0, -21)    d6 (36, 40)

3.2  k-means: D1 = {d1, d3, d5}, D2 = {d2, d6}, D3 = {d4}, with the centroids (0, 0), (36, 27) and
     (72, 0); the sum of squares is 2·21² + 2·13² = 1220. (D2 with d4: 900 + 160 + 628 > 1220.)
     The agents answer "Seals and Crofts", "The Isley Brothers" and "Crofts and Seals".
3.3  The critic calls 1 and 3 duplicates: they merge, by eq. 3. Distances to (0, 0) and (72, 0):
         d1  21 + 75 = 96     (21-72-75 is three times 7-24-25)
         d3   0 + 72 = 72
         d4  72 +  0 = 72
         d5  21 + 75 = 96
     T = (96 + 72 + 72 + 96) / 4 = 84: d3 and d4 stay. Their centroid is (36, 0).
3.3  Round 1: the critic calls agent 2 incorrect, and sees no consistent answer. Agent 1, at a
     distance of 27, is the only one that remains, and so the nearest (eq. 2). By eq. 5, distances
     to agent 2 at (36, 27) minus those to agent 1 at (36, 0):
         d2  13 - 14 = -1
         d3  45 - 36 =  9     (27-36-45 is nine times 3-4-5)
         d4  45 - 36 =  9
         d6  13 - 40 = -27
     T = (9 + 9 - 1 - 27) / 4 = -2.5, which is T_2 - T_1 = 29 - 31.5: d2, d3 and d4 stay.
3.3  Round 2: agent 1 argues from d2, d3 and d4, with the critic's explanation; its answer stands.

Calls: 3 answers + 1 summary + 2 arguments + 1 verdict + 1 argument + 1 verdict = 9, of at most
K + 1 + M (K' + 1) = 3 + 1 + 3 (2 + 1) = 13.
"""

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.winnowrag import winnowrag
from tests.tiny import Places

pytest.importorskip("sklearn")

QUESTION = "Who sang Summer Breeze?"
PLACES = {
    "d1": (0, 21), "d2": (36, 14), "d3": (0, 0), "d4": (72, 0), "d5": (0, -21), "d6": (36, 40)
}  # fmt: skip
ANSWERS = ["Seals and Crofts", "The Isley Brothers", "Crofts and Seals"]
ARGUMENT = "Evidence: d2 or d3\nExplanation: as it says\nAnswer: "
WHY = "The Isley Brothers only covered it."
AGENTS = [*ANSWERS, *(ARGUMENT + ANSWERS[place] for place in (0, 1, 0))]  # two rounds
CRITIC = [
    f'Unique answers: ["{ANSWERS[0]}", "{ANSWERS[1]}"]\nDuplicate answers: [[1, 3]]',
    f"Incorrect answers: [2]\nExplanation: {WHY}\nConsistent answer: no",
    f"Incorrect answers: []\nExplanation: All agree.\nConsistent answer: yes: {ANSWERS[0]}",
]


def place(text):
    """Contriever's part: every document, read with the question, as a point of the plane."""
    assert text.startswith(f"Question: {QUESTION}\nDocument: ")
    return PLACES[text.split()[-1]]


@pytest.fixture(scope="module")
def run():
    """The whole question, with agents and critic."""
    agents, critic = ScriptedLLM(AGENTS), ScriptedLLM(CRITIC)
    documents = [{"id": name, "text": name} for name in PLACES]
    result = winnowrag(agents, Places(place), critic=critic, clusters=3).ask(QUESTION, documents)
    return result, agents, critic


def events(result, name):
    (story,) = [step.events for step in result.trace.steps if step.events]
    return [event for event in story if event["event"] == name]


def test_documents_are_clustered(run):
    """Section 3.2: {d1, d3, d5}, {d2, d6}, {d4}; each agent reads its own."""
    (told,) = events(run[0], "clusters")

    assert dict(zip(PLACES, [1, 2, 1, 3, 1, 2], strict=True)) == {
        d["document"]: d["agent"] for d in told["documents"]
    }
    assert ["135", "26", "4"] == [
        "".join(n for n in "123456" if f'"d{n}"' in prompt[0].content)
        for prompt in run[1].prompts[:3]
    ]


def test_equal_answers_merge_by_the_ellipse_and_incorrect_ones_by_the_hyperbola(run):
    """Equation 3: d1 and d5 at 96 are over 84; equation 5: d2 changes hands, d6 at -27 falls."""
    ellipse, hyperbola = [
        [*(merge[name] for name in ("by", "round", "into", "of", "kept"))]
        for merge in events(run[0], "merge")[:2]
    ]
    values = [
        (d["document"], d["value"], d["threshold"])
        for merge in events(run[0], "merge")[:2]
        for d in merge["dropped"]
    ]

    assert ["ellipse", 0, 1, [3], ["d3", "d4"]] == ellipse
    assert ["hyperbola", 1, 1, [2], ["d2", "d3", "d4"]] == hyperbola
    assert [("d1", 96.0, 84.0), ("d5", 96.0, 84.0), ("d6", -27.0, -2.5)] == values


def test_the_critic_is_heard_in_the_next_round(run):
    """Appendix D.2: the explanation stands before what agent 1 argues with its new document."""
    (asked,) = [p[0].content for p in run[1].prompts if WHY in p[0].content]

    assert run[1].prompts[-1][0].content == asked
    assert ['"d2"', '"d3"', '"d4"'] == [line.split()[-1] for line in asked.split("\n")[3:6]]


def test_the_consistent_answer_stands(run):
    """After two rounds and nine calls, with the documents of agent 1."""
    result, agents, critic = run
    rounds = events(result, "round")

    assert [([2], WHY, None), ([], "All agree.", ANSWERS[0])] == [
        (r["incorrect"], r["explanation"], r["answer"]) for r in rounds
    ]
    assert ["d2", "d3", "d4"] == [s.text for s in result.kept]
    assert ANSWERS[0] == result.answer.text
    assert "consistent in round 2" == events(result, "end")[0]["why"]
    assert (6, 3) == (len(agents.prompts), len(critic.prompts))
