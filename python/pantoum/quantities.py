"""Quantities carry their unit: a bare number is no budget and no time."""

from __future__ import annotations

import datetime
from typing import TypeAlias, Union

from pantoum import _core

__all__ = ["Bytes", "GiB", "KiB", "MiB"]


class Bytes(int):
    """A number of bytes that was meant as one: ``pantoum.MiB(64)``. Sums, differences and multiples are Bytes too."""

    def __repr__(self) -> str:
        return f"Bytes({int(self)})"

    def __str__(self) -> str:
        return _core.show_bytes(int(self))

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else str(self)

    def __add__(self, other: int) -> Bytes:
        return Bytes(int(self) + int(other))

    def __sub__(self, other: int) -> Bytes:
        return Bytes(int(self) - int(other))

    def __mul__(self, other: float) -> Bytes:
        return Bytes(int(int(self) * other))

    __radd__ = __add__
    __rmul__ = __mul__


def _times(count: float, unit: int) -> Bytes:
    try:
        return Bytes(int(float(count) * unit if not isinstance(count, int) else count * unit))
    except (TypeError, ValueError, OverflowError):
        from pantoum.errors import UsageError  # which has sizes in it

        raise UsageError("E0110", f"{count!r} is no number of bytes", "", (), "give a number: MiB(64)") from None


def KiB(count: float) -> Bytes:  # noqa: N802 (the unit's name)
    """``count`` times 1024 bytes."""
    return _times(count, 1024)


def MiB(count: float) -> Bytes:  # noqa: N802
    """``count`` times 1024 * 1024 bytes."""
    return _times(count, 1048576)


def GiB(count: float) -> Bytes:  # noqa: N802
    """``count`` times 1024 * 1024 * 1024 bytes."""
    return _times(count, 1073741824)


Size: TypeAlias = Union[str, Bytes]
"""Bytes with their unit: "64MiB", "1.5 GB" or ``pantoum.MiB(64)``."""

Duration: TypeAlias = Union[str, datetime.timedelta]
"""A time with its unit: "450ms", "2h" or a ``timedelta``."""


def bytes_of(value: Size, what: str) -> int:
    """Bytes of "64MiB" or MiB(64). UsageError E0110: a bare number, with its likely readings."""
    if isinstance(value, Bytes) and abs(value) <= 2**62:
        return int(value)
    return _core.parse_bytes(f"{int(value)}B" if isinstance(value, Bytes) else _written(value), what)


def seconds_of(value: Duration, what: str) -> float:
    """Seconds of "450ms" or a timedelta. UsageError E0111."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return _core.parse_seconds(_written(value), what)


def deadline_of(value: Duration, what: str) -> tuple[float | None, float | None]:
    """Seconds, or else a factor ("1.3x" of the step with unlimited RAM). UsageError E0111."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds(), None
    return _core.parse_deadline(_written(value), what)


def share_of(value: str, what: str) -> float:
    """0.01 of "1%". UsageError E0112."""
    return _core.parse_fraction(_written(value), what)


def joules_of(value: str, what: str) -> float:
    """Joules of "3.2J". UsageError E0121."""
    return _core.parse_joules(_written(value), what)


def _written(value: object) -> str:
    from pantoum.errors import text_of  # which needs Bytes

    return text_of(value if isinstance(value, str) else f"{value}", "quantity")
