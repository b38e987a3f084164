"""What a user changes on a module or an optimizer after it was compiled is taken over before a step, or refused."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from pantoum.errors import UsageError

from .optimizers import OptimizerChoice, named_parameters, rates_of, settings_of


class Rates(NamedTuple):
    """Of a parameter group of torch.optim, from the next step on."""

    group: int | None
    """Its index in the plan; None: nothing of it trains."""
    lr: float
    weight_decay: float


class Following:
    """Compares a module and its optimizer with what they were when they were compiled. It keeps neither of them: what
    was garbage collected changes no more."""

    def __init__(self, module: nn.Module, loss: Any, chosen: OptimizerChoice) -> None:
        modules = list(module.named_modules())
        if isinstance(loss, nn.Module):
            modules += [(f"the loss's {name}" if name else "the loss", each) for name, each in loss.named_modules()]
        self._modes = [(weakref.ref(each), name, each.training) for name, each in modules]
        self._parameters = [
            (weakref.ref(parameter), name, parameter.requires_grad)
            for name, parameter in named_parameters(module, loss).items()
        ]
        self._names = {id(parameter): name for name, parameter in named_parameters(module, loss).items()}
        optimizer = chosen.source
        self._optimizer = None if optimizer is None else weakref.ref(optimizer)
        self._planned = chosen.planned
        self._groups = [] if optimizer is None else [self._fixed(group) for group in optimizer.param_groups]
        self._rates = [] if optimizer is None else [rates_of(optimizer, group) for group in optimizer.param_groups]

    def check(self) -> None:
        """What comes before a step.

        Raises:
            UsageError: E0105, what a plan cannot follow was changed: another mode, requires_grad, another setting of a
                group, a group more.
        """
        self._check_module()
        optimizer = self._held_optimizer()
        if optimizer is not None:
            self._check_groups(optimizer)
            vars(optimizer)["_opt_called"] = True  # what a scheduler of PyTorch asks for before its first step

    def changes(self) -> Iterator[Rates]:
        """Rates that were changed since the last call."""
        optimizer = self._held_optimizer()
        if optimizer is None:
            return
        for at, group in enumerate(optimizer.param_groups[: len(self._rates)]):
            now = rates_of(optimizer, group)
            if now != self._rates[at]:
                yield Rates(self._planned[at], *now)
                self._rates[at] = now  # once the trainer has taken it

    def _held_optimizer(self) -> torch.optim.Optimizer | None:
        return None if self._optimizer is None else self._optimizer()

    def _check_module(self) -> None:
        for reference, name, training in self._modes:
            module = reference()
            if module is not None and module.training != training:
                was, now = ("train", "eval") if training else ("eval", "train")
                of = f"'{name}' ({type(module).__name__})" if name else type(module).__name__
                raise _changed(f"{of} was compiled in {was} mode, and is in {now} mode", name, f"call .{was}() on it")
        for held, name, requires_grad in self._parameters:
            parameter = held()
            if parameter is not None and parameter.requires_grad != requires_grad:
                message = f"'{name}' was compiled with requires_grad={requires_grad}, which was changed"
                raise _changed(message, name, f"call .requires_grad_({requires_grad}) on it")

    def _check_groups(self, optimizer: torch.optim.Optimizer) -> None:
        count = len(optimizer.param_groups)
        if count != len(self._groups):
            new = optimizer.param_groups[len(self._groups)] if count > len(self._groups) else None
            first = "" if new is None else self._first_of(new)
            message = f"the optimizer was compiled with {len(self._groups)} parameter groups, and has {count}"
            raise _changed(message + (f": the new one holds '{first}'" if first else ""), first, "make it before")
        for at, (group, (held, settings)) in enumerate(zip(optimizer.param_groups, self._groups, strict=True)):
            now, now_settings = self._fixed(group)
            first = self._first_of(group)
            if now != held:
                raise _changed(f"parameter group {at} ('{first}') holds other parameters", first, "hold them before")
            for option, value in settings.items():
                if now_settings[option] != value:
                    message = f"parameter group {at} ('{first}') was compiled with {option}={value}, and has "
                    remedy = f"set {option} back"
                    if option in ("momentum", "betas"):
                        remedy += ", and let a scheduler leave it as it is: OneCycleLR(.., cycle_momentum=False)"
                    raise _changed(f"{message}{option}={now_settings[option]}", first, remedy)

    def _fixed(self, group: dict[str, Any]) -> tuple[tuple[int, ...], dict[str, Any]]:
        return tuple(map(id, group["params"])), settings_of(group)

    def _first_of(self, group: dict[str, Any]) -> str:
        return next((self._names[id(each)] for each in group["params"] if id(each) in self._names), "")


def _changed(message: str, name: str, remedy: str) -> UsageError:
    advice = f"{remedy}, or compile it again: a step follows learning rates and weight decays alone"
    return UsageError("E0105", message, name, advice)
