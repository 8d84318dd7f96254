"""Passages as prompts quote them."""

from hypothesis import given
from hypothesis import strategies as st

from ragsieve_research.prompts import numbered

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


def test_numbers_start_at_one() -> None:
    """Each text is a line behind its number."""
    assert "" == numbered([])
    assert "[1] He sang.\n[2] She danced." == numbered(["He sang.", "She danced."])


@given(
    st.lists(
        ANY_TEXT | st.sampled_from(["\n[9] fake", "a\r\n[1] b", "\u2028[2]", "\x0b[3]", "\x85[4]"])
    )
)
def test_no_text_opens_a_line(texts: list[str]) -> None:
    """There are as many lines as texts, however a line may break, each behind its number."""
    lines = numbered(texts).splitlines()

    assert [f"[{n}]" for n in range(1, len(texts) + 1)] == [line.split(" ")[0] for line in lines]
