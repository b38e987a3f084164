"""`pantoum.check`: is a captured module, trained by the compiler, what PyTorch trains?"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from pantoum.errors import named_options
from pantoum.keywords import plan as make_plan
from pantoum.model import losses_of, optimizer_of
from pantoum.options import Sgd
from pantoum.quantities import Size

from .binding import Bound, bind
from .bridge import model_of_graph
from .capture import capture, plain_module
from .first_difference import first_difference
from .graph_file import TorchGraph
from .losses import LossChoice, as_function, choose_loss
from .optimizers import OptimizerChoice, choose_optimizer, torch_optimizer
from .reference import Reference
from .structure import tensors_of
from .trainer import TorchTrainer

_RANDOM = (
    "aten.rand.default",
    "aten.randn.default",
    "aten.randint.low",
    "aten.native_dropout.default",
    "aten.multinomial.default",
)
# Errors of the compiler up to so many times those of PyTorch's own float32 are float32's: a sign that rounding turns
# (a ReLU at 0, a maximum of two) moves both by as much.
_AS_ROUNDING = 3.0
_ROUNDINGS = 4  # ways to round that are tried
# The learning rate of the step that gradients are read from: large beside
# the rounding of the parameters.
_SCALE = 1024.0


@dataclasses.dataclass(frozen=True)
class Difference:
    """How far a figure of the compiler's is from PyTorch's: relative; of tensors in the Euclidean norm."""

    what: str
    error: float


@dataclasses.dataclass
class Rounding:
    """How far PyTorch's own float32 is from its float64, at the most: 0 where the reference is float32."""

    loss: float = 0.0
    gradients: float = 0.0
    losses: float = 0.0
    weights: float = 0.0


