"""Peak memory and step time of PyTorch's own answers and of torch_budget: one table, one run, one process.

usage: torch_budget.py [--out FOLDER] [--only TEXT] [--rounds N] [--networks A,B] [--no-inductor] [--cpu-clock]
Eager, torch.utils.checkpoint, activation_memory_budget at five values under aot_eager, and torch_budget at the very
bytes that each of those five was measured to take. Live bytes are counted alike for all (pantoum.torch_budget's
counter: what the step makes, kernels' own workspaces included; not outputs and gradients). Step times are taken in
turns, and the least of the rounds counts (--cpu-clock: of the process's CPU time, for a machine with other work).
Rows: `memory NAME` and `torch_budget NAME BYTES`; and, as inductor may reorder and fuse after the partition,
`torch_budget NAME inductor BYTES` by saved bytes.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import pantoum.torch_budget  # noqa: E402
import torch  # noqa: E402
from networks import Network, networks  # noqa: E402
from pantoum.torch_budget import Measurement  # noqa: E402
from pantoum.torch_budget.backend import boxed  # noqa: E402
from pantoum.torch_budget.inductor import SavedBytes  # noqa: E402
from pantoum.torch_budget.meter import metered  # noqa: E402
from table import Table  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._functorch.partitioners import min_cut_rematerialization_partition  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

RATIOS = [0.9, 0.7, 0.5, 0.3, 0.1]
INDUCTOR_RATIO = 0.5
CLOCK: list[Callable[[], float]] = [time.perf_counter]
TOLERANCE = 1e-5
NOISE = 1.03  # two runs of the very same graph differ by as much on a machine with other work


@dataclass
class Side:
    """One way to run the step. Bytes and seconds."""

    name: str
    module: torch.nn.Module
    run: Callable[..., Any]
    live: int = 0
    resident: int = 0
    error: float = 0.0
    seconds: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> float:
        return min(self.seconds)


class Bench:
    """The sides of one network."""

    def __init__(self, network: Network, rounds: int) -> None:
        self.network, self.rounds, self.inputs = network, rounds, network.inputs()
        torch.manual_seed(0)
        self.module = network.make()
        self.reference = self._gradients(copy.deepcopy(self.module), lambda module: module)

    def _gradients(self, module: torch.nn.Module, wrap: Callable[[Any], Any]) -> list[torch.Tensor]:
        torch.manual_seed(1)
        self.network.loss(wrap(module)(*self.inputs)).backward()
        return [parameter.grad.clone() for parameter in module.parameters()]

    def step(self, side: Side) -> None:
        self.network.loss(side.run(*self.inputs)).backward()

    def measured(self, side: Side, whole: bool = False) -> Side:
        """The first step, counted. `whole`: an uncompiled step, which is counted from outside."""
        torch.manual_seed(1)
        with Measurement() as seen:
            self._counted_step(side, seen) if whole else self.step(side)
        side.live = seen.peak_bytes
        gradients = [parameter.grad for parameter in side.module.parameters()]
        side.error = max((a - b).abs().max().item() for a, b in zip(gradients, self.reference, strict=True))
        ctypes.CDLL(None).malloc_trim(0)
        with Measurement() as seen:
            pause, pantoum.torch_budget.meter._ACTIVE[:] = list(pantoum.torch_budget.meter._ACTIVE), []
            self.step(side)
            pantoum.torch_budget.meter._ACTIVE[:] = pause
        side.resident = seen.rss_growth
        return side

    def _counted_step(self, side: Side, seen: Measurement) -> None:
        """An eager step: the module under the counter, the loss outside of it, backward through the module under it."""
        with seen.live:
            output = side.run(*self.inputs)
        seen.live.hold([output])
        outside = output.detach().requires_grad_()
        self.network.loss(outside).backward()
        for parameter in side.module.parameters():
            parameter.register_hook(lambda gradient: seen.live.hold([gradient]))
        with seen.live:
            output.backward(outside.grad)

    def in_turns(self, sides: list[Side]) -> None:
        for _ in range(self.rounds):
            for side in sides:
                start = CLOCK[0]()
                self.step(side)
                side.seconds.append(CLOCK[0]() - start)

    def eager(self) -> Side:
        module = copy.deepcopy(self.module)
        return self.measured(Side("eager", module, module), whole=True)

    def checkpointed(self) -> Side:
        module = copy.deepcopy(self.module)
        module.run_block = lambda block, x: checkpoint(block, x, use_reentrant=False)
        return self.measured(Side("torch.utils.checkpoint", module, module), whole=True)

    def own_budget(self, ratio: float) -> Side:
        module = copy.deepcopy(self.module)
        side = Side(f"activation_memory_budget={ratio}", module, torch.compile(module, backend=counted_aot_eager()))
        with torch._functorch.config.patch(activation_memory_budget=ratio):
            return self.measured(side)

    def inductor(self, name: str, ratio: float, options: dict[str, Any]) -> Side:
        """Inductor with its own budget, or with our partitioner; `live` is what forward saves."""
        torch._dynamo.reset()
        module = copy.deepcopy(self.module)
        side = Side(name, module, torch.compile(module, options=options))
        with torch._functorch.config.patch(activation_memory_budget=ratio):
            output = side.run(*self.inputs)
            side.live = saved_by(output, [*module.parameters(), *module.buffers(), *self.inputs, output])
            self.network.loss(output).backward()
            with Measurement() as seen:
                pause, pantoum.torch_budget.meter._ACTIVE[:] = list(pantoum.torch_budget.meter._ACTIVE), []
                self.step(side)
                pantoum.torch_budget.meter._ACTIVE[:] = pause
        side.resident = seen.rss_growth
        return side

    def budget(self, asked: int) -> Side:
        module = copy.deepcopy(self.module)
        with pantoum.torch_budget(f"{asked}B", time_limit_s=6) as budget:
            side = Side(f"torch_budget {asked}", module, torch.compile(module, backend="pantoum"))
        self.measured(side)
        side.facts = {"asked": asked, **budget.report().to_json()}
        return side


def counted_aot_eager() -> Callable[..., Any]:
    """The backend aot_eager, with the counter around both graphs."""
    returned: list[int] = []

    def partition(module: Any, inputs: Any, *, num_fwd_outputs: int, **options: Any) -> Any:
        returned.append(num_fwd_outputs)
        return min_cut_rematerialization_partition(module, inputs, num_fwd_outputs=num_fwd_outputs, **options)

    return aot_autograd(
        fw_compiler=lambda module, _: metered(boxed(module), returned[-1]),
        bw_compiler=lambda module, _: metered(boxed(module), None),
        partition_fn=partition,
        keep_inference_input_mutations=True,
    )


def saved_by(output: torch.Tensor, callers: list[torch.Tensor]) -> int:
    """Bytes of what a compiled forward keeps for its backward, each storage once, without the caller's own."""
    node = output.grad_fn
    while not hasattr(node, "saved_tensors") and node.next_functions:
        node = node.next_functions[0][0]
    known = {tensor.untyped_storage()._cdata for tensor in callers}
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in node.saved_tensors}
    return sum(size for storage, size in storages.items() if storage not in known)


