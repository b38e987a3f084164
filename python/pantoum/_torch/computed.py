"""What PyTorch computes of buffers outside of the step: the compiler has no such operator (a factorization, a
transform), and no data reach it. It is computed while the module is captured, and again when one of the buffers is
replaced."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Interpreter, Node

aten = torch.ops.aten


@dataclass
class Computed:
    """Tensors of the graph file that PyTorch computed, and the program that computes them."""

    program: GraphModule
    sources: dict[str, torch.dtype]
    """The buffers that it takes, in its order, and their types in the module."""
    of: dict[str, list[str]]
    """What it gives, in its order: the buffers that each is computed of."""

    def compute(self, contents: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors for these contents of the buffers. Raises what PyTorch raises."""
        given = [contents[name].detach().to(dtype) for name, dtype in self.sources.items()]
        with torch.no_grad():
            return dict(zip(self.of, Interpreter(self.program).run(*given), strict=True))


def checks_of(nodes: Iterable[Node]) -> dict[Node, list[Any]]:
    """The checks of torch.linalg by the node that they look at: the arguments of each, keywords last."""
    found = dict[Node, list[Any]]()
    for node in nodes:
        given: list[Any] = list(node.args)
        at = [place for place, arg in enumerate(given) if arg is aten._linalg_check_errors.default]
        if at and isinstance(given[at[0] + 1], Node):
            found[given[at[0] + 1]] = [*given[at[0] + 2 :], dict(node.kwargs)]
    return found


def program_of(
    nodes: Iterable[Node],
    results: Mapping[str, tuple[Node, list[str]]],
    known: Mapping[Node, Any],
    buffers: Mapping[Node, str],
) -> tuple[GraphModule, list[str]]:
    """The part of a graph that gives `results`, of placeholders for `buffers` (by name, each once), and their names.
    `known` has the constants."""
    needed = set[Node]()
    stack = [node for node, _ in results.values()]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(() if node in buffers or isinstance(known.get(node), Tensor) else node.all_input_nodes)
    checks = {
        looked_at: args
        for looked_at, args in checks_of(nodes).items()
        if needed.intersection(looked_at.all_input_nodes)
    }
    needed.update(checks)
    graph, made, taken = Graph(), dict[Node, Node](), dict[str, Node]()
    for name in dict.fromkeys(buffers[node] for node in nodes if node in needed and node in buffers):
        taken[name] = graph.placeholder(f"buffer_{len(taken)}")
    constants: dict[str, Any] = {}
    for node in nodes:
        if node not in needed:
            continue
        if node in buffers:
            made[node] = taken[buffers[node]]
        elif isinstance(known.get(node), Tensor):
            constants[f"constant_{len(constants)}"] = known[node].detach()
            made[node] = graph.get_attr(f"constant_{len(constants) - 1}")
        else:
            made[node] = graph.node_copy(node, made.__getitem__)
            made[node].meta = {}
        if node in checks:
            *args, kwargs = checks[node]
            graph.call_function(aten._linalg_check_errors.default, (made[node], *args), kwargs)
    graph.output(tuple(made[node] for node, _ in results.values()))
    return GraphModule(constants, graph), list(taken)


def is_item(target: Callable[..., Any] | str) -> bool:
    return target is operator.getitem
