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

from pantoum.quantities import Options

_NONE = -1e30  # the logarithm of no probability; finite, so that no difference of two is undefined
_IMPOSSIBLE = -1e20


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of torch.nn.functional.ctc_loss: `log_probs` [T, N, C], `targets` [N, S], lengths [N]; or without N.
    Lengths beyond T and S are not checked. Cost: about ten ops for each of the T frames."""
    alone = log_probs.dim() == 2
    if alone:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    frames, batch, _ = log_probs.shape
    inputs, lengths = _lengths(input_lengths, batch), _lengths(target_lengths, batch)
    path, jumps = _path(targets, lengths, blank)
    emitted = log_probs.gather(2, path.expand(frames, *path.shape))
    places = torch.arange(path.shape[1])
    score = torch.where((places < 2) & (places <= 2 * lengths), emitted[0], _NONE)
    for frame in range(1, frames):
        before = torch.nn.functional.pad(score, (2, 0), value=_NONE)
        ways = torch.stack((score, before[:, 1:-1], torch.where(jumps, before[:, :-2], _NONE)))
        score = torch.where(frame < inputs, ways.logsumexp(0) + emitted[frame], score)
    ends = torch.where((places == 2 * lengths) | (places == 2 * lengths - 1), score, _NONE)
    total = ends.logsumexp(1)
    possible = total > _IMPOSSIBLE
    total = total + _normalized(log_probs, inputs)
    loss = torch.where(possible, -total, 0.0 if zero_infinity else torch.inf)
    if reduction == "mean":
        return (loss / lengths.squeeze(1).clamp(min=1).to(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss.squeeze(0) if alone else loss


def _lengths(given: Any, batch: int) -> Tensor:
    lengths = given if isinstance(given, Tensor) else torch.tensor(given)
    return lengths.to(torch.int64).reshape(batch, 1)


def _path(targets: Tensor, lengths: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """The classes along a path, [N, 2S + 1]: a blank around every label; and where the blank between two labels that
    differ may be left out."""
    valid = torch.arange(targets.shape[1]) < lengths
    labels = torch.where(valid, targets.to(torch.int64), blank)
    pairs = torch.stack((torch.full_like(labels, blank), labels), 2).flatten(1)
    path = torch.nn.functional.pad(pairs, (0, 1), value=blank)
    two_before = torch.nn.functional.pad(path, (2, 0), value=blank)[:, :-2]
    return path, (path != blank) & (path != two_before)


def _normalized(log_probs: Tensor, inputs: Tensor) -> Tensor:
    """Zero, with the gradient that PyTorch's operator adds: its own holds behind a log_softmax, and this term vanishes
    there."""
    frames = torch.arange(log_probs.shape[0]).unsqueeze(1) < inputs.squeeze(1)
    weight = torch.where(frames.unsqueeze(2), log_probs.detach().exp(), 0.0)
    return -(weight * (log_probs - log_probs.detach())).sum((0, 2))


def equal_bags(
    input: Tensor,  # noqa: A002
    weight: Tensor,
    *,
    mode: str = "mean",
    per_sample_weights: Any = None,
    padding_idx: Any = None,
    scale_grad_by_freq: bool = False,
    **_: Any,
) -> Tensor:
    """Bags of one size: rows, then a reduction."""
    rows = F.embedding(input, weight, scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if padding_idx is None:
        return rows.sum(1) if mode == "sum" else rows.mean(1) if mode == "mean" else rows.max(1).values
    valid = (input != padding_idx % weight.shape[0]).unsqueeze(-1)
    if mode == "max":
        most = torch.where(valid, rows, -torch.inf).max(1).values
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


def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:  # noqa: A002
    """By a mask, where PyTorch writes through a strided view."""
    places = [
        torch.arange(extent).view(*([1] * axis), -1, *([1] * (input.dim() - axis - 1)))
        for axis, extent in enumerate(input.shape)
    ]
    mask = places[0] == places[1]
    for place in places[2:]:
        mask = mask & (places[0] == place)
    return input.masked_fill_(mask, fill_value)


def cov(
    input: Tensor,  # noqa: A002
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of rows, without the check that no weight is negative."""
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    weight = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    if weight is None:
        off = rows - rows.mean(1, keepdim=True)
        return (off @ off.T / max(rows.shape[1] - correction, 0)).squeeze()
    weight = weight.to(rows.dtype)
    total = weight.sum()
    off = rows - (rows * weight).sum(1, keepdim=True) / total
    less = correction if aweights is None or not correction else correction * (weight * aweights).sum() / total
    return ((off * weight) @ off.T / (total - less).clamp(min=0)).squeeze()