def compare_inductor(network: Network, table: Table, rounds: int) -> list[dict[str, Any]]:
    """Inductor's own budget, and the partitioner of this package at the bytes that it was measured to save."""
    bench = Bench(network, rounds)
    own = bench.inductor(
        f"inductor, activation_memory_budget={INDUCTOR_RATIO}", INDUCTOR_RATIO, {"fx_graph_cache": False}
    )
    partitioner = SavedBytes(f"{max(own.live, 1)}B", time_limit_s=6)
    ours = bench.inductor("inductor, SavedBytes", 1.0, partitioner.options)
    bench.in_turns([own, ours])
    ratio = ours.best / own.best
    table.add(
        f"torch_budget {network.name} inductor {own.live}",
        ratio,
        "of inductor's time",
        f"<= {NOISE}",
        ratio <= NOISE and ours.live <= own.live,
        f"saved {ours.live} of {own.live}, {ours.best * 1e3:.1f} ms; resident +{ours.resident / 2**20:.1f} MiB "
        f"(own +{own.resident / 2**20:.1f} MiB), not promised; {partitioner.partitions[0].origin}",
    )
    return [
        {
            "network": network.name,
            "side": side.name,
            "saved": side.live,
            "resident": side.resident,
            "seconds": side.seconds,
        }
        for side in (own, ours)
    ]


