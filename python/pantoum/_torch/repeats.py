"""Checks that every step of a forward is the same: a captured step does not follow what Python changes between calls.

The forward runs twice on the example: Python's state goes on, the module's tensors and torch's random numbers begin
anew. Where the outputs differ, the first call that differs is reported. What a forward builds once and keeps (a mask, a
table of angles) is not refused: it gives the same.

The random numbers of Python and numpy are one sequence for all threads: what another thread draws meanwhile (a client
that retries, a loader that augments) is not the forward's. A forward that draws does so in every run.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export.graph_signature import OutputKind
from torch.overrides import TorchFunctionMode

from .problems import Problems, place_now
from .structure import named_tensors, tensors_of

log = logging.getLogger("pantoum")

_ADVICE = "keep in a buffer (self.register_buffer) what moves from step to step"
_RUNS_THAT_DRAW = 5
_CHANGED = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


def refuse_changes(
    step: nn.Module, tensors: tuple[Tensor, ...], program: torch.export.ExportedProgram, problems: Problems
) -> None:
    """Adds to `problems` what a second call of `step` does otherwise than the first. Costs two forwards without
    gradients, up to three more where random numbers were drawn meanwhile. The values of the tensors that the program
    changes are put back."""
    specs = program.graph_signature.output_specs
    targets = {spec.target for spec in specs if spec.kind in _CHANGED}
    state = named_tensors(step).items()
    moved = [(tensor, tensor.detach().clone()) for name, tensor in state if name in targets]
    try:
        runs = [_run(step, tensors, moved) for _ in range(2)]
        while len(runs) < _RUNS_THAT_DRAW and all(run.drawn is not None for run in runs):
            runs.append(_run(step, tensors, moved))
    except Exception as error:  # it was captured, and does not run as it is: on another device, or without gradients
        log.debug("the forward is not compared with itself: %s", error)
        return
    first, second = runs[:2]
    if first.drawn is not None and all(run.drawn is not None for run in runs):
        problems.add(
            "forward draws random numbers that are not torch's: each step would have the same",
            first.drawn,
            "torch.rand",
        )
    elif not _same(first.sums, second.sums):
        problems.add("forward does not compute the same when it is called again", second.differs_at(first), _ADVICE)
    for name in [name for name, count in first.counts.items() if second.counts.get(name, count) != count]:
        problems.add(f"forward counts in the attribute {name}: each step would have the same count", "", _ADVICE)


class _Run(TorchFunctionMode):
    """One forward: what each call of torch gives, and where."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, list[float], str]] = []
        self.sums: list[float] = []
        self.counts: dict[str, int] = {}
        self.drawn: str | None = None
        self._draws = _draws()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        if name.startswith(("__get__", "empty", "new_empty")) or not isinstance(answer, (Tensor, tuple, list)):
            return answer
        with torch._C.DisableTorchFunction():
            self.calls.append((name, _sums(answer), place_now()))
        self.look()
        return answer

    def look(self) -> None:
        if self.drawn is None and _draws() != self._draws:
            self.drawn = self.calls[-1][2] if self.calls else ""

    def differs_at(self, before: _Run) -> str:
        """The place of the first call that is not as in the run before."""
        for ours, other in zip(self.calls, before.calls, strict=False):
            if ours[0] != other[0] or not _same(ours[1], other[1]):
                return ours[2]
        return ""


def _run(step: nn.Module, tensors: tuple[Tensor, ...], moved: list[tuple[Tensor, Tensor]]) -> _Run:
    run = _Run()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            with run:
                answer = step(*(tensor.clone() for tensor in tensors))
            run.look()
            run.sums = _sums((answer, [tensor for tensor, _ in moved]))
            run.counts = _counts(step)
    finally:
        with torch.no_grad():
            for tensor, value in moved:
                tensor.copy_(value)
    return run


def _sums(value: Any) -> list[float]:
    return [
        float(tensor.detach().abs().sum(dtype=torch.float64)) if tensor.dtype != torch.bool else float(tensor.sum())
        for _, tensor in tensors_of(value)
    ]


def _same(ours: list[float], others: list[float]) -> bool:
    """Whether two lists of sums are equal, but for what the order of threads may change."""
    return len(ours) == len(others) and all(
        math.isclose(a, b, rel_tol=1e-6) or not (math.isfinite(a) or math.isfinite(b))
        for a, b in zip(ours, others, strict=True)
    )


def _counts(step: nn.Module) -> dict[str, int]:
    return {
        f"{path.removeprefix('module').removeprefix('.')}.{name}".removeprefix("."): value
        for path, each in step.named_modules()
        for name, value in each.__dict__.items()
        if isinstance(value, int)
    }


def _draws() -> tuple[Any, ...]:
    """The state of the random numbers of Python and numpy."""
    known = np.random.get_state(legacy=False)
    return random.getstate(), known["state"]["pos"], bytes(known["state"]["key"])


@contextlib.contextmanager
def draws_restored() -> Iterator[None]:
    """A capture takes none of the random numbers of Python and numpy."""
    ours, theirs = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(theirs)
