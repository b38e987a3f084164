"""The hand-written part of pantoum/keywords.py: generate_keywords.py fills in what stands in braces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pantoum import deploy as _deploy
from pantoum import estimates as _estimates
from pantoum import planning as _planning
from pantoum.deploy import FirmwareSizes
from pantoum.errors import UsageError, named_options
from pantoum.estimates import Estimate
from pantoum.fitting import AnyCallback, Data, History
from pantoum.model import Model
from pantoum.options import Group, Losses, Optimizer
from pantoum.planning import Plan, Progress, SweepRow
from pantoum.quantities import Duration, PathLike, Size

if TYPE_CHECKING:
    from pantoum.data import ArrayLike

__all__ = ["emit", "estimate", "load_onnx", "plan", "plan_cost_graph", "sweep"]


def _given(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """The values that are not the function's defaults."""
    defaults = {**(function.__kwdefaults__ or {}), "ram": None}
    return {name: value for name, value in values.items() if value is not defaults.get(name)}


def load_onnx(
    path: PathLike,
    *,
    # {keywords model}
) -> Model:
    """A model from an ONNX file, and how it is trained.

    Args:
        path: of the file; it is read again when the model is planned.
        # {args model}

    Raises:
        UsageError: an option does not fit (E01xx).
        InvalidInput: the file is no model, or damaged (E02xx).
        Unsupported: operators that cannot be trained, all of them at once (E04xx).
    """
    options = # {values model}
    return Model.from_file(path, **_given(load_onnx, options))


def plan(
    model: Model,
    ram: Size | None = None,
    *,
    device: PathLike = "host",
    # {keywords plan -ram}
    progress: bool | Progress | None = None,
) -> Plan:
    """Plans a training step into a RAM budget. Ctrl-C raises KeyboardInterrupt; other threads of Python run meanwhile.

    Args:
        model: what is trained.
        ram: RAM budget of a training step, everything included: "64MiB" or ``pantoum.MiB(64)`` (default: the device's
            RAM).
        device: device profile: a name of ``pantoum.devices()``, or a .toml file (default: "host").
        # {args plan -ram}
        progress: True: shows on a terminal how far planning is; a function: called a few times a
            second, and when the plan is found, with seconds and the best and the proved value of the objective.

    Raises:
        Infeasible: it is proved that no plan fits; ``.min_ram`` is the smallest RAM for which one is known.
        LimitReached: no plan was found in time.
        UsageError: an option does not fit.
        Unsupported, InvalidInput: the model.
    """
    options = # {values plan}
    return _planning.make_plan(model, device, _given(plan, options), progress)


def plan_cost_graph(
    graph: str | dict[str, Any],
    ram: Size | None = None,
    *,
    # {keywords plan -ram}
    progress: bool | Progress | None = None,
) -> dict[str, Any]:
    """Plans a bare cost graph (docs/schema/costgraph-1.schema.json), whose device is in it.

    Args:
        graph: JSON, or a dict of it.
        ram: as ``plan`` has it, and so all keywords.
        # {args plan -ram}
        progress: as in ``plan``.

    Returns:
        The plan's JSON as a dict.

    Raises:
        InvalidInput: E0220, E0221 the graph.
        Infeasible, LimitReached: as in ``plan``.
    """
    options = # {values plan}
    return _planning.plan_graph(graph, _given(plan_cost_graph, options), progress)


def sweep(
    model: Model,
    budgets: str | Sequence[Size],
    *,
    planners: str | Sequence[str] = ("pantoum",),
    device: PathLike = "host",
    folder: PathLike | None = None,
    # {keywords plan -ram -planner}
    progress: bool | Progress | None = None,
) -> list[SweepRow]:
    """Plans a step for many budgets: the curve of time and energy over RAM.

    Args:
        model: what is trained.
        budgets: "64KiB:1MiB:16" (from, to, how many), "64KiB,1MiB", a sequence of sizes, or "auto":
            eight at most from the least RAM to the unplanned peak.
        planners: "pantoum", and methods of the literature to compare with: names of `pantoum sweep --help`.
        device: as in ``plan``.
        folder: where CSV, JSON, SVG and the plans are written (default: nowhere).
        # {args plan -ram -planner}
        progress: as in ``plan``.

    Returns:
        Rows upward by budget, planner by planner; ``time_limit`` is that of each budget.
    """
    options = # {values plan -ram -planner}
    return _planning.sweep_budgets(model, budgets, planners, device, folder, _given(sweep, options), progress)


