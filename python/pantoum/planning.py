"""Plans: what a training step keeps, computes again and pages, inside a RAM budget, and how near to the least that
is.
"""

from __future__ import annotations

import dataclasses
import html
import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from pantoum import _core
from pantoum.data import BatchTensor
from pantoum.errors import InvalidInput, UsageError, expect, names_of, path_bytes, text_of, whole_of
from pantoum.model import Model, PathLike
from pantoum.options import set_checked
from pantoum.progress import planning_progress
from pantoum.quantities import Bytes, Duration, Size, bytes_of, deadline_of, joules_of, seconds_of, share_of

__all__ = ["Explanation", "Plan", "SweepRow", "Verdict", "load_plan", "plan", "plan_cost_graph", "sweep", "verify"]

log = logging.getLogger("pantoum")
_T = TypeVar("_T")

_MODEL = "load one: pantoum.load_onnx(path, batch=32); pantoum.compile takes torch modules"

Progress = Callable[[float, float, float], object]
"""Called with seconds, and the best and proved values of the objective so far (the best is infinite at first)."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a plan costs what it costs; ``str()`` is what ``pantoum explain`` prints.

    Attributes:
        ram_binds: with everything kept, the step would cost less.
        deadline_binds: without the deadline, it would cost less.
        at_peak: (name, bytes) of what is in RAM at the peak, largest first.
        text, json: as ``pantoum explain`` prints them.
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
    """What the checker proved again, without trusting the planner: a lower bound of the objective, and the plan's
    distance.
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


class _Fact(Generic[_T]):
    """A figure of a plan: an attribute whose value is that of ``Plan.facts`` by its name."""

    def __init__(self, explained: str) -> None:
        self.__doc__ = explained

    def __set_name__(self, owner: type[Plan], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, plan: None, owner: type[Plan]) -> _Fact[_T]: ...

    @overload
    def __get__(self, plan: Plan, owner: type[Plan]) -> _T: ...

    def __get__(self, plan: Plan | None, owner: type[Plan]) -> _Fact[_T] | _T:
        if plan is None:
            return self
        value: _T = plan.facts()[self._name]
        return value

    def __set__(self, plan: Plan, value: object) -> None:
        raise AttributeError(f"{self._name} is a figure of the plan")


