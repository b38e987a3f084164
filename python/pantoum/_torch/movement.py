# mypy: disable-error-code="no-any-return,no-untyped-call"
"""Decompositions of operators that move, select and pool elements. `decompositions.table` takes them in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .decompositions import own

aten = torch.ops.aten


def _range(start: int, end: int, step: int = 1) -> Tensor:
    return torch.arange(start, end, step)


@own(aten.slice_scatter.default)
def slice_scatter(
    x: Tensor, source: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    dim, size = dim % x.dim(), x.shape[dim]
    first, last, _ = slice(start, end).indices(size)
    last = max(first, last)
    source = source.to(x.dtype)
    if first == 0 and last == size and step == 1:
        return _laid_out_as(x, source.clone())
    if step == 1:
        parts = [torch.narrow(x, dim, 0, first), source, torch.narrow(x, dim, last, size - last)]
        return _laid_out_as(x, torch.cat([part for part in parts if part.shape[dim] > 0], dim))
    places = _range(first, last, step).reshape([-1 if d == dim else 1 for d in range(x.dim())]).expand(source.shape)
    return _laid_out_as(x, torch.scatter(x, dim, places, source))


def _laid_out_as(x: Tensor, value: Tensor) -> Tensor:
    """The value in x's order of dimensions: what an in-place change was of may be viewed as only x can be."""
    if value.stride() == x.stride():
        return value
    order = sorted(range(x.dim()), key=lambda d: (-x.stride()[d], d))
    back = [order.index(d) for d in range(x.dim())]
    return value.permute(order).clone(memory_format=torch.contiguous_format).permute(back)


