"""PyTorch's own training of a module, on copies of its tensors."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .binding import Bound
from .structure import replace_tensors
from .trace import attributes_restored, own_loss


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Reference:
    """A module, its batch and its loss in PyTorch: in float64 where the module's code allows it, else in float32."""

    def __init__(self, module: nn.Module, bound: Bound, loss: Callable[[Any, Any], Any] | None) -> None:
        self.module, self.bound, self.loss = module, bound, loss
        self.dtype = torch.float64
        self.noise: torch.Generator | None = None
        try:
            self.gradients()
        except Exception:  # a module's own code, which may say float32 anywhere
            self.dtype = torch.float32

    def _cast(self, tensor: Tensor) -> Tensor:
        tensor = tensor.detach().clone()
        if not tensor.is_floating_point():
            return tensor
        tensor = tensor.to(self.dtype)
        if self.noise is not None:
            unit = torch.finfo(self.dtype).eps
            tensor *= 1 + unit * (2 * torch.rand(tensor.shape, generator=self.noise) - 1)
        return tensor

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        parameters = {
            name: self._cast(value).requires_grad_(value.requires_grad)
            for name, value in self.module.named_parameters()
        }
        return parameters, {name: self._cast(value) for name, value in self.module.named_buffers()}

    def _forward(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        args, kwargs, target = replace_tensors((self.bound.args, self.bound.kwargs, self.bound.target), self._cast)
        with attributes_restored(self.module), _default_dtype(self.dtype), torch.enable_grad():
            output = torch.func.functional_call(self.module, (parameters, buffers), args, kwargs)
            loss = own_loss(output, type(self.module).__name__) if self.loss is None else self.loss(output, target)
        return loss.reshape(())

    def in_float32(self, draw: int) -> Reference:
        """The same in the numbers that PyTorch trains it with; beyond draw 0, every one of them rounded otherwise:
        moved by up to a unit in its last place."""
        other = copy.copy(self)
        other.dtype = torch.float32
        other.noise = torch.Generator().manual_seed(draw) if draw else None
        return other

    def gradients(self) -> tuple[float, dict[str, Any]]:
        """The loss, and the gradient of each parameter that trains."""
        parameters, buffers = self._state()
        loss = self._forward(parameters, buffers)
        trained = {name: value for name, value in parameters.items() if value.requires_grad}
        if not loss.requires_grad:
            return float(loss), {name: np.zeros(value.shape) for name, value in trained.items()}
        found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        return float(loss.detach()), {
            name: np.zeros(value.shape) if each is None else each.double().numpy()
            for (name, value), each in zip(trained.items(), found, strict=True)
        }

    def steps(
        self, optimizer: Callable[[dict[str, Tensor]], torch.optim.Optimizer], frozen: set[str], count: int
    ) -> tuple[list[float], dict[str, Any]]:
        """Losses of `count` steps, and every real parameter and buffer after them."""
        parameters, buffers = self._state()
        for name in frozen:
            parameters[name].requires_grad_(False)
        update = optimizer({name: value for name, value in parameters.items() if value.requires_grad})
        losses = []
        for _ in range(count):
            update.zero_grad()
            loss = self._forward(parameters, buffers)
            torch.autograd.backward(loss)
            update.step()
            losses.append(float(loss.detach()))
        state = {**parameters, **buffers}
        return losses, {
            name: value.detach().double().numpy() for name, value in state.items() if value.is_floating_point()
        }
