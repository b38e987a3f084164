"""Runs a torch graph file with PyTorch's own operators: what `check` compares the compiler with, value by value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .graph_file import STORED, TorchGraph

_REALS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Interpreter:
    """The graph of a file, as a function of its inputs; `dtype` is what its reals are computed in."""

    def __init__(self, graph: TorchGraph, dtype: torch.dtype = torch.float32) -> None:
        self.graph, self.dtype = graph, dtype
        self.state = {name: self._real(tensor.detach().clone()) for name, tensor in graph.tensors.items()}

    def _real(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def run(self, inputs: Sequence[Tensor]) -> dict[str, Any]:
        """Every value of one forward, by name."""
        document = self.graph.document
        values: dict[str, Any] = {}
        for section in ("parameters", "buffers", "constants"):
            values.update({entry["value"]: self.state[entry["name"]] for entry in document[section]})
        values.update(
            {entry["value"]: self._real(given) for entry, given in zip(document["inputs"], inputs, strict=True)}
        )
        for node in document["nodes"]:
            result = self._call(node, values)
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            for output, each in zip(node["outputs"], results, strict=False):
                if output is not None:
                    values[output["value"]] = each
        return values

    def _call(self, node: dict[str, Any], values: dict[str, Any]) -> Any:
        args, kwargs = self._decode(node["args"], values), self._decode(node["kwargs"], values)
        if node["op"] == "aten.where.self":
            return torch.where(*args)
        if node["op"] == "aten.view.default":
            return args[0].reshape(args[1])
        if node["op"] == "aten.full.default":
            kwargs.setdefault("dtype", self.dtype)
        if node["op"] in ("aten.rand.default", "aten.randn.default"):
            kwargs["dtype"] = self.dtype
        if (
            node["op"].endswith(".Tensor")
            and any(isinstance(arg, (bool, int, float)) for arg in args[:2])
            and not node["op"].startswith(("aten.slice", "aten.index"))
        ):
            args = self._with_scalars(args)
        return operator(node["op"])(*args, **kwargs)

    def _with_scalars(self, args: list[Any]) -> list[Any]:
        like = next(arg for arg in args if isinstance(arg, Tensor))
        return [
            torch.tensor(arg, dtype=torch.float64 if isinstance(arg, float) and like.is_floating_point() else None)
            if isinstance(arg, (bool, int, float)) and index < 2
            else arg
            for index, arg in enumerate(args)
        ]

    def _decode(self, arg: Any, values: dict[str, Any]) -> Any:
        if isinstance(arg, list):
            return [self._decode(each, values) for each in arg]
        if not isinstance(arg, dict):
            return arg
        if "v" in arg and len(arg) == 1:
            return values[arg["v"]]
        if "dtype" in arg and len(arg) == 1 and isinstance(arg["dtype"], str):
            return self.dtype if arg["dtype"] == "f32" else STORED[arg["dtype"]][0]
        if "real" in arg and len(arg) == 1:
            return _REALS[arg["real"]]
        return {key: self._decode(each, values) for key, each in arg.items()}


def operator(name: str) -> Any:
    """The operator of a name as the file has it: "aten.add.Tensor"."""
    space, short, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), short), overload)


def gradients(
    graph: TorchGraph, inputs: Sequence[Tensor], dtype: torch.dtype = torch.float32
) -> tuple[Tensor, dict[str, Tensor], dict[str, Any]]:
    """The captured loss, its gradient by each trained parameter's name, and every value."""
    run = Interpreter(graph, dtype)
    trained = [entry["name"] for entry in graph.document["parameters"] if entry["trains"]]
    for name in trained:
        run.state[name].requires_grad_(True)
    values = run.run(inputs)
    loss = values[graph.document["loss"]]
    if not loss.requires_grad:
        return loss.detach(), {name: torch.zeros_like(run.state[name]) for name in trained}, values
    parameters = [run.state[name] for name in trained]
    found = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return loss.detach(), dict(zip(trained, found, strict=True)), values
