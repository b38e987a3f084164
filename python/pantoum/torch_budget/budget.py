"""The budget, the pieces of a program that were compiled under it, and what it tells of them."""

from __future__ import annotations

import gc
import os
import weakref
from dataclasses import dataclass, field
from typing import Any

from pantoum import _core
from pantoum.quantities import Size, bytes_of

from . import faults
from .meter import Measurement

_MOST_SECONDS = 1e9


def budget_bytes(ram: Size) -> int:
    """Bytes of "6GiB" or pantoum.MiB(6). UsageError E0110: no unit, or out of range."""
    count = bytes_of(ram, "ram")
    if not 0 < count < 2**53:
        raise faults.usage(f"a budget of {count} bytes is out of range", "between 1B and 8PiB")
    return count


@dataclass
class Piece:
    """One compiled graph. Bytes and seconds.

    planned_peak      what the step makes, at its largest, as planned (forward and backward together)
    saved             what forward keeps for backward: activations in memory, those of the caller not counted
    before            what the pieces before it keep meanwhile
    share             what later pieces of the program cannot have: `saved`, or where a graph break is known to
                      follow, the part of the budget that this piece may save, between share_least and share_most
    paged_out         bytes that one step writes to the page file
    recomputed        how many ops run more than once
    time_s            a step as modelled; least_time_s: one with unlimited memory
    parameters_and_inputs, outputs, gradients    not counted: the caller's
    """

    name: str
    frame: str
    kind: str
    budget: int
    planned_peak: int
    unplanned_peak: int
    saved: int
    before: int
    share: int
    share_least: int
    share_most: int
    paged_out: int
    recomputed: int
    ops: int
    time_s: float
    least_time_s: float
    status: str
    parameters_and_inputs: int
    outputs: int
    gradients: int


@dataclass
class Report:
    """Planned and measured figures, side by side. `str(report)` is a table."""

    budget: int
    pieces: list[Piece]
    measured_peak: int | None
    measured_tensors: int | None
    rss_growth: int | None
    refusals: list[str] = field(default_factory=list)

    @property
    def planned_peak(self) -> int:
        """The largest over the pieces, each with what the pieces before it save."""
        return max((piece.planned_peak + piece.before for piece in self.pieces), default=0)

    def to_json(self) -> dict[str, Any]:
        return {
            "budget_bytes": self.budget,
            "planned_peak_bytes": self.planned_peak,
            "measured_peak_bytes": self.measured_peak,
            "measured_tensor_bytes": self.measured_tensors,
            "rss_growth_bytes": self.rss_growth,
            "pieces": [vars(piece) for piece in self.pieces],
            "refusals": self.refusals,
        }

    def __str__(self) -> str:
        lines = [
            f"budget             {_size(self.budget)}",
            f"planned peak       {_size(self.planned_peak)}",
            f"measured peak      {_size(self.measured_peak)}",
            f"  of it tensors    {_size(self.measured_tensors)}",
            f"process's growth   {_size(self.rss_growth)}",
        ]
        if self.rss_growth is not None and self.measured_peak is None:
            lines.append(
                "no compiled graph ran while it was measured: PyTorch ran the module as it is, and then no budget "
                "holds (torch.compile(fullgraph=True) raises instead)"
            )
        if not self.pieces and not self.refusals:
            lines.append(
                "nothing was compiled under this budget: either the module was not called yet, or PyTorch ran "
                "it as it is (torch.compile(fullgraph=True) tells why), and then no budget holds"
            )
        for piece in self.pieces:
            slower = piece.time_s / piece.least_time_s if piece.least_time_s else 1.0
            lines += [
                f"{piece.name} ({piece.kind}, {piece.ops} ops, {piece.status})",
                f"  peak             {_size(piece.planned_peak)} (without a plan {_size(piece.unplanned_peak)})",
                f"  saved            {_size(piece.saved)}, paged out {_size(piece.paged_out)}, "
                f"{piece.recomputed} ops run again",
                f"  time as modelled {piece.time_s * 1e3:.3f} ms, {slower:.3f} of the least",
                f"  not counted      parameters and inputs {_size(piece.parameters_and_inputs)}, "
                f"outputs {_size(piece.outputs)}, gradients {_size(piece.gradients)}",
            ]
        return "\n".join(lines + [f"refused            {text}" for text in self.refusals])


def _size(count: int | None) -> str:
    return "not measured" if count is None else _core.show_bytes(count)


