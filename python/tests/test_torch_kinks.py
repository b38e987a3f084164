"""Gradients of captured operators where they have no derivative, or values tie: PyTorch's. The cases are those of
`make programs FAMILY=kinks` (tests/programs)."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from samples import MODELLED, ROOT  # noqa: E402
from torch import Tensor, nn  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "programs"))
import kinks  # type: ignore[import-not-found]  # noqa: E402

pytestmark = pytest.mark.long  # 20 s of processor time

# PyTorch leaves open which of equal elements it takes; or the operator is refused by name.
LEFT_OUT = {"kthvalue", "mode", "fake quantized", "dist"}


class Together(nn.Module):
    """The outputs of many modules of the same inputs, one row a sample."""

    def __init__(self, modules: dict[str, nn.Module]) -> None:
        super().__init__()
        self.of = nn.ModuleList(modules.values())

    def forward(self, *inputs: Tensor) -> Tensor:
        return torch.cat([each(*inputs).reshape(kinks.SAMPLES, -1) for each in self.of], 1)


def is_defined(module: nn.Module, inputs: tuple[Tensor, ...]) -> bool:
    """Does PyTorch train it, a row a sample, with finite gradients?"""
    try:
        output = module(*inputs)
        if output.dim() == 0 or output.shape[0] != kinks.SAMPLES:
            return False
        output.square().sum().backward()
    except (RuntimeError, ValueError):
        return False
    finite = all(each.grad is None or bool(torch.isfinite(each.grad).all()) for each in module.parameters())
    module.zero_grad()
    return finite and bool(torch.isfinite(output).all())


def groups() -> list[Any]:
    """Kinks of equal inputs together: (names, the module, its inputs)."""
    torch.manual_seed(0)
    together: dict[bytes, tuple[dict[str, nn.Module], tuple[Tensor, ...]]] = {}
    for name, make in kinks.KINKS.items():
        module, inputs = make()
        if name in LEFT_OUT or not is_defined(module, inputs):
            continue
        key = b"".join(each.numpy().tobytes() + bytes(each.shape) for each in inputs)
        together.setdefault(key, ({}, inputs))[0][name] = module
    return [
        pytest.param(modules, inputs, id=f"{next(iter(modules))}, {len(modules)} in all")
        for modules, inputs in together.values()
    ]


@pytest.mark.parametrize(("modules", "inputs"), groups())
def test_gradients_at_kinks_are_those_of_pytorch(modules: dict[str, nn.Module], inputs: tuple[Tensor, ...]) -> None:
    module = Together({name: kinks.reference(each) for name, each in modules.items()})
    output = module(*inputs)
    target = output.detach() - torch.randn(output.shape, generator=torch.Generator().manual_seed(1))
    rate = float(output.numel())
    torch.nn.functional.mse_loss(output, target).backward()
    with pantoum.compile(
        copy.deepcopy(Together(modules)),
        inputs,
        target=target,
        loss="mse",
        optimizer=pantoum.Sgd(lr=rate),
        ram="64MiB",
        plan_options=MODELLED,
    ) as trainer:
        trainer.step(*inputs, target)
        state = trainer.state_dict()
    wrong = []
    for (name, before), label in zip(module.named_parameters(), labels(module, modules), strict=True):
        found = (before.detach().numpy() - np.asarray(state[name])) / rate
        wanted = np.zeros(before.shape) if before.grad is None else before.grad.numpy()
        if not np.allclose(found * rate, wanted * rate, atol=1e-4 * max(1.0, np.abs(wanted * rate).max()), rtol=1e-3):
            wrong.append(f"{label}: {found.flatten()[:6]} for {wanted.flatten()[:6]}")
    assert wrong == []


def labels(module: Together, modules: dict[str, nn.Module]) -> list[str]:
    """Of each parameter the kink that it is of."""
    names = list(modules)
    return [names[int(name.split(".")[1])] for name, _ in module.named_parameters()]