@dataclasses.dataclass
class CheckReport:
    """What `check` found; `print` shows it, `ok` says it in one word.

    Attributes:
        tolerance: what counts as equal.
        loss, losses: of the first step, and of all steps, relative errors.
        gradients: one `Difference` for each trained parameter, worst first.
        weights: one for each parameter and buffer after the steps, worst first.
        rounding: errors of PyTorch's own float32, measured where something is beyond the tolerance.
        differs: the first operator whose value or gradient differs from PyTorch's, with its place; "": none does.
        notes: what was not compared, and why.
    """

    name: str
    tolerance: float
    loss: float = 0.0
    losses: list[float] = dataclasses.field(default_factory=list)
    gradients: list[Difference] = dataclasses.field(default_factory=list)
    weights: list[Difference] = dataclasses.field(default_factory=list)
    rounding: Rounding = dataclasses.field(default_factory=Rounding)
    differs: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Loss and gradients within the tolerance, or as near as PyTorch's own float32; the steps within ten times it,
        as differences grow from step to step."""
        worst = max((each.error for each in self.gradients), default=0.0)
        moved = max((each.error for each in self.weights), default=0.0)
        later = max(self.losses, default=0.0)
        found = self.rounding
        return (
            self.loss <= max(self.tolerance, _AS_ROUNDING * found.loss)
            and worst <= max(self.tolerance, _AS_ROUNDING * found.gradients)
            and later <= max(10 * self.tolerance, _AS_ROUNDING * found.losses)
            and moved <= max(10 * self.tolerance, _AS_ROUNDING * found.weights)
        )

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {'equal to PyTorch' if self.ok else 'NOT equal to PyTorch'} (tolerance {self.tolerance:g})"
        ]
        lines.append(f"  loss       {self.loss:.1e}")
        if self.gradients:
            worst = self.gradients[0]
            lines.append(f"  gradients  {worst.error:.1e} at most, of {len(self.gradients)} ({worst.what})")
        if self.losses:
            lines.append(f"  {len(self.losses)} steps    {max(self.losses):.1e} in the loss at most")
        if self.weights:
            lines.append(f"  weights    {self.weights[0].error:.1e} at most after them ({self.weights[0].what})")
        if self.rounding != Rounding():
            off = self.rounding
            lines.append(
                f"  PyTorch's own float32 is off by {off.loss:.1e} in the loss, {off.gradients:.1e} in gradients and "
                f"{off.weights:.1e} in weights:\n  up to {_AS_ROUNDING:g} times as much is rounding"
            )
        lines += [f"  first to differ: {self.differs}"] * bool(self.differs)
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def check(
    module: nn.Module,
    inputs: Any,
    loss: Any = None,
    optimizer: Any = None,
    *,
    target: Any = None,
    steps: int = 5,
    tolerance: float = 1e-5,
    ram: Size | None = None,
    plan_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> CheckReport:
    """Compares the compiler with PyTorch on one batch: loss, every gradient, and `steps` optimizer steps.

    The module is not changed. PyTorch computes in float64 where the module can, so that its own rounding does not
    count.

    Args:
        module: as `pantoum.compile` takes it.
        inputs: one batch, the `example` of `pantoum.compile`.
        loss: as `pantoum.compile` takes it.
        optimizer: as `pantoum.compile` takes it; None: "sgd".
        target: of the batch, where it is not in `inputs`; None: one that fits the output.
        steps: of the optimizer, all on this batch.
        tolerance: the largest relative error of loss and gradients that counts as equal.
        ram: the budget that the steps run in; None: the step's unplanned peak.
        plan_options: further arguments of `pantoum.plan`.
        **options: further arguments of `from_torch`.

    Raises:
        Error: as `pantoum.compile` has them.
    """
    module = plain_module(module)
    choice, chosen = choose_loss(loss), choose_optimizer("sgd" if optimizer is None else optimizer, module, loss)
    graph = capture(module, inputs, loss, target)
    bound = bind(module, inputs, target, choice.needs_target)
    if choice.named is not None and bound.target is None:
        bound = dataclasses.replace(bound, target=_labels(module, bound, losses_of(choice.named)))
    run = _Run(module, graph, loss, choice, chosen, bound, options, named_options(plan_options, "plan_options"), ram)
    report = CheckReport(graph.name, tolerance, notes=[*graph.notes, *chosen.notes])
    if any(node["op"] in _RANDOM for node in graph.document["nodes"]):
        report.notes.append(
            "the forward draws random numbers, and the compiler's are others: nothing was compared but its parts"
        )
        report.differs = first_difference(graph, run.inputs(), tolerance)
        return report
    run.compare(report, steps)
    if not report.ok:
        report.differs = first_difference(graph, run.inputs(), tolerance)
    return report


@dataclasses.dataclass
class _Run:
    """One comparison: the module in PyTorch on one side, its graph in the compiler on the other."""

    module: nn.Module
    graph: TorchGraph
    loss: Any
    choice: LossChoice
    chosen: OptimizerChoice
    bound: Bound
    options: dict[str, Any]
    plan_options: dict[str, Any]
    ram: Size | None

    def batch(self) -> list[Tensor]:
        """The example's tensors, in the order in which a batch holds them."""
        bound = self.bound
        return [tensor for _, tensor in tensors_of((bound.args, bound.kwargs, bound.target))]

    def inputs(self) -> list[Tensor]:
        """Those that the graph has: labels of the compiler's own losses are none."""
        return self.batch()[: len(self.graph.document["inputs"])]

    def trainer(self, optimizer: Any, decays: bool = True) -> TorchTrainer:
        """A trainer with this optimizer; `decays`: it takes the weight decays that the chosen one has for some
        parameters."""
        chosen = dataclasses.replace(self.chosen, optimizer=optimizer, decays=self.chosen.decays if decays else [])
        model = model_of_graph(self.graph, self.loss, chosen, (), self.options)
        return TorchTrainer(make_plan(model, self.ram, **self.plan_options), self.graph)

    def compare(self, report: CheckReport, steps: int) -> None:
        reference = Reference(self.module, self.bound, loss_of(self.choice))
        gradients = self._compare_gradients(report, reference)
        optimizer = optimizer_of("sgd" if self.chosen.optimizer is None else self.chosen.optimizer)
        self._compare_steps(report, reference, optimizer, steps)
        if not report.ok and reference.dtype == torch.float64:
            report.rounding = self._rounding(reference, optimizer, steps)
        noise: set[str] = set() if isinstance(optimizer, Sgd) else rounding_alone(gradients)
        if noise:
            buffers = {name for name, _ in self.module.named_buffers()}  # what such a parameter drifts by moves them
            report.weights = [each for each in report.weights if each.what not in noise | buffers]
            of = ", ".join(sorted(noise))
            note = f"the gradient of {of} is rounding alone: the steps of an optimizer that scales it were not compared"
            report.notes.append(note)

    def _compare_gradients(self, report: CheckReport, reference: Reference) -> dict[str, Any]:
        """PyTorch's gradients."""
        loss, gradients = reference.gradients()
        with self.trainer(Sgd(lr=_SCALE), decays=False) as trainer:
            before = trainer.state_dict()
            report.loss = relative(trainer.step(*self.batch()), loss)
            after = trainer.state_dict()
        found = {
            name: (before[name].astype(np.float64) - after[name].astype(np.float64)) / _SCALE
            for name in gradients
            if name in before
        }
        frozen = set(self.chosen.frozen)
        report.gradients = distances(found, {name: value for name, value in gradients.items() if name not in frozen})
        return gradients

    def _rounding(self, reference: Reference, optimizer: Any, steps: int) -> Rounding:
        frozen, decays = set(self.chosen.frozen), dict(self.chosen.decays)

        def side(by: Reference) -> tuple[float, dict[str, Any], list[float], dict[str, Any]]:
            loss, gradients = by.gradients()
            trained = {name: value for name, value in gradients.items() if name not in frozen}
            return loss, trained, *by.steps(lambda named: torch_optimizer(optimizer, named, decays), frozen, steps)

        exact, answer = side(reference), Rounding()
        floor = 1e-2 * abs(exact[2][0])
        for draw in range(_ROUNDINGS):
            found = side(reference.in_float32(draw))
            answer.loss = max(answer.loss, relative(found[0], exact[0]))
            answer.losses = max(
                [answer.losses, *(relative(a, b, floor) for a, b in zip(found[2], exact[2], strict=True))]
            )
            answer.gradients = max([answer.gradients, *(each.error for each in distances(found[1], exact[1]))])
            answer.weights = max([answer.weights, *(each.error for each in distances(found[3], exact[3]))])
        return answer

    def _compare_steps(self, report: CheckReport, reference: Reference, optimizer: Any, steps: int) -> None:
        frozen, decays = set(self.chosen.frozen), dict(self.chosen.decays)
        losses, state = reference.steps(lambda named: torch_optimizer(optimizer, named, decays), frozen, steps)
        with self.trainer(optimizer) as trainer:
            report.losses = [relative(trainer.step(*self.batch()), loss, 1e-2 * abs(losses[0])) for loss in losses]
            after = trainer.state_dict()
        report.weights = distances(
            {name: np.asarray(after[name], np.float64) for name in state if name in after}, state
        )


