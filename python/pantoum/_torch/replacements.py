"""Functions of torch.nn that read the data in Python, or write what autograd does not see, as the same computation
without that."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .ctc import ctc_loss


def equal_bags(
    input: Tensor,  # noqa: A002
    weight: Tensor,
    *,
    mode: str = "mean",
    per_sample_weights: Any = None,
    padding_idx: Any = None,
    **_: Any,
) -> Tensor:
    """Bags of one size: rows, then a reduction."""
    rows = F.embedding(input, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if padding_idx is None:
        return rows.sum(1) if mode == "sum" else rows.mean(1) if mode == "mean" else rows.amax(1)
    valid = (input != padding_idx % weight.shape[0]).unsqueeze(-1)
    if mode == "max":
        most = torch.where(valid, rows, -torch.inf).amax(1)
        return torch.where(valid.any(1), most, 0.0)
    total = torch.where(valid, rows, 0.0).sum(1)
    return total if mode == "sum" else total / valid.to(rows.dtype).sum(1).clamp(min=1.0)


def gaussian_nll_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The loss without the check that no variance is negative. The gradient passes the bound of the variance, as in
    PyTorch."""
    var = var if isinstance(var, Tensor) else var * torch.ones_like(input)
    var = var.unsqueeze(-1) if input.dim() == var.dim() + 1 and input.shape[:-1] == var.shape else var
    var = torch.clamp(var.detach(), min=eps) + (var - var.detach())
    loss: Tensor = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def instance_norm(
    input: Tensor,  # noqa: A002
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes by the statistics of each sample; the running ones move towards their means over the batch."""
    variance, mean = torch.var_mean(input.detach(), list(range(2, input.dim())))
    running_mean.lerp_(mean.mean(0), momentum)
    running_var.lerp_(variance.mean(0), momentum)
    return F.instance_norm(input, None, None, weight, bias, True, momentum, eps)


def batch_norm(self: Any, input: Tensor) -> Tensor:  # noqa: A002
    """A batch norm whose running statistics are the means of all batches so far: its momentum is 1 / their number."""
    self._check_input_dim(input)
    self.num_batches_tracked.add_(1)
    variance, mean = torch.var_mean(input.detach(), [0, *range(2, input.dim())])
    momentum = 1 / self.num_batches_tracked.to(mean.dtype)
    self.running_mean.add_((mean - self.running_mean) * momentum)
    self.running_var.add_((variance - self.running_var) * momentum)
    return F.batch_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)


def cumulative_batch_norm(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The forward of a batch norm, with `momentum=None` as `batch_norm`."""

    def replaced(self: Any, input: Tensor) -> Tensor:  # noqa: A002
        cumulative = self.momentum is None and self.training and self.track_running_stats
        return batch_norm(self, input) if cumulative else forward(self, input)

    return replaced


def adaptive_log_softmax(self: Any, input_: Tensor, target_: Tensor) -> Any:
    """Computes the logarithms of all classes: which rows are in a cluster depends on the data."""
    rows, targets = (input_, target_) if target_.dim() else (input_.unsqueeze(0), target_.unsqueeze(0))
    output = self.log_prob(rows).gather(1, targets.unsqueeze(1)).squeeze(1)
    loss = (-output).mean()
    return nn.modules.adaptive._ASMoutput(output if target_.dim() else output.squeeze(0), loss)


def as_strided(
    input: Tensor,  # noqa: A002
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """The elements by their places in the memory of a tensor that fills its memory: a copy, where PyTorch's is a
    view."""
    places = torch.tensor(storage_offset or 0)
    for extent, step in zip(size, stride, strict=True):
        places = places.unsqueeze(-1) + torch.arange(extent) * step
    return _in_memory(input).reshape(-1).index_select(0, places.reshape(-1)).reshape(tuple(size))


def _in_memory(x: Tensor) -> Tensor:
    """The tensor with its dimensions in the order of their strides."""
    return x.permute(sorted(range(x.dim()), key=lambda d: -x.stride()[d]))


def _fills_its_memory(given: dict[str, Any]) -> bool:
    x: Tensor = given["input"]
    return (
        x.storage_offset() == 0
        and _in_memory(x).is_contiguous()
        and x.untyped_storage().nbytes() == x.numel() * x.element_size()
        and all(isinstance(number, int) for number in (*given["size"], *given["stride"]))
    )


def _bags_are_equal(given: dict[str, Any]) -> bool:
    return given["input"].dim() == 2 and given.get("max_norm") is None


def _labels_are_padded(given: dict[str, Any]) -> bool:
    return bool(given["targets"].dim() == given["log_probs"].dim() - 1)


def _keeps_statistics(given: dict[str, Any]) -> bool:
    return given.get("running_mean") is not None and given.get("use_input_stats", True)


# Each function, when it is replaced, and by what.
_FUNCTIONS: dict[Any, tuple[Callable[[dict[str, Any]], bool], Callable[..., Tensor]]] = {
    F.embedding_bag: (_bags_are_equal, equal_bags),
    F.gaussian_nll_loss: (lambda given: True, gaussian_nll_loss),
    F.ctc_loss: (_labels_are_padded, ctc_loss),
    torch.as_strided: (_fills_its_memory, as_strided),
    Tensor.as_strided: (_fills_its_memory, as_strided),
    F.instance_norm: (_keeps_statistics, instance_norm),
}
# What PyTorch checks of the data there, and a captured step does not.
UNCHECKED = {
    F.gaussian_nll_loss: "that no variance is below 0",
    F.ctc_loss: "that no length is beyond its frames or labels",
}
_SIGNATURES = {
    function: inspect.signature(as_strided if function.__name__ == "as_strided" else function)
    for function in _FUNCTIONS
}


def replacement(function: Any, args: Any, kwargs: Any) -> Callable[[], Tensor] | None:
    """The same call without what cannot be captured; None where it can be."""
    if function not in _FUNCTIONS:
        return None
    given = _SIGNATURES[function].bind(*args, **kwargs).arguments
    applies, other = _FUNCTIONS[function]
    return (lambda: other(**given)) if applies(given) else None