def compare(network: Network, table: Table, rounds: int) -> list[dict[str, Any]]:
    """All sides of one network, in one table."""
    bench = Bench(network, rounds)
    known = [bench.eager(), bench.checkpointed()]
    own = [bench.own_budget(ratio) for ratio in RATIOS]
    asked = sorted({side.live for side in own})
    budgets = {count: attempt(bench, count) for count in asked}
    sides = known + own + [side for side in budgets.values() if isinstance(side, Side)]
    bench.in_turns(sides)
    for side in known + own:
        table.add(
            f"memory {network.name} {side.name}",
            side.live / 2**20,
            "MiB live",
            "",
            True,
            f"resident +{side.resident / 2**20:.1f} MiB, {side.best * 1e3:.1f} ms"
            f"{f', GRADIENTS OFF BY {side.error:.1e}' if side.error > TOLERANCE else ''}",
        )
    previous = None
    for count in asked:
        peers = [side for side in own if side.live == count]
        previous = tell(table, network, count, budgets[count], min(peer.best for peer in peers), previous)
    return [
        {
            "network": network.name,
            "side": side.name,
            "live": side.live,
            "resident": side.resident,
            "error": side.error,
            "seconds": side.seconds,
            "facts": side.facts,
        }
        for side in sides
    ]


def attempt(bench: Bench, asked: int) -> Side | int:
    """The side, or the least RAM where no plan fits."""
    try:
        return bench.budget(asked)
    except pantoum.torch_budget.faults.Infeasible as error:
        return int(error.min_ram)


def tell(
    table: Table, network: Network, asked: int, side: Side | int, peer: float, previous: float | None
) -> float | None:
    name = f"torch_budget {network.name} {asked}"
    if isinstance(side, int):
        table.add(name, side, "bytes at least", "proved infeasible", True)
        return previous
    modelled = side.facts["pieces"][0]["time_s"]
    held = side.live <= asked and side.facts["pieces"][0]["saved"] <= asked
    monotone = previous is None or modelled <= previous
    ratio = side.best / peer
    note = (
        f"live {side.live} of {asked}, planned {side.facts['planned_peak_bytes']}, resident "
        f"+{side.resident / 2**20:.1f} MiB, gradients within {side.error:.1e}, {side.best * 1e3:.1f} ms"
        f"{'' if monotone else ', NOT MONOTONE'}"
    )
    table.add(
        name,
        ratio,
        "of own budget's time",
        f"<= {NOISE}",
        ratio <= NOISE and held and monotone and side.error <= TOLERANCE,
        note,
    )
    return modelled


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default="out/bench")
    options.add_argument("--only", default="")
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--networks", default="")
    options.add_argument("--no-inductor", action="store_true")
    options.add_argument("--cpu-clock", action="store_true", help="for a machine with other work")
    asked = options.parse_args()
    CLOCK[0] = time.process_time if asked.cpu_clock else time.perf_counter
    torch._dynamo.config.recompile_limit = 64
    table, raw = Table(asked.only), []
    for network in networks():
        if not asked.networks or network.name in asked.networks.split(","):
            torch._dynamo.reset()
            raw += compare(network, table, asked.rounds)
            raw += [] if asked.no_inductor else compare_inductor(network, table, asked.rounds)
    os.makedirs(asked.out, exist_ok=True)
    with open(os.path.join(asked.out, "python-torch-budget.json"), "w") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)
    return int(any(not row["ok"] for row in table.rows))


if __name__ == "__main__":
    sys.exit(main())