def corrcoef(input: Tensor) -> Tensor:  # noqa: A002
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.unsqueeze(1) / deviation).clamp(-1, 1)


def _in_memory(x: Tensor) -> Tensor:
    """The tensor with its dimensions in the order of their strides."""
    return x.permute(sorted(range(x.dim()), key=lambda d: -x.stride()[d]))


def _fills_its_memory(given: Options) -> bool:
    x: Tensor = given["input"]
    return (
        x.storage_offset() == 0
        and _in_memory(x).is_contiguous()
        and x.untyped_storage().nbytes() == x.numel() * x.element_size()
        and all(isinstance(number, int) for number in (*given["size"], *given["stride"]))
    )


def _ends_once(given: Options) -> bool:
    """A diagonal that does not begin again below the last column."""
    x = given["input"]
    return x.dim() > 1 and (not given.get("wrap", False) or x.shape[0] <= x.shape[1] + 1)


def _bags_are_equal(given: Options) -> bool:
    return given["input"].dim() == 2 and given.get("max_norm") is None


def _labels_are_padded(given: Options) -> bool:
    return bool(given["targets"].dim() == given["log_probs"].dim() - 1)


def _always(given: Options) -> bool:
    return True


def _keeps_statistics(given: Options) -> bool:
    return given.get("running_mean") is not None and given.get("use_input_stats", True)


# The functions that are replaced, each with its condition and its replacement.
_FUNCTIONS: dict[Any, tuple[Callable[[Options], bool], Callable[..., Tensor]]] = {
    F.embedding_bag: (_bags_are_equal, equal_bags),
    F.gaussian_nll_loss: (_always, gaussian_nll_loss),
    F.ctc_loss: (_labels_are_padded, ctc_loss),
    torch.as_strided: (_fills_its_memory, as_strided),
    Tensor.as_strided: (_fills_its_memory, as_strided),
    Tensor.fill_diagonal_: (_ends_once, fill_diagonal_),
    F.instance_norm: (_keeps_statistics, instance_norm),
    torch.cov: (_always, cov),
    Tensor.cov: (_always, cov),
    torch.corrcoef: (_always, corrcoef),
    Tensor.corrcoef: (_always, corrcoef),
}
# Checks of the data that PyTorch makes and a captured step does not.
UNCHECKED = {
    F.gaussian_nll_loss: "that no variance is below 0",
    F.ctc_loss: "that no length is beyond its frames or labels",
    torch.cov: "that no weight is below 0",
    Tensor.cov: "that no weight is below 0",
}
_WITHOUT_SIGNATURE = {"as_strided": as_strided, "fill_diagonal_": fill_diagonal_, "cov": cov, "corrcoef": corrcoef}
_SIGNATURES = {
    function: inspect.signature(_WITHOUT_SIGNATURE.get(function.__name__, function)) for function in _FUNCTIONS
}


def replacement(function: Any, args: Any, kwargs: Any) -> Callable[[], Tensor] | None:
    """The same call without what cannot be captured; None where it can be."""
    if function not in _FUNCTIONS:
        return None
    given = _SIGNATURES[function].bind(*args, **kwargs).arguments
    applies, other = _FUNCTIONS[function]
    return (lambda: other(**given)) if applies(given) else None
