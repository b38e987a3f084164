"""Progress on the terminal: a line that is rewritten, and a line for each epoch that stays."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from pantoum.errors import UsageError

_BETWEEN = 0.1  # seconds between two states of the line that is rewritten


class StatusLine:
    """A line of standard output that is rewritten, at most ten times a second; nothing where that is no terminal."""

    def __init__(self, enabled: bool = True) -> None:
        self._shown = enabled and sys.stdout is not None and sys.stdout.isatty()
        self._last, self._stands = -math.inf, False

    def due(self) -> bool:
        """Whether it is time to show a text."""
        return self._shown and time.monotonic() - self._last >= _BETWEEN

    def show(self, text: str) -> None:
        """Shows a text, as much of it as fits into the line."""
        if self._shown:
            self._last, self._stands = time.monotonic(), True
            sys.stdout.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
            sys.stdout.flush()

    def clear(self) -> None:
        """Removes the line."""
        if self._stands:
            self._stands = False
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()


def _line(best: float, bound: float) -> str:
    if not math.isfinite(best):
        return "no plan yet"
    gap = (best - bound) / best if best > 0 else 1.0
    return f"best {best:.4g}, bound {bound:.4g}, gap {gap:.2%}"


@contextlib.contextmanager
def planning_progress(progress: bool | Callable[[float, float, float], object] | None, title: str) -> Iterator[Any]:
    """The function that receives the planner's progress: the user's own, one that rewrites a line, or None."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    line = StatusLine()

    def tell(seconds: float, best: float, bound: float) -> None:
        if line.due():
            line.show(f"{title} {seconds:.1f} s  {_line(best, bound)}")

    try:
        yield tell
    finally:
        line.clear()


def lines_of(verbose: int | str) -> int:
    """How much ``fit`` prints: 0 nothing, 1 a line for each epoch and one that is rewritten meanwhile, 2 the lines of
    epochs alone. UsageError E0116."""
    asked = 1 if verbose == "auto" else verbose
    if isinstance(asked, int) and asked in (0, 1, 2):
        return int(asked)
    raise UsageError("E0116", f"verbose={verbose!r} is none of 0, 1, 2 and 'auto'", "verbose", "0 prints nothing")


def figures_in_words(logs: dict[str, float]) -> str:
    """``loss 0.4764  val_loss 0.3453``"""
    return "  ".join(f"{name} {value:.4g}" for name, value in logs.items())


class FitProgress:
    """What a fit of ``epochs`` epochs prints. ``per_epoch``: steps of an epoch; None where nobody knows."""

    def __init__(self, verbose: int | str, epochs: int, per_epoch: int | None) -> None:
        self._lines, self._epochs, self._per_epoch = lines_of(verbose), epochs, per_epoch
        self._line = StatusLine(self._lines == 1)
        self.begin_epoch(0)

    def begin_epoch(self, epoch: int) -> None:
        """Begins an epoch; the first is 0."""
        self._epoch, self._steps, self._begun = epoch, 0, time.monotonic()

    def step(self, loss: float) -> None:
        """Shows a step."""
        self._steps += 1
        if not self._line.due():
            return
        taken = time.monotonic() - self._begun
        of, left = "", ""
        if self._per_epoch is not None:
            of = f"/{self._per_epoch}"
            left = f"  {max(0, self._per_epoch - self._steps) * taken / self._steps:.0f} s left"
        self._line.show(f"epoch {self._epoch + 1}/{self._epochs}  step {self._steps}{of}{left}  loss {loss:.4g}")

    def end_epoch(self, logs: dict[str, float]) -> None:
        """Prints the line of an epoch, with its figures."""
        if self._lines:
            self._line.clear()
            taken = time.monotonic() - self._begun
            print(f"epoch {self._epoch + 1}/{self._epochs}  {figures_in_words(logs)}  {taken:.1f} s", flush=True)

    def close(self) -> None:
        """Removes the line that is rewritten."""
        self._line.clear()