class Plan:
    """A checked plan, ready to train: ``pantoum.plan`` makes one.

    All figures are the independent checker's. Times and energies are modelled unless ``time_source`` says measured. A
    plan can be
    pickled; it is read again with its model.
    """

    def __init__(self, handle: _core.Plan, model: Model | None, path: PathLike | None = None) -> None:
        self._core = handle
        self._model = model
        self._path = path
        self._batch = tuple(
            BatchTensor(name, dtype, tuple(shape), target) for name, dtype, shape, target in handle.batch()
        )

    @property
    def model(self) -> Model | None:
        """What it was planned for; None: it was loaded from a file."""
        return self._model

    @property
    def batch(self) -> tuple[BatchTensor, ...]:
        """What a batch holds: inputs in the model's order, then targets."""
        return self._batch

    @property
    def samples_per_step(self) -> int:
        """Samples of a step, micro-batches together."""
        return self._core.samples_per_step()

    @property
    def warnings(self) -> list[str]:
        """Of the model's file."""
        return self._core.warnings()

    @property
    def notes(self) -> list[str]:
        """What was found out on the way."""
        return self._core.notes()

    def facts(self) -> dict[str, Any]:
        """All figures, by name."""
        return self._core.facts()

    budget_bytes = _Fact[int]("The RAM that was given, without what was reserved.")
    peak_bytes = _Fact[int]("The largest sum of what is in RAM at once.")
    arena_bytes = _Fact[int]("What the trainer takes: the peak, and gaps between tensors.")
    time_s = _Fact[float]("Seconds of a step (of its last micro-batch).")
    energy_j = _Fact[float]("Joules of a step (of its last micro-batch).")
    computed = _Fact[int]("Ops that are computed, those computed again included.")
    recomputed = _Fact[int]("Ops that are computed again.")
    pages_out = _Fact[int]("Writes to storage.")
    pages_in = _Fact[int]("Reads from storage.")
    bytes_paged_out = _Fact[int]("Bytes written to storage in a step.")
    bytes_paged_in = _Fact[int]("Bytes read from storage in a step.")
    proved_energy_j = _Fact[float | None]("No plan takes fewer joules; None: not proved.")
    proved_time_s = _Fact[float | None]("No plan takes fewer seconds; None: not proved.")
    any_order = _Fact[bool]("What is proved holds for every order of first computations.")
    gap = _Fact[float]("(objective - proved) / objective.")
    optimal = _Fact[bool]("The gap is the one that was asked for, or less.")
    unplanned_peak_bytes = _Fact[int]("The peak with everything kept.")
    unplanned_time_s = _Fact[float]("Seconds of a step with everything kept.")
    unplanned_energy_j = _Fact[float]("Joules of a step with everything kept.")
    device = _Fact[str]("The device's name.")
    time_source = _Fact[str]("Whether times are measured, and where.")

    def explain(self, effort: int = 1) -> Explanation:
        """What binds, what is in RAM at the peak, and what more RAM would buy: the step is planned again with 1, 5 and
        10% more.

        Args:
            effort: search spent on each of these plans.
        """
        ram_binds, deadline_binds, at_peak, text, document = self._core.explain(whole_of(effort, "effort", 1))
        return Explanation(ram_binds, deadline_binds, at_peak, text, document)

    def verify(self) -> Verdict:
        """Replays the plan and evaluates its proof again. VerificationFailed E08xx."""
        return Verdict(*self._core.verify())

    def report(self, path: PathLike, logs: Sequence[PathLike] = ()) -> None:
        """Writes one self-contained HTML page about the plan, and about runs that followed it (their logs).
        DeviceError E0901.
        """
        _core.write_report(self._core, path, [logs] if isinstance(logs, (str, bytes, os.PathLike)) else list(logs))

    def to_json(self) -> str:
        """As ``save`` writes it: docs/schema/plan-2.schema.json."""
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
            path: what ``save`` wrote.
            model: of the plan; None: the file says where its model is.

        Raises:
            InvalidInput: E0230 no plan, E0231 of another step, E0293 it names no model.
        """
        if model is None:
            return Plan(_core.Plan.load(path), None, os.fspath(path))
        expect(model, Model, "model", _MODEL)
        try:
            with open(path_bytes(path), encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError as error:
            raise InvalidInput("E0201", f"the plan cannot be read: {error.strerror}", os.fsdecode(path)) from error
        return Plan(_core.Plan.from_json(text, model._core), model)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self.to_json(), self._model))

    def _rows(self) -> list[tuple[str, str]]:
        facts = self.facts()

        def size(name: str) -> str:
            return _core.show_bytes(facts[name])

        time = _core.show_seconds(facts["time_s"])
        proof = "not proved" if facts["gap"] >= 1 else f"within {facts['gap']:.3%} of the least"
        return [
            ("device", f"{facts['device']} ({facts['time_source']})"),
            ("peak", f"{size('peak_bytes')} of {size('budget_bytes')}"),
            ("unplanned", f"{size('unplanned_peak_bytes')}, {_core.show_seconds(facts['unplanned_time_s'])}"),
            ("step", f"{time}, {facts['energy_j']:.3g} J; {self.samples_per_step} samples"),
            ("computed again", f"{facts['recomputed']} of {facts['computed']} ops"),
            ("paged", f"{size('bytes_paged_out')} out, {size('bytes_paged_in')} in"),
            ("proof", proof),
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
        return f"<table>{cells}</table>"


def _unpickled(text: str, model: Model | None) -> Plan:
    if model is not None:
        return Plan(_core.Plan.from_json(text, model._core), model)
    return Plan(_core.Plan.from_json_alone(text), None)


def plan_options(
    *,
    ram: Size | None = None,
    reserve: Size | None = None,
    deadline: Duration | None = None,
    energy_limit: str | None = None,
    objective: str = "energy",
    gap: str | None = None,
    time_limit: Duration | None = None,
    kernels: str = "auto",
    measure: str = "auto",
    profile_store: PathLike | None = None,
    page_folder: PathLike | None = None,
    **others: Any,
) -> _core.PlanOptions:
    """The library's own options; the arguments are those of ``plan``. UsageError E01xx, E0300."""
    made = _core.PlanOptions()
    if ram is not None:
        made.set_ram(bytes_of(ram, "ram"))
    if reserve is not None:
        made.set_reserve(bytes_of(reserve, "reserve"))
    if deadline is not None:
        made.set_deadline(*deadline_of(deadline, "deadline"))
    if energy_limit is not None:
        made.set_energy_limit(joules_of(energy_limit, "energy_limit"))
    if gap is not None:
        made.gap = share_of(gap, "gap")
    if time_limit is not None:
        made.set_time_limit(seconds_of(time_limit, "time_limit"))
    if profile_store is not None:
        made.set_profile_store(profile_store)
    if page_folder is not None:
        made.set_page_folder(page_folder)
    made.objective = objective
    made.kernels = _named(_core.Kernels, kernels, "kernels")
    made.measure = _named(_core.Measure, measure, "measure")
    for name, value in others.items():
        if value is not None:
            set_checked(made, name, value)
    return made


