"""The nodes of a decomposed graph, written for the compiler: known parts computed, types made equal, forms of one
operator brought together."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.fx import Node

from . import elementwise
from .graph_file import dtype_name
from .problems import Problems, place_of

aten = torch.ops.aten

# elements: a larger value is computed in the step, unless something it is computed from is as large
LARGEST_KNOWN = 1 << 20
_LEFT_OUT = ("device", "layout", "memory_format", "pin_memory", "generator", "non_blocking", "requires_grad")
_RANDOM = {
    "rand",
    "randn",
    "randint",
    "randperm",
    "native_dropout",
    "multinomial",
    "bernoulli",
    "normal",
    "exponential",
    "uniform",
    "poisson",
    "rrelu_with_noise_functional",
}
_SAME = {"clone", "alias", "lift_fresh", "lift_fresh_copy", "lift", "contiguous"}
_VIEWS = {
    "view",
    "_unsafe_view",
    "reshape",
    "squeeze",
    "unsqueeze",
    "flatten",
    "_reshape_alias",
    "view_copy",
    "unflatten",
}
_FILLS = {
    "full",
    "zeros",
    "ones",
    "full_like",
    "zeros_like",
    "ones_like",
    "new_full",
    "new_zeros",
    "new_ones",
    "empty",
    "empty_like",
    "new_empty",
    "scalar_tensor",
    "empty_permuted",
    "new_empty_strided",
    "empty_strided",
}
_CHECKS = {
    "_assert_tensor_metadata",
    "_assert_async",
    "_assert_scalar",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
}

Known = Tensor  # a value that the capture itself knows


class Value:
    """A value of the step: its name in the file, its type and shape."""

    def __init__(self, name: str, like: Tensor) -> None:
        self.name, self.dtype, self.shape = name, like.dtype, list(like.shape)

    @property
    def json(self) -> dict[str, str]:
        return {"v": self.name}


Handle = Value | Tensor


class NodeWriter:
    """Writes nodes into `nodes`, constants into `constants`."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.nodes: list[dict[str, Any]] = []
        self.constants: list[dict[str, Any]] = []
        self.contents: dict[str, Tensor] = {}
        self.env: dict[Node, Any] = {}
        self.permutes: dict[str, tuple[Any, list[int]]] = {}
        self.narrowed: set[torch.dtype] = set()
        self._constant_names: dict[Any, str] = {}
        self._names: set[str] = set()
        self._place = self._module = ""

    # Values and constants ---------------------------------------------------------------------------------------------

    def reserve(self, names: list[str]) -> None:
        """Names that no value may take: those of the module's tensors."""
        self._names.update(names)

    def fresh(self, name: str) -> str:
        answer, count = name, 0
        while answer in self._names:
            count += 1
            answer = f"{name}_{count}"
        self._names.add(answer)
        return answer

    @contextlib.contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Problems of what is described meanwhile are of this place."""
        before, self._place = self._place, place
        yield
        self._place = before

    def dtype(self, dtype: torch.dtype) -> str:
        if dtype in (torch.float64, torch.float16, torch.bfloat16):
            self.narrowed.add(dtype)
        name = dtype_name(dtype)
        if name is None:
            what = "complex numbers" if dtype.is_complex else f"the type {str(dtype).removeprefix('torch.')}"
            self.problems.add(f"{what} cannot be computed with", self._place, "float32, int64, int32, uint8 or bool")
            return "f32"
        return name

    def describe(self, name: str, like: Tensor) -> dict[str, Any]:
        return {"value": name, "dtype": self.dtype(like.dtype), "shape": [int(size) for size in like.shape]}

    def constant(self, known: Tensor) -> Value:
        """A value of the file for what is known: a fill, an expanded tensor, or its contents."""
        if known.numel() > 1 and all(
            stride == 0 for stride, size in zip(known.stride(), known.shape, strict=True) if size > 1
        ):
            made: Value = self.emit(
                "aten.full.default",
                [list(known.shape), known.reshape(-1)[0].item()],
                {"dtype": known.dtype},
                known,
                "full",
            )
            return made
        if known.numel() > 1024 and any(
            stride == 0 and size > 1 for stride, size in zip(known.stride(), known.shape, strict=True)
        ):
            base = known[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in known.stride())]
            expanded: Value = self.emit(
                "aten.expand.default", [self.constant(base.clone()), list(known.shape)], {}, known, "expand"
            )
            return expanded
        contents = known.detach().to(device="cpu").contiguous()
        contents = contents.float() if contents.dtype in (torch.float64, torch.float16, torch.bfloat16) else contents
        key = (
            contents.dtype,
            tuple(contents.shape),
            contents.numpy().tobytes() if dtype_name(contents.dtype) else id(known),
        )
        if key not in self._constant_names:
            name = self.fresh(f"c_{len(self.constants)}")
            self._constant_names[key] = name
            self.constants.append({**self.describe(name, contents), "name": name})
            self.contents[name] = contents
        return Value(self._constant_names[key], contents)

    def value(self, handle: Any) -> Any:
        return self.constant(handle) if isinstance(handle, Tensor) else handle

    # Writing ----------------------------------------------------------------------------------------------------------

    def emit(self, op: str, args: Sequence[Any], kwargs: dict[str, Any], like: Any, name: str) -> Any:
        """One node of one or several outputs; returns their values."""
        likes = list(like) if isinstance(like, (list, tuple)) else [like]
        values = [
            None if each is None else Value(self.fresh(name if index == 0 else f"{name}_{index}"), each)
            for index, each in enumerate(likes)
        ]
        self.nodes.append(
            {
                "name": self.fresh(f"{name}_node") if name in self._names else name,
                "op": op,
                "args": [self.argument(arg) for arg in args],
                "kwargs": {
                    key: self.argument(arg) for key, arg in kwargs.items() if key not in _LEFT_OUT and arg is not None
                },
                "outputs": [
                    None if v is None else self.describe(v.name, each) for v, each in zip(values, likes, strict=True)
                ],
                "where": self._place,
                "module": self._module,
            }
        )
        return values if isinstance(like, (list, tuple)) else values[0]

    def argument(self, arg: Any) -> Any:
        if isinstance(arg, Tensor):
            return self.constant(arg).json
        if isinstance(arg, Value):
            return arg.json
        if isinstance(arg, (list, tuple)):
            return [self.argument(each) for each in arg]
        if isinstance(arg, torch.dtype):
            return {"dtype": self.dtype(arg)}
        if isinstance(arg, float) and not math.isfinite(arg):
            return {"real": "nan" if math.isnan(arg) else "inf" if arg > 0 else "-inf"}
        if arg is None or isinstance(arg, (bool, int, float, str)):
            return arg
        if isinstance(arg, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.problems.add("a shape depends on the data", self._place, "compute with masks of a fixed shape")
            return 0
        self.problems.add(f"an argument of type {type(arg).__name__} cannot be kept", self._place)
        return None

    # Reading nodes ----------------------------------------------------------------------------------------------------

    def write(self, node: Any) -> None:
        """Takes one call of the decomposed graph into the file."""
        self._place = place_of(node.meta.get("stack_trace"))
        self._module = module_of(node)
        if getattr(node.target, "__name__", "") == "getitem":
            self.env[node] = self.env[node.args[0]][node.args[1]]
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            effect = next((str(arg) for arg in node.args if isinstance(arg, torch._ops.OpOverload)), "")
            name = effect or getattr(node.target, "__name__", str(node.target))
            self.problems.add(
                f"{name} cannot be captured",
                self._place,
                "" if effect else "branches and loops of Python, decided before the step, can be",
            )
            self.env[node] = self._like(node)
            return
        name = node.target._schema.name.split("::")[-1]
        if name in _CHECKS:
            return
        args, kwargs = self._operands(node)
        self.env[node] = self._take(node, name, args, kwargs)

    def _operands(self, node: Any) -> tuple[list[Any], dict[str, Any]]:
        """Arguments with values in place of nodes, all positional ones filled in."""
        args = [self._resolved(arg) for arg in node.args]
        kwargs = {key: self._resolved(arg) for key, arg in node.kwargs.items()}
        for place, argument in enumerate(node.target._schema.arguments):
            if argument.kwarg_only:
                continue
            if place >= len(args):
                args.append(kwargs.pop(argument.name) if argument.name in kwargs else argument.default_value)
        return args, kwargs

    def _resolved(self, arg: Any) -> Any:
        if isinstance(arg, Node):
            return self.env[arg]
        if isinstance(arg, (list, tuple)):
            return [self._resolved(each) for each in arg]
        return arg

    def _like(self, node: Node) -> Any:
        return node.meta.get("val")

    def _take(self, node: Node, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        like = self._like(node)
        if isinstance(like, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.problems.add(
                "a value of the data is read into Python",
                self._place,
                "compute with tensors, or choose outside of forward",
            )
            return 0
        known = self._known(node, name, args, kwargs, like)
        if known is not None:
            return known
        if name in _SAME:
            return args[0]
        if name in elementwise.FORMS:
            return elementwise.write(self, name, args, kwargs, like, node.name)
        form = FORMS.get(name)
        if form is not None:
            return form(self, args, kwargs, like, node.name)
        return self.emit(str(node.target), args, kwargs, like, node.name)

    # What is known ----------------------------------------------------------------------------------------------------

    def _known(self, node: Any, name: str, args: list[Any], kwargs: dict[str, Any], like: Any) -> Any:
        """The result, computed now, where every operand is known; else None."""
        if name in _FILLS:
            return self._fill(name, args, like)
        if name in _RANDOM or name == "as_strided" or not isinstance(like, (Tensor, list, tuple)):
            return None
        operands = list(_handles([args, kwargs]))
        if any(isinstance(each, Value) for each in operands):
            return None
        size = sum(
            each.numel() for each in (like if isinstance(like, (list, tuple)) else [like]) if isinstance(each, Tensor)
        )
        if name not in ("expand", "view", "permute", "slice", "unsqueeze", "squeeze") and size > max(
            [LARGEST_KNOWN, *(each.numel() for each in operands)]
        ):
            return None
        plain = {key: arg for key, arg in kwargs.items() if key not in _LEFT_OUT}
        with torch.no_grad():
            return (
                node.target(*args, **plain)
                if name not in _VIEWS or not isinstance(like, Tensor)
                else args[0].reshape(like.shape)
            )

    def _fill(self, name: str, args: list[Any], like: Tensor) -> Tensor:
        given = {"full": 1, "full_like": 1, "new_full": 2, "scalar_tensor": 0}
        number = args[given[name]] if name in given else 1 if name in ("ones", "ones_like", "new_ones") else 0
        return torch.tensor(number, dtype=like.dtype).expand(like.shape)


def _handles(value: Any) -> Any:
    if isinstance(value, (Tensor, Value)):
        yield value
    elif isinstance(value, dict):
        yield from _handles(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _handles(each)


def module_of(node: Node) -> str:
    """The path of the user's submodule that a node is of: "layer1.0.conv1"."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    for lead in ("L['self'].", "module."):
        path = path.removeprefix(lead)
    return "" if path == "module" else path


