"""Replies of every shape to every user of ``choose``, from servers with and without logprobs."""

import math
import re

import pytest

from ragsieve.models.openai import OpenAI
from ragsieve.trace import Trace, step
from ragsieve.types import Document, Query, Segment
from ragsieve_research.answer.critic import Critic
from ragsieve_research.evaluate.answers import AnswerJudge
from ragsieve_research.retrieve.route import LLMRouter
from ragsieve_research.score.combine import Mean
from ragsieve_research.score.helpful import Helpful
from ragsieve_research.score.judge import Critique, Reflection, Relevance
from ragsieve_research.score.listwise import Permuting
from ragsieve_research.select.truncate import Truncate
from tests.serving import Handler, served

QUERY = Query("What is the capital of France?")
SENTENCES = [Segment.whole(Document(str(n), f"Sentence {n}.", rank=n)) for n in range(5)]


class Replying(Handler):
    """Replies with ``text``; its first token has .9, and blanks the rest, where it tells any."""

    text = ""
    logprobs = False

    def do_POST(self):
        """Reply."""
        asked = self.asked()
        choice = {"message": {"role": "assistant", "content": self.text}}
        if self.logprobs and asked.get("logprobs"):
            found = re.match(r"\s*(\w+|\W)", self.text)
            first = {"token": found[0] if found else "\n", "logprob": math.log(0.9)}
            choice["logprobs"] = {"content": [{"top_logprobs": [first]}]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        self.reply(200, {"choices": [choice], "usage": usage})


@pytest.fixture(params=[False, True], ids=["text", "logprobs"], scope="module")
def server(request):
    handler = type("Kind", (Replying,), {"logprobs": request.param})
    with served(handler) as url:
        yield handler, OpenAI("m", base_url=f"{url}/v1")


def judge(llm):
    return AnswerJudge(llm)(QUERY.text, "It is Paris, I believe", ["Paris"])


def route(llm):
    sources = [type("Source", (), {"name": n, "description": n})() for n in ("web", "api")]
    return LLMRouter(llm)(QUERY, sources)


def truncate(llm):
    return len(Truncate(llm)(QUERY, [s.scored("s", -s.document.rank) for s in SENTENCES]))


def rate(llm):
    """The mean of three ratings of one chunk, the critic's being .3."""
    rated = Reflection(llm)(QUERY, Relevance(llm)(QUERY, SENTENCES[:1]))
    names = (Relevance.name, Reflection.name, Critique.name)
    (mean,) = Mean(names)(QUERY, [rated[0].scored(Critique.name, 0.3)])
    return round(mean.score, 3)


def pick(llm):
    return Critic(llm).pick(QUERY, ["Lyon", "Paris", "1969"])


def helpful(llm):
    return Helpful(llm)(QUERY, SENTENCES[:1])[0].score


def permute(llm):
    return Permuting(llm, "first").rank([QUERY.text], [["Lyon.", "Paris.", "Rome."]])[0]


YES = [
    *("yes", "Yes.", "YES!", "**Yes**", '"yes"', "[yes]", "Answer: yes", "**Answer:** Yes"),
    *("`yes`", '{"reply": "yes"}', "yes\n\nIt names Paris.", "<think>Hm.</think>Yes"),
    *(
        "✅ **Yes**",
        "Does it help? Yes",
        "$\\text{yes}$",
        '{"helps": "true"}',
        "答案：yes",
        "Yes ✅",
    ),
    *("I doubt it. </think>\n\nyes", "The answer is yes."),
]
NO = [
    *("no", "No.", "NO", "**No.**", "No, it contradicts the answer.", '{"answer": "No"}'),
    *("no - wrong", "Verdict: no", '```json\n"no"\n```', "# No", "['no']"),
    "The verdict is: **no**",
]
NEITHER = [
    *("maybe", "", "not sure", "I cannot say", "42", "none", "It may be yes", "null", "<think>")
]
ONLY_TEXT = ["Yes and no", "yes or no", "no idea", "Yes/No", "no information"]
TWO = [
    *("2", "2.", "[2]", "**2**", "(2)", '"2"', "[2]\nSo it is.", '{"reply": "2"}', '{"k": 2}'),
    *("#2", "Answer: 2", "The answer is 2.", "Number: **2**", "`2`", "Response [2]"),
    *(
        "2 (so it is)",
        "Sure, here it is:\n\n2\n\nAsk me more!",
        "So.\n\n---\n\n2\n\n---\n*5 were read*",
    ),
]
COUNTS = [
    *("2 sentences", "Two sentences", "two", "K = 2", "2/5", "2!", "<think></think>2"),
    *("Answer: 2. They cover 4/5 of it.", "002"),
]
PICKS = ["[2] Paris", "[2]: Paris", "Answer [2]: 1969", "2. Paris", "[2] (Paris)"]
NUMBERLESS = [
    *("", "all", "-2", "Sentences 1 and 2", "many", "[1] and [2]", "none", "٢", "{}", "9999"),
    *("[1], [2]", "Score: -2", "It has 3 parts", "<think>2", "[]", "I would say 2 or 3", "²", "２"),
    *("-1", "٣", "1\n2", "Of:\n1\n2\nnone", "9" * 5000, "8/10 or 2/10", "Score: 8/10 or 2/10"),
]
NO_RATING = ["11", "9/7", "1-9", "Score: -3", "Clarity: 7\nStyle: 3", '{"style": 3, "facts": 4}']
NINES = ["Rating: 9", "9", "[9]", "9 (helps)", "9/9", "The rating is 9", "Score (0-9): 9", "nine"]
RATED = {  # of 0 to 9
    7: [
        *("Score: 8/10", "**8 / 10**", "80%", "4 out of 5", "Relevance score: 80%", "7 - so"),
        *(
            "Bewertung: 7",
            "| Of | |\n|---|---|\n| Help | 7 |",
            "So it is. $\\boxed{7}$",
            "Note : 7",
        ),
        *('{"score": {"value": 7}}', "It helps. Rating: 7", "<score>\n7\n</score>", "Rating → 7"),
    ],
    9: [
        *(*NINES, "Score: 9 (the 7/10 date)", "**Score:** 9\nIt helps.", '{"score": 9}'),
        *("Score: 9. It covers 4/5 of what is asked.", "Score: 9\n\nSupport is open 24/7."),
        *("9\nSupport is open 24/7.", "The score is 9: 4/5 of it."),
        '{"reason": "4/5 of it, see [2]", "score": 9}',
    ],
    0: ["0", "0.", "`0`", "The rating is 0.", "Rating: 0\n\nOnly 1 out of 3 passages is relevant."],
    1: ["1.0"],
}
RATINGS = {reply: rating / 9 for rating, replies in RATED.items() for reply in replies}

CASES = [
    (judge, YES, 1.0, ""),
    (judge, NO, 0.0, ""),
    (judge, NEITHER, 0.0, "exact match judges"),
    (helpful, YES, 1.0, ""),
    (helpful, NO, 0.0, ""),
    (helpful, NEITHER, 1.0, "the segment counts as helpful"),
    (route, YES, ["web", "api"], ""),
    (route, NO, [], ""),
    (route, NEITHER, ["web"], "no reply could be read, so web alone is asked"),
    (truncate, TWO + COUNTS, 2, ""),
    (truncate, [" 0\n", "00"], 0, ""),
    (truncate, NUMBERLESS, 5, "all 5 segments stay"),
    (pick, TWO + PICKS, 1, ""),
    (pick, NUMBERLESS, None, "the critic picks none"),
    (permute, TWO + PICKS, [1, 0, 2], ""),
    (permute, NUMBERLESS, [0, 1, 2], "the order stays as given"),
    (rate, NUMBERLESS + NO_RATING, 0.3, "a rating is left out of the mean"),
]


def heard(server, use, text):
    """The result, and what the trace says."""
    handler, llm = server
    handler.text = text
    with Trace().recording(), step("use") as record:
        return use(llm), "\n".join(record.notes)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}-{c[2]}")