class TorchBudget:
    """A budget of bytes for steps of PyTorch: ``with pantoum.torch_budget("6GiB") as budget:`` around
    ``torch.compile(model, backend="pantoum")``.

    What is compiled under one budget shares it: a later graph of the same program gets what the earlier ones do not
    keep for their backward. Two budgets are independent of one another.

    Args:
        ram: bytes that one step may make at once, with a unit: "6GiB" or ``pantoum.MiB(64)``.
        page_dir: folder of the page file; "auto": the system's temporary folder; None: nothing is paged.
        time_limit_s: seconds of the planner, for one graph.
        name: of the reports.

    Raises:
        UsageError: E0110 an argument that does not fit.
    """

    def __init__(
        self,
        ram: Size,
        *,
        page_dir: str | os.PathLike[str] | None = "auto",
        time_limit_s: float = 10.0,
        name: str = "step",
    ) -> None:
        self.ram = budget_bytes(ram)
        if not isinstance(time_limit_s, (int, float)) or not 0 < time_limit_s <= _MOST_SECONDS:
            raise faults.usage(f"time_limit_s is {time_limit_s!r}", "seconds, more than 0 and at most 1e9")
        if page_dir is not None and not isinstance(page_dir, (str, os.PathLike)):
            raise faults.usage(f"page_dir is {page_dir!r}", 'a folder, "auto" or None')
        if not isinstance(name, str) or not name.isprintable():
            raise faults.usage(f"name is {name!r}", "a text")
        self.page_dir = None if page_dir is None else os.fspath(page_dir)
        self.time_limit_s, self.name = float(time_limit_s), name
        self.in_flight: dict[int, Piece] = {}
        self.calls = 0
        self.pieces: list[Piece] = []
        self.refusals: list[str] = []
        self.measurement: Measurement | None = None

    def __enter__(self) -> TorchBudget:
        from . import backend

        backend.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        from . import backend

        backend.leave(self)

    def left_for(self, frame: str, breaks: bool = False) -> int:
        """The bytes that a graph of this frame may take: not the shares of other frames, which are alive while it runs.
        Where it breaks, later frames have the rest."""
        others = self._others(frame, breaks)
        return self.ram - sum(max(piece.share for piece in pieces) for pieces in others)

    def kept_before(self, frame: str, breaks: bool = False) -> int:
        """The bytes that other frames keep while a graph of this frame runs."""
        return sum(max(piece.saved for piece in pieces) for pieces in self._others(frame, breaks))

    def enough_for(self, frame: str, left: int, breaks: bool = False) -> int:
        """A budget of which `left` bytes are this frame's; see `Share`."""
        for pieces in reversed(self._others(frame, breaks)):
            most, least = max(piece.share_most for piece in pieces), max(piece.share_least for piece in pieces)
            left = min(left + most, max(2 * left, left + least))
        return left

    def _others(self, frame: str, breaks: bool) -> list[list[Piece]]:
        """The pieces of other frames, by frame, in the order in which they were compiled."""
        frames: dict[str, list[Piece]] = {}
        for piece in self.pieces:
            frames.setdefault(piece.frame, []).append(piece)
        names = list(frames)
        if breaks and frame in frames:
            names = names[: names.index(frame)]
        return [frames[name] for name in names if name != frame]

    def admit(self, piece: Piece) -> None:
        """Refuses a call that, with what earlier calls hold for a backward to come, may take more than the budget."""
        if self._held() + piece.planned_peak > self.ram:
            gc.collect()  # a graph that nobody can reach any more may be part of a cycle
        held = self._held()
        if held and held + piece.planned_peak > self.ram:
            waiting = list(self.in_flight.values())
            least = sum(other.unplanned_peak for other in waiting) + piece.unplanned_peak
            raise faults.infeasible(
                f"earlier calls hold {held} bytes for a backward that has not run, and this call may take "
                f"{piece.planned_peak}: more than {self.ram}",
                least,
                (f"calls that wait for their backward: {len(waiting)}",),
                "run backward or drop their outputs first, use torch.no_grad() for inference, compile one function "
                f'that makes all the calls, or ask for "{least}B"',
            )

    def _held(self) -> int:
        return sum(piece.saved for piece in list(self.in_flight.values()))

    def hold(self, piece: Piece, kept: Any) -> None:
        """Counts the bytes that a call saved until `kept`, which is part of them, is gone."""
        self.calls += 1
        self.in_flight[self.calls] = piece
        weakref.finalize(kept.untyped_storage(), self.in_flight.pop, self.calls, None)

    def measure(self) -> Measurement:
        """`with budget.measure():` around a step counts its live bytes; they stand in `report()` afterwards."""
        self.measurement = Measurement()
        return self.measurement

    def report(self) -> Report:
        """Planned and measured figures of what was compiled so far; ``print`` it."""
        report = Report(self.ram, list(self.pieces), None, None, None, list(self.refusals))
        if self.measurement is not None:
            if self.measurement.live.graphs:
                report.measured_peak = self.measurement.peak_bytes
                report.measured_tensors = self.measurement.live.tensor_bytes
            report.rss_growth = self.measurement.rss_growth
        return report
