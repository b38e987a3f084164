"""Training a plan: steps, epochs, evaluation, checkpoints, weights."""

from __future__ import annotations

import dataclasses
import math
import numbers
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pantoum import _core
from pantoum.data import (
    NUMPY_TYPES,
    Array,
    ArrayLike,
    BatchTensor,
    Dataset,
    arrays_inside,
    arrays_of,
    as_numpy,
    converted,
    flat,
    is_array,
    is_numbers,
    samples_of,
)
from pantoum.errors import InvalidInput, UsageError, expect, text_of, whole_of
from pantoum.fitting import Data, History, batches_of, figures_of, fit, mean_of
from pantoum.keywords import TrainerKeywords
from pantoum.model import refuse_stand_ins
from pantoum.options import Group
from pantoum.planning import Plan
from pantoum.quantities import Options, PathLike, structure_of

_Self = TypeVar("_Self", bound="Trainer")


class TensorInfo(NamedTuple):
    """A weight, or a state of the optimizer (``is_state``); ``in_ram``: it lies in RAM between steps."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_state: bool
    in_ram: bool


@dataclasses.dataclass(frozen=True)
class Usage:
    """Exact figures of a trainer, since it was made."""

    arena_bytes: int
    steps: int
    bytes_paged_in: int
    bytes_paged_out: int
    io_backend: str
    page_encryption: str
    rss_growth_bytes: int  # by how much RAM grew since the arena was new, arena included


class Trainer(TrainerKeywords):
    """One training: its arena, its page file, its threads. Used by one thread at a time, in the process that made it.

    ::

        with pantoum.Trainer(plan) as trainer:
            for x, y in batches:
                loss = trainer.step(x, y)
            trainer.save("trained.safetensors")
    """

    def _open(self, plan: Plan, weights: PathLike | None, lr: float | None, options: Options) -> None:
        expect(plan, Plan, "plan", "make one: pantoum.plan(model, ram=...)")
        if weights is None:
            refuse_stand_ins(plan.model._stand_ins if plan.model else ())
        if "normalize" in options:
            options["normalize"] = _pairs(options["normalize"])
        asked = structure_of(_core.TrainerOptions, options)
        if weights is not None:
            asked.set_weights(weights)
        if lr is not None:
            expect(lr, numbers.Real, "lr", "give one as 0.05")
            asked.lr = float(lr)
        self._plan = plan
        self._lr = lr
        self._shuffles, self._names_order = bool(options.get("shuffle", True)), "shuffle" in options
        self._core = _core.Trainer.create(plan._core, asked)
        self._resumed = self._looked_at = False
        self.stop_training = False

    def _fit(self, *given: Any) -> History:
        return fit(self, *given)

    @property
    def plan(self) -> Plan:
        """The plan that the trainer follows."""
        return self._plan

    @property
    def steps_done(self) -> int:
        """Steps that were made, those before a resume included."""
        return self._core.steps_done()

    @property
    def samples_per_step(self) -> int:
        """Number of samples that ``step`` takes."""
        return self._core.samples_per_step()

    @property
    def usage(self) -> Usage:
        """Figures of the trainer: bytes of the arena, steps, bytes paged."""
        return Usage(**self._core.usage())

    @property
    def closed(self) -> bool:
        """Whether arena, page file and threads were given back."""
        return self._core.is_closed()

    def close(self) -> None:
        """Gives arena, page file and threads back; nothing is written. A view that ``tensor`` gave keeps the arena
        until it ends.
        """
        self._core.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.close()

    def step(self, *batch: ArrayLike) -> float:
        """One training step on ``samples_per_step`` samples.

        Args:
            batch: inputs in the model's order, then targets, as ``plan.batch`` names them; or a dict of them by name.
                Contiguous
                arrays of the right type in RAM are not copied; strided ones, other floats and narrower integers are.

        Returns:
            The loss before the update; the mean over the batch.

        Raises:
            InvalidInput: E0262 they do not fit, or a label is out of range: nothing has changed. E0701 the loss is not
                finite: the
                parameters are spoilt, go back to a checkpoint.
            DeviceError: E0903 storage.
            UsageError: E0108 the trainer is closed, in use by another thread, or of another process.
        """
        arrays = arrays_of(batch[0] if len(batch) == 1 and isinstance(batch[0], Mapping) else batch, self._plan.batch)
        self._before_step()
        return self._step(arrays)[1]

    def _step(self, arrays: list[Array]) -> tuple[int, float, float]:
        """Number, loss and rate of a step. Where the loss is not finite, the sample is named whose values are not."""
        try:
            made: tuple[int, float, float] = self._core.step(arrays)
            return made
        except InvalidInput as error:
            for tensor, array in zip(self._plan.batch, arrays, strict=True):
                if error.code == "E0701" and array.dtype.kind == "f" and not np.isfinite(array).all():
                    sample = int(np.argwhere(~np.isfinite(array))[0][0])
                    said = error.message.partition(":")[0]
                    error.message = f"{said}: '{tensor.name}' of sample {sample} of the batch is not finite"
                    error.help = "clean the data, and go on from a checkpoint: this step has spoilt the parameters"
                    break
            raise

    _follows = False  # whether _before_step looks at something

    def _before_step(self) -> None:
        """What is done before every step, those of ``fit`` included."""

    def evaluate(self, data: Data, target: ArrayLike | None = None) -> dict[str, float]:
        """Loss over any number of samples, and accuracy where labels are classes. Changes nothing.

        Args:
            data: as for ``fit``; an iterable of batches is evaluated batch by batch, and means are weighted by samples.
            target: of one array of inputs.

        Returns:
            loss, samples, and accuracy, top5, mean_absolute_error where they are measured; loss_0, loss_1, .. of
            several terms.
        """
        if target is not None:
            data = (data, target)
        whole = self._as_dataset(data)
        if whole is not None:
            return figures_of(self._core.evaluate(whole._core.data))
        parts = []
        for batch in batches_of(data):
            part = Dataset.from_arrays(self._plan, *flat(batch, self._plan.batch))
            parts.append(figures_of(self._core.evaluate(part._core.data)))
        return mean_of(parts)

    def predict(self, *inputs: Any) -> Array | dict[str, Array]:
        """The model's outputs for any number of samples, as in evaluation. Changes nothing.

        Args:
            inputs: the model's inputs in its order, as arrays or tensors of [samples, ..]; or a dict of them by name;
                or a ``Dataset``; or an iterable of batches. Targets behind the inputs are left out; inputs that the
                loss alone reads are not needed.

        Returns:
            A new array; of several outputs, a dict of arrays by the outputs' names.

        Raises:
            UsageError: E0105 the plan gives no outputs: the model gives its loss alone, outputs without the batch as
                their first dimension, or outputs that do not fit the RAM.
            InvalidInput: E0262 the arrays do not fit.
            DeviceError: E0903 storage.
        """
        data: Any = inputs[0] if len(inputs) == 1 else inputs
        reads = [
            BatchTensor(name, kind, tuple(shape), target)
            for name, kind, shape, target in self._core.prediction_inputs()
        ]
        if isinstance(data, Dataset):
            given = data._core.data
            return self._answer([self._predicted(len(data), lambda into: self._core.predict_data(given, into))])
        if len(inputs) != 1 or self._is_inputs(data, reads):
            return self._answer([self._predict(data, reads)])
        if isinstance(data, (str, bytes, os.PathLike)):
            raise _path_is_no_data()
        return self._answer([self._predict(batch, reads) for batch in batches_of(data)])

    def _is_inputs(self, data: Any, reads: Sequence[BatchTensor]) -> bool:
        """Whether the data are the inputs themselves, and no iterable of batches."""
        if isinstance(data, Mapping) or is_array(data) or is_numbers(data):
            return True
        parts = list(data) if isinstance(data, (tuple, list)) else []
        lengths = (len(reads), len(self._plan.batch), sum(not tensor.is_target for tensor in self._plan.batch))
        return len(parts) in lengths and all(is_array(part) or is_numbers(part) for part in parts)

    def _predict(self, batch: Any, reads: Sequence[BatchTensor]) -> list[Array]:
        arrays = [samples_of(value, tensor) for value, tensor in zip(self._read_of(batch, reads), reads, strict=True)]
        return self._predicted(len(arrays[0]) if arrays else 0, lambda into: self._core.predict(arrays, into))

    def _predicted(self, count: int, run: Callable[[list[Array]], None]) -> list[Array]:
        outputs = [np.empty((count, *shape[1:]), NUMPY_TYPES[dtype]) for _, dtype, shape, _ in self._core.outputs()]
        run([output.reshape(-1).view(np.uint8) for output in outputs])
        return outputs

    def _read_of(self, batch: Any, reads: Sequence[BatchTensor]) -> list[Any]:
        """The values of a batch that a prediction reads."""
        wanted = self._plan.batch
        if isinstance(batch, Mapping):
            others = {tensor.name for tensor in wanted} - {tensor.name for tensor in reads}
            return flat({name: value for name, value in batch.items() if name not in others}, reads)
        values = [batch] if is_numbers(batch) else flat(batch, reads)
        if len(values) == len(reads):
            return values
        if len(values) in (len(wanted), sum(not tensor.is_target for tensor in wanted)):
            given = {tensor.name: value for tensor, value in zip(wanted, values, strict=False)}
            if all(tensor.name in given for tensor in reads):
                return [given[tensor.name] for tensor in reads]
        names = ", ".join(f"{tensor.name} {tensor.dtype}{list(tensor.shape)}" for tensor in reads)
        raise InvalidInput(
            "E0262", f"{len(values)} arrays, and the outputs are made of {len(reads)}", "predict", f"give {names}"
        )

    def _answer(self, parts: list[list[Array]]) -> Array | dict[str, Array]:
        if not parts:
            raise InvalidInput("E0262", "the data hold no sample", "predict", "give one or more")
        whole = parts[0] if len(parts) == 1 else [np.concatenate(outputs) for outputs in zip(*parts, strict=True)]
        names = [name for name, *_ in self._core.outputs()]
        return whole[0] if len(whole) == 1 else dict(zip(names, whole, strict=True))

    def _as_dataset(self, data: Any) -> Dataset | None:
        """Data as a data set; None: it is an iterable of batches."""
        if isinstance(data, Dataset):
            return data
        data, wanted = arrays_inside(data), self._plan.batch
        if isinstance(data, Mapping) or is_array(data):
            return Dataset.from_arrays(self._plan, *flat(data, wanted))
        if isinstance(data, (tuple, list)) and (len(data) != 1 or is_array(data[0])):
            values = flat(data, wanted)
            if len(values) == len(wanted) and all(is_array(value) or is_numbers(value) for value in values):
                return Dataset.from_arrays(self._plan, *values)
        if isinstance(data, (str, bytes, os.PathLike)):
            raise _path_is_no_data()
        return None

    def save(self, path: PathLike) -> None:
        """Writes weights, optimizer state and the position in the training as safetensors, atomically. DeviceError
        E0901, E0903."""
        self._core.save(path)

    def resume(self, path: PathLike) -> None:
        """Continues where the trainer that saved the file was, to the bit, in the file's order of samples.

        Raises:
            InvalidInput: E0243 the file is of another model, plan, data set or order of samples; E0240, E0244 it is
                damaged. Nothing has changed then.
        """
        shuffles = self._core.resume_point_shuffles(path)
        if self._names_order and shuffles != self._shuffles:
            advice = "leave shuffle out of pantoum.Trainer: the order goes on as it was"
            message = "the resume point shuffles the samples, and shuffle is False here"
            raise InvalidInput("E0243", message, os.fsdecode(path), advice)
        self._core.resume(path)
        self._resumed, self._shuffles = True, shuffles

    @property
    def tensors(self) -> list[TensorInfo]:
        """Parameters, statistics and optimizer states."""
        return [
            TensorInfo(name, dtype, tuple(shape), kind == "state", in_ram)
            for name, dtype, shape, kind, in_ram in self._core.tensors()
            if kind != "gradient"
        ]

    def tensor(self, name: str) -> Array:
        """A tensor between steps, without a copy: a read-only view of the arena, valid until the next step or
        evaluation, which
        write over it. Copy what is to stay.

        Raises:
            UsageError: E0104 no such tensor; E0105 it lives in storage between steps: use ``state_dict``.
        """
        view: Array = self._core.tensor(text_of(name, "name"))
        return view

    def read(self, name: str) -> Array:
        """A copy of a tensor, wherever it lives. UsageError E0104; DeviceError E0903."""
        return self._read(self._find(name))

    def _find(self, name: str) -> TensorInfo:
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise UsageError("E0104", f"there is no weight or state '{name}'", name, "Trainer.tensors names them all")

    def _read(self, tensor: TensorInfo) -> Array:
        array = np.empty(tensor.shape, NUMPY_TYPES[tensor.dtype])
        self._core.read(tensor.name, array.reshape(-1).view(np.uint8))
        return array

    def state_dict(self, *, optimizer: bool = False) -> dict[str, Array]:
        """Copies of parameters and statistics by name, and of the optimizer's states where they are asked for."""
        return {tensor.name: self._read(tensor) for tensor in self.tensors if optimizer or not tensor.is_state}

    def load_state_dict(self, state: Mapping[str, ArrayLike], *, strict: bool = True) -> None:
        """Writes tensors by name; all are checked before the first is written.

        Args:
            state: name -> array of the tensor's shape; floats of other widths are converted.
            strict: parameters and statistics that ``state`` lacks are an error; names that no tensor has are one in
                any case.

        Raises:
            InvalidInput: E0262 shape, type, a name too many or too few.
        """
        expect(state, Mapping, "state", "give a dict of arrays by name")
        weights = [tensor.name for tensor in self.tensors if not tensor.is_state]
        self._load(state, [name for name in weights if strict and name not in state])

    def _load(self, state: Mapping[str, ArrayLike], missing: Sequence[str]) -> None:
        known = {tensor.name: tensor for tensor in self.tensors}
        unknown = [str(name) for name in state if name not in known]
        if unknown or missing:
            notes = [f"no such tensor: {name}" for name in unknown] + [f"missing: {name}" for name in missing]
            raise InvalidInput(
                "E0262",
                "the state is not that of this model",
                "load_state_dict",
                "strict=False leaves out what is missing",
                notes,
            )
        arrays = {name: _of_tensor(value, known[name]) for name, value in state.items()}
        for name, array in (*self._computed_of(arrays).items(), *arrays.items()):
            self._core.write(name, array.reshape(-1).view(np.uint8))

    def _computed_of(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """What is computed of tensors that are about to be written; it is written before them."""
        return {}

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate of the next steps, before a schedule's factor. UsageError E0116: negative, or not
        finite."""
        expect(lr, numbers.Real, "lr", "give one as 0.05")
        self._core.set_learning_rate(float(lr))

    @property
    def groups(self) -> list[Group]:
        """The groups of parameters that the model was planned with, with what holds from the next step on."""
        return [Group(names, lr, weight_decay) for names, lr, weight_decay in self._core.groups()]

    def set_group(self, group: int, *, lr: float | None = None, weight_decay: float | None = None) -> None:
        """Sets the learning rate or the weight decay of a group for the next steps; what is None stays.

        Args:
            group: its index in ``groups``.
            lr: before a schedule's factor.
            weight_decay: L2 penalty; of adamw, decoupled weight decay.

        Raises:
            UsageError: E0104 there is no such group; E0116 negative, or not finite: nothing has changed then.
        """
        at = whole_of(group, "group", 0)
        for name, value in (("lr", lr), ("weight_decay", weight_decay)):
            if value is not None:
                expect(value, numbers.Real, name, "give one as 0.05")
                if not (math.isfinite(value) and value >= 0):
                    raise UsageError("E0116", f"{value!r} is negative or not finite", name)
        if lr is not None:
            self._core.set_group_rate(at, float(lr))
        if weight_decay is not None:
            self._core.set_group_decay(at, float(weight_decay))

    def __repr__(self) -> str:
        if self.closed:
            return "<pantoum.Trainer: closed>"
        return f"<pantoum.Trainer: {self.steps_done} steps done, {self.plan!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise UsageError("E0108", "a Trainer is not pickled", "", "pickle its plan, and save() and resume() the state")


def _path_is_no_data() -> UsageError:
    return UsageError("E0116", "a path is no data", "data", "open it: train, test = pantoum.Dataset.open(path, plan)")


def _pairs(normalize: Any) -> list[tuple[float, float]]:
    values = list(normalize) if isinstance(normalize, Iterable) else [normalize]
    if len(values) == 2 and all(isinstance(value, (int, float)) for value in values):
        values = [tuple(values)]
    try:
        return [(float(mean), float(deviation)) for mean, deviation in values]
    except (TypeError, ValueError):
        raise UsageError(
            "E0120",
            "a normalization is a mean and a deviation",
            "normalize",
            "give (0.5, 0.25), or one pair for each channel",
        ) from None


def _of_tensor(value: ArrayLike, tensor: TensorInfo) -> Array:
    array = as_numpy(value, tensor.name)
    if array.shape != tensor.shape:
        raise InvalidInput(
            "E0262",
            f"'{tensor.name}' has shape {list(tensor.shape)}, and the array has {list(array.shape)}",
            tensor.name,
        )
    return np.ascontiguousarray(converted(array, tensor))
