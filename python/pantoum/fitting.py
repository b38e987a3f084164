"""One call of fit: epochs over a data set or over batches, callbacks, history; figures of evaluations."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import inspect
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from pantoum import _core
from pantoum.data import Array, ArrayLike, Dataset, arrays_inside, arrays_of, as_numpy, flat, is_torch_dataset
from pantoum.errors import InvalidInput, UsageError, warn, whole_of
from pantoum.probabilities import warn_of_probabilities
from pantoum.progress import FitProgress, figures_in_words, lines_of
from pantoum.quantities import Options, PathLike, seconds_of, structure_of

if TYPE_CHECKING:
    from pantoum.trainer import Trainer

log = logging.getLogger("pantoum")

Data: TypeAlias = Union[Dataset, Mapping[str, ArrayLike], Sequence[ArrayLike], Iterable[Any]]


def fit(
    trainer: Trainer,
    data: Data,
    target: ArrayLike | None,
    options: Options,
    steps_per_epoch: int | None,
    validation: Data | None,
    validation_split: float | None,
    callbacks: AnyCallback | Sequence[AnyCallback],
    verbose: int | str,
    batch_size: int | None,
    shuffle: bool | None,
) -> History:
    """See ``Trainer.fit``; ``options``: its keywords that are settings of the library."""
    if target is not None:
        data = (data, target)
    asked = structure_of(_core.FitOptions, options)  # checked for batches too
    if batch_size is not None and whole_of(batch_size, "batch_size", 1) != trainer.samples_per_step:
        raise UsageError("E0116", *other_batch(batch_size, trainer.samples_per_step, "batch_size"))
    fitting = Fit(trainer, callbacks, options.get("epochs", 1), verbose)
    whole = trainer._as_dataset(data)
    if shuffle is not None:
        _refuse_other_order(shuffle, trainer, is_iterable=whole is None)
    if whole is not None and whole is not data:
        wanted = trainer.plan.batch
        first = [as_numpy(value, "data")[: trainer.samples_per_step] for value in flat(arrays_inside(data), wanted)]
        fitting.look_at(arrays_of(first, wanted))
    if validation_split:
        whole, validation = _with_held_out(whole, validation, validation_split)
    if whole is None:
        for name in ("keep_best", "patience"):
            if options.get(name):
                advice = "give arrays or a pantoum.Dataset, or use a callback"
                raise UsageError("E0116", f"'{name}' needs a data set", name, advice)
        most = None if steps_per_epoch is None else whole_of(steps_per_epoch, "steps_per_epoch", 1)
        limit = seconds_of(options["max_time"], "max_time") if "max_time" in options else math.inf
        saving = options.get("checkpoint"), options.get("checkpoint_every") or 0
        with checkpoint_after_interrupt(trainer, options.get("checkpoint")):
            return fitting.over_batches(data, most, validation, saving, limit)
    if steps_per_epoch is not None:
        advice = "leave it out, or give an iterable of batches"
        raise UsageError("E0116", "an epoch of arrays is all of them", "steps_per_epoch", advice)
    with checkpoint_after_interrupt(trainer, options.get("checkpoint")):
        return fitting.over_dataset(whole, validation, asked)


def _with_held_out(whole: Dataset | None, validation: Data | None, share: float) -> tuple[Dataset, Dataset]:
    if validation is not None:
        advice = "leave one of them out"
        raise UsageError("E0116", "validation data are given, and a share to hold out", "validation_split", advice)
    if whole is None:
        advice = "give arrays or a pantoum.Dataset, or validation= with other batches"
        raise UsageError("E0116", "batches of an iterable cannot be held out", "validation_split", advice)
    return whole.hold_out(share)


def other_batch(given: int, planned: int, where: str) -> tuple[str, str, str]:
    """Message, place and advice of an error: a batch has other samples than the plan's step."""
    advice = f"give batches of {planned} (DataLoader(.., batch_size={planned})), or plan again with batch={given}"
    return f"a batch of {given} samples, and the plan's batch is {planned}", where, advice


def _refuse_other_order(shuffle: bool, trainer: Trainer, *, is_iterable: bool) -> None:
    """UsageError E0116: the samples do not come in this order."""
    if not isinstance(shuffle, (bool, np.bool_)):
        raise UsageError("E0116", f"{shuffle!r} does not fit 'shuffle'", "shuffle", "give True or False")
    if is_iterable and shuffle:
        advice = "shuffle there: DataLoader(.., shuffle=True); or give arrays or a pantoum.Dataset"
        raise UsageError("E0116", "batches of an iterable are taken in its own order", "shuffle", advice)
    if not is_iterable and shuffle != trainer._shuffles:
        order = "shuffles, by its seed" if trainer._shuffles else "takes samples in the data's own order"
        if trainer._resumed:
            advice = "leave shuffle out, or begin with the file's weights: pantoum.Trainer(plan, weights=..)"
            raise UsageError("E0116", f"this trainer {order}, as the file that it resumed", "shuffle", advice)
        made = (
            f"pantoum.Trainer(plan, shuffle={bool(shuffle)}, seed=1)"
            if shuffle
            else "pantoum.Trainer(plan, shuffle=False)"
        )
        advice = f'{made}, or trainer_options={{"shuffle": {bool(shuffle)}}} of pantoum.compile'
        raise UsageError("E0116", f"this trainer {order}", "shuffle", advice)


