"""Which operator of a captured graph differs first: each is trained alone, on the operands that PyTorch gives it."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pantoum.errors import Error
from pantoum.keywords import plan as make_plan
from pantoum.model import Model
from pantoum.options import Sgd

from .graph_file import TorchGraph, dtype_name
from .interpreter import Interpreter, gradients
from .trainer import TorchTrainer

_SCALE = 1024.0
_NORMS = ("aten._native_batch_norm_legit_functional.default", "aten._native_batch_norm_legit_no_training.default")


def first_difference(graph: TorchGraph, inputs: list[Tensor], tolerance: float) -> str:
    """The first operator, in the order of the graph, whose value or gradient is not PyTorch's; "" where none is."""
    run = Interpreter(graph)
    values = run.run(inputs)
    seen: set[str] = set()
    for node in graph.document["nodes"]:
        shapes = [list(each.shape) for each in _operands(node, values).values()]
        key = json.dumps(
            [node["op"], [arg for arg in node["args"] if not isinstance(arg, (dict, list))], node["kwargs"], shapes]
        )
        if key in seen or node["op"].startswith(("aten.rand", "aten.native_dropout", "aten.full")):
            continue
        seen.add(key)
        error = _alone(node, values, tolerance)
        if error:
            place = f" ({node['where']})" if node["where"] else ""
            return f"{node['op']} '{node['name']}'{place}: {error}"
    return ""


def _operands(node: dict[str, Any], values: dict[str, Any]) -> dict[str, Tensor]:
    names: dict[str, Tensor] = {}

    def visit(arg: Any) -> None:
        if isinstance(arg, dict) and isinstance(arg.get("v"), str):
            names[arg["v"]] = values[arg["v"]]
        for each in arg if isinstance(arg, list) else arg.values() if isinstance(arg, dict) else ():
            visit(each)

    visit(node["args"])
    visit(node["kwargs"])
    return names


def _entry(value: str, tensor: Tensor) -> dict[str, Any]:
    return {"value": value, "name": value, "dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape)}


def _single(node: dict[str, Any], values: dict[str, Any]) -> TorchGraph | None:
    """One node with its operands as parameters, and the weighted sum of its real results as the loss."""
    operands = _operands(node, values)
    statistics = {arg["v"] for arg in node["args"][3:5] if node["op"] in _NORMS and isinstance(arg, dict)}
    real = {name: each for name, each in operands.items() if each.is_floating_point() and name not in statistics}
    results = [output for output in node["outputs"] if output is not None and output["dtype"] == "f32"]
    if "_norm" in node["op"]:
        results = results[:1]  # what else they give has no gradient in PyTorch's training either
    if not real or not results:
        return None
    draw = torch.Generator().manual_seed(0)
    contents = {name: tensor.detach().clone() for name, tensor in operands.items()}
    constants = [_entry(name, tensor) for name, tensor in operands.items() if name not in real]
    nodes, total = [node], "sum_0"
    for index, output in enumerate(results):
        weight = f"w_{index}"
        contents[weight] = torch.randn(output["shape"], generator=draw)
        constants.append(_entry(weight, contents[weight]))
        weighted = [{"v": output["value"]}, {"v": weight}]
        nodes.append(_node("aten.mul.Tensor", weighted, f"weighted_{index}", output["shape"]))
        nodes.append(_node("aten.sum.default", [{"v": f"weighted_{index}"}], f"sum_{index}", []))
        if index:
            nodes.append(_node("aten.add.Tensor", [{"v": total}, {"v": f"sum_{index}"}], f"total_{index}", []))
            total = f"total_{index}"
    unused = {"value": "unused_input", "name": "unused_input", "dtype": "f32", "shape": [1, 1], "target": False}
    document = {
        "name": node["op"],
        "torch": torch.__version__,
        "batch": 1,
        "inputs": [unused],
        "parameters": [{**_entry(name, tensor), "trains": True} for name, tensor in real.items()],
        "buffers": [],
        "constants": constants,
        "nodes": nodes,
        "outputs": [{"value": total, "name": "output_0"}],
        "loss": total,
    }
    return TorchGraph(document, contents)


def _node(op: str, args: list[Any], name: str, shape: list[int]) -> dict[str, Any]:
    return {
        "name": f"{name}_node",
        "op": op,
        "args": args,
        "kwargs": {},
        "outputs": [{"value": name, "dtype": "f32", "shape": shape}],
        "where": "",
        "module": "",
    }


def _alone(node: dict[str, Any], values: dict[str, Any], tolerance: float) -> str:
    """Says how one operator differs from PyTorch; "": it does not, or it cannot be trained alone."""
    graph = _single(node, values)
    if graph is None:
        return ""
    given = torch.zeros(1, 1)
    try:
        loss, wanted, _ = gradients(graph, [given], torch.float64)
    except RuntimeError:  # PyTorch differentiates it in a step alone: a norm that moves statistics
        return ""
    try:
        found, changes = _trained(graph, given)
    except Error as error:
        return "" if error.code == "E0405" else str(error)
    scale = max([abs(float(loss)), *(float(each.abs().sum()) * 1e-3 for each in wanted.values()), 1e-6])
    if not abs(found - float(loss)) <= 10 * tolerance * scale:
        return f"its value is another: {found:.9g} in a weighted sum, PyTorch {float(loss):.9g}"
    floor = 1e-3 * max(float(each.norm()) for each in wanted.values()) + 1e-9
    for name, gradient in wanted.items():
        off = float(np.linalg.norm(changes[name] - gradient.numpy())) / max(float(gradient.norm()), floor)
        if not off <= 10 * tolerance:
            return f"its gradient by operand '{name}' is another, by {off:.1e}"
    return ""


def _trained(graph: TorchGraph, given: Tensor) -> tuple[float, dict[str, Any]]:
    contents = io.BytesIO()
    graph.write(contents)
    model = Model.from_bytes(contents.getvalue(), loss="captured", optimizer=Sgd(lr=_SCALE))
    with TorchTrainer(make_plan(model, measure="off", effort=1), graph) as trainer:
        before = trainer.state_dict()
        loss = trainer.step(given)
        after = trainer.state_dict()
    return loss, {name: (before[name].astype(np.float64) - after[name]) / _SCALE for name in before}
