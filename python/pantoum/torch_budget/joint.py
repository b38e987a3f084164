"""A graph of PyTorch by storage: which op makes which bytes, and which nodes only look at them.

The planner counts bytes, and in PyTorch bytes belong to storages, not to tensors: ten views of one activation cost
what one costs. So a view is no op here. It is taken anew, beside each use, from whichever copy of its base is alive.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from . import faults
from .costs import CostBook, OpCost

# Ops of these libraries compute a value from their inputs and do nothing else, unless their tags or schema say so.
_PURE_LIBRARIES = frozenset({"aten", "prims", "prim", "quantized", "mkldnn", "pantoum"})
# Fused recurrent layers hand their backward a block of private state; no data of the right shape stands in for that.
_PRIVATE_STATE = ("mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn")
_DROPOUT_OFF = "dropout_p"


@dataclass(slots=True)
class Storage:
    """Bytes that one op makes. `leaves` are the nodes that name them first; views of those are not listed."""

    index: int
    bytes: int
    op: int
    leaves: list[Node] = field(default_factory=list)
    held_by_caller: bool = False


@dataclass(slots=True)
class Op:
    """One call of a kernel. `inputs` and `outputs` are indices of storages."""

    index: int
    node: Node
    cost: OpCost
    inputs: list[int]
    outputs: list[int]
    repeatable: bool
    effect: bool
    in_backward: bool
    reads_mutated: bool = False  # an input that the caller's copy of is overwritten when forward ends
    again: Rerun | None = None


@dataclass(frozen=True, slots=True)
class Rerun:
    """The op that replaces another in its second run: it gives the same activations, and nothing to the caller."""

    target: Any
    args: tuple[Any, ...]


@dataclass
class Joint:
    """A joint graph (forward then backward), or a forward graph alone, by storage."""

    ops: list[Op] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    op_of: dict[Node, Op] = field(default_factory=dict)
    storage_of: dict[Node, int] = field(default_factory=dict)  # leaves and views of what is made here
    folded: dict[Node, Any] = field(default_factory=dict)  # integers that are known while compiling
    after_loss: set[Node] = field(default_factory=set)  # what depends on a tangent
    forward_outputs: list[Any] = field(default_factory=list)
    backward_outputs: list[Any] = field(default_factory=list)
    placeholders: list[Node] = field(default_factory=list)
    mutated: set[Node] = field(default_factory=set)  # inputs that forward gives a new value, and views of them

    def made(self, nodes: Iterable[Any]) -> list[int]:
        """The storages behind these nodes, once each, in order; what the caller gave is left out."""
        found = (self.storage_of.get(node) for node in nodes if isinstance(node, Node))
        return list(dict.fromkeys(index for index in found if index is not None))

    def bytes_of(self, nodes: Iterable[Any]) -> int:
        """Bytes of the storages behind these nodes, each counted once, whoever made them."""
        return sum(storages_of(nodes).values())


def tensors_of(node: Any) -> list[Tensor]:
    """The (fake) tensors that a node stands for."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, Tensor)]


def storages_of(nodes: Iterable[Any]) -> dict[int, int]:
    """The storages behind these nodes, whoever made them, and the bytes of each."""
    found = (tensor.untyped_storage() for node in nodes for tensor in tensors_of(node))
    return {storage._cdata: int(storage.nbytes()) for storage in found}


def output_of(module: GraphModule) -> Any:
    """The results of a graph."""
    return module.graph.output_node().args[0]


def is_tangent(node: Node) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


def read_graph(module: GraphModule, num_forward_outputs: int, costs: CostBook) -> Joint:
    """Reads a functional ATen graph.

    module               the joint graph of AOTAutograd, or an inference graph (then every output is a forward output)
    num_forward_outputs  how many of its outputs are the forward's
    raises               Unsupported for data-dependent shapes, control flow, mutation inside, and foreign devices
    """
    joint = Joint()
    joint.mutated = _mutated_inputs(module)
    for node in module.graph.nodes:
        _read_node(joint, node, costs)
    outputs = pytree.arg_tree_leaves(output_of(module))
    joint.forward_outputs = outputs[:num_forward_outputs]
    joint.backward_outputs = outputs[num_forward_outputs:]
    for index in joint.made(outputs):
        joint.storages[index].held_by_caller = True
    return joint


def _mutated_inputs(module: GraphModule) -> set[Node]:
    """The placeholders whose new values are among the outputs; the caller's tensors get them once forward ends."""
    descriptions = module.graph.output_node().meta.get("desc") or []
    changed = {
        description.mutated_input
        for description in pytree.tree_leaves(list(descriptions))
        if isinstance(description, InputMutationAOTOutput)
    }
    return {node for node in module.graph.find_nodes(op="placeholder") if node.meta.get("desc") in changed}


def _read_node(joint: Joint, node: Node, costs: CostBook) -> None:
    if node.op == "placeholder":
        joint.placeholders.append(node)
        if is_tangent(node):
            joint.after_loss.add(node)
    if any(source in joint.after_loss for source in node.all_input_nodes):
        joint.after_loss.add(node)
    _refuse_other_tensors(node)
    if _is_number(node):
        joint.folded[node] = _known_number(node)
    elif node.op != "call_function":
        return
    elif node.target is operator.getitem:
        _read_getitem(joint, node)
    elif is_view(node):
        _read_view(joint, node, node.all_input_nodes)
    else:
        _read_op(joint, node, costs)


