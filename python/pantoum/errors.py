"""Exceptions, a class for each exit code of the command line (docs/errors.md).

Every error has a stable ``code`` ("E0301"), a ``message``, a place ``where``, ``notes`` (reasons) and ``help`` (what
to do)::

    try:
        plan = pantoum.plan(model, ram="1MiB")
    except pantoum.Infeasible as error:
        plan = pantoum.plan(model, ram=error.min_ram)
"""

from __future__ import annotations

import operator
import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from pantoum.options import ARGUMENTS
from pantoum.quantities import Bytes

__all__ = [
    "DeviceError",
    "Error",
    "GapNotReached",
    "Infeasible",
    "InternalError",
    "Interrupted",
    "InvalidInput",
    "LimitReached",
    "Unsupported",
    "UsageError",
    "VerificationFailed",
]


class Error(Exception):
    """An error: what went wrong, where, and what to do; ``str()`` gives all of it.

    Attributes:
        code: stable, "E0301"; docs/errors.md explains every one.
        message: one sentence.
        where: file, node, line, argument; may be empty.
        notes: reasons; all problems of one kind.
        help: what to do; may be empty.
        exit_code: that of the command line.
    """

    exit_code: int = 1

    def __init__(
        self,
        code: str = "E0001",
        message: str = "",
        where: str = "",
        help: str = "",  # noqa: A002 (the word that users read)
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(code, message, where, help, tuple(notes))
        self.code, self.message, self.where, self.help = code, message, where, help
        self.notes = list(notes)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.where:
            lines.append(f"  --> {self.where}")
        lines += [f"   = {note}" for note in self.notes]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.code, self.message, self.where, self.help, tuple(self.notes)), self.__dict__)


class InternalError(Error):
    """An error of Pantoum's own (E00xx): please report it."""


class UsageError(Error, ValueError):
    """An argument that does not fit (E01xx, E0300)."""

    exit_code = 2


class InvalidInput(Error, ValueError):
    """A file or an array that cannot be read or does not fit (E02xx, E07xx)."""

    exit_code = 3


class Unsupported(Error):
    """Operators or types that cannot be trained, all at once (E04xx)."""

    exit_code = 4


class _NoPlan(Error):
    """No plan; ``min_ram`` is the smallest RAM for which one is known, or None."""

    min_ram: Bytes | None = None


class Infeasible(_NoPlan):
    """No plan answers the question, and that is proved (E0301).

    Attributes:
        min_ram: the smallest RAM for which a plan is known, as an argument for ``ram=``; None where none is known.
    """

    exit_code = 5


class LimitReached(_NoPlan):
    """No plan was found in time, which proves nothing (E0302, E0304 and other E03xx); ``min_ram`` as in Infeasible."""

    exit_code = 6


class GapNotReached(Error):
    """The gap that was required was not reached (E0303)."""

    exit_code = 7


class VerificationFailed(Error):
    """A plan or a proof is wrong (E08xx)."""

    exit_code = 8


class DeviceError(Error, OSError):
    """Device, storage, memory or system failed (E09xx)."""

    exit_code = 9


class Interrupted(Error):
    """Asked to stop before there was an answer (E0999)."""

    exit_code = 130


_BY_EXIT_CODE: dict[int, type[Error]] = {
    kind.exit_code: kind
    for kind in (
        InternalError,
        UsageError,
        InvalidInput,
        Unsupported,
        Infeasible,
        LimitReached,
        GapNotReached,
        VerificationFailed,
        DeviceError,
        Interrupted,
    )
}

_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?: ([\w.%]*\w%?|'[^']*'|\"[^\"]*\"))?")
_VALUE = re.compile(r"^(?:[\d.]+\w*%?|portable|onednn|auto|off|all|energy|time|edp|'[^']*'|\"[^\"]*\")$")
_LARGE = re.compile(r"did you mean (\d+)B\? It is ([\d.]+) ([KMG]iB)")
_NUMBER = re.compile(r"^\d+(\.\d+)?$")
_FIELD = re.compile(r"\b(?:Plan|Model|Trainer|Fit|Sweep)Options::(\w+)")
_METHOD = re.compile(r"\b(Plan|Model|Trainer|Loss|Sgd|RmsProp|Adagrad|SparseAdam|Dataset|CustomUpdate)::(\w+)")


