"""Losses and optimizers, as values with the defaults of PyTorch's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, Union

from pantoum import _core
from pantoum.errors import UsageError

__all__ = ["Adagrad", "Adam", "AdamW", "CustomUpdate", "Loss", "RmsProp", "Sgd"]


@dataclasses.dataclass(frozen=True)
class Loss:
    """One term of what is minimized, as torch.nn.functional has it; a mean over the batch.

    Attributes:
        name: cross_entropy, soft_cross_entropy, nll, mse, l1, smooth_l1, bce_with_logits, kl_div.
        output: of the model, by its name; "": the first.
        weight: its part in the sum.
        smoothing: of labels (cross-entropy), 0 to 1.
        ignore_index: a label that does not count, beside those below 0.
        beta: where the parabola of smooth_l1 ends.
        classes_last: classes are the last dimension, in place of dimension 1.
        mean_of_batch: kl_div: over the number of samples, in place of the elements'.
    """

    name: str = "cross_entropy"
    output: str = ""
    weight: float = 1.0
    smoothing: float = 0.0
    ignore_index: int = -1
    beta: float = 1.0
    classes_last: bool = False
    mean_of_batch: bool = False


@dataclasses.dataclass(frozen=True)
class Sgd:
    """torch.optim.SGD."""

    lr: float = 0.01
    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False


@dataclasses.dataclass(frozen=True)
class Adam:
    """torch.optim.Adam."""

    lr: float = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0


@dataclasses.dataclass(frozen=True)
class AdamW:
    """torch.optim.AdamW."""

    lr: float = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.01


@dataclasses.dataclass(frozen=True)
class RmsProp:
    """torch.optim.RMSprop."""

    lr: float = 0.01
    alpha: float = 0.99
    eps: float = 1e-8
    momentum: float = 0.0
    weight_decay: float = 0.0
    centered: bool = False


@dataclasses.dataclass(frozen=True)
class Adagrad:
    """torch.optim.Adagrad."""

    lr: float = 0.01
    lr_decay: float = 0.0
    eps: float = 1e-10
    weight_decay: float = 0.0


@dataclasses.dataclass(frozen=True)
class CustomUpdate:
    """An optimizer of your own, by the name that ``pantoum.custom_optimizer`` gave it."""

    name: str = ""
    lr: float = 0.01
    settings: tuple[float, ...] = ()


Optimizer: TypeAlias = Union[Sgd, Adam, AdamW, RmsProp, Adagrad, CustomUpdate]
Losses: TypeAlias = Union[str, Loss, Sequence[Union[str, Loss]]]

_BY_NAME: dict[str, type[Any]] = {"sgd": Sgd, "adam": Adam, "adamw": AdamW, "rmsprop": RmsProp, "adagrad": Adagrad}


def optimizer_of(optimizer: str | Optimizer, lr: float | None = None) -> Optimizer:
    """``optimizer`` by name or as a value, with the learning rate replaced where one is given. UsageError E0115,
    E0116.
    """
    if isinstance(optimizer, str):
        if optimizer.lower() not in _BY_NAME:
            raise UsageError(
                "E0115", f"'{optimizer}' is no optimizer", "optimizer", (), f"use one of {', '.join(_BY_NAME)}"
            )
        optimizer = _BY_NAME[optimizer.lower()]()
    if not isinstance(optimizer, (Sgd, Adam, AdamW, RmsProp, Adagrad, CustomUpdate)):
        given = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        raise UsageError(
            "E0115", f"a {given} is no optimizer here", "optimizer", (), "give a name, or pantoum.Sgd(lr=0.1)"
        )
    if lr is not None:
        optimizer = dataclasses.replace(optimizer, lr=lr)
    return optimizer


def losses_of(loss: Losses) -> tuple[Loss, ...]:
    """All terms. UsageError E0115."""
    if isinstance(loss, str) or not isinstance(loss, Iterable):
        loss = (loss,)
    terms = tuple(Loss(term) if isinstance(term, str) else term for term in loss)
    for term in terms:
        if not isinstance(term, Loss):
            raise UsageError(
                "E0115",
                f"a {type(term).__qualname__} is no loss here",
                "loss",
                (),
                'give a name as in "mse", or pantoum.Loss',
            )
    return terms


def core_value(kind: type[Any], value: Any) -> Any:
    """The library's object with the attributes of a dataclass. UsageError E0116: a value of another type."""
    made = kind()
    for field in dataclasses.fields(value):
        set_checked(made, field.name, getattr(value, field.name), f"{type(value).__name__}.{field.name}")
    return made


def set_checked(target: Any, name: str, value: Any, what: str = "") -> None:
    """Sets an attribute of an object of the library. UsageError E0116: a value of another type, or out of its range;
    E0100: there is no such option.
    """
    if not hasattr(target, name):
        raise UsageError("E0100", f"there is no option '{name}'", what or name, (), "see help(pantoum.plan)")
    try:
        setattr(target, name, list(value) if isinstance(value, tuple) else value)
    except TypeError:
        raise UsageError("E0116", f"{value!r} does not fit '{what or name}'", what or name) from None


def core_optimizer(optimizer: Optimizer) -> Any:
    """The library's own."""
    return core_value(getattr(_core, type(optimizer).__name__), optimizer)
