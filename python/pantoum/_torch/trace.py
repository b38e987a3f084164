"""A module and its loss become a functional ATen graph: torch.export (training IR, not strict), then our
decompositions."""

from __future__ import annotations

import collections
import contextlib
import copy
import gc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen
from torch.fx.graph_module import _WrappedCall

from pantoum.errors import Error, InvalidInput, UsageError

from . import decompositions
from .chosen import refuse_chosen
from .custom_functions import CustomFunctions, Seen
from .guard import Guard, patched, refuse_hooks, replaced
from .problems import Problems, Stop, place_of, place_of_error
from .repeats import draws_restored, refuse_changes
from .structure import Args, member, parameters_of, positional, replace_tensors, tensors_of

aten = torch.ops.aten


@dataclass
class Call:
    """The arguments of one step of the module, then the targets of a captured loss."""

    args: Args
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
    program: ExportedProgram
    input_names: list[str]
    inputs: list[Tensor]
    targets: int
    output_names: list[str]
    has_loss: bool
    notes: list[str] = field(default_factory=list)
    decided: dict[str, str] = field(default_factory=dict)
    """Buffers whose values a shape, a branch or a constant of the program follows, and where."""


class _Seen:
    """Results of the traced forward. They are not attributes of the step, because export would restore those."""

    def __init__(self) -> None:
        self.output_names: list[str] = []
        self.notes: list[str] = []
        self.decided: dict[str, str] = {}
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
        """A module at two places is one module: a change of its buffers at one place is seen at the other."""
        return super().named_modules(memo, prefix, True)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = iter(tensors)
        args, kwargs, target = replace_tensors(
            (self.call.args, dict(self.call.kwargs), self.call.target), lambda _: next(given)
        )
        with self.guard or contextlib.nullcontext():
            return self._run(args, kwargs, target)

    def _run(self, args: Args, kwargs: dict[str, Any], target: Any) -> tuple[Tensor, ...]:
        if self.guard is not None:
            self.guard.known.adopt(self.named_buffers(remove_duplicate=False), self.seen.buffers)
        assigned = AssignedTensors(self.module)
        output = self.module(*args, **kwargs)
        if self.guard is not None:
            refuse_chosen(output, self.guard.problems, "an output")
        assigned.write_back(self.guard, self.seen.notes)
        outputs = list(tensors_of(output))
        if not outputs:
            raise InvalidInput(
                "E0214", f"{self.name}: its forward gives no tensor", "", "return the output, or the loss"
            )
        self.seen.output_names = [
            f"output_{index}" if path.replace(".", "").isdigit() or not path else path
            for index, (path, _) in enumerate(outputs)
        ]
        answer = [tensor for _, tensor in outputs]
        if self.call.own_loss:
            return (*answer, own_loss(output, self.name))
        if self.call.loss is not None:
            loss = self.call.loss(output, target)
            if self.guard is not None:
                refuse_chosen(loss, self.guard.problems, "the loss")
            return (*answer, checked_loss(loss, self.name))
        return tuple(answer)


def own_loss(output: Any, name: str) -> Tensor:
    """The loss that a module computes itself: its only output, or what it calls `loss`."""
    found = output if isinstance(output, Tensor) else member(output, "loss")
    if not isinstance(found, Tensor) or (found is output and found.numel() != 1):
        raise UsageError(
            "E0116",
            f"{name}: no loss is given, and its output is neither one number nor has one named loss",
            "loss",
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
        "reduce it, with .mean() for example",
    )


class AssignedTensors:
    """The tensors that a forward assigns to its modules. A tensor in place of a buffer is the buffer's next value;
    others are not kept."""

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


@contextlib.contextmanager
def _cheaply() -> Iterator[None]:
    """Saves a third of the time of an export. torch.fx writes and compiles code for each of its graphs, which an
    interpreter runs: here a graph gets code when it is called. Python's collector looks for cycles among all nodes
    again and again: here seldom."""
    before = gc.get_threshold()
    with replaced(GraphModule, "recompile", _compile_when_called):
        gc.set_threshold(max(before[0], 200_000) if before[0] else 0, *before[1:])
        try:
            yield
        finally:
            gc.set_threshold(*before)


