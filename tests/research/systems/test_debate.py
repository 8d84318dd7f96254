"""A debate of clusters: who merges with whom, which verdicts count, and how it ends.

Agents answer by the first document that they read; critics reply in turn; documents lie in a plane.
"""

import re
from typing import NamedTuple

import pytest

from ragsieve import Answer, Document, InputError, Query, Segment
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Step, Trace, step
from ragsieve_research.answer.agent import Agent
from ragsieve_research.answer.critic import Critic
from ragsieve_research.peers.oracles import Oracle
from ragsieve_research.systems.winnowrag import Winnow
from tests.tiny import Places

pytest.importorskip("sklearn")

QUERY = Query("Where is it?")
DISTINCT = "Unique answers: []\nDuplicate answers: []"
CAPITALS = {"a": "Rome", "b": "Paris", "c": "Lyon"}
APART = {"a": (0, 0), "b": (10, 0), "c": (30, 0)}
DOCUMENT = re.compile(r'^Document \[\d+\] \(Title: ".*"\): "(.*)"$', re.MULTILINE)
REMARK = re.compile(r'other documents: "(.*)"$', re.MULTILINE)


def plane(places):
    """Knows where each text lies."""
    return Places(lambda text: places[text.rpartition("Document: ")[2]])


class Ended(NamedTuple):
    """What became of a debate."""

    kept: list[str]
    answer: Answer | None
    step: Step
    agents: ScriptedLLM
    critic: ScriptedLLM

    @property
    def end(self):
        return self.step.events[-1]

    @property
    def merges(self):
        """Each as: by what, into, of, what stays."""
        told = [e for e in self.step.events if e["event"] == "merge"]
        return [(e["by"], e["into"], e["of"], "".join(e["kept"])) for e in told]

    @property
    def argued(self):
        """Prompts that asked for arguments."""
        return [p for p in self.agents.prompts if "remarked" in p[0].content]


def verdict(incorrect, consistent="no", why="why"):
    """A critic's reply."""
    return (
        f"Incorrect answers: {incorrect}\nExplanation: {why}\n"
        f"Consistent answer: {consistent if consistent == 'no' else f'yes: {consistent}'}"
    )


def speaker(answers):
    """Answers by the first document; after a remark by ``"DOCUMENT after REMARK"``, if there is."""

    def reply(prompt):
        first, *_ = read = DOCUMENT.findall(prompt[0].content)
        if "remarked" not in prompt[0].content:
            return answers[first]
        remark = "".join(REMARK.findall(prompt[0].content))
        answer = answers.get(f"{first} after {remark}", answers[first])
        return f"Evidence: {' '.join(read)}\nExplanation: it says so\nAnswer: {answer}"

    return ScriptedLLM(reply)


def held(places, answers, replies=(), *, segments=(), agents=None, **options):
    """A debate over documents that are named by their text, or over segments of some."""
    agents = agents or speaker(answers)
    critic = ScriptedLLM(replies, can=frozenset({"complete"}))
    winnow = Winnow(Agent(agents), Critic(critic), plane(places), **options)
    return Ended(*run(winnow, segments or [whole(name) for name in places]), agents, critic)


def run(winnow, segments):
    with Trace().recording(), step("Winnow", segments) as record:
        kept = winnow(QUERY, segments)
        record.after = tuple(kept)
    return [s.text for s in kept], kept.answer, record


def whole(text):
    return Segment.whole(Document(text, text))


def test_a_consistent_answer_ends_the_first_round():
    """The documents of the agents that gave it stay; others fall with their agent's answer."""
    ended = held(APART, CAPITALS, [DISTINCT, verdict([2, 3], "Rome")])

    assert ["a"] == ended.kept
    end, why = ended.end, "agent {}'s answer '{}' does not stand"
    assert ("Rome", "consistent in round 1", [1]) == (end["answer"], end["why"], end["agents"])
    gone = [why.format(2, "Paris"), why.format(3, "Lyon")]
    assert gone == [d.reason for d in ended.step.dropped]
    assert ("Rome", (whole("a"),)) == (ended.answer.text, ended.answer.segments)


