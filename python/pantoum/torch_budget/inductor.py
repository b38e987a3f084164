"""Inductor under a budget of saved bytes, through its own hook, and a knapsack solver for PyTorch's own budget.

    compiled = torch.compile(model, options=SavedBytes("64MiB").options)

Inductor fuses and reorders after the partition, so its peak cannot be promised; what forward saves for backward can.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._functorch.compile_utils import raise_getitems
from torch._inductor.custom_graph_pass import CustomKnapsackSolver, CustomPartitionerFn
from torch.fx import Graph, GraphModule, Node

from pantoum.quantities import Size

from . import faults
from .budget import budget_bytes
from .costs import CostBook
from .joint import Joint, has_effect, is_tangent, output_of, read_graph, storages_of
from .planner import PlanStore, cost_graph

_LOG = logging.getLogger("pantoum.torch_budget")
_RATIOS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05)
_BISECTIONS = 4
_FUSED = 0.1  # of its time alone is what an elementwise op costs inside another kernel
_BUCKETS = 4096
_COSTS, _PLANS = CostBook(), PlanStore()


@dataclass
class Chosen:
    """The bytes that a partition saves, the modelled seconds that it runs again, and its origin."""

    saved: int
    again_s: float
    origin: str


@dataclass
class Partition(Chosen):
    """A partition that may be chosen."""

    forward: GraphModule
    backward: GraphModule


class SavedBytes(CustomPartitionerFn):
    """A partitioner whose saved bytes are never above `ram`. `partitions` tells what was chosen, graph by graph.

    ram     activations that forward keeps for backward, with a unit; not the parameters, inputs and outputs that the
            caller holds anyway
    raises  Infeasible, wrapped by torch.compile as every error of a partitioner
    """

    def __init__(self, ram: Size, *, time_limit_s: float = 10.0) -> None:
        self.ram, self.time_limit_s = budget_bytes(ram), time_limit_s
        self.partitions: list[Chosen] = []

    @property
    def options(self) -> dict[str, Any]:
        """Options for torch.compile: this partitioner, and a switch against copies that inductor would save
        uncounted."""
        return {"custom_partitioner_fn": self, "layout_optimization": False}

    def __deepcopy__(self, _memo: Any) -> SavedBytes:
        """Inductor copies its options. The user reads what was chosen from the object itself, so it is not copied."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"ram": self.ram, "time_limit_s": self.time_limit_s, "partitions": []}

    def uuid(self) -> Any:
        sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
        return hashlib.sha256(sources + f"{self.ram} {self.time_limit_s}".encode()).hexdigest()

    def __call__(
        self, gm: GraphModule, joint_inputs: Sequence[object], **kwargs: Any
    ) -> tuple[GraphModule, GraphModule]:
        _warn_of_layouts(gm)
        found, refusal = self._candidates(gm, joint_inputs, kwargs)
        candidates = [one for one in found if one.saved <= self.ram and not draws_again(one)]
        if not candidates:
            raise refusal or faults.unsupported("no partition could be made")
        best = min(candidates, key=lambda one: (one.again_s, one.saved))
        self.partitions.append(Chosen(best.saved, best.again_s, best.origin))
        _LOG.info("inductor: saved %d of %d bytes (%s)", best.saved, self.ram, best.origin)
        return best.forward, best.backward

    def _candidates(
        self, gm: GraphModule, inputs: Sequence[object], kwargs: dict[str, Any]
    ) -> tuple[list[Partition], faults.Error | None]:
        """PyTorch's own partitions by its ratio, and the planner's; or why the planner has none."""
        outputs: int = kwargs["num_fwd_outputs"]
        refusal: faults.Error | None = None
        times: dict[str, float] = {}
        try:
            for op in read_graph(gm, outputs, _COSTS).ops:
                times[op.node.name] = op.cost.time_s * (_FUSED if is_fusible(op.node) else 1.0)
        except faults.Unsupported as error:
            refusal = error

        def own(ratio: float) -> Partition:
            with functorch_config.patch(activation_memory_budget=ratio):
                parts = partitioners.min_cut_rematerialization_partition(copied(gm), inputs, **kwargs)
            return partition_of(*parts, outputs, times, f"ratio {ratio:.4f}")

        found = by_ratio(own, self.ram)
        if refusal is not None or len(found) == 1:
            return found, refusal
        try:
            return [*found, planned(copied(gm), outputs, times, self.ram, self.time_limit_s)], None
        except faults.Error as error:
            return found, error


