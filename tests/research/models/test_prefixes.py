"""What prompts begin with is read once, and no reply shows it; on tiny models."""

import random
from itertools import chain

import pytest
import torch

pytest.importorskip("transformers")

from ragsieve_research.models.attention import ATTENTION
from ragsieve_research.models.decoding import PREFIX_TOKENS, RowsDecoder
from ragsieve_research.models.prefixes import Prefixes
from tests.tiny import llama

WORDS = 300
END = 7
RANDOM = random.Random(0)
WANTED = [[5, 9, 2], [5], [8, 8], []]
LENGTHS = (15, 16, 17, 40, 65, 150, 300)
TOKEN = 2 * 2 * 2 * 16 * 4  # bytes: layers, keys and values, heads, numbers a head, float32


def words(count: int) -> list[int]:
    return [RANDOM.randrange(WORDS) for _ in range(count)]


class Counted(RowsDecoder):
    """A decoder of a llama with random weights that counts the tokens which it reads."""

    def __init__(self, prefix_mb: int = 0, batch_tokens: int = 4000) -> None:
        model = llama(WORDS, attention=ATTENTION)
        limits = {"batch_tokens": batch_tokens, "prefix_mb": prefix_mb}
        super().__init__(model, eos=frozenset({END}), **limits)
        self.read = 0
        model.model.embed_tokens.register_forward_hook(self._count)

    def _count(self, _module: object, given: tuple[torch.Tensor], _out: object) -> None:
        self.read += given[0].numel()


def family() -> list[list[int]]:
    """Prompts that begin alike for as many tokens as `LENGTHS` says, and some that go on after."""
    stem = words(max(LENGTHS))
    pool = [stem[:length] + words(RANDOM.randrange(1, 70)) for length in LENGTHS for _ in range(2)]
    return [*pool, *(prompt + words(30) for prompt in pool[::5]), stem, stem[:40], words(20)]


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1, 100, 10_000])  # tokens
def test_what_was_read_before_changes_no_reply(room: int) -> None:
    """In any order and company replies are those of a prompt alone and afresh, scores to 1e-3."""
    fresh, pool, kept = Counted(), family(), Counted()
    kept.prefixes = Prefixes(room * TOKEN)
    replies = [fresh.generate([prompt], max_tokens=3)[0] for prompt in pool]
    scores = [fresh.score([prompt], [WANTED])[0] for prompt in pool]
    for size in (1, 2, 9, 1, 5):
        order = [RANDOM.randrange(len(pool)) for _ in range(size)]
        some = [pool[i] for i in order]
        found = kept.score(some, [WANTED] * size)

        assert [replies[i] for i in order] == kept.generate(some, max_tokens=3)
        for i, rows in zip(order, found, strict=True):
            assert [*chain(*scores[i])] == pytest.approx([*chain(*rows)], abs=1e-3)
        assert kept.prefixes.bytes <= kept.prefixes.max_bytes


def test_only_what_is_new_is_read() -> None:
    """Of a prompt that goes on, of two interleaved ones, of one read before its last token."""
    decoder = Counted(prefix_mb=1)
    stem, ends = words(60), [words(130), words(130)]
    reads = []
    for tail in (20, 60, 25):
        before = decoder.read
        decoder.score([stem + end + [tail] * tail for end in ends], [[[5]]] * 2)
        reads.append(decoder.read - before)

    # each tail differs from the one before in its first token
    assert [60 + 2 * (130 + 20), 2 * 60, 2 * 25] == reads

    decoder = Counted(prefix_mb=1, batch_tokens=1)
    one, other = words(100), words(100)
    decoder.generate([one, other, [*one, 1, 2], [*other, 3]], max_tokens=1)

    assert 100 + 100 + 2 + 1 == decoder.read

    decoder = Counted(prefix_mb=1)
    prompt = words(50)
    for _ in range(2):
        decoder.generate([prompt], max_tokens=1)

    assert 50 + 1 == decoder.read


def test_a_short_beginning_is_read_again() -> None:
    """Under `PREFIX_TOKENS`."""
    decoder = Counted(prefix_mb=1)
    stem = words(PREFIX_TOKENS - 1)
    for word in (1, 2):
        decoder.generate([[*stem, word, *words(10)]], max_tokens=1)

    assert 2 * (PREFIX_TOKENS + 10) == decoder.read


def states(tokens: list[int]) -> torch.Tensor:
    """Two bytes a token, ``(1, 2, 1, tokens, 1)``."""
    return torch.tensor(tokens, dtype=torch.uint8).expand(1, 2, 1, -1)[..., None]


def known(prefixes: Prefixes, tokens: list[int]) -> list[int]:
    """The tokens whose states are found."""
    found = prefixes.find(tokens)
    return [] if found is None else found[0, 0, 0, :, 0].tolist()


def test_the_longest_beginning_is_found_within_the_budget() -> None:
    """One that another continues is not kept twice; what was not used for longest goes first."""
    prefixes = Prefixes(100)
    prompts = [[1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 3, 5, 6, 7]]
    for prompt in prompts:
        prefixes.add(prompt, states(prompt))

    assert 2 * (4 + 6) == prefixes.bytes
    assert prompts == [known(prefixes, [*prompt, 9]) for prompt in prompts]
    assert [1, 2] == known(prefixes, [1, 2, 8])
    assert [] == known(prefixes, [9, 1, 2])

    prefixes = Prefixes(2 * 6)
    for prompt in ([1, 2], [3, 4], [1, 2], [5, 6, 7]):
        prefixes.add(prompt, states(prompt))

    assert [[1, 2], [], [5, 6, 7]] == [known(prefixes, p) for p in ([1, 2], [3, 4], [5, 6, 7])]
    assert 2 * 5 == prefixes.bytes

    prefixes, prompt = Prefixes(2 * 4 + 1), list(range(9))
    prefixes.add(prompt, states(prompt))

    assert [0, 1, 2, 3] == known(prefixes, prompt)


def test_states_are_copies() -> None:
    """What happens to the memory that they came from later does not show."""
    prefixes, given = Prefixes(100), states([1, 2, 3]).contiguous()
    prefixes.add([1, 2, 3], given)
    given.zero_()

    assert [1, 2, 3] == known(prefixes, [1, 2, 3])
