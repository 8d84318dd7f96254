"""Local clue readers on a language model: it reads question and passages once, writing no token.

Each sentence is closed by a marker, a token that no text can produce. A head judges a sentence by
the hidden states of its tokens and of its marker, and a net over hand-made inputs adds its logit.
The states of a layer below the last are judged: the last ones are for the next word, and need not
be computed. A trained one is a folder as `ragsieve.models.clues` says; its recipe names the depth.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    import transformers
    from safetensors.torch import load_file
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "torch", extra="local") from error

from ragsieve.errors import ModelError
from ragsieve.models.base import Passage
from ragsieve.models.clue_net import CALIBRATION, WEIGHTS, Prior, merge
from ragsieve.models.clue_windows import Layout, Read, Setter, Tokens, Window
from ragsieve.models.clues import ClueEncoder
from ragsieve.models.loading import compute, loaded, marked, once, own_tokenizer

TOGETHER = 8  # windows that an accelerator computes together


@dataclass(frozen=True)
class ClueLLM(ClueEncoder):
    """A language model that reads a question with its passages: `ragsieve.models.base.ClueReader`.

    All is as with `ClueEncoder`, but that the model reads forwards only: what stands behind a
    sentence says nothing of it.

    Args:
        model: A folder.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.

    Source: One pass as in Provence (arXiv 2501.16214), on the targets of FineFilter's extractor
        (arXiv 2502.11811v4, section 4.1).
    """

    model: str = field()

    @once
    def identity(self) -> str:
        """Adapter, language model and precision: what probabilities depend on."""
        llm = marked(self._recipe.encoder)
        return f"clue_llm:{self.model}@{self._digest}+{llm}:{self._dtype}"

    def logits(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """As `clues`, before calibration: any finite numbers."""
        return self._computed(questions, passages, lambda net, *given: net.logits(*given))

    @once
    def _setter(self) -> MarkSetter:
        return mark_setter(self._recipe.encoder, self._encoder_folder)

    @once
    def _net(self) -> MarkNet:
        recipe = self._recipe
        options = (recipe.encoder, self._encoder_folder, recipe.depth, self._dtype)
        llm = compute(lower_layers, *options)
        longest = _with_mark(recipe.layout).longest
        holds = getattr(llm.config, "max_position_embeddings", None)
        if holds and longest > holds:
            raise ModelError(
                f"windows of {self.model!r} have {longest} tokens, {recipe.encoder!r} reads {holds}"
            )
        net: MarkNet = compute(loaded, self.model, MarkNet.load, self._folder, llm, self._device)
        return net


@dataclass(frozen=True, eq=False)
class MarkSetter(Setter):
    """Sets texts as windows of a language model; the padding token is the marker."""

    def windows(self, read: Read, layout: Layout) -> list[Window]:
        """Windows in which every sentence counts once; its span ends with its marker."""
        (*_, newline) = self.tokenizer.encode("\n", add_special_tokens=False).ids or [self.padding]
        passages = [
            (self._text(title), [self._closed(text, layout) for text in texts])
            for title, texts in read.passages
        ]
        marks = self.cls, newline, newline
        return _with_mark(layout).windows(self._text(read.question), passages, marks)

    def _closed(self, tokens: Tokens, layout: Layout) -> list[int]:
        return [*self._text(tokens)[: layout.sentence], self.padding]

    def _text(self, tokens: Tokens) -> list[int]:
        return [token for token in tokens if token != self.padding]  # whoever wrote it


def _with_mark(layout: Layout) -> Layout:
    return replace(layout, sentence=layout.sentence + 1)


def mark_setter(llm: str, folder: Path | str) -> MarkSetter:
    """What sets texts as windows of ``llm``, which lies in ``folder``; its marker ends a turn.

    Raises:
        ModelError: If it has no fast tokenizer with a mark of the end.
    """
    own = loaded(llm, transformers.AutoTokenizer.from_pretrained, str(folder))
    mark = own.eos_token_id
    if not own.is_fast or mark is None:
        raise ModelError(f"model {llm!r} needs a tokenizer.json with a mark of the end")
    first = mark if own.bos_token_id is None else own.bos_token_id
    return MarkSetter(own_tokenizer(own, plain=True), first, first, mark)


def lower_layers(llm: str, folder: Path | str, depth: float, dtype: str) -> Any:
    """The first ``depth`` of the layers of ``llm``, at least one, without what chooses words.

    Args:
        llm: Its name in errors.
        folder: Where it lies, or its hub id.
        depth: Share of the layers, over 0 to 1.
        dtype: ``"bfloat16"`` or ``"float32"``.

    Raises:
        ModelError: If it cannot be loaded, or does not only decode.
    """
    config = loaded(llm, transformers.AutoConfig.from_pretrained, str(folder))
    if config.is_encoder_decoder:
        raise ModelError(f"model {llm!r} must only decode, {config.model_type} encodes")
    layers = max(1, round(depth * config.num_hidden_layers))
    if kinds := getattr(config, "layer_types", None):
        config.layer_types = kinds[:layers]
    config.num_hidden_layers = layers
    options = {"config": config, "dtype": getattr(torch, dtype), "use_safetensors": True}
    return loaded(llm, transformers.AutoModel.from_pretrained, str(folder), **options)


class MarkHead(torch.nn.Module):
    """From the states of a sentence and of its marker, and hand-made inputs, to a logit."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, states: int, hidden: int, inputs: int, prior: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(states))
        self.register_buffer("scale", torch.ones(states))
        self.down = torch.nn.Linear(states, hidden)
        self.mix = torch.nn.Sequential(torch.nn.GELU(), torch.nn.Identity())  # may drop out
        self.out = torch.nn.Linear(hidden, 1)
        self.prior = Prior(inputs, prior)

    def forward(self, states: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Logits, ``(n,)``, of ``(n, states)`` and ``(n, inputs)``."""
        logits: torch.Tensor = self.of_states(states) + self.prior(inputs)
        return logits

    def of_states(self, states: torch.Tensor) -> torch.Tensor:
        """The part of the logits, ``(n,)``, that hidden states give."""
        # some places of a language model's states are a thousand times as large as others
        even = (states - self.mean) / self.scale
        logits: torch.Tensor = self.out(self.mix(self.down(even)))[:, 0]
        return logits


@dataclass(frozen=True, eq=False)
class MarkNet:
    """A language model with its adapter merged, the head behind it, and the calibration.

    Args:
        llm: Gives hidden states.
        head: Makes logits of them and of hand-made inputs.
        calibration: Slope and offset of a logit (Platt's two numbers).
    """

    llm: torch.nn.Module
    head: MarkHead
    calibration: tuple[float, float]

    @classmethod
    def load(cls, folder: Path, llm: torch.nn.Module, device: str) -> MarkNet:
        """The net in ``folder``; any exception where its tensors do not fit."""
        tensors = {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}
        own = {name: tensors.pop(name) for name in [*tensors] if name.startswith("encoder.")}
        merge(llm, {name.removeprefix("encoder."): tensor for name, tensor in own.items()})
        down, first = tensors["down.weight"], tensors["prior.net.0.weight"]
        head = MarkHead(down.shape[1], down.shape[0], first.shape[1], first.shape[0])
        head.load_state_dict(tensors)
        values = json.loads((folder / CALIBRATION).read_text(encoding="utf-8"))
        calibration = float(values["a"]), float(values["b"])
        return cls(llm.eval().to(device), head.eval().to(device), calibration)

    @torch.inference_mode()
    def logits(self, windows: Sequence[Window], inputs: NDArray[np.float32]) -> list[float]:
        """As below, before calibration: any finite number."""
        if not windows:
            return []
        found = states(self.llm, windows)
        values: list[float] = self.head(found, torch.from_numpy(inputs).to(found.device)).tolist()
        return values

    def probabilities(self, windows: Sequence[Window], inputs: NDArray[np.float32]) -> list[float]:
        """A number in [0, 1] for each row of ``inputs``, ``(n_sentences, n_inputs)``."""
        a, b = self.calibration
        logits = torch.tensor(self.logits(windows, inputs))
        values: list[float] = torch.sigmoid(a * logits + b).tolist()
        return values


def states(
    llm: torch.nn.Module, windows: Sequence[Window], together: int | None = None
) -> torch.Tensor:
    """Of each sentence the mean of its tokens' last states and its marker's, ``(n, 2 * dim)``.

    Args:
        llm: Reads forwards, so that what fills a row up behind a window changes nothing.
        windows: At least one; each of the ``n`` sentences counts in one of them.
        together: Windows computed together; where None, on a CPU one, which is fastest, else eight.
    """
    device = next(llm.parameters()).device
    ordered = sorted(windows, key=lambda window: -len(window.ids))  # little padding
    step = together or (1 if device.type == "cpu" else TOGETHER)
    found, places = [], []
    for at in range(0, len(ordered), step):
        part = ordered[at : at + step]
        length = len(part[0].ids)
        ids = [[*window.ids, *[0] * (length - len(window.ids))] for window in part]
        read = llm(input_ids=torch.tensor(ids, device=device), use_cache=False)
        for window, rows in zip(part, read.last_hidden_state.float(), strict=True):
            for sentence, start, end in window.spans:
                found.append(torch.cat([rows[start:end].mean(0), rows[end - 1]]))
                places.append(sentence)
    return torch.stack(found)[torch.tensor(places).argsort().to(device)]
