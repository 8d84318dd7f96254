"""Which questions are for learning."""

import hashlib

import pytest

from ragsieve_research.datasets.parts import SALT, part_of


def test_a_question_is_in_one_part_however_it_is_written() -> None:
    """By the written rule: 8 hex digits of the salted hash of the normalised text, modulo 100."""
    place = int(hashlib.sha256(f"{SALT}\nwho sang song".encode()).hexdigest()[:8], 16) % 100

    wanted = "train" if place < 50 else "validation" if place < 60 else "test"

    assert wanted == part_of("Who sang the song?")
    assert part_of("Who sang the song?") == part_of("who  sang THE song")
    assert ["test", "train"] == [part_of(text) for text in ("谁唱的。", "“Who?”")]  # marks count


def test_parts_are_a_half_a_tenth_and_four_tenths() -> None:
    """Over 2,000 questions, within 4 of 100 places."""
    parts = [part_of(f"question {n}") for n in range(2000)]

    assert pytest.approx(0.5, abs=0.04) == parts.count("train") / 2000
    assert pytest.approx(0.1, abs=0.04) == parts.count("validation") / 2000
    assert {"train", "validation", "test"} == set(parts)
