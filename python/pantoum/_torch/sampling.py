# mypy: disable-error-code="no-any-return,no-untyped-call"
"""Decompositions of operators that draw random numbers: uniform and normal ones are the trainer's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .decompositions import own

aten = torch.ops.aten


@own(aten.rand_like.default)
def rand_like(x: Tensor, **_: Any) -> Tensor:
    return torch.rand(x.shape, dtype=x.dtype)


@own(aten.randn_like.default)
def randn_like(x: Tensor, **_: Any) -> Tensor:
    return torch.randn(x.shape, dtype=x.dtype)


@own(aten.uniform.default)
def uniform(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    return torch.rand(x.shape, dtype=x.dtype) * (high - low) + low


@own(aten.normal_functional.default)
def normal(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    return torch.randn(x.shape, dtype=x.dtype) * std + mean


@own(aten.normal.Tensor_Tensor, aten.normal.Tensor_float, aten.normal.float_Tensor)
def normal_of(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    shape = torch.broadcast_shapes(*(x.shape for x in (mean, std) if isinstance(x, Tensor)))
    return torch.randn(shape).detach() * std + mean


@own(aten.exponential.default)
def exponential(x: Tensor, rate: float = 1.0, *, generator: Any = None) -> Tensor:
    return torch.log(1 - torch.rand(x.shape, dtype=x.dtype)) * (-1 / rate)


@own(aten.bernoulli.default)
def bernoulli(x: Tensor, *, generator: Any = None) -> Tensor:
    return (torch.rand(x.shape, dtype=x.dtype) < x).to(x.dtype).detach()


@own(aten.bernoulli.p)
def bernoulli_of(x: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    return (torch.rand(x.shape) < p).to(x.dtype)


@own(aten.bernoulli.Tensor)
def bernoulli_tensor(x: Tensor, p: Tensor, *, generator: Any = None) -> Tensor:
    return (torch.rand(x.shape) < p).to(x.dtype)