@pytest.mark.parametrize(
    ("picks", "kept"),
    [
        ("211112", ["b"]),  # Rome–Paris, Rome–Lyon, Paris–Rome, Paris–Lyon, Lyon–Rome, Lyon–Paris
        ("111111", ["a"]),
        ("??????" * 2, ["a"]),
    ],
)
@pytest.mark.parametrize("consistent", ["Rome", "in Europe"])
def test_an_agreement_that_is_not_there_is_decided_by_pairs(consistent, picks, kept):
    """Who is right in both orders against each other stands; else nobody, but the majority."""
    said = verdict([], consistent)
    replies = [DISTINCT, said, said, *picks]
    ended = held(APART, CAPITALS, replies, rounds=1)
    answer = {"a": "Rome", "b": "Paris"}[kept[0]]

    assert (kept, answer) == (ended.kept, ended.end["answer"])


def test_the_majority_stands_where_rounds_run_out():
    """Told "look again", c says what b says: two of three agents, whatever documents a has."""
    places = {"a": (0, 0), "a2": (0, 0), "a3": (0, 0), "b": (10, 0), "c": (30, 0)}
    answers = {**CAPITALS, "c after look again": "paris"}
    no = verdict([], why="look again")
    ended = held(places, answers, [DISTINCT, no, no], rounds=2, clusters=3)

    assert (["b", "c"], [2, 3]) == (ended.kept, ended.end["agents"])
    assert "the majority of those that remain" == ended.end["why"]


def test_agents_of_one_site_have_one_vote_against_several_sites():
    """Three of it say Paris, two of two others Rome; where all are of one site, votes count."""
    places = {name: (10 * n, 0) for n, name in enumerate(["a", "a2", "b", "b2", "c"])}
    said = dict.fromkeys(places, "Paris") | {"a": "Rome", "a2": "Rome"}
    urls = dict.fromkeys(places, "http://false.org/x") | {"a": "http://t.org", "a2": "http://u.org"}
    segments = [Segment.whole(Document(name, name, source=urls[name])) for name in places]
    one = [Segment.whole(Document(name, name, source="http://x.org")) for name in places]
    ended = held(places, said, [DISTINCT, verdict([])], segments=segments, clusters=5, rounds=1)
    alike = held(places, said, [DISTINCT, verdict([])], segments=one, clusters=5, rounds=1)

    assert ("Rome", "Paris") == (ended.end["answer"], alike.end["answer"])
    assert ["a majority decides, by 2 to 1 votes, of each site at most one"] == ended.step.warnings
    assert ["a majority decides, by 3 to 2 votes"] == alike.step.warnings


def test_a_verdict_that_cannot_be_changes_nothing():
    """Agreement with who is called incorrect is unreadable; all incorrect counts as none."""
    contradictory = verdict([1], "Rome")
    ended = held(APART, CAPITALS, [DISTINCT, contradictory, verdict([1, 3], "Paris")])
    twice = held(APART, CAPITALS, [DISTINCT, *[contradictory] * 2, *"111111"], rounds=1)

    assert (["b"], "Paris") == (ended.kept, ended.end["answer"])
    assert (["a"], "Rome") == (twice.kept, twice.end["answer"])

    replies = [DISTINCT, verdict([1, 2, 3], why="all wrong"), verdict([2, 3], "Rome")]
    ended = held(APART, CAPITALS, replies)

    assert [] == ended.merges
    assert "round 1: all are called incorrect, so none goes" in ended.step.notes
    assert 3 == sum('other documents: "all wrong"' in p[0].content for p in ended.argued)


def test_a_refusal_in_any_words_does_not_outvote_an_answer():
    """It names nothing of its documents, and another's answer does; alone it stands."""
    places = {"a": (0, 0), "b": (10, 0), "c": (30, 0), "Rome lies on a river": (60, 0)}
    answers = {"a": "No idea.", "b": "That isn't covered.", "c": "It remains to be seen."}
    said = answers | {"Rome lies on a river": "on a river"}
    ended = held(places, said, [DISTINCT, verdict([])], rounds=1)
    alone = held(APART, answers, [DISTINCT, verdict([])], rounds=1)

    assert (["Rome lies on a river"], "on a river") == (ended.kept, ended.end["answer"])
    assert "No idea." == alone.end["answer"]


@pytest.mark.parametrize("order", ["bc", "cb"])
def test_numbers_of_wrong_agents_are_of_no_account(order):
    """Both merge at once, from what the sets were before the round: c is nearer to b than a is."""
    names = ["a1", "a2", *(f"{name}{n}" for name in order for n in (1, 2))]
    left = {"a": 0, "b": 10, "c": 16}
    places = {name: (left[name[0]] + int(name[1]), 0) for name in names}
    said = {name: CAPITALS[name[0]] for name in names}
    replies = [DISTINCT, verdict([2, 3]), verdict([], "Rome")]
    ended = held(places, said, replies, clusters=3)

    assert [("hyperbola", 1, [2, 3], "a1a2")] == ended.merges[-1:]


