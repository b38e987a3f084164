"""`pantoum.check`: is a captured module, trained by the compiler, what PyTorch trains?"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from pantoum.errors import Error, named_options
from pantoum.keywords import plan as make_plan
from pantoum.model import losses_of, optimizer_of, refuse_stand_ins
from pantoum.options import Sgd, SparseAdam
from pantoum.quantities import Options, Size

from .binding import Bound, bind
from .bridge import model_of_graph
from .capture import capture, names_in, plain_module
from .graph_file import STORED, Document, TorchGraph, dtype_name
from .losses import OWN, LossChoice, as_function, choose_loss
from .optimizers import OptimizerChoice, choose_optimizer, torch_optimizer
from .sparse_gradients import SparseGradients
from .structure import replace_tensors, tensors_of
from .trace import attributes_restored, own_loss
from .trainer import TorchTrainer

_RANDOM = (
    "aten.rand.default",
    "aten.randn.default",
    "aten.randint.low",
    "aten.native_dropout.default",
    "aten.multinomial.default",
)
# An error of the compiler counts as rounding up to this multiple of the error of PyTorch's own float32: a sign that
# rounding turns (a ReLU at 0, a maximum of two) changes both by as much.
_AS_ROUNDING = 3.0
_ROUNDINGS = 4  # ways to round that are tried
# The learning rate of the step that gradients are read from: large beside
# the rounding of the parameters.
_SCALE = 1024.0


Values: TypeAlias = dict[str, Any]
"""Values by name: tensors, or arrays of numpy."""


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
        compared: "whole": loss, gradients and steps; "operators": each operator alone, as the forward draws random
            numbers; "nothing": no operator of such a forward can be compared.
        operators: number of operators that were compared alone.
        seconds: that the comparison took.
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
    compared: str = "whole"
    operators: int = 0
    seconds: float = 0.0
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Loss and gradients within the tolerance, or as near as PyTorch's own float32; the steps within ten times it,
        as differences grow from step to step. Where operators alone are compared: none differs. False where nothing was
        compared."""
        if self.compared != "whole":
            return self.compared == "operators" and not self.differs
        worst, moved = _worst(self.gradients), _worst(self.weights)
        later = max(self.losses, default=0.0)
        found, near = self.rounding, self.tolerance
        return all(
            error <= max(limit, _AS_ROUNDING * rounding)
            for error, limit, rounding in (
                (self.loss, near, found.loss),
                (worst, near, found.gradients),
                (later, 10 * near, found.losses),
                (moved, 10 * near, found.weights),
            )
        )

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        ones, equal = f"{self.operators} operators, each alone,", "equal" if self.ok else "NOT equal"
        found = {
            "whole": f"{equal} to PyTorch in loss, gradients and {len(self.losses)} steps",
            "operators": f"the step was not compared; {ones} have PyTorch's values and gradients"
            if self.ok
            else f"the step was not compared; of {ones} one has NOT PyTorch's value or gradients",
            "nothing": "nothing was compared with PyTorch",
        }[self.compared]
        lines = [f"{self.name}: {found} (tolerance {self.tolerance:g})"]
        lines += [f"  loss       {self.loss:.1e}"] * (self.compared == "whole")
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
    refuse_stand_ins(graph.stand_ins)
    bound = bind(module, inputs, target, choice.needs_target)
    if choice.named is not None and bound.target is None:
        bound = dataclasses.replace(bound, target=_labels(module, bound, losses_of(choice.named)))
    begun = time.monotonic()
    run = _Run(module, graph, loss, choice, chosen, bound, options, named_options(plan_options, "plan_options"), ram)
    report = CheckReport(graph.name, tolerance, notes=[*graph.notes, *chosen.notes])
    if any(node["op"] in _RANDOM for node in graph.document["nodes"]):
        report.differs, count, others = first_difference(graph, run.inputs(), tolerance)
        report.compared, report.operators = "operators" if count else "nothing", count
        report.seconds = time.monotonic() - begun
        report.notes += _not_compared(graph, report, others)
        return report
    run.compare(report, steps)
    if not report.ok:
        report.differs, report.operators, _ = first_difference(graph, run.inputs(), tolerance)
    report.seconds = time.monotonic() - begun
    return report


