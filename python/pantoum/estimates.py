"""Estimates whether a step fits, and what less RAM would cost."""

from __future__ import annotations

import dataclasses
import html
import importlib
import os
import sys
from typing import Any

from pantoum import _core
from pantoum.errors import UsageError, whole_of
from pantoum.model import Model
from pantoum.planning import SweepRow, device_of, without_ram
from pantoum.progress import planning_progress
from pantoum.quantities import Bytes, Options, PathLike

_SHOWN = 5  # tensors at the peak


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A table: ``print(estimate)``, or the last line of a notebook's cell.

    Attributes:
        device, time_source: the device of the times, and whether they are measured.
        unplanned_peak_bytes, unplanned_time_s: figures of a step with everything kept.
        least_ram: the smallest RAM for which a plan is known, as an argument for ``ram=``.
        least_ram_bound_bytes: it is proved that there is none below.
        binds: name and bytes of each tensor that is in RAM at the peak of the plan of the least RAM, largest first.
        rows: a ``SweepRow`` for each budget, from the least RAM to the unplanned peak.
    """

    device: str
    time_source: str
    unplanned_peak_bytes: int
    unplanned_time_s: float
    least_ram: Bytes | None
    least_ram_bound_bytes: int
    binds: list[tuple[str, int]]
    rows: list[SweepRow]

    def _head(self) -> list[tuple[str, str]]:
        held = ", ".join(f"{name} {_core.show_bytes(size)}" for name, size in self.binds[:_SHOWN])
        least = "not known" if self.least_ram is None else str(self.least_ram)
        return [
            ("device", f"{self.device} (times {self.time_source})"),
            ("unplanned peak", _core.show_bytes(self.unplanned_peak_bytes)),
            ("least RAM", f"{least}; none below {_core.show_bytes(self.least_ram_bound_bytes)}, proved"),
            ("what binds", held or "-"),
        ]

    def _table(self) -> list[tuple[str, str, str, str]]:
        lines = [("RAM", "peak", "time of a step", "times unplanned")]
        for row in self.rows:
            ram = _core.show_bytes(row.ram_bytes)
            if not row.has_plan:
                lines.append((ram, "-", "no plan" if row.proved_infeasible else "none found", "-"))
                continue
            factor = row.time_s / self.unplanned_time_s if self.unplanned_time_s > 0 else 1.0
            lines.append((ram, _core.show_bytes(row.peak_bytes), _core.show_seconds(row.time_s), f"{factor:.2f}"))
        return lines

    def __str__(self) -> str:
        head = [f"{name:<15} {text}" for name, text in self._head()]
        table = self._table()
        widths = [max(len(line[column]) for line in table) for column in range(4)]
        body = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
        return "\n".join([*head, "", *body])

    def _repr_html_(self) -> str:
        def cells(words: tuple[str, ...], tag: str) -> str:
            return "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words)

        head = "".join(f"<p><b>{name}</b> {html.escape(text)}</p>" for name, text in self._head())
        first, *rest = self._table()
        body = "".join(f"<tr>{cells(line, 'td')}</tr>" for line in rest)
        return f"{head}<table><tr>{cells(first, 'th')}</tr>{body}</table>"


def make_estimate(
    model: Model | PathLike | Any,
    example: Any,
    options: Options,
    device: PathLike,
    budgets: int,
    asked: Options,
    progress: Any,
) -> Estimate:
    """See ``pantoum.estimate``; ``asked``: keywords of ``plan``."""
    made = model_of(model, example, options)
    planned = without_ram(asked)
    with planning_progress(progress, "estimating") as tell:
        found = _core.estimate(made._core, device_of(device), planned, whole_of(budgets, "budgets", 1), tell)
    rows = [SweepRow(**row) for row in found.pop("rows")]
    least = found.pop("least_ram_bytes")
    return Estimate(rows=rows, least_ram=Bytes(least) if least > 0 else None, **found)


def model_of(model: Model | PathLike | Any, example: Any, options: Options) -> Model:
    """A ``Model`` of a model, a file or a torch module. UsageError E0116: it is none of these."""
    if isinstance(model, Model):
        return model.with_options(**options) if options else model
    if isinstance(model, (str, bytes, os.PathLike)):
        return Model.from_file(model, **options)
    torch = sys.modules.get("torch")  # loaded already, where there is a module
    if torch is not None and isinstance(model, torch.nn.Module):
        captured: Model = importlib.import_module("pantoum._torch").capture_model(model, example, **options)
        return captured
    given = f"{type(model).__module__}.{type(model).__qualname__}"
    raise UsageError(
        "E0116",
        f"a {given} is no model here",
        "model",
        "give a torch.nn.Module, a pantoum.Model or the path of an ONNX file",
    )
