"""The backend "pantoum" of torch.compile: AOTAutograd with our partition, and graphs run in the order written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo.backends import registry
from torch._dynamo.backends.common import aot_autograd
from torch._guards import CompileContext
from torch.fx import GraphModule
from torch.fx.graph import _BoxedCodeGen

from . import faults, pager
from .budget import Piece, TorchBudget
from .costs import CostBook, outside_tracing
from .joint import Joint, is_tangent, output_of, read_graph, storages_of
from .lower import Lowering, split
from .meter import BoxedCall, boxed_call, metered
from .planner import CostGraph, Plan, PlanStore, cost_graph, replay, unplanned

_LOG = logging.getLogger("pantoum.torch_budget")
_COSTS = CostBook()
_PLANS = PlanStore()
_SPEEDS: dict[int, Any] = {}
_ENTERED: list[TorchBudget] = []
_NAME = "pantoum"


class Backend:
    """A compiler for one budget; without one, for the budget that is entered while it compiles."""

    __name__ = _NAME

    def __init__(self, budget: TorchBudget | None) -> None:
        self.budget = budget
        self.from_options: dict[str, TorchBudget] = {}

    def __call__(
        self,
        module: GraphModule,
        inputs: Sequence[Any],
        options: dict[str, Any] | None = None,
        mode: str | None = None,
    ) -> Callable[..., Any]:
        try:
            if mode is not None:
                raise faults.usage(f"backend pantoum has no mode {mode!r}", "leave mode out")
            return compile_graph(module, inputs, self._budget(options))
        except faults.Error as error:
            return _refusing(error)

    def _budget(self, options: dict[str, Any] | None) -> TorchBudget:
        if options:
            return self.from_options.setdefault(repr(sorted(options.items())), budget_from(options))
        budget = self.budget or (_ENTERED[-1] if _ENTERED else None)
        if budget is None:
            raise faults.usage(
                "backend pantoum has no budget",
                'with pantoum.torch_budget("6GiB"): torch.compile(..., backend="pantoum"), or options={"ram": "6GiB"}',
            )
        return budget


def budget_from(options: dict[str, Any]) -> TorchBudget:
    known = {"ram", "page_dir", "time_limit_s", "name"}
    if set(options) - known or "ram" not in options:
        raise faults.usage(
            f"options of backend pantoum: {sorted(options)}", f"ram, and any of {sorted(known - {'ram'})}"
        )
    return TorchBudget(**options)


def _refusing(error: faults.Error) -> Callable[..., Any]:
    """Raised when the module is called: an exception out of a backend would reach the user wrapped in another."""

    def refuse(*_: Any) -> Any:
        raise error

    return refuse


def _registered(backend: Backend) -> Any:
    backend._tags = ()  # type: ignore[attr-defined]
    return backend


DEFAULT = _registered(Backend(None))  # the entry point


def enter(budget: TorchBudget) -> None:
    """torch.compile resolves "pantoum" at once and compiles later; so the name means this budget from here on."""
    _ENTERED.append(budget)
    registry._COMPILER_FNS[_NAME] = _registered(Backend(budget))


def leave(budget: TorchBudget) -> None:
    _ENTERED.remove(budget)
    registry._COMPILER_FNS[_NAME] = _registered(Backend(_ENTERED[-1])) if _ENTERED else DEFAULT


def register() -> None:
    """Makes the name known to torch.compile, unless PyTorch found it as the package's entry point and is about to."""
    if _NAME not in registry._BACKENDS:
        registry.register_backend(compiler_fn=DEFAULT, name=_NAME)


def compile_graph(module: GraphModule, inputs: Sequence[Any], budget: TorchBudget) -> Callable[..., Any]:
    fix_shapes(inputs)
    reason = getattr(module, "compile_subgraph_reason", None)
    work = _Compilation(budget, frame_of(module), reason is not None and bool(reason.graph_break))
    compiler = aot_autograd(
        fw_compiler=work.forward,
        bw_compiler=work.backward,
        inference_compiler=work.inference,
        partition_fn=work.partition,
        keep_inference_input_mutations=False,
    )
    return compiler(module, inputs)


def frame_of(module: GraphModule) -> str:
    """A name for a piece of the program, from its code and its ops: two modules of one class share their code.

    The same piece for another shape, or for inference, has the same name, because only one of them runs at a time.
    """
    context = CompileContext.current_compile_id()
    steps = [str(node.target) for node in module.graph.nodes if node.op.startswith("call_")]
    code = "alone" if context is None else str(context.frame_id)
    return f"{code}.{hashlib.sha256(' '.join(steps).encode()).hexdigest()[:4]}"


