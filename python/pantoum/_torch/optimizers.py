"""A torch.optim optimizer as one of the compiler's own: the same update, or a refusal that says what is in the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from pantoum.errors import Unsupported, UsageError
from pantoum.options import Adagrad, Adam, AdamW, Group, RmsProp, Sgd, SparseAdam

LOSS = "loss_module"  # what parameters of a loss module are named by

# What changes how PyTorch computes an update, not what it computes.
_HOW = {"foreach", "fused", "capturable"}


@dataclass
class OptimizerChoice:
    optimizer: Any
    """One of pantoum's optimizers, or a name."""
    frozen: list[str] = field(default_factory=list)
    """Parameters of the module that the optimizer does not hold."""
    groups: list[Group] = field(default_factory=list)
    """Of the plan: the first of torch.optim names all parameters, and each other one its own."""
    members: list[list[str]] = field(default_factory=list)
    """The names of the parameters of each of these groups, but the first."""
    planned: list[int | None] = field(default_factory=list)
    """By torch.optim's group: its index among `groups`; None: nothing of it trains."""
    source: torch.optim.Optimizer | None = None
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
    named = named_parameters(module, loss)
    held = _held(optimizer, named)
    problems = _problems(optimizer)
    if problems:
        kind = type(optimizer).__name__
        raise Unsupported(
            "E0408",
            f"torch.optim.{kind} cannot be used as it is",
            "optimizer",
            "pantoum.Sgd, Adam, AdamW, RmsProp, Adagrad and SparseAdam compute as torch.optim's do",
            problems,
        )
    group = optimizer.param_groups[0]
    frozen = [name for name, parameter in named.items() if parameter.requires_grad and id(parameter) not in held]
    notes = [f"{len(frozen)} parameters that the optimizer does not hold are not trained"] if frozen else []
    chosen = OptimizerChoice(_value(type(optimizer), group), frozen, source=optimizer, notes=notes)
    _add_groups(chosen, optimizer, named)
    return chosen


def _add_groups(chosen: OptimizerChoice, optimizer: torch.optim.Optimizer, named: dict[str, nn.Parameter]) -> None:
    """The plan's groups. The first has no rate of its own: the trainer's learning rate is its."""
    trained = {id(parameter): name for name, parameter in named.items() if parameter.requires_grad}
    for at, group in enumerate(optimizer.param_groups):
        names = [trained[id(parameter)] for parameter in group["params"] if id(parameter) in trained]
        lr, decay = rates_of(optimizer, group)
        if at > 0 and not names:
            chosen.planned.append(None)
            continue
        chosen.planned.append(len(chosen.groups))
        globs = "*" if at == 0 else "|".join(exactly(name) for name in names)
        chosen.groups.append(Group(globs, None if at == 0 else lr, decay))
        chosen.members.append([] if at == 0 else names)


def rates_of(optimizer: torch.optim.Optimizer, group: dict[str, Any]) -> tuple[float, float]:
    """Learning rate and weight decay of a parameter group; an optimizer without weight decay reads none."""
    decay = plain(group["weight_decay"]) if "weight_decay" in optimizer.defaults else 0.0
    return float(plain(group["lr"])), float(decay)


def settings_of(group: dict[str, Any]) -> dict[str, Any]:
    """Everything else that decides what a parameter group computes; what schedulers keep in it is none of that."""
    return {
        option: value if option == "betas" else plain(value) for option, value in group.items() if option in _SETTINGS
    }


def exactly(name: str) -> str:
    """A glob that names one tensor alone."""
    return "".join(f"[{letter}]" if letter in "*?[|" else letter for letter in name)


def named_parameters(module: nn.Module, loss: Any) -> dict[str, nn.Parameter]:
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
    first, *others = map(settings_of, optimizer.param_groups)
    return [
        f"parameter group {index} has {option}={value}, group 0 {first.get(option)}"
        for index, settings in enumerate(others, start=1)
        for option, value in settings.items()
        if value != first.get(option)
    ]


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _steps(state: dict[str, Any]) -> float:
    step = plain(state.get("step", 0))
    buffer = state.get("momentum_buffer")
    return float(step) if not isinstance(buffer, Tensor) else max(float(step), 1.0)


# What decides an update beside learning rate and weight decay, in all optimizers that are here.
_SETTINGS = {
    "momentum",
    "dampening",
    "nesterov",
    "betas",
    "eps",
    "amsgrad",
    "decoupled_weight_decay",
    "alpha",
    "centered",
    "lr_decay",
    "initial_accumulator_value",
    "maximize",
    "differentiable",
}

_REFUSED: dict[str, tuple[Any, ...]] = {
    "maximize": (False,),
    "dampening": (0, 0.0),
    "differentiable": (False,),
}


_KINDS: dict[type, type[Any]] = {
    torch.optim.SGD: Sgd,
    torch.optim.Adam: Adam,
    torch.optim.AdamW: AdamW,
    torch.optim.RMSprop: RmsProp,
    torch.optim.Adagrad: Adagrad,
    torch.optim.SparseAdam: SparseAdam,
}


def _value(kind: type, group: dict[str, Any]) -> Any:
    """One of pantoum's optimizers, with the options of a parameter group; what PyTorch lacks keeps its default."""
    named = dict(group)
    if "betas" in group:
        named["beta1"], named["beta2"] = group["betas"]
    made = AdamW if group.get("decoupled_weight_decay") else _KINDS[kind]
    defaults = vars(made())
    return made(**{name: type(default)(plain(named[name])) for name, default in defaults.items() if name in named})


def torch_optimizer(optimizer: Any, named: dict[str, Tensor], chosen: OptimizerChoice) -> torch.optim.Optimizer:
    """The torch.optim optimizer that one of pantoum's computes as, in the groups of `chosen`."""
    place = {name: at for at, names in enumerate(chosen.members) for name in names}
    groups: list[dict[str, Any]] = [
        {"params": [value for name, value in named.items() if place.get(name, 0) == at]}
        | {option: value for option in ("lr", "weight_decay") if (value := getattr(group, option)) is not None}
        for at, group in enumerate(chosen.groups or [Group("*")])
    ]
    options = dict(vars(optimizer))
    if options.pop("eps_before_correction", False):
        raise Unsupported(
            "E0408",
            "PyTorch has no Adam that adds eps before its bias correction, so that there is nothing to compare with",
            "eps_before_correction",
            "leave it out",
        )
    if "beta1" in options:
        options["betas"] = options.pop("beta1"), options.pop("beta2")
    kind: Any = _RowsAdam
    if not isinstance(optimizer, SparseAdam):
        kind = next(kind for kind, ours in _KINDS.items() if ours is type(optimizer))
    made: torch.optim.Optimizer = kind([group for group in groups if group["params"]], **options)
    return made


class _RowsAdam(torch.optim.Optimizer):
    """torch.optim.SparseAdam for the parameters whose gradients are sparse, Adam for the others."""

    def __init__(self, groups: Any, **options: Any) -> None:
        super().__init__(groups, options)
        self._made: list[torch.optim.Optimizer] | None = None

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        if self._made is None:
            self._made = [
                kind(held, lr=group["lr"], betas=group["betas"], eps=group["eps"])
                for group in self.param_groups
                for kind, sparse in ((torch.optim.SparseAdam, True), (torch.optim.Adam, False))
                if (
                    held := [
                        each for each in group["params"] if each.grad is not None and each.grad.is_sparse == sparse
                    ]
                )
            ]
        for each in self._made:
            each.step()
