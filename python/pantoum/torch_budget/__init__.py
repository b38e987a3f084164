"""Training steps of PyTorch inside a hard budget of bytes.

    with pantoum.torch_budget("6GiB") as budget:
        compiled = torch.compile(model, backend="pantoum")
    ...                                   # the loop as it was
    print(budget.report())

This module can be called: `pantoum.torch_budget(...)` is `TorchBudget(...)`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from . import backend as _backend
from .budget import Piece, Report, TorchBudget
from .meter import LiveBytes, Measurement

__all__ = ["LiveBytes", "Measurement", "Piece", "Report", "TorchBudget", "torch_budget"]

torch_budget = TorchBudget


class _Callable(types.ModuleType):
    """The module stands where the function is expected: importing a submodule makes it the package's attribute."""

    def __call__(self, *args: Any, **kwargs: Any) -> TorchBudget:
        return TorchBudget(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
_backend.register()