def without_ram(options: dict[str, Any]) -> _core.PlanOptions:
    """``plan_options`` where the budgets are named elsewhere. UsageError E0116: ``ram`` beside them."""
    if "ram" in options:
        raise UsageError("E0116", "this has budgets of its own", "ram", (), "leave ram out")
    return plan_options(**options)


def device_of(device: str | os.PathLike[str]) -> str:
    """The name of a device, or the path of its .toml file. UsageError E0116."""
    return text_of(os.fspath(device) if isinstance(device, os.PathLike) else device, "device")


def _named(kind: Any, name: str, what: str) -> Any:
    known = [member.name for member in kind]
    if name not in known:
        raise UsageError("E0115", f"'{name}' is no {what}", what, (), f"use one of {', '.join(known)}")
    return getattr(kind, name)


def plan(
    model: Model,
    ram: Size | None = None,
    *,
    device: str = "host",
    deadline: Duration | None = None,
    objective: Literal["energy", "time", "edp"] = "energy",
    reserve: Size | None = None,
    energy_limit: str | None = None,
    gap: str | None = None,
    time_limit: Duration | None = None,
    effort: int | None = None,
    threads: int | None = None,
    paging: bool = True,
    recomputing: bool = True,
    in_place: bool = True,
    reordering: bool = True,
    compact_activations: bool = False,
    kernels: Literal["auto", "portable", "onednn"] = "auto",
    measure: Literal["off", "missing", "all", "auto"] = "auto",
    profile_store: PathLike | None = None,
    page_folder: PathLike | None = None,
    page_encryption: bool = True,
    prefetch: int | None = None,
    progress: bool | Progress | None = None,
) -> Plan:
    """Plans a training step into a RAM budget. Ctrl-C raises KeyboardInterrupt; other threads of Python run meanwhile.

    Args:
        model: what is trained.
        ram: the budget, everything in all, as "64MiB" or ``pantoum.MiB(64)``; None: the device's.
        device: a name of ``pantoum.devices()``, or a .toml file.
        deadline: of a step, as "450ms" or "1.3x" of the step with unlimited RAM.
        objective: what is least: "energy", "time", or "edp" (energy times time).
        reserve: of the budget, kept free.
        energy_limit: of a step, as "3.2J".
        gap: stop when proved within; "0.01%".
        time_limit: of the search, "60s".
        effort: above 0: a fixed amount of search in place of the clock: the same plan on every machine.
        threads: for planning and kernels; None: all cores.
        paging: the planner may write tensors to storage and read them back.
        recomputing: it may drop tensors and compute them again.
        in_place: results may take the place of inputs.
        reordering: it may choose another order of ops.
        compact_activations: it may keep signs and window taps in place of activations.
        kernels: of the host.
        measure: times of this machine; "auto": those that are missing, on the host.
        profile_store: file of measured times; None: in memory, for this plan alone.
        page_folder: whose storage is measured; None: where training makes its page file.
        page_encryption: whether the page file will be encrypted.
        prefetch: batches made ahead, whose bytes are part of ``ram``.
        progress: True: shown (by tqdm where it is installed); a function: called with seconds, best and bound, a few
            times a second and of the plan that is found.

    Raises:
        Infeasible: proved that no plan fits; ``.min_ram`` is the smallest RAM for which one is known.
        LimitReached: none was found in time.
        UsageError: an option does not fit.
        Unsupported, InvalidInput: the model.
    """
    expect(model, Model, "model", _MODEL)
    options = plan_options(
        ram=ram,
        reserve=reserve,
        deadline=deadline,
        energy_limit=energy_limit,
        objective=objective,
        gap=gap,
        time_limit=time_limit,
        kernels=kernels,
        measure=measure,
        profile_store=profile_store,
        page_folder=page_folder,
        effort=effort,
        threads=threads,
        paging=paging,
        recomputing=recomputing,
        in_place=in_place,
        reordering=reordering,
        compact_activations=compact_activations,
        page_encryption=page_encryption,
        prefetch=prefetch,
    )
    with planning_progress(progress, "planning") as tell:
        made = Plan(_core.Plan.make(model._core, device_of(device), options, tell), model)
    for warning in made.warnings:
        log.warning("%s", warning)
    for note in made.notes:
        log.info("%s", note)
    log.info("planned: %r", made)
    return made


