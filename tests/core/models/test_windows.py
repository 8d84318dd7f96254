"""Windows of one passage: a worked example, and what holds of any."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

from ragsieve.errors import InputError
from ragsieve.models import windows
from ragsieve.models.base import Passage
from ragsieve.models.windows import (
    NOTHING,
    Layout,
    Marks,
    QuestionWindows,
    Window,
    WindowPruner,
    WindowSpan,
    WindowTokenizer,
    passage_logit,
    probabilities,
)
from ragsieve.trace import Usage, step

MARKS = Marks(cls=1, sep=2, colon=3)
SMALL = Layout(size=24, question=2, title=2, context=3)
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ":", ".", "who", "?", "a", "b", "c", "[", "]"]


def test_a_passage_goes_in_windows():
    """Between the marks, a long one behind its last tokens; a long sentence in even pieces."""
    (window,) = Layout().windows([10, 11], [20], [[30, 31], [40]], MARKS)

    assert (
        Window([1, 10, 11, 2, 20, 3, 30, 31, 40, 2], 2, [WindowSpan(0, 6, 8), WindowSpan(1, 8, 9)])
        == window
    )
    assert [0, 0, 0, 0, 1, 1, 1, 1, 1, 1] == window.types

    rows = [[100 + n for n in range(10)], [200 + n for n in range(8)], [300 + n for n in range(7)]]
    first, second = SMALL.windows([10, 11], [], rows, MARKS)

    assert Window(
        [1, 10, 11, 2, *rows[0], *rows[1], 2], 2, [WindowSpan(0, 4, 14), WindowSpan(1, 14, 22)]
    ) == (first)
    assert Window([1, 10, 11, 2, 205, 206, 207, *rows[2], 2], 2, [WindowSpan(2, 7, 14)]) == second

    (window,) = SMALL.windows([10, 11, 12], [20, 21, 22], [[30]], MARKS)

    assert [1, 10, 11, 2, 20, 21, 3, 30, 2] == window.ids

    windows = SMALL.windows([10, 11], [], [[*range(100, 120)]], MARKS)

    assert [[WindowSpan(0, 4, 14)], [WindowSpan(0, 7, 17)]] == [window.spans for window in windows]
    assert [107, 108, 109, *range(110, 120)] == windows[1].ids[4:-1]


@given(
    question=st.integers(0, 5),
    title=st.integers(0, 4),
    lengths=st.lists(st.integers(0, 50), max_size=12),
)
def test_every_token_of_a_sentence_is_scored_once(question, title, lengths):
    """Spans of all windows, put together, are the sentences; no window is too long."""
    tokens = iter(range(1000, 9999))
    rows = [[next(tokens) for _ in range(length)] for length in lengths]
    windows = SMALL.windows([10] * question, [20] * title, rows, MARKS)
    read = [[] for _ in rows]
    for window in windows:
        assert len(window.ids) <= SMALL.size
        assert len(window.types) == len(window.ids)
        for n, start, end in window.spans:
            read[n] += window.ids[start:end]

    assert rows == read


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A BERT tokenizer of a dozen words, as a file."""
    file = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made = Tokenizer(WordPiece({word: n for n, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(VOCABULARY[:4])
    made.enable_truncation(8)
    made.save(str(file))
    return WindowTokenizer.read(file, Layout(size=30, question=4, title=2, context=3))


def words(window):
    """A window's tokens as text."""
    return " ".join(VOCABULARY[n] for n in window.ids)


def test_texts_are_tokenized_one_by_one(tokenizer):
    """None without text; a control token in one is text; what is cut is noted."""
    passages = [Passage("A", ["B c.", "c"]), Passage("a", []), Passage("", ["a."])]
    laid = tokenizer.lay("Who?", passages)

    assert ["[CLS] who ? [SEP] a : b c . c [SEP]"] == [words(w) for w in laid.windows[0]]
    assert [] == laid.windows[1]
    assert ["[CLS] who ? [SEP] a . [SEP]"] == [words(w) for w in laid.windows[2]]
    assert laid.note == ""

    laid = tokenizer.lay("[SEP]", [Passage("", ["[CLS] a\x00[SEP]\ud800"])])
    (window,) = laid.windows[0]

    assert [2, 3, 3] == [n for n in window.ids if n in (2, 3)]
    assert [window.ids[0], window.ids[4], window.ids[-1]] == [2, 3, 3]

    laid = tokenizer.lay("a " * 5, [Passage("a b c", ["a " * 40]), Passage("a b c", ["a"])])

    assert laid.note == (
        "the question has over 4 tokens: only these count; "
        "titles with over 2 tokens, cut there: 2; "
        "sentences longer than a window, read in pieces: 1"
    )


@pytest.mark.parametrize("options", [{"size": 100}, {"title": -1}, {"question": 0}, {"size": "x"}])
def test_sizes_are_checked(options):
    """A window without room for sentences would never end."""
    with pytest.raises(InputError, match=next(iter(options))):
        Layout(**options)


def test_control_tokens_between_two_texts_are_the_tokenizers(tokenizer, tmp_path):
    """MPNet and XLM-R put two separators between texts: the second one stands in the gap."""
    own = Tokenizer.from_str(tokenizer.tokenizer.to_str())
    special = [("[CLS]", own.token_to_id("[CLS]")), ("[SEP]", own.token_to_id("[SEP]"))]
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]", special_tokens=special
    )
    file = tmp_path / "tokenizer.json"
    own.save(str(file))

    assert () == tokenizer.marks.gap
    assert (own.token_to_id("[SEP]"),) == WindowTokenizer.read(file).marks.gap


class Net(WindowPruner):
    """Gives each token the logits 1 and its id; keeps what it read in ``read``."""

    identity = "m"
    read: list[int]

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "read", [])

    def _lay(self, question, passages):
        return passages

    def _run(self, windows):
        self.read.extend(window.ids[0] for window in windows)
        return [np.array([[1, n] for n in window.ids], np.float32) for window in windows]

    def _shares(self, passage, reading):
        return []

    def of(self, *items):
        return self.readings([""] * len(items), items)


