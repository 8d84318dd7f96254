"""What every reply goes through before it is read."""

import re

import pytest

from ragsieve.errors import BadReply, ContextOverflow
from ragsieve.models.base import Cut, Message, complete_with_room
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import CUT, Usage, collect_step, record_usage
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.replies import strip_thinking

PROMPT = (Message("user", "Which number?"),)


def number(reply):
    if not re.fullmatch("[0-9]+", reply.strip()):
        raise BadReply("a number", reply)
    return int(reply)


def parsed(llm, prompts=1, **options):
    """What is read of the replies, and what the trace says."""
    with collect_step() as seen:
        found = complete_parsed(llm, [PROMPT] * prompts, number, **options)
    return found, seen


class Endless:
    """Writes blanks without end in the form of a schema."""

    identity, thinking, prompts = "endless", False, []

    def complete(self, prompts, *, schema=None, **options):
        self.prompts += prompts
        return [Cut('{ "n":      ') if schema else "5" for _ in prompts]


def test_a_reply_that_is_cut_in_the_form_of_a_schema_is_requested_without_it():
    found, _ = parsed(llm := Endless(), schema={"type": "integer"})

    assert [5] == found and [PROMPT, PROMPT] == llm.prompts


FINAL = "<|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Rome", "Rome"),
        ("", ""),
        (" Rome\n", " Rome\n"),
        ("<think>Hm.</think>Rome", "Rome"),
        ("\n <think>\nHm.\n\nParis?\n</think>\n\nRome", "Rome"),
        ("<think></think>Rome", "Rome"),
        ("<think>Hm.</think>", ""),
        ("<think>a <think> b</think>Rome", "Rome"),
        ("<think>a</think>\n<think>b</think>Rome", "Rome"),
        ("<think>a</think><think>It is Rome", ""),  # cut off
        ("<think>It is Rome", ""),
        ("  <think>It is Rome", ""),
        ("Rome <think>or Paris</think>", "Rome <think>or Paris</think>"),
        ("Rome</think>", ""),
        ("Paris?\n</think>\n\nRome", "\n\nRome"),  # a template opens the thoughts
        ("It is Rome. </think>\n\nRome", "\n\nRome"),
        ("It is Rome.</think>Rome", "Rome"),
        ("[THINK]Hm.[/THINK]Rome", "Rome"),
        ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Rome<|END_RESPONSE|>", "Rome"),
        ("<seed:think>a</seed:think>Rome", "Rome"),
        ("<|channel>thought\na<channel|>Rome", "Rome"),
        (f"<|channel|>analysis<|message|>a<|end|>{FINAL}Rome", "Rome"),
        (f"{FINAL}Rome", "Rome"),
        ("</think>Rome", "Rome"),
        ("Paris?\n </think>", ""),
        ("The tag </think> ends it.\nRome", "The tag </think> ends it.\nRome"),
        ("Rome\n<think>Paris\n</think>\nMilan", "Rome\n<think>Paris\n</think>\nMilan"),
        ("<thinking>Hm.</thinking>Rome", "Rome"),
        ("analysisParis, or Rome?assistantfinalRome", "Rome"),
        ("analysisParis, or", ""),
        *((text, text) for text in ("Analysis: Rome", "analysis of Rome")),
    ],
)
def test_only_thoughts_at_the_beginning_are_taken_away(reply, said):
    """What stands behind them is the reply, as it stands; nothing where they have no end."""
    assert said == strip_thinking(reply)


def test_a_long_thought_is_taken_away_at_once():
    """And so is one without an end, or white space alone."""
    long = "<think> " * 200_000

    assert "Rome" == strip_thinking(f"{long}</think>Rome")
    assert "" == strip_thinking(long)
    assert " " * 10**6 == strip_thinking(" " * 10**6)
    assert "Rome" == strip_thinking("<think></think>\n" * 100_000 + "Rome").strip()
    for run in ("\n" * 10**6, "\n " * 10**6, "</think> " * 10**5, "</think>\n" + "\n" * 10**6):
        assert run.endswith(strip_thinking(run))


def test_replies_are_read_without_thoughts():
    """In order, with no second call; those that were cut off are no reply."""
    found, seen = parsed(ScriptedLLM(["<think>7?</think>1", "2"]), prompts=2)

    assert [1, 2] == found
    assert ([], 0) == (seen.notes, seen.unreadable)

    found, seen = parsed(ScriptedLLM(["<think>\n7", "<think>\n8"]))

    assert ["the reply should be text behind the thoughts, got '<think>\\n8'"] == [
        str(error) for error in found
    ]
    assert 2 == seen.unreadable


