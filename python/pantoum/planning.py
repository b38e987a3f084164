"""Plans: what a training step keeps, computes again and pages, inside a RAM budget, and how near to the least that
is.
"""

from __future__ import annotations

import dataclasses
import html
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pantoum import _core
from pantoum.data import BatchTensor
from pantoum.errors import InvalidInput, UsageError, expect, names_of, text_of, warn, whole_of
from pantoum.model import Model
from pantoum.progress import planning_progress
from pantoum.quantities import Bytes, Options, PathLike, bytes_of, structure_of
from pantoum.ram_curve import RamCurve

log = logging.getLogger("pantoum")

_MODEL = "load one: pantoum.load_onnx(path, batch=32); pantoum.compile takes torch modules"

Progress = Callable[[float, float, float], object]
"""A function that is called with seconds, and with the best and the proved value of the objective so far (the best is
infinite at first)."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a plan costs what it costs; ``str()`` is what ``pantoum explain`` prints.

    Attributes:
        ram_binds: with unlimited RAM, the step would cost less.
        deadline_binds: without the deadline, it would cost less.
        at_peak: name and bytes of each tensor that is in RAM at the peak, largest first.
        text, json: the explanation as ``pantoum explain`` prints it.
    """

    ram_binds: bool
    deadline_binds: bool
    at_peak: list[tuple[str, int]]
    text: str = dataclasses.field(repr=False)
    json: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Figures that the checker proved again, without trusting the planner: a lower bound of the objective, and the
    plan's distance from it.
    """

    proved: float
    gap: float
    certificates: int


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """One budget of one planner; without a plan its figures are 0."""

    planner: str
    ram_bytes: int
    has_plan: bool
    proved_infeasible: bool
    peak_bytes: int
    time_s: float
    energy_j: float
    gap: float


class Plan:
    """A checked plan, ready to train: ``pantoum.plan`` makes one.

    All figures are the independent checker's. Times and energies are modelled unless ``time_source`` says measured. A
    plan can be
    pickled; it is read again with its model.
    """

    budget_bytes: int
    """The RAM that was given, without what was reserved."""
    peak_bytes: int
    """The largest sum of what is in RAM at once."""
    arena_bytes: int
    """What the trainer takes: the peak, and gaps between tensors."""
    time_s: float
    """Seconds of a step (of its last micro-batch)."""
    energy_j: float
    """Joules of a step (of its last micro-batch)."""
    computed: int
    """Ops that are computed, those computed again included."""
    recomputed: int
    """Ops that are computed again."""
    pages_out: int
    """Writes to storage."""
    pages_in: int
    """Reads from storage."""
    bytes_paged_out: int
    """Bytes written to storage in a step."""
    bytes_paged_in: int
    """Bytes read from storage in a step."""
    proved_energy_j: float | None
    """No plan takes fewer joules; None: not proved."""
    proved_time_s: float | None
    """No plan takes fewer seconds; None: not proved."""
    any_order: bool
    """What is proved holds for every order of first computations."""
    gap: float
    """(objective - proved) / objective."""
    optimal: bool
    """The gap is the one that was asked for, or less."""
    unplanned_peak_bytes: int
    """The peak with everything kept."""
    unplanned_time_s: float
    """Seconds of a step with everything kept."""
    unplanned_energy_j: float
    """Joules of a step with everything kept."""
    device: str
    """The device's name."""
    time_source: str
    """Whether times are measured, and where."""

    def __init__(self, handle: _core.Plan, model: Model | None, path: PathLike | None = None) -> None:
        self._core = handle
        self._model = model
        self._path = path
        vars(self).update(handle.facts())
        self._batch = tuple(
            BatchTensor(name, dtype, tuple(shape), target) for name, dtype, shape, target in handle.batch()
        )

    @property
    def model(self) -> Model | None:
        """The model that was planned; None: the plan was loaded from a file."""
        return self._model

    @property
    def batch(self) -> tuple[BatchTensor, ...]:
        """The tensors of a batch: inputs in the model's order, then targets."""
        return self._batch

    @property
    def samples_per_step(self) -> int:
        """Samples of a step, micro-batches together."""
        return self._core.samples_per_step()

    @property
    def warnings(self) -> list[str]:
        """Warnings about the model's file."""
        return self._core.warnings()

    @property
    def notes(self) -> list[str]:
        """Notes of compiling and planning."""
        return self._core.notes()

    def facts(self) -> Options:
        """All figures of the plan, by name."""
        return self._core.facts()

    def explain(self, effort: int = 1) -> Explanation:
        """Tells which limits bind, which tensors are in RAM at the peak, and what more RAM would gain: the step is
        planned again with 1, 5 and 10% more.

        Args:
            effort: amount of search for each of these plans (default: 1).
        """
        ram_binds, deadline_binds, at_peak, text, document = self._core.explain(whole_of(effort, "effort", 1))
        return Explanation(ram_binds, deadline_binds, at_peak, text, document)

    def ram_curve(self) -> RamCurve:
        """RAM over the time of a step, as planned, beside the unplanned step."""
        report = json.loads(_core.report_json(self._core))
        planned, unplanned = report["memory"]["planned"], report["memory"]["unplanned"] or {}
        return RamCurve(
            planned["seconds"],
            planned["bytes"],
            report["outcome"]["time_s"],
            unplanned.get("seconds", []),
            unplanned.get("bytes", []),
            self.unplanned_time_s if unplanned else 0.0,
            self.budget_bytes,
        )

    def verify(self) -> Verdict:
        """Replays the plan and evaluates its proof again. VerificationFailed E08xx."""
        return Verdict(*self._core.verify())

    def report(self, path: PathLike, logs: Sequence[PathLike] = ()) -> None:
        """Writes one self-contained HTML page about the plan, and about runs that followed it (their logs).
        DeviceError E0901.
        """
        _core.write_report(self._core, path, [logs] if isinstance(logs, (str, bytes, os.PathLike)) else list(logs))

    def to_json(self) -> str:
        """The plan's JSON, as ``save`` writes it: docs/schema/plan-2.schema.json."""
        return self._core.to_json()

    def save(self, path: PathLike) -> None:
        """Writes the plan with its certificate, as JSON; atomic. DeviceError E0901."""
        self._core.save(path)

    def save_binary(self, path: PathLike) -> None:
        """Writes the binary plan that the C library takes; atomic. DeviceError E0901."""
        self._core.save_binary(path)

    def save_initial_weights(self, path: PathLike) -> None:
        """Writes the weights that training begins with, as safetensors; atomic. DeviceError E0901."""
        self._core.save_initial_weights(path)

    @staticmethod
    def load(path: PathLike, model: Model | None = None) -> Plan:
        """A plan from its file, taken as it is.

        Args:
            path: a file that ``save`` wrote.
            model: the model of the plan (default: the one that the file names).

        Raises:
            InvalidInput: E0230 the file is no plan, E0231 it is a plan of another step, E0293 it names no model.
        """
        if model is None:
            return Plan(_core.Plan.load(path, None), None, os.fspath(path))
        expect(model, Model, "model", _MODEL)
        return Plan(_core.Plan.load(path, model._core), model)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self.to_json(), self._model))

    def _proof(self) -> str:
        if self.gap <= 1e-8:
            return "proved optimal"
        return "not proved" if self.gap >= 1 else f"the best possible plan takes at most {self.gap:.2%} less"

    def _rows(self) -> list[tuple[str, str]]:
        size, time = _core.show_bytes, _core.show_seconds
        return [
            ("device", f"{self.device} ({self.time_source})"),
            ("peak", f"{size(self.peak_bytes)} of {size(self.budget_bytes)}"),
            ("unplanned", f"{size(self.unplanned_peak_bytes)}, {time(self.unplanned_time_s)}"),
            ("step", f"{time(self.time_s)} for {self.samples_per_step} samples"),
            ("computed again", f"{self.recomputed} of {self.computed} ops"),
            ("paged", f"{size(self.bytes_paged_out)} out, {size(self.bytes_paged_in)} in"),
            ("proof", self._proof()),
        ]

    def __repr__(self) -> str:
        rows = dict(self._rows())
        return f"<pantoum.Plan: {rows['peak']}, step {rows['step']}, {rows['proof']}>"

    def __str__(self) -> str:
        return "\n".join(f"{name:<15}{text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(text)}</td></tr>"
            for name, text in self._rows()
        )
        return f"<table>{cells}</table>{self.ram_curve().svg()}"


