"""Decoding: rows of a batch do not depend on each other, nor on what was read before."""

import random
from itertools import chain

import pytest
import torch
import transformers

from ragsieve_research.models.attention import ATTENTION
from ragsieve_research.models.decoding import (
    MARGIN,
    PREFIX_TOKENS,
    Decoder,
    RowsDecoder,
    _WrittenReply,
)
from ragsieve_research.models.prefixes import Prefixes
from ragsieve_research.models.transformers import PLAIN
from tests.tiny import llama

WORDS = 300
END = 7
RANDOM = random.Random(0)
TEXT = [RANDOM.randrange(WORDS) for _ in range(600)]
LENGTHS = (1, 2, 3, 17, 64, 150, 600)
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 2.0}  # of such large weights
CONTINUATIONS = [[], [5], [5, 9], [5, 9, 9], [6], TEXT[:11], TEXT[3:36], [5, 9], [8, 8], [END]]


def tiny(dtype, attention=ATTENTION):
    return llama(WORDS, dtype, attention)


def flat(scores):
    return [value for rows in scores for row in rows for value in row]


def together(dtype, batch_tokens=5000):
    return RowsDecoder(tiny(dtype), eos=frozenset({END}), batch_tokens=batch_tokens)


@pytest.fixture(scope="module", params=["bfloat16", "float32"])
def decoder(request):
    return together(request.param)


@pytest.fixture(scope="module")
def prompts():
    """Beginnings of one text, so that one is the prefix of another, other rows, and a twin."""
    others = [[RANDOM.randrange(WORDS) for _ in range(length)] for length in LENGTHS]
    return [*(TEXT[:length] for length in LENGTHS), *others, TEXT[:17]]


@pytest.mark.slow
def test_replies_are_those_of_a_prompt_alone(decoder, prompts):
    """In batches of every size, of any company and order."""
    alone = [decoder.generate([prompt], max_tokens=12)[0] for prompt in prompts]
    orders = [RANDOM.sample(range(len(prompts)), size) for size in (*range(2, 10), len(prompts))]
    batches = [decoder.generate([prompts[i] for i in order], max_tokens=12) for order in orders]

    assert [[alone[i] for i in order] for order in orders] == batches


def test_a_shorter_reply_begins_the_longer_one(decoder, prompts):
    """``max_tokens`` cuts a reply and changes none of its tokens."""
    long = decoder.generate(prompts, max_tokens=12)
    short = {n: decoder.generate(prompts, max_tokens=n) for n in (1, 2, 5)}

    assert {n: [reply[:n] for reply in long] for n in short} == short


def test_scores_are_those_of_a_continuation_alone(decoder, prompts):
    """Within the precision's tolerance, whatever others there are; an empty one has none."""
    some = prompts[1::4]
    alone = [[decoder.score([p], [[c]])[0][0] for c in CONTINUATIONS] for p in some]
    together = decoder.score(some, [CONTINUATIONS] * len(some))

    assert flat(alone) == pytest.approx(flat(together), abs=TOLERANCE[decoder.model.dtype])
    assert [len(c) for c in CONTINUATIONS] == [len(row) for row in together[0]]


def test_a_close_call_is_decided_by_the_prompt_alone():
    """Logits that differ by less than `MARGIN` are read again; a clear lead is not."""
    decoder = together("float32")
    reads = []
    decoder.alone = lambda tokens: reads.append(len(tokens)) or torch.tensor([0.0, 2.0, 1.0])
    reply = _WrittenReply(TEXT[:5], None)
    reply.take(torch.tensor([5.0, 1.0, 5.0 - MARGIN / 2]), decoder.eos, 9, decoder.alone)
    reply.take(torch.tensor([5.0, 1.0, 5.0 - MARGIN * 2]), decoder.eos, 9, decoder.alone)

    assert ([5], [1, 0]) == (reads, reply.tokens)


