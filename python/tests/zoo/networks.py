"""The modules of tests/networks, with the batches of their cases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from .case import Case

_TESTS = Path(__file__).resolve().parents[3] / "tests"
_LOSSES: dict[str, Callable[..., Tensor]] = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth_l1": F.smooth_l1_loss,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "cross_entropy": F.cross_entropy,
}
LARGE = ("vgg16", "resnet18", "resnet50", "mobilenetv2", "inceptionv3", "densenet121", "unet", "squeezenet")


def _settings() -> dict[str, dict[str, Any]]:
    sys.path[:0] = [str(_TESTS / "networks"), str(_TESTS / "values")]
    try:
        from cases import NETWORKS  # type: ignore[import-not-found]
    finally:
        del sys.path[:2]
    return dict(NETWORKS)


def _values(spec: dict[str, Any]) -> Tensor:
    shape = spec["shape"]
    if spec["kind"] == "uniform":
        return torch.rand(shape) * 2 - 1
    if spec["kind"] == "ids":
        return torch.randint(0, spec["below"], shape)
    if spec["kind"] == "flags":
        return torch.randint(0, 2, shape).float()
    if spec["kind"] == "zeros":
        return torch.zeros(shape)
    ends = shape[1] - np.random.default_rng(0).integers(0, shape[1] // 2, shape[0])
    return torch.from_numpy((np.arange(shape[1])[None] < ends[:, None]).astype(np.int64))


def _case(settings: dict[str, Any]) -> Case:
    terms = settings["terms"] or [{"loss": settings["loss"], "label": settings["label"], "weight": 1.0}]

    def batch() -> tuple[Any, Any]:
        inputs = [_values(spec) for spec in settings["inputs"]]
        targets = [
            inputs[each["label"]["stream"] - 1000] if each["label"].get("stream", 0) >= 1000 else _values(each["label"])
            for each in terms
        ]
        return tuple(inputs), targets[0] if len(targets) == 1 else tuple(targets)

    def several(output: Any, target: Any) -> Tensor:
        total = torch.zeros(())
        for term, each, label in zip(terms, output, target, strict=True):
            total = total + term["weight"] * _LOSSES[term["loss"]](each, label)
        return total

    return Case(settings["kind"], batch, _LOSSES[terms[0]["loss"]] if len(terms) == 1 else several, settings["lr"])


CASES = {f"net_{name}": _case(settings) for name, settings in _settings().items()}
