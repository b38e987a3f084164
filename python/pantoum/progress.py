"""Progress: by tqdm where it is installed (a bar of its own in notebooks), else by logging."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

log = logging.getLogger("pantoum")

_BETWEEN_LINES = 10.0  # seconds, where there is no tqdm


def bar(**options: Any) -> Any:
    """A bar of tqdm for the terminal or the notebook; None if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(**options)


def _line(best: float, bound: float) -> str:
    if not math.isfinite(best):
        return "no plan yet"
    gap = (best - bound) / best if best > 0 else 1.0
    return f"best {best:.4g}, bound {bound:.4g}, gap {gap:.2%}"


@contextlib.contextmanager
def planning_progress(progress: bool | Callable[[float, float, float], object] | None, title: str) -> Iterator[Any]:
    """The function that receives the planner's progress: the user's own, one that moves a bar, or None."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    shown = bar(desc=title, bar_format="{desc} {elapsed} {postfix}", total=None)
    if shown is None:
        last = [-_BETWEEN_LINES]

        def tell_log(seconds: float, best: float, bound: float) -> None:
            if seconds - last[0] >= _BETWEEN_LINES:
                last[0] = seconds
                log.info("%s: %.1f s, %s", title, seconds, _line(best, bound))

        yield tell_log
        return

    def tell(seconds: float, best: float, bound: float) -> None:
        shown.set_postfix_str(_line(best, bound))

    with shown:
        yield tell


class StepProgress:
    """Steps of a fit, with the loss; shown at most ten times a second."""

    def __init__(self, enabled: bool, total: int | None) -> None:
        self._bar = bar(desc="training", total=total, unit="step") if enabled else None
        self._log = enabled and self._bar is None
        self._last = time.monotonic()
        self._first: int | None = None

    def step(self, step: int, loss: float) -> None:
        """Shows a step."""
        if self._bar is not None:
            self._bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            self._bar.update(1)
        elif self._log and time.monotonic() - self._last >= _BETWEEN_LINES:
            self._last = time.monotonic()
            log.info("step %d, loss %.4f", step, loss)

    def close(self) -> None:
        """Closes the bar."""
        if self._bar is not None:
            self._bar.close()