def rounding_alone(gradients: Mapping[str, Any]) -> set[str]:
    """Parameters whose gradient is 0 but for rounding, as that of a bias before a batch norm."""
    norms = {name: float(np.linalg.norm(np.asarray(value, np.float64))) for name, value in gradients.items()}
    return {name for name, norm in norms.items() if norm <= 1e-6 * max(norms.values())}


def relative(found: float, wanted: float, floor: float = 0.0) -> float:
    return abs(found - wanted) / max(abs(wanted), floor, 1e-6) if math.isfinite(found) else math.inf


def _off(found: Any, wanted: Any) -> float:
    """The Euclidean distance; infinite where one has an infinity or a NaN that the other has not (a mask has some)."""
    found, wanted = np.asarray(found, np.float64).reshape(-1), np.asarray(wanted, np.float64).reshape(-1)
    odd = ~(np.isfinite(found) & np.isfinite(wanted))
    if not np.array_equal(found[odd], wanted[odd], equal_nan=True):
        return math.inf
    return float(np.linalg.norm(found[~odd] - wanted[~odd]))


def distances(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Difference]:
    """Relative distances, worst first. A tensor that is next to nothing beside the largest is measured against a
    hundredth of that."""
    finite = {name: np.where(np.isfinite(value), value, 0.0) for name, value in wanted.items()}
    norms = {name: float(np.linalg.norm(value)) for name, value in finite.items()}
    floor = 1e-2 * max(norms.values(), default=0.0) + 1e-12
    answer = []
    for name, value in wanted.items():
        off = _off(found[name], value) if name in found else math.inf
        answer.append(Difference(name, off / max(norms[name], floor)))
    return sorted(answer, key=lambda each: -each.error)


_TERMS: dict[str, Callable[..., Tensor]] = {
    "cross_entropy": F.cross_entropy,
    "soft_cross_entropy": F.cross_entropy,
    "nll": F.nll_loss,
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth_l1": F.smooth_l1_loss,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "kl_div": F.kl_div,
}


def loss_of(choice: LossChoice) -> Callable[[Any, Any], Any] | None:
    """The loss as PyTorch computes it; None: the module's own output."""
    if choice.captured:
        return as_function(choice)
    terms = losses_of(choice.named)

    def total(output: Any, target: Any) -> Any:
        outputs = _outputs(output)
        targets = [tensor for _, tensor in tensors_of(target)]
        answer: Any = 0.0
        for term, label in zip(terms, targets, strict=True):
            made = outputs[term.output if term.output in outputs else ""]
            answer = answer + term.weight * _term(term, made, label)
        return answer

    return total


def _outputs(output: Any) -> dict[str, Tensor]:
    """The tensors of an output by the names that losses have for them; "" is the first."""
    names = ("", *(f"output_{index}" for index in range(1, 99)))
    return dict(zip(names, (tensor for _, tensor in tensors_of(output)), strict=False))


def _labels(module: nn.Module, bound: Bound, terms: Any) -> list[Tensor]:
    """Targets for losses whose example has none: classes in turn, else numbers from 0 to 1."""
    with torch.no_grad():
        outputs = _outputs(copy.deepcopy(module)(*bound.args, **bound.kwargs))
    made = []
    for term in terms:
        output = outputs[term.output if term.output in outputs else ""]
        if term.name in ("cross_entropy", "nll"):
            axis = output.dim() - 1 if term.classes_last else 1
            shape = [extent for d, extent in enumerate(output.shape) if d != axis]
            made.append((torch.arange(math.prod(shape)) % output.shape[axis]).reshape(shape))
        else:
            made.append(torch.linspace(0, 1, output.numel()).reshape(output.shape))
    return made


def _term(term: Any, output: Tensor, label: Tensor) -> Tensor:
    if term.classes_last and output.dim() > 2:
        output = output.movedim(-1, 1)
    more: dict[str, Any] = {}
    if term.name == "cross_entropy":
        more = {"label_smoothing": term.smoothing, "ignore_index": term.ignore_index}
    elif term.name == "nll":
        more = {"ignore_index": term.ignore_index}
    elif term.name == "smooth_l1":
        more = {"beta": term.beta}
    elif term.name == "kl_div":
        more = {"reduction": "batchmean" if term.mean_of_batch else "mean"}
    return _TERMS[term.name](output, label, **more)


__all__ = ["CheckReport", "Difference", "check"]