_recompile = GraphModule.recompile


def _compile_when_called(self: Any) -> None:
    """GraphModule.recompile, but the code is written at the first call."""
    codegen, kind = self._graph._codegen, type(self)
    if isinstance(codegen, _PyTreeCodeGen):
        self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec

    def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
        _recompile(module)
        return type(module).forward(module, *args, **kwargs)

    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        return module._wrapped_call(module, *args, **kwargs)

    if "_wrapped_call" not in vars(kind):
        kind._wrapped_call = _WrappedCall(kind, kind.__call__ if "__call__" in vars(kind) else None)
    self._recompile_submodules()
    kind.forward, kind.__call__ = forward, call


def trace(module: nn.Module, call: Call, name: str) -> Traced:
    """Exports the module on the call's example values. Raises pantoum.Unsupported with every problem's file and
    line."""
    problems = Problems()
    found = list(tensors_of((call.args, call.kwargs, call.target)))
    step = _Step(module, call, name)
    step.training = module.training  # train() would reach the modules inside
    tensors = tuple(tensor.detach() for _, tensor in found)
    with _quiet(), _cheaply(), draws_restored(), torch.random.fork_rng(devices=[]):
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
    return Traced(program, names, list(tensors), targets, step.seen.output_names, has_loss, notes, step.seen.decided)


def output_likes(module: nn.Module, call: Call, name: str) -> list[Tensor]:
    """Types and shapes of the module's outputs."""
    traced = trace(module, Call(call.args, call.kwargs), name)
    output = next(node for node in traced.program.graph.nodes if node.op == "output")
    return [node.meta["val"] for node in output.args[0]][-len(traced.output_names) :]


def _input_names(module: nn.Module, found: list[tuple[str, Tensor]]) -> list[str]:
    """Names as the forward's parameters have them, and the paths below them."""
    parameters = positional(parameters_of(module.forward) or [])
    names = []
    for path, _ in found:
        kind, *rest = path.split(".")
        if kind == "2":
            names.append(".".join(["target", *rest]))
            continue
        if kind == "0" and rest:
            index = int(rest[0])
            rest[0] = parameters[index].name if index < len(parameters) else f"input_{index}"
        names.append(".".join(rest))
    return names


def _export(step: _Step, tensors: tuple[Tensor, ...], problems: Problems, name: str) -> ExportedProgram:
    functions = CustomFunctions(problems)
    refuse_hooks(step.module, problems)
    try:
        with _told(problems, name):
            program = _exported(step, tensors, functions, problems)
    except Seen:
        with _told(problems, name):
            _run_example(step, tensors, functions, problems)
        functions.mode = "replay"
        problems.raise_any(name)
        with _told(problems, name):
            program = _exported(step, tensors, functions, problems)
    problems.raise_any(name)
    keep_rules(program)
    with _told(problems, name):
        decomposed: ExportedProgram = program.run_decompositions(decompositions.table())
    if step.guard is not None:
        changed = set(decomposed.graph_signature.buffers_to_mutate.values())
        _tell_decided(step.guard.known.decided, changed, problems, step.seen.notes)
        step.seen.decided = {name.removeprefix("module."): at for name, at in step.guard.known.decided.items()}
    problems.raise_any(name)
    return decomposed


def _exported(
    step: _Step, tensors: tuple[Tensor, ...], functions: CustomFunctions, problems: Problems
) -> ExportedProgram:
    step.guard = Guard(problems)
    step.seen.buffers = dict(step.named_buffers(remove_duplicate=False))
    with patched(step.guard, functions.apply), torch.enable_grad():
        program = torch.export.export(step, tensors, strict=False)
    step.seen.notes.extend(dict.fromkeys(step.guard.notes))
    return program


def _tell_decided(decided: dict[str, str], changed: set[str], problems: Problems, notes: list[str]) -> None:
    """Buffers whose values the captured forward follows, in shapes or branches, must stay as they are."""
    for name, place in sorted(decided.items()):
        own = name.removeprefix("module.")
        if name in changed:
            problems.add(
                f"a shape or a branch follows buffer {own}, which forward changes",
                place,
                f"keep it a tensor: index_copy at (self.{own} + torch.arange(n)) % size, not at int(self.{own}); "
                "torch.where or masks in place of a branch",
            )
        else:
            notes.append(f"a shape or a branch follows buffer {own} as it is now: {place}")