def _not_compared(graph: TorchGraph, report: CheckReport, others: list[str]) -> list[str]:
    """What was not compared of a forward that draws, and why."""
    draws = sorted({node["op"].split(".")[1] for node in graph.document["nodes"] if node["op"] in _RANDOM})
    notes = [
        f"{', '.join(draws)} draws random numbers, and the compiler draws others: loss, gradients and optimizer steps "
        "of the whole were not compared; with these modules in eval() they are"
    ]
    if others:
        notes.append(f"not compared alone either: {', '.join(others)}")
    if report.operators:
        notes.append(f"each operator was compiled and run as a step of its own: {report.seconds:.1f} s in all")
    return notes


@dataclasses.dataclass
class _Run:
    """One comparison: the module in PyTorch on one side, its graph in the compiler on the other."""

    module: nn.Module
    graph: TorchGraph
    loss: Any
    choice: LossChoice
    chosen: OptimizerChoice
    bound: Bound
    options: Options
    plan_options: Options
    ram: Size | None

    def batch(self) -> list[Tensor]:
        """The example's tensors, in the order in which a batch holds them."""
        bound = self.bound
        return [tensor for _, tensor in tensors_of((bound.args, bound.kwargs, bound.target))]

    def inputs(self) -> list[Tensor]:
        """The tensors that are inputs of the graph; the labels of the compiler's own losses are not."""
        return self.batch()[: len(self.graph.document["inputs"])]

    def trainer(self, optimizer: Any, groups: bool = True) -> TorchTrainer:
        """A trainer with this optimizer; `groups`: in the groups that the chosen one has."""
        chosen = dataclasses.replace(self.chosen, optimizer=optimizer, groups=self.chosen.groups if groups else [])
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
            buffers = {name for name, _ in self.module.named_buffers()}  # such parameters drift, and buffers with them
            report.weights = [each for each in report.weights if each.what not in noise | buffers]
            of = ", ".join(sorted(noise))
            note = f"the gradient of {of} is rounding alone: the steps of an optimizer that scales it were not compared"
            report.notes.append(note)

    def _compare_gradients(self, report: CheckReport, reference: Reference) -> Values:
        """PyTorch's gradients."""
        loss, gradients = reference.gradients()
        with self.trainer(Sgd(lr=_SCALE), groups=False) as trainer:
            made, found = step_gradients(trainer, self.batch())
        report.loss = relative(made, loss)
        report.gradients = distances(found, self._trained(gradients))
        return gradients

    def _trained(self, gradients: Values) -> Values:
        return {name: value for name, value in gradients.items() if name not in self.chosen.frozen}

    def _rounding(self, reference: Reference, optimizer: Any, steps: int) -> Rounding:
        def side(by: Reference) -> tuple[float, Values, list[float], Values]:
            loss, gradients = by.gradients()
            return loss, self._trained(gradients), *self._steps(by, optimizer, steps)

        loss, gradients, losses, weights = side(reference)
        floor = 1e-2 * abs(losses[0])
        draws = []
        for draw in range(_ROUNDINGS):
            found = side(reference.in_float32(draw))
            draws.append(
                Rounding(
                    relative(found[0], loss),
                    _worst(distances(found[1], gradients)),
                    max(relative(a, b, floor) for a, b in zip(found[2], losses, strict=True)),
                    _worst(distances(found[3], weights)),
                )
            )
        return Rounding(*(max(each) for each in zip(*map(dataclasses.astuple, draws), strict=True)))

    def _steps(self, reference: Reference, optimizer: Any, steps: int) -> tuple[list[float], Values]:
        """PyTorch's losses, and what it makes of the weights."""
        make = lambda named: torch_optimizer(optimizer, named, self.chosen)  # noqa: E731
        with SparseGradients() if isinstance(optimizer, SparseAdam) else contextlib.nullcontext():
            return reference.steps(make, set(self.chosen.frozen), steps)

    def _compare_steps(self, report: CheckReport, reference: Reference, optimizer: Any, steps: int) -> None:
        losses, state = self._steps(reference, optimizer, steps)
        with self.trainer(optimizer) as trainer:
            report.losses = [relative(trainer.step(*self.batch()), loss, 1e-2 * abs(losses[0])) for loss in losses]
            after = {each.name: trainer.read(each.name) for each in trainer.tensors if not each.is_state}
            after |= trainer.state_dict()
        kept = self.module.state_dict().keys() | dict(self.module.named_parameters()).keys() | after.keys()
        state = {name: value for name, value in state.items() if name in kept}  # no trainer has what nothing reads
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


