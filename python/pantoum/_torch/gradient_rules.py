"""The training IR before it is decomposed: blocks under no_grad and autocast in line, what a block without
gradient reads detached."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from .movement import max_pool1d_with_places, max_pool_with_places

aten = torch.ops.aten


def keep_rules(program: torch.export.ExportedProgram) -> None:
    """Puts every block of the training IR in line."""
    module = program.graph_module
    while _inline_one(module):
        pass
    for node in list(module.graph.nodes):
        if node.target is aten._assert_tensor_metadata.default:
            module.graph.erase_node(node)  # of types that autocast would have given
        if node.target is aten.view.default:
            node.target = aten.reshape.default  # a decomposition's result may be laid out in another way
        if node.target is aten.max_pool2d_with_indices.default and any(user.args[1] == 1 for user in node.users):
            node.target = max_pool_with_places
        if node.target is aten.max_pool1d_with_indices.default:  # of return_indices=True
            node.target = max_pool1d_with_places
    module.graph.lint()
    module.recompile()


_NO_GRAD = "pantoum_no_grad"
_BLOCKS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")


def _inline_one(module: GraphModule) -> bool:
    for node in module.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") in _BLOCKS:
            _inline(module, node)
            return True
    return False


def _inline(module: GraphModule, node: Any) -> None:
    grad = node.target.__name__ == _BLOCKS[0]
    position = next(index for index, arg in enumerate(node.args) if isinstance(arg, Node) and arg.op == "get_attr")
    attribute = node.args[position]
    block = getattr(module, attribute.target)
    detached = not node.args[0] if grad else bool(node.meta.get(_NO_GRAD))
    graph = module.graph
    env: dict[Node, Any] = {}
    inputs = iter(node.args[position + 1 :])
    with graph.inserting_before(node):
        for inner in block.graph.nodes:
            if inner.op == "placeholder":
                env[inner] = next(inputs)
            elif inner.op == "output":
                outputs = inner.args[0]
            else:
                env[inner] = _copied(module, block, graph, inner, env, detached)
    results = [
        env[each] if isinstance(each, Node) else each
        for each in (outputs if isinstance(outputs, (list, tuple)) else [outputs])
    ]
    for user in list(node.users):
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)
    if not attribute.users:
        graph.erase_node(attribute)


def _copied(
    module: GraphModule, block: GraphModule, graph: Graph, inner: Any, env: dict[Node, Any], detached: bool
) -> Node:
    if inner.op == "get_attr":
        name = f"_inlined_{len(list(module.named_children()))}_{inner.target}"
        setattr(module, name, getattr(block, inner.target))
        copy = graph.get_attr(name)
        copy.meta = dict(inner.meta)
        return copy
    plain = getattr(inner.target, "__name__", "") not in (*_BLOCKS, "getitem")

    def argument(node: Node) -> Any:
        value = env[node]
        if not (
            detached
            and plain
            and node.op == "placeholder"
            and isinstance(value, Node)
            and isinstance(node.meta.get("val"), Tensor)
        ):
            return value
        copy = graph.call_function(aten.detach.default, (value,))
        copy.meta = {**inner.meta, "val": node.meta["val"]}
        return copy

    copy = graph.node_copy(inner, argument)
    copy.meta = {**inner.meta, _NO_GRAD: detached}
    return copy