def estimate(
    model: Model | PathLike | Any,
    example: Any = None,
    *,
    device: PathLike = "host",
    budgets: int = 5,
    time_limit: Duration = "20s",
    gap: str = "1%",
    progress: bool | Progress | None = None,
    plan: dict[str, Any] | None = None,
    loss: Losses | Any = None,
    optimizer: Any = None,
    # {keywords model -loss -optimizer}
    **capture: Any,
) -> Estimate:
    """Unplanned peak, least RAM, what binds, and the time of a step at several budgets.

    Args:
        model: a ``pantoum.Model``, the path of an ONNX file, or a ``torch.nn.Module``.
        example: one batch, for a torch module.
        device: as in ``plan``.
        budgets: number of rows (default: 5).
        time_limit: longest time of planning, all rows together (default: "20s").
        gap: planning of a row ends when it is proved to be this near to the best (default: "1%").
        progress: as in ``plan``.
        plan: further keywords of ``plan``, as {"kernels": "portable"}.
        loss: a name or a ``pantoum.Loss``; of a torch module also a function or module of torch (default: the model's,
            or "cross_entropy"; of a torch module, its own output).
        optimizer: a name or a value as ``pantoum.Adam()``; of a torch module also a ``torch.optim`` instance.
        # {args model -loss -optimizer}
        **capture: further keywords of ``from_torch``.

    Raises:
        UsageError, InvalidInput, Unsupported: as ``load_onnx``.
    """
    options = # {values model}
    asked = {"time_limit": time_limit, "gap": gap, **named_options(plan, "plan")}
    given = {**_given(estimate, options), **capture}
    return _estimates.make_estimate(model, example, given, device, budgets, asked, progress)


def emit(
    plan: Plan | PathLike,
    folder: PathLike,
    *,
    # {keywords firmware}
) -> FirmwareSizes:
    """Writes a C project that trains as planned (docs/firmware.md).

    Args:
        plan: a plan for a device of the target's kind, or the file of one.
        folder: of the project.
        # {args firmware}

    Raises:
        InvalidInput: E0291 to E0297.
    """
    options = # {values firmware}
    return _deploy.emit_project(plan, folder, _given(emit, options))


class TrainerKeywords:
    """What ``Trainer`` takes; its base."""

    def __init__(
        self,
        plan: Plan,
        *,
        weights: PathLike | None = None,
        lr: float | None = None,
        # {keywords trainer}
    ) -> None:
        """Opens the trainer.

        Args:
            plan: a plan for the host.
            weights: safetensors file to begin with (default: the model's own weights).
            lr: learning rate (default: the optimizer's).
            # {args trainer}

        Raises:
            DeviceError: E0902, E0904, E0908 the page file; E0905 threads; E0906 memory.
            InvalidInput: E024x the weights.
            UsageError: E01xx an option; E0108 this process was forked from one that computes.
        """
        options = # {values trainer}
        self._open(plan, weights, lr, _given(TrainerKeywords.__init__, options))

    def _open(self, plan: Plan, weights: PathLike | None, lr: float | None, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def fit(
        self,
        data: Data,
        target: ArrayLike | None = None,
        *,
        # {keywords fit}
        steps_per_epoch: int | None = None,
        validation: Data | None = None,
        validation_data: Data | None = None,
        validation_split: float | None = None,
        batch_size: int | None = None,
        shuffle: bool | None = None,
        callbacks: AnyCallback | Sequence[AnyCallback] = (),
        verbose: int | Literal["auto"] = "auto",
    ) -> History:
        """Trains for some epochs.

        Args:
            data: a ``Dataset``, or a tuple or dict of arrays, shuffled anew every epoch; or any iterable of batches (a
                torch DataLoader, a generator), taken in its own order: a short last batch is left out.
            target: the target of one array of inputs: ``fit(x, y)``.
            # {args fit -epochs}
            epochs: epochs of this call; an epoch that was begun is ended as the first of them. After ``resume``,
                epochs of all calls: those that the file had done are part of them (not so for an iterable).
            steps_per_epoch: steps of an epoch, for an iterable that does not end.
            validation: data that are evaluated after every epoch.
            validation_data: the same, as Keras names them.
            validation_split: the share of the data, arrays or a ``Dataset``, that is held out and evaluated after every
                epoch: spread evenly over them, so that data in the order of their classes leave some of each.
            batch_size: as Keras has it; the plan has the batch already, and another size is an error.
            shuffle: as Keras has it; the ``Trainer`` has ``shuffle`` and ``seed`` already, and an iterable its own
                order: another order is an error.
            callbacks: ``pantoum.Callback``, or functions of epoch and logs.
            verbose: 0 prints nothing, 1 ("auto") a line for each epoch and, on a terminal, one that is rewritten
                meanwhile, 2 the lines of epochs alone.

        Returns:
            A ``History``, as Keras gives one.

        Raises:
            KeyboardInterrupt: after Ctrl-C, between steps; a ``checkpoint`` that is named has been written.
            Error: as ``step`` has them.
        """
        options = # {values fit}
        given = _given(TrainerKeywords.fit, options)
        if validation is None:
            validation = validation_data
        elif validation_data is not None:
            raise UsageError("E0116", "validation and validation_data name one thing", "validation_data", "give one")
        return self._fit(
            data, target, given, steps_per_epoch, validation, validation_split, callbacks, verbose, batch_size, shuffle
        )

    def _fit(self, *given: Any) -> History:
        raise NotImplementedError
