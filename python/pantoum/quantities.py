"""Quantities carry their unit: a bare number is no budget and no time. Settings are given to the library as the words
that options of the command line read.
"""

from __future__ import annotations

import datetime
import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, Union

import numpy as np

from pantoum import _core


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
        size = int(float(count) * unit if not isinstance(count, int) else count * unit)
        if not 0 <= size < 1 << 63:
            raise ValueError
        return Bytes(size)
    except (TypeError, ValueError, OverflowError):
        from pantoum.errors import UsageError  # which has sizes in it

        raise UsageError("E0110", f"{count!r} is no number of bytes", "", "give a number: MiB(64)") from None


def KiB(count: float) -> Bytes:  # noqa: N802 (the unit's name)
    """``count`` times 1024 bytes."""
    return _times(count, 1024)


def MiB(count: float) -> Bytes:  # noqa: N802
    """``count`` times 1024 * 1024 bytes."""
    return _times(count, 1048576)


def GiB(count: float) -> Bytes:  # noqa: N802
    """``count`` times 1024 * 1024 * 1024 bytes."""
    return _times(count, 1073741824)


Options: TypeAlias = dict[str, Any]
"""Arguments by name."""

PathLike = str | os.PathLike[str] | bytes | os.PathLike[bytes]

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


def _written(value: object) -> str:
    from pantoum.errors import text_of  # which needs Bytes

    return text_of(value if isinstance(value, str) else f"{value}", "quantity")


def structure_of(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """A structure of settings of the library, with the values that are not None. UsageError: E0100 there is no such
    setting; E0110 to E0121 a value does not fit.
    """
    made = kind()
    for name, value in values.items():
        if value is not None:
            made.set(name, value)
    return made


def words_of(value: Any, what: str, kind: str) -> list[bytes]:
    """A value as its option reads it, a word for each item of a list; the library calls this. UsageError E0116: it is
    not of the setting's kind ("text", "number", or "any" of them).
    """
    if isinstance(value, Mapping):
        value = {name: _listed(part, what) for name, part in value.items()}
        parts = [(name, part) for name, part in value.items() if part is not False]
        return [_word(name if part is True else (name, part), what, kind) for name, part in parts]
    if isinstance(value, Iterable) and hasattr(value, "tolist"):  # arrays and tensors
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_word(item, what, kind) for item in value]
    return [_word(value, what, kind)]


def _listed(part: Any, what: str) -> Any:
    """Several values behind one name, with commas between them."""
    if not isinstance(part, (tuple, list)):
        return part
    return b",".join(_word(item, what, "any") for item in part).decode()


def _word(value: Any, what: str, kind: str) -> bytes:
    from pantoum.errors import UsageError, text_of  # which needs Bytes

    if isinstance(value, (tuple, list)) and len(value) == 2:  # a name and its number, or two numbers
        sign = b"=" if isinstance(value[0], str) else b","
        return _word(value[0], what, "any") + sign + _word(value[1], what, "any")
    if isinstance(value, Bytes):
        value = f"{int(value)}B"
    elif isinstance(value, datetime.timedelta):
        value = f"{value.total_seconds()!r}s"
    elif isinstance(value, (numbers.Real, np.generic, bytes)) and kind != "text":
        value = str(value)
    elif kind == "number":
        raise UsageError("E0116", f"{value!r} does not fit '{what}'", what, "give a number")
    word = text_of(value, what)
    if "\0" in word:
        raise UsageError("E0116", f"{value!r} does not fit '{what}': it has a byte of 0", what)
    return word.encode()
