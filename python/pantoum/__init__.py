"""Trains neural networks inside a hard RAM budget.

::

    import pantoum

    model = pantoum.load_onnx("net.onnx", batch=32, optimizer=pantoum.Sgd(lr=0.05))
    plan = pantoum.plan(model, ram="24MiB")
    with pantoum.Trainer(plan) as trainer:
        history = trainer.fit((x, y), epochs=3)

Sizes and times carry their unit ("64MiB", "450ms"). Errors are exceptions with ``code``, ``where``, ``notes`` and
``help``
(``pantoum.Error``). Messages go to the logger "pantoum".
"""

from __future__ import annotations

import atexit
import importlib
import logging
from typing import TYPE_CHECKING, Any

from pantoum import _core
from pantoum._core import ModelInfo, NodeInfo, WeightInfo
from pantoum.compiling import compile  # noqa: A004
from pantoum.custom import Gradient, Settings, custom_operator, custom_optimizer, load_plugin
from pantoum.data import BatchTensor, Dataset
from pantoum.deploy import Device, FirmwareSizes, devices
from pantoum.errors import (
    DeviceError,
    Error,
    GapNotReached,
    Infeasible,
    InternalError,
    Interrupted,
    InvalidInput,
    LimitReached,
    Unsupported,
    UsageError,
    VerificationFailed,
)
from pantoum.estimates import Estimate
from pantoum.fitting import Callback, History
from pantoum.keywords import emit, estimate, load_onnx, plan, plan_cost_graph, sweep
from pantoum.logs import CSVLogger, TensorBoard
from pantoum.model import Model, inspect
from pantoum.options import Adagrad, Adam, AdamW, CustomUpdate, Group, Loss, RmsProp, Sgd, SparseAdam
from pantoum.planning import Explanation, Plan, SweepRow, Verdict, load_plan, verify
from pantoum.quantities import Bytes, GiB, KiB, MiB
from pantoum.ram_curve import RamCurve
from pantoum.trainer import TensorInfo, Trainer, Usage

SGD, RMSprop = Sgd, RmsProp  # the names that torch and Keras use

if TYPE_CHECKING:
    from pantoum import _torch as _with_torch
    from pantoum._torch.check import check as check
    from pantoum.torch_budget import torch_budget as torch_budget

    torch_graph, from_torch = _with_torch.capture, _with_torch.capture_model

__version__: str = _core.version()

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "BatchTensor",
    "Bytes",
    "CSVLogger",
    "Callback",
    "CustomUpdate",
    "Dataset",
    "Device",
    "DeviceError",
    "Error",
    "Estimate",
    "Explanation",
    "FirmwareSizes",
    "GapNotReached",
    "GiB",
    "Gradient",
    "Group",
    "History",
    "Infeasible",
    "InternalError",
    "Interrupted",
    "InvalidInput",
    "KiB",
    "LimitReached",
    "Loss",
    "MiB",
    "Model",
    "ModelInfo",
    "NodeInfo",
    "Plan",
    "RMSprop",
    "RamCurve",
    "RmsProp",
    "Settings",
    "Sgd",
    "SparseAdam",
    "SweepRow",
    "TensorBoard",
    "TensorInfo",
    "Trainer",
    "Unsupported",
    "Usage",
    "UsageError",
    "Verdict",
    "VerificationFailed",
    "WeightInfo",
    "compile",
    "custom_operator",
    "custom_optimizer",
    "devices",
    "emit",
    "estimate",
    "inspect",
    "load_onnx",
    "load_plan",
    "load_plugin",
    "plan",
    "plan_cost_graph",
    "sweep",
    "verify",
]

logging.getLogger("pantoum").addHandler(logging.NullHandler())
atexit.register(_core.join_abandoned)


_OF_TORCH = {"check": "check", "from_torch": "capture_model", "torch_graph": "capture"}


def __getattr__(name: str) -> Any:
    """A name that needs torch, which is imported when the name is first used."""
    if name == "torch_budget":
        return importlib.import_module("pantoum.torch_budget")
    if name in _OF_TORCH:
        return getattr(importlib.import_module("pantoum._torch"), _OF_TORCH[name])
    raise AttributeError(f"module 'pantoum' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", *_OF_TORCH, "torch_budget"})
