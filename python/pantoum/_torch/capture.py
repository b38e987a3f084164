"""A torch module becomes a torch graph file: `capture`."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.export.graph_signature import InputKind, OutputKind

from pantoum.errors import Unsupported, UsageError

from .binding import bind, what_was_meant
from .computed import Computed, program_of
from .graph_file import STORED, WIDENED, Document, TorchGraph, dtype_name, input_name
from .losses import LossChoice, as_function, choose_loss, derived_target, refuse_other_labels
from .nodes import NodeWriter, Value
from .problems import Problems
from .state import ModuleState, has_values, span_of, without_values
from .structure import named_tensors, tensors_of
from .trace import Call, Traced, output_likes, trace


def capture(module: nn.Module, example: Any, loss: Any = None, target: Any = None) -> TorchGraph:
    """A module's forward, and its loss where it is one of torch's, as PyTorch computes them in training.

    Args:
        module: in the mode it is to be trained in (train() or eval(), each submodule as it is); its parameters, their
            requires_grad and its
            buffers are taken as they are. It is not changed.
        example: one batch: a tensor or array, a tuple or dict of them, or a batch as a loader gives it, target last.
        loss: a name of the compiler's ("cross_entropy", "mse", ..), a loss module, a function of output and target;
            None: the
            module's output is the loss, or has one named `loss`.
        target: of the example, where it has none; of a captured loss it is made up where there is none: class 0, or
            zeros.

    Returns:
        The graph: static shapes, dimension 0 of the first input is the batch.

    Raises:
        Unsupported: E0407, with file and line of everything that cannot be captured.
        UsageError: E0115, E0116, loss or example do not fit the module.
    """
    module = plain_module(module)
    choice = choose_loss(loss)
    bound = bind(module, example, target, choice.needs_target)
    refuse_other_labels(choice, bound.target)
    name = type(module).__name__
    call, problems = Call(bound.args, bound.kwargs), Problems()
    refuse_shared_memory(module, problems)
    problems.raise_any(name)
    stand_ins = [*without_values(module), *(without_values(loss) if isinstance(loss, nn.Module) else ())]
    with on_cpu(module) as given:
        call.has_values = given is module and all(has_values(t) for _, t in tensors_of((bound.args, bound.kwargs)))
        if choice.captured:
            call.target = _target(given, call, choice, bound.target, name)
            call.loss, call.own_loss = as_function(choice), choice.function is None
            call.loss_module = choice.function if isinstance(choice.function, nn.Module) else None
        try:
            graph = write_graph(given, trace(given, call, name), name, stands_in=bool(stand_ins))
        except Unsupported as error:
            meant = None if target is not None else what_was_meant(module, example, choice.needs_target)
            if meant is None:
                raise
            raise meant from error
        computed = {entry["name"] for entry in (*graph.document["parameters"], *graph.document["buffers"])}
        graph.decided = {buffer: place for buffer, place in graph.decided.items() if buffer in graph.tensors}
        graph.state, graph.stand_ins = ModuleState.of(given, computed), stand_ins
        return graph


def _target(module: nn.Module, call: Call, choice: LossChoice, target: Any, name: str) -> Any:
    """The example's target, or one that fits the output."""
    if target is not None or not choice.needs_target:
        return target
    outputs = output_likes(module, call, name)
    if len(outputs) != 1:
        raise UsageError(
            "E0116", f"{name} has {len(outputs)} outputs", "target", "give an example of the target, target="
        )
    return derived_target(choice, outputs[0])


def plain_module(module: Any) -> nn.Module:
    """The module behind torch.compile's; a module that has a graph of its own cannot be captured."""
    module = getattr(module, "_orig_mod", module)
    if isinstance(module, torch.jit.ScriptModule):
        raise UsageError(
            "E0116", "a ScriptModule cannot be captured", "model", "give the nn.Module that it was made of"
        )
    if not isinstance(module, nn.Module):
        raise UsageError(
            "E0116", f"a {type(module).__qualname__} is no torch.nn.Module", "model", "give a torch.nn.Module"
        )
    return module


