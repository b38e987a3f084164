"""A module and its loss become a functional ATen graph: torch.export (training IR, not strict), then our
decompositions."""

from __future__ import annotations

import collections
import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from pantoum.errors import Error, InvalidInput, UsageError

from . import decompositions, movement, sampling, scatter, special
from .custom_functions import CustomFunctions, Seen
from .gradient_rules import keep_rules
from .guard import Guard, Stop, patched, refuse_hooks
from .problems import Problems, place_of, place_of_error
from .repeats import draws_restored, refuse_changes
from .structure import replace_tensors, tensors_of

assert movement.aten is sampling.aten is scatter.aten is special.aten  # their decompositions are registered

aten = torch.ops.aten


@dataclass
class Call:
    """The arguments of one step of the module, then the targets of a captured loss."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    target: Any = None
    loss: Callable[..., Any] | None = None
    """A function of output and target that gives a scalar; None: the compiler has the loss, or the module's output is
    it."""
    own_loss: bool = False
    """The module's own output is the loss."""
    loss_module: nn.Module | None = None
    """The loss, where it is a module: its parameters train too."""
    has_values: bool = True
    """The module's tensors have values: it is not on the meta device."""


@dataclass
class Traced:
    program: torch.export.ExportedProgram
    input_names: list[str]
    inputs: list[Tensor]
    targets: int
    output_names: list[str]
    has_loss: bool
    notes: list[str] = field(default_factory=list)


class _Seen:
    """Results of the traced forward. They are no attributes of the step: export would put those back."""

    def __init__(self) -> None:
        self.output_names: list[str] = []
        self.notes: list[str] = []
        self.buffers: dict[str, Tensor] = {}  # as they are before the forward is traced


class _Step(nn.Module):
    """The user's module and its loss, of flat tensors: what is exported."""

    def __init__(self, module: nn.Module, call: Call, name: str) -> None:
        super().__init__()
        self.module = module
        if call.loss_module is not None:
            self.loss_module = call.loss_module
        self.call, self.name = call, name
        self.seen = _Seen()
        self.guard: Guard | None = None

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Any:
        """A module that is at two places is one: what changes its buffers at one place is seen at the other."""
        return super().named_modules(memo, prefix, True)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = iter(tensors)
        args, kwargs, target = replace_tensors(
            (self.call.args, dict(self.call.kwargs), self.call.target), lambda _: next(given)
        )
        with self.guard or contextlib.nullcontext():
            return self._run(args, kwargs, target)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any) -> tuple[Tensor, ...]:
        if self.guard is not None:
            self.guard.known.adopt(self.named_buffers(remove_duplicate=False), self.seen.buffers)
        assigned = AssignedTensors(self.module)
        output = self.module(*args, **kwargs)
        assigned.write_back(self.guard, self.seen.notes)
        outputs = list(tensors_of(output))
        if not outputs:
            raise InvalidInput(
                "E0214", f"{self.name}: its forward gives no tensor", "", (), "return the output, or the loss"
            )
        self.seen.output_names = [
            f"output_{index}" if path.replace(".", "").isdigit() or not path else path
            for index, (path, _) in enumerate(outputs)
        ]
        answer = [tensor for _, tensor in outputs]
        if self.call.own_loss:
            return (*answer, own_loss(output, self.name))
        if self.call.loss is not None:
            return (*answer, checked_loss(self.call.loss(output, target), self.name))
        return tuple(answer)


def own_loss(output: Any, name: str) -> Tensor:
    """The loss that a module computes itself: its only output, or what it calls `loss`."""
    found = output if isinstance(output, Tensor) else getattr(output, "loss", None)
    if found is None and isinstance(output, dict):
        found = output.get("loss")
    if not isinstance(found, Tensor) or (found is output and found.numel() != 1):
        raise UsageError(
            "E0116",
            f"{name}: no loss is given, and its output is neither one number nor has one named loss",
            "loss",
            (),
            'loss="cross_entropy", or a function of output and target',
        )
    return checked_loss(found, name)


def checked_loss(loss: Any, name: str) -> Tensor:
    if isinstance(loss, Tensor) and loss.numel() == 1 and loss.is_floating_point():
        return loss.reshape(())
    what = (
        f"a tensor of shape {tuple(loss.shape)}, {loss.dtype}"
        if isinstance(loss, Tensor)
        else f"a {type(loss).__name__}"
    )
    raise UsageError(
        "E0116",
        f"{name}: the loss has to be one real number, and is {what}",
        "loss",
        (),
        "reduce it, with .mean() for example",
    )