def fix_shapes(inputs: Sequence[Any]) -> None:
    """A plan is for one set of shapes. Asking for a dimension's number makes PyTorch compile anew for others."""
    for value in inputs:
        sizes = (*value.shape, *value.stride()) if isinstance(value, torch.Tensor) else (value,)
        for size in sizes:
            if isinstance(size, torch.SymInt):
                int(size)


class _Compilation:
    """One graph on its way: partitioned, then compiled in two parts; or compiled alone, for inference."""

    def __init__(self, budget: TorchBudget, frame: str, breaks: bool) -> None:
        self.budget, self.frame = budget, frame
        self.breaks = breaks  # another piece of the program follows
        self.share: Share | None = None
        self.returned: int | None = None
        self.piece: Piece | None = None

    def partition(
        self, module: GraphModule, _inputs: Any, *, num_fwd_outputs: int, **_options: Any
    ) -> tuple[GraphModule, GraphModule]:
        joint, _graph, plan, lowering = self._planned(module, num_fwd_outputs)
        forward, backward, saved = split(module, lowering, num_fwd_outputs)
        self.returned = num_fwd_outputs
        counted = [node for node in saved if node.op != "placeholder"]
        held = storages_of(joint.forward_outputs)
        kept = sum(size for storage, size in storages_of(counted).items() if storage not in held)
        self._tell("training", joint, plan, kept)
        return forward, backward

    def inference(self, module: GraphModule, _inputs: Any) -> Callable[..., Any]:
        outputs = output_of(module)
        joint, _, plan, lowering = self._planned(module, len(outputs))
        planned = lowering.run(module)
        planned.graph.eliminate_dead_code()
        self._tell("inference", joint, plan, 0)
        return admitted(metered(boxed(planned), None), self.budget, self.piece, None)

    def forward(self, module: GraphModule, _inputs: Any) -> Callable[..., Any]:
        kept = first_saved(module, self.returned)
        return admitted(metered(boxed(module), self.returned), self.budget, self.piece, kept)

    def backward(self, module: GraphModule, _inputs: Any) -> Callable[..., Any]:
        return metered(boxed(module), None)

    def _planned(self, module: GraphModule, outputs: int) -> tuple[Joint, CostGraph, Plan, Lowering]:
        joint = read_graph(module, outputs, _COSTS)
        number = self._pager()
        graph = cost_graph(joint, None if number is None else _SPEEDS[number], self.budget.name)
        left = self.budget.left_for(self.frame, self.breaks)
        try:
            if self.breaks and graph.loss is not None:
                plan, self.share = planned_in_share(graph, max(1, left), self.budget.time_limit_s)
            else:
                plan = _PLANS.plan(graph, max(1, left), self.budget.time_limit_s)
        except (faults.Infeasible, faults.LimitReached) as error:
            self._explain(error, left)
            raise
        if number is not None and plan.storage_bytes:
            pager.pager_of(number).reserve(plan.storage_bytes)
        return joint, graph, plan, Lowering(joint, graph, plan, number or 0)

    def _pager(self) -> int | None:
        if self.budget.page_dir is None:
            return None
        try:
            return _open_pager(self.budget.page_dir)
        except faults.DeviceError as error:
            if self.budget.page_dir != "auto":
                raise
            _LOG.warning("nothing is paged: %s", error)
            return None

    def _explain(self, error: faults.Infeasible | faults.LimitReached, left: int) -> None:
        """Turns the least budget of this graph into one of the whole program: other graphs keep bytes meanwhile, and
        more of them with a larger budget."""
        others = self.budget.ram - left
        if others:
            if error.min_ram is not None:
                error.min_ram = faults.Bytes(self.budget.enough_for(self.frame, error.min_ram, self.breaks))
                error.help = f'ask for "{int(error.min_ram)}B", which is enough, or keep the program in one piece'
            error.notes.append(
                f"the program was compiled in pieces (torch.compile(fullgraph=True) tells where it breaks); {others} "
                f"bytes of the budget of {self.budget.ram} are what those before this one may keep for their backward"
            )
        self.budget.refusals.append(str(error))

    def _tell(self, kind: str, joint: Joint, plan: Plan, saved: int) -> None:
        share = self.share or Share(saved, plan.unplanned_peak_bytes, plan.unplanned_peak_bytes)
        runs: Counter[int] = Counter()
        moved = 0
        for instruction in plan.instructions:
            if instruction["do"] == "compute":
                runs[instruction["op"]] += 1
            elif instruction["do"] == "page_out" and instruction["tensor"] < len(joint.storages):
                moved += joint.storages[instruction["tensor"]].bytes
        self.piece = piece = Piece(
            name=f"graph {self.frame}",
            frame=self.frame,
            kind=kind,
            budget=self.budget.left_for(self.frame, self.breaks),
            planned_peak=plan.peak_bytes,
            unplanned_peak=plan.unplanned_peak_bytes,
            saved=saved,
            before=self.budget.kept_before(self.frame, self.breaks),
            share=share.bytes,
            share_least=share.least,
            share_most=share.most,
            paged_out=moved,
            recomputed=sum(count > 1 for count in runs.values()),
            ops=len(joint.ops),
            time_s=plan.time_s,
            least_time_s=plan.least_time_s,
            status=plan.status,
            parameters_and_inputs=joint.bytes_of(node for node in joint.placeholders if not is_tangent(node)),
            outputs=joint.bytes_of(joint.forward_outputs),
            gradients=joint.bytes_of(joint.backward_outputs),
        )
        self.budget.pieces.append(piece)
        _LOG.info("%s: planned peak %d of %d bytes, saved %d", piece.name, piece.planned_peak, piece.budget, saved)
        if len({other.frame for other in self.budget.pieces}) > 1:
            _LOG.warning(
                "the program was compiled in %d pieces under one budget; a piece gets what those before it "
                "do not keep. torch.compile(fullgraph=True) tells where it breaks",
                len(self.budget.pieces),
            )


