"""The papers' ablations: which part is random, and that all else stays as it is."""

import pytest

from ragsieve import Document, Query, Segment
from ragsieve.models.fake import HashingEmbedder, OverlapPruner, ScriptedLLM
from ragsieve_research.answer.critic import Critic
from ragsieve_research.peers.ablations import (
    RandomK,
    chunkrag_ablated,
    pruningrag_ablated,
    random_cut,
    winnowrag_ablated,
)
from ragsieve_research.systems.chunkrag import chunkrag
from ragsieve_research.systems.finefilter import finefilter
from ragsieve_research.systems.pruningrag import pruningrag
from tests.research.systems.test_debate import APART, CAPITALS, DISTINCT, plane, speaker

QUESTION = "Where is it?"
ROME = "Incorrect answers: []\nExplanation: why\nConsistent answer: yes: Rome"


def ask(places, answers, replies=(), **options):
    """WinnowRAG over documents that are named by their text; agents answer by the first."""
    pytest.importorskip("sklearn")

    critic = Critic(ScriptedLLM(replies, can=frozenset({"complete"})))
    system = winnowrag_ablated(speaker(answers), plane(places), critic=critic, **options)
    return system.ask(QUESTION, [{"id": name, "text": name} for name in places])


def events(result, kind):
    return [e for step in result.trace.steps for e in step.events if e["event"] == kind]


def reasons(result):
    return {v.segment.text: v.reason for v in result.verdicts if v.stage}


def names(result):
    return [segment.text for segment in result.kept]


def test_random_clusters_ignore_where_documents_lie():
    r"""The paper's \Q: sets of equal size, which the seed alone decides."""
    places = {f"d{n}": (float(n // 5) * 100, 0.0) for n in range(10)}
    answers = dict.fromkeys(places, "Rome")
    options = {"rounds": 0, "clusters": 2, "clustering": "random"}
    results = [ask(places, answers, seed=seed, **options) for seed in (1, 1, 2)]
    owners = [[d["agent"] for d in events(r, "clusters")[0]["documents"]] for r in results]

    assert owners[0] == owners[1] != owners[2]
    assert [5, 5] == [owners[0].count(agent) for agent in (1, 2)]
    assert sorted(owners[0]) != owners[0]  # by place it would be the first five


def test_random_merging_keeps_half_of_each_side():
    """2 of 3 and 1 of 1; nothing of an incorrect agent; the seed draws the halves."""
    places = {**{f"a{n}": (0, 0) for n in range(3)}, "b": (9, 0)}
    answers = dict.fromkeys(places, "Rome")
    options = {"clusters": 2, "merging": "random"}
    result, again = (ask(places, answers, [ROME], **options) for _ in range(2))

    assert ["a", "a", "b"] == [name[0] for name in names(result)]
    assert names(again) == names(result)
    assert ["half of agents 1 and 2: 0.83 > 0.50"] == [*reasons(result).values()]

    wrong = "Incorrect answers: [3]\nExplanation: why\nConsistent answer: no"
    rome = ROME.replace("[]", "[2]")
    result = ask(APART, CAPITALS, [DISTINCT, wrong, rome], merging="random")
    (merge,) = events(result, "merge")

    assert ("discard", 2, [3], ["b"]) == (merge["by"], merge["into"], merge["of"], merge["kept"])
    assert "discard of agents 2 and 3: 1.00 > 0.50" == reasons(result)["c"]
    assert ["a"] == names(result)

    places = {name: (float(x), 0.0) for x, name in enumerate("abcdefgh")}
    answers = dict.fromkeys(places, "Rome")
    options = {"clusters": 2, "merging": "random"}
    halves = [
        "".join(names(ask(places, answers, [ROME], seed=seed, **options)))
        for seed in [*range(10), 0]
    ]

    assert halves[0] == halves[-1]
    assert len({*halves}) > 3


def test_without_random_parts_it_is_winnowrag():
    """The critic is asked and the paper's inequality decides."""
    same = 'Unique answers: ["Rome", "Paris"]\nDuplicate answers: [[1, 2]]'
    result = ask(APART, {**CAPITALS, "b": "rom"}, [same, ROME.replace("[]", "[2]")])

    assert ["ellipse"] == [event["by"] for event in events(result, "merge")]


def test_a_random_cut_takes_every_length_and_depends_on_seed_and_question():
    """Of two segments 0, 1 or 2 stay, the best first; over 60 questions each number occurs."""
    segments = [Segment.whole(Document(f"{n}", "x")).scored("s", n / 2) for n in range(2)]
    queries = [Query(f"Who sang song {n}? \ud800") for n in range(60)]
    cuts, others = (
        [tuple(s.document.id for s in RandomK(seed)(query, segments)) for query in queries]
        for seed in (0, 1)
    )

    assert {(), ("1",), ("1", "0")} == {*cuts}
    assert cuts != others


def stages(system):
    steps = system(QUESTION, ["It is in Rome. It rained."]).trace.steps
    return [step.stage.partition("(")[0] for step in steps]


def test_one_stage_differs():
    """A random cut in place of the truncator, windows of 100 tokens in place of semantic chunks."""
    llm, embedder = ScriptedLLM(lambda _: "[1]"), HashingEmbedder()
    random, usual = random_cut(llm, embedder), finefilter(llm, embedder)
    fixed = chunkrag_ablated(llm, embedder, OverlapPruner(), chunks="fixed")
    semantic = chunkrag(llm, embedder, OverlapPruner())

    assert [("Truncate", "RandomK")] == differing(stages(usual), stages(random))
    assert [("Semantic", "Windows")] == differing(stages(semantic), stages(fixed))
    assert "max_tokens=100" in repr(fixed)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"overlap": 20}, "max_tokens=200, overlap=20)"),
        ({"same_domain": True, "examples": 1}, "examples=1, same_domain=True"),
    ],
)
def test_windows_may_overlap_and_examples_be_of_the_questions_domain(options, part):
    """All else is as in the system itself."""
    ablated = pruningrag_ablated(ScriptedLLM([]), HashingEmbedder(), **options)

    assert part in repr(ablated)
    assert repr(pruningrag(ScriptedLLM([]), HashingEmbedder())) == repr(
        pruningrag_ablated(ScriptedLLM([]), HashingEmbedder())
    )


def differing(one, other):
    return [(a, b) for a, b in zip(one, other, strict=True) if a != b]