def _warn_of_layouts(gm: GraphModule) -> None:
    convolutions = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.convolution.default)
    if convolutions and torch._inductor.config.layout_optimization:
        _LOG.warning(
            "inductor's layout optimization may save channels-last copies of a convolution's weight and input, which "
            "no partition counts: options=SavedBytes(..).options saves what was counted"
        )


def planned(gm: GraphModule, outputs: int, times: dict[str, float], ram: int, time_limit_s: float) -> Partition:
    """The planner's partition: forward saves what the plan keeps across the loss; backward computes the rest again."""
    saved = saved_by_plan(read_graph(gm, outputs, _COSTS), ram, times, _PLANS, time_limit_s)
    forward, backward = partitioners._extract_fwd_bwd_modules(
        gm, saved, saved_sym_nodes=[], saved_opaque_nodes=[], num_fwd_outputs=outputs
    )
    backward = partitioners.reordering_to_mimic_autograd_engine(backward)
    parts = raise_getitems(forward), raise_getitems(backward)
    return partition_of(*parts, outputs, times, "plan")


def copied(gm: GraphModule) -> GraphModule:
    """Another graph over the same parameters; partitioners change what they are given."""
    graph = Graph()
    names: dict[Node, Node] = {}
    output = graph.graph_copy(gm.graph, names)
    graph.output(output).meta = dict(gm.graph.output_node().meta)
    for node, new in names.items():
        new.meta = dict(node.meta)
    return GraphModule(gm, graph)


