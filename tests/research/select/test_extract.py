"""An LLM names the clue sentences, by number or by writing them out."""

import json
import re

import pytest

from ragsieve import InputError, ModelError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import step
from ragsieve_research.select.extract import Extract
from tests.segments import QUERY, traced, wholes

TEXTS = ("Summer Breeze is a song.", "Seals and Crofts sang it.", "It rained.", "In 1972 it sold.")


def kept(stage, segments):
    """The kept texts, and the step that tells of it."""
    found, record = traced(stage, segments)
    assert {s.key for s in found} <= {s.key for s in segments}
    return [s.text for s in found], record


def point(*replies, **options):
    return Extract(ScriptedLLM(replies), **options)


def write(*lines, **options):
    return Extract(ScriptedLLM(["\n".join(lines)]), mode="write", **options)


def test_numbers_name_sentences_in_their_order():
    """The most useful comes first, as the model says."""
    texts, record = kept(point("[3, 1]"), wholes(*TEXTS))

    assert [TEXTS[2], TEXTS[0]] == texts
    assert [] == record.notes
    assert ["not named as useful"] * 2 == [d.reason for d in record.dropped]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[]", []),
        ("[2, 2, 2]", [TEXTS[1]]),
        (" [4]\n", [TEXTS[3]]),
        ("[4,1,4]", [TEXTS[3], TEXTS[0]]),
        ("[2, 1].", TEXTS[1::-1]),
        ("2 and 1", TEXTS[1::-1]),
        ("```json\n[2, 1]\n```", TEXTS[1::-1]),
        ("- 2\n- 1", TEXTS[1::-1]),
        ("```\n[]\n```", []),
        ("1", [TEXTS[0]]),
    ],
)
def test_readable_lists(reply, expected):
    """An empty list keeps nothing; a number twice counts once; Markdown and full stops may be."""
    assert [*expected] == kept(point(reply), wholes(*TEXTS))[0]


UNREADABLE = ["", "[0]", "[1, 5]", "In 1972 it sold 2 of 4.", "[-1]", "[true]", "[1", "第一句。"]
UNREADABLE += ["\ud800\x00", "9" * 5000, "[" * 100_000]


@pytest.mark.parametrize("reply", UNREADABLE)
def test_an_unreadable_reply_is_asked_once_more(reply):
    """The second prompt says what was wrong; two such replies cost no evidence."""
    stage = Extract(Unlimited([reply, "[2]"]))
    texts, record = kept(stage, wholes(*TEXTS))
    first, second = stage.llm.prompts
    every, twice = kept(Extract(Unlimited([reply, reply])), wholes(*TEXTS))

    assert ([TEXTS[1]], [*TEXTS]) == (texts, every)
    assert (1, 2, 2) == (len(record.notes), len(twice.notes), twice.unreadable)
    assert record.notes[0].startswith("unreadable reply, asked once more")
    assert [*first] == [*second[:-2]]
    assert ("assistant", reply) == second[-2]
    assert "should be a JSON list of numbers from 1 to 4" in second[-1].content
    assert twice.notes[1].startswith("unreadable twice, so all 4 segments stay")


class Unlimited(ScriptedLLM):
    """A scripted LLM that does not cut its replies, as a server may not; it keeps its schemas."""

    def __init__(self, replies, **options):
        super().__init__(replies, **options)
        self.schemas = []

    def complete(self, prompts, *, max_tokens=128, schema=None):
        self.prompts.extend(prompts)
        self.schemas.append(schema)
        return self._script(prompts)


def test_the_reply_is_held_to_valid_numbers():
    """A backend that can is told which; each sentence is a line, its title before it."""
    llm = Unlimited(["[1]"])
    Extract(llm, max_clues=3)(QUERY, wholes(*TEXTS))

    assert [
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 4}, "maxItems": 3}
    ] == llm.schemas

    llm = ScriptedLLM(["[1]"])
    Extract(llm)(QUERY, wholes("One.", "Two.", title="Song"))

    assert "[1] Song: One.\n[2] Song: Two.\n" in llm.prompts[0][0].content
    assert llm.prompts[0][0].content.endswith(f"Question: {QUERY.text}")


NUMBERING = [
    *("Sentence 1: {}", "Sentence [2]: {}", "**Sentence 1:** {}", "1. {}", "(1) {}", "1: {}"),
    *("[1] {}", "- {}", "• {}", "{}"),
]


@pytest.mark.parametrize("style", NUMBERING)
def test_written_lines_are_found_behind_any_number(style):
    """A short sentence is found too, where a number weighs much."""
    given = wholes("It rained.", "He won.")

    assert ["He won."] == kept(write(style.format("He won.")), given)[0]


REPEATED = [
    *("Seals and Crofts sang it.", "seals and crofts sang it", '"Seals and Crofts sang it."'),
    *("Seals  and\tCrofts sang it !", "Seals and Crofts sangs it."),
    "Seals and Croft sang it.",  # 1 letter of 24 missing
]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        *((line, ["Seals and Crofts sang it."]) for line in REPEATED),
        (f"{TEXTS[1]} {TEXTS[0]}", [TEXTS[1], TEXTS[0]]),
        (f"{TEXTS[3]} {TEXTS[2]}", [TEXTS[3], TEXTS[2]]),
        ("Seals and Croft sang it. It rained.", [TEXTS[1], TEXTS[2]]),
        ("Seals and Crofts sang", [TEXTS[1]]),
        ("Seals ... Crofts sang it", [TEXTS[1]]),
        ("Seals and Crofts sang it. Summer Breeze is", [TEXTS[1], TEXTS[0]]),
    ],
)
def test_a_line_is_matched_to_the_sentences_it_repeats(line, expected):
    """With a slip of the pen, two at once, or shortened: what is kept is the document's own."""
    texts, record = kept(write(f"Sentence 1: {line}"), wholes(*TEXTS))

    assert expected == texts
    assert [] == record.notes


