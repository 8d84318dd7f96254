"""A trained sentence pruner as the folder that `ragsieve.models.pruner` reads without torch.

Weights of int8 are ±64 at most: products of two neighbours then fit the 16 bits in which
processors without VNNI add them up, so that no sum saturates there and all give one result. So does
softmax in steps, as onnxruntime's own adds up in an order that depends on the width of vectors: the
last bit of such a sum decides how a number is rounded to int8.
"""

import json
import logging
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from ragsieve.errors import InputError, check_choice, needs_extra

with needs_extra("train"):
    import onnx
    import torch
    import transformers
    from onnx import helper, numpy_helper

from ragsieve.models.pruner import CONFIG, NET, SETTINGS, TOKENIZER, write_settings
from ragsieve.models.windows import Layout, Window
from ragsieve_research.models.loading import loaded

Precision = Literal["int8", "float32"]

CARD = "README.md"
RELATIVE = 0.6  # chosen on validation questions
PREFIX = "net."
"""Before the names of the encoder's weights in a graph."""
_INPUTS = ("input_ids", "token_type_ids")
_OPSET = 20
_LARGEST = {"columns": 64, "rows": 127}  # of int8: of a product's weights, of a table's
_SHARE = 0.75  # of a channel's range that goes from activations to weights
_TINY = 1e-5  # what an idle channel counts as
_SMALL = 32  # a matrix with a side under it stays float32

Array = NDArray[Any]


def export(
    checkpoint: str | Path,
    folder: str | Path,
    *,
    precision: Precision = "int8",
    layout: Layout | None = None,
    windows: Sequence[Window] = (),
    wrap: Callable[[Any], torch.nn.Module] | None = None,
) -> None:
    """Write the folder of a pruner, into an empty or new one.

    Args:
        checkpoint: A folder of transformers with an encoder for token classification, two labels,
            and ``tokenizer.json``; its ``pruner.json`` and ``README.md`` go along.
        folder: Where to.
        precision: Of stored weights, in which it computes, too.
        layout: Of windows; that of the checkpoint's ``pruner.json`` or the default, where None.
        windows: Typical ones, a few dozen. The range of each channel of activations is measured
            on them, so that int8 keeps what channels of a small range say; where empty, it is not.
        wrap: Makes of the encoder what gives logits of one window's ids and types, ``(1, length)``
            each; the encoder as it is where None.

    Raises:
        InputError: If ``precision`` is none of these, or the checkpoint lacks a file.
        ModelError: If the checkpoint cannot be loaded.
        MissingExtra: If ragsieve's extra ``train`` is not installed.

    Source: Channels as in SmoothQuant (arXiv 2211.10438), equation 4.
    Differs: Scales of activations are those of each window, not of a calibration set.
    """
    check_choice(Precision, precision=precision)
    source, target = Path(checkpoint), Path(folder)
    for name in (CONFIG, TOKENIZER, "model.safetensors"):
        if not (source / name).is_file():
            raise InputError(f"checkpoint must hold {name}, got {str(checkpoint)!r}")
    settings = _settings(source, precision, layout)
    net = loaded(
        str(checkpoint),
        transformers.AutoModelForTokenClassification.from_pretrained,
        str(source),
        dtype=torch.float32,
        attn_implementation="eager",
        use_safetensors=True,
    ).eval()
    if net.config.num_labels != 2:
        raise InputError(f"checkpoint must have 2 labels, got {net.config.num_labels}")
    target.mkdir(parents=True, exist_ok=True)
    graph = traced((wrap or _UnpaddedNet)(net), int(net.config.max_position_embeddings))
    if precision == "int8":
        shrink(graph, windows)
    onnx.save(graph, str(target / NET))
    for name in (CONFIG, TOKENIZER, CARD):
        if (source / name).is_file() and source.resolve() != target.resolve():
            shutil.copyfile(source / name, target / name)
    write_settings(target, settings)


def _settings(source: Path, precision: str, layout: Layout | None) -> dict[str, Any]:
    file = source / SETTINGS
    values = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    sizes = asdict(layout or Layout(**values.get("layout", {})))
    return {"format": 1, "relative": RELATIVE, **values, "layout": sizes, "precision": precision}


