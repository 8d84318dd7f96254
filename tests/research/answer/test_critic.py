"""WinnowRAG's critic: same answers, verdicts on responses, and a pick; and what an answer is."""

import json
import re
from dataclasses import replace

import pytest

from ragsieve.errors import ContextOverflow
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Trace, step
from ragsieve.types import Query
from ragsieve_research.answer.agent import Argument
from ragsieve_research.answer.critic import Critic, Judgement
from ragsieve_research.answer.parts import in_doubt, is_answer, refuses, same_answers

QUERY = Query("What is the capital?")
ANSWERS = ("Paris", "Lyon", "paris, France", "Lyons")
ARGUMENTS = [Argument(answer, f"It is {answer}.", "So.") for answer in ANSWERS]
NOTHING = [[0], [1], [2], [3]]


def asked(call, replies, given=(), **options):
    """What a critic makes of its model's replies."""
    llm = ScriptedLLM(replies, **options)
    given = given or (ARGUMENTS if call == "judge" else ANSWERS)
    with Trace().recording(), step(call) as record:
        return getattr(Critic(llm), call)(QUERY, given), record, llm


def same(*replies):
    return asked("same", replies)[0]


def judged(*replies):
    return asked("judge", replies)[0]


def verdict(incorrect="[]", consistent="no"):
    return f"Incorrect answers: {incorrect}\nExplanation: why\nConsistent answer: {consistent}"


@pytest.mark.parametrize(
    ("duplicates", "expected"),
    [
        ("[]", NOTHING),
        ("none", NOTHING),
        ("[[1, 3], [2, 4]]", [[0, 2], [1, 3]]),
        ("[[1, 3], [2, 4]]\n\nAsk me for more!", [[0, 2], [1, 3]]),
        ("[1, 3], [2, 4]", [[0, 2], [1, 3]]),
        ("- [1, 3]\n- [2, 4]", [[0, 2], [1, 3]]),
        ("{1, 3} and (2, 4)", [[0, 2], [1, 3]]),
        ("Answers 1 and 3", [[0, 2], [1], [3]]),
        ("[[1, 2], [3, 4], [4, 1]]", [[0, 1, 2, 3]]),  # 2-1-4-3 is one chain
        ('[["Lyon", "Lyons"]]', [[0], [1, 3], [2]]),
        ("[1] = [3], [2] = [4]", [[0, 2], [1, 3]]),
    ],
)
def test_duplicates_are_one_group(duplicates, expected):
    """By first place; lists that share a number are one; every place is in one group."""
    assert expected == same(f"Unique answers:\nDuplicate answers: {duplicates}")


@pytest.mark.parametrize("duplicates", ["[1], [3]", "[2]", "Answer [1], Answer [3]", "[[1, 5]]"])
def test_lists_of_one_say_nothing_of_duplicates(duplicates):
    """Each may be a group of its own, or all may be one group: it is asked for once more."""
    assert NOTHING == same('Unique answers: ["Paris"]\nDuplicate answers: []')

    form = "Unique answers: []\nDuplicate answers: {}"

    assert [[0, 2], [1], [3]] == same(form.format(duplicates), form.format("[[1, 3]]"))


@pytest.mark.parametrize(
    ("incorrect", "expected"),
    [
        ("[]", ()),
        ("[4, 2, 4]", (1, 3)),
        ("Response [2], Response [4]", (1, 3)),
        ("2 (Lyon) and 4 (Lyons)", (1, 3)),
        ("#2, #4", (1, 3)),
        ("[2][4]", (1, 3)),
        ('[{"number": 2, "why": "x"}, {"number": "4"}]', (1, 3)),
    ],
)
def test_incorrect_answers_are_places(incorrect, expected):
    """From 0, rising, each once."""
    assert Judgement(expected, "why") == judged(verdict(incorrect))


@pytest.mark.parametrize(
    ("consistent", "expected"),
    [
        ("Paris", "Paris"),
        ("The consistent answer is Paris", "Paris"),
        ("yes\nAnswer: Paris", "Paris"),
        ("Therefore, the correct answer is Marseille", "Marseille"),
        ("yes: Paris\n\nLet me know if you need more.", "Paris"),
        ("yes: Paris", "Paris"),
        ("**Yes**, **Paris**", "Paris"),
        ("yes: [Paris]", "Paris"),
        ("yes: Paris\nand Lyon", "Paris and Lyon"),
        ("yes: no", "no"),  # the answer to the question
        ("yes: It is not known to be Lyon", "It is not known to be Lyon"),
        ("yes: .NET", ".NET"),
        ("yes: 巴黎", "巴黎"),
        ('yes: "Heroes" by David Bowie', '"Heroes" by David Bowie'),
        ("no", None),
        ("No, they do not agree", None),
        ("No Country for Old Men", None),  # an answer has its "yes"
        ("null", None),
    ],
)
def test_an_answer_is_consistent_where_the_critic_names_it(consistent, expected):
    """Behind "yes", or alone, as the paper's form has it; "no" is none, whatever follows."""
    given = [Argument(expected or answer) for answer in ANSWERS]
    found = asked("judge", [verdict(consistent=consistent)], given)[0]

    assert Judgement((), "why", expected) == found


