# mypy: disable-error-code="no-any-return,no-untyped-call"
"""Which ATen operators stay whole, and what the others become.

Our own autodiff differentiates the decomposed forward graph. So a decomposition must have PyTorch's value *and*,
through the derivatives of its
parts, PyTorch's gradient: also at ties, at the bounds of a clamp, at a norm of zero. What PyTorch's own decompositions
get wrong there is written
anew below. What the compiler has as one operator (products, convolutions, normalizations, pools, losses, softmax)
stays whole, for its memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

# Operators that PyTorch decomposes by default, and that the compiler lowers itself.
WHOLE = (
    aten.detach.default,
    aten.linear.default,
    aten.matmul.default,
    aten.mv.default,
    aten.dot.default,
    aten.silu.default,
    aten.mish.default,
    aten.softplus.default,
    aten.log_sigmoid.default,
    aten.hardswish.default,
    aten.hardsigmoid.default,
    aten.clamp_min.default,
    aten.clamp_max.default,
    aten.frac.default,
    aten.lerp.Scalar,
    aten.lerp.Tensor,
    aten.cross_entropy_loss.default,
    aten.nll_loss_nd.default,
    aten.binary_cross_entropy_with_logits.default,
    aten.mse_loss.default,
    aten.l1_loss.default,
    aten.smooth_l1_loss.default,
    aten.huber_loss.default,
    aten.kl_div.default,
    aten.adaptive_avg_pool1d.default,
    aten.adaptive_avg_pool2d.default,
    aten.adaptive_avg_pool3d.default,
    aten.upsample_nearest1d.default,
    aten.upsample_nearest2d.default,
    aten.upsample_nearest3d.default,
    aten._upsample_nearest_exact1d.default,
    aten._upsample_nearest_exact2d.default,
    aten._upsample_nearest_exact3d.default,
    aten.upsample_linear1d.default,
    aten.transpose.int,
    aten.t.default,
    aten.squeeze.dim,
    aten.squeeze.default,
    aten.sum.default,
    aten.all.default,
    aten.all.dim,
    aten.all.dims,
    aten.split.Tensor,
    aten.unbind.int,
    aten.index_add.default,
    aten.index_copy.default,
    aten.zeros_like.default,
    aten.ones_like.default,
    aten.new_zeros.default,
    aten.new_ones.default,
    aten.new_full.default,
    aten.zeros.default,
    aten.ones.default,
    aten.arange.default,
    aten.arange.start,
)

OWN: dict[Any, Callable[..., Any]] = {}


def own(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a decomposition of our own."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OWN.update(dict.fromkeys(operators, function))
        return function

    return register


def table() -> dict[Any, Callable[..., Any]]:
    """PyTorch's decompositions without those of `WHOLE`, and ours."""
    answer = dict(torch.export.default_decompositions().materialize())
    for operator in WHOLE:
        answer.pop(operator, None)
    answer.update(OWN)
    return answer


def _dims(x: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(x.dim()))
    return [d % max(x.dim(), 1) for d in ([dim] if isinstance(dim, int) else dim)]


def _count(x: Tensor, dims: Sequence[int]) -> int:
    return math.prod(x.shape[d] for d in dims) if x.dim() else 1


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