def load_plan(path: PathLike, model: Model | None = None) -> Plan:
    """As ``Plan.load``."""
    return Plan.load(path, model)


def verify(plan: Plan | PathLike) -> Verdict:
    """Replays a plan (or a plan's file) and evaluates its proof again. VerificationFailed E08xx."""
    return (plan if isinstance(plan, Plan) else Plan.load(plan)).verify()


def sweep(
    model: Model,
    budgets: str | Sequence[Size],
    *,
    planners: Sequence[str] = ("pantoum",),
    device: str = "host",
    folder: PathLike | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> list[SweepRow]:
    """Plans a step for many budgets: the curve of time and energy over RAM.

    Args:
        model: what is trained.
        budgets: "64KiB:1MiB:16" (from, to, how many), "64KiB,1MiB", or a sequence of sizes.
        planners: names of `pantoum sweep --help`; "pantoum" and methods of the literature to compare with.
        device: as in ``plan``.
        folder: where CSV, JSON, SVG and the plans are kept; None: nowhere.
        progress: as in ``plan``.
        **options: as in ``plan``; ``time_limit`` is that of each budget.

    Returns:
        Rows upward by budget, planner by planner.
    """
    expect(model, Model, "model", _MODEL)
    asked = without_ram(options)
    if isinstance(budgets, Bytes):
        budgets = [budgets]
    if not isinstance(budgets, (str, Iterable)):
        raise UsageError(
            "E0116", f"{budgets!r} are no budgets", "budgets", (), 'give "64KiB:1MiB:16", or a list of sizes'
        )
    counts = (
        _core.parse_budgets(text_of(budgets, "budgets"), "budgets")
        if isinstance(budgets, str)
        else [bytes_of(size, "budgets") for size in budgets]
    )
    with planning_progress(progress, "sweeping") as tell:
        rows = _core.sweep(model._core, device_of(device), counts, names_of(planners, "planners"), asked, folder, tell)
    return [SweepRow(**row) for row in rows]


def plan_cost_graph(
    graph: str | dict[str, Any], ram: Size | None = None, *, progress: bool | Progress | None = None, **options: Any
) -> dict[str, Any]:
    """Plans a bare cost graph (docs/schema/costgraph-1.schema.json), and gives the plan's JSON as a dict.

    ``options`` are those of ``plan``. InvalidInput E0220, E0221: the graph; Infeasible, LimitReached as in ``plan``.
    """
    try:
        text = text_of(graph if isinstance(graph, str) else json.dumps(graph), "graph")
    except (TypeError, ValueError) as error:
        raise InvalidInput("E0220", f"the graph is no JSON: {error}", "graph") from error
    with planning_progress(progress, "planning") as tell:
        made: dict[str, Any] = json.loads(_core.plan_cost_graph(text, plan_options(ram=ram, **options), tell))
    return made


def bytes_or_none(count: int) -> Bytes | None:
    """None for 0."""
    return Bytes(count) if count > 0 else None
