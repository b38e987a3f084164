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
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

# Composite operators of PyTorch that the compiler takes as they are.
WHOLE = (
    aten.detach.default,
    aten.linear.default,
    aten.matmul.default,
    aten.native_layer_norm.default,
    aten.native_group_norm.default,
    aten.native_dropout.default,
    aten._native_batch_norm_legit_functional.default,
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_no_training.default,
    aten.gelu.default,
    aten.silu.default,
    aten.mish.default,
    aten.softplus.default,
    aten.elu.default,
    aten.leaky_relu.default,
    aten.hardtanh.default,
    aten.hardswish.default,
    aten.hardsigmoid.default,
    aten.cross_entropy_loss.default,
    aten.nll_loss_nd.default,
    aten.mse_loss.default,
    aten.l1_loss.default,
    aten.smooth_l1_loss.default,
    aten.huber_loss.default,
    aten.binary_cross_entropy_with_logits.default,
    aten.kl_div.default,
    aten.max_pool2d_with_indices.default,
    aten.max_pool3d_with_indices.default,
    aten.avg_pool2d.default,
    aten.avg_pool3d.default,
    aten.upsample_nearest1d.default,
    aten.upsample_nearest2d.default,
    aten.upsample_nearest3d.default,
    aten._upsample_nearest_exact1d.default,
    aten._upsample_nearest_exact2d.default,
    aten._upsample_nearest_exact3d.default,
    aten.upsample_linear1d.default,
    aten.upsample_bilinear2d.default,
    aten.upsample_trilinear3d.default,
    aten.upsample_bicubic2d.default,
    aten.grid_sampler_2d.default,
    aten.grid_sampler_3d.default,
    aten.transpose.int,
    aten.t.default,
    aten.squeeze.dim,
    aten.squeeze.default,
    aten.sum.default,
    aten.split.Tensor,
    aten.split_with_sizes.default,
    aten.unbind.int,
    aten.zeros_like.default,
    aten.ones_like.default,
    aten.new_zeros.default,
    aten.new_ones.default,
    aten.new_full.default,
    aten.zeros.default,
    aten.ones.default,
    aten.arange.default,
    aten.arange.start,
    aten.index_add.default,
    aten.index_copy.default,
)

OWN: dict[Any, Callable[..., Any]] = {}