def by_ratio(own: Callable[[float], Partition], ram: int) -> list[Partition]:
    """PyTorch's partitions at some ratios, refined below the largest that fits. Its curve is not monotone."""
    first = own(1.0)
    found = [first]
    if first.saved <= ram and not draws_again(first):
        return found
    found += [own(ratio) for ratio in _RATIOS[1:]]
    low = max((ratio for ratio, one in zip(_RATIOS, found, strict=True) if one.saved <= ram), default=0.0)
    high = min((ratio for ratio in _RATIOS if ratio > low), default=1.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        found.append(own(middle))
        low, high = (middle, high) if found[-1].saved <= ram else (low, middle)
    return found


def partition_of(
    forward: GraphModule, backward: GraphModule, outputs: int, times: dict[str, float], origin: str
) -> Partition:
    ran = {node.name for node in forward.graph.nodes if node.op == "call_function"}
    again = sum(
        times.get(node.name, 0.0) for node in backward.graph.nodes if node.op == "call_function" and node.name in ran
    )
    return Partition(saved_bytes(forward, outputs), again, origin, forward, backward)


def draws_again(partition: Partition) -> bool:
    """Whether the partition draws random numbers in forward and other ones in backward, which makes gradients wrong."""
    drawn = {node.name for node in partition.forward.graph.nodes if node.op == "call_function" and has_effect(node)}
    return any(node.name in drawn for node in partition.backward.graph.nodes if node.op == "call_function")


def saved_bytes(forward: GraphModule, outputs: int) -> int:
    """Bytes that this forward graph keeps for its backward, each storage once, the caller's tensors not counted."""
    returned = list(output_of(forward))
    callers = set(storages_of([*forward.graph.find_nodes(op="placeholder"), *returned[:outputs]]))
    return sum(size for storage, size in storages_of(returned[outputs:]).items() if storage not in callers)


def is_fusible(node: Node) -> bool:
    """Whether inductor computes the op inside its neighbour's kernel: elementwise ops, and ops that only fill."""
    tags = getattr(node.target, "tags", ())
    packet = getattr(node.target, "overloadpacket", None)
    return torch.Tag.pointwise in tags or packet in partitioners.get_default_op_list().fusible_ops


def saved_by_plan(joint: Joint, ram: int, times: dict[str, float], plans: PlanStore, time_limit_s: float) -> list[Node]:
    """The nodes that the planner keeps across the loss, where nothing but the loss is short of memory.

    The loss is given so large a workspace that the budget binds there and nowhere else.
    """
    graph = cost_graph(joint, None, "saved")
    asked = json.loads(graph.text)
    everything = sum(tensor["bytes"] for tensor in asked["tensors"]) * 2 + max(
        (op.cost.workspace for op in joint.ops), default=0
    )
    for op in asked["ops"]:
        choice = op["choices"][0]
        choice["time_s"] = times.get(op["name"], choice["time_s"])
        choice["workspace_bytes"] = 0
    graph.text, graph.reserve = json.dumps(asked), everything
    try:
        plan = plans.plan(graph, ram + everything, time_limit_s)
    except faults.Infeasible as error:
        least = max(0, (error.min_ram or 0) - everything)
        raise faults.infeasible(
            f"no partition saves {ram} bytes or less",
            least,
            (f"the smallest number for which a partition is known: {least} bytes",),
            "more bytes, or a smaller batch",
        ) from None
    return [] if graph.loss is None else _kept(joint, graph.loss, plan.instructions)


def _kept(joint: Joint, loss: int, instructions: list[dict[str, Any]]) -> list[Node]:
    """The leaves of what is in memory at the loss, the caller's inputs, and what backward must not compute again."""
    alive: set[int] = set()
    for instruction in instructions:
        if instruction["do"] == "compute" and instruction["op"] == loss:
            break
        if instruction["do"] == "compute":
            alive.update(joint.ops[instruction["op"]].outputs)
        elif instruction["do"] == "free":
            alive.discard(instruction["tensor"])
    held = {
        storage.index
        for storage in joint.storages
        if storage.held_by_caller and joint.ops[storage.op].node not in joint.after_loss
    }
    given = [node for node in joint.placeholders if not is_tangent(node) and node not in joint.folded]
    return given + [
        leaf for index in sorted(alive | held) if index < len(joint.storages) for leaf in joint.storages[index].leaves
    ]


class KnapsackSolver(CustomKnapsackSolver):
    """A solver for `torch._functorch.config.activation_memory_budget_solver`: exact to 1/4096 of the limit, and never
    above it."""

    def __call__(
        self,
        memory: list[float],
        joint_graph: Graph,
        max_memory: float,
        node_info: Any,
        all_recomputable_banned_nodes: list[Node],
    ) -> tuple[list[int], list[int]]:
        times = [partitioners.estimate_runtime(node) for node in all_recomputable_banned_nodes]
        kept = knapsack(memory, times, max_memory)
        return sorted(kept), [index for index in range(len(memory)) if index not in kept]

    def uuid(self) -> Any:
        return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def knapsack(sizes: Sequence[float], values: Sequence[float], limit: float) -> set[int]:
    """The items of most value whose sizes together are at most `limit`. Sizes are rounded up, the rest is filled."""
    if limit <= 0:
        return {index for index, size in enumerate(sizes) if size <= 0}
    weights = [int(np.ceil(size / limit * _BUCKETS)) for size in sizes]
    best = np.zeros(_BUCKETS + 1)
    taken = np.zeros((len(sizes), _BUCKETS + 1), dtype=bool)
    for index, (weight, value) in enumerate(zip(weights, values, strict=True)):
        if weight <= _BUCKETS:
            better = best.copy()
            better[weight:] = np.maximum(best[weight:], best[: _BUCKETS + 1 - weight] + value)
            taken[index] = better > best
            best = better
    kept, room = set(), _BUCKETS
    for index in reversed(range(len(weights))):
        if taken[index, room]:
            kept.add(index)
            room -= weights[index]
    left = limit - sum(sizes[index] for index in kept)
    for index in sorted(set(range(len(sizes))) - kept, key=lambda index: -values[index]):
        if sizes[index] <= left:
            kept.add(index)
            left -= sizes[index]
    return kept
