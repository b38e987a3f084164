"""Connectionist temporal classification over padded labels, in operators of a fixed shape: Graves et al. 2006, section
4.1, in logarithms. PyTorch's own is one operator without a rule here."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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