def test_each_shape_is_read_or_falls_back_as_stated(server, case):
    """Never equal odds, a middle score or the first option; the trace names the fallback."""
    use, replies, expected, meaning = case
    found = {reply: heard(server, use, reply) for reply in replies}

    assert dict.fromkeys(replies, expected) == {reply: found[reply][0] for reply in replies}
    assert {bool(meaning)} == {"unreadable" in notes for _, notes in found.values()}
    assert all(meaning in notes for _, notes in found.values())


def test_a_reply_with_two_options_is_none_where_it_is_read_as_text():
    """By first tokens alone they cannot be told from the option that they begin with."""
    with served(Replying) as url:
        llm = OpenAI("m", base_url=f"{url}/v1")
        found = [heard((Replying, llm), judge, reply)[1] for reply in ONLY_TEXT]

    assert all("exact match judges" in notes for notes in found)


@pytest.mark.parametrize(("reply", "expected"), RATINGS.items())
def test_a_rating_is_read_on_its_scale(server, reply, expected):
    """By first tokens or as text."""
    mean, notes = heard(server, rate, reply)

    assert pytest.approx((2 * expected + 0.3) / 3, abs=1e-3) == mean
    assert "unreadable" not in notes


def test_a_hint_of_probability_decides_nothing():
    """.04 of the mass lies on "No", .96 on what is no option: it is asked as text."""

    class Hinting(Replying):
        logprobs = True

        def reply(self, status, body, *args, **kwargs):
            for choice in body["choices"]:
                for item in choice.get("logprobs", {}).get("content", ()):
                    item["top_logprobs"] = [{"token": "No", "logprob": math.log(0.04)}]
            super().reply(status, body, *args, **kwargs)

    with served(Hinting) as url:
        llm = OpenAI("m", base_url=f"{url}/v1")

        assert 1.0 == heard((Hinting, llm), judge, "Well: yes.\nAnswer: yes")[0]