@contextlib.contextmanager
def on_cpu(module: nn.Module) -> Iterator[nn.Module]:
    """The module itself. Where tensors of it have no values (meta device, storage given back): a copy of the module in
    which zeros stand in for these tensors."""
    if not without_values(module):
        yield module
        return
    same: dict[int, Any] = {}  # what stands for each tensor in the copy: itself, or zeros
    for tensor in named_tensors(module).values():
        same[id(tensor)] = tensor
        if not has_values(tensor) and not nn.parameter.is_lazy(tensor):
            made = torch.zeros(tensor.shape, dtype=tensor.dtype)
            same[id(tensor)] = nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made
    yield copy.deepcopy(module, same)


def write_graph(module: nn.Module, traced: Traced, name: str, *, stands_in: bool = False) -> TorchGraph:
    """The traced program as a torch graph file. `stands_in`: zeros stand for tensors that have no values."""
    problems = Problems()
    writer = NodeWriter(problems)
    writer.reserve(named_tensors(module))
    sections = _Sections(writer, module, traced)
    for node in traced.program.graph.nodes:
        if node.op == "placeholder":
            sections.take(node)
    for node in traced.program.graph.nodes:
        if node.op == "call_function":
            writer.write(node)
        elif node.op == "get_attr":
            writer.env[node] = getattr(traced.program.graph_module, node.target)
    problems.raise_any(name)
    sections.finish()
    problems.raise_any(name)
    computed = sections.compute(stands_in)
    problems.raise_any(name)
    document: Document = {
        "name": name,
        "torch": torch.__version__.split("+")[0],
        "batch": sections.batch,
        "inputs": sections.inputs,
        "parameters": sections.parameters,
        "buffers": sections.buffers,
        "constants": writer.constants,
        "nodes": writer.nodes,
        "outputs": sections.outputs,
        "loss": sections.loss,
    }
    drop_unused(document)
    kept = {entry["name"] for entry in document["constants"]}
    contents = {**sections.contents, **{key: value for key, value in writer.contents.items() if key in kept}}
    narrowed = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in writer.narrowed))
    notes = [*traced.notes, *sections.notes, *[f"{narrowed}: computed as float32"] * bool(narrowed)]
    return TorchGraph(
        document, contents, computed=computed, decided=traced.decided, notes=[*notes, *freeze_unreached(document)]
    )


