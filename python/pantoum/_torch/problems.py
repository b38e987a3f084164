"""Places in the user's code, and the problems that one exception reports together."""

from __future__ import annotations

import os
import re
import sys
import traceback
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

import torch

from pantoum.errors import Unsupported

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TRACE = os.path.join("_torch", "trace.py")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in ([^\n]+)')


class UserFrames:
    """Says of each function of the user's files that it belongs to a stack trace; torch.fx asks."""

    def __contains__(self, place: tuple[str, str]) -> bool:
        return _users(place[0])


class UserTraceback:
    """The frames that torch.fx keeps of a stack, for its `CapturedTraceback`, which symbolizes all of them at each
    node."""

    @classmethod
    def extract(cls) -> UserTraceback:
        return cls()

    def summary(self) -> traceback.StackSummary:
        kept = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code.co_name == "forward" or _users(code.co_filename):
                kept.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name, lookup_line=False))
            frame = frame.f_back
        return traceback.StackSummary(reversed(kept))


def _users(file: str) -> bool:
    return not (file.startswith((_TORCH, _HERE, "<")) or "contextlib.py" in file)


def _words(file: str, line: int | str, function: str) -> str:
    return f"{os.path.basename(file)}:{line}, in {function.strip()}"


def place_of(stack_trace: str | None) -> str:
    """The innermost line of the user's own code in a stack trace, as "model.py:12, in forward"; PyTorch's own line
    where there is no other."""
    frames = _FRAME.findall(stack_trace or "")
    for file, line, function in reversed(frames):
        if _users(file):
            return _words(file, line, function)
    return _words(*frames[-1]) if frames else ""


def place_now() -> str:
    """The innermost line of the user's own code that is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _users(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else _words(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def place_of_error(error: BaseException) -> str:
    """The line of the user's code at which an exception or its cause was raised: the innermost below the traced
    forward."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = list(traceback.extract_tb(current.__traceback__))
        traced = [index for index, frame in enumerate(frames) if frame.filename.endswith(_TRACE)]
        for frame in reversed(frames[max(traced, default=0) :]):
            if _users(frame.filename) and frame.name != "<module>":
                return _words(frame.filename, frame.lineno or 0, frame.name)
        current = current.__cause__ or current.__context__
    return ""


class Stop(Exception):
    """The forward cannot go on after a problem, which is among the collected ones."""


@dataclass
class Problem:
    text: str
    where: str
    help: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.where})" if self.where else self.text


@dataclass
class Problems:
    """Collected problems; `raise_any` tells all of them in one exception."""

    found: list[Problem] = field(default_factory=list)

    def add(self, text: str, where: str = "", advice: str = "") -> None:
        problem = Problem(text, where, advice)
        if str(problem) not in {str(other) for other in self.found}:
            self.found.append(problem)

    def here(self, text: str, advice: str = "") -> None:
        """Adds a problem of the line of the user's code that is running."""
        self.add(text, place_now(), advice)

    def stop(self, text: str, advice: str = "") -> NoReturn:
        """Adds a problem of the running line, and ends the forward."""
        self.here(text, advice)
        raise Stop

    def raise_any(self, name: str, cause: BaseException | None = None) -> None:
        if not self.found:
            return
        first = self.found[0]
        count = f"{len(self.found)} problems, the first: " if len(self.found) > 1 else ""
        helps = dict.fromkeys(problem.help for problem in self.found if problem.help)
        raise Unsupported(
            "E0407",
            f"{name} cannot be captured: {count}{first.text}",
            where="; ".join(dict.fromkeys(problem.where for problem in self.found if problem.where)),
            help=" | ".join(helps),
            notes=[str(problem) for problem in self.found[1:]],
        ) from cause