@contextlib.contextmanager
def checkpoint_after_interrupt(trainer: Trainer, path: PathLike | None) -> Iterator[None]:
    """Saves the trainer to `path` when Ctrl-C ends what is inside, at whatever moment: in a step, in a callback, before
    the first step or after the last one."""
    try:
        yield
    except KeyboardInterrupt:
        if path is not None:
            trainer.save(path)
        raise


class Fit:
    """One call of fit."""

    def __init__(
        self, trainer: Trainer, callbacks: AnyCallback | Sequence[AnyCallback], epochs: int, verbose: int | str
    ) -> None:
        self._trainer = trainer
        self._callbacks = Callbacks(trainer, callbacks)
        self._epochs = whole_of(epochs, "epochs", 1)
        self._verbose = verbose
        lines_of(verbose)
        self._history = History()
        trainer.stop_training = False

    def look_at(self, batch: list[Array]) -> None:
        """Looks at the outputs of the trainer's first batch, once."""
        if not self._trainer._looked_at:
            self._trainer._looked_at = True
            warn_of_probabilities(self._trainer, batch)

    def over_dataset(self, data: Dataset, validation: Data | None, options: _core.FitOptions) -> History:
        trainer, history = self._trainer, self._history
        test = _core.Dataset() if validation is None else _whole(trainer, validation)._core
        per_epoch = max(1, len(data) // trainer.samples_per_step)
        self._epochs += 0 if trainer._resumed else trainer.steps_done // per_epoch
        trainer._resumed = False
        options.set("epochs", self._epochs)
        self._shown = shown = FitProgress(self._verbose, self._epochs, per_epoch)
        shown.begin_epoch(trainer.steps_done // per_epoch)
        self._callbacks.tell("on_train_begin")
        self._callbacks.tell("on_epoch_begin", trainer.steps_done // per_epoch)

        def on_batch(step: int, loss: float, lr: float) -> bool:
            shown.step(loss)
            self._callbacks.tell("on_batch_end", step - 1, {"loss": loss, "lr": lr})
            if step < per_epoch * self._epochs and not trainer.stop_training:
                trainer._before_step()
            return not trainer.stop_training

        def on_epoch(epoch: int, step: int, mean_loss: float, evaluation: Options | None, best: bool) -> bool:
            self._end_epoch(epoch, mean_loss, evaluation)
            shown.begin_epoch(epoch + 1)
            if epoch + 1 < self._epochs and not trainer.stop_training:
                self._callbacks.tell("on_epoch_begin", epoch + 1)
                trainer._before_step()
            return not trainer.stop_training

        asked = self._callbacks or lines_of(self._verbose) == 1 or trainer._follows
        trainer._before_step()
        try:
            summary = trainer._core.fit(data._core.data, test.data, options, on_batch if asked else None, on_epoch)
        finally:
            shown.close()
        for name in ("steps", "ran", "seconds", "stopped", "stopped_early", "out_of_time"):
            setattr(history, name, summary[name])
        self._callbacks.tell("on_train_end", _last(history))
        return history

    def _end_epoch(self, epoch: int, mean_loss: float, evaluation: Options | None) -> None:
        logs = {"loss": mean_loss}
        if evaluation is not None:
            logs |= {f"val_{name}": value for name, value in figures_of(evaluation).items() if name != "samples"}
        self._history.add(epoch, logs)
        self._shown.end_epoch(logs)
        log.info("epoch %d: %s", epoch, figures_in_words(logs))
        self._callbacks.tell("on_epoch_end", epoch, logs)

    def over_batches(
        self,
        data: Any,
        steps_per_epoch: int | None,
        validation: Data | None,
        checkpoint: tuple[PathLike | None, int],
        limit: float,
    ) -> History:
        history, begin = self._history, time.monotonic()
        self._shown = FitProgress(self._verbose, self._epochs, steps_per_epoch)
        self._callbacks.tell("on_train_begin")
        try:
            for epoch in range(self._epochs):
                self._shown.begin_epoch(epoch)
                self._callbacks.tell("on_epoch_begin", epoch)
                losses = self._epoch(data, steps_per_epoch, checkpoint, begin + limit)
                if not losses:
                    self._check_some(epoch)
                    history.stopped = True
                    break
                evaluation = None if validation is None else self._trainer.evaluate(validation)
                self._end_epoch(epoch, math.fsum(losses) / len(losses), evaluation)
                history.ran += len(losses)
                history.out_of_time = time.monotonic() >= begin + limit
                if self._trainer.stop_training or history.out_of_time:
                    history.stopped = self._trainer.stop_training
                    break
        finally:
            self._shown.close()
        if history.stopped or history.out_of_time or checkpoint[1] > 0:
            self._save(checkpoint[0])
        history.steps, history.seconds = self._trainer.steps_done, time.monotonic() - begin
        self._callbacks.tell("on_train_end", _last(history))
        return history

    def _save(self, path: PathLike | None) -> None:
        if path is not None:
            self._trainer.save(path)

    def _check_some(self, epoch: int) -> None:
        if epoch == 0:
            raise InvalidInput(
                "E0262",
                f"no batch has the {self._trainer.samples_per_step} samples of the plan's batch",
                "fit",
                "give whole batches, or plan again with a smaller batch=",
            )
        warn(
            f"the data ended after {epoch} of {self._epochs} epochs: a generator can be gone through once; give a "
            "list, a DataLoader, or steps_per_epoch"
        )

    def _epoch(
        self, data: Any, most: int | None, checkpoint: tuple[PathLike | None, int], deadline: float
    ) -> list[float]:
        trainer, losses = self._trainer, list[float]()
        wanted, short = trainer.samples_per_step, 0
        for batch in batches_of(data):
            arrays = arrays_of(batch, trainer.plan.batch)
            samples = arrays[0].shape[0]
            if short or samples > wanted:
                raise InvalidInput("E0262", *other_batch(short or samples, wanted, "fit"))
            if samples < wanted:
                short = samples
                continue
            self.look_at(arrays)
            trainer._before_step()
            step, loss, lr = trainer._step(arrays)
            losses.append(loss)
            self._shown.step(loss)
            self._callbacks.tell("on_batch_end", step - 1, {"loss": loss, "lr": lr})
            if checkpoint[1] > 0 and step % checkpoint[1] == 0:
                self._save(checkpoint[0])
            if trainer.stop_training or time.monotonic() >= deadline or (most is not None and len(losses) >= most):
                break
        if short:
            log.info("the last %d samples of the epoch are no whole step: left out", short)
        return losses


def batches_of(data: Any) -> Iterable[Any]:
    if is_torch_dataset(data):
        advice = "torch.utils.data.DataLoader(dataset, batch_size=.., shuffle=True)"
        raise UsageError(
            "E0116", f"a {type(data).__qualname__} gives samples, not batches", "data", f"wrap it: {advice}"
        )
    try:
        batches: Iterable[Any] = iter(data)
    except TypeError:
        hint = (
            "call the function: it is a generator"
            if inspect.isgeneratorfunction(data)
            else "give arrays, a Dataset or an iterable of batches"
        )
        raise UsageError("E0116", f"a {type(data).__qualname__} is no data", "data", hint) from None
    return batches


def _whole(trainer: Trainer, data: Data) -> Dataset:
    made = trainer._as_dataset(data)
    if made is not None:
        return made
    batches = [arrays_of(batch, trainer.plan.batch) for batch in batches_of(data)]
    if not batches:
        raise InvalidInput("E0262", "the validation data hold no sample", "validation")
    return Dataset.from_arrays(trainer.plan, *(np.concatenate(parts) for parts in zip(*batches, strict=True)))


def figures_of(evaluation: Options) -> dict[str, float]:
    figures = {name: value for name, value in evaluation.items() if name != "losses"}
    if len(evaluation.get("losses", ())) > 1:
        figures |= {f"loss_{term}": value for term, value in enumerate(evaluation["losses"])}
    return figures


def mean_of(parts: list[dict[str, float]]) -> dict[str, float]:
    if not parts:
        raise InvalidInput("E0262", "the data hold no sample", "evaluate", "give one or more")
    samples = sum(part["samples"] for part in parts)
    made = {
        name: math.fsum(part[name] * part["samples"] for part in parts) / samples
        for name in parts[0]
        if name != "samples"
    }
    return made | {"samples": samples}


def _last(history: History) -> dict[str, float]:
    return {name: values[-1] for name, values in history.history.items() if values}


# History and callbacks ------------------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from pantoum.trainer import Trainer


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


@dataclasses.dataclass(repr=False)
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

    def __repr__(self) -> str:
        last, many = figures_in_words(_last(self)), "" if len(self.epoch) == 1 else "s"
        made = f"{len(self.epoch)} epoch{many}, {self.ran} steps in {self.seconds:.1f} s"
        return f"<pantoum.History: {', '.join(filter(None, [made, last]))}>"

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
        "derive one from pantoum.Callback, or give a function of epoch and logs",
    )
