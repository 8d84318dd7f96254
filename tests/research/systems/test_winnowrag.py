"""WinnowRAG as one system: what it costs, what it tells, and that it tells the same every time."""

import json
import re
import time

import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.errors import ModelError, Overdue
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.timeouts import check_time, deadline
from ragsieve_research.systems.winnowrag import winnowrag
from tests.named import answer, notes

pytest.importorskip("sklearn")

QUESTION = "Where does the train end?"
TOWNS = ["Rome", "Paris", "Lyon"]
TEXTS = [f"{TOWNS[n % 3]} is the end of line {n % 4}.{' It is old.' * (n > 7)}" for n in range(12)]
DOCUMENTS = [
    {"id": f"d{n}", "title": f"Line {n % 4}", "text": text} for n, text in enumerate(TEXTS)
]
DOCUMENT = re.compile(r'^Document \[\d+\] \(Title: ".*"\): "(.*)"$', re.MULTILINE)
RESPONSE = re.compile(r'^Response \[(\d+)\]: Answer: "(.*?)"', re.MULTILINE)


def asked_for(prompt):
    """Which of the five prompts this is."""
    text = prompt[0].content
    if prompt[0].role == "system":
        return "argue" if "remarked" in text else "answer"
    if "Reply with its number alone" in text:
        return "pick"
    if RESPONSE.search(text):
        return "judge"
    return "same" if "Do not judge" in text else "pick"


def debater(prompt):
    """Agents name the first town they read; the critic calls the last of several incorrect."""
    text, kind = prompt[0].content, asked_for(prompt)
    if kind in ("answer", "argue"):
        town = DOCUMENT.findall(text)[0].split()[0]
        return f"Evidence: it\nExplanation: so\nAnswer: {town}" if kind == "argue" else town
    if kind != "judge":
        return "1" if kind == "pick" else "Unique answers: []\nDuplicate answers: []"
    number, answer = RESPONSE.findall(text)[-1]
    ends = f"[]\nExplanation: one\nConsistent answer: yes: {answer}"
    goes = f"[{number}]\nExplanation: not {answer}\nConsistent answer: no"
    return f"Incorrect answers: {ends if number == '1' else goes}"


def llm(reply=debater):
    return ScriptedLLM(reply, can=frozenset({"complete"}))


def told(result):
    """The story of a result."""
    return next(step.events for step in result.trace.steps if step.events)


def kinds(model):
    return [asked_for(prompt) for prompt in model.prompts]


def test_the_story_is_told_in_order():
    """Clusters, answers, merges of round 0, then rounds with their merges, then the end."""
    result = winnowrag(llm(), HashingEmbedder(), clusters=4).ask(QUESTION, DOCUMENTS)
    story = told(result)
    events = " ".join(f"{e['event']}{e.get('round', '')}" for e in story)

    assert re.fullmatch(
        r"clusters answers( merge0)*( round1( merge1)*)( round\d( merge\d)*)* end", events
    )
    assert json.loads(json.dumps(story)) == story
    assert [d["id"] for d in DOCUMENTS] == [d["document"] for d in story[0]["documents"]]
    assert {"document", "title", "agent", "x", "y"} == {*story[0]["documents"][0]}
    assert [1, 2, 3, 4] == [a["agent"] for a in story[1]["answers"]]
    assert [s.document.id for s in result.kept] == story[-1]["documents"]


def test_the_answer_is_the_storys_end():
    """No reader is asked, and the last step says why; calls are told from embedded texts."""
    model = llm()
    system = winnowrag(model, HashingEmbedder(), clusters=4)
    result = system.ask(QUESTION, DOCUMENTS)
    last = result.trace.steps[-1]

    assert (told(result)[-1]["answer"], result.kept) == (result.answer.text, result.answer.segments)
    assert [] == last.usages
    assert ["not asked: a stage before it has answered"] == last.notes
    assert {"answer", "argue", "same", "judge"} == {*kinds(model)}
    assert system(QUESTION, DOCUMENTS).answer is None

    model = llm()
    result = winnowrag(model, HashingEmbedder(), clusters=4).ask(QUESTION, DOCUMENTS)
    (step,) = [one.to_dict() for one in result.trace.steps if one.events]

    assert (len(model.prompts), len(DOCUMENTS)) == (step["calls"], step["embedded"])
    assert (step["calls"], 12) == (told(result)[-1]["calls"], told(result)[-1]["embedded"])


def test_an_answer_of_a_stage_that_failed_does_not_count():
    """The clusters have answers when their critic breaks; the reader is asked all the same."""

    def reply(prompt):
        if RESPONSE.search(prompt[0].content):
            raise ModelError("no critic today")
        debates = asked_for(prompt) == "same" or DOCUMENT.search(prompt[0].content)
        return debater(prompt) if debates else "all of it"

    result = winnowrag(llm(reply), HashingEmbedder()).lenient().ask(QUESTION, DOCUMENTS)

    assert "all of it" == answer(result)
    assert 1 == len(result.trace.warnings)