def _unpickled(text: str, model: Model | None) -> Plan:
    return Plan(_core.Plan.from_json(text, None if model is None else model._core), model)


def without_ram(options: Options) -> _core.PlanOptions:
    """Options where the budgets are named elsewhere. UsageError E0116: ``ram`` beside them."""
    if "ram" in options:
        raise UsageError("E0116", "this has budgets of its own", "ram", "leave ram out")
    return plan_options(options)


def plan_options(options: Options) -> _core.PlanOptions:
    """The library's structure of the keywords of ``plan``. UsageError E01xx."""
    made: _core.PlanOptions = structure_of(_core.PlanOptions, options)
    return made


def device_of(device: PathLike) -> str:
    """The name of a device, or the path of its .toml file. UsageError E0116."""
    return text_of(os.fspath(device) if isinstance(device, os.PathLike) else device, "device")


def make_plan(model: Model, device: PathLike, options: Options, progress: Any) -> Plan:
    """See ``pantoum.plan``."""
    expect(model, Model, "model", _MODEL)
    try:
        asked = plan_options(options)
    except UsageError as error:
        share = _share_in(options.get("ram")) if error.where == "ram" else None
        if share is not None:
            raise _share_refused(error, share, model, device, options) from None
        raise
    with planning_progress(progress, "planning") as tell:
        made = Plan(_core.Plan.make(model._core, device_of(device), asked, tell), model)
    for warning in made.warnings:
        warn(warning)
    for note in made.notes:
        log.info("%s", note)
    log.info("planned: %r", made)
    return made


