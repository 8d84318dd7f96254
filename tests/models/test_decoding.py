"""Decoding and scoring of token rows, on tiny models with random weights."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from ragsieve.models.attention import ATTENTION, BLOCK  # noqa: E402
from ragsieve.models.decoding import Decoder, RowsDecoder  # noqa: E402
from ragsieve.models.loading import RowLinear  # noqa: E402
from ragsieve.models.transformers import PLAIN  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = 300
END = 7
RANDOM = random.Random(0)
TEXT = [RANDOM.randrange(WORDS) for _ in range(600)]
LENGTHS = (1, 2, 3, 17, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 150, 300, 600)
CONTINUATIONS = [[], [5], [5, 9], [5, 9, 9], [6], TEXT[:11], TEXT[3:36], [5, 9], [8, 8], [END]]


def tiny(dtype: str, attention: str = ATTENTION) -> transformers.LlamaForCausalLM:
    """A llama whose random weights are large, so that close calls are many."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=WORDS,
        initializer_range=0.3,
    )
    return transformers.LlamaForCausalLM._from_config(
        config, dtype=getattr(torch, dtype), attn_implementation=attention
    ).eval()


def together(dtype: str, rows: int = 8) -> RowsDecoder:
    return RowsDecoder(tiny(dtype), eos=frozenset({END}), rows=rows)


@pytest.fixture(scope="module", params=["bfloat16", "float32"])
def decoder(request: pytest.FixtureRequest) -> RowsDecoder:
    return together(request.param)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    """Beginnings of one text, so that one is the prefix of another, other rows, and a twin."""
    others = [[RANDOM.randrange(WORDS) for _ in range(length)] for length in LENGTHS]
    return [*(TEXT[:length] for length in LENGTHS), *others, TEXT[:17]]


def test_replies_are_those_of_a_prompt_alone(
    decoder: RowsDecoder, prompts: list[list[int]]
) -> None:
    """In batches of every size, of any company and order."""
    alone = [decoder.generate([prompt], max_tokens=12)[0] for prompt in prompts]
    orders = [RANDOM.sample(range(len(prompts)), size) for size in (*range(2, 10), len(prompts))]
    batches = [decoder.generate([prompts[i] for i in order], max_tokens=12) for order in orders]

    assert [[alone[i] for i in order] for order in orders] == batches


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_replies_do_not_depend_on_how_many_rows_run_together(
    dtype: str, prompts: list[list[int]]
) -> None:
    """One, three and eight rows; a place that falls free is taken by the next prompt."""
    replies = [together(dtype, rows).generate(prompts, max_tokens=12) for rows in (1, 3, 8)]

    assert replies[0] == replies[1] == replies[2]
    assert 3 < len({len(reply) for reply in replies[0]})


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
    """Bit for bit, whatever other continuations and prompts there are; an empty one has none."""
    some = prompts[1::4]
    alone = [[decoder.score([p], [[c]])[0][0] for c in CONTINUATIONS] for p in some]

    assert alone == decoder.score(some, [CONTINUATIONS] * len(some))
    assert [len(c) for c in CONTINUATIONS] == [len(row) for row in alone[0]]


@pytest.mark.parametrize("shared", [15, 16, 17, 63, 64, 65, 66, 127, 128, 129, 191, 192, 193, 300])
def test_a_common_beginning_changes_nothing(decoder: RowsDecoder, shared: int) -> None:
    """It is read once, wherever it ends; also where it is the whole of one prompt, or all but one.

    ``shared`` lies around the multiples of the block in which places attend together.
    """
    start = TEXT[:shared]
    ends: list[list[int]] = [[], [1], [2, 3], [4] * 70]
    prompts = [start + end for end in ends]
    alone = [decoder.score([prompt], [[[5, 9, 2]]])[0] for prompt in prompts]
    replies = [decoder.generate([prompt], max_tokens=4)[0] for prompt in prompts]

    assert alone == decoder.score(prompts, [[[5, 9, 2]]] * len(prompts))
    assert alone[1:] == decoder.score(prompts[1:], [[[5, 9, 2]]] * (len(prompts) - 1))
    assert replies == decoder.generate(prompts, max_tokens=4)


def test_attention_in_blocks_is_attention(prompts: list[list[int]]) -> None:
    """Log-probabilities are those that the model gives with the attention of transformers."""
    plain = Decoder(tiny("float32", "sdpa"), eos=frozenset({END}))
    wanted = [[TEXT[3:36]]] * len(prompts)
    expected = torch.tensor(plain.score(prompts, wanted))
    actual = torch.tensor(together("float32").score(prompts, wanted))

    assert torch.allclose(expected, actual, atol=1e-3)


@pytest.mark.parametrize("kind", sorted(PLAIN))
def test_every_plain_kind_attends_as_it_should(kind: str, prompts: list[list[int]]) -> None:
    """Each architecture that runs in rows gives what it gives by itself, up to the last bits."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(
        kind,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=WORDS,
        pad_token_id=0,
        sliding_window=None,
    )
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    some, wanted = prompts[::5], [[TEXT[3:36], [5]]] * len(prompts[::5])
    expected = Decoder(model, eos=frozenset()).score(some, wanted)
    model.set_attn_implementation(ATTENTION)
    actual = RowsDecoder(model, eos=frozenset(), rows=8).score(some, wanted)

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


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_row_is_multiplied_alike_in_any_company(dtype: str) -> None:
    """A linear map of 1 to 40 rows gives each the bits that it has among 264."""
    torch.manual_seed(0)
    linear = torch.nn.Linear(8192, 1024, dtype=getattr(torch, dtype))
    linear.__class__ = RowLinear
    rows = torch.randn(264, 8192).to(getattr(torch, dtype))
    with torch.inference_mode():
        whole = linear(rows)
        alike = [torch.equal(whole[:n], linear(rows[:n])) for n in range(1, 41)]

    assert all(alike)