def _argument(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if name not in ARGUMENTS:
        return match[0]
    argument, always = ARGUMENTS[name]
    rest = "" if value is None else f" {value}"
    if always:
        return f"{argument}={always}{rest}"
    if value is None or not _VALUE.match(value):
        return argument + rest
    plain = value.strip("'\"")
    return f"{argument}={plain}" if _NUMBER.match(plain) else f'{argument}="{plain}"'


def _size(match: re.Match[str]) -> str:
    count, shown, unit = match[1], float(match[2]), match[3]
    exact = shown * 1024 ** ("KMG".index(unit[0]) + 1) == int(count)
    return f'did you mean "{count}B"? It is {match[2]} {unit}' + (f": pantoum.{unit}({shown:g})" if exact else "")


def in_python_words(text: str) -> str:
    """A text of the library, in which options and verbs of the command line and names of C++ become Python's."""
    text = _LARGE.sub(_size, text).replace("`pantoum inspect`", "pantoum.estimate(model)")
    text = _OPTION.sub(_argument, text)
    text = _FIELD.sub(r"\1", text)
    return _METHOD.sub(r"\1.\2", text).replace("pantoum::", "pantoum.")


def expect(value: object, kind: type[Any] | tuple[type[Any], ...], what: str, hint: str, code: str = "E0116") -> None:
    """UsageError where ``value`` is none of ``kind``."""
    if not isinstance(value, kind):
        given = f"{type(value).__module__}.{type(value).__qualname__}"
        raise UsageError(code, f"a {given} is no {kind.__name__ if isinstance(kind, type) else what}", what, hint)


def warn(message: str) -> None:
    """A UserWarning at the line of the caller's code that called this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "pantoum":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def named_options(value: Any, what: str) -> dict[str, Any]:
    """Further arguments, by name. UsageError E0116: ``value`` is neither None nor a mapping whose keys are texts."""
    if value is None:
        return {}
    expect(value, Mapping, what, 'give a dict: {"threads": 2}')
    for name in value:
        text_of(name, what)
    return dict(value)


def path_bytes(path: Any) -> bytes:
    """A path as the system takes it. UsageError E0116: no path, or one that no file can have."""
    try:
        made = os.fsencode(path)
    except TypeError:
        raise UsageError("E0116", f"{path!r} is no path", "path", "give a str, bytes or a pathlib.Path") from None
    except UnicodeEncodeError:
        raise UsageError("E0116", f"{path!r} is no path: it cannot be encoded", "path") from None
    if b"\0" in made:
        raise UsageError("E0116", f"{path!r} is no path: it has a byte of 0", "path")
    return made


def text_of(value: Any, what: str) -> str:
    """``value``, which is a text. UsageError E0116: it is none, or no UTF-8 can hold it."""
    expect(value, str, what, "give a str")
    text: str = value
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("E0116", f"{text!r} is no text: it has half of a surrogate pair", what) from None
    return text


def names_of(values: Any, what: str) -> list[str]:
    """One name, or several. UsageError E0116: no texts."""
    if isinstance(values, str):
        values = [values]
    try:
        return [text_of(value, what) for value in values]
    except TypeError:
        raise UsageError("E0116", f"{values!r} are no names", what, "give a str, or a list of them") from None


def whole_of(value: Any, what: str, least: int) -> int:
    """A whole number, of numpy too. UsageError E0116: it is none, or below ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError("E0116", f"{value!r} is no whole number", what) from None
    if not least <= number < 2**63:
        raise UsageError("E0116", f"{number} is not between {least} and 2^63 - 1", what)
    return number


def from_core(
    code: str,
    message: str,
    where: str,
    notes: list[str],
    help: str,  # noqa: A002
    exit_code: int,
    min_ram: int | None,
) -> Error:
    """The exception of an error of the library."""
    message, where, advice, *others = (in_python_words(text) for text in (message, where, help, *notes))
    error = _BY_EXIT_CODE.get(exit_code, InternalError)(code, message, where, advice, others)
    if isinstance(error, _NoPlan) and min_ram is not None:
        error.min_ram = Bytes(min_ram)
    return error