def _open_pager(folder: str) -> int | None:
    number = pager.open_pager(None if folder == "auto" else folder)
    if number is not None and number not in _SPEEDS:
        with outside_tracing():
            _SPEEDS[number] = pager.pager_of(number).speed()
    return number


@dataclass(frozen=True, slots=True)
class Share:
    """The bytes that a graph may save where others follow it: half of the bytes left, at most those that it saves
    without a plan, at least the least that the planner finds. So the rest does not shrink where the budget grows."""

    bytes: int
    least: int
    most: int


def planned_in_share(graph: CostGraph, left: int, time_limit_s: float) -> tuple[Plan, Share]:
    """The plan of a graph that others follow, in its share of the `left` bytes."""
    asked = json.loads(graph.text)
    most = replay(asked, unplanned(asked)).get(graph.loss, 0)
    share = Share(min(most, left // 2), 0, most)
    graph.reserve = left - share.bytes
    try:
        return _PLANS.plan(graph, left, time_limit_s), share
    except (faults.Infeasible, faults.LimitReached) as error:
        least = (error.min_ram or 0) - graph.reserve
    if 0 < least < left:
        graph.reserve = left - least
        with contextlib.suppress(faults.Infeasible, faults.LimitReached):
            return _PLANS.plan(graph, left, time_limit_s), Share(least, least, most)
    graph.reserve = 0
    plan = _PLANS.plan(graph, left, time_limit_s)
    return plan, Share(plan.saved_bytes, plan.saved_bytes, most)


def first_saved(module: GraphModule, returned: int | None) -> int | None:
    """The position of a forward graph's first result that is alive for its backward alone; None: there is none."""
    results = output_of(module)
    callers = storages_of([*module.graph.find_nodes(op="placeholder"), *results[:returned]])
    for position, node in enumerate(results[returned:], returned or 0):
        if any(size and storage not in callers for storage, size in storages_of([node]).items()):
            return position
    return None


def admitted(run: BoxedCall, budget: TorchBudget, piece: Piece | None, kept: int | None) -> BoxedCall:
    """A boxed call that begins only where it and what earlier calls hold are within the budget together."""
    if piece is None:
        return run

    @boxed_call
    def call(args: list[Any]) -> Any:
        budget.admit(piece)
        results = run(args)
        if kept is not None:
            budget.hold(piece, results[kept])
        return results

    return call


def boxed(module: GraphModule) -> BoxedCall:
    """Runs a graph as it is written; the list of arguments is emptied, so each dies after its last use."""
    module.graph.set_codegen(_BoxedCodeGen())
    module.recompile()
    run: BoxedCall = module.forward
    return run
