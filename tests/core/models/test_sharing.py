"""Models for several threads."""

import pytest

from ragsieve.errors import ModelError
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM, echo
from ragsieve.models.pruner import Pruner
from ragsieve.models.sharing import sharing


def test_many_callers_share_until_the_block_ends(tmp_path):
    """One needs no wrapper; batches inside the cache; a later call is refused."""
    llm = echo()
    with sharing(1) as share:
        assert llm is share(llm)

    with sharing(3, cache=tmp_path / "c") as share:
        llm, embedder = share(echo()), share(HashingEmbedder())

        assert isinstance(llm, Cached)
        assert isinstance(llm.model, DynamicBatcher)
        assert isinstance(embedder.model, DynamicBatcher)
        assert llm.model.wait_s > embedder.model.wait_s

    with sharing(2) as share:
        llm = share(ScriptedLLM(["x"]))
    with pytest.raises(ModelError, match="closed"):
        llm.complete([[]])


def test_a_model_whose_calls_share_the_processors_waits_for_no_batch(tmp_path):
    """Passages of several questions fill the cores that one leaves idle; a cache is still one."""
    pruner = Pruner()
    with sharing(3) as share, sharing(3, cache=tmp_path / "c") as remember:
        remembered = remember(pruner)

        assert pruner is share(pruner)
        assert isinstance(remembered, Cached)
        assert pruner is remembered.model