VERDICTS = st.lists(
    st.tuples(st.sets(st.integers(1, 6)), st.sampled_from(["no", "no", "no", "yes: Rome"]),
              st.sampled_from(["", "why", "once more"])),
    min_size=5, max_size=5,
)  # fmt: skip


@settings(max_examples=60)
@given(
    count=st.integers(1, 12),
    clusters=st.integers(1, 6),
    rounds=st.integers(0, 4),
    verdicts=VERDICTS,
    same=st.lists(st.sets(st.integers(1, 6), min_size=2), max_size=2),
)
def test_a_question_costs_no_more_than_was_said(count, clusters, rounds, verdicts, same):
    """At most K + 1 + M (K' + 1) calls, whatever the critic says; the trace has every one."""
    left = iter(verdicts)

    def reply(prompt):
        if asked_for(prompt) == "same":
            most = len(re.findall(r"^Answer \[", prompt[0].content, re.MULTILINE))
            known = [sorted(n for n in group if n <= most) for group in same]
            groups = [group for group in known if len(group) > 1]
            return f"Unique answers: []\nDuplicate answers: {groups}"
        if asked_for(prompt) != "judge":
            return debater(prompt)
        if len(prompt) > 2:
            return "Incorrect answers: []\nExplanation: so\nConsistent answer: no"
        wrong, consistent, why = next(left)
        numbers = [n for n in sorted(wrong) if n <= len(RESPONSE.findall(prompt[0].content))]
        return f"Incorrect answers: {numbers}\nExplanation: {why}\nConsistent answer: {consistent}"

    model = llm(reply)
    system = winnowrag(model, HashingEmbedder(), clusters=clusters, rounds=rounds)
    result = system.ask(QUESTION, DOCUMENTS[:count])
    story = told(result)
    k = len(story[1]["answers"])
    most = k - sum(len(e["of"]) for e in story if e["event"] == "merge" and e["round"] == 0)

    again = sum(len(prompt) > 2 for prompt in model.prompts)  # after a contradictory verdict
    pairs = sum(asked_for(prompt) == "pick" for prompt in model.prompts)  # of such verdicts
    assert pairs <= max(2, 12 * rounds)
    assert len(model.prompts) - again - pairs <= k + 1 + rounds * (most + 1)
    assert len(model.prompts) == sum(
        u.model == model.identity for step in result.trace.steps for u in step.usages
    )
    assert result.kept
    assert [] == [v.reason for v in result.verdicts if v.reason.startswith("not kept by")]


@pytest.mark.parametrize("most", [1, 4, 6, 9, 14, 30])
@pytest.mark.parametrize("unreadable", [False, True])
def test_calls_of_a_question_are_capped(most, unreadable):
    """Re-asks among them; the best answer so far stands, and the trace says why."""
    model = llm((lambda _: "Rome") if unreadable else debater)
    result = winnowrag(model, HashingEmbedder(), clusters=4, max_calls=most).ask(
        QUESTION, DOCUMENTS
    )

    assert len(model.prompts) <= most
    assert result.answer.text in TOWNS
    assert result.kept
    assert most > 6 or "the debate is cut short: up to" in " ".join(notes(result))


def test_a_question_has_a_deadline_and_a_budget():
    """After either no step begins: four answers and no critic."""
    for option in ({"max_seconds": 1e-9}, {"max_llm_tokens": 1}):
        model = llm()
        system = winnowrag(model, HashingEmbedder(), clusters=4, **option)
        result = system.ask(QUESTION, DOCUMENTS)

        assert 4 == len(model.prompts)
        assert "the majority so far, as a limit is reached" == told(result)[-1]["why"]


@pytest.mark.parametrize("rounds", [0, 3])
@pytest.mark.parametrize("slow", ["answer", "same", "argue", "judge", "pick"])
def test_a_debate_ends_in_time_in_the_middle_of_a_step(slow, rounds):
    """What is being written is given up; first answers that there are have a majority."""

    def reply(prompt):
        while asked_for(prompt) == slow:
            time.sleep(0.01)
            check_time(deadline())
        return debater(prompt)

    system = winnowrag(llm(reply), HashingEmbedder(), clusters=4, rounds=rounds, max_seconds=0.2)
    began = time.monotonic()
    if slow == "answer":  # an error of this question, no blank answer
        with pytest.raises(Overdue):
            system.ask(QUESTION, DOCUMENTS)
        return
    result = system.ask(QUESTION, DOCUMENTS)

    assert time.monotonic() - began < 5
    assert result.answer.text in TOWNS
    late = slow in (("same", "argue", "judge") if rounds else ("pick",))
    assert late == ("the debate is cut short: max_seconds=0.2 are over" in result.trace.warnings)