def _share_in(ram: object) -> float | None:
    """The share that was given as RAM: of "50%", 0.5 and "0.5". None: it is no share."""
    text = str(ram).strip() if isinstance(ram, (str, float)) else ""
    return _core.share_in(text) if text.isascii() else None


def _share_refused(error: UsageError, share: float, model: Model, device: PathLike, options: Options) -> UsageError:
    """The refusal of a share as RAM, with what the unplanned step takes. Cost: it compiles the step once more."""
    asked = plan_options({**options, "ram": None, "measure": "off", "effort": 1})
    whole = _core.Plan.make(model._core, device_of(device), asked, None).facts()["unplanned_peak_bytes"]
    return UsageError(error.code, error.message, error.where, _core.help_for_share(share, whole))


def load_plan(path: PathLike, model: Model | None = None) -> Plan:
    """A plan from its file: ``Plan.load``."""
    return Plan.load(path, model)


def verify(plan: Plan | PathLike) -> Verdict:
    """Replays a plan (or a plan's file) and evaluates its proof again. VerificationFailed E08xx."""
    return (plan if isinstance(plan, Plan) else Plan.load(plan)).verify()


def _budget_counts(budgets: str | list[Any]) -> list[int]:
    """Bytes of each budget; none for "auto". E0300: the list is empty."""
    if budgets == "auto":
        return []
    if isinstance(budgets, str):
        return _core.parse_budgets(text_of(budgets, "budgets"), "budgets")
    if not budgets:
        raise UsageError("E0300", "there is no budget", "budgets", 'give one or more, or "auto"')
    return [bytes_of(size, "budgets") for size in budgets]


def sweep_budgets(
    model: Model,
    budgets: Any,
    planners: str | Sequence[str],
    device: PathLike,
    folder: PathLike | None,
    options: Options,
    progress: Any,
) -> list[SweepRow]:
    """See ``pantoum.sweep``."""
    expect(model, Model, "model", _MODEL)
    asked = without_ram(options)
    if isinstance(budgets, Bytes):
        budgets = [budgets]
    if not isinstance(budgets, (str, Iterable)):
        advice = 'give "auto", "64KiB:1MiB:16", or a list of sizes'
        raise UsageError("E0116", f"{budgets!r} are no budgets", "budgets", advice)
    if not isinstance(budgets, str):
        budgets = list(budgets)
    try:
        counts = _budget_counts(budgets)
    except UsageError as error:
        given = re.split("[,:]", budgets) if isinstance(budgets, str) else budgets
        share = next((part for part in map(_share_in, given) if part is not None), None)
        if share is None:
            raise
        raise _share_refused(error, share, model, device, options) from None
    with planning_progress(progress, "sweeping") as tell:
        rows = _core.sweep(model._core, device_of(device), counts, names_of(planners, "planners"), asked, folder, tell)
    return [SweepRow(**row) for row in rows]


def plan_graph(graph: str | Options, options: Options, progress: Any) -> Options:
    """See ``pantoum.plan_cost_graph``."""
    try:
        text = text_of(graph if isinstance(graph, str) else json.dumps(graph), "graph")
    except (TypeError, ValueError) as error:
        raise InvalidInput("E0220", f"the graph is no JSON: {error}", "graph") from error
    with planning_progress(progress, "planning") as tell:
        made: Options = json.loads(_core.plan_cost_graph(text, plan_options(options), tell))
    return made