def test_not_knowing_and_silence_have_no_majority():
    """Two say that it is unknown, or nothing; silence stands where nobody says anything."""
    answers = {"a": "Unknown", "b": "unknown.", "c": "Lyon"}
    ended = held(APART, answers, [DISTINCT, verdict([])], rounds=1)

    assert (["c"], "Lyon") == (ended.kept, ended.end["answer"])

    places = {"a": (0, 0), "b": (1, 0), "c": (30, 0)}
    silent = held(places, {"a": "", "c": "Lyon"}, [DISTINCT, verdict([])], clusters=2, rounds=1)
    nobody = held(places, dict.fromkeys("abc", ""), [verdict([])], clusters=2, rounds=1)

    assert (["c"], "Lyon") == (silent.kept, silent.end["answer"])
    assert "I don't know" == nobody.end["answer"]
    assert ["no agent has an answer"] == nobody.step.warnings


def test_few_documents_need_few_calls():
    """One is judged alone: an answer, an argument, a verdict; of none nobody is asked."""
    ended = held({"a": (0, 0)}, CAPITALS, [verdict([], "Rome")])

    assert ["a"] == ended.kept
    assert (2, 1) == (len(ended.agents.prompts), len(ended.critic.prompts))

    ended = held({}, CAPITALS)

    assert ([], [], None) == (ended.kept, ended.agents.prompts, ended.answer)
    with pytest.raises(InputError, match="at least one document to answer from, got none"):
        Winnow(Agent(ended.agents), Critic(ended.critic), plane({})).answer(QUERY, [])


def test_duplicates_merge_in_one_ellipse():
    """Distances to all three: a 0 + 6 + 5, b 6 + 0 + 5, c 5 + 5 + 0, mean 32/3: only c stays.

    With d at (3, 1), which says the same: √10 = 3.16 from a and b, 3 from c; a 14.16, b 14.16,
    c 13, d 9.32, mean 12.66: only d stays; pair after pair would leave c out before d comes.
    """
    places = {"a": (0, 0), "b": (6, 0), "c": (3, 4), "d": (3, 1)}
    answers = {"a": "Rome", "b": "rome.", "c": " ROME", "d": "Rome"}
    three = held({n: places[n] for n in "abc"}, answers, [verdict([], "Rome")])
    four = held(places, answers, [verdict([], "Rome")])

    assert [("ellipse", 1, [2, 3], "c")] == three.merges
    assert "ellipse of agents 1, 2 and 3: 11.00 > 10.67" == three.step.reasons["a", 0, 1]
    assert [("ellipse", 1, [2, 3, 4], "d")] == four.merges
    assert 1 == len(three.critic.prompts)  # equal answers need no critic to be the same


@pytest.mark.parametrize("seed", range(5))
def test_merged_agents_vote_as_many_as_they_were(seed):
    """Nine agents say Rome and keep one document; one says Paris, from four."""
    places = {f"a{n}": (100.0 * n, 0.0) for n in range(9)}
    places |= {f"b{n}": (0.0, 9000.0 + n) for n in range(9)}
    answers = {**dict.fromkeys(places, "Rome"), **{f"b{n}": "Paris" for n in range(9)}}
    ended = held(places, answers, [DISTINCT, verdict([])], rounds=1, seed=seed)

    assert "Rome" == ended.end["answer"]


def test_feedback_reaches_every_agent_that_remains():
    """From round 2: none in the first, then the explanation of the round before."""
    replies = [DISTINCT, verdict([3], why="c lies"), verdict([], why="hm"), verdict([])]
    ended = held(APART, CAPITALS, replies)
    heard = ["".join(REMARK.findall(p[0].content)) for p in ended.argued]

    assert ["", "", "", "c lies", "c lies", "hm", "hm"] == heard


@pytest.mark.parametrize(
    ("one", "other"), [("-5", "5"), ("1.5", "15"), ("C++", "C#"), ("3/4", "34")]
)
def test_answers_are_not_the_same_by_their_letters_alone(one, other):
    """That is the critic's to say."""
    ended = held(APART, {"a": one, "b": other, "c": one}, [DISTINCT, verdict([2], one)])

    assert [("ellipse", 1, [3])] == [merge[:3] for merge in ended.merges]


