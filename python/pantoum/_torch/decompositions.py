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
    loss = loss if weight is None else loss * weight
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


@own(aten.atan2.default)
def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle from the quotient that is at most 1, then by octants. At the origin the gradient is 0; PyTorch's is not
    defined there."""
    steep = y.abs() > x.abs()
    inner = torch.atan(torch.where(steep, x, y) / torch.where(steep, y, torch.where(x == 0, 1.0, x)))
    side = torch.where(y >= 0, math.pi, -math.pi).to(y.dtype)
    return torch.where(steep, 0.5 * side - inner, torch.where(x < 0, inner + side, inner))


# Of one formula
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