def _worst(differences: list[Difference]) -> float:
    return max((each.error for each in differences), default=0.0)


def step_gradients(trainer: TorchTrainer, batch: list[Tensor]) -> tuple[float, Values]:
    """The loss of a step of plain descent at the rate _SCALE, and the gradients, read from how far weights move."""
    before = trainer.state_dict()
    loss = trainer.step(*batch)
    after = trainer.state_dict()
    with np.errstate(invalid="ignore"):  # a mask of infinities
        return loss, {name: (value.astype(np.float64) - after[name]) / _SCALE for name, value in before.items()}


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
            output = output.movedim(term.batch_axis, 0)
            axis = output.dim() - 1 if term.classes_last else 1
            shape = [extent for d, extent in enumerate(output.shape) if d != axis]
            made.append((torch.arange(math.prod(shape)) % output.shape[axis]).reshape(shape))
        else:
            shape = list(output.movedim(term.batch_axis, 0).shape)
            made.append(torch.linspace(0, 1, output.numel()).reshape(shape))
    return made


def _term(term: Any, output: Tensor, label: Tensor) -> Tensor:
    output = output.movedim(term.batch_axis, 0)
    if term.classes_last and output.dim() > 2:
        output = output.movedim(-1, 1)
        label = label.movedim(-1, 1) if term.name == "soft_cross_entropy" else label
    weight = torch.as_tensor(term.class_weights, dtype=output.dtype) if len(term.class_weights) else None
    options: dict[str, Options] = {
        "cross_entropy": {"label_smoothing": term.smoothing, "ignore_index": term.ignore_index, "weight": weight},
        "soft_cross_entropy": {"label_smoothing": term.smoothing, "weight": weight},
        "nll": {"ignore_index": term.ignore_index, "weight": weight},
        "smooth_l1": {"beta": term.beta},
        "kl_div": {"reduction": "batchmean" if term.mean_of_batch else "mean"},
    }
    return OWN[term.name](output, label, **options.get(term.name, {}))


# The first operator that differs --------------------------------------------------------------------------------------


_NORMS = ("aten._native_batch_norm_legit_functional.default", "aten._native_batch_norm_legit_no_training.default")


def first_difference(graph: TorchGraph, inputs: list[Tensor], tolerance: float) -> tuple[str, int, list[str]]:
    """The first operator, in the order of the graph, whose value or gradient is not PyTorch's ("" where none is), the
    number of operators that were compared, and the names of those that were not."""
    run = Interpreter(graph)
    values = run.run(inputs)
    seen: set[str] = set()
    others: set[str] = set()
    count = 0
    for node in graph.document["nodes"]:
        shapes = [list(each.shape) for each in _operands(node, values).values()]
        key = json.dumps(
            [node["op"], [arg for arg in node["args"] if not isinstance(arg, (dict, list))], node["kwargs"], shapes]
        )
        if node["op"] in _RANDOM:
            others.add(node["op"].split(".")[1])
        if key in seen or node["op"].startswith(("aten.rand", "aten.native_dropout", "aten.full")):
            continue
        seen.add(key)
        error = _alone(node, values, tolerance)
        count += error is not None
        if error is None:
            others.add(node["op"].split(".")[1])
        if error:
            place = f" ({node['where']})" if node["where"] else ""
            return f"{node['op']} '{node['name']}'{place}: {error}", count, sorted(others)
    return "", count, sorted(others)


