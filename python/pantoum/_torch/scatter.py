# mypy: disable-error-code="no-any-return,no-untyped-call"
"""Decompositions of operators that write and reduce at places, and of searches."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .decompositions import own

aten = torch.ops.aten

_NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -math.inf, "amin": math.inf}


@own(aten.scatter_reduce.two)
def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A sum, product, largest or smallest that includes what is there stays whole; the others become it."""
    if include_self and reduce != "mean":
        return NotImplemented
    ones = torch.ones(index.shape, dtype=x.dtype)
    counts = torch.scatter_add(torch.zeros(x.shape, dtype=x.dtype), dim, index, ones)
    source = source[tuple(slice(0, size) for size in index.shape)]
    if not include_self:
        x = _without_self(x, dim, index, source, reduce, counts > 0)
    if reduce != "mean":
        return aten.scatter_reduce.two(x, dim, index, source, reduce)
    counts = counts + 1 if include_self else torch.where(counts > 0, counts, 1.0)
    return torch.scatter_add(x, dim, index, source) / counts


def _without_self(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, reached: Tensor) -> Tensor:
    """Replaces the elements that are reached by neutral ones. PyTorch shares the gradient of a largest with an own
    element that equals it, and loses that share."""
    neutral = torch.where(reached, _NEUTRAL[reduce], x)
    if reduce not in ("amax", "amin"):
        return neutral
    best = aten.scatter_reduce.two(neutral, dim, index, source, reduce).detach()
    return torch.where(reached, torch.where(x == best, x, _NEUTRAL[reduce]).detach(), x)


@own(aten.index_reduce.default)
def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    places = index.reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())]).expand(source.shape)
    return aten.scatter_reduce.two(x, dim, places, source, reduce, include_self=include_self)


@own(aten.masked_scatter.default)
def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Each place of the mask takes the element of its rank."""
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    x, mask = x.expand(shape), mask.expand(shape)
    rank = torch.cumsum(mask.reshape(-1).to(torch.int64), 0) - 1
    taken = torch.index_select(source.reshape(-1), 0, rank.clamp(0, source.numel() - 1))
    return torch.where(mask, taken.reshape(shape), x)


@own(aten.index_put.default)
def index_put(x: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Moves indexed dimensions that are neighbours to the front."""
    given = [d for d, index in enumerate(indices) if index is not None]
    first, count = given[0], len(given)
    if (
        first == 0
        or given != list(range(first, first + count))
        or any(indices[d].dtype in (torch.bool, torch.uint8) for d in given)
    ):
        return NotImplemented
    places = torch.broadcast_shapes(*(indices[d].shape for d in given))
    values = values.expand([*x.shape[:first], *places, *x.shape[first + count :]])
    values = torch.movedim(values, list(range(first, first + len(places))), list(range(len(places))))
    front = torch.movedim(x, given, list(range(count)))
    put = aten.index_put.default(front, [indices[d] for d in given], values, accumulate)
    return torch.movedim(put, list(range(count)), given).clone()


def _running(x: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The extreme of each prefix, the last of equal ones, by comparing with 1, 2, 4, .. places back."""
    if x.dim() == 0:
        return x.clone(), torch.zeros([], dtype=torch.int64)
    dim, size = dim % x.dim(), x.shape[dim]
    best = x.detach()
    at = torch.arange(size).reshape([-1 if d == dim else 1 for d in range(x.dim())]).expand(x.shape)
    step = 1
    while step < size:
        start = torch.narrow(best, dim, 0, step), torch.narrow(at, dim, 0, step)
        before = torch.narrow(best, dim, 0, size - step), torch.narrow(at, dim, 0, size - step)
        here = torch.narrow(best, dim, step, size - step), torch.narrow(at, dim, step, size - step)
        better = before[0] > here[0] if largest else before[0] < here[0]
        best, at = (torch.cat([start[part], torch.where(better, before[part], here[part])], dim) for part in range(2))
        step *= 2
    return torch.gather(x, dim, at), at


@own(aten.cummax.default)
def cummax(x: Tensor, dim: int) -> Any:
    return _running(x, dim, True)


@own(aten.cummin.default)
def cummin(x: Tensor, dim: int) -> Any:
    return _running(x, dim, False)


@own(aten.searchsorted.Tensor)
def searchsorted(
    sequence: Tensor,
    values: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many of the sequence are before each value: all of them are compared."""
    if sorter is not None:
        sequence = torch.gather(sequence, -1, sorter)
    sequence = sequence if sequence.dim() == 1 else sequence.unsqueeze(-2)
    values = values.unsqueeze(-1)
    after = sequence > values if right or side == "right" else sequence >= values
    return torch.sum(after.logical_not().to(torch.int64), -1).to(torch.int32 if out_int32 else torch.int64)


@own(aten.searchsorted.Scalar)
def searchsorted_of_number(sequence: Tensor, value: float, **options: Any) -> Tensor:
    return searchsorted(sequence, torch.full([], value, dtype=sequence.dtype), **options)
