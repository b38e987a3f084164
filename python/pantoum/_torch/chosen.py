# mypy: disable-error-code="no-untyped-call"
"""`x[mask]` of a mask that the data decide, while a forward is traced.

Its shape depends on the data, and a step has none of these. What stands for it is a `Chosen`: all rows, and the mask.
Functions of one row compute all rows, reductions leave out those that are not chosen, and `y[mask] = chosen` is a
`where`. So the values and gradients are those of PyTorch:

* a row that is not chosen holds a copy, without gradient, of the first row that is. So no function is infinite or NaN
  there (and no gradient of what else it reads) unless it is for a row that is chosen. Where none is, it holds 1, or 0
  of integers
* no gradient enters such a row (every reduction is of a `where`), and none leaves it (so is the copy)

Everything else (sorting, comparing rows with each other, shapes) is refused with its line.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from .known import untraced
from .problems import Problems, Stop, place_now

ADVICE = (
    "compute x[mask] element by element or row by row, reduce it (sum, mean, max, norm, a loss) or write it back by "
    "the same mask; elsewhere torch.where on all rows, masks of a fixed shape, or a choice outside of forward"
)


class Tracer(Protocol):
    """The mode around the traced forward."""

    problems: Problems
    masks: Masks
    notes: list[str]

    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Mask:
    """One dimension of booleans. Masks of one key are equal."""

    values: Tensor
    key: Hashable
    first: Tensor  # [1]: the first place that is chosen
    some: Tensor  # whether any is


class Chosen(Tensor):
    """Stands for `rows` without those along `axis` that `mask` leaves out. It has no memory of its own."""

    rows: Tensor
    axis: int
    mask: Mask
    filled: bool  # rows that are not chosen are copies
    base: Chosen | None  # what it is a view of
    views: list[weakref.ref[Chosen]]
    place: str

    @staticmethod
    def of(rows: Tensor, axis: int, mask: Mask, filled: bool = False, base: Chosen | None = None) -> Chosen:
        with untraced():
            answer: Chosen = Tensor._make_subclass(Chosen, torch.empty(0))
        answer.rows, answer.axis, answer.mask, answer.filled = rows, axis, mask, filled
        answer.base, answer.views, answer.place = base, [], place_now()
        if base is not None:
            base.views.append(weakref.ref(answer))
        return answer

    def is_shared(self) -> bool:
        """Whether a change of it would be seen under another name."""
        return self.base is not None or any(each() is not None for each in self.views)

    def over(self) -> Tensor:
        """The mask in the place of `axis`."""
        return self.mask.values.reshape([-1] + [1] * (self.rows.dim() - self.axis - 1))

    def replaced(self, other: Any) -> Tensor:
        """The rows, with `other` in place of those that are not chosen."""
        return torch.where(self.over(), self.rows, other)

    def fill(self) -> Tensor:
        """The rows, with copies in place of those that are not chosen."""
        if not self.filled:
            real = self.rows.is_floating_point()
            copy = torch.index_select(self.rows.detach(), self.axis, self.mask.first)
            none = torch.full_like(copy, True if self.rows.dtype == torch.bool else int(real))
            self.rows, self.filled = self.replaced(torch.where(self.mask.some, copy, none)), True
        return self.rows

    def count(self) -> Tensor:
        return self.mask.values.to(torch.int64).sum()


class Masks:
    """The masks of a forward, and which of them are equal because they were computed alike."""

    def __init__(self) -> None:
        self._keys: dict[int, int] = {}  # by the tensor's id
        self._ways: dict[Hashable, int] = {}  # a way of computing, of keys -> the key of what it gives
        self._of_memory: dict[int, list[int]] = {}
        self._made: dict[Hashable, Mask] = {}
        self._kept: list[Any] = []  # so that an id stays its own
        self._writes = 0  # what was computed before a tensor was changed may be another value behind it

    def note(self, function: Any, args: Any, kwargs: Any, answer: Any) -> None:
        """Remembers how a tensor was computed, if that gives the same when it is done again."""
        name = plain_name(function)
        if isinstance(answer, Tensor) and name not in _DRAWN and (name in _ALIKE or is_pointwise(name)):
            leaves, spec = pytree.tree_flatten((args, kwargs))
            operands = [self.key(each) if isinstance(each, Tensor) else repr(each) for each in leaves]
            self._set(answer, (name, spec, *operands, self._writes))

    def written(self, changed: Any) -> None:
        """A tensor was changed in place: it and what shares its memory have other values."""
        if isinstance(changed, Tensor):
            self._writes += 1
            for each in self._of_memory.get(_memory(changed), ()):
                self._keys[each] = self._key_of((each, self._writes))

    def key(self, tensor: Tensor) -> int:
        if id(tensor) not in self._keys:
            self._set(tensor, ("is", id(tensor)))
        return self._keys[id(tensor)]

    def _key_of(self, way: Hashable) -> int:
        return self._ways.setdefault(way, len(self._ways))

    def _set(self, tensor: Tensor, way: Hashable) -> None:
        self._keys[id(tensor)] = self._key_of(way)
        self._of_memory.setdefault(_memory(tensor), []).append(id(tensor))
        self._kept.append(tensor)

    def mask(self, values: Tensor, *how: Hashable) -> Mask:
        """The mask of these values; `how` they are changed to be the mask."""
        return self.made(values, (self.key(values), *how))

    def made(self, values: Tensor, key: Hashable) -> Mask:
        if key not in self._made:
            flat = values.reshape(-1).clone()
            first = torch.argmax(flat.to(torch.float32), 0, keepdim=True)
            self._made[key] = Mask(flat, key, first, flat.any())
        return self._made[key]


def _memory(tensor: Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):  # a tensor without storage
        return 0


def refuse_chosen(value: Any, problems: Problems, what: str) -> None:
    """Stops where a result of the forward has a shape that the data decide."""
    for each in pytree.tree_leaves(value):
        if isinstance(each, Chosen):
            problems.add(f"the shape of {what} depends on the data", each.place, ADVICE)
            raise Stop


# Which functions ------------------------------------------------------------------------------------------------------

_ALIKE = {"__getitem__", "select", "squeeze", "unsqueeze", "detach", "view", "reshape", "flatten", "to", "float",
          "long", "bool", "int", "expand", "expand_as", "clone", "narrow", "unbind", "transpose", "permute",
          "contiguous"}  # fmt: skip
_READS = {"bool", "int", "float", "complex", "index", "array", "contains", "iter"}
_READ = "a value read into Python"
_DRAWN = {"dropout", "rand_like", "randn_like", "rrelu"}  # element by element, and never alike
_OPERATORS = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
              "or": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not"}  # fmt: skip
_POINTWISE = {"where", "to", "float", "double", "half", "bfloat16", "long", "int", "bool", "type", "type_as", "detach",
              "clone", "contiguous", "masked_fill", "clip", "clamp", "isfinite", "isnan", "isinf", "square",
              "softplus", "logsigmoid", "zeros_like", "ones_like", "full_like", "nan_to_num",
              "softsign", "tanhshrink", "hardtanh", "relu6", "selu", "celu", "not_equal", "less", "greater",
              "less_equal", "greater_equal", "multiply", "subtract", "true_divide", "divide", "negative", "absolute",
              "requires_grad_", "cpu", "erf", "logit", "expit", "fix", "arccos", "arcsin", "arctan"}  # fmt: skip


def plain_name(function: Any) -> str:
    """The name of the function that a call is of: of operators, turned round or in place too."""
    name = str(getattr(function, "__name__", ""))
    if name.startswith("__") and name not in ("__get__", "__getitem__", "__setitem__"):
        inner = name.strip("_")
        plain = inner[1:] if inner[0] in "ri" and hasattr(Tensor, f"__{inner[1:]}__") else inner
        return _READ if inner in _READS else _OPERATORS.get(plain, plain)
    return name.rstrip("_").removeprefix("linalg_") if not name.startswith("_") else name


def is_pointwise(name: str) -> bool:
    """Whether an operator of torch, by its plain name, computes each element from those at the same place."""
    if name not in _known_pointwise:
        _known_pointwise[name] = _find_pointwise(name)
    return _known_pointwise[name]


_known_pointwise: dict[str, bool] = {}


def _find_pointwise(name: str) -> bool:
    packet = getattr(torch.ops.aten, name, None)
    if name in _POINTWISE or name in _DRAWN or not isinstance(packet, torch._ops.OpOverloadPacket):
        return name in _POINTWISE or name in _DRAWN
    tags = [getattr(packet, overload).tags for overload in packet.overloads()]
    return any(torch.Tag.pointwise in each and torch.Tag.nondeterministic_seeded not in each for each in tags)
