"""Arrays as a step takes them: contiguous, of the tensor's type and shape; not copied where they are so already."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pantoum import _core
from pantoum.errors import InvalidInput, UsageError, expect, warn
from pantoum.quantities import PathLike, structure_of

if TYPE_CHECKING:
    from pantoum.planning import Plan


NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}

Array = npt.NDArray[Any]
ArrayLike = Any
"""A numpy array, a torch tensor, anything with ``__dlpack__`` or ``__array__``, or nested lists of numbers."""


class BatchTensor(NamedTuple):
    """One tensor of a batch: ``shape[0]`` is the number of samples in a micro-batch; a target is what a loss compares
    with."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_target: bool


def is_array(value: object) -> bool:
    """Whether the value is one array, not a collection of arrays."""
    return isinstance(value, np.ndarray) or any(hasattr(value, name) for name in ("__dlpack__", "__array__"))


def is_numbers(value: object) -> bool:
    """Whether the value is a list, or a list of lists, of numbers."""
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, (int, float, np.number))


def is_torch_dataset(value: object) -> bool:
    """Whether the value is a data set of torch, which gives sample after sample."""
    kinds = [(kind.__module__, kind.__name__) for kind in type(value).__mro__]
    return ("torch.utils.data.dataset", "Dataset") in kinds


def arrays_inside(data: Any) -> Any:
    """The tensors of a TensorDataset of torch, else the data as they are."""
    tensors = getattr(data, "tensors", None)
    return tensors if isinstance(tensors, tuple) and is_torch_dataset(data) else data


def as_numpy(value: ArrayLike, name: str) -> Array:
    """A view where there is memory that numpy can read, else a copy. InvalidInput E0262: no array of numbers."""
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        raise InvalidInput("E0262", f"'{name}' is masked", name, "fill it: .filled(0)")
    if isinstance(value, np.ndarray):
        return value
    failed: Exception | None = None
    try:
        if hasattr(value, "detach"):
            return _of_torch(value)
        return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    except Exception as error:  # of the other library's code
        failed = error
    try:
        array = np.asarray(value.cpu() if hasattr(value, "cpu") else value)
    except Exception as error:
        array, failed = np.array(None), error
    if array.dtype != object:
        return array
    what = f"{type(failed).__name__}: {failed}"
    raise InvalidInput(
        "E0262", f"'{name}' is no array of numbers: {what}", name, "give a numpy array or a tensor"
    ) from failed