def _cast(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    return x if dtype is None or x.dtype == dtype else aten._to_copy.default(x, dtype=dtype)


def _sqrt_with_zero(x: Tensor) -> Tensor:
    """The square root whose gradient at 0 is 0, as PyTorch's norms and deviations have it."""
    zero = aten.eq.Scalar(x, 0)
    return torch.where(zero, 0.0, torch.sqrt(torch.where(zero, 1.0, x)))


# Products -------------------------------------------------------------------------------------------------------------


@own(aten.scaled_dot_product_attention.default)
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Rows that a mask leaves nothing of give 0, as PyTorch's kernels do."""
    if enable_gqa:
        k, v = (x.repeat_interleave(q.size(-3) // x.size(-3), -3) for x in (k, v))
    scores = torch.matmul(q * (1 / math.sqrt(q.size(-1)) if scale is None else scale), k.transpose(-2, -1))
    empty = None
    if is_causal:
        later = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril().logical_not()
        scores = scores + torch.where(later, -math.inf, 0.0).to(scores.dtype)
    if attn_mask is not None:
        mask = torch.where(attn_mask, 0.0, -math.inf).to(q.dtype) if attn_mask.dtype == torch.bool else attn_mask
        empty = torch.amax(mask, -1, keepdim=True) == -math.inf
        scores = scores + torch.where(empty, 0.0, mask)
    weights = torch.softmax(scores, -1)
    if dropout_p > 0:
        weights = aten.native_dropout.default(weights, dropout_p, True)[0]
    answer = torch.matmul(weights, v)
    return answer if empty is None else torch.where(empty, 0.0, answer)


# Reductions -----------------------------------------------------------------------------------------------------------


@own(aten.linalg_vector_norm.default)
def vector_norm(
    x: Tensor,
    ord: float = 2,  # noqa: A002
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    x, dims = _cast(x, dtype), _dims(x, dim)
    if ord == 2:
        return _sqrt_with_zero(torch.sum(x * x, dims, keepdim))
    if ord == 1:
        return torch.sum(x.abs(), dims, keepdim)
    if ord == 0:
        return torch.sum((x != 0).to(x.dtype), dims, keepdim)
    if math.isinf(ord):
        return torch.amax(x.abs(), dims, keepdim) if ord > 0 else torch.amin(x.abs(), dims, keepdim)
    total = torch.sum(_power_with_zero(x.abs(), ord), dims, keepdim)
    return _power_with_zero(total, 1 / ord)


def _power_with_zero(x: Tensor, exponent: float) -> Tensor:
    """x ** exponent of x >= 0, with gradient 0 at 0."""
    zero = aten.eq.Scalar(x, 0)
    return torch.where(zero, 0.0, torch.pow(torch.where(zero, 1.0, x), exponent))


@own(aten.var.correction)
def variance(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    dims = _dims(x, dim)
    off = x - torch.mean(x, dims, True)
    return torch.sum(off * off, dims, keepdim) / max(_count(x, dims) - (1 if correction is None else correction), 0)


@own(aten.logsumexp.default)
def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    dims = _dims(x, dim)
    most = torch.amax(x, dims, True).detach()
    most = torch.where(most.abs() == math.inf, 0.0, most)
    answer = torch.log(torch.sum(torch.exp(x - most), dims, True)) + most
    return answer if keepdim else answer.reshape([size for d, size in enumerate(x.shape) if d not in dims])


@own(aten._pdist_forward.default)
def pdist(x: Tensor, p: float = 2.0) -> Tensor:
    rows, columns = torch.triu_indices(x.shape[0], x.shape[0], 1).unbind()
    return vector_norm(torch.index_select(x, 0, rows) - torch.index_select(x, 0, columns), p, [-1])


# Elementwise ----------------------------------------------------------------------------------------------------------


@own(aten.log1p.default)
def log1p(x: Tensor) -> Tensor:
    """Near 0 by the inverse hyperbolic tangent, which has no cancellation there."""
    near = x.abs() < 0.5
    small = torch.where(near, x, 0.0)
    return torch.where(near, 2 * torch.atanh(small / (small + 2)), torch.log(1 + torch.where(near, 0.0, x)))


@own(aten.sinc.default)
def sinc(x: Tensor) -> Tensor:
    zero = aten.eq.Scalar(x, 0)
    angle = math.pi * torch.where(zero, 1.0, x)
    return torch.where(zero, 1.0, torch.sin(angle) / angle)


@own(aten.xlogy.Tensor, aten.special_xlogy.default)
def xlogy(x: Tensor, y: Tensor) -> Tensor:
    """Where x is 0 the gradient is log y, if that is a number."""
    return x * torch.log(torch.where((x == 0) & (y <= 0), 1.0, y))


@own(aten.expm1.default)
def expm1(x: Tensor) -> Tensor:
    near = x.abs() < 0.5
    half = torch.tanh(torch.where(near, x, 0.0) * 0.5)
    return torch.where(near, 2 * half / (1 - half), torch.exp(torch.where(near, 0.0, x)) - 1)


@own(aten.binary_cross_entropy.default)
def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    """The logarithms end at -100; the gradient is PyTorch's, (x - t) / max(x (1 - x), 1e-12), also where a
    logarithm has ended."""
    value = -(
        target * torch.clamp_min(torch.log(x), -100.0) + (1 - target) * torch.clamp_min(torch.log1p(-x), -100.0)
    ).detach()
    slope = ((x - target) / torch.clamp_min(x * (1 - x), 1e-12)).detach() * x
    loss = value + (slope - slope.detach())
    return _reduced(loss if weight is None else loss * weight, reduction)


@own(aten.atan2.default)
def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle from the quotient that is at most 1, then by octants. At the origin the gradient is 0; PyTorch's is not
    defined there."""
    steep = y.abs() > x.abs()
    inner = torch.atan(torch.where(steep, x, y) / torch.where(steep, y, torch.where(x == 0, 1.0, x)))
    side = torch.where(y >= 0, math.pi, -math.pi).to(y.dtype)
    return torch.where(steep, 0.5 * side - inner, torch.where(x < 0, inner + side, inner))


# Decompositions of one formula
# --------------------------------------------------------------------------------------------------------

OWN |= {
    aten.addmv.default: lambda bias, a, b, *, beta=1, alpha=1: bias * beta + torch.mv(a, b) * alpha,
    aten.norm.Scalar: lambda x, p=2: vector_norm(x, p),
    aten.norm.ScalarOpt_dim: lambda x, p, dim, keepdim=False: vector_norm(x, 2 if p is None else p, dim, keepdim),
    aten.std.correction: lambda x, dim=None, **options: _sqrt_with_zero(variance(x, dim, **options)),
    aten.var_mean.correction: lambda x, dim=None, *, keepdim=False, **options: (
        variance(x, dim, keepdim=keepdim, **options),
        torch.mean(x, _dims(x, dim), keepdim),
    ),
    aten.std_mean.correction: lambda x, dim=None, *, keepdim=False, **options: (
        _sqrt_with_zero(variance(x, dim, keepdim=keepdim, **options)),
        torch.mean(x, _dims(x, dim), keepdim),
    ),
    aten.fmax.default: lambda a, b: torch.where((a >= b) | torch.isnan(b), a, b),
    aten.fmin.default: lambda a, b: torch.where((a <= b) | torch.isnan(b), a, b),
    aten.ldexp.Tensor: lambda x, exponent: x * torch.exp2(exponent.to(torch.float32)),
    aten.copy.default: lambda x, source, non_blocking=False: source.to(x.dtype).expand(x.shape).clone(),
    aten.sinh.default: lambda x: 0.5 * (torch.expm1(x) - torch.expm1(-x)),
}
OWN |= dict.fromkeys(
    (aten.cdist.default, aten._cdist_forward.default),
    lambda a, b, p=2.0, compute_mode=None: vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, [-1]),
)


# Moving, selecting and pooling ----------------------------------------------------------------------------------------


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
    return _laid_out_as(x, torch.index_copy(x, dim, torch.arange(first, last, step), source))


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
    places = torch.arange(source.shape[-1]) * (moved.shape[-1] + 1) + (
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


OWN |= {
    getattr(aten, f"{kind}_pad{rank}d").default: partial(_padded, reflect=kind == "reflection")
    for kind in ("reflection", "replication")
    for rank in (1, 2, 3)
}


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
    kernel, stride, padding, dilation = (
        list(each) * 2 if len(each) == 1 else list(each) for each in (kernel, stride or kernel, padding, dilation)
    )
    pooled = aten.max_pool2d_with_indices.default(x, kernel, stride, padding, dilation, ceil_mode)[0]
    high, wide = pooled.shape[-2:]
    rows, columns = (
        (torch.arange(count).unsqueeze(1) * stride[d] - padding[d] + torch.arange(kernel[d]) * dilation[d])
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
    bag = (torch.arange(indices.shape[0]).unsqueeze(1) >= ends.unsqueeze(0)).to(torch.int64).sum(1) - 1
    rows = torch.nn.functional.embedding(indices, weight, scale_grad_by_freq=scale_grad_by_freq)
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
    return (x.unsqueeze(-1) == torch.arange(num_classes)).to(torch.int64)


@own(aten.multilabel_margin_loss_forward.default)
def multilabel_margin_loss(x: Tensor, target: Tensor, reduction: int) -> Any:
    """Sums over every pair of a label before the first -1 and a class that is no label."""
    rows, labels = x.reshape(-1, x.shape[-1]), target.reshape(-1, x.shape[-1])
    place = torch.arange(x.shape[-1])
    given = torch.cumsum((labels == -1).to(torch.int64), 1) == 0
    chosen = torch.where(given, labels, 0)
    is_label = ((place == chosen.unsqueeze(-1)) & given.unsqueeze(-1)).to(torch.int64).sum(1) > 0
    margin = 1 - torch.gather(rows, 1, chosen).unsqueeze(-1) + rows.unsqueeze(1)
    counted = given.unsqueeze(-1) & is_label.logical_not().unsqueeze(1) & (margin > 0)
    loss = (torch.where(counted, margin, 0.0).sum([1, 2]) / x.shape[-1]).reshape(x.shape[:-1])
    return _reduced(loss, reduction), is_label.to(x.dtype).reshape(target.shape)


# Writing and reducing at places, and searches -------------------------------------------------------------------------


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


OWN |= {aten.cummax.default: partial(_running, largest=True), aten.cummin.default: partial(_running, largest=False)}


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


OWN[aten.searchsorted.Scalar] = lambda sequence, value, **options: searchsorted(
    sequence, torch.full([], value, dtype=sequence.dtype), **options
)


# Random numbers: uniform and normal ones are the trainer's ------------------------------------------------------------


OWN |= {
    aten.rand_like.default: lambda x, **_: torch.rand(x.shape, dtype=x.dtype),
    aten.randn_like.default: lambda x, **_: torch.randn(x.shape, dtype=x.dtype),
    aten.uniform.default: lambda x, low=0.0, high=1.0, **_: torch.rand(x.shape, dtype=x.dtype) * (high - low) + low,
    aten.normal_functional.default: lambda x, mean=0.0, std=1.0, **_: torch.randn(x.shape, dtype=x.dtype) * std + mean,
    aten.exponential.default: lambda x, rate=1.0, **_: torch.log(1 - torch.rand(x.shape, dtype=x.dtype)) * (-1 / rate),
    aten.bernoulli.default: lambda x, **_: (torch.rand(x.shape, dtype=x.dtype) < x).to(x.dtype).detach(),
    aten.randint.default: lambda high, size, *, dtype=None, **_: aten.randint.low(0, high, size, dtype=dtype),
    # The order of random numbers: all orders are as likely.
    aten.randperm.default: lambda n, *, dtype=torch.int64, **_: torch.argsort(torch.rand(n)).to(dtype or torch.int64),
}
OWN |= dict.fromkeys(
    (aten.bernoulli.p, aten.bernoulli.Tensor), lambda x, p=0.5, **_: (torch.rand(x.shape) < p).to(x.dtype)
)


@own(aten.normal.Tensor_Tensor, aten.normal.Tensor_float, aten.normal.float_Tensor)
def normal_of(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    shape = torch.broadcast_shapes(*(x.shape for x in (mean, std) if isinstance(x, Tensor)))
    return torch.randn(shape).detach() * std + mean


@own(aten.rrelu_with_noise_functional.default)
def rrelu(
    x: Tensor, noise: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> tuple[Tensor, Tensor]:
    slope = torch.rand(x.shape) * (upper - lower) + lower if training else 0.5 * (lower + upper)
    factor = torch.where(x <= 0, slope, 1.0)
    return x * factor, factor


@own(aten.multinomial.default)
def multinomial(weights: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """A draw with replacement is the place of a uniform number among the cumulated weights. Draws without it are the
    first arrivals of processes with these rates (Efraimidis and Spirakis 2006)."""
    weights = weights.detach()
    if replacement or num_samples == 1:
        total = torch.cumsum(weights, -1)
        drawn = torch.rand((*weights.shape[:-1], num_samples)) * total[..., -1:]
        return torch.searchsorted(total, drawn, right=True).clamp(max=weights.shape[-1] - 1)
    arrival = -torch.log(1 - torch.rand(weights.shape)) / weights
    return torch.topk(arrival, num_samples, -1, largest=False)[1]


# Special functions ----------------------------------------------------------------------------------------------------


def _far(x: Tensor, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Whether x is below `steps`; x where it is, 1 elsewhere; and x moved by the recurrence to `steps` or above."""
    below = x < steps
    return below, torch.where(below, x, 1.0), torch.where(below, x + steps, x)


def _log_gamma(x: Tensor) -> Tensor:
    """The series starts at 4: the parts that cancel grow with z."""
    below, small, z = _far(x, 4)
    product = small * (small + 1) * (small + 2) * (small + 3)
    square = 1 / (z * z)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / z
    return (
        (z - 0.5) * torch.log(z)
        - z
        + (0.5 * math.log(2 * math.pi))
        + series
        - torch.where(below, torch.log(product), 0.0)
    )


def _digamma(x: Tensor) -> Tensor:
    below, small, z = _far(x, 8)
    steps = sum((1 / (small + step) for step in range(8)), torch.zeros_like(x))
    square = 1 / (z * z)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return torch.log(z) - 0.5 / z - series - torch.where(below, steps, 0.0)


def _trigamma(x: Tensor) -> Tensor:
    below, small, z = _far(x, 8)
    steps = sum((1 / (small + step) ** 2 for step in range(8)), torch.zeros_like(x))
    square = 1 / (z * z)
    series = (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))) * square / z
    return 1 / z + 0.5 * square + series + torch.where(below, steps, 0.0)


def _reflected(x: Tensor, right: Callable[[Tensor], Tensor], sign: int, left: Callable[[Tensor], Tensor]) -> Tensor:
    """`right` from 1/2 on; below, sign * right(1 - x) + left(x)."""
    below = x < 0.5
    value = right(torch.where(below, 1 - x, x))
    return torch.where(below, sign * value + left(torch.where(below, x, 0.25)), value)


def _within_a_turn(x: Tensor) -> Tensor:
    """x less its nearest integer: sines of large arguments would lose digits."""
    return (x - torch.round(x).detach()) * math.pi


@own(aten.lgamma.default, aten.special_gammaln.default)
def lgamma(x: Tensor) -> Tensor:
    return _reflected(
        x, _log_gamma, -1, lambda left: math.log(math.pi) - torch.log(torch.sin(_within_a_turn(left)).abs())
    )


@own(aten.digamma.default, aten.special_digamma.default, aten.special_psi.default)
def digamma(x: Tensor) -> Tensor:
    return _reflected(x, _digamma, 1, lambda left: -math.pi / torch.tan(_within_a_turn(left)))


@own(aten.polygamma.default, aten.special_polygamma.default)
def polygamma(n: int, x: Tensor) -> Any:
    if n == 0:
        return digamma(x)
    if n != 1:
        return NotImplemented
    return _reflected(x, _trigamma, -1, lambda left: (math.pi / torch.sin(_within_a_turn(left))) ** 2)


# Giles 2012, "Approximating the erfinv function", table 5: by w = -log(1 - x^2), below 5 and above.
_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@own(aten.erfinv.default, aten.special_erfinv.default)
def erfinv(x: Tensor) -> Tensor:
    """An approximation, and one step of Newton's from it, which has the exact derivative."""
    inside = x.abs() < 1
    inner = torch.where(inside, x, 0.0)
    guess = _erfinv_guess(inner.detach())
    value = guess - (torch.erf(guess) - inner) * (0.5 * math.sqrt(math.pi)) * torch.exp(guess * guess)
    outside = torch.where(x == 1, math.inf, torch.where(x == -1, -math.inf, math.nan)).to(x.dtype)
    return torch.where(inside, value, outside)


def _erfinv_guess(x: Tensor) -> Tensor:
    w = -torch.log((1 - x) * (1 + x))
    central = w < 5
    return x * torch.where(
        central, _polynomial(_CENTRAL, w - 2.5), _polynomial(_TAIL, torch.sqrt(torch.where(central, 5.0, w)) - 3)
    )


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
