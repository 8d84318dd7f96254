"""The models that documentation and tests run on."""

import numpy as np
import pytest

from ragsieve.errors import InputError, ModelError
from ragsieve.models.base import Passage, Pruned
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.trace import Usage, step
from tests.processes import python
from tests.tiny import ask


def test_replies_come_in_turn():
    """Over as many calls as it takes, prompts kept; the end fails loudly; a string is no script. Of
    "two, too." three tokens are "two, too"; each item is charged what it reads and writes."""
    llm = ScriptedLLM(["one", "two, too.", "three"])
    with step("test") as seen:
        replies = llm.complete([ask("a b"), ask("b")], max_tokens=3)
        replies += llm.complete([ask("c")])

    assert ["one", "two, too", "three"] == replies
    assert [ask("a b"), ask("b"), ask("c")] == llm.prompts
    assert [Usage("scripted", *cost) for cost in ((2, 1), (1, 3), (1, 1))] == seen.usages

    llm = ScriptedLLM(["one"])

    with pytest.raises(ModelError, match="the script has 1 replies, asked for 2"):
        llm.complete([ask("a"), ask("b")])

    with pytest.raises(InputError, match="sequence of strings"):
        ScriptedLLM("one")
    with pytest.raises(InputError, match="max_tokens must be at least 1, got 0"):
        llm.complete([ask("a")], max_tokens=0)


def test_vectors_are_the_same_in_every_process():
    """Python's own hash differs between processes."""
    code = (
        "from ragsieve.models.fake import HashingEmbedder;"
        "print(HashingEmbedder(8).embed(['some few words']).tobytes().hex())"
    )
    own = HashingEmbedder(8).embed(["Some few words!"])

    assert np.float32 == own.dtype
    assert own.tobytes().hex() == python(code).stdout.strip()


@pytest.mark.parametrize("kind", [OverlapCrossEncoder, OverlapPruner])
def test_overlap_scores_pairs(kind):
    """Two of three distinct words; each item is charged the words of both texts."""
    with step("test") as seen:
        scores = kind().score([("Who who is it", "it IS"), ("Who", ""), ("?", "who")])

    np.testing.assert_array_equal(np.array([2 / 3, 0, 0], dtype=np.float32), scores)
    assert [Usage(kind.identity, size) for size in (4 + 2, 1, 1)] == seen.usages


def test_who_promises_more_keeps_more():
    """Between 0 and 1."""
    assert [0.5, 0.25] == [OverlapPruner().threshold(p) for p in (0.5, 0.75)]
    for promise in (0.0, 1.0):
        with pytest.raises(InputError, match="keep_answer must be over 0 and below 1"):
            OverlapPruner().threshold(promise)


def test_sentences_and_passages_are_pruned_by_overlap():
    """Of three distinct words one is in the title, and one more in the first sentence. A passage is
    worth its best sentence; one without sentences nothing."""
    passages = [Passage("It", ["WHO sang?", ""]), Passage("", ["Nobody."]), Passage("it", [])]
    pruner = OverlapPruner()
    with step("test") as seen:
        found = pruner.prune(["Who who is it", "?"], [passages, []])

    assert [Pruned([2 / 3, 1 / 3, 0.0], [2 / 3, 0.0, 0.0]), Pruned([], [])] == found
    assert [Usage("overlap-pruner", 3 + 3 + 1 + 1), Usage("overlap-pruner", 0)] == seen.usages
    with pytest.raises(InputError, match=r"one length, got \[1, 0\]"):
        pruner.prune(["Who?"], [])