def test_documents_come_back_in_their_order():
    """Whichever agent had them; parts of one document stand or fall apart."""
    places = {"a": (0, 0), "b": (9, 9), "c": (0, 1), "d": (9, 8)}
    ended = held(places, dict.fromkeys("abcd", "Rome"), clusters=2, rounds=0)

    assert ["a", "b", "c", "d"] == ended.kept

    document = Document("d", "ab")
    parts = [Segment(document, 0, 1), Segment(document, 1, 2)]
    ended = held(APART, CAPITALS, [DISTINCT, verdict([1], "Paris")], segments=parts)

    assert ["b"] == ended.kept
    assert [("a", "agent 1's answer 'Rome' does not stand")] == [
        (d.segment.text, d.reason) for d in ended.step.dropped
    ]


def test_a_debate_ends_where_nothing_has_changed():
    """Everybody would be asked the same again; the majority stands, and no call is made."""
    ended = held(APART, CAPITALS, [DISTINCT, verdict([], why="")])

    assert "the majority, as nothing has changed since the round before" == ended.end["why"]
    assert (3 + 3, 1 + 1) == (len(ended.agents.prompts), len(ended.critic.prompts))


def test_a_critic_that_is_unreadable_twice_calls_nobody_incorrect():
    """It is asked once more with the error named; then nothing is merged, and a note says so."""
    ended = held(APART, CAPITALS, ["hm", "hm", "hm", "hm"])
    again = [p for p in ended.critic.prompts if len(p) == 3]

    assert [] == ended.merges
    assert 2 == len(again) == sum("That cannot be read" in p[2].content for p in again)
    assert 1 == sum(n.startswith("unreadable twice, so no two answers") for n in ended.step.notes)
    assert 1 == sum(n.startswith("unreadable twice, so none is inc") for n in ended.step.notes)
    assert ("Rome", []) == (ended.end["answer"], ended.step.events[2]["incorrect"])
    assert not ended.step.events[2]["readable"]


def test_an_agent_that_is_unreadable_keeps_its_answer():
    """Without evidence; it is asked once more, and again only when it is asked something new."""

    def reply(prompt):
        text = prompt[0].content
        return "hm\nhm" if "remarked" in text else DOCUMENT.findall(text)[0]

    agents = ScriptedLLM(reply)
    ended = held(APART, {}, [DISTINCT, verdict([], why=""), verdict([])], agents=agents)

    assert ["a"] == ended.kept
    assert [("a", ""), ("b", ""), ("c", "")] == [
        (a["answer"], a["evidence"]) for a in ended.step.events[2]["arguments"]
    ]
    assert 3 + 2 * 3 == len(agents.prompts)
    assert 3 == sum("is unreadable twice, so it keeps its answer" in n for n in ended.step.notes)


def test_without_winnowing_the_critic_picks_at_once():
    """The paper's \\W: a number and its documents; else the majority; no pick where all agree."""
    ended = held(APART, CAPITALS, ["2", "2"], rounds=0)

    assert (["b"], "Paris", "picked at once") == (ended.kept, ended.end["answer"], ended.end["why"])
    assert (3, 2) == (len(ended.agents.prompts), len(ended.critic.prompts))

    ended = held(APART, {"a": "Rome", "b": "Paris", "c": "Paris"}, [*"????"], rounds=0)

    assert ("Paris", ["b", "c"]) == (ended.end["answer"], ended.kept)
    assert "the majority, as the critic picked none" == ended.end["why"]

    ended = held(APART, dict.fromkeys("abc", "Rome"), rounds=0)

    assert (["a", "b", "c"], []) == (ended.kept, ended.critic.prompts)


@pytest.mark.parametrize(
    ("gold", "kept", "why"),
    [
        (("Paris",), ["b"], "consistent in round 1"),
        (("Oslo",), ["a"], "the majority, as nothing has changed since the round before"),
    ],
)
def test_a_critic_may_know_the_gold_answers(gold, kept, why):
    """Right agents stand; where none is right, none goes, until nothing changes."""
    winnow = Winnow(Agent(speaker(CAPITALS)), Oracle({QUERY.text: gold}), plane(APART))
    found, _, record = run(winnow, [whole(name) for name in APART])

    assert (kept, why) == (found, record.events[-1]["why"])