def laid(*passages, note=""):
    """Passages, each given by the first token of its windows of two."""
    spans = [WindowSpan(0, 1, 2)]
    return QuestionWindows([[Window([n, 0], 0, spans) for n in some] for some in passages], note)


def test_a_window_is_read_and_charged_once():
    """By the item that asks first; the second call reads nothing."""
    net = Net()
    items = [laid([1, 2], [3]), laid([3, 4], note="cut"), laid([1])]
    with step("first") as first:
        found = net.of(*items)
    with step("second") as second:
        again = net.of(items[0])

    assert [1, 2, 3, 4] == net.read
    assert [Usage("m", 6), Usage("m", 2, note="cut"), Usage("m", 2, cached=True)] == first.usages
    assert [Usage("m", 6, cached=True)] == second.usages
    assert [[2, 3], [4], [1]] == [[passage_logit(one) for one in item] for item in found]
    assert [[2, 3]] == [[passage_logit(one) for one in item] for item in again]


def test_what_was_asked_longest_ago_is_forgotten():
    """A longer question of the same tokens is another window; no token has 0."""
    net = Net()
    both = [Window([1, 0], question, []) for question in (0, 1)]
    net.of(QuestionWindows([both], ""))

    assert [1, 1] == net.read

    net = Net()
    many = range(1, windows.REMEMBERED + 1)
    for some in (many, [1], [0], [1], [2]):  # 0 takes the place of 2, as 1 was asked for since
        net.of(laid(some))

    assert [*many, 0, 2] == net.read

    assert NOTHING == passage_logit([])
    assert [0.0, 0.5, 1.0, pytest.approx(0, abs=1e-9)] == [
        *probabilities([NOTHING, 0, 1e30, -1e30])
    ]
