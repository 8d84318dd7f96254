"""Windows over a text whose spans are embedded."""

from ragsieve_research.models.span_windows import SpanWindow, windows_of

OFFSETS = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]  # a b c d e f, a token each


def test_spans_share_windows_while_they_fit():
    """The first begins with the text; a longer span has its first tokens, a blank one none."""
    assert [SpanWindow(0, 3, [(1, 2), (2, 3)]), SpanWindow(3, 5, [(0, 1), (1, 2)])] == windows_of(
        OFFSETS, [(2, 3), (4, 5), (6, 7), (8, 9)], 3
    )

    assert [SpanWindow(1, 3, [(0, 4)])] == windows_of(OFFSETS, [(2, 9)], 2)

    assert [SpanWindow(0, 6, [(1, 1), (6, 6)])] == windows_of(OFFSETS, [(1, 2), (11, 12)], 6)
    assert [] == windows_of(OFFSETS, [], 3)
