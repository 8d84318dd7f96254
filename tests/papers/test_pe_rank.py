"""PE-Rank (arXiv 2406.14848) worked by hand: dynamic-constrained decoding.

Vectors lie in a plane, the projector doubles them, and the model's last state is the sum of all
that it has read. Words 0 and 2 are at (0, 1) and (1, 0); word 1 is the place token. The prompt is
0 1 1 1 2, its passages a (1, 0), b (0, 1), c (-1, 1), so projected a (2, 0), b (0, 2), c (-2, 2).

    read  (0, 1) + a + b + c + (1, 0) = (1, 5)     a 2     b 10     c 8      b
    read  (1, 5) + b = (1, 7)                      a 2              c 12     c
    a is left: b, c, a.

Without the constraint the second choice would be b again: (1, 7) · (0, 2) = 14.
"""

from types import SimpleNamespace

import torch
import transformers

from ragsieve_research.models.pe_rank import PERankNet


class Sum:
    """A language model whose last state is the sum of all it has read."""

    config = transformers.LlamaConfig(num_hidden_layers=1)
    device, dtype = "cpu", torch.float32

    def __init__(self):
        self.sum = torch.zeros(2)
        self.states = []

    def get_input_embeddings(self):
        return torch.nn.Embedding.from_pretrained(
            torch.tensor([[0.0, 1.0], [9.0, 9.0], [1.0, 0.0]])
        )

    def forward(self, inputs_embeds, **_):
        self.sum = self.sum + inputs_embeds[0].sum(0)
        self.states.append(self.sum.tolist())
        return SimpleNamespace(last_hidden_state=self.sum[None, None])

    __call__ = forward


def test_each_passage_is_chosen_once():
    """By its product with the last state, among those left; the last one is not asked for."""
    double = torch.nn.Linear(2, 2, bias=False)
    double.weight.data = 2 * torch.eye(2)
    model = Sum()
    passages = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])

    assert [1, 2, 0] == PERankNet(model, double, 1).order([0, 1, 1, 1, 2], passages)
    assert [[1.0, 5.0], [1.0, 7.0]] == model.states
