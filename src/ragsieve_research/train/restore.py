"""Turn a pruner's folder back into a checkpoint to train on from."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError, needs_extra

with needs_extra("train"):
    import onnx
    import torch
    import transformers
    from onnx import numpy_helper

from ragsieve.models.pruner import CONFIG, FILES, NET, SETTINGS, TOKENIZER
from ragsieve_research.models.loading import loaded
from ragsieve_research.train.export import PREFIX

Array = NDArray[Any]


def restore(folder: str | Path, checkpoint: str | Path) -> None:
    """Write the checkpoint of transformers that a pruner's folder was made of.

    Weights of int8 become float32 again; the factors that `ragsieve_research.train.export` moved
    from activations to weights move back. What rounding lost stays lost: logits are near those of
    the folder, not equal. A head that reads sentences before the last layer, as the bundled net
    has, is left out: the checkpoint reads them behind the last one.

    Args:
        folder: What `ragsieve_research.train.export.export` wrote, of an encoder whose products
            have a bias, as BERT, RoBERTa and ELECTRA.
        checkpoint: Where to: ``config.json``, ``model.safetensors``, ``tokenizer.json``, and
            ``pruner.json`` with the sizes of windows.

    Raises:
        InputError: If ``folder`` lacks a file, or its net was not made by `export`.
        ModelError: If its weights are not all that the encoder has.
    """
    source, target = Path(folder), Path(checkpoint)
    for name in FILES:
        if not (source / name).is_file():
            raise InputError(f"folder must hold {name}, got {str(folder)!r}")
    graph = onnx.load(str(source / NET)).graph
    weights = _weights(graph)
    config = loaded(str(folder), transformers.AutoConfig.from_pretrained, str(source))
    make = transformers.AutoModelForTokenClassification.from_config
    net = loaded(str(folder), make, config, dtype=torch.float32)
    weights |= _tables(graph, net, weights)
    if not weights:
        raise InputError(f"folder must hold a net that ragsieve exported, got {str(folder)!r}")
    shapes = {name: tuple(weight.shape) for name, weight in net.named_parameters()}
    idle = {n: np.zeros(shape) for n, shape in shapes.items() if n.endswith(".key.bias")}
    weights = idle | weights  # a graph may lack what changes no share of attention
    for name, shape in shapes.items():
        if name not in weights or weights[name].shape != shape:
            raise ModelError(
                f"{str(folder)!r} has not all weights of its encoder: {name} is missing"
            )
    state = {name: torch.tensor(weights[name], dtype=torch.float32) for name in shapes}
    net.load_state_dict(state, strict=False)  # buffers are the encoder's own
    target.mkdir(parents=True, exist_ok=True)
    loaded(str(folder), net.save_pretrained, target)
    for name in (CONFIG, TOKENIZER):
        shutil.copyfile(source / name, target / name)
    settings = json.loads((source / SETTINGS).read_text(encoding="utf-8"))
    kept = {"format": 1, "layout": settings["layout"]}
    (target / SETTINGS).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _weights(graph: Any) -> dict[str, Array]:
    """Parameters that the graph names, and matrices of products, which their bias names."""
    arrays = _arrays(graph)
    weights = {n.removeprefix(PREFIX): a for n, a in arrays.items() if n.startswith(PREFIX)}
    makers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        for bias in node.input:
            if not (bias.startswith(PREFIX) and bias.endswith(".bias")):
                continue
            is_sum = node.op_type == "Add"
            products = [makers[n] for n in node.input if n in makers] if is_sum else [node]
            for matrix in (_matrix(product, makers, arrays) for product in products):
                if matrix is not None:
                    name = bias.removeprefix(PREFIX).removesuffix(".bias")
                    weights[f"{name}.weight"] = np.ascontiguousarray(matrix.T)
    return weights


def _arrays(graph: Any) -> dict[str, Array]:
    """Stored arrays of a graph, by name."""
    return {array.name: numpy_helper.to_array(array) for array in graph.initializer}


def _matrix(node: Any, makers: Mapping[str, Any], arrays: Mapping[str, Array]) -> Array | None:
    """The matrix of a product, ``(n_in, n_out)``; None of what is no product with weights."""
    if node.op_type == "DynamicQuantizeMatMul":
        source, stored, scale = node.input[:3]
        matrix: Array = arrays[stored].astype(np.float32) * arrays[scale]
        before = makers.get(source)
        if before is not None and before.op_type == "Mul" and before.input[1] in arrays:
            matrix = matrix * arrays[before.input[1]][:, None]  # the activations were multiplied
        return matrix
    return arrays.get(node.input[1]) if node.op_type == "MatMul" else None


def _tables(graph: Any, net: Any, weights: Mapping[str, Array]) -> dict[str, Array]:
    """Tables of embeddings that the graph does not name: of tokens, and others by their shape."""
    named = dict(net.named_parameters())
    tokens = next(n for n, w in named.items() if w is net.get_input_embeddings().weight)
    missing = {n: tuple(w.shape) for n, w in named.items() if n not in weights and n != tokens}
    tables = {}
    for places, table in _rows(graph):
        if places == "input_ids":
            tables[tokens] = table
        elif name := next((n for n, shape in missing.items() if shape == table.shape), ""):
            tables[name] = table
            del missing[name]
    return {name: table for name, table in tables.items() if name not in weights}


def _rows(graph: Any) -> Iterator[tuple[str, Array]]:
    """Nodes that look up rows in each stored table, and the table in float32."""
    arrays = _arrays(graph)
    read = [n.input for n in graph.node if n.op_type == "Gather" and n.input[0] in arrays]
    for name, places in read:
        table = arrays[name]
        if table.ndim != 2 or table.shape[1] == 1:
            continue
        scale = (arrays[n] for n, by in read if by == places and arrays[n].shape == (len(table), 1))
        yield places, table.astype(np.float32) * (next(scale) if table.dtype == np.int8 else 1.0)
