"""Replies in named parts, as servers with and without a schema give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragsieve.errors import BadReply
from ragsieve_research.answer.parts import (
    number_lists,
    parts,
    same_answers,
    schema,
    strip_enclosing,
    text,
)

NAMES = ("Incorrect answers", "Explanation", "Consistent answer")
LINES = "Incorrect answers: [1]\nExplanation: Wrong.\nConsistent answer: no"
FOUND = {"Incorrect answers": "[1]", "Explanation": "Wrong.", "Consistent answer": "no"}
OBJECT = {"Incorrect answers": [1], "Explanation": "Wrong.", "Consistent answer": "no"}
READABLE = {
    "plain": LINES,
    "windows": LINES.replace("\n", "\r\n"),
    "blank lines": LINES.replace("\n", "\n\n"),
    "lower case": LINES.lower().replace("wrong", "Wrong"),
    "several lines": LINES.replace(": ", ":\n"),
    "preface": f"Sure, here is my judgement:\n\n{LINES}",
    "bold names": "**Incorrect answers:** [1]\n**Explanation:** Wrong.\n**Consistent answer:** no",
    "bold before the colon": LINES.replace("Explanation", "**Explanation**"),
    "bold lines": "\n".join(f"**{line}**" for line in LINES.split("\n")),
    "italics": LINES.replace("Explanation:", "_Explanation:_"),
    "headings": "\n".join(f"### {line}" for line in LINES.split("\n")),
    "bullets": "\n".join(f"- {line}" for line in LINES.split("\n")),
    "stars below a heading": "\n".join(f"# * *{line}" for line in LINES.split("\n")),
    "stars": "\n".join(f"* **{line}**" for line in LINES.split("\n")),
    "numbers": "\n".join(f"{n}. {line}" for n, line in enumerate(LINES.split("\n"), 1)),
    "fence": f"```\n{LINES}\n```",
    "fence with a language": f"\n```text\n{LINES}\n\n```\n",
    "fence that ends on the line": f"```\n{LINES}```",
    "fence behind prose": f"Sure:\n```\n{LINES}\n```",
    "out of order": "\n".join(sorted(LINES.split("\n"))),
    "headings of their own": "\n\n".join(f"## {name}\n{value}" for name, value in FOUND.items()),
    "bold names of their own": "\n\n".join(f"**{name}**\n{value}" for name, value in FOUND.items()),
}
OBJECTS = {
    "compact": json.dumps(OBJECT),
    "indented": json.dumps(OBJECT, indent=2),
    "white space": f" \n{json.dumps(OBJECT)}\n",
    "fence": f"```json\n{json.dumps(OBJECT, indent=2)}\n```",
    "one more": json.dumps({"Confidence": 0.9, **OBJECT}),
    "out of order": json.dumps(dict(reversed(OBJECT.items()))),
    "prose before": f"Sure! Here is my verdict:\n\n{json.dumps(OBJECT)}",
    "prose around a fence": f"Sure:\n```json\n{json.dumps(OBJECT, indent=1)}\n```\nGood luck!",
    "underscores": json.dumps({name.replace(" ", "_"): v for name, v in OBJECT.items()}),
    "joined words": json.dumps(
        {name.title().replace(" ", ""): value for name, value in OBJECT.items()}
    ),
    "in a list": json.dumps([OBJECT]),
    "lower case": json.dumps({name.lower(): value for name, value in OBJECT.items()}),
}
UNREADABLE = {
    "empty": "",
    "white space": " \n\t\u2028",
    "prose": "The first one is wrong.",
    "a part missing": "Incorrect answers: [1]\nConsistent answer: no",
    "a part twice": f"{LINES}\nExplanation: Right.",
    "all twice": f"{LINES}\n{LINES}",
    "on one line": LINES.replace("\n", " "),
    "after a line separator": LINES.replace("\n", "\u2028"),
    "no colon": LINES.replace(":", ""),
    "object with a part missing": '{"Incorrect answers": [1], "Explanation": "x"}',
    "object with a part twice": json.dumps(OBJECT).replace("{", '{"Incorrect answers": [2], '),
    "object cut off": json.dumps(OBJECT)[:-1],
    "two objects": f"{json.dumps(OBJECT)}\n{json.dumps(OBJECT)}",
    "object and more": json.dumps(OBJECT) + LINES,
    "object that is none, with lines in it": f'{{"Explanation": "\n{LINES}\n"',
    "deep": "[" * 100_000,
    "deep object": '{"Explanation": ' * 100_000,
    "white space without end": f"- {' ' * 50_000}x\n{LINES}\n```\n{' ' * 50_000}Explanation: x",
    "digits": '{"Incorrect answers": %s}' % ("9" * 6000),
    "a number": "1",
    "nothing": "null",
}


@pytest.mark.parametrize("form", READABLE)
def test_a_name_at_the_start_of_a_line_opens_a_part(form: str) -> None:
    """Whatever Markdown is around it, and whatever is said before the first."""
    assert FOUND == parts(READABLE[form], NAMES)


@pytest.mark.parametrize("form", OBJECTS)
def test_an_object_holds_the_parts(form: str) -> None:
    """Under the names that were asked for."""
    assert OBJECT == parts(OBJECTS[form], NAMES)


@pytest.mark.parametrize("form", UNREADABLE)
def test_what_is_not_those_parts_once_is_unreadable(form: str) -> None:
    """The error names them and keeps the reply."""
    with pytest.raises(BadReply, match="the parts Incorrect answers, Explanation, Cons") as error:
        parts(UNREADABLE[form], NAMES)

    assert UNREADABLE[form] == error.value.text


def test_a_part_may_speak_of_the_others() -> None:
    """Only the start of a line opens one, not what is quoted in the middle of it."""
    said = 'It says "Incorrect answers: [2]" and Consistent answer: yes.'

    assert said == parts(LINES.replace("Wrong.", said), NAMES)["Explanation"]


def test_line_breaks_inside_an_object_open_no_part() -> None:
    """Also where the JSON is not strict."""
    reply = json.dumps(OBJECT).replace("Wrong.", f"Wrong.\n{LINES}")

    assert f"Wrong.\n{LINES}" == parts(reply, NAMES)["Explanation"]


def test_the_schema_asks_for_all_parts() -> None:
    """In their order, and for nothing else."""
    asked = schema({name: {"type": "string"} for name in NAMES})

    assert [*NAMES] == asked["required"] == [*asked["properties"]]
    assert asked["additionalProperties"] is False


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], []),
        ([2], [[2]]),
        ([1, 3], [[1, 3]]),
        ([[1, 3], [2, 4]], [[1, 3], [2, 4]]),
        ([[], [1, 3], []], [[1, 3]]),
        (["2"], [[2]]),
        (None, []),
        (2, [[2]]),
        ("", []),
        ("[]", []),
        ("[[]]", []),
        ("-", []),
        ("none", []),
        ("**None.**", []),
        ("[N/A]", []),
        ("[1, 3]", [[1, 3]]),
        ("1, 3", [[1, 3]]),
        ("3.", [[3]]),
        ("1 and 3", [[1, 3]]),
        ("1, 2, and 3", [[1, 2, 3]]),
        ("[1 & 3]", [[1, 3]]),
        ("**[1, 3]**", [[1, 3]]),
        ("`[1, 3]`.", [[1, 3]]),
        ('["1", "3"]', [[1, 3]]),
        ("[Response 2]", [[2]]),
        ("Responses 1, 3", [[1, 3]]),
        ("[Response 1, Response 3]", [[1, 3]]),
        ("[Response [1], Response [3]]", [[1], [3]]),
        ("Response [1] and Response [3]", [[1], [3]]),
        ("Answers #1 and #3", [[1, 3]]),
        ("Agent 4", [[4]]),
        ("[[1, 3], [2, 4]]", [[1, 3], [2, 4]]),
        ("[1] (Paris)", [[1]]),
        ("1 (Paris), 3 (Rome)", [[1, 3]]),
        ("[1, 5]", [[1]]),
        ([[1, 3], [9]], [[1, 3]]),
        ("[1, 3], [2, 4]", [[1, 3], [2, 4]]),
        ("[1, 3] [2, 4]", [[1, 3], [2, 4]]),
        ("[1, 3]; [2, 4]", [[1, 3], [2, 4]]),
        ("[1, 3] and [2, 4]", [[1, 3], [2, 4]]),
        ("- [1, 3] - [2, 4]", [[1, 3], [2, 4]]),
        ("* [1, 3] * [2, 4]", [[1, 3], [2, 4]]),
        ("- 1\n- 3", [[1], [3]]),
        ("- 1, 3\n- 2, 4", [[1, 3], [2, 4]]),
        ('- Response [1]: "Rome"\n- Response [3]: "Rom"', [[1], [3]]),
        ("1. Response 3\n2. Response 4", [[3], [4]]),
    ],
)
def test_numbers_are_read_where_they_can_mean_one_thing(value: Any, expected: Any) -> None:
    """Lists with their brackets or without, with words before the numbers or without."""
    assert expected == number_lists(value, "Incorrect answers", "", 4)


@pytest.mark.parametrize(
    "value",
    [
        0,
        5,
        -1,
        1.0,
        True,
        {},
        {"1": 2},
        "yes",
        [None, 1],
        ["Response 2", "Response [3]"],
        [[[1]]],
        [1, [2]],
        ["one"],
        [float("nan")],
        [float("inf")],
        "0",
        "5",
        "-1",
        "1.0",
        "1e0",
        "true",
        "NaN",
        "Infinity",
        "one",
        "all of them",
        "1 3",
        "1-3",
        "1 - 3",
        "1_3",
        "1, 3 and 2, 4",
        "1 and 3, 2 and 4",
        "1, 3; 2, 4",
        "[1, 3",
        "1, 3]",
        "[1, 3] since they are misled",
        "[1] and 3",
        "[[[1]]]",
        "[" * 100_000,
        "[" * 50 + "1" + "]" * 50,
        "9" * 6000,
        ["[1]" + " " * 20_000 + "x"],
        '{"Incorrect answers": [1]}',
        "１",
    ],
)
def test_other_numbers_are_unreadable(value: Any) -> None:
    """The error names the part and the range, and keeps the reply."""
    with pytest.raises(BadReply, match="numbers from 1 to 4 as Incorrect answers") as error:
        number_lists(value, "Incorrect answers", "reply", 4)

    assert "reply" == error.value.text


def test_text_is_on_one_line() -> None:
    """However it was broken."""
    assert "a b c" == text(" a\nb\u2028c ", "Answer", "")


@pytest.mark.parametrize("value", [None, 1, True, ["a"], {"a": "b"}])
def test_only_text_is_text(value: Any) -> None:
    """The error names the part."""
    with pytest.raises(BadReply, match="text as Answer"):
        text(value, "Answer", "")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Paris", "Paris"),
        (' "Paris" ', "Paris"),
        ("**Paris**", "Paris"),
        ('[**"Paris"**]', "Paris"),
        ("`Paris`", "Paris"),
        ('"Heroes" by David Bowie', '"Heroes" by David Bowie'),
        ('He said "no"', 'He said "no"'),
        ('"A" or "B"', '"A" or "B"'),
        ("**A** or **B**", "**A** or **B**"),
        ("[A] or [B]", "[A] or [B]"),
        ("M*A*S*H", "M*A*S*H"),
        ("Sagittarius A*", "Sagittarius A*"),
        ("", ""),
        ('""', '""'),
        ("***", "***"),
    ],
)
def test_only_what_encloses_all_is_taken_off(value: str, expected: str) -> None:
    """Quotes within a text are its own."""
    assert expected == strip_enclosing(value)


@pytest.mark.parametrize(
    "reply",
    [
        "Reasoning: It is in France. Answer: Paris",
        "Reasoning: It is in France. Final answer: Paris",
        "**Reasoning:** It is in France. **Answer:** Paris",
        "Reasoning: It is in France; Answer: Paris",
        "Reasoning: It is in France.\nSo, Answer: Paris",
    ],
)
def test_parts_may_follow_on_one_line(reply: str) -> None:
    """Behind a stop, where the name opens no line."""
    assert "Paris" == parts(reply, ["Reasoning", "Answer"])["Answer"].strip("* ")


@pytest.mark.parametrize("reply", ["Reasoning: one. Answer: a. Answer: b", "an Answer: Paris"])
def test_a_part_that_follows_twice_or_alone_is_unreadable(reply: str) -> None:
    """A document may have been quoted."""
    with pytest.raises(BadReply):
        parts(reply, ["Reasoning", "Answer"])


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("Shakespeare", "Ben Jonson", "William Shakespeare"), [[0, 2], [1]]),
        (("Paris, France", "paris"), [[0, 1]]),
        (("Kennedy", "John Fitzgerald Kennedy", "John Kennedy"), [[0], [1], [2]]),
        (("York", "New York"), [[0], [1]]),
        (("Michigan", "Michigan State"), [[0], [1]]),
        (("Paris", "Paris Hilton"), [[0], [1]]),
        (("Article", "Article Two"), [[0], [1]]),
        (("Elizabeth", "Elizabeth II"), [[0], [1]]),
        (("5", "5 million"), [[0], [1]]),
        (("No", "No Country"), [[0], [1]]),
        (("Paris", "not Paris"), [[0], [1]]),
        (("Paris", "Paris or Lyon"), [[0], [1]]),
        (("Paris", "Paris is it"), [[0], [1]]),
        (("Adams", "John Adams", "John Quincy Adams"), [[0], [1], [2]]),
        (("", " "), [[0, 1]]),
    ],
)
def test_short_and_long_forms_of_a_name_are_the_same(
    answers: tuple[str, ...], expected: list[list[int]]
) -> None:
    """Up to two more names; a short form of several that differ is none's."""
    assert expected == same_answers(answers)
