"""The cost graph of a joint graph, and the planner's answer to it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pantoum import _core
from pantoum.errors import Infeasible, LimitReached
from pantoum.planning import plan_options
from pantoum.quantities import Bytes

from .joint import Joint, Op

Document: TypeAlias = dict[str, Any]
"""A JSON object: a cost graph or a plan, or one of its ops, tensors or instructions."""

LOSS = "loss (the caller's)"


@dataclass(frozen=True, slots=True)
class PagerSpeed:
    """The cost of moving bytes. `None` in its place: nothing is paged."""

    latency_s: float
    out_bytes_per_s: float
    in_bytes_per_s: float


@dataclass
class CostGraph:
    """The JSON that the planner reads, and which of its ids mean what.

    `reserve` is what other graphs may take between this one's forward and its backward, in bytes.
    """

    text: str
    ops: list[Op]
    loss: int | None
    storages: int  # ids below this are storages of the joint graph; the others are orderings without bytes
    reserve: int = 0

    def reserving(self, text: str) -> str:
        """The cost graph, or a plan of it, with the reserve as the loss's workspace."""
        if self.loss is None:
            return text
        document = json.loads(text)
        for op in document.get("graph", document)["ops"]:
            if op["id"] == self.loss:
                op["choices"][0]["workspace_bytes"] = self.reserve
        return json.dumps(document)


@dataclass
class Plan:
    """The planner's answer: its instructions and its figures (bytes, seconds)."""

    instructions: list[Document]
    peak_bytes: int
    unplanned_peak_bytes: int
    time_s: float
    least_time_s: float
    status: str
    storage_bytes: int
    saved_bytes: int  # at the loss
    text: str = field(repr=False, default="")


def cost_graph(joint: Joint, pager: PagerSpeed | None, name: str) -> CostGraph:
    """One joint question: forward, the caller's loss, backward.

    What the caller holds (outputs, parameters' gradients) has no bytes here; what it gave is not in the graph at all.
    The loss stands for everything that happens outside between forward and backward: it takes the outputs and gives
    the tangents. Draws of randomness are chained, so that they happen once and in the order of the program.
    """
    tensors = [
        _tensor(
            storage.index,
            joint.ops[storage.op].node.name,
            0 if storage.held_by_caller else storage.bytes,
            storage.held_by_caller,
        )
        for storage in joint.storages
    ]
    chains = _Chains(tensors)
    ops: list[Document] = []
    order: list[int] = []
    loss: int | None = None
    for op in joint.ops:
        if loss is None and (op.node in joint.after_loss or op.in_backward):
            loss = _append_loss(joint, ops, order, chains)
        ops.append(_op(joint, op, chains, loss is not None))
        order.append(op.index)
    if loss is None and joint.backward_outputs:
        loss = _append_loss(joint, ops, order, chains)
    graph = {
        "schema": "pantoum.costgraph/1",
        "name": name,
        "device": {"name": "torch", "pager": {"mode": "none"} if pager is None else _transfers(pager)},
        "tensors": tensors,
        "ops": ops,
        "order": order,
    }
    return CostGraph(json.dumps(graph), joint.ops, loss, len(joint.storages))


class _Chains:
    """Tensors of no bytes that put ops in an order."""

    def __init__(self, tensors: list[Document]) -> None:
        self.tensors = tensors
        self.tangent: int | None = None
        self.last_effect: int | None = None
        self.before_loss: list[int] = []

    def link(self, name: str) -> int:
        self.tensors.append(_tensor(len(self.tensors), name, 0, False))
        return len(self.tensors) - 1


def _append_loss(joint: Joint, ops: list[Document], order: list[int], chains: _Chains) -> int:
    inputs = joint.made(joint.forward_outputs)
    inputs += chains.before_loss
    if chains.last_effect is not None:
        inputs.append(chains.last_effect)
    chains.tangent = chains.link("tangents")
    index = len(joint.ops)
    ops.append(
        {
            "id": index,
            "name": LOSS,
            "inputs": inputs,
            "outputs": [chains.tangent],
            "recompute": False,
            "choices": [{"time_s": 0.0, "energy_j": 0.0}],
        }
    )
    order.append(index)
    return index


def _op(joint: Joint, op: Op, chains: _Chains, after_loss: bool) -> Document:
    inputs, outputs = list(op.inputs), list(op.outputs)
    made = sum(joint.storages[index].bytes for index in outputs)
    held = sum(joint.storages[index].bytes for index in outputs if joint.storages[index].held_by_caller)
    repeats = made - held > held  # an op that gives the caller more than the step is not worth a second run
    # A second run makes the caller's part once more, for nothing.
    workspace = op.cost.workspace + (held if repeats and op.again is None else 0)
    if chains.tangent is not None and (op.node in joint.after_loss or (op.effect and after_loss)):
        inputs.append(chains.tangent)
    if op.effect:
        if chains.last_effect is not None:
            inputs.append(chains.last_effect)
        chains.last_effect = chains.link(op.node.name + ".done")
        outputs.append(chains.last_effect)
    if op.reads_mutated and not after_loss:
        chains.before_loss.append(chains.link(op.node.name + ".read"))
        outputs.append(chains.before_loss[-1])
    return {
        "id": op.index,
        "name": op.node.name,
        "inputs": inputs,
        "outputs": outputs,
        "recompute": op.repeatable and not op.reads_mutated and repeats,
        "choices": [{"time_s": op.cost.time_s, "energy_j": 0.0, "workspace_bytes": workspace}],
    }


def _tensor(index: int, name: str, size: int, stays: bool) -> Document:
    tensor: Document = {"id": index, "name": name, "bytes": size}
    if stays:
        tensor["end"] = "ram"
    return tensor


