"""Elementwise operators with operands of one type: the casts that PyTorch makes silently are written into the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .graph_file import dtype_name

if TYPE_CHECKING:
    from .nodes import NodeWriter

# Short name: the operator that is written. Operands of the first kind are cast to the type of the result, of the
# second to a common one.
_ARITHMETIC = {
    "add": "aten.add.Tensor",
    "sub": "aten.sub.Tensor",
    "mul": "aten.mul.Tensor",
    "div": "aten.div.Tensor",
    "maximum": "aten.maximum.default",
    "minimum": "aten.minimum.default",
    "pow": "aten.pow.Tensor_Tensor",
    "remainder": "aten.remainder.Tensor",
    "fmod": "aten.fmod.Tensor",
    "floor_divide": "aten.floor_divide.default",
    "atan2": "aten.atan2.default",
    "bitwise_and": "aten.bitwise_and.Tensor",
    "bitwise_or": "aten.bitwise_or.Tensor",
    "bitwise_xor": "aten.bitwise_xor.Tensor",
}
_COMPARISONS = {name: f"aten.{name}.Tensor" for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_LOGICAL = {name: f"aten.{name}.default" for name in ("logical_and", "logical_or", "logical_xor")}
_UNARY = {
    name: f"aten.{name}.default"
    for name in (
        "abs",
        "neg",
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "sin",
        "cos",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "tanh",
        "sigmoid",
        "relu",
        "erf",
        "sign",
        "floor",
        "ceil",
        "round",
        "trunc",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "elu",
        "leaky_relu",
        "hardtanh",
        "hardswish",
        "hardsigmoid",
    )
}
_SELECTIONS = {"where": "aten.where.self"}
FORMS = {**_ARITHMETIC, **_COMPARISONS, **_LOGICAL, **_UNARY, **_SELECTIONS}

_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def cast(to: NodeWriter, x: Any, dtype: torch.dtype, name: str) -> Any:
    """`x` in another type; nothing where the compiler's type is the same."""
    if not hasattr(x, "dtype") or x.dtype == dtype:
        return x
    if isinstance(x, Tensor):
        return x.to(dtype)
    if dtype_name(x.dtype) == dtype_name(dtype) and dtype_name(dtype) is not None:
        to.dtype(dtype)
        return x
    return to.emit(
        "aten._to_copy.default", [x], {"dtype": dtype}, torch.empty(x.shape, dtype=dtype, device="meta"), f"{name}_cast"
    )


def number(x: Any) -> Any:
    """A known tensor without dimensions as a Python number."""
    return x.item() if isinstance(x, Tensor) and x.dim() == 0 and not x.dtype.is_complex else x


def _common(operands: list[Any]) -> torch.dtype:
    dtype: torch.dtype | None = None
    tensors = [x for x in operands if hasattr(x, "dtype")]
    wide = [x for x in tensors if len(x.shape)] or tensors
    for x in wide:
        dtype = x.dtype if dtype is None else torch.promote_types(dtype, x.dtype)
    assert dtype is not None
    if not dtype.is_floating_point and any(
        isinstance(x, float) or (hasattr(x, "dtype") and x.dtype.is_floating_point) for x in operands
    ):
        return torch.float32
    if dtype == torch.bool and any(
        not isinstance(x, bool) and (isinstance(x, int) or (hasattr(x, "dtype") and x.dtype != torch.bool))
        for x in operands
    ):
        return torch.int64
    return dtype


def write(to: NodeWriter, name: str, args: list[Any], kwargs: dict[str, Any], like: Tensor, node: str) -> Any:
    """Writes one elementwise node; scalars stay numbers, the second operand where the operator allows it."""
    if name in _UNARY:
        return to.emit(FORMS[name], [cast(to, args[0], like.dtype, node), *args[1:]], kwargs, like, node)
    if name in _SELECTIONS:
        condition = cast(to, args[0], torch.bool, node)
        return to.emit(
            FORMS[name], [condition, *(cast(to, number(x), like.dtype, node) for x in args[1:3])], {}, like, node
        )
    if name in _LOGICAL:
        return to.emit(FORMS[name], [cast(to, x, torch.bool, node) for x in args[:2]], {}, like, node)
    return _binary(to, name, args, kwargs, like, node)


def _binary(to: NodeWriter, name: str, args: list[Any], kwargs: dict[str, Any], like: Tensor, node: str) -> Any:
    a, b = (number(x) for x in args[:2])
    dtype = _common([a, b]) if name in _COMPARISONS else like.dtype
    alpha = kwargs.get("alpha", args[2] if len(args) > 2 and name in ("add", "sub") else 1)
    if alpha != 1:
        b = (
            b * alpha
            if isinstance(b, (int, float))
            else to.emit("aten.mul.Tensor", [cast(to, b, dtype, node), alpha], {}, _meta(b, dtype), f"{node}_alpha")
        )
    a, b = (cast(to, x, dtype, node) for x in (a, b))
    if isinstance(a, (bool, int, float)):
        name, a, b = (
            (_SWAPPED.get(name, name), b, a)
            if name in (*_COMPARISONS, "add", "mul", "maximum", "minimum")
            else (name, a, b)
        )
    if (
        name in ("mul", "div")
        and isinstance(b, (int, float))
        and b is not True
        and b == 1
        and getattr(a, "dtype", None) == dtype
    ):
        return a
    mode = kwargs.get("rounding_mode") if name == "div" else None
    if mode is not None:
        return to.emit("aten.div.Tensor_mode", [a, b], {"rounding_mode": mode}, like, node)
    if name == "pow":
        operator = (
            "aten.pow.Scalar"
            if isinstance(a, (int, float))
            else "aten.pow.Tensor_Scalar"
            if isinstance(b, (int, float))
            else FORMS[name]
        )
        return to.emit(operator, [a, b], {}, like, node)
    return to.emit(FORMS[name], [a, b], {}, like, node)


def _meta(x: Any, dtype: torch.dtype) -> Tensor:
    return torch.empty(x.shape, dtype=dtype, device="meta")
