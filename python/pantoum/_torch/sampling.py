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


@own(aten.rrelu_with_noise_functional.default)
def rrelu(
    x: Tensor, noise: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> tuple[Tensor, Tensor]:
    slope = torch.rand(x.shape) * (upper - lower) + lower if training else 0.5 * (lower + upper)
    factor = torch.where(x <= 0, slope, 1.0)
    return x * factor, factor


@own(aten.randperm.default)
def randperm(n: int, *, dtype: Any = None, **_: Any) -> Tensor:
    """The order of random numbers; all orders are as likely."""
    return torch.argsort(torch.rand(n)).to(torch.int64 if dtype is None else dtype)


@own(aten.multinomial.default)
def multinomial(weights: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """With replacement, a draw is the place of a uniform number among the cumulated weights. Without, draws are the
    first arrivals of processes with these rates (Efraimidis and Spirakis 2006)."""
    weights = weights.detach()
    if replacement or num_samples == 1:
        total = torch.cumsum(weights, -1)
        drawn = torch.rand((*weights.shape[:-1], num_samples)) * total[..., -1:]
        return torch.searchsorted(total, drawn, right=True).clamp(max=weights.shape[-1] - 1)
    arrival = -torch.log(1 - torch.rand(weights.shape)) / weights
    return torch.topk(arrival, num_samples, -1, largest=False)[1]


@own(aten.randint.default)
def randint(high: int, size: Any, *, dtype: Any = None, **_: Any) -> Tensor:
    return aten.randint.low(0, high, size, dtype=dtype)