@own(aten.select_scatter.default)
def select_scatter(x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    index %= x.shape[dim]
    return slice_scatter(x, source.unsqueeze(dim), dim, index, index + 1)


@own(aten.diagonal_scatter.default)
def diagonal_scatter(x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    moved = torch.movedim(x, (dim1, dim2), (-2, -1))
    places = _range(0, source.shape[-1]) * (moved.shape[-1] + 1) + (
        offset if offset >= 0 else -offset * moved.shape[-1]
    )
    flat = torch.scatter(moved.flatten(-2), -1, places.expand(source.shape), source)
    return _laid_out_as(x, torch.movedim(flat.reshape(moved.shape), (-2, -1), (dim1, dim2)).clone())


def _padded(x: Tensor, padding: Sequence[int], reflect: bool) -> Tensor:
    for pair in range(len(padding) // 2):
        dim, before, after = x.dim() - 1 - pair, padding[2 * pair], padding[2 * pair + 1]
        last = x.shape[dim] - 1
        if (before, after) == (0, 0):
            continue
        places = torch.arange(-before, last + 1 + after)
        places = last - (last - places.abs()).abs() if reflect else places.clamp(0, last)
        x = torch.index_select(x, dim, places)
    return x


@own(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)
def reflection_pad(x: Tensor, padding: Sequence[int]) -> Tensor:
    return _padded(x, padding, True)


@own(aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default)
def replication_pad(x: Tensor, padding: Sequence[int]) -> Tensor:
    return _padded(x, padding, False)


# Pools and norms
# --------------------------------------------------------------------------------------------------------


@own(aten.adaptive_max_pool2d.default)
def adaptive_max_pool2d(x: Tensor, output_size: Sequence[int]) -> Any:
    """Equal bins are a max pooling; bins of unequal sizes are read through their places."""
    sizes = x.shape[-2:]
    if all(size % b == 0 for size, b in zip(sizes, output_size, strict=True)):
        kernel = [size // b for size, b in zip(sizes, output_size, strict=True)]
        return aten.max_pool2d_with_indices.default(x, kernel)
    bounds = [
        [(b * size // bins, -(-(b + 1) * size // bins)) for b in range(bins)]
        for size, bins in zip(sizes, output_size, strict=True)
    ]
    values, places = [], []
    for top, bottom in bounds[0]:
        for left, right in bounds[1]:
            best, at = torch.max(x[..., top:bottom, left:right].flatten(-2), -1)
            width = right - left
            values.append(best)
            places.append((at // width + top) * sizes[1] + at % width + left)
    shape = [*x.shape[:-2], *output_size]
    return torch.stack(values, -1).reshape(shape), torch.stack(places, -1).reshape(shape)


def max_pool_with_places(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """A max pooling whose places are read: windows side by side, and the first largest of each."""
    shape, sizes = x.shape[:-2], x.shape[-2:]
    kernel, padding, dilation = (
        list(each) * 2 if len(each) == 1 else list(each) for each in (kernel, padding, dilation)
    )
    stride = kernel if not stride else list(stride) * 2 if len(stride) == 1 else list(stride)
    pooled = aten.max_pool2d_with_indices.default(x, kernel, stride, padding, dilation, ceil_mode)[0]
    high, wide = pooled.shape[-2:]
    rows, columns = (
        (_range(0, count).unsqueeze(1) * stride[d] - padding[d] + _range(0, kernel[d]) * dilation[d])
        for d, count in enumerate((high, wide))
    )
    valid = ((rows >= 0) & (rows < sizes[0]))[:, None, :, None] & ((columns >= 0) & (columns < sizes[1]))[
        None, :, None, :
    ]
    places = rows.clamp(0, sizes[0] - 1)[:, None, :, None] * sizes[1] + columns.clamp(0, sizes[1] - 1)[None, :, None, :]
    windows = torch.index_select(x.reshape(*shape, -1), -1, places.reshape(-1)).reshape(*shape, high, wide, -1)
    values, at = torch.max(torch.where(valid.reshape(high, wide, -1), windows, -math.inf), -1)
    taken = torch.gather(places.reshape(high, wide, -1).expand(*shape, high, wide, -1), -1, at.unsqueeze(-1)).squeeze(
        -1
    )
    return values, taken


def max_pool1d_with_places(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    sizes = [1, *kernel], [1, *(stride or kernel)], [0, *padding], [1, *dilation]
    values, places = max_pool_with_places(x.unsqueeze(-2), *sizes, ceil_mode)
    return values.squeeze(-2), places.squeeze(-2)


@own(aten.instance_norm.default)
def instance_norm(
    x: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn: bool,
) -> Tensor:
    if running_mean is None and use_input_stats:
        n, c = x.shape[:2]
        return aten.native_group_norm.default(x, weight, bias, n, c, math.prod(x.shape[2:]), c, eps)[0]
    if not use_input_stats:
        return torch.nn.functional.batch_norm(x, running_mean, running_var, weight, bias, False, 0.0, eps)
    raise NotImplementedError("instance normalization that keeps running statistics")


@own(aten.embedding_bag.default, aten.embedding_bag.padding_idx)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums and means of bags, by the bag that each index is in."""
    if mode == 2:
        raise NotImplementedError("embedding_bag of the largest with offsets")
    ends = offsets[:-1] if include_last_offset else offsets
    bag = (_range(0, indices.shape[0]).unsqueeze(1) >= ends.unsqueeze(0)).to(torch.int64).sum(1) - 1
    rows = torch.nn.functional.embedding(indices, weight)
    counted = torch.ones(indices.shape, dtype=weight.dtype)
    if padding_idx is not None:
        counted = (indices != padding_idx % weight.shape[0]).to(weight.dtype)
        rows = rows * counted.unsqueeze(1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    total = torch.index_add(rows.new_zeros(ends.shape[0], weight.shape[1]), 0, bag, rows)
    if mode == 1:
        counts = torch.index_add(rows.new_zeros(ends.shape[0]), 0, bag, counted)
        total = total / torch.where(counts < 1, 1.0, counts).unsqueeze(1)
    return total, bag, bag, bag


@own(aten.one_hot.default)
def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    if num_classes < 0:
        raise NotImplementedError("one_hot needs num_classes: it cannot depend on the data")
    return (x.unsqueeze(-1) == _range(0, num_classes)).to(torch.int64)


@own(aten.multilabel_margin_loss_forward.default)
def multilabel_margin_loss(x: Tensor, target: Tensor, reduction: int) -> Any:
    """Sums over every pair of a label before the first -1 and a class that is no label."""
    rows, labels = x.reshape(-1, x.shape[-1]), target.reshape(-1, x.shape[-1])
    place = _range(0, x.shape[-1])
    given = torch.cumsum((labels == -1).to(torch.int64), 1) == 0
    chosen = torch.where(given, labels, 0)
    is_label = ((place == chosen.unsqueeze(-1)) & given.unsqueeze(-1)).to(torch.int64).sum(1) > 0
    margin = 1 - torch.gather(rows, 1, chosen).unsqueeze(-1) + rows.unsqueeze(1)
    counted = given.unsqueeze(-1) & is_label.logical_not().unsqueeze(1) & (margin > 0)
    loss = torch.where(counted, margin, 0.0).sum([1, 2]) / x.shape[-1]
    loss = loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss.reshape(x.shape[:-1])
    return loss, is_label.to(x.dtype).reshape(target.shape)