def _read_getitem(joint: Joint, node: Node) -> None:
    source, position = node.args
    assert isinstance(source, Node)
    op = joint.op_of.get(source)
    if op is None:  # one view of several: split, unbind
        _read_view(joint, node, [source])
        return
    assert isinstance(position, int)
    _bind_leaf(joint, op, node, position)


def _bind_leaf(joint: Joint, op: Op, node: Node, position: int) -> None:
    kind, index = op.cost.leaves[position]
    if kind == "new":
        storage = op.outputs[index]
        joint.storage_of[node] = storage
        joint.storages[storage].leaves.append(node)


def _read_view(joint: Joint, node: Node, sources: Sequence[Node]) -> None:
    made = joint.made(sources[:1])
    if made:
        joint.storage_of[node] = made[0]
    if joint.mutated.intersection(sources[:1]):
        joint.mutated.add(node)


def _read_op(joint: Joint, node: Node, costs: CostBook) -> None:
    _refuse_what_cannot_move(node)
    cost = costs.of(node, joint.folded, opaque=not _is_builtin(node))
    if cost.is_view:
        _read_view(joint, node, [node.all_input_nodes[cost.leaves[0][1]]])
        return
    effect = has_effect(node)
    op = Op(
        len(joint.ops),
        node,
        cost,
        joint.made(node.all_input_nodes),
        [],
        not effect and _is_builtin(node),
        effect,
        node.meta.get("partitioner_tag") == "is_backward",
        again=_rerun(node),
    )
    op.reads_mutated = op.again is None and not joint.mutated.isdisjoint(node.all_input_nodes)
    for size in cost.sizes:
        op.outputs.append(len(joint.storages))
        joint.storages.append(Storage(len(joint.storages), size, op.index))
    joint.ops.append(op)
    joint.op_of[node] = op
    if isinstance(node.meta.get("val"), Tensor):
        _bind_leaf(joint, op, node, 0)


def _rerun(node: Node) -> Rerun | None:
    """Batch norm in training form gives new running statistics. The second time they are neither read nor written."""
    aten = torch.ops.aten
    if node.target is not aten._native_batch_norm_legit_functional.default or node.args[5] is not True:
        return None
    return Rerun(aten._native_batch_norm_legit.no_stats, (*node.args[:3], *node.args[5:]))


def _is_number(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool))


def _known_number(node: Node) -> Any:
    """The value of a number in the graph. Shapes are fixed before the graph is read, so only a number read from data is
    unknown."""
    value = node.meta["val"]
    if isinstance(value, (int, float, bool)):
        return value
    if value.node.expr.is_number:
        kind = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}[type(value)]
        return kind(value)
    raise faults.unsupported(
        f"the shape {value} depends on data, so the bytes of a step are not known before it runs",
        node,
        "move the data-dependent part out of the compiled module",
    )


def is_view(node: Node) -> bool:
    """Whether the op's schema says that what it returns shares its first input's bytes."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.returns or schema.is_mutable:
        return False
    info = schema.returns[0].alias_info
    return info is not None and not info.is_write


def has_effect(node: Node) -> bool:
    """Whether a second run differs from the first: true of draws of random numbers, and of ops that return nothing."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    if not target._schema.returns:
        return True
    return torch.Tag.nondeterministic_seeded in target.tags and not _draws_nothing(node)


def _draws_nothing(node: Node) -> bool:
    """Fused attention is tagged as random; without dropout it draws no number."""
    arguments = node.target._schema.arguments  # type: ignore[union-attr]
    for position, argument in enumerate(arguments):
        if argument.name == _DROPOUT_OFF:
            given = node.args[position] if position < len(node.args) else node.kwargs.get(_DROPOUT_OFF, 0.0)
            return isinstance(given, (int, float)) and given == 0
    return False


def _is_builtin(node: Node) -> bool:
    return getattr(node.target, "namespace", None) in _PURE_LIBRARIES


def _refuse_what_cannot_move(node: Node) -> None:
    target = node.target
    if target is torch.ops.higher_order.with_effects:
        raise faults.unsupported(
            f"{node.args[1]} has effects whose order PyTorch keeps",
            node,
            "a form without checks or prints, as torch.linalg.solve_ex for torch.linalg.solve",
        )
    if isinstance(target, torch._ops.HigherOrderOperator) or not isinstance(target, torch._ops.OpOverload):
        raise faults.unsupported(
            f"{target} holds a graph of its own, whose bytes are not known",
            node,
            "compile that part apart, or with another backend",
        )
    if target._schema.name.split("::")[-1].startswith(_PRIVATE_STATE):
        raise faults.unsupported(
            f"{target} keeps a state that only its own kernel knows",
            node,
            "with torch.backends.mkldnn.flags(enabled=False) the layer is compiled step by step",
        )
    if target._schema.is_mutable:
        raise faults.unsupported(
            f"{target} changes its argument in place inside the step",
            node,
            "write it without mutation inside forward and backward",
        )


def _refuse_other_tensors(node: Node) -> None:
    for tensor in tensors_of(node):
        if tensor.layout is not torch.strided:
            raise faults.unsupported(
                f"a tensor of layout {tensor.layout}, whose bytes depend on data",
                node,
                "sparse=False where it is an embedding's gradient",
            )
        if tensor.device.type not in ("cpu", "meta"):
            raise faults.unsupported(
                f"a tensor on {tensor.device}: this release plans for the CPU alone",
                node,
                "keep the module and its inputs on the CPU",
            )