def _of_torch(tensor: Any) -> Array:
    """The tensor by its own numpy(), which refuses a tensor without memory, as a fake one. Its graph is left out."""
    array: Array = (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy(force=True)
    return array


def converted(array: Array, tensor: Any) -> Array:
    """The array in the type of a tensor of the plan. InvalidInput E0262: values could change their meaning."""
    given, wanted = array.dtype, NUMPY_TYPES[tensor.dtype]
    is_float = given.kind == "f" and wanted.kind == "f"
    widens = given.kind in "iu" and wanted.kind in "iu" and np.can_cast(given, wanted)
    if is_float or widens or given.newbyteorder("=") == wanted:
        return array.astype(wanted, copy=False)
    scale = (
        ", with the scale that the model expects"
        if wanted.kind == "f" and not getattr(tensor, "is_target", False)
        else ""
    )
    raise InvalidInput(
        "E0262",
        f"'{tensor.name}' is {tensor.dtype}, and the array is {given}",
        tensor.name,
        f"convert it: .astype(numpy.{wanted.name}){scale}",
        ("values are not converted where they could change their meaning",),
    )


def _advice_on_shape(array: Array, tensor: BatchTensor) -> str:
    wanted = tensor.shape[1:]
    if array.shape == wanted:
        return "N counts samples, and this is one sample: give array[None]"
    if array.ndim == len(wanted) + 1 and array.ndim > 2 and array.shape[1:] == (*wanted[1:], wanted[0]):
        axes = ", ".join(map(str, (0, array.ndim - 1, *range(1, array.ndim - 1))))
        return f"the array has its channels last: array.transpose({axes}), or .permute({axes}) of a tensor"
    if tensor.is_target and tensor.dtype == "i64" and array.ndim == len(tensor.shape) + 1 and _is_one_hot(array):
        return "these labels are one-hot: array.argmax(1), or plan with loss='soft_cross_entropy'"
    return "N counts samples; reshape or transpose the array"


def _is_one_hot(array: Array) -> bool:
    return bool(array.size and np.isin(array, (0, 1)).all() and (array.sum(axis=1) == 1).all())


def samples_of(value: ArrayLike, tensor: BatchTensor) -> Array:
    """``value`` as samples of ``tensor``: [any number, shape[1:]..], contiguous. InvalidInput E0262."""
    array = as_numpy(value, tensor.name)
    if tensor.is_target and array.ndim == len(tensor.shape) + 1 and array.shape[-1] == 1:
        array = array[..., 0]  # labels in a column
    if array.ndim != len(tensor.shape) or array.shape[1:] != tensor.shape[1:]:
        wanted = ", ".join(["N", *map(str, tensor.shape[1:])])
        raise InvalidInput(
            "E0262",
            f"'{tensor.name}' has shape [{wanted}], and the array has [{', '.join(map(str, array.shape))}]",
            tensor.name,
            _advice_on_shape(array, tensor),
        )
    return np.ascontiguousarray(converted(array, tensor))


def flat(batch: Any, wanted: Sequence[BatchTensor]) -> list[Any]:
    """The values of a batch in the order of ``wanted``: (x, y), ((x1, x2), y), a dict by names, or one array."""
    if isinstance(batch, Mapping):
        missing = [tensor.name for tensor in wanted if tensor.name not in batch]
        unknown = [str(name) for name in batch if name not in {tensor.name for tensor in wanted}]
        if missing or unknown:
            names, given = ", ".join(tensor.name for tensor in wanted), ", ".join(map(str, batch)) or "none"
            message = f"the batch has the keys {given}, and the plan wants {names}"
            notes = [f"missing: {name}" for name in missing] + [f"unknown: {name}" for name in unknown]
            raise InvalidInput("E0262", message, "", f"name them {names}", notes)
        return [batch[tensor.name] for tensor in wanted]
    if is_array(batch):
        return [batch]
    if not isinstance(batch, Iterable):
        given = type(batch).__qualname__
        raise InvalidInput("E0262", f"a {given} is no batch", "", "give the model's inputs, then the targets")
    values: list[Any] = []
    for part in batch:
        if isinstance(part, Mapping):
            values += [part[tensor.name] for tensor in wanted if tensor.name in part]
        elif isinstance(part, (tuple, list)) and any(is_array(value) for value in part):
            values += part
        else:
            values.append(part)
    return values


def arrays_of(batch: Any, wanted: Sequence[BatchTensor]) -> list[Array]:
    """Contiguous arrays in the order of ``wanted``, as many samples in each. InvalidInput E0262."""
    values = flat(batch, wanted)
    if len(values) != len(wanted):
        names = ", ".join(f"{tensor.name} {tensor.dtype}{list(tensor.shape)}" for tensor in wanted)
        raise InvalidInput(
            "E0262",
            f"{len(values)} arrays for a batch of {len(wanted)}",
            "",
            "give the model's inputs, then the targets",
            (f"a batch is {names}",),
        )
    return [samples_of(value, tensor) for value, tensor in zip(values, wanted, strict=True)]


def _expect_plan(plan: object) -> None:
    if not hasattr(plan, "_core") or not hasattr(plan, "batch"):
        given = type(plan).__qualname__
        raise UsageError("E0116", f"a {given} is no Plan", "plan", "make one: pantoum.plan(model, ram=...)")


class Dataset:
    """Samples on disk or in memory, read one by one when they are needed.

    ``Dataset.open`` finds the format of files; ``Dataset.from_arrays`` takes arrays, which it keeps alive and does not
    copy.
    """

    def __init__(self, handle: _core.Dataset) -> None:
        self._core = handle

    @staticmethod
    def open(
        path: PathLike,
        plan: Plan,
        *,
        test_path: PathLike | None = None,
        cache_folder: PathLike | None = None,
        label_columns: str | int | Sequence[str | int] = (),
        val_split: float | None = None,
    ) -> tuple[Dataset, Dataset]:
        """The training and the test set that lie at ``path``; the test set may be empty.

        Args:
            path: IDX, NPY, NPZ, CIFAR-10, CSV, folders of pictures, raw (docs/data.md).
            plan: its model says what a sample is.
            test_path: the test set (default: the one at ``path``).
            cache_folder: folder for data that cannot be read in place (default: a private one).
            label_columns: columns of labels in a CSV file, by name or number from 0 (default: the last).
            val_split: hold this share of the samples out, spread evenly, as the test set (default: none).

        Raises:
            InvalidInput: E0262 with what was looked for; E0201, E0260, E0261 what is there cannot be read.
        """
        _expect_plan(plan)
        columns = [label_columns] if isinstance(label_columns, (str, int)) else label_columns
        given = {
            "test_path": test_path,
            "cache_folder": cache_folder,
            "label_columns": [str(name) for name in columns],
            "val_split": val_split,
        }
        train, test = _core.Dataset.open(path, plan._core, structure_of(_core.DataOptions, given))
        for warning in train.warnings():
            warn(warning)
        return Dataset(train), Dataset(test)

    @staticmethod
    def from_arrays(plan: Plan, *arrays: ArrayLike) -> Dataset:
        """Samples in memory: inputs in the model's order, then targets, [samples, ..] each. InvalidInput E0262."""
        _expect_plan(plan)
        return Dataset(_core.Dataset.from_arrays(plan._core, arrays_of(arrays, plan.batch)))

    def hold_out(self, share: float) -> tuple[Dataset, Dataset]:
        """Two parts of the set: what is left, and the share that is held out, spread evenly over the set. UsageError
        E0117: the share is not between 0 and 1.
        """
        expect(share, numbers.Real, "share", "give one between 0 and 1, as 0.1")
        rest, held = self._core.hold_out(float(share))
        return Dataset(rest), Dataset(held)

    def __len__(self) -> int:
        return self._core.count()

    @property
    def format(self) -> str:
        """The format of the data: "IDX", "image folder", "memory"."""
        return self._core.format()

    @property
    def classes(self) -> list[str]:
        """The names of the classes of an image folder; else empty."""
        return self._core.classes()

    def __repr__(self) -> str:
        return f"<pantoum.Dataset: {len(self)} samples, {self.format}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise UsageError("E0108", "a Dataset is not pickled", "", "open it again where it is needed")
