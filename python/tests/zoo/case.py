"""What a case of the zoo is: a module, one batch, a loss."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Refusal:
    """Why a module cannot be trained here: the error's code, words of its text, and how the line begins that it
    names, in the file of the case."""

    code: str
    words: str
    line: str

    def missing(self, error: Any, module: nn.Module) -> str:
        """Which of them an error lacks."""
        file = inspect.getsourcefile(type(module)) or ""
        lines = [line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines()]
        number = 1 + next(place for place, line in enumerate(lines) if line.startswith(self.line))
        wanted = {"code": self.code, "words": self.words, "line": f"{Path(file).name}:{number},"}
        found = {"code": error.code, "words": str(error), "line": str(error)}
        return ", ".join(f"{what} {wanted[what]}" for what in wanted if wanted[what] not in found[what])


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
    refused: Refusal | None = None

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