@pytest.mark.parametrize(
    "line",
    [
        *("It rained in Rome all summer.", "Seals and Crofts wrote it", "it sold", "Seals it."),
        "In 1973 it sold records in all of Ohio.",
    ],
)
def test_other_words_or_too_few_are_an_invention(line):
    """A shortened line has no word of its own, and three at least."""
    texts, record = kept(write(TEXTS[0], line), wholes(*TEXTS))

    assert [TEXTS[0]] == texts
    assert ["1 written lines repeat no sentence of the documents: dropped"] == record.notes


def test_written_lines_keep_their_order_and_count_once():
    """Most useful first; what looks like the list's number is the sentence's if it has it."""
    given = wholes(*TEXTS, TEXTS[2])
    texts, record = kept(write(TEXTS[2], TEXTS[0], TEXTS[2]), given)

    assert [TEXTS[2], TEXTS[0]] == texts
    assert [] == record.notes

    given = wholes("3. FC won.", "FC won.", "1972. A good year.")

    assert ["3. FC won."] == kept(write("3. FC won."), given)[0]
    assert ["1972. A good year."] == kept(write("Sentence 1: 1972. A good year."), given)[0]


@pytest.mark.parametrize("reply", ["NONE", "```\nNone.\n```"])
def test_the_word_for_nothing_keeps_nothing(reply):
    assert [] == kept(write(reply), wholes(*TEXTS))[0]


@pytest.mark.parametrize("reply", ["", "\n .", "Sentence 1:\n2:", "<think>Seals", "I cannot help."])
def test_silence_a_refusal_or_a_thought_that_was_cut_is_no_decision(reply):
    """It is asked for again; then all stay."""
    with step("Extract") as record:
        clues = Extract(ScriptedLLM([reply] * 2), mode="write")(QUERY, wholes(*TEXTS))

    assert (len(TEXTS), 2) == (len(clues), record.unreadable)


@pytest.mark.parametrize(
    ("reply", "min_keep", "expected"),
    [
        ("[3]", 0, [2]),
        ("[3]", 1, [2]),
        ("[3]", 2, [2, 0]),
        ("[]", 2, [0, 1]),
        ("[4, 3]", 99, [3, 2, 0, 1]),
    ],
)
def test_min_keep_adds_the_best_others(reply, min_keep, expected):
    """Behind what was named; unscored segments count as ranked as given."""
    texts, _ = kept(point(reply, min_keep=min_keep), wholes(*TEXTS))

    assert [TEXTS[n] for n in expected] == texts


def everything(prompt):
    """Names every number of the list."""
    return json.dumps([int(n) for n in re.findall(r"^\[(\d+)\] ", prompt[0].content, re.MULTILINE)])


@pytest.mark.parametrize("context", [335, 365, 465, 8192])
def test_windows_lose_nothing(context):
    """Where the context is small the sentences go in several prompts; each is read once."""
    given = wholes(*(f"Sentence number {n} of many others." for n in range(40)))
    llm = ScriptedLLM(everything, context=context)
    texts, record = kept(Extract(llm), given)
    asked = [n for prompt in llm.prompts for n in re.findall(r"number (\d+)", prompt[0].content)]

    assert [str(n) for n in range(40)] == asked
    assert {s.text for s in given} == {*texts}
    assert (
        [f"40 segments read in {len(llm.prompts)} windows"] if len(llm.prompts) > 1 else []
    ) == record.notes


def test_windows_take_turns():
    """The first clue of every window comes before the second of any."""
    given = wholes(*(f"Sentence number {n} of many others." for n in range(8)))
    # Reply 189 tokens, chat format 64; each sentence costs 10. In 335 go some of the eight.
    llm = ScriptedLLM(lambda prompt: "[1, 2]", context=335)
    texts, _ = kept(Extract(llm), given)
    windows = [re.findall(r"Sentence number \d+ of", p[0].content) for p in llm.prompts]

    assert len(windows) > 1
    assert [w[0] for w in windows] == [t.removesuffix(" many others.") for t in texts][
        : len(windows)
    ]


def test_a_window_that_stays_unreadable_is_kept_whole():
    """The other windows' clues are chosen as usual."""
    given = wholes(*(f"Sentence number {n} of many others." for n in range(8)))
    llm = ScriptedLLM(
        lambda prompt: "?" if "number 0 of" in prompt[0].content else "[1]", context=335
    )
    texts, record = kept(Extract(llm), given)
    first = re.findall(r"Sentence number \d+ of many others\.", llm.prompts[0][0].content)

    assert {*first} <= {*texts}
    assert len(texts) < 8
    assert any("unreadable twice" in line for line in record.notes)


def test_what_cannot_be_asked_is_told():
    """A context without room, a segment over it, and a model that fails."""
    given = wholes("One.", "word " * 300, "Three.")
    texts, record = kept(Extract(ScriptedLLM(everything, context=365)), given)

    assert ["One.", "Three."] == texts
    assert any("not read" in line for line in record.notes)
    assert "the model reads at most" in record.dropped[0].reason

    with pytest.raises(InputError, match="the context of scripted must hold the question"):
        Extract(ScriptedLLM(["[]"], context=100))(QUERY, wholes(*TEXTS))

    with pytest.raises(ModelError):
        Extract(ScriptedLLM([]))(QUERY, wholes(*TEXTS))
