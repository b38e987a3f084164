"""torch_budget(ram, *, page_dir="auto", time_limit_s=10.0, name="step"): training steps of PyTorch inside a budget.

::

    import pantoum, torch

    module = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    with pantoum.torch_budget("1MiB") as budget:
        compiled = torch.compile(module, backend="pantoum")
    for _ in range(3):                            # the loop as it was
        with budget.measure():                    # where you want to know
            compiled(torch.randn(32, 64)).square().mean().backward()
    print(budget.report())

The loop, the kernels and the optimizer stay PyTorch's; a plan says which activations are kept, which are computed again
and which go to a file. It is made in the first call, and anew for every shape of the inputs.

Args:
    ram: the most bytes that one step may make at once, forward and backward together, with a unit: "6GiB", "900MB" or
        ``pantoum.MiB(64)``. Parameters, their gradients, inputs and outputs are not counted: they are the caller's.
    page_dir: folder of the page file. "auto": the system's temporary folder; None: nothing is paged.
    time_limit_s: seconds that the planner may take for one graph.
    name: of the reports.

Returns:
    A ``TorchBudget``. ``torch.compile(.., backend="pantoum")`` inside its ``with`` block is bound to it.
    ``torch.compile(.., backend="pantoum", options={"ram": "6GiB"})`` makes one without a block. ``budget.report()`` has
    the planned peak, and the measured one of what ran inside ``budget.measure()``; ``budget.pieces`` has every compiled
    graph.

Raises:
    UsageError: E0110 a size without a unit, or another argument that does not fit.
    Infeasible: from the module's call: E0301 it is proved that no plan fits; ``min_ram`` is the least that is known.
    LimitReached: from the module's call: E0302 the planner's time ran out; ``min_ram`` as above.
    Unsupported: from the module's call: E0401 what no plan is made for (another device than the CPU, shapes that
        depend on data, ..), with the line of your code.
    DeviceError: E0902 the page file.

What PyTorch runs uncompiled has no budget; the report says so, and ``torch.compile(.., fullgraph=True)`` refuses it.
``pantoum.torch_budget`` is this module, and can be called: that is ``TorchBudget(..)``.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

from . import backend as _backend
from .budget import Piece, Report, TorchBudget
from .meter import Measurement

__all__ = ["Measurement", "Piece", "Report", "TorchBudget", "torch_budget"]

torch_budget = TorchBudget
__signature__ = inspect.signature(TorchBudget)  # of this module, as inspect and notebooks show it


class _Callable(types.ModuleType):
    """The module stands where the function is expected: importing a submodule makes it the package's attribute."""

    def __call__(self, *args: Any, **kwargs: Any) -> TorchBudget:
        return TorchBudget(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
_backend.register()