class _Sections:
    """Inputs, parameters, buffers and outputs of the file."""

    def __init__(self, writer: NodeWriter, module: nn.Module, traced: Traced) -> None:
        self.writer, self.module, self.traced = writer, module, traced
        self.inputs: list[Document] = []
        self.parameters: list[Document] = []
        self.buffers: list[Document] = []
        self.outputs: list[Document] = []
        self.contents: dict[str, Tensor] = {}
        self.loss: str | None = None
        self.notes: list[str] = []
        self.specs = {spec.arg.name: spec for spec in traced.program.graph_signature.input_specs}
        self.changed = set(traced.program.graph_signature.buffers_to_mutate.values())
        self.batch = _batch(list(traced.inputs))
        self.shared: dict[
            int, tuple[Value, str]
        ] = {}  # by tensor: its value, and its name where it is a buffer that stays
        self.own = named_tensors(module)

    def take(self, node: Any) -> None:
        spec, like, program = self.specs[node.name], node.meta["val"], self.traced.program
        name = (spec.target or "").removeprefix("module.")
        if spec.kind == InputKind.CONSTANT_TENSOR:
            constant = program.constants[spec.target]
            if is_of_trained(constant, self.module):
                what = f"{name} has memory of a trained parameter, and is another tensor"
                self.writer.problems.add(what, "", "use the parameter itself in forward, and its detach() there")
            self.writer.env[node] = constant
            return
        if not node.users and dtype_name(like.dtype) is None and spec.target not in self.changed:
            return  # nothing reads a tensor whose type is not computed with: it keeps its value
        tensor = self.own.get(name)
        if tensor is not None and id(tensor) in self.shared:
            self.writer.env[node], buffer = self.shared[id(tensor)]
            if buffer:
                self.writer.buffers[node] = buffer
            return
        value_name = self._value_name(node, spec)
        stays = spec.kind == InputKind.BUFFER and spec.target not in self.changed
        with self.writer.at(f"input {value_name}" if spec.kind == InputKind.USER_INPUT else spec.target or ""):
            entry = self.writer.describe(self.writer.fresh(value_name), like, stays)
        self.writer.env[node] = Value(entry["value"], like)
        if stays and dtype_name(WIDENED.get(like.dtype, like.dtype)) is not None:
            self.writer.buffers[node] = name
        if tensor is not None:
            self.shared[id(tensor)] = self.writer.env[node], self.writer.buffers.get(node, "")
        if spec.kind == InputKind.PARAMETER:
            trains = tensor is None or tensor.requires_grad  # a loss module's own are not among the module's
            self.parameters.append({**entry, "name": name, "trains": trains})
            self.contents[name] = program.state_dict[spec.target]
        elif spec.kind == InputKind.BUFFER:
            self.buffers.append({**entry, "name": name, "becomes": None})
            self.contents[name] = {**program.constants, **program.state_dict}[spec.target]
        elif spec.kind == InputKind.USER_INPUT:
            index = len(self.inputs)
            target = index >= len(self.traced.inputs) - self.traced.targets
            batch = len(like.shape) > 0 and like.shape[0] == self.batch
            self.inputs.append(
                {**entry, "name": input_name(self.traced.input_names[index]), "target": target, "batch": batch}
            )
        elif spec.kind != InputKind.TOKEN:
            self.writer.problems.add(f"an input of kind {spec.kind.name} cannot be kept")

    def _value_name(self, node: Any, spec: Any) -> str:
        if spec.kind == InputKind.USER_INPUT and len(self.inputs) < len(self.traced.input_names):
            return re.sub(r"\W", "_", self.traced.input_names[len(self.inputs)])
        return str(node.name).replace("_module_", "_", 1)

    def finish(self) -> None:
        """Outputs, the loss, and what buffers become."""
        output: Any = next(node for node in self.traced.program.graph.nodes if node.op == "output")
        users: list[Any] = []
        for arg, spec in zip(output.args[0], self.traced.program.graph_signature.output_specs, strict=True):
            made = hasattr(arg, "op") and spec.kind != OutputKind.TOKEN
            value = self.writer.value(self.writer.env[arg]) if made else None
            if spec.kind == OutputKind.USER_OUTPUT:
                users.append(value)
            else:
                self._changed(spec, value)
        if self.traced.has_loss:
            self.loss = users.pop().name
        self.outputs = [
            {"value": value.name, "name": name}
            for value, name in zip(users, self.traced.output_names, strict=True)
            if value is not None
        ]

    def compute(self, stands_in: bool) -> Computed | None:
        """Adds what PyTorch computes of buffers to the buffers; how, where there is something."""
        entries = {entry["name"]: (node, entry["of"]) for node, entry in self.writer.computed.items()}
        if not entries:
            return None
        nodes, writer = list(self.traced.program.graph.nodes), self.writer
        program, sources = program_of(nodes, entries, writer.env, writer.buffers)
        types = {source: self.contents[source].dtype for source in sources}
        computed = Computed(program, types, {result: of for result, (_, of) in entries.items()})
        try:
            made = computed.compute(self.contents)
        except Exception as error:  # whatever an operator of PyTorch throws
            if not stands_in:
                what = f"PyTorch cannot compute what forward makes of the buffers {', '.join(sources)}: {error}"
                writer.problems.add(what.splitlines()[0], "", "give these buffers values of which it can be computed")
                return None
            made = {
                result: torch.zeros(entry["shape"])
                for result, entry in zip(entries, writer.computed.values(), strict=True)
            }
        for entry in writer.computed.values():
            self.contents[entry["name"]] = made[entry["name"]].to(STORED[entry["dtype"]]).contiguous()
            self.buffers.append(entry)
        return computed

    def _changed(self, spec: Any, value: Any) -> None:
        """A tensor that the forward changes in place."""
        name = (spec.target or spec.arg.name).removeprefix("module.")
        if spec.kind == OutputKind.BUFFER_MUTATION:
            next(entry for entry in self.buffers if entry["name"] == name)["becomes"] = value.name
        elif spec.kind == OutputKind.PARAMETER_MUTATION:
            entry = next(entry for entry in self.parameters if entry["name"] == name)
            if entry.pop("trains"):
                self.writer.problems.add(f"forward changes the trained parameter {name} in place")
            self.parameters.remove(entry)
            self.buffers.append({**entry, "becomes": value.name})
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            self.notes.append("forward changes an input in place: a step leaves the batch as it is")
        elif spec.kind != OutputKind.TOKEN:
            self.writer.problems.add(f"forward changes {name} in place")