def _operands(node: Document, values: Values) -> dict[str, Tensor]:
    return {name: values[name] for name in names_in([node["args"], node["kwargs"]])}


def _entry(value: str, tensor: Tensor) -> Document:
    return {"value": value, "name": value, "dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape)}


def _single(node: Document, values: Values) -> TorchGraph | None:
    """One node with its operands as parameters, and the weighted sum of its real results as the loss."""
    operands = _operands(node, values)
    statistics = {arg["v"] for arg in node["args"][3:5] if node["op"] in _NORMS and isinstance(arg, dict)}
    real = {name: each for name, each in operands.items() if each.is_floating_point() and name not in statistics}
    results = [output for output in node["outputs"] if output is not None and output["dtype"] == "f32"]
    if "_norm" in node["op"]:
        results = results[:1]  # what else they give has no gradient in PyTorch's training either
    if not real or not results:
        return None
    draw = torch.Generator().manual_seed(0)
    contents = {name: tensor.detach().clone() for name, tensor in operands.items()}
    constants = [_entry(name, tensor) for name, tensor in operands.items() if name not in real]
    nodes, total = [node], "sum_0"
    for index, output in enumerate(results):
        weight = f"w_{index}"
        contents[weight] = torch.randn(output["shape"], generator=draw)
        constants.append(_entry(weight, contents[weight]))
        weighted = [{"v": output["value"]}, {"v": weight}]
        nodes.append(_node("aten.mul.Tensor", weighted, f"weighted_{index}", output["shape"]))
        nodes.append(_node("aten.sum.default", [{"v": f"weighted_{index}"}], f"sum_{index}", []))
        if index:
            nodes.append(_node("aten.add.Tensor", [{"v": total}, {"v": f"sum_{index}"}], f"total_{index}", []))
            total = f"total_{index}"
    unused = {"value": "unused_input", "name": "unused_input", "dtype": "f32", "shape": [1, 1], "target": False}
    document = {
        "name": node["op"],
        "torch": torch.__version__,
        "batch": 1,
        "inputs": [unused],
        "parameters": [{**_entry(name, tensor), "trains": True} for name, tensor in real.items()],
        "buffers": [],
        "constants": constants,
        "nodes": nodes,
        "outputs": [{"value": total, "name": "output_0"}],
        "loss": total,
    }
    return TorchGraph(document, contents)


def _node(op: str, args: list[Any], name: str, shape: list[int]) -> Document:
    return {
        "name": f"{name}_node",
        "op": op,
        "args": args,
        "kwargs": {},
        "outputs": [{"value": name, "dtype": "f32", "shape": shape}],
        "where": "",
        "module": "",
    }


def _alone(node: Document, values: Values, tolerance: float) -> str | None:
    """Says how one operator differs from PyTorch; "": it does not; None: it cannot be trained, or compared, alone."""
    graph = _single(node, values)
    if graph is None:
        return None
    given = torch.zeros(1, 1)
    try:
        loss, wanted, _ = gradients(graph, [given], torch.float64)
    except RuntimeError:  # PyTorch differentiates it in a step alone: a norm that moves statistics
        return None
    if not math.isfinite(float(loss)):  # an infinity that the step means, as the arrival of what has no weight
        return None
    try:
        found, changes = _trained(graph, given)
    except Error as error:
        return None if error.code == "E0405" else str(error)
    scale = max([abs(float(loss)), *(float(each.abs().sum()) * 1e-3 for each in wanted.values()), 1e-6])
    if not abs(found - float(loss)) <= 10 * tolerance * scale:
        return f"its value is another: {found:.9g} in a weighted sum, PyTorch {float(loss):.9g}"
    floor = 1e-3 * max(float(each.norm()) for each in wanted.values()) + 1e-9
    for name, gradient in wanted.items():
        off = float(np.linalg.norm(changes[name] - gradient.numpy())) / max(float(gradient.norm()), floor)
        if not off <= 10 * tolerance:
            return f"its gradient by operand '{name}' is another, by {off:.1e}"
    return ""


def _trained(graph: TorchGraph, given: Tensor) -> tuple[float, Values]:
    model = model_of_graph(graph, None, OptimizerChoice(Sgd(lr=_SCALE)), (), {})
    with TorchTrainer(make_plan(model, measure="off", effort=1), graph) as trainer:
        return step_gradients(trainer, [given])


# A graph with PyTorch's own operators ---------------------------------------------------------------------------------


_REALS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Interpreter:
    """The graph of a file, as a function of its inputs; `dtype` is what its reals are computed in."""

    def __init__(self, graph: TorchGraph, dtype: torch.dtype = torch.float32) -> None:
        self.graph, self.dtype = graph, dtype
        self.state = {name: self._real(tensor.detach().clone()) for name, tensor in graph.tensors.items()}

    def _real(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def run(self, inputs: Sequence[Tensor]) -> Values:
        """Every value of one forward, by name."""
        document = self.graph.document
        values: Values = {}
        for section in ("parameters", "buffers", "constants"):
            values.update({entry["value"]: self.state[entry["name"]] for entry in document[section]})
        values.update(
            {entry["value"]: self._real(given) for entry, given in zip(document["inputs"], inputs, strict=True)}
        )
        for node in document["nodes"]:
            result = self._call(node, values)
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            for output, each in zip(node["outputs"], results, strict=False):
                if output is not None:
                    values[output["value"]] = each
        return values

    def _call(self, node: Document, values: Values) -> Any:
        args, kwargs = self._decode(node["args"], values), self._decode(node["kwargs"], values)
        if node["op"] == "aten.where.self":
            return torch.where(*args)
        if node["op"] == "aten.view.default":
            return args[0].reshape(args[1])
        if node["op"] == "aten.full.default":
            kwargs.setdefault("dtype", self.dtype)
        if node["op"] in ("aten.rand.default", "aten.randn.default"):
            kwargs["dtype"] = self.dtype
        if (
            node["op"].endswith(".Tensor")
            and any(isinstance(arg, (bool, int, float)) for arg in args[:2])
            and not node["op"].startswith(("aten.slice", "aten.index"))
        ):
            args = self._with_scalars(args)
        return operator(node["op"])(*args, **kwargs)

    def _with_scalars(self, args: list[Any]) -> list[Any]:
        like = next(arg for arg in args if isinstance(arg, Tensor))
        return [
            torch.tensor(arg, dtype=torch.float64 if isinstance(arg, float) and like.is_floating_point() else None)
            if isinstance(arg, (bool, int, float)) and index < 2
            else arg
            for index, arg in enumerate(args)
        ]

    def _decode(self, arg: Any, values: Values) -> Any:
        if isinstance(arg, list):
            return [self._decode(each, values) for each in arg]
        if not isinstance(arg, dict):
            return arg
        if "v" in arg and len(arg) == 1:
            return values[arg["v"]]
        if "dtype" in arg and len(arg) == 1 and isinstance(arg["dtype"], str):
            return self.dtype if arg["dtype"] == "f32" else STORED[arg["dtype"]]
        if "real" in arg and len(arg) == 1:
            return _REALS[arg["real"]]
        return {key: self._decode(each, values) for key, each in arg.items()}


def operator(name: str) -> Any:
    """The operator of a name as the file has it: "aten.add.Tensor"."""
    space, short, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), short), overload)