def _run_example(step: _Step, tensors: tuple[Tensor, ...], functions: CustomFunctions, problems: Problems) -> None:
    """Runs the forward on the example's values, for the custom functions in it; buffers are put back."""
    functions.mode, step.guard = "record", None
    kept = [(buffer, buffer.detach().clone()) for buffer in step.buffers()]
    try:
        with patched(Guard(problems), functions.apply), torch.enable_grad():
            step(*tensors)
    finally:
        with torch.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)


@contextlib.contextmanager
def _told(problems: Problems, name: str) -> Iterator[None]:
    """Raises what is known of an exception of torch.export: the problems noticed before it, or its own."""
    try:
        yield
    except (Error, Seen):
        raise
    except Exception as error:
        if not problems.found and not isinstance(error, Stop):
            problems.add(*_problem_of(error))
        problems.raise_any(name, error)
        raise


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


# Blocks of the training IR --------------------------------------------------------------------------------------------


def keep_rules(program: torch.export.ExportedProgram) -> None:
    """Puts every block of the training IR in line."""
    module = program.graph_module
    while _inline_one(module):
        pass
    for node in list(module.graph.nodes):
        if node.target is aten._assert_tensor_metadata.default:
            module.graph.erase_node(node)  # of types that autocast would have given
        if node.target is aten.view.default:
            node.target = aten.reshape.default  # a decomposition's result may be laid out in another way
        if node.target is aten.max_pool2d_with_indices.default and any(user.args[1] == 1 for user in node.users):
            node.target = decompositions.max_pool_with_places
        if node.target is aten.max_pool1d_with_indices.default:  # of return_indices=True
            node.target = decompositions.max_pool1d_with_places
    module.graph.lint()
    module.recompile()


_NO_GRAD = "pantoum_no_grad"
_BLOCKS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")


def _inline_one(module: GraphModule) -> bool:
    for node in module.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") in _BLOCKS:
            _inline(module, node)
            return True
    return False


def _inline(module: GraphModule, node: Any) -> None:
    grad = node.target.__name__ == _BLOCKS[0]
    position = next(index for index, arg in enumerate(node.args) if isinstance(arg, Node) and arg.op == "get_attr")
    attribute = node.args[position]
    block = getattr(module, attribute.target)
    detached = not node.args[0] if grad else bool(node.meta.get(_NO_GRAD))
    graph = module.graph
    env: dict[Node, Any] = {}
    inputs = iter(node.args[position + 1 :])
    with graph.inserting_before(node):
        for inner in block.graph.nodes:
            if inner.op == "placeholder":
                env[inner] = next(inputs)
            elif inner.op == "output":
                outputs = inner.args[0]
            else:
                env[inner] = _copied(module, block, graph, inner, env, detached)
    results = [
        env[each] if isinstance(each, Node) else each
        for each in (outputs if isinstance(outputs, (list, tuple)) else [outputs])
    ]
    for user in list(node.users):
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)
    if not attribute.users:
        graph.erase_node(attribute)


def _copied(
    module: GraphModule, block: GraphModule, graph: Graph, inner: Any, env: dict[Node, Any], detached: bool
) -> Node:
    if inner.op == "get_attr":
        name = f"_inlined_{len(list(module.named_children()))}_{inner.target}"
        setattr(module, name, getattr(block, inner.target))
        copy = graph.get_attr(name)
        copy.meta = dict(inner.meta)
        return copy
    plain = getattr(inner.target, "__name__", "") not in (*_BLOCKS, "getitem")

    def argument(node: Node) -> Any:
        value = env[node]
        if not (
            detached
            and plain
            and node.op == "placeholder"
            and isinstance(value, Node)
            and isinstance(node.meta.get("val"), Tensor)
        ):
            return value
        copy = graph.call_function(aten.detach.default, (value,))
        copy.meta = {**inner.meta, "val": node.meta["val"]}
        return copy

    copy = graph.node_copy(inner, argument)
    copy.meta = {**inner.meta, _NO_GRAD: detached}
    return copy
