# mypy: disable-error-code="no-untyped-call"
"""Values that the capture itself knows: constants that a forward reads or makes, buffers, and what is computed from
them alone. So a mask that no data reach has a shape."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from .problems import place_now

LARGEST = 1 << 20  # elements: larger values are not followed
_UNDEFINED = ("empty", "resize")
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Operands:
    """The arguments of a call, by value, and the buffers that they were computed from."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    buffers: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Value:
    traced: Tensor  # kept, so that its id stays its own
    value: Tensor | None
    buffers: frozenset[str]


class Known:
    """The values of traced tensors that no data reach. Views of a traced tensor have views of its value."""

    def __init__(self) -> None:
        self._values: dict[int, _Value] = {}
        self.decided: dict[str, str] = {}  # the buffers whose values a shape or a branch follows, and where

    def adopt(self, traced: Iterable[tuple[str, Tensor]], values: Mapping[str, Tensor]) -> None:
        """The buffers, as they are while the forward is traced, and their values."""
        names: dict[int, list[str]] = {}
        tensors: dict[int, Tensor] = {}
        for name, tensor in traced:
            names.setdefault(id(tensor), []).append(name)
            tensors[id(tensor)] = tensor
        for key, tensor in tensors.items():
            value = next((values[name] for name in names[key] if name in values), None)
            if value is not None and _is_followed(value):
                with untraced():
                    self._values[key] = _Value(tensor, value.detach().clone(), frozenset(names[key]))

    def value(self, tensor: Any) -> Tensor | None:
        """The value of a tensor; None where the data decide it. It is not to be changed."""
        if not isinstance(tensor, Tensor):
            return None
        if id(tensor) not in self._values and _is_constant(tensor):
            with untraced():
                self._values[id(tensor)] = _Value(tensor, tensor.detach().clone(), _NONE)
        return self._values[id(tensor)].value if id(tensor) in self._values else None

    def deciding(self, tensor: Any) -> Tensor | None:
        """The value of a tensor that a shape or a branch is about to follow."""
        value = self.value(tensor)
        if value is not None:
            self.decides(self._values[id(tensor)].buffers)
        return value

    def decides(self, buffers: Iterable[str]) -> None:
        """A shape or a branch follows these buffers."""
        for name in buffers:
            self.decided.setdefault(name, place_now())

    def operands(self, args: Any, kwargs: Any) -> Operands | None:
        """The arguments of a call with values in place of tensors; None where not all of them are known."""
        leaves, spec = pytree.tree_flatten((args, kwargs))
        values = [self.value(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        if any(isinstance(leaf, Tensor) and value is None for leaf, value in zip(leaves, values, strict=True)):
            return None
        given, named = pytree.tree_unflatten(values, spec)
        buffers = [self._values[id(leaf)].buffers for leaf in leaves if isinstance(leaf, Tensor)]
        return Operands(tuple(given), dict(named), _NONE.union(*buffers))

    def compute(self, function: Callable[..., Any], operands: Operands | None, changed: Any) -> Any:
        """The result of `function` for known operands; else None. A tensor that is `changed` in place by unknown values
        or random numbers is not known from there on, nor is any that shares its memory."""
        if operands is not None and not any(word in getattr(function, "__name__", "") for word in _UNDEFINED):
            with untraced(), contextlib.suppress(Exception):  # the traced call tells what is wrong with it
                state = torch.get_rng_state()
                answer = function(*operands.args, **operands.kwargs)
                if torch.equal(state, torch.get_rng_state()):
                    return answer
                torch.set_rng_state(state)
        given = None if operands is None else (operands.args, operands.kwargs)
        for value in _tensors((given, [self.value(each) for each in _tensors(changed)])):
            self._forget(value)
        return None

    def follow(self, function: Callable[..., Any], operands: Operands | None, changed: Any, answer: Any) -> None:
        """Remembers the values of what a traced call gave."""
        if all(tensor.numel() <= LARGEST for tensor in _tensors(answer)):
            value = self.compute(function, operands, changed)
        else:
            value = self.compute(function, None, changed)
        buffers = _NONE if operands is None else operands.buffers
        for tensor, each in zip(_tensors(answer), _tensors(value), strict=False):
            if each.shape == tensor.shape and each.dtype == tensor.dtype:
                self._values[id(tensor)] = _Value(tensor, each, buffers)

    def _forget(self, value: Tensor) -> None:
        memory = value.untyped_storage()._cdata
        for key, each in list(self._values.items()):
            if each.value is not None and each.value.untyped_storage()._cdata == memory:
                self._values[key] = _Value(each.traced, None, each.buffers)


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
        yield


def _tensors(value: Any) -> Iterator[Tensor]:
    return (leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, Tensor))


def _is_constant(tensor: Tensor) -> bool:
    """A tensor of the user's that is neither traced, nor a parameter, nor a buffer: those are fake while traced."""
    return type(tensor) is Tensor and not isinstance(tensor, (FakeTensor, FunctionalTensor)) and _is_followed(tensor)


def _is_followed(tensor: Tensor) -> bool:
    return (
        not tensor.requires_grad
        and tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and tensor.numel() <= LARGEST
    )


def with_known(known: Known, function: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The call with places where it has masks or repeats that are known, and numbers where sizes are."""
    name = getattr(function, "__name__", "")
    if name == "as_strided":
        sizes, named = pytree.tree_map(lambda size: _number(known, size), (args[1:], kwargs))
        return function, (*args[:1], *sizes), named
    if name == "__getitem__" or (name == "__setitem__" and not _fills(*args)):
        return function, (args[0], _places(known, args[1]), *args[2:]), kwargs
    value = known.value(args[1]) if len(args) > 1 and name in ("masked_select", "repeat_interleave") else None
    if value is not None:
        known.deciding(args[1])
    if name == "masked_select" and value is not None and value.dtype == torch.bool:
        shape = torch.broadcast_shapes(args[0].shape, value.shape)
        with untraced():
            places = value.expand(shape).nonzero(as_tuple=True)
        return Tensor.__getitem__, (args[0].expand(shape), places), {}
    if name == "repeat_interleave" and value is not None and value.dim():
        dim = kwargs.get("dim", args[2] if len(args) > 2 else None)
        x = args[0].reshape(-1) if dim is None else args[0]
        with untraced():
            rows = torch.repeat_interleave(value.expand(x.shape[dim or 0]))
        return torch.index_select, (x, dim or 0, rows), {}
    return function, args, kwargs


def _number(known: Known, size: Any) -> Any:
    whole = isinstance(size, Tensor) and size.dim() == 0 and not size.is_floating_point()
    value = known.deciding(size) if whole else None
    return size if value is None else int(value)


def _fills(x: Tensor, index: Any, value: Any) -> bool:
    """One mask, and one number: no shape depends on it."""
    return isinstance(index, Tensor) and not (isinstance(value, Tensor) and value.dim())


def _places(known: Known, index: Any) -> Any:
    """An index in which the places stand for each mask that is known."""
    answer: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        value = known.value(part)
        if value is None or value.dtype != torch.bool or not value.dim():
            answer.append(part)
        else:
            known.deciding(part)
            with untraced():
                answer.extend(value.nonzero(as_tuple=True))
    return tuple(answer)
