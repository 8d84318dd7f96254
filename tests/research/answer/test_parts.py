"""Answers: which are none, and which are the same."""

import pytest

from ragsieve_research.answer.parts import is_answer, same_answers


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
def test_short_and_long_forms_of_a_name_are_the_same(
    answers: tuple[str, ...], expected: list[list[int]]
) -> None:
    """Up to two more names behind a comma; of others the critic is asked."""
    assert expected == same_answers(answers)


def test_saying_that_there_is_no_answer_is_none() -> None:
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