class AssignedTensors:
    """The tensors that a forward assigns to its modules: in place of a buffer, its next value; others are not kept."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.buffers = {
            (path, name): buffer for path, each in module.named_modules() for name, buffer in each._buffers.items()
        }
        self.plain = {path: dict(each.__dict__) for path, each in module.named_modules()}

    def write_back(self, guard: Guard | None, notes: list[str]) -> None:
        modules = dict(self.module.named_modules())
        for (path, name), before in self.buffers.items():
            after = modules[path]._buffers.get(name)
            if after is before or before is None or after is None:
                continue
            if after.shape != before.shape and guard is not None:
                guard.problems.add(f"forward changes the shape of buffer {_joined(path, name)}", "", "keep its shape")
                continue
            before.copy_(after.detach())
            modules[path]._buffers[name] = before
        for path, attributes in self.plain.items():
            for name, value in modules[path].__dict__.items():
                if isinstance(value, Tensor) and attributes.get(name, self) is not value:
                    self._plain(guard, notes, _joined(path, name), attributes.get(name, self))

    def _plain(self, guard: Guard | None, notes: list[str], name: str, before: Any) -> None:
        if isinstance(before, Tensor) and guard is not None and guard.has_read(before):
            guard.problems.add(
                f"forward reads and assigns the attribute {name}", "", f'self.register_buffer("{name}", ..) keeps it'
            )
        elif before is None:
            notes.append(f"what forward assigns to the attribute {name} is not kept from step to step")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


_OF_TORCH = frozenset(nn.Module().__dict__)


@contextlib.contextmanager
def attributes_restored(module: nn.Module) -> Iterator[None]:
    """Puts the attributes of a module back: what a forward assigns to it while it is traced is a placeholder."""
    kept = [(each, dict(each.__dict__), dict(each._buffers), dict(each._parameters)) for each in module.modules()]
    containers = [
        (value, copy.copy(value))
        for _, attributes, _, _ in kept
        for name, value in attributes.items()
        if type(value) in (list, dict, set, collections.deque) and name not in _OF_TORCH
    ]
    try:
        yield
    finally:
        for value, before in containers:
            value.clear()
            value.extend(before) if isinstance(value, (list, collections.deque)) else value.update(before)
        for each, attributes, buffers, parameters in kept:
            for name in [name for name in each.__dict__ if name not in attributes]:
                del each.__dict__[name]
            each.__dict__.update(attributes)
            each._buffers.clear()
            each._buffers.update(buffers)
            each._parameters.clear()
            each._parameters.update(parameters)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Fused attention of inference and checks of values stay off; PyTorch's warnings about its own internals are
    not the user's."""
    fast, checked = torch.backends.mha.get_fastpath_enabled(), torch.distributions.Distribution._validate_args
    torch.backends.mha.set_fastpath_enabled(False)
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        torch.distributions.Distribution.set_default_validate_args(checked)


def trace(module: nn.Module, call: Call, name: str) -> Traced:
    """Exports the module on the call's example values. Raises pantoum.Unsupported with every problem's file and
    line."""
    problems = Problems()
    found = list(tensors_of((call.args, call.kwargs, call.target)))
    step = _Step(module, call, name)
    step.training = module.training  # train() would reach the modules inside
    tensors = tuple(tensor.detach() for _, tensor in found)
    with _quiet(), draws_restored(), torch.random.fork_rng(devices=[]):
        with attributes_restored(module):
            program = _export(step, tensors, problems, name)
            has_loss = call.own_loss or call.loss is not None
        if call.has_values:
            with attributes_restored(module):
                step.guard = None
                refuse_changes(step, tensors, program, problems)
    problems.raise_any(name)
    targets = sum(1 for _ in tensors_of(call.target))
    names, notes = _input_names(module, found), list(dict.fromkeys(step.seen.notes))
    return Traced(program, names, list(tensors), targets, step.seen.output_names, has_loss, notes)


def output_likes(module: nn.Module, call: Call, name: str) -> list[Tensor]:
    """Types and shapes of the module's outputs."""
    traced = trace(module, Call(call.args, call.kwargs), name)
    output = next(node for node in traced.program.graph.nodes if node.op == "output")
    return [node.meta["val"] for node in output.args[0]][-len(traced.output_names) :]


def _input_names(module: nn.Module, found: list[tuple[str, Tensor]]) -> list[str]:
    """Names as the forward's parameters have them, and the paths below them."""
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for path, _ in found:
        kind, *rest = path.split(".")
        if kind == "2":
            names.append(".".join(["target", *rest]))
            continue
        if kind == "0" and rest:
            index = int(rest[0])
            positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            rest[0] = positional[index].name if index < len(positional) else f"input_{index}"
        names.append(".".join(rest))
    return names