def _transfers(pager: PagerSpeed) -> Document:
    speeds = {"in": pager.in_bytes_per_s, "out": pager.out_bytes_per_s}
    ways = {way: {"latency_s": pager.latency_s, "bytes_per_s": speed, "w": 0.0} for way, speed in speeds.items()}
    return {"mode": "sync", "duplex": "half", **ways}


class PlanStore:
    """Plans of this process, so that equal graphs are planned once and more bytes never take more time.

    A question starts from the best plan of the same graph that is known to fit. A better plan found later for fewer
    bytes replaces the one for more. The plan behind an error's `min_ram` is kept too: that budget then works.
    """

    def __init__(self) -> None:
        self._plans: dict[str, dict[tuple[int, int], Plan]] = {}
        self._least: dict[tuple[str, int], str] = {}

    def plan(self, graph: CostGraph, ram: int, time_limit_s: float) -> Plan:
        key = hashlib.sha256(graph.text.encode()).hexdigest()
        known, asked = self._plans.setdefault(key, {}), (ram, graph.reserve)
        fitting = [plan for plan in known.values() if _fits(plan, graph, ram)]
        best = min(fitting, key=lambda plan: plan.time_s, default=None)
        if asked in known and best is not None and best.time_s <= known[asked].time_s:
            return best
        least = (key, graph.reserve)
        try:
            found = ask(graph, ram, time_limit_s, best.text if best is not None else self._least.get(least, ""))
        except (Infeasible, LimitReached) as error:
            if best is not None:  # it fits, though the planner's arena for it would not
                return best
            self._least[least] = getattr(error, "least_plan", "") or self._least.get(least, "")
            raise
        known[asked] = found if best is None or found.time_s < best.time_s else best
        return known[asked]

    def clear(self) -> None:
        self._plans.clear()
        self._least.clear()


def _fits(plan: Plan, graph: CostGraph, ram: int) -> bool:
    return plan.peak_bytes <= ram and plan.saved_bytes + graph.reserve <= ram


def ask(graph: CostGraph, ram: int, time_limit_s: float, start: str) -> Plan:
    """Asks the planner for the fastest step within `ram` bytes; `start` is a plan to begin with, or "".

    raises  Infeasible, LimitReached; `least_plan` of both is the plan of `min_ram`, "" where there is none
    """
    options = plan_options({"ram": Bytes(ram), "objective": "time", "time_limit": f"{time_limit_s:g}s"})
    known = _core.KnownPlans()
    known.start = graph.reserving(start) if start else ""
    try:
        text = _core.plan_cost_graph(graph.reserving(graph.text), options, None, known)
    except (Infeasible, LimitReached) as error:
        error.help = "give a larger budget, a smaller batch or more time (time_limit_s)"
        if error.min_ram is not None:
            error.help = f'ask for "{int(error.min_ram)}B", or a smaller batch'
        error.least_plan = known.least  # type: ignore[union-attr]
        raise
    return _read(graph, text)


def _read(graph: CostGraph, text: str) -> Plan:
    plan, asked = json.loads(text), json.loads(graph.text)
    sizes = {tensor["id"]: int(tensor["bytes"]) for tensor in plan["graph"]["tensors"]}
    taken = replay(asked, plan["instructions"])
    return Plan(
        instructions=plan["instructions"],
        peak_bytes=max(taken.values(), default=0),
        unplanned_peak_bytes=max(replay(asked, unplanned(asked)).values(), default=0),
        time_s=plan["predicted"]["time_s"],
        least_time_s=sum(op["choices"][0]["time_s"] for op in asked["ops"]),
        status=plan["status"],
        storage_bytes=max((at + sizes[int(tensor)] for tensor, at in plan.get("storage", {}).items()), default=0),
        saved_bytes=taken.get(graph.loss, 0),
        text=text,
    )


def replay(graph: Document, instructions: list[Document]) -> dict[int | None, int]:
    """The most bytes that are in memory while each op of a cost graph runs, over all of its runs."""
    sizes = {tensor["id"]: int(tensor["bytes"]) for tensor in graph["tensors"]}
    ops = {op["id"]: op for op in graph["ops"]}
    taken: dict[int | None, int] = {}
    alive: dict[int, int] = {}
    for instruction in instructions:
        if instruction["do"] == "compute":
            op = ops[instruction["op"]]
            alive.update({tensor: sizes[tensor] for tensor in op["outputs"]})
            here = sum(alive.values()) + int(op["choices"][0].get("workspace_bytes", 0))
            taken[op["id"]] = max(taken.get(op["id"], 0), here)
        elif instruction["do"] == "free":
            alive.pop(instruction["tensor"], None)
        elif instruction["do"] == "page_in":
            alive[instruction["tensor"]] = sizes[instruction["tensor"]]
    return taken


def unplanned(graph: Document) -> list[Document]:
    """The ops in the given order, each tensor in memory from its op to its last reader."""
    ops = {op["id"]: op for op in graph["ops"]}
    last = {tensor: index for index in graph["order"] for tensor in (*ops[index]["outputs"], *ops[index]["inputs"])}
    stays = {tensor["id"] for tensor in graph["tensors"] if tensor.get("end") == "ram"}
    instructions: list[Document] = []
    for index in graph["order"]:
        instructions.append({"do": "compute", "op": index})
        dead = {tensor for tensor in (*ops[index]["outputs"], *ops[index]["inputs"]) if last[tensor] == index}
        instructions += [{"do": "free", "tensor": tensor} for tensor in sorted(dead - stays)]
    return instructions