@pytest.mark.parametrize(
    "consistent",
    [
        *("", '""', "?", "yes", "**Yes**", "yes:", "yes: none", "yes/no", "not Paris", "Marseille"),
        *("Yesterday", "There is no consistent answer", "They don't agree", "unclear"),
        *("yes: unknown", "Yes, but only partly", "Yes, there is no consistent answer."),
        "yes: The consistent answer cannot be determined.",
    ],
)
def test_what_may_be_an_answer_or_not_is_asked_for_again(consistent):
    """The second reply counts."""
    found = asked("judge", [verdict("[2]", consistent), verdict("[2, 4]", "yes: Paris")])[0]

    assert Judgement((1, 3), "why", "Paris") == found


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Response 2 is wrong.",
        verdict("[2]").replace("Explanation", "Reason"),
        verdict("[5]"),
        verdict("[2]") + "\n" + verdict("[3]"),
        verdict("[1, 3]", "yes: Paris"),
        verdict("[2]", "Lyon"),
        json.dumps({"Incorrect answers": [2], "Explanation": "", "Consistent answer": "yes: Lyon"}),
        json.dumps({"Incorrect answers": [True], "Explanation": "", "Consistent answer": "no"}),
        json.dumps({"Incorrect answers": [2], "Explanation": "", "Consistent answer": 1984}),
    ],
)
def test_an_unreadable_verdict_is_asked_for_once_more(reply):
    """A readable second one counts; after two unreadable ones none is incorrect, none stands."""
    again = judged(reply, verdict("[2, 4]", "yes: Paris"))
    found, record, llm = asked("judge", [reply, reply])

    assert Judgement((1, 3), "why", "Paris") == again
    assert Judgement(readable=False) == replace(found, disputed=())
    assert 2 == len(llm.prompts)
    assert "unreadable twice, so none is incorrect and no answer stands" in record.notes[-1]


def test_a_verdict_is_on_what_stands():
    """Not on what a model thinks first; where all are wrong or have no answer, none stands."""
    thought = f"<think>\n{verdict('[1, 2, 3, 4]', 'yes: Rome')}\nHm, no.\n</think>\n\n"

    assert Judgement((1, 3), "why", "Paris") == judged(thought + verdict("[2, 4]", "yes: Paris"))

    found, record, _ = asked("judge", [verdict("[1, 2, 3, 4]", "yes: Rome")])

    assert Judgement((0, 1, 2, 3), "why") == found
    assert ['no response that stands has an answer, so "Rome" does not'] == record.notes

    silent = asked("judge", [verdict("[]", "yes: no")], [Argument(""), Argument("", "It sang.")])[0]

    assert Judgement((), "why") == silent


def preferring(*answers):
    """Chooses an answer by its text, 4 to 1 for the first named; unnamed: by its place alone."""

    def weights(prompt, options):
        shown = re.findall(r'\[\d\]: (?:Answer: )?"([^"]*)"', prompt[0].content)
        if not answers:
            return [4.0, *[1.0] * (len(options) - 1)]
        return [4.0 if answer == answers[0] else 1.0 for answer in shown]

    return ScriptedLLM([], choices=weights)


@pytest.mark.parametrize(("llm", "expected"), [(preferring("Lyons"), 3), (preferring(), None)])
def test_an_answer_is_picked_by_what_it_says(llm, expected):
    """The mean of two orders: a model that prefers the first place, whatever is there, picks none.
    Its first of one order is the last of the other."""
    assert expected == Critic(llm).pick(QUERY, ANSWERS)
    assert 2 == len(llm.prompts)


@pytest.mark.parametrize(("replies", "expected"), [("32", 2), ("33", None), ("3??", 2)])
def test_without_probabilities_the_numbers_written_are_picked(replies, expected):
    """The third of four is the second from behind; one order that can be read is enough. Two orders
    that disagree can be read, and the trace does not say otherwise."""
    only = {"can": frozenset({"complete"})}
    found, record, _ = asked("pick", [*replies], **only)

    assert expected == found
    assert (expected is None) == ("so the critic picks none" in str(record.notes))
    assert "unreadable twice, so the critic" not in str(record.notes)


RIVALS = [Argument("Article 1, Section 3"), Argument("Article Two"), Argument("unknown")]


def test_a_verdict_on_which_agents_do_not_agree_is_no_verdict():
    """Asked again it sees the answers side by side; what it says twice is in dispute."""
    reply = verdict("[]", "yes: Article 1, Section 3")
    found, _, llm = asked("judge", [reply, reply], RIVALS)

    assert Judgement(readable=False, disputed=(0, 1, 2)) == found
    assert '[1] "Article 1, Section 3"; [2] "Article Two"' in llm.prompts[1][-1].content
    assert 1 == llm.prompts[0][0].content.count(QUERY.text)