def _batch(inputs: list[Tensor]) -> int:
    """Dimension 0 of the first input that has one."""
    return next((int(tensor.shape[0]) for tensor in inputs if tensor.dim()), 1)


def drop_unused(document: Document) -> None:
    """Leaves out nodes and constants that neither an output, nor the loss, nor a buffer's next value needs."""
    needed = (
        {entry["value"] for entry in document["outputs"]}
        | {document["loss"]}
        | {entry["becomes"] for entry in document["buffers"]}
    )
    kept = []
    for node in reversed(document["nodes"]):
        if any(output is not None and output["value"] in needed for output in node["outputs"]):
            needed.update(names_in([node["args"], node["kwargs"]]))
            node["outputs"] = [
                output if output is not None and output["value"] in needed else None for output in node["outputs"]
            ]
            kept.append(node)
    document["nodes"] = kept[::-1]
    document["constants"] = [entry for entry in document["constants"] if entry["value"] in needed]
    document["buffers"] = [entry for entry in document["buffers"] if "of" not in entry or entry["value"] in needed]


def freeze_unreached(document: Document) -> list[str]:
    """Parameters whose gradient PyTorch leaves at None do not train: no decay moves them. Tells which."""
    reached = {document["loss"]} if document["loss"] else {entry["value"] for entry in document["outputs"]}
    for node in reversed(document["nodes"]):
        made = {output["value"] for output in node["outputs"] if output is not None and output["dtype"] == "f32"}
        if made & reached and node["op"] != "aten.detach.default":
            reached.update(names_in([node["args"], node["kwargs"]]))
    without = [entry for entry in document["parameters"] if entry["trains"] and entry["value"] not in reached]
    for entry in without:
        entry["trains"] = False
    return [f"no gradient reaches {', '.join(entry['name'] for entry in without)}"] if without else []


def names_in(value: Any) -> Iterator[str]:
    """The values that the arguments of a node name."""
    if isinstance(value, list):
        for each in value:
            yield from names_in(each)
    elif isinstance(value, Mapping) and isinstance(value.get("v"), str):
        yield value["v"]
    elif isinstance(value, Mapping):
        yield from names_in(list(value.values()))


# Memory that two tensors share: PyTorch moves both when it moves one, a step here has them apart ----------------------


_ADVICE = "use one Parameter at both places (b.weight = a.weight), and views of it in forward"


def refuse_shared_memory(module: nn.Module, problems: Problems) -> None:
    """Tells of each trained parameter that has memory in common with another tensor of the module, or with itself."""
    named: dict[int, tuple[str, Tensor]] = {}
    for path, each in module.named_modules():
        for name, value in (*each._parameters.items(), *each._buffers.items()):
            if isinstance(value, Tensor) and _has_memory(value):
                named.setdefault(id(value), (f"{path}.{name}" if path else name, value))
    tensors = sorted(named.values(), key=lambda pair: (_storage(pair[1]), int(pair[1].storage_offset())))
    for name, tensor in named.values():
        if tensor.is_inference():
            what = f"{name} was made in inference mode, which keeps no gradients"
            problems.add(what, "", "make the module outside of it")
    end, last = 0, ("", -1, False)
    for name, tensor in tensors:
        if tensor.requires_grad and span_of(tensor) < tensor.numel():
            problems.add(f"elements of parameter {name} share their memory", "", "contiguous() gives each its own")
        begin, trains = int(tensor.storage_offset()), isinstance(tensor, nn.Parameter) and tensor.requires_grad
        before, storage, trained = last
        if storage == _storage(tensor) and begin < end and (trains or trained):
            problems.add(f"{before} and {name} share their memory, and are two tensors", "", _ADVICE)
        if storage != _storage(tensor) or begin + span_of(tensor) > end:
            end, last = begin + span_of(tensor), (name, _storage(tensor), trains)


def is_of_trained(constant: Tensor, module: nn.Module) -> bool:
    """Whether a constant that forward reads lies in the memory of a parameter that trains."""
    return _has_memory(constant) and any(
        parameter.requires_grad and _has_memory(parameter) and _storage(parameter) == _storage(constant)
        for parameter in module.parameters()
    )


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _has_memory(tensor: Tensor) -> bool:
    """Whether the memory can be compared; that of lazy, sparse and wrapped tensors cannot."""
    return type(tensor) in (Tensor, nn.Parameter) and tensor.layout == torch.strided and tensor.numel() > 0