def test_an_unreadable_reply_is_asked_for_once_more():
    """By itself, with the reply as it was and what is wrong with what was said."""
    llm = ScriptedLLM(["1", "<think>Hm.</think>two", "3", "2"])
    found, seen = parsed(llm, prompts=3)
    (again,) = llm.prompts[3:]

    assert [1, 2, 3] == found
    assert PROMPT == again[:1]
    assert Message("assistant", "<think>Hm.</think>two") == again[1]
    assert (
        "That cannot be read: the reply should be a number, got 'two'. "
        "Reply again, in that form only."
    ) == again[2].content
    assert 1 == seen.unreadable
    assert ["unreadable reply, asked once more: the reply should be a number, got 'two'"] == (
        seen.notes
    )


class Stopped(ScriptedLLM):
    """A server's model that is cut where a script's reply ends in dots."""

    thinking: int | None = None
    asked = ""

    def complete(self, prompts, **options):
        text = f"{CUT} {options['max_tokens']} tokens"
        self.asked += f" {options['max_tokens']}"
        replies = super().complete(prompts, **options)
        cut = [Cut(reply, text) if reply.endswith("...") else reply for reply in replies]
        record_usage([Usage("m", 1, note=text) for reply in cut if isinstance(reply, Cut)])
        return cut


@pytest.mark.parametrize(
    ("script", "said", "limits"),
    [  # the first two, a word, again
        ("Hm...|No...|yes|", "Hm...|No...", "9"),
        ("Hm...|No...|yes, it...|", "Hm...|No...", "9"),
        ("Hm...|No...|Hm, it...|Hm. </think>\n1|Hm...", "Hm. </think>\n1|", "2057"),
        ("Hm...|No...|Hm</think>yes|Hm</think>1|Hm</think>2", "Hm</think>1|Hm</think>2", ""),
        ("<think>a...|2|<think>a</think>1", "<think>a</think>1|2", ""),
        ("<think>a...|No...|yes|<think>a</think>1", "<think>a</think>1|No...", "9"),
    ],
)
def test_a_reply_that_stays_cut_in_thoughts_is_none(script, said, limits):
    """The first word that a model is asked for says whether it thinks, also where that is cut; the
    warning of a reply goes where the reply has come to its end."""
    llm = Stopped(script.split("|"), identity=script)
    with collect_step() as seen:
        replies = complete_with_room(llm, [PROMPT] * 2, max_tokens=9)

    assert said.split("|") == replies
    assert [f"{CUT} {n} tokens: " for n in limits.split()] == [*dict.fromkeys(seen.warnings)]
    assert ["..." in reply or not reply for reply in replies] == [
        isinstance(reply, Cut) for reply in replies
    ]


@pytest.mark.parametrize(
    ("script", "thinking", "limits"),
    [  # the first two; a word; with room; second requests
        ("<think>a...|two|<think>a</think>one|<think>b</think>1|2", None, "9 2057 2057 9"),
        ("Hm...|2|Hm</think>yes|Hm</think>one|Hm</think>1", None, "9 2048 2057 2057"),
        ("<think>a...|2|<think>b</think>1", 500, "9 9"),
        ("so...|2|yes|1", None, "9 2048 9"),
    ],
)
def test_second_requests_have_the_room_that_first_ones_needed(script, thinking, limits):
    """No other reply of the same model has it, and none has more than an option gives."""
    llm = Stopped(script.split("|"), identity=script)
    llm.thinking = thinking

    assert [1, 2] == parsed(llm, 2, max_tokens=9)[0]
    assert limits == llm.asked.strip()


class Small(ScriptedLLM):
    """Remembers how many prompts came in each call, and has no space for long ones."""

    sizes: list[int]

    def complete(self, prompts, **options):
        self.sizes = [*getattr(self, "sizes", []), len(prompts)]
        if any("long" in turn.content for prompt in prompts for turn in prompt):
            raise ContextOverflow(needed=9, limit=8, model="small")
        return super().complete(prompts, **options)


def test_unreadable_replies_are_asked_for_again_in_one_batch():
    """Those without space for it keep their error, the others are asked by themselves."""
    llm = Small(["one", "2", "three", "1", "3"])
    found, seen = parsed(llm, prompts=3)

    assert ([1, 2, 3], [3, 2], 2) == (found, llm.sizes, seen.unreadable)

    llm = Small(["one", "long", "1"])
    found, _ = parsed(llm, prompts=2)

    assert (1, "long") == (found[0], getattr(found[1], "text", None))
    assert [2, 2, 1, 1] == llm.sizes


def test_what_stays_unreadable_is_the_callers_to_replace():
    """As is a reply without room for a second; a first without room is the caller's error."""
    found, seen = parsed(ScriptedLLM(["none", "1", "nothing"]), prompts=2)
    error, other = found

    assert isinstance(error, BadReply)
    assert ("nothing", 1) == (error.text, other)
    assert 2 == seen.unreadable

    found, seen = parsed(ScriptedLLM(["none"], context=7), max_tokens=4)

    assert ["the reply should be a number, got 'none'"] == [str(error) for error in found]
    assert 1 == seen.unreadable

    with pytest.raises(ContextOverflow):
        parsed(ScriptedLLM(["1"], context=6), max_tokens=4)