@pytest.mark.parametrize(
    ("answers", "consistent"),
    [
        (("Shakespeare", "William Shakespeare"), "William Shakespeare"),
        (("Paris, France", "paris"), "Paris"),
        (("Paris", "unknown", "The documents do not say."), "Paris"),
    ],
)
def test_short_and_long_forms_agree_and_no_answer_contradicts_none(answers, consistent):
    """At once."""
    given = [Argument(answer) for answer in answers]

    assert consistent == asked("judge", [verdict("[]", f"yes: {consistent}")], given)[0].answer


@pytest.mark.parametrize(
    ("llm", "expected"),
    [
        (preferring("Article Two"), Judgement((0,), "", "Article Two")),
        (preferring(), Judgement(readable=False)),
    ],
)
def test_pairs_decide_in_both_orders(llm, expected):
    """A bias to the first place averages out, and is named; silence is no rival."""
    with Trace().recording(), step("pairs") as record:
        found = Critic(llm).by_pairs(QUERY, RIVALS, (0, 1, 2))

    assert expected == found
    assert 2 == len(llm.prompts)
    assert "the first place has" in record.notes[0]


def test_long_arguments_are_cut_to_fit_and_stay_apart():
    """Each alike, so that none wins by length; what does not fit even so is an error."""
    # A quote is two tokens once escaped, and eight characters are a word: for all that is asked
    # and four responses 1400 - 64 - 1400 // 3 = 870 tokens are left.
    llm = ScriptedLLM([verdict("[2]")], context=1400)
    long = [Argument(f"{name} " * 150, '"' * 300, "So.") for name in ANSWERS]
    with Trace().recording(), step("judge") as record:
        found = Critic(llm).judge(QUERY, long)
    lines = [line for line in llm.prompts[0][0].content.split("\n") if line[:10] == "Response ["]

    assert Judgement((1,), "why") == found
    assert ["9 words of each passage are read: more do not fit the context"] == record.notes
    assert ['"; Explanation: "So."'] * 4 == [line[-21:] for line in lines]

    with pytest.raises(ContextOverflow):
        asked("judge", [verdict()], context=150)

    answers = [f"answer {n} is a sentence of some length" for n in range(50)]
    llm = ScriptedLLM(
        ["Unique answers: []\nDuplicate answers: [[1, 2]]", verdict("[50]")], context=2048
    )
    critic = Critic(llm)

    assert [0, 1] == critic.same(QUERY, answers)[0]
    assert (49,) == critic.judge(QUERY, [Argument(a, a * 5, a * 5) for a in answers]).incorrect


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("Shakespeare", "Ben Jonson", "William Shakespeare"), [[0], [1], [2]]),
        (("Paris, France", "paris"), [[0, 1]]),
        (("Kennedy", "John Fitzgerald Kennedy", "John Kennedy"), [[0], [1], [2]]),
        (("Guinea", "Equatorial Guinea"), [[0], [1]]),
        (("Lincoln", "Mary Lincoln"), [[0], [1]]),
        (("Michigan", "Michigan State"), [[0], [1]]),
        (("Paris", "Paris Hilton"), [[0], [1]]),
        (("5", "5 million"), [[0], [1]]),
        (("Paris", "Paris or Lyon"), [[0], [1]]),
        (("Adams", "John Adams", "John Quincy Adams"), [[0], [1], [2]]),
        (("", " "), [[0, 1]]),
    ],
)
def test_short_and_long_forms_of_a_name_are_the_same(answers, expected):
    """Up to two more names behind a comma; of others the critic is asked."""
    assert expected == same_answers(answers)


def test_saying_that_there_is_no_answer_is_none():
    """In whatever words, those of the question among them; what names another thing is one."""
    refusals = [
        *("UNANSWERED", "Unknown.", "n/a", "Not mentioned in the documents.", "I don't know"),
        *("None of the documents name the capital of Slovenia.", "It cannot be determined."),
        *("I'm sorry, but I can't answer that.", "There isn't enough context"),
    ]
    answers = [
        *("None", "Nothing", "Maybe", "no", "No Country for Old Men", "Not guilty", "Without You"),
        *("Data", "It was not Lyon but Paris", "The Unknown Soldier", "invalid question"),
    ]

    asked = "What is the capital of Slovenia?"
    assert answers == [text for text in refusals + answers if is_answer(text, asked)]

    names = ["Unavailable", "Sorry", "The Unknown", "Neither"]
    songs = 'Unavailable (song): By Davido. They sang "Sorry" in the film The Unknown.'
    songs += " The cause is unknown. Impossible, they say."
    others = ["Unknown", "Impossible", "UNANSWERED - it speaks of rivers", "N/A"]
    assert names == [text for text in names + others if is_answer(text, "Which?", songs)]

    sure = ["No", "no, none of it", "Not Sorry", "in the film", "12 days", "Buddhism", "the film"]
    doubted = ["No idea.", "That isn't covered.", "The texts leave that open.", "Not applicable"]
    assert doubted == [text for text in sure + doubted if in_doubt(text, "Which?", songs)]

    about = ["The documents discuss rivers, not the capital.", "Only its age is in the context."]
    about += ["The texts leave that open."]
    assert about == [text for text in about + sure[3:] if refuses(text, "Which?", songs)]
