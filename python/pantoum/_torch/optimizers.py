"""A torch.optim optimizer as one of the compiler's own: the same update, or a refusal that says what is in the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from pantoum.errors import Unsupported, UsageError
from pantoum.options import Adagrad, Adam, AdamW, RmsProp, Sgd

LOSS = "loss_module"  # what parameters of a loss module are named by

# What changes how PyTorch computes an update, not what it computes.
_HOW = {"foreach", "fused", "capturable", "initial_lr"}


@dataclass
class OptimizerChoice:
    optimizer: Any
    """One of pantoum's optimizers, or a name."""
    frozen: list[str] = field(default_factory=list)
    """Parameters of the module that the optimizer does not hold."""
    decays: list[tuple[str, float]] = field(default_factory=list)
    """Parameters with a weight decay of their own."""
    notes: list[str] = field(default_factory=list)


def choose_optimizer(optimizer: Any, module: nn.Module, loss: Any = None) -> OptimizerChoice:
    """Reads the optimizer that a user gives for this module.

    Raises:
        UsageError: E0115, it is no optimizer; E0116, it holds parameters of another module.
        Unsupported: E0408, options or a state that the compiler's optimizers have not; all of them at once.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        if isinstance(optimizer, type) and issubclass(optimizer, torch.optim.Optimizer):
            raise UsageError(
                "E0115",
                f"{optimizer.__name__} is a class",
                "optimizer",
                f"give an instance: torch.optim.{optimizer.__name__}(model.parameters(), ...)",
            )
        return OptimizerChoice(optimizer)
    named = _named(module, loss)
    held = _held(optimizer, named)
    problems = _problems(optimizer)
    if problems:
        kind = type(optimizer).__name__
        raise Unsupported(
            "E0408",
            f"torch.optim.{kind} cannot be used as it is",
            "optimizer",
            "pantoum.Sgd, Adam, AdamW, RmsProp and Adagrad compute as torch.optim's do",
            problems,
        )
    group = optimizer.param_groups[0]
    frozen = [name for name, parameter in named.items() if parameter.requires_grad and id(parameter) not in held]
    notes = [f"{len(frozen)} parameters that the optimizer does not hold are not trained"] if frozen else []
    if any("initial_lr" in each for each in optimizer.param_groups):
        notes.append("a learning rate scheduler is not carried over: give schedule= to the trainer")
    return OptimizerChoice(_value(type(optimizer), group), frozen, _decays(optimizer, named), notes)


def _decays(optimizer: torch.optim.Optimizer, named: dict[str, nn.Parameter]) -> list[tuple[str, float]]:
    first, *others = optimizer.param_groups
    decays = {id(parameter): float(_plain(group["weight_decay"])) for group in others for parameter in group["params"]}
    usual = float(_plain(first["weight_decay"]))
    return [
        (name, decays[id(parameter)]) for name, parameter in named.items() if decays.get(id(parameter), usual) != usual
    ]


def _named(module: nn.Module, loss: Any) -> dict[str, nn.Parameter]:
    """The parameters of the module, and of a loss that is one."""
    named = dict(module.named_parameters())
    if isinstance(loss, nn.Module):
        named |= {f"{LOSS}.{name}": parameter for name, parameter in loss.named_parameters()}
    return named


def _held(optimizer: torch.optim.Optimizer, named: dict[str, nn.Parameter]) -> set[int]:
    """Ids of the parameters that the optimizer holds. UsageError E0116: they are not of this module."""
    own = {id(parameter) for parameter in named.values()}
    held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    strangers = sum(id(parameter) not in own for parameter in held)
    if strangers:
        raise UsageError(
            "E0116",
            f"the optimizer holds {strangers} parameters that are not of this module",
            "optimizer",
            "make the optimizer of this module's parameters()",
        )
    return {id(parameter) for parameter in held}


def _problems(optimizer: torch.optim.Optimizer) -> list[str]:
    kind = type(optimizer)
    if kind not in _KINDS:
        return [f"there is no {kind.__name__} here"]
    problems = _different_groups(optimizer)
    for option, allowed in _REFUSED.items():
        values = {str(group[option]): group[option] for group in optimizer.param_groups if option in group}
        problems += [f"{option}={value}" for value in values.values() if value not in allowed]
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks or _own_step(optimizer):
        problems.append("its step is changed by a hook or a function of its own")
    if any(_steps(state) > 0 for state in optimizer.state.values()):
        problems.append("it has taken steps: its state cannot be carried over; begin with a new one")
    return problems


def _own_step(optimizer: torch.optim.Optimizer) -> bool:
    """Whether `step` is replaced in this instance, by something other than a learning rate scheduler."""
    own = vars(optimizer).get("step")
    return own is not None and not getattr(own, "_wrapped_by_lr_sched", False)


def _different_groups(optimizer: torch.optim.Optimizer) -> list[str]:
    first, *others = optimizer.param_groups
    answer = []
    for index, group in enumerate(others, start=1):
        for option, value in group.items():
            ours, usual = _plain(value), _plain(first.get(option))
            if option not in ("params", "param_names", "weight_decay", *_HOW) and ours != usual:
                answer.append(f"parameter group {index} has {option}={ours}, group 0 {usual}")
    return answer


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _steps(state: dict[str, Any]) -> float:
    step = _plain(state.get("step", 0))
    buffer = state.get("momentum_buffer")
    return float(step) if not isinstance(buffer, Tensor) else max(float(step), 1.0)


_REFUSED: dict[str, tuple[Any, ...]] = {
    "amsgrad": (False,),
    "maximize": (False,),
    "dampening": (0, 0.0),
    "differentiable": (False,),
    "initial_accumulator_value": (0,),
}


_KINDS: dict[type, type[Any]] = {
    torch.optim.SGD: Sgd,
    torch.optim.Adam: Adam,
    torch.optim.AdamW: AdamW,
    torch.optim.RMSprop: RmsProp,
    torch.optim.Adagrad: Adagrad,
}


def _value(kind: type, group: dict[str, Any]) -> Any:
    """One of pantoum's optimizers, with the options of a parameter group."""
    named = dict(group)
    if "betas" in group:
        named["beta1"], named["beta2"] = group["betas"]
    made = AdamW if group.get("decoupled_weight_decay") else _KINDS[kind]
    defaults = vars(made())
    return made(**{name: type(default)(_plain(named[name])) for name, default in defaults.items()})


def torch_optimizer(optimizer: Any, named: dict[str, Tensor], decays: dict[str, float]) -> torch.optim.Optimizer:
    """The torch.optim optimizer that one of pantoum's computes as; `decays`: weight decays of some parameters."""
    groups: dict[float, list[Tensor]] = {}
    for name, value in named.items():
        groups.setdefault(decays.get(name, optimizer.weight_decay), []).append(value)
    options = {name: value for name, value in vars(optimizer).items() if name != "weight_decay"}
    if "beta1" in options:
        options["betas"] = options.pop("beta1"), options.pop("beta2")
    kind: Any = next(kind for kind, ours in _KINDS.items() if ours is type(optimizer))
    made: torch.optim.Optimizer = kind(
        [{"params": values, "weight_decay": decay} for decay, values in groups.items()], **options
    )
    return made