class _UnpaddedNet(torch.nn.Module):
    """An encoder that takes one window without padding, and so no mask."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net
        self.types = int(net.config.type_vocab_size) > 1

    def forward(self, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Logits, ``(1, length, 2)``."""
        options = {"token_type_ids": types} if self.types else {}
        logits: torch.Tensor = self.net(input_ids=ids, **options).logits
        return logits


def traced(net: torch.nn.Module, longest: int) -> Any:
    """The ONNX graph, in float32, of what gives logits of one window of at most such a length."""
    ids = torch.ones((1, 20), dtype=torch.long)
    length = torch.export.Dim("length", min=2, max=longest)
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch itself uses
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # of extensions that are missing
        file = Path(scratch, NET)
        torch.onnx.export(
            net.eval(),
            (ids, torch.zeros_like(ids)),
            str(file),
            input_names=[*_INPUTS],
            output_names=["logits"],
            opset_version=_OPSET,
            dynamo=True,
            dynamic_shapes=({1: length}, {1: length}),
            verbose=False,
        )
        graph = onnx.load(str(file))
    for part in (graph.graph.node, graph.graph.initializer, graph.graph.value_info):
        for one in part:
            del one.metadata_props[:]  # paths and stack traces of where it was exported
            one.doc_string = ""
    split_softmax(graph)
    return graph


def split_softmax(model: Any) -> None:
    """Write each softmax that a product reads in steps of the same bits on every processor.

    The sum divides the product with the values, which is smaller than the exponentials.
    """
    graph, make = model.graph, helper.make_node
    products = {node.input[0] for node in graph.node if node.op_type == "MatMul"}
    shares = products & {node.output[0] for node in graph.node if node.op_type == "Softmax"}
    graph.initializer.append(numpy_helper.from_array(np.array([-1]), "last_axis"))
    nodes = []
    for node in graph.node:
        (source, *others), out = [*node.input] or [""], node.output[0]
        if out in shares:
            top, low, powers, total = (f"{out}_{name}" for name in ("max", "low", "exp", "sum"))
            nodes += [make("ReduceMax", [source, "last_axis"], [top])]
            nodes += [make("Sub", [source, top], [low]), make("Exp", [low], [powers])]
            nodes += [make("ReduceSum", [powers, "last_axis"], [total])]
        elif source in shares and node.op_type == "MatMul":
            nodes += [make("MatMul", [f"{source}_exp", *others], [f"{out}_whole"])]
            nodes += [make("Div", [f"{out}_whole", f"{source}_sum"], [out])]
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def shrink(model: Any, windows: Sequence[Window] = ()) -> None:
    """Store the matrices of a float32 graph's products and its tables in int8."""
    graph = model.graph
    ranges = _ranges(model, windows) if windows else {}
    arrays = {array.name: array for array in graph.initializer}
    users = Counter(name for node in graph.node for name in node.input)
    biases = _biases(graph, arrays)
    added = {name for name, _ in biases.values()}
    nodes = []
    for node in graph.node:
        if node.output[0] in added:
            continue
        place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
        name = "" if place is None else node.input[place]
        if not _is_large(arrays.get(name)):
            nodes.append(node)
            continue
        values = numpy_helper.to_array(arrays[name])
        if node.op_type == "Gather":
            added_nodes, stored = _table(node, values)
        else:
            factors, bias = ranges.get(node.input[0]), biases.get(node.output[0])
            added_nodes, stored = _product(node, values, factors, bias)
        nodes += added_nodes
        graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in stored.items())
        users[name] -= 1
        if not users[name]:
            graph.initializer.remove(arrays[name])
    del graph.node[:]
    graph.node.extend(nodes)
    if not any(own.domain == "com.microsoft" for own in model.opset_import):
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))