@pytest.mark.parametrize("kind", sorted(PLAIN))
def test_every_plain_kind_attends_as_it_should(kind, prompts):
    """Each architecture that runs in rows gives what it gives by itself, to 1e-4."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(
        kind, hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, vocab_size=WORDS, pad_token_id=0, sliding_window=None,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    some, wanted = prompts[::5], [[TEXT[3:36], [5]]] * len(prompts[::5])
    expected = Decoder(model, eos=frozenset()).score(some, wanted)
    model.set_attn_implementation(ATTENTION)
    actual = RowsDecoder(model, eos=frozenset(), batch_tokens=5000).score(some, wanted)

    for one, other in zip(expected, actual, strict=True):
        assert torch.allclose(torch.tensor(one[0]), torch.tensor(other[0]), atol=1e-4)
        assert one[1] == pytest.approx(other[1], abs=1e-4)


def test_one_by_one_gives_the_same_words(prompts):
    """The decoder for any model agrees with the one for rows where float32 leaves no close call."""
    plain = Decoder(tiny("float32", "sdpa"), eos=frozenset({END}))

    assert plain.generate(prompts, max_tokens=8) == together("float32").generate(
        prompts, max_tokens=8
    )


def test_a_mask_holds_each_row_and_ends_it():
    """Each row has a mask of its own, which is told every token, and stops when it says so."""

    def mask():
        told = []

        def masked(logits):
            only = torch.full_like(logits, -torch.inf)
            only[40 + len(told)] = 0.0
            return only

        def tell(token):
            told.append(token)
            return len(told) == 3

        return masked, tell

    replies = together("bfloat16").generate([TEXT[:5], TEXT[:9]], max_tokens=9, mask=mask)

    assert [[40, 41, 42]] * 2 == replies


WANTED = [[5, 9, 2], [5], [8, 8], []]
STEMS = (15, 16, 17, 40, 65, 150, 300)
TOKEN = 2 * 2 * 2 * 16 * 4  # bytes: layers, keys and values, heads, numbers a head, float32


def words(count):
    return [RANDOM.randrange(WORDS) for _ in range(count)]


class Counted(RowsDecoder):
    """A decoder of a llama with random weights that counts the tokens which it reads."""

    def __init__(self, prefix_mb=0, batch_tokens=4000):
        model = llama(WORDS, attention=ATTENTION)
        limits = {"batch_tokens": batch_tokens, "prefix_mb": prefix_mb}
        super().__init__(model, eos=frozenset({END}), **limits)
        self.read = 0
        model.model.embed_tokens.register_forward_hook(self._count)

    def _count(self, _module, given, _out):
        self.read += given[0].numel()


def family():
    """Prompts that begin alike for as many tokens as `STEMS` says, and some that go on after."""
    stem = words(max(STEMS))
    pool = [stem[:length] + words(RANDOM.randrange(1, 70)) for length in STEMS for _ in range(2)]
    return [*pool, *(prompt + words(30) for prompt in pool[::5]), stem, stem[:40], words(20)]


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1, 100, 10_000])  # tokens
def test_what_was_read_before_changes_no_reply(room):
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


def test_only_what_is_new_is_read():
    """Of prompts that go on or are interleaved; what is under `PREFIX_TOKENS` is read again."""
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

    decoder = Counted(prefix_mb=1)
    stem = words(PREFIX_TOKENS - 1)
    for word in (1, 2):
        decoder.generate([[*stem, word, *words(10)]], max_tokens=1)

    assert 2 * (PREFIX_TOKENS + 10) == decoder.read


def states(tokens):
    """Two bytes a token, ``(1, 2, 1, tokens, 1)``."""
    return torch.tensor(tokens, dtype=torch.uint8).expand(1, 2, 1, -1)[..., None]


def known(prefixes, tokens):
    """The tokens whose states are found."""
    found = prefixes.find(tokens)
    return [] if found is None else found[0, 0, 0, :, 0].tolist()


def test_the_longest_beginning_is_found_within_the_budget():
    """One that goes on is not kept twice, the longest unused goes first; states are copies."""
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

    prefixes, given = Prefixes(100), states([1, 2, 3]).contiguous()
    prefixes.add([1, 2, 3], given)
    given.zero_()

    assert [1, 2, 3] == known(prefixes, [1, 2, 3])
