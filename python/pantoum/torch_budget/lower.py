"""Writes a plan back as graphs of PyTorch: every op as often as planned, just where it is planned.

First one joint graph in the plan's order, in which an op that is computed three times stands three times; then
PyTorch's own extraction cuts it in a forward and a backward graph. Values need no deletion: generated code drops each
variable after its last use, and every use after a `free` names another copy.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._functorch import partitioners
from torch.fx import Graph, GraphModule, Node, map_arg

from . import pager
from .joint import Joint, Op, is_tangent
from .planner import CostGraph, Document, Plan


class Lowering:
    """One pass over a plan's instructions."""

    def __init__(self, joint: Joint, graph: CostGraph, plan: Plan, pager_id: int) -> None:
        self.joint, self.cost, self.plan, self.pager_id = joint, graph, plan, pager_id
        self.graph = Graph()
        self.given: dict[Node, Node] = {}
        self.current: dict[int, dict[Node, Node]] = {}  # storage -> its leaves' newest copies
        self.views: dict[Node, Node] = {}  # views of newest copies, of this phase
        self.viewers: dict[int, list[Node]] = {}  # storage -> which views stand in `views`
        self.tokens: dict[int, Node] = {}
        self.ran: set[int] = set()
        self.backward: set[Node] = set()
        self.in_backward = False
        self.saved: dict[Node, None] = {}
        self.forward_returned: list[Any] | None = None

    def run(self, module: GraphModule) -> GraphModule:
        """The joint graph in the plan's order."""
        for node in module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.given[node] = self.graph.node_copy(node, lambda source: self.given[source])
        for instruction in self.plan.instructions:
            self._instruct(instruction)
        if self.forward_returned is None:
            self.forward_returned = [self._output(node) for node in self.joint.forward_outputs]
        outputs = self.forward_returned + [self._output(node) for node in self.joint.backward_outputs]
        new = self.graph.output(outputs)
        new.meta = dict(module.graph.output_node().meta)
        return GraphModule(module, self.graph)

    def _instruct(self, instruction: Document) -> None:
        what, tensor = instruction["do"], instruction.get("tensor", -1)
        if what == "compute" and instruction["op"] == self.cost.loss:
            self._cross_to_backward()
        elif what == "compute":
            self._compute(self.joint.ops[instruction["op"]])
        elif tensor >= self.cost.storages or self.joint.storages[tensor].held_by_caller:
            return  # an ordering without bytes; or the caller's, which stays where it is
        elif what == "free":
            self._forget(tensor)
        elif what == "page_out":
            self._page_out(tensor)
        elif what == "page_in":
            self._page_in(tensor)

    def _cross_to_backward(self) -> None:
        """Forward outputs are returned as what they are now; from here on everything is the backward graph's."""
        self.forward_returned = [self._output(node) for node in self.joint.forward_outputs]
        self.in_backward = True
        self.views.clear()
        self.viewers.clear()

    def _add(self, node: Node) -> Node:
        if self.in_backward:
            self.backward.add(node)
        return node

    def _compute(self, op: Op) -> None:
        reduced = op.again is not None and op.index in self.ran
        if op.again is not None and reduced:
            called = self.graph.call_function(op.again.target, map_arg(op.again.args, self._value))
            called.meta = dict(op.node.meta)
        else:
            called = self.graph.node_copy(op.node, self._value)
        self.ran.add(op.index)
        new = self._add(called)
        for storage in op.outputs:
            if reduced and self.joint.storages[storage].held_by_caller:
                continue
            self._forget(storage)
            self.current[storage] = {
                leaf: self._leaf(op.node, new, leaf) for leaf in self.joint.storages[storage].leaves
            }

    def _leaf(self, old_op: Node, new_op: Node, leaf: Node) -> Node:
        if leaf is old_op:
            return new_op
        assert leaf.target is operator.getitem
        new = self.graph.call_function(operator.getitem, (new_op, leaf.args[1]))
        new.meta = dict(leaf.meta)
        return self._add(new)

    def _forget(self, storage: int) -> None:
        self.current.pop(storage, None)
        for view in self.viewers.pop(storage, []):
            self.views.pop(view, None)

    def _value(self, node: Node) -> Any:
        """The node that stands for one of the joint graph at this point of the plan."""
        if node in self.joint.folded:
            return self.joint.folded[node]
        if node in self.given:
            return self._crossing(self.given[node])
        storage = self.joint.storage_of.get(node)
        if storage is not None and node in self.current.get(storage, {}):
            return self._crossing(self.current[storage][node])
        if node not in self.views:
            self.views[node] = self._add(self.graph.node_copy(node, self._value))
            if storage is not None:
                self.viewers.setdefault(storage, []).append(node)
        return self.views[node]

    def _crossing(self, node: Node) -> Node:
        """Records a node of the forward graph that the backward graph uses."""
        if self.in_backward and node not in self.backward and node.op != "get_attr" and not is_tangent(node):
            self.saved[node] = None
        return node

    def _output(self, node: Any) -> Any:
        return self._value(node) if isinstance(node, Node) else node

    def _page_out(self, storage: int) -> None:
        leaf, copy = next(iter(self.current[storage].items()))
        token = self.graph.call_function(torch.ops.pantoum.page_out.default, (self._crossing(copy), self.pager_id))
        token.meta["val"] = pager.fake_token(leaf.meta["val"])
        self.tokens[storage] = self._add(token)

    def _page_in(self, storage: int) -> None:
        first, *others = self.joint.storages[storage].leaves
        value = first.meta["val"]
        copy = self.graph.call_function(
            torch.ops.pantoum.page_in.default,
            (
                self._crossing(self.tokens[storage]),
                *_layout(value),
                self.joint.storages[storage].bytes,
                value.dtype,
                self.pager_id,
            ),
        )
        copy.meta = {"val": value}
        self._forget(storage)
        self.current[storage] = {first: self._add(copy)}
        for leaf in others:
            self.current[storage][leaf] = self._sibling(copy, leaf)

    def _sibling(self, copy: Node, leaf: Node) -> Node:
        """Another leaf of the same storage, seen through the first."""
        value = leaf.meta["val"]
        view = self.graph.call_function(torch.ops.aten.as_strided.default, (copy, *_layout(value)))
        view.meta = {"val": value}
        return self._add(view)


def _layout(value: Any) -> tuple[list[int], list[int], int]:
    """Sizes, strides and offset of a tensor."""
    return list(map(int, value.shape)), list(map(int, value.stride())), int(value.storage_offset())


def split(
    module: GraphModule, lowering: Lowering, num_forward_outputs: int
) -> tuple[GraphModule, GraphModule, list[Node]]:
    """Cuts a planned joint graph. Returns forward, backward, and the values that forward saves for backward."""
    planned = lowering.run(module)
    saved = list(lowering.saved)
    forward, backward = partitioners._extract_fwd_bwd_modules(
        planned, saved, saved_sym_nodes=[], saved_opaque_nodes=[], num_fwd_outputs=num_forward_outputs
    )
    for part in (forward, backward):
        part.graph.eliminate_dead_code(is_impure_node=partitioners.is_not_collective)
    _check(lowering, backward)
    return forward, backward, saved


def _check(lowering: Lowering, backward: GraphModule) -> None:
    """PyTorch's extraction must not have pulled an op of the forward part into backward."""
    planned = {node.name for node in lowering.backward}
    stray = [node.name for node in backward.graph.nodes if node.op == "call_function" and node.name not in planned]
    if stray:
        raise AssertionError(f"not planned in backward: {stray}")