# Forms of one operator, brought together
# --------------------------------------------------------------------------------

Form = Callable[[NodeWriter, list[Any], dict[str, Any], Any, str], Any]
_Form = TypeVar("_Form", bound=Form)
FORMS: dict[str, Form] = {}


def _form(*names: str) -> Callable[[_Form], _Form]:
    def register(function: _Form) -> _Form:
        FORMS.update(dict.fromkeys(names, function))
        return function

    return register


@_form(*_VIEWS)
def _view(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    if list(args[0].shape) == list(like.shape):
        return args[0]
    return to.emit("aten.view.default", [args[0], [int(size) for size in like.shape]], {}, like, name)


@_form("expand", "expand_copy")
def _expand(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    if list(args[0].shape) == list(like.shape):
        return args[0]
    return to.emit("aten.expand.default", [args[0], [int(size) for size in like.shape]], {}, like, name)


def _permuted(to: NodeWriter, x: Any, order: list[int], like: Tensor, name: str) -> Any:
    before = to.permutes.get(x.name) if isinstance(x, Value) else None
    if before is not None:
        x, order = before[0], [before[1][d] for d in order]
    if order == sorted(order):
        return x
    made = to.emit("aten.permute.default", [x, order], {}, like, name)
    to.permutes[made.name] = (x, order)
    return made


@_form("permute", "permute_copy")
def _permute(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    return _permuted(to, args[0], [d % len(like.shape) for d in args[1]], like, name)


@_form("transpose", "t", "swapaxes")
def _transpose(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    order = list(range(len(like.shape)))
    if len(order) > 1:
        a, b = (d % len(order) for d in (args[1:3] if len(args) > 2 else (0, 1)))
        order[a], order[b] = order[b], order[a]
    return _permuted(to, args[0], order, like, name)


def slice_of(to: NodeWriter, x: Any, dim: int, start: int, end: int, step: int, like: Tensor, name: str) -> Any:
    if start == 0 and end == x.shape[dim] and step == 1:
        return x
    return to.emit("aten.slice.Tensor", [x, dim, start, end, step], {}, like, name)


@_form("slice", "slice_copy")
def _slice(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    x, dim = args[0], args[1] % len(like.shape)
    start, end, step = slice(args[2], args[3], args[4]).indices(x.shape[dim])
    return slice_of(to, x, dim, start, max(start, end), step, like, name)


@_form("select", "select_copy")
def _select(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    x, dim = args[0], args[1] % len(args[0].shape)
    return to.emit("aten.select.int", [x, dim, args[2] % x.shape[dim]], {}, like, name)


@_form("split", "split_with_sizes", "split_copy", "split_with_sizes_copy")
def _split(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Any, name: str) -> Any:
    x, dim = args[0], args[2] % len(args[0].shape)
    parts, start = [], 0
    for index, each in enumerate(like):
        end = start + int(each.shape[dim])
        parts.append(slice_of(to, x, dim, start, end, 1, each, f"{name}_{index}"))
        start = end
    return parts


@_form("unbind", "unbind_copy")
def _unbind(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Any, name: str) -> Any:
    x, dim = args[0], args[1] % len(args[0].shape)
    return [to.emit("aten.select.int", [x, dim, index], {}, each, f"{name}_{index}") for index, each in enumerate(like)]


@_form("cat")
def _cat(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    dim = args[1] % max(len(like.shape), 1)
    parts = [elementwise.cast(to, each, like.dtype, name) for each in args[0] if 0 not in each.shape]
    return parts[0] if len(parts) == 1 else to.emit("aten.cat.default", [parts, dim], {}, like, name)


@_form("_to_copy", "to", "type_as")
def _to_copy(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    return elementwise.cast(to, args[0], like.dtype, name)


@_form("randint")
def _randint(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
    low, high = (0, args[0]) if isinstance(args[1], (list, tuple)) else args[:2]
    return to.emit("aten.randint.low", [low, high, list(like.shape)], {"dtype": like.dtype}, like, name)


def _upsampling(operator: str, corners: bool) -> Form:
    """The forms with sizes or factors: both become the size, and the factors that the user gave (null where none)."""

    def form(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
        rank = len(like.shape) - 2
        rest = args[2:]
        align = [bool(rest.pop(0))] if corners else []
        factors = rest[0] if rest and isinstance(rest[0], (list, tuple)) else rest
        factors = [None if each is None else float(each) for each in (factors or [])]
        return to.emit(
            operator,
            [args[0], [int(s) for s in like.shape[2:]], *align, *(factors + [None] * (rank - len(factors)))],
            {},
            like,
            name,
        )

    return form


for _short, _corners in (
    *(
        (f"{exact}{kind}", False)
        for exact in ("upsample_", "_upsample_")
        for kind in ("nearest1d", "nearest2d", "nearest3d", "nearest_exact1d", "nearest_exact2d", "nearest_exact3d")
    ),
    *((f"upsample_{kind}", True) for kind in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")),
):
    FORMS[_short] = _upsampling(f"aten.{_short}.default", _corners)


def _reduction(operator: str) -> Form:
    def form(to: NodeWriter, args: list[Any], kwargs: dict[str, Any], like: Tensor, name: str) -> Any:
        rank = len(args[0].shape)
        dims = args[1] if len(args) > 1 else None
        dims = [dims] if isinstance(dims, int) else list(dims) if dims else list(range(rank))
        keep = bool(args[2]) if len(args) > 2 else False
        x = elementwise.cast(to, args[0], like.dtype, name)
        return to.emit(operator, [x, sorted(d % max(rank, 1) for d in dims), keep], {}, like, name)

    return form


for _short, _operator in (("sum", "aten.sum.dim_IntList"), ("mean", "aten.mean.dim"), ("amax", "aten.amax.default")):
    FORMS[_short] = _reduction(_operator)
