"""Outputs that are probabilities, before a loss that takes them for logits, are warned of by every road of `fit`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

PLANNED: dict[str, Any] = {"kernels": "portable", "measure": "off", "effort": 1}
X = torch.randn(16, 6, generator=torch.Generator().manual_seed(3))
Y = torch.arange(16) % 3

ENDS: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    "softmax": (lambda h: h.softmax(-1), False),  # a named loss takes what softmax reads
    "twice": (lambda h: h.softmax(-1).softmax(-1) * 2 - h.softmax(-1).softmax(-1), True),
    "written out": (lambda h: h.exp() / h.exp().sum(-1, keepdim=True), True),
    "shares": (lambda h: (h * h) / (h * h).sum(-1, keepdim=True), True),
    "logits": (lambda h: h, False),
    "bounded logits": (lambda h: h.sigmoid(), False),
    "one axis off": (lambda h: h.softmax(0), False),
}
LOSSES: dict[str, Any] = {
    "named": "cross_entropy",
    "smoothed": pantoum.Loss("cross_entropy", smoothing=0.1),
    "captured": lambda output, target: F.cross_entropy(output, target),
    "of the logarithm": lambda output, target: F.nll_loss(torch.log(output), target),
}
ROADS: dict[str, Callable[[Any], None]] = {
    "loader": lambda trainer: trainer.fit([(X[:8], Y[:8]), (X[8:], Y[8:])]),
    "steps of an epoch": lambda trainer: trainer.fit([(X[:8], Y[:8])] * 3, steps_per_epoch=2),
    "arrays": lambda trainer: trainer.fit(X.numpy(), Y.numpy()),
    "tensors": lambda trainer: trainer.fit((X, Y), epochs=2),
}


class Ending(nn.Module):
    def __init__(self, end: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.end = nn.Linear(6, 3), end

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.end(self.layer(x))
        return out


def warned(end: str, loss: str, roads: list[str]) -> list[bool]:
    module = Ending(ENDS[end][0])
    found = []
    for road in roads:
        with (
            warnings.catch_warnings(record=True) as caught,
            pantoum.compile(module, (X[:8], Y[:8]), loss=LOSSES[loss], ram="64MiB", plan_options=PLANNED) as trainer,
        ):
            warnings.simplefilter("always")
            ROADS[road](trainer)
            ROADS[road](trainer)  # told once
        told = [each for each in caught if "sum to 1" in str(each.message)]
        assert len(told) <= 1
        found.append(bool(told))
    return found


@pytest.mark.parametrize("end", ENDS)
def test_every_road_warns_where_it_should(end: str) -> None:
    assert warned(end, "named", list(ROADS)) == [ENDS[end][1]] * len(ROADS)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_the_loss_takes_decides(loss: str) -> None:
    assert warned("shares", loss, ["loader"]) == [loss != "of the logarithm"]


def test_looking_changes_nothing() -> None:
    def trained(skip: bool) -> tuple[list[float], Any]:
        module = Ending(ENDS["shares"][0])
        with (
            warnings.catch_warnings(),
            pantoum.compile(module, (X[:8], Y[:8]), loss="cross_entropy", ram="64MiB", plan_options=PLANNED) as trainer,
        ):
            warnings.simplefilter("ignore")
            trainer._looked_at = skip
            losses = trainer.fit([(X[:8], Y[:8])] * 3, epochs=2).history["loss"]
            return losses, {name: array.tobytes() for name, array in trainer.state_dict().items()}

    assert trained(False) == trained(True)
    assert np.isfinite(trained(True)[0]).all()
