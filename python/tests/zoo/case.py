"""What a case of the zoo is: a module, one batch, a loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Case:
    """`make` and `batch` are called with PyTorch's generator seeded; `loss` is of output and target, or None: the
    module gives its loss."""

    make: Callable[[], nn.Module]
    batch: Callable[[], tuple[Any, Any]]
    loss: Callable[..., Any] | None
    lr: float = 0.01
    draws: bool = False
    """The forward draws random numbers: the compiler's are others than PyTorch's."""

    def module(self) -> nn.Module:
        torch.manual_seed(0)
        module = self.make()
        return module if getattr(module, "keeps_mode", False) else module.train()

    def example(self) -> tuple[Any, Any]:
        torch.manual_seed(1)
        return self.batch()


def real(*shape: int) -> Tensor:
    return torch.rand(*shape) * 2 - 1


def ids(below: int, *shape: int) -> Tensor:
    return torch.randint(0, below, shape)


def classes(below: int, *shape: int) -> Tensor:
    return torch.randint(0, below, shape)
