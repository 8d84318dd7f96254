"""Which parts of a long question are read: one table of questions."""

import re

import pytest

from ragsieve.models.query_focus import PARTS, parts

RULES = (
    "Read the documents that were found, work with what they say. Do not guess or invent a name. "
    "Give the title in brackets. If two documents differ, say so and list both of them."
)
HUM = "The machine hums and I tried all that the manual says. " * 4
ASKS = "Who wrote the anthem of Port Lorne?"
CHAT = "user: Hi! Who are you?\nassistant: A helper. What is it?\nuser: A quiz.\nassistant: Fine.\n"


def read(question, most=20):
    """The parts as text; each word and each mark is a token."""
    tokens = [match.span() for match in re.finditer(r"\w+|[^\w\s]", question)]
    ends = [end for _, end in tokens]
    return [question[tokens[a][0] : tokens[b - 1][1]] for a, b in parts(question, ends, most)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (ASKS, [ASKS]),
        (f"{RULES}\n\n{ASKS}", [ASKS]),
        (f"{RULES} {ASKS}", [ASKS]),
        (f"{ASKS} {RULES}", [ASKS]),
        (f"{RULES}\nQuestion: {ASKS}\nAnswer:", [ASKS]),
        (f"{RULES}\n\n## Question\nname the longest river\n\n## Form", ["name the longest river"]),
        (f"who wrote the anthem\n\n{RULES}", ["who wrote the anthem"]),
        (f"{RULES} Tell me the longest river.", ["Tell me the longest river."]),
        (f"{CHAT}user: {ASKS}", [ASKS]),
        (f"{CHAT}user: {ASKS}\nassistant:", [ASKS]),
        (f"{CHAT}user: name the longest river", ["name the longest river"]),
        (f"Ann: {HUM}\nBob: Why?\nAnn: {ASKS}", [ASKS]),
        (f"{RULES} Quién escribió el himno?", ["Quién escribió el himno?"]),
        (f"{RULES} What is it? {ASKS}", ["What is it?", f"{RULES[-54:]} What is it?", ASKS]),
    ],
)  # fmt: skip
def test_sentences_that_ask_are_read(question, expected):
    """Of an instruction or a chat what is asked last, by mark, label, first word or place."""
    assert expected == read(question)


def test_what_a_question_refers_to_stands_before_it():
    """A question that says too little by itself is read once more with what stands before it."""
    alone, behind = read(f"{HUM}What is wrong with it?")

    assert "What is wrong with it?" == alone
    assert behind.endswith("manual says. What is wrong with it?")


def test_without_a_question_all_is_read_in_pieces():
    """Of what is longer still the first piece and the last ones; a long sentence overlaps."""
    question = " ".join(f"w{n}" for n in range(50)) + "?"

    assert read(question) == [" ".join(f"w{n}" for n in range(at, at + 20)) for at in (0, 15)] + [
        " ".join(f"w{n}" for n in range(31, 50)) + "?"
    ]
    assert [HUM[:54], *[HUM[:54]] * (PARTS - 1)] == read(HUM * 3, 15)
    assert read("x " * 500, 20)[0] == "x " * 19 + "x"
