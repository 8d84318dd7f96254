"""Whether texts hold answers, on pairs that were written before the function."""

import json
from pathlib import Path

from ragsieve.text import contains_answer

PAIRS = [json.loads(line) for line in Path("tests/held_answers.jsonl").read_text().splitlines()]
NOT_READ = ["50%", "京都"]  # a unit is no part of a number, and no word ends in Chinese


def test_words_and_numbers_are_held_in_their_places():
    """Possessives, numbers, dashes, stress, ligatures and initials neither hide nor feign one."""
    wrong = [p["answer"] for p in PAIRS if contains_answer(p["text"], [p["answer"]]) != p["holds"]]

    assert sorted(NOT_READ) == sorted(wrong)
