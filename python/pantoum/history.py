"""The history of a training, and callbacks as Keras has them."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from pantoum.errors import UsageError

if TYPE_CHECKING:
    from pantoum.trainer import Trainer

__all__ = ["Callback", "History"]

Logs: TypeAlias = dict[str, float]


class Callback:
    """Override what you need. ``self.trainer`` is set before training begins; ``self.trainer.stop_training = True``
    ends it.

    A callback may save the trainer, look at its tensors and set the learning rate; it may not step or evaluate.
    """

    trainer: Trainer

    def on_train_begin(self) -> None:
        """Called before the first step."""

    def on_train_end(self, logs: Logs) -> None:
        """Called after the last epoch."""

    def on_epoch_begin(self, epoch: int) -> None:
        """Called before an epoch; the first is 0."""

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Called after an epoch. Logs: loss, and val_loss, val_accuracy where there are validation data."""

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        """Called after a step. Logs: loss, lr. ``batch`` counts all steps; the first is 0."""


AnyCallback: TypeAlias = Union[Callback, Callable[[int, Logs], object]]
"""A Callback, or a function that is called as its on_epoch_end is."""


@dataclasses.dataclass
class History:
    """The result of ``Trainer.fit``.

    Attributes:
        history: name -> a figure for each epoch: loss, and val_loss, val_accuracy where there are validation data.
        epoch: the numbers of the epochs, from 0.
        steps: steps of the training, those before a resume included.
        ran: steps of this call.
        seconds: time of this call.
        stopped: a callback ended the training, or the data ended.
        stopped_early: no validation was better for ``patience`` epochs.
        out_of_time: ``max_time`` ended the training.
    """

    history: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    epoch: list[int] = dataclasses.field(default_factory=list)
    steps: int = 0
    ran: int = 0
    seconds: float = 0.0
    stopped: bool = False
    stopped_early: bool = False
    out_of_time: bool = False

    def add(self, epoch: int, logs: Logs) -> None:
        """Adds the figures of an epoch."""
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def _repr_html_(self) -> str:
        names = list(self.history)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ["epoch", *names])
        rows = ""
        for at, epoch in enumerate(self.epoch):
            figures = "".join(
                f"<td>{self.history[name][at]:.5g}</td>" for name in names if at < len(self.history[name])
            )
            rows += f"<tr><td>{epoch}</td>{figures}</tr>"
        return f"<table><tr>{head}</tr>{rows}</table>"


class Callbacks:
    """The callbacks of one training, called one after the other."""

    def __init__(self, trainer: Trainer, callbacks: AnyCallback | Iterable[AnyCallback]) -> None:
        several = callbacks if isinstance(callbacks, Iterable) else [callbacks]
        self._all = [_as_callback(callback) for callback in several]
        for callback in self._all:
            callback.trainer = trainer

    def __bool__(self) -> bool:
        return bool(self._all)

    def tell(self, event: str, *words: Any) -> None:
        """Calls the method ``event`` of each callback."""
        for callback in self._all:
            getattr(callback, event)(*words)


def _as_callback(callback: AnyCallback) -> Callback:
    if isinstance(callback, Callback):
        return callback
    if callable(callback) and not isinstance(callback, type):
        made = Callback()
        made.on_epoch_end = callback  # type: ignore[method-assign, assignment]
        return made
    raise UsageError(
        "E0116",
        f"{callback!r} is no callback",
        "callbacks",
        (),
        "derive one from pantoum.Callback, or give a function of epoch and logs",
    )
