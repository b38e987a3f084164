# mypy: disable-error-code="no-any-return,no-untyped-call"
"""Decompositions of special functions. Series: Abramowitz and Stegun 6.1.41, 6.3.18, 6.4.12, where the recurrence
leads; reflection below 1/2. Absolute errors are a few roundings of the largest part."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .decompositions import own

aten = torch.ops.aten


def _far(x: Tensor, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Whether x is below `steps`; x where it is, 1 elsewhere; and x moved by the recurrence to `steps` or above."""
    below = x < steps
    return below, torch.where(below, x, 1.0), torch.where(below, x + steps, x)


def _log_gamma(x: Tensor) -> Tensor:
    """The series starts at 4: the parts that cancel grow with z."""
    below, small, z = _far(x, 4)
    product = small * (small + 1) * (small + 2) * (small + 3)
    square = 1 / (z * z)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / z
    return (
        (z - 0.5) * torch.log(z)
        - z
        + (0.5 * math.log(2 * math.pi))
        + series
        - torch.where(below, torch.log(product), 0.0)
    )


def _digamma(x: Tensor) -> Tensor:
    below, small, z = _far(x, 8)
    steps = sum((1 / (small + step) for step in range(8)), torch.zeros_like(x))
    square = 1 / (z * z)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return torch.log(z) - 0.5 / z - series - torch.where(below, steps, 0.0)


def _trigamma(x: Tensor) -> Tensor:
    below, small, z = _far(x, 8)
    steps = sum((1 / (small + step) ** 2 for step in range(8)), torch.zeros_like(x))
    square = 1 / (z * z)
    series = (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))) * square / z
    return 1 / z + 0.5 * square + series + torch.where(below, steps, 0.0)


def _reflected(x: Tensor, right: Callable[[Tensor], Tensor], sign: int, left: Callable[[Tensor], Tensor]) -> Tensor:
    """`right` from 1/2 on; below, sign * right(1 - x) + left(x)."""
    below = x < 0.5
    value = right(torch.where(below, 1 - x, x))
    return torch.where(below, sign * value + left(torch.where(below, x, 0.25)), value)


def _within_a_turn(x: Tensor) -> Tensor:
    """x less its nearest integer: sines of large arguments would lose digits."""
    return (x - torch.round(x).detach()) * math.pi


@own(aten.lgamma.default, aten.special_gammaln.default)
def lgamma(x: Tensor) -> Tensor:
    return _reflected(
        x, _log_gamma, -1, lambda left: math.log(math.pi) - torch.log(torch.sin(_within_a_turn(left)).abs())
    )


@own(aten.digamma.default, aten.special_digamma.default, aten.special_psi.default)
def digamma(x: Tensor) -> Tensor:
    return _reflected(x, _digamma, 1, lambda left: -math.pi / torch.tan(_within_a_turn(left)))


@own(aten.polygamma.default, aten.special_polygamma.default)
def polygamma(n: int, x: Tensor) -> Any:
    if n == 0:
        return digamma(x)
    if n != 1:
        return NotImplemented
    return _reflected(x, _trigamma, -1, lambda left: (math.pi / torch.sin(_within_a_turn(left))) ** 2)


# Giles 2012, "Approximating the erfinv function", table 5: by w = -log(1 - x^2), below 5 and above.
_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@own(aten.erfinv.default, aten.special_erfinv.default)
def erfinv(x: Tensor) -> Tensor:
    """An approximation, and one step of Newton's from it, which has the exact derivative."""
    inside = x.abs() < 1
    inner = torch.where(inside, x, 0.0)
    guess = _erfinv_guess(inner.detach())
    value = guess - (torch.erf(guess) - inner) * (0.5 * math.sqrt(math.pi)) * torch.exp(guess * guess)
    outside = torch.where(x == 1, math.inf, torch.where(x == -1, -math.inf, math.nan)).to(x.dtype)
    return torch.where(inside, value, outside)


def _erfinv_guess(x: Tensor) -> Tensor:
    w = -torch.log((1 - x) * (1 + x))
    central = w < 5
    return x * torch.where(
        central, _polynomial(_CENTRAL, w - 2.5), _polynomial(_TAIL, torch.sqrt(torch.where(central, 5.0, w)) - 3)
    )


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
