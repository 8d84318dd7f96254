"""The net over hand-made inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import numpy as np  # noqa: E402

from ragsieve.models.clue_windows import Read  # noqa: E402
from ragsieve.train.clue_data import Item  # noqa: E402
from ragsieve.train.clue_prior import train_prior  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def items(count: int) -> list[Item]:
    """Of five sentences the one whose second input is largest is the clue; the first says none."""
    made = np.random.default_rng(0)
    found = []
    for _ in range(count):
        inputs = made.normal(5, 3, (5, 2)).astype(np.float32)
        targets = np.where(inputs[:, 1] == inputs[:, 1].max(), 1, -1).astype(np.float32)
        found.append(Item("a", Read([], []), inputs, targets, np.ones(5, np.int64)))
    return found


@pytest.mark.slow
def test_it_learns_which_input_tells_a_clue(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The clue is first in over nine of ten questions, where chance finds one of five."""
    taught = items(120)
    prior = train_prior(taught, seed=0, work=tmp_path)
    with torch.inference_mode():
        best = [int(prior(torch.from_numpy(item.inputs)).argmax()) for item in taught]

    right = [n == item.targets.argmax() for n, item in zip(best, taught, strict=True)]
    assert np.mean(right) > 0.9
    assert "" == capsys.readouterr().out


@pytest.mark.slow
def test_a_seed_gives_one_net(tmp_path: Path) -> None:
    """The same twice, another for another seed."""
    nets = [train_prior(items(4), seed=seed, work=tmp_path) for seed in (0, 0, 1)]
    first, same, other = (net.net[0].weight for net in nets)

    assert torch.equal(first, same)
    assert not torch.equal(first, other)