def gradients(
    graph: TorchGraph, inputs: Sequence[Tensor], dtype: torch.dtype = torch.float32
) -> tuple[Tensor, dict[str, Tensor], Document]:
    """The captured loss, its gradient by each trained parameter's name, and every value."""
    run = Interpreter(graph, dtype)
    trained = [entry["name"] for entry in graph.document["parameters"] if entry["trains"]]
    for name in trained:
        run.state[name].requires_grad_(True)
    values = run.run(inputs)
    loss = values[graph.document["loss"]]
    if not loss.requires_grad:
        return loss.detach(), {name: torch.zeros_like(run.state[name]) for name in trained}, values
    parameters = [run.state[name] for name in trained]
    found = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return loss.detach(), {name: each.to_dense() for name, each in zip(trained, found, strict=True)}, values


# PyTorch's own training, on copies of the tensors ---------------------------------------------------------------------


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Reference:
    """A module, its batch and its loss in PyTorch: in float64 where the module's code allows it, else in float32."""

    def __init__(self, module: nn.Module, bound: Bound, loss: Callable[[Any, Any], Any] | None) -> None:
        self.module, self.bound, self.loss = module, bound, loss
        self.dtype = torch.float64
        self.noise: torch.Generator | None = None
        try:
            self.gradients()
        except Exception:  # a module's own code, which may say float32 anywhere
            self.dtype = torch.float32

    def _cast(self, tensor: Tensor) -> Tensor:
        tensor = tensor.detach().clone()
        if not tensor.is_floating_point():
            return tensor
        tensor = tensor.to(self.dtype)
        if self.noise is not None:
            unit = torch.finfo(self.dtype).eps
            tensor *= 1 + unit * (2 * torch.rand(tensor.shape, generator=self.noise) - 1)
        return tensor

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        parameters = {
            name: self._cast(value).requires_grad_(value.requires_grad)
            for name, value in self.module.named_parameters()
        }
        return parameters, {name: self._cast(value) for name, value in self.module.named_buffers()}

    def _forward(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        args, kwargs, target = replace_tensors((self.bound.args, self.bound.kwargs, self.bound.target), self._cast)
        state = {**parameters, **buffers}  # functional_call leaves here what forward assigns to the module's buffers
        with attributes_restored(self.module), _default_dtype(self.dtype), torch.enable_grad():
            output = torch.func.functional_call(self.module, state, args, kwargs)
            loss = own_loss(output, type(self.module).__name__) if self.loss is None else self.loss(output, target)
        buffers.update({name: state[name].detach() for name in buffers})
        return loss.reshape(())

    def in_float32(self, draw: int) -> Reference:
        """The same computation in the numbers that PyTorch trains with. Beyond draw 0 every number is rounded
        otherwise: moved by up to a unit in its last place."""
        other = copy.copy(self)
        other.dtype = torch.float32
        other.noise = torch.Generator().manual_seed(draw) if draw else None
        return other

    def gradients(self) -> tuple[float, Values]:
        """The loss, and the gradient of each parameter that trains."""
        parameters, buffers = self._state()
        loss = self._forward(parameters, buffers)
        trained = {name: value for name, value in parameters.items() if value.requires_grad}
        if not loss.requires_grad:
            return float(loss), {name: np.zeros(value.shape) for name, value in trained.items()}
        found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        return float(loss.detach()), {
            name: np.zeros(value.shape) if each is None else each.to_dense().double().numpy()
            for (name, value), each in zip(trained.items(), found, strict=True)
        }

    def steps(
        self, optimizer: Callable[[dict[str, Tensor]], torch.optim.Optimizer], frozen: set[str], count: int
    ) -> tuple[list[float], Values]:
        """Losses of `count` steps, and every real parameter and buffer after them."""
        parameters, buffers = self._state()
        for name in frozen:
            parameters[name].requires_grad_(False)
        update = optimizer({name: value for name, value in parameters.items() if value.requires_grad})
        losses = []
        for _ in range(count):
            update.zero_grad()
            loss = self._forward(parameters, buffers)
            torch.autograd.backward(loss)
            update.step()
            losses.append(float(loss.detach()))
        state = {**parameters, **buffers}
        return losses, {
            name: value.detach().double().numpy() for name, value in state.items() if value.is_floating_point()
        }