def _biases(graph: Any, arrays: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """For products to which nothing but a stored vector is added: the sum's name and the vector's.

    Such a sum costs no pass of its own in int8.
    """
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    biases = {}
    for node in graph.node:
        if node.op_type != "MatMul" or not _is_large(arrays.get(node.input[1])):
            continue
        (user, *more) = users[node.output[0]]
        vectors = [n for n in user.input if n in arrays and len(arrays[n].dims) == 1]
        if user.op_type == "Add" and vectors and not more:
            biases[node.output[0]] = user.output[0], vectors[0]
    return biases


def _is_large(stored: Any) -> bool:
    """Whether it is a matrix of float32 that is worth storing in less."""
    float32 = onnx.TensorProto.FLOAT
    return bool(
        stored
        and len(stored.dims) == 2
        and stored.data_type == float32
        and min(stored.dims) >= _SMALL
    )


def _product(
    node: Any, values: Array, ranges: Array | None, bias: tuple[str, str] | None
) -> tuple[list[Any], dict[str, Array]]:
    """A product in int8: a scale for each column, and one for the window, taken as it is read."""
    source, out = node.input[0], node.output[0]
    nodes, stored = [], {}
    if ranges is not None:
        weights = np.maximum(np.abs(values).max(axis=1), _TINY)
        factors = np.maximum(ranges, _TINY) ** _SHARE / weights ** (1 - _SHARE)
        values = values * factors[:, None]
        stored[f"{out}_factors"] = (1 / factors).astype(np.float32)
        nodes.append(helper.make_node("Mul", [source, f"{out}_factors"], [f"{out}_even"]))
        source = f"{out}_even"
    names = [f"{out}_int8", f"{out}_scale", f"{out}_zero"]
    scale = _scale(values, 0, _LARGEST["columns"])[0]
    arrays = [np.rint(values / scale).astype(np.int8), scale, np.zeros(scale.shape, np.int8)]
    stored |= zip(names, arrays, strict=True)
    result, vector = bias or (out, "")
    inputs = [source, *names, vector] if vector else [source, *names]
    product = "DynamicQuantizeMatMul"
    nodes.append(helper.make_node(product, inputs, [result], domain="com.microsoft"))
    return nodes, stored


def _table(node: Any, values: Array) -> tuple[list[Any], dict[str, Array]]:
    """Rows of a table in int8, a scale for each."""
    out, places = node.output[0], node.input[1]
    small, scales = f"{out}_int8", f"{out}_scale"
    scale = _scale(values, 1, _LARGEST["rows"])
    nodes = [
        helper.make_node("Gather", [small, places], [f"{out}_rows"]),
        helper.make_node("Cast", [f"{out}_rows"], [f"{out}_float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Gather", [scales, places], [f"{out}_scales"]),
        helper.make_node("Mul", [f"{out}_float", f"{out}_scales"], [out]),
    ]
    return nodes, {small: np.rint(values / scale).astype(np.int8), scales: scale}


def _scale(values: Array, axis: int, largest: int) -> Array:
    """Factors that make the largest number along ``axis`` ``largest``; 1 where all are 0."""
    scale = np.abs(values).max(axis=axis, keepdims=True) / largest
    return np.where(scale == 0, 1, scale).astype(np.float32)


def _ranges(model: Any, windows: Sequence[Window]) -> dict[str, Array]:
    """The largest number of each channel that goes into a product, over some windows."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    stored = {array.name for array in copy.graph.initializer}
    names = [n.input[0] for n in copy.graph.node if n.op_type == "MatMul" and n.input[1] in stored]
    names = [*dict.fromkeys(names)]
    float32 = onnx.TensorProto.FLOAT
    copy.graph.output.extend(helper.make_tensor_value_info(n, float32, None) for n in names)
    session = onnxruntime.InferenceSession(
        copy.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    inputs = {one.name for one in session.get_inputs()}
    ranges: dict[str, Array] = {}
    for window in windows:
        rows = {"input_ids": [window.ids], "token_type_ids": [window.types]}
        feed = {name: np.array(row, np.int64) for name, row in rows.items() if name in inputs}
        for name, value in zip(names, session.run(names, feed), strict=True):
            largest = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            ranges[name] = np.maximum(ranges.get(name, largest), largest)
    return ranges