def own(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a decomposition of ours."""

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


def _cast(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    return x if dtype is None or x.dtype == dtype else aten._to_copy.default(x, dtype=dtype)


def _sqrt_with_zero(x: Tensor) -> Tensor:
    """The square root whose gradient at 0 is 0, as PyTorch's norms and deviations have it."""
    zero = aten.eq.Scalar(x, 0)
    return torch.where(zero, 0.0, torch.sqrt(torch.where(zero, 1.0, x)))


# Products -------------------------------------------------------------------------------------------------------------


@own(aten.addmm.default)
def addmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _scaled(bias, beta) + _scaled(torch.mm(a, b), alpha)


@own(aten.baddbmm.default)
def baddbmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _scaled(bias, beta) + _scaled(torch.bmm(a, b), alpha)


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else x * factor


@own(aten.addmv.default)
def addmv(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _scaled(bias, beta) + _scaled(mv(a, b), alpha)


@own(aten.mv.default)
def mv(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a, b.unsqueeze(1)).squeeze(1)


@own(aten.dot.default, aten.vdot.default)
def dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


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


@own(aten.norm.Scalar)
def norm_scalar(x: Tensor, p: float = 2) -> Tensor:
    return vector_norm(x, p)


@own(aten.norm.ScalarOpt_dim)
def norm_dim(x: Tensor, p: float | None, dim: Any, keepdim: bool = False) -> Tensor:
    return vector_norm(x, 2 if p is None else p, dim, keepdim)


@own(aten.var.correction)
def variance(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    dims = _dims(x, dim)
    off = x - torch.mean(x, dims, True)
    return torch.sum(off * off, dims, keepdim) / max(_count(x, dims) - (1 if correction is None else correction), 0)


@own(aten.std.correction)
def deviation(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    return _sqrt_with_zero(variance(x, dim, correction=correction, keepdim=keepdim))


@own(aten.var_mean.correction)
def variance_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return variance(x, dim, correction=correction, keepdim=keepdim), torch.mean(x, _dims(x, dim), keepdim)


@own(aten.std_mean.correction)
def deviation_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return deviation(x, dim, correction=correction, keepdim=keepdim), torch.mean(x, _dims(x, dim), keepdim)


@own(aten.logsumexp.default)
def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    dims = _dims(x, dim)
    most = torch.amax(x, dims, True).detach()
    most = torch.where(most.abs() == math.inf, 0.0, most)
    answer = torch.log(torch.sum(torch.exp(x - most), dims, True)) + most
    return answer if keepdim else answer.reshape([size for d, size in enumerate(x.shape) if d not in dims])


@own(aten.max.default)
def max_of_all(x: Tensor) -> Tensor:
    return torch.amax(x, _dims(x, None))


@own(aten.min.default)
def min_of_all(x: Tensor) -> Tensor:
    return torch.amin(x, _dims(x, None))


@own(aten.min.dim)
def min_with_index(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    values, indices = torch.max(-x, dim, keepdim)
    return -values, indices


@own(aten.amin.default)
def amin(x: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return -torch.amax(-x, _dims(x, dim), keepdim)


@own(aten.mean.default)
def mean(x: Tensor, *, dtype: Any = None) -> Tensor:
    return torch.mean(_cast(x, dtype), _dims(x, None))


@own(aten.any.default, aten.any.dim, aten.any.dims)
def any_of(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return torch.sum((x != 0).to(torch.int64), _dims(x, dim), keepdim) > 0


@own(aten.all.default, aten.all.dim, aten.all.dims)
def all_of(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return torch.sum((x == 0).to(torch.int64), _dims(x, dim), keepdim) == 0


@own(aten._cdist_forward.default, aten.cdist.default)
def cdist(a: Tensor, b: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    return vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, [-1])


@own(aten._pdist_forward.default)
def pdist(x: Tensor, p: float = 2.0) -> Tensor:
    rows, columns = torch.triu_indices(x.shape[0], x.shape[0], 1).unbind()
    return vector_norm(torch.index_select(x, 0, rows) - torch.index_select(x, 0, columns), p, [-1])


# Elementwise ----------------------------------------------------------------------------------------------------------


@own(aten.clamp.default, aten.clip.default)
def clamp(x: Tensor, min: float | None = None, max: float | None = None) -> Tensor:  # noqa: A002
    """The gradient passes at the bounds themselves."""
    if min is not None:
        x = torch.where(x < min, _like(min, x), x)
    return x if max is None else torch.where(x > max, _like(max, x), x)


def _like(value: float, x: Tensor) -> Any:
    return int(value) if not x.is_floating_point() and float(value).is_integer() else value


@own(aten.clamp_min.default)
def clamp_min(x: Tensor, bound: float) -> Tensor:
    return clamp(x, bound)


@own(aten.clamp_max.default)
def clamp_max(x: Tensor, bound: float) -> Tensor:
    return clamp(x, None, bound)


@own(aten.clamp.Tensor, aten.clip.Tensor)
def clamp_tensor(x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:  # noqa: A002
    if min is not None:
        x = torch.where(x < min, min, x)
    return x if max is None else torch.where(x > max, max, x)


@own(aten.fmax.default)
def fmax(a: Tensor, b: Tensor) -> Tensor:
    return torch.where((a >= b) | torch.isnan(b), a, b)


@own(aten.fmin.default)
def fmin(a: Tensor, b: Tensor) -> Tensor:
    return torch.where((a <= b) | torch.isnan(b), a, b)


@own(aten.log1p.default)
def log1p(x: Tensor) -> Tensor:
    """Near 0 by the inverse hyperbolic tangent, which has no cancellation there."""
    near = x.abs() < 0.5
    small = torch.where(near, x, 0.0)
    return torch.where(near, 2 * torch.atanh(small / (small + 2)), torch.log(1 + torch.where(near, 0.0, x)))


@own(aten.expm1.default)
def expm1(x: Tensor) -> Tensor:
    near = x.abs() < 0.5
    half = torch.tanh(torch.where(near, x, 0.0) * 0.5)
    return torch.where(near, 2 * half / (1 - half), torch.exp(torch.where(near, 0.0, x)) - 1)


@own(aten.log_sigmoid.default)
def log_sigmoid(x: Tensor) -> Tensor:
    return -torch.nn.functional.softplus(-x)


@own(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(x: Tensor) -> Any:
    return log_sigmoid(x), x.new_zeros(0)


@own(aten.binary_cross_entropy.default)
def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    """The logarithms end at -100; the gradient is PyTorch's, (x - t) / max(x (1 - x), 1e-12), also where a
    logarithm has ended."""
    value = -(target * clamp_min(torch.log(x), -100.0) + (1 - target) * clamp_min(torch.log1p(-x), -100.0)).detach()
    slope = ((x - target) / clamp_min(x * (1 - x), 1e-12)).detach() * x
    loss = value + (slope - slope.detach())
    loss = loss if weight is None else loss * weight
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


@own(aten.exp2.default)
def exp2(x: Tensor) -> Tensor:
    return torch.exp(x * math.log(2))


@own(aten.ldexp.Tensor)
def ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    return x * torch.exp2(exponent.to(torch.float32))


@own(aten.log2.default)
def log2(x: Tensor) -> Tensor:
    return torch.log(x) * (1 / math.log(2))


@own(aten.log10.default)
def log10(x: Tensor) -> Tensor:
    return torch.log(x) * (1 / math.log(10))


@own(aten.tan.default)
def tan(x: Tensor) -> Tensor:
    return torch.sin(x) / torch.cos(x)


@own(aten.cosh.default)
def cosh(x: Tensor) -> Tensor:
    return 0.5 * (torch.exp(x) + torch.exp(-x))


@own(aten.sinh.default)
def sinh(x: Tensor) -> Tensor:
    return 0.5 * (torch.expm1(x) - torch.expm1(-x))


@own(aten.erfc.default, aten.special_erfc.default)
def erfc(x: Tensor) -> Tensor:
    return 1 - torch.erf(x)


@own(aten.isnan.default)
def isnan(x: Tensor) -> Tensor:
    return torch.logical_not(torch.eq(x, x))


@own(aten.isinf.default)
def isinf(x: Tensor) -> Tensor:
    return x.abs() == math.inf


@own(aten.atan2.default)
def atan2(y: Tensor, x: Tensor) -> Tensor:
    """Of the quotient that is at most 1, then by octants; gradient 0 at the origin is not defined by PyTorch either."""
    steep = y.abs() > x.abs()
    inner = torch.atan(torch.where(steep, x, y) / torch.where(steep, y, torch.where(x == 0, 1.0, x)))
    side = torch.where(y >= 0, math.pi, -math.pi).to(y.dtype)
    return torch.where(steep, 0.5 * side - inner, torch.where(x < 0, inner + side, inner))


@own(aten.frac.default)
def frac(x: Tensor) -> Tensor:
    return x - torch.trunc(x)


@own(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(start: Tensor, end: Tensor, weight: Any) -> Tensor:
    return start + weight * (end - start)