def _export(step: _Step, tensors: tuple[Tensor, ...], problems: Problems, name: str) -> torch.export.ExportedProgram:
    functions = CustomFunctions(problems)
    refuse_hooks(step.module, problems)
    try:
        program = _exported(step, tensors, functions, problems)
    except Seen:
        _run_example(step, tensors, functions, problems)
        functions.mode = "replay"
        problems.raise_any(name)
        program = _caught(lambda: _exported(step, tensors, functions, problems), problems, name)
    except Exception as error:
        _tell(error, problems, name)
        raise
    problems.raise_any(name)
    keep_rules(program)
    decomposed: torch.export.ExportedProgram = _caught(
        lambda: program.run_decompositions(decompositions.table()), problems, name
    )
    if step.guard is not None:
        changed = set(decomposed.graph_signature.buffers_to_mutate.values())
        _tell_decided(step.guard.known.decided, changed, problems, step.seen.notes)
    problems.raise_any(name)
    return decomposed


def _exported(
    step: _Step, tensors: tuple[Tensor, ...], functions: CustomFunctions, problems: Problems
) -> torch.export.ExportedProgram:
    guard = Guard(problems)
    step.guard = guard
    step.seen.buffers = dict(step.named_buffers(remove_duplicate=False))
    with patched(guard, lambda kind, *args, **kwargs: functions.apply(kind, *args, **kwargs)), torch.enable_grad():
        program = torch.export.export(step, tensors, strict=False)
    step.seen.notes.extend(dict.fromkeys(guard.notes))
    return program


def _tell_decided(decided: dict[str, str], changed: set[str], problems: Problems, notes: list[str]) -> None:
    """Buffers whose values the captured forward follows, in shapes or branches, must stay as they are."""
    for name, place in sorted(decided.items()):
        own = name.removeprefix("module.")
        if name in changed:
            problems.add(
                f"a shape or a branch follows buffer {own}, which forward changes",
                place,
                "torch.where, masks, or a choice outside of forward",
            )
        else:
            notes.append(f"a shape or a branch follows buffer {own} as it is now: {place}")


def _run_example(step: _Step, tensors: tuple[Tensor, ...], functions: CustomFunctions, problems: Problems) -> None:
    """Runs the forward on the example's values, for the custom functions in it; buffers are put back."""
    functions.mode, step.guard = "record", None
    kept = [(buffer, buffer.detach().clone()) for buffer in step.buffers()]
    try:
        with (
            patched(Guard(problems), lambda kind, *args, **kwargs: functions.apply(kind, *args, **kwargs)),
            torch.enable_grad(),
        ):
            step(*tensors)
    except Exception as error:
        _tell(error, problems, step.name)
        raise
    finally:
        with torch.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)


def _caught(action: Callable[[], Any], problems: Problems, name: str) -> Any:
    try:
        return action()
    except Exception as error:
        _tell(error, problems, name)
        raise


def _tell(error: Exception, problems: Problems, name: str) -> None:
    """Raises what is known of an exception of torch.export: the problems noticed before it, or its own."""
    if isinstance(error, Error):
        return
    if not problems.found and not isinstance(error, Stop):
        problems.add(*_problem_of(error))
    problems.raise_any(name, error)


def _problem_of(error: Exception) -> tuple[str, str, str]:
    """The problem that an exception of torch.export tells of, its place, and what to do."""
    kind, text = type(error).__name__, str(error).strip()
    first = next((line.strip() for line in text.splitlines() if line.strip()), kind)
    where = place_of_error(error) or (place_of(text) if "File " in text else "")
    if "expected compiled_fn to be GraphModule" in text:  # of torch.export
        return (
            "forward changes a tensor of a module whose memory another tensor of it shares",
            where,
            "a buffer of its own, with clone()",
        )
    if "is mutated in the forward method" in text:
        return (
            "forward changes a tensor that is no buffer in place",
            where,
            'self.register_buffer("name", ..) keeps it',
        )
    if "DataDependent" in kind or "data-dependent" in text or "Unbacked" in kind or "unbacked" in text.lower():
        return (
            "a value or a shape depends on the data",
            where,
            "compute with masks of a fixed shape, or choose outside of forward",
        )
    help_ = "y = y * x in place of y *= x there" if "Cannot view a tensor" in text else ""
    return (f"{kind}: {first[:300]}", where, help_)
