"""Decoding and scoring of token rows, on tiny models with random weights."""

import random

import pytest
import torch
import transformers

from ragsieve_research.models.attention import ATTENTION
from ragsieve_research.models.decoding import MARGIN, Decoder, RowsDecoder, _WrittenReply
from ragsieve_research.models.transformers import PLAIN
from tests.tiny import llama

WORDS = 300
END = 7
RANDOM = random.Random(0)
TEXT = [RANDOM.randrange(WORDS) for _ in range(600)]
LENGTHS = (1, 2, 3, 17, 64, 150, 600)
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 2.0}  # of such large weights
CONTINUATIONS = [[], [5], [5, 9], [5, 9, 9], [6], TEXT[:11], TEXT[3:36], [5, 9], [8, 8], [END]]


def tiny(dtype: str, attention: str = ATTENTION) -> transformers.LlamaForCausalLM:
    return llama(WORDS, dtype, attention)


def flat(scores: list[list[list[float]]]) -> list[float]:
    return [value for rows in scores for row in rows for value in row]


def together(dtype: str, batch_tokens: int = 5000) -> RowsDecoder:
    return RowsDecoder(tiny(dtype), eos=frozenset({END}), batch_tokens=batch_tokens)


@pytest.fixture(scope="module", params=["bfloat16", "float32"])
def decoder(request: pytest.FixtureRequest) -> RowsDecoder:
    return together(request.param)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    """Beginnings of one text, so that one is the prefix of another, other rows, and a twin."""
    others = [[RANDOM.randrange(WORDS) for _ in range(length)] for length in LENGTHS]
    return [*(TEXT[:length] for length in LENGTHS), *others, TEXT[:17]]


@pytest.mark.slow
def test_replies_are_those_of_a_prompt_alone(
    decoder: RowsDecoder, prompts: list[list[int]]
) -> None:
    """In batches of every size, of any company and order."""
    alone = [decoder.generate([prompt], max_tokens=12)[0] for prompt in prompts]
    orders = [RANDOM.sample(range(len(prompts)), size) for size in (*range(2, 10), len(prompts))]
    batches = [decoder.generate([prompts[i] for i in order], max_tokens=12) for order in orders]

    assert [[alone[i] for i in order] for order in orders] == batches


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_replies_do_not_depend_on_how_many_rows_run_together(
    dtype: str, prompts: list[list[int]]
) -> None:
    """One, three and eight rows; a place that falls free is taken by the next prompt."""
    rows = [together(dtype, n * (600 + 12)) for n in (1, 3, 8)]
    replies = [decoder.generate(prompts, max_tokens=12) for decoder in rows]

    assert replies[0] == replies[1] == replies[2]
    assert 1 < len({len(reply) for reply in replies[0]})


def test_a_shorter_reply_begins_the_longer_one(
    decoder: RowsDecoder, prompts: list[list[int]]
) -> None:
    """``max_tokens`` cuts a reply and changes none of its tokens."""
    long = decoder.generate(prompts, max_tokens=12)
    short = {n: decoder.generate(prompts, max_tokens=n) for n in (1, 2, 5)}

    assert {n: [reply[:n] for reply in long] for n in short} == short


def test_scores_are_those_of_a_continuation_alone(
    decoder: RowsDecoder, prompts: list[list[int]]
) -> None:
    """Within the precision's tolerance, whatever others there are; an empty one has none."""
    some = prompts[1::4]
    alone = [[decoder.score([p], [[c]])[0][0] for c in CONTINUATIONS] for p in some]
    together = decoder.score(some, [CONTINUATIONS] * len(some))

    assert flat(alone) == pytest.approx(flat(together), abs=TOLERANCE[decoder.model.dtype])
    assert [len(c) for c in CONTINUATIONS] == [len(row) for row in together[0]]


def test_a_close_call_is_decided_by_the_prompt_alone() -> None:
    """Logits that differ by less than `MARGIN` are read again; a clear lead is not."""
    decoder = together("float32")
    reads: list[int] = []
    decoder.alone = lambda tokens: reads.append(len(tokens)) or torch.tensor([0.0, 2.0, 1.0])
    reply = _WrittenReply(TEXT[:5], None)
    reply.take(torch.tensor([5.0, 1.0, 5.0 - MARGIN / 2]), decoder.eos, 9, decoder.alone)
    reply.take(torch.tensor([5.0, 1.0, 5.0 - MARGIN * 2]), decoder.eos, 9, decoder.alone)

    assert ([5], [1, 0]) == (reads, reply.tokens)


@pytest.mark.parametrize("kind", sorted(PLAIN))
def test_every_plain_kind_attends_as_it_should(kind: str, prompts: list[list[int]]) -> None:
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


def test_one_by_one_gives_the_same_words(prompts: list[list[int]]) -> None:
    """The decoder for any model agrees with the one for rows where float32 leaves no close call."""
    plain = Decoder(tiny("float32", "sdpa"), eos=frozenset({END}))

    assert plain.generate(prompts, max_tokens=8) == together("float32").generate(
        prompts, max_tokens=8
    )


def test_a_mask_holds_each_row_and_ends_it() -> None:
    """Each row has a mask of its own, which is told every token, and stops when it says so."""

    def mask() -> tuple[object, object]:
        told: list[int] = []

        def masked(logits: torch.Tensor) -> torch.Tensor:
            only = torch.full_like(logits, -torch.inf)
            only[40 + len(told)] = 0.0
            return only

        def tell(token: int) -> bool:
            told.append(token)
            return len(told) == 3

        return masked, tell

    replies = together("bfloat16").generate([TEXT[:5], TEXT[:9]], max_tokens=9, mask=mask)

    assert [[40, 41, 42]] * 2 == replies
