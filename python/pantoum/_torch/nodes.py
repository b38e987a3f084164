"""The nodes of a decomposed graph, written for the compiler, which lowers ATen's operators. What the capture knows
(constants, and what is computed from them alone) is computed here."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from pantoum import _core

from .computed import is_item
from .graph_file import OWN_NAMES, WIDENED, Document, dtype_name
from .problems import Problems, place_of

# elements: a larger value is computed in the step, unless something it is computed from is as large
LARGEST_KNOWN = 1 << 20
_LEFT_OUT = ("device", "layout", "memory_format", "pin_memory", "generator", "non_blocking", "requires_grad")
_SAME = ("clone", "alias", "lift_fresh", "lift_fresh_copy", "lift", "contiguous")
_VIEWS = ("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "flatten", "_reshape_alias", "unflatten")
_FILLED_BY = {"full": 1, "full_like": 1, "new_full": 2, "scalar_tensor": 0}  # which argument is the number
_ONES = ("ones", "ones_like", "new_ones")
_ZEROS = ("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty", "empty_permuted", "empty_strided")
_COMMUTE = ("add.Tensor", "mul.Tensor")
_TAKE_NUMBERS = (*_COMMUTE, "sub.Tensor", "div.Tensor")


class Value:
    """A value of the step: its name in the file, its type and shape."""

    def __init__(self, name: str, like: Tensor) -> None:
        self.name, self.dtype, self.shape = name, like.dtype, list(like.shape)

    @property
    def json(self) -> dict[str, str]:
        return {"v": self.name}


class OfBuffers(Value):
    """What PyTorch computes of buffers: a value of the step where a node of the step reads it."""

    def __init__(self, writer: NodeWriter, node: Node) -> None:
        self.writer, self.node, like = writer, node, node.meta.get("val")
        if isinstance(like, Tensor):
            self.dtype, self.shape = like.dtype, list(like.shape)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.writer.computed_value(self.node)


class NodeWriter:
    """Writes nodes into `nodes`, constants into `constants`."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.nodes: list[Document] = []
        self.constants: list[Document] = []
        self.contents: dict[str, Tensor] = {}
        self.env: dict[Node, Any] = {}
        self.narrowed: set[torch.dtype] = set()
        self.buffers: dict[Node, str] = {}
        """The placeholders of buffers that no step changes, and their names."""
        self.computed: dict[Node, Document] = {}
        """What PyTorch computes of these, and a step reads: entries of the file's buffers."""
        self._of: dict[Node, frozenset[str]] = {}  # nodes that no data reach: the buffers that they are computed of
        self._operators = frozenset(_core.torch_operators())
        self._constant_names: dict[Any, str] = {}
        self._names: set[str] = set()  # of values
        self._calls: set[str] = set()  # of nodes
        self._place = self._module = ""

    # Values and constants ---------------------------------------------------------------------------------------------

    def reserve(self, names: Iterable[str]) -> None:
        """Keeps the names of the module's tensors from values."""
        self._names.update(names)

    def fresh(self, name: str) -> str:
        """The name of a value of the file, which only the file reads."""
        return _unused(name, self._names)

    @contextlib.contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Problems that are found meanwhile have this place."""
        before, self._place = self._place, place
        yield
        self._place = before

    def dtype(self, dtype: torch.dtype) -> str:
        if dtype in (torch.float64, torch.float16, torch.bfloat16):
            self.narrowed.add(dtype)
        name = dtype_name(dtype)
        if name is None:
            what = "complex numbers" if dtype.is_complex else f"the type {str(dtype).removeprefix('torch.')}"
            advice = "float32, int64, int32, uint8 or bool"
            if dtype.is_complex:
                advice += "; a transform of constants and of buffers that forward does not change can be captured"
            self.problems.add(f"{what} cannot be computed with", self._place, advice)
            return "f32"
        return name

    def describe(self, name: str, like: Tensor, stays: bool = False) -> Document:
        """An entry of the file for a value; `stays`: no data reach it."""
        dtype = WIDENED.get(like.dtype, like.dtype) if stays else like.dtype
        return {"value": name, "dtype": self.dtype(dtype), "shape": [int(size) for size in like.shape]}

    def constant(self, known: Tensor) -> Any:
        """A value of the file for a known tensor: a fill, an expanded tensor, or its contents."""
        known = known.to(WIDENED.get(known.dtype, known.dtype))
        shape = list(known.shape)
        repeats = [stride == 0 for stride, size in zip(known.stride(), shape, strict=True) if size > 1]
        if known.numel() > 1 and all(repeats):
            number = known.reshape(-1)[0].item()
            return self.emit("aten.full.default", [shape, number], {"dtype": known.dtype}, known, "full")
        if known.numel() > 1024 and any(repeats):
            base = known[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in known.stride())]
            return self.emit("aten.expand.default", [self.constant(base.clone()), shape], {}, known, "expand")
        contents = known.detach().to(device="cpu").contiguous()
        contents = contents.float() if contents.dtype in (torch.float64, torch.float16, torch.bfloat16) else contents
        elements = contents.numpy().tobytes() if dtype_name(contents.dtype) else id(known)
        key = contents.dtype, tuple(shape), elements
        if key not in self._constant_names:
            name = self.fresh(f"c_{len(self.constants)}")
            self._constant_names[key] = name
            self.constants.append({**self.describe(name, contents), "name": name})
            self.contents[name] = contents
        return Value(self._constant_names[key], contents)

    def value(self, handle: Any) -> Any:
        return self.constant(handle) if isinstance(handle, Tensor) else handle

    # Writing ----------------------------------------------------------------------------------------------------------

    def emit(self, op: str, args: Sequence[Any], kwargs: Document, like: Any, name: str) -> Any:
        """One node of one or several outputs; returns their values. `name`: of the values. The node has a name that the
        user understands: the path of his module, and the operator."""
        likes = list(like) if isinstance(like, (list, tuple)) else [like]
        values = [
            None if each is None else Value(self.fresh(name if index == 0 else f"{name}_{index}"), each)
            for index, each in enumerate(likes)
        ]
        self.nodes.append(
            {
                "name": _unused(call_name(self._module, op), self._calls),
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
        if self._is_of_buffers(node):
            self.env[node] = OfBuffers(self, node)
            return
        if is_item(node.target):
            self.env[node] = self.env[node.args[0]][node.args[1]]
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            effect = next((str(arg) for arg in node.args if isinstance(arg, torch._ops.OpOverload)), "")
            if "linalg_check_errors" in effect:  # the factorization beside it is refused, unless its matrix is known
                self.env[node] = node.meta.get("val")
                return
            name = effect or getattr(node.target, "__name__", str(node.target))
            self.problems.add(
                f"{name} cannot be captured",
                self._place,
                "" if effect else "branches and loops of Python, decided before the step, can be",
            )
            self.env[node] = node.meta.get("val")
            return
        if node.target._schema.returns:  # else it is a check of the data
            self.env[node] = self._take(node, *self._operands(node))

    # What no data reach --------------------------------------------------------------------------------------------

    def _is_of_buffers(self, node: Any) -> bool:
        """Whether PyTorch has to compute this of buffers: no data reach it, and no node of a step computes it."""
        inputs = node.all_input_nodes
        of = [frozenset([self.buffers[each]]) if each in self.buffers else self._of.get(each) for each in inputs]
        constant = [isinstance(self.env.get(each), Tensor) for each in inputs]
        if any(each is None and not known for each, known in zip(of, constant, strict=True)) or _is_random(node):
            return False
        self._of[node] = frozenset().union(*(each for each in of if each is not None))
        if not self._of[node] or not (is_item(node.target) or isinstance(node.target, torch._ops.OpOverload)):
            return False
        if any(isinstance(self.env.get(each), OfBuffers) for each in inputs):
            return True
        if is_item(node.target):
            return False
        name = node.target._schema.name.split("::")[-1]
        written = name in (*_SAME, *_VIEWS, *_FILLED_BY, *_ONES, *_ZEROS, "cat")
        likes = [like for each in (node, *inputs) for like in _handles(each.meta.get("val"))]
        return (
            _FACTORS.fullmatch(name) is not None
            or not (written or str(node.target).removeprefix("aten.") in self._operators)
            or any(isinstance(like, Tensor) and dtype_name(like.dtype) is None for like in likes)
        )

    def computed_value(self, node: Node) -> str:
        """The name of the value that PyTorch computes; it becomes a buffer of the file."""
        if node not in self.computed:
            entry = self.describe(self.fresh(node.name), node.meta["val"], stays=True)
            made = f"{node.args[0]}.{node.args[1]}" if is_item(node.target) else node.name
            name = self.fresh(f"computed.{made}")
            self.computed[node] = {**entry, "name": name, "becomes": None, "of": sorted(self._of[node])}
        return str(self.computed[node]["value"])

    def _operands(self, node: Any) -> tuple[list[Any], Document]:
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

    def _take(self, node: Any, args: list[Any], kwargs: Document) -> Any:
        like, name = node.meta.get("val"), node.target._schema.name.split("::")[-1]
        if isinstance(like, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            advice = "compute with tensors, or choose outside of forward"
            self.problems.add("a value of the data is read into Python", self._place, advice)
            return 0
        known = self._known(node, name, args, kwargs, like)
        if known is not None:
            return known
        if name == "linalg_solve_triangular" and _is_known_factor(*args[:2]) and kwargs.get("left", True):
            return self.emit(
                f"aten.{_PRODUCTS[args[0].dim()]}", [_inverse(args[0], kwargs), args[1]], {}, like, node.name
            )
        if _FACTORS.fullmatch(name):
            plain = re.sub("^_?linalg_", "linalg.", name).removesuffix("_ex")
            self.problems.add(f"{plain} of a matrix that the data or parameters make", self._place, _FACTORED)
        if name in _SAME:
            return args[0]
        if name in _VIEWS:
            shape = [int(size) for size in like.shape]
            same = list(args[0].shape) == shape
            return args[0] if same else self.emit("aten.view.default", [args[0], shape], {}, like, node.name)
        if name == "cat":
            args[0] = [part for part in args[0] if 0 not in part.shape]
        operator = str(node.target).removeprefix("aten.")
        if operator in _TAKE_NUMBERS:
            args = [_number(arg) for arg in args]
            if operator in _COMMUTE and isinstance(args[0], (bool, int, float)):
                args[:2] = args[1::-1]
        return self.emit(f"aten.{operator}", args, kwargs, like, node.name)

    # What is known ----------------------------------------------------------------------------------------------------

    def _known(self, node: Any, name: str, args: list[Any], kwargs: Document, like: Any) -> Any:
        """The result, computed now, where every operand is known; else None."""
        if name in (*_FILLED_BY, *_ONES, *_ZEROS):
            number = args[_FILLED_BY[name]] if name in _FILLED_BY else int(name in _ONES)
            return torch.tensor(number, dtype=like.dtype).expand(like.shape)
        tags = node.target.tags
        if torch.Tag.nondeterministic_seeded in tags or name == "as_strided":
            return None
        operands = list(_handles([args, kwargs]))
        results = list(_handles(like))
        if not results or any(isinstance(each, Value) for each in operands):
            return None
        views = name in _VIEWS or name in ("expand", "permute", "slice")
        limit = max([LARGEST_KNOWN, *(each.numel() for each in operands)])
        if not views and sum(each.numel() for each in results) > limit:
            return None
        with torch.no_grad():
            if name in _VIEWS:  # what is known may be laid out in another way
                return args[0].reshape(like.shape)
            return node.target(*args, **{key: arg for key, arg in kwargs.items() if key not in _LEFT_OUT})


# Of factorizations and of what is computed by one.
_FACTORS = re.compile(
    "_?linalg_(cholesky|inv|lu|lu_factor|lu_solve|ldl_factor|ldl_solve|solve|det|slogdet|eigh|eig|eigvals|svd|lstsq)(_ex)?"
    "|linalg_(qr|householder_product|matrix_exp|pinv|solve_triangular)|cholesky(_solve|_inverse)?|triangular_solve"
    "|lu_unpack|geqrf|ormqr"
)
_FACTORED = (
    "a factor as the parameter, as L of L @ L.T, or a closed form; of constants and of buffers that forward does not "
    "change it can be captured"
)
_PRODUCTS = {2: "mm.default", 3: "bmm.default"}


def _is_known_factor(factor: Any, other: Any) -> bool:
    """A constant triangular matrix, or as many of them as the other operand has: a prior has a factor of this kind."""
    return (
        isinstance(factor, Tensor) and factor.dim() in _PRODUCTS and list(factor.shape[:-1]) == list(other.shape[:-1])
    )


def _inverse(factor: Tensor, kwargs: Document) -> Tensor:
    one = torch.eye(factor.shape[-1], dtype=torch.float64).expand(factor.shape)
    options = {key: kwargs[key] for key in ("upper", "unitriangular") if key in kwargs}
    inverse: Tensor = torch.linalg.solve_triangular(factor.double(), one, **options)
    return inverse.to(factor.dtype)


def _is_random(node: Any) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags or "empty" in getattr(node.target, "__name__", "")


def _handles(value: Any) -> Any:
    if isinstance(value, (Tensor, Value)):
        yield value
    elif isinstance(value, dict):
        yield from _handles(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _handles(each)


def module_of(node: Node) -> str:
    """The path of the user's submodule that a node is of: "layer1.0.conv1"; "" for his module itself."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]).removeprefix("L['self'].") if stack else ""
    return "" if path == "module" else path.removeprefix("module.")


_LONGEST_PATH = 80  # characters; of a longer path the begin and the end are kept


def call_name(module: str, op: str) -> str:
    """The name of a call of an operator in a submodule: "encoder.layers.3.self_attn.linear"."""
    operator = op.split(".")[-2].lstrip("_").removeprefix("native_")
    if module.split(".")[0] in (*OWN_NAMES, "grad", "predict"):  # a value is called as the node that makes it
        module = f"self.{module}"
    if len(module) > _LONGEST_PATH:
        half = (_LONGEST_PATH - 3) // 2
        module = f"{module[:half]}...{module[-half:]}"
    return f"{module}.{operator}" if module else operator


def _unused(name: str, taken: set[str]) -> str:
    answer, count = name, 0
    while answer in taken:
        count += 1
        answer = f"{name}_{count}"
    taken.add(answer)
    return answer


def _number(arg: Any) -> Any:
    """A known tensor without dimensions as a number of Python, which the compiler scales by."""
    return arg.item() if isinstance(arg, Tensor) and arg.dim() == 0 and not arg.dtype.is_complex else arg
