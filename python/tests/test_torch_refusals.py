"""What cannot be captured is refused, with file and line of the module's code, all at once; nothing is captured wrongly in silence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from torch import Tensor, nn  # noqa: E402


class Body(nn.Module):
    """A layer, and a function of what it gives."""

    def __init__(self, function: Callable[[nn.Module, Tensor], Any]) -> None:
        super().__init__()
        self.layer, self.function = nn.Linear(4, 4), function
        self.register_buffer("matrix", torch.eye(4) * 2)

    def forward(self, x: Tensor) -> Any:
        return self.function(self, self.layer(x)).sum()


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.clamp(-0.1, 0.1)


def branches(self: nn.Module, y: Tensor) -> Tensor:
    return y * 2 if y.sum() > 0 else y


def reads(self: nn.Module, y: Tensor) -> Tensor:
    return y * y[0, 0].item()


def waits(self: nn.Module, y: Tensor) -> Tensor:
    while (y < 2).any():
        y = y + 1
    return y


def waits_for_a_break(self: nn.Module, y: Tensor) -> Tensor:
    while True:
        if not (y < 2).any():
            return y
        y = y + 1


def waits_for_a_number(self: nn.Module, y: Tensor) -> Tensor:
    while y.sum().item() > 0.1:
        y = y / 2
    return y


def selects(self: nn.Module, y: Tensor) -> Tensor:
    return y[y > 0].sort().values


def places(self: nn.Module, y: Tensor) -> Tensor:
    return torch.unique(y)


def packs(self: nn.Module, y: Tensor) -> Tensor:
    return nn.utils.rnn.pack_padded_sequence(y[None], torch.tensor([3])).data


def clips(self: nn.Module, y: Tensor) -> Tensor:
    return Clipped.apply(y)


def hooks(self: nn.Module, y: Tensor) -> Tensor:
    y.register_hook(lambda gradient: gradient * 2)
    return y


def derives(self: nn.Module, y: Tensor) -> Tensor:
    x = y.detach().requires_grad_()
    (slope,) = torch.autograd.grad(x.pow(2).sum(), x, create_graph=True)
    return slope + y


def writes_detached(self: nn.Module, y: Tensor) -> Tensor:
    y.detach().mul_(2)
    return y


def writes_without_gradient(self: nn.Module, y: Tensor) -> Tensor:
    with torch.no_grad():
        y.mul_(2)
    return y


def writes_data(self: nn.Module, y: Tensor) -> Tensor:
    y.data = y.sign()
    return y


def writes_parameter(self: Any, y: Tensor) -> Tensor:
    with torch.no_grad():
        self.layer.weight.clamp_(-1, 1)
    return y


def transforms(self: nn.Module, y: Tensor) -> Tensor:
    return torch.fft.rfft(y).abs()


def narrows(self: nn.Module, y: Tensor) -> Tensor:
    return y * y.to(torch.int8).float()


def inverts(self: nn.Module, y: Tensor) -> Tensor:
    return torch.linalg.inv(y[:4])


def factors(self: nn.Module, y: Tensor) -> Tensor:
    return torch.linalg.cholesky(y.T @ y + torch.eye(4))


def solves(self: nn.Module, y: Tensor) -> Tensor:
    return torch.linalg.solve(y[:4] + torch.eye(4), y.T)


def weighs(self: Any, y: Tensor) -> Tensor:
    return y - torch.slogdet(self.layer.weight)[1]


REFUSED = {
    branches: "a branch of Python depends on the data",
    reads: "is read into Python",
    waits: "a branch of Python depends on the data",
    waits_for_a_break: "a branch of Python depends on the data",
    waits_for_a_number: "is read into Python",
    selects: "sort of rows that a mask of the data chooses",
    places: "depends on the data",
    packs: "packed sequences",
    clips: "not linear in the gradient",
    hooks: "a hook on a gradient",
    derives: "gradients inside of forward",
    writes_detached: "a detached value is changed in place",
    writes_without_gradient: "changed in place under no_grad",
    writes_data: "through .data",
    writes_parameter: "a trained parameter in place",
    transforms: "complex numbers",
    narrows: "the type int8",
    inverts: "linalg.inv of a matrix",
    factors: "linalg.cholesky of a matrix",
    solves: "linalg.solve of a matrix",
    weighs: "linalg.slogdet of a matrix",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_it_is_refused_with_its_line(function: Callable[..., Any]) -> None:
    with pytest.raises(pantoum.Unsupported) as caught:
        capture(Body(function), torch.ones(5, 4))
    assert REFUSED[function] in str(caught.value)
    lines, first = inspect.getsourcelines(function)
    places = [f"test_torch_refusals.py:{first + offset}, in {function.__name__}" for offset in range(len(lines))]
    assert any(place in caught.value.where for place in places), caught.value.where
    assert caught.value.code == "E0407"


def test_all_problems_are_told_at_once() -> None:
    def everything(self: nn.Module, y: Tensor) -> Tensor:
        y = branches(self, y)
        y = hooks(self, y)
        y = writes_without_gradient(self, y)
        return reads(self, y)

    with pytest.raises(pantoum.Unsupported) as caught:
        capture(Body(everything), torch.ones(5, 4))
    told = str(caught.value)
    assert all(REFUSED[function] in told for function in (branches, hooks, writes_without_gradient, reads))
    assert len(caught.value.notes) == 3


def test_hooks_on_gradients_of_modules_and_parameters_are_refused() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    module[0].register_full_backward_hook(lambda *_: None)
    module[0].bias.register_hook(lambda gradient: gradient)
    with pytest.raises(pantoum.Unsupported) as caught:
        capture(module, torch.ones(2, 4), lambda output: output.sum())
    assert "module 0 has a hook" in str(caught.value)
    assert "parameter 0.bias has a hook" in str(caught.value)


@pytest.mark.parametrize("module", [nn.LazyLinear(3), torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)), "net.onnx"])
def test_what_is_no_module_with_parameters_is_refused(module: Any) -> None:
    with pytest.raises(pantoum.Error):
        capture(module, torch.ones(2, 2), lambda output: output.sum())
