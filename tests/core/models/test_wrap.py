"""What wrappers share: they offer what the model inside offers."""

import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.errors import InputError
from ragsieve.models.base import Message
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.models.wrap import Wrapper, canonical, check_columns, unwrap

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Plain(Wrapper):
    """A wrapper that adds nothing."""

    def _call(self, method, columns, options):
        check_columns(columns)
        return self._inner(method, columns, options)


WRAPPERS = [Plain, DynamicBatcher, Cached]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_calls_are_those_of_the_model_inside(wrap):
    """All of an LLM's, and what it says of itself."""
    llm = ScriptedLLM(lambda prompt: prompt[0].content, context=99, identity="me")
    wrapper, prompt = wrap(llm), (Message("user", "a b"),)
    found = (
        wrapper.complete([prompt], max_tokens=1),
        wrapper.choose([prompt], [["x", "y"]]),
        wrapper.loglik([prompt], ["c d e"]),
        wrapper.surprisals([("a",)], ["c d"]),
        wrapper.count(["a b c"]),
    )
    nats = [[(0, 1, 1.0), (1, 3, 1.0)]]

    assert (["a"], [[0.5, 0.5]], [[-1.0, -1.0, -1.0]], nats, [3]) == found
    assert ("me", 99, llm.can) == (wrapper.identity, wrapper.context, wrapper.can)


def test_the_model_inside_all_wrappers_shows(tmp_path):
    """Its repr, too: no wrapper changes what a stage does."""
    model = HashingEmbedder(8)
    with DynamicBatcher(model) as shared:
        assert unwrap(model) is model
        assert unwrap(Cached(shared, tmp_path / "cache.db")) is model

    with DynamicBatcher(HashingEmbedder(8)) as shared:
        assert "HashingEmbedder(dim=8)" == repr(Cached(shared, tmp_path / "cache.db"))


@settings(max_examples=50, deadline=None)
@given(JSON, JSON)
def test_canonical_tells_values_apart(first, second):
    """Equal bytes for equal values only; tuples are lists."""
    same = repr(first) == repr(second)

    assert same == (canonical(first) == canonical(second))
    assert canonical([first, second]) == canonical((first, second))


def test_canonical_keeps_the_order_of_keys():
    """A model writes in the order of a schema; what is no JSON is refused."""
    assert canonical({"a": 1, "b": 2}) != canonical({"b": 2, "a": 1})

    with pytest.raises(InputError, match=r"must be JSON, got .*object"):
        canonical({"a": object()})
