"""The trainer of a torch module: it takes batches as the module and its loss take them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pantoum.data import NUMPY_TYPES, Array, ArrayLike, BatchTensor, arrays_inside, as_numpy, is_array, is_torch_dataset
from pantoum.errors import InvalidInput, expect
from pantoum.fitting import History
from pantoum.planning import Plan
from pantoum.quantities import PathLike
from pantoum.trainer import TensorInfo, Trainer

from .capture import plain_module
from .following import Following
from .graph_file import WIDENED, TorchGraph, input_name, plain
from .optimizers import LOSS
from .state import cannot_be_written
from .structure import named_tensors, tensors_of


class TorchTrainer(Trainer):
    """A `pantoum.Trainer` of a captured torch module; `copy_to` gives the module what was trained."""

    def __init__(self, plan: Plan, graph: TorchGraph, following: Following | None = None, **options: Any) -> None:
        super().__init__(plan, **options)
        self._following = following
        self._follows = following is not None
        self._names = [entry["name"] for entry in graph.document["inputs"]]
        self._one_sample = not all(
            entry.get("batch", True) for entry in graph.document["inputs"]
        )  # a step takes everything as one
        self._captured = graph.document["loss"] is not None
        self._computed = {entry["name"] for entry in (*graph.document["parameters"], *graph.document["buffers"])}
        self._trained = {entry["name"] for entry in graph.document["parameters"] if entry["trains"]}
        self._module_state = graph.state
        self._recipe = graph.computed
        self._narrow = {name: torch.iinfo(each.dtype) for name, each in graph.tensors.items() if each.dtype in WIDENED}
        self._decided = {name: (place, plain(graph.tensors[name]).numpy()) for name, place in graph.decided.items()}

    def step(self, *batch: Any) -> float:
        return super().step(*self._adapted(batch[0] if len(batch) == 1 else batch))

    def fit(self, data: Any, target: Any = None, *, validation: Any = None, **options: Any) -> History:
        data = data if target is None else (data, target)
        validation = None if validation is None else self._data(validation)
        if options.get("validation_data") is not None:
            options["validation_data"] = self._data(options["validation_data"])
        return super().fit(self._data(data), validation=validation, **options)

    def evaluate(self, data: Any, target: Any = None) -> dict[str, float]:
        return super().evaluate(self._data(data if target is None else (data, target)))

    def _is_inputs(self, data: Any, reads: Sequence[BatchTensor]) -> bool:
        if isinstance(data, Mapping) or is_array(data):
            return True
        lengths = (len(reads), len(self.plan.batch), sum(not tensor.is_target for tensor in self.plan.batch))
        return (
            isinstance(data, (tuple, list))
            and len(list(_arrays(data))) in lengths
            and not any(isinstance(part, (tuple, list)) and self._is_inputs(part, reads) for part in data)
        )

    def _read_of(self, batch: Any, reads: Sequence[BatchTensor]) -> list[Any]:
        if isinstance(batch, Mapping):
            planned = dict(zip(self._names, (tensor.name for tensor in self.plan.batch), strict=False))
            named = {planned.get(input_name(str(name)), str(name)): value for name, value in batch.items()}
            if any(tensor.name not in named for tensor in reads):
                own = dict(zip(planned.values(), planned, strict=True))
                wanted, given = (
                    ", ".join(own.get(tensor.name, tensor.name) for tensor in reads),
                    ", ".join(map(str, batch)),
                )
                message = f"the batch has the keys {given or 'none'}, and the outputs are made of {wanted}"
                raise InvalidInput("E0262", message, "predict", f"name them {wanted}")
            values = super()._read_of({tensor.name: named[tensor.name] for tensor in reads}, reads)
        else:
            values = super()._read_of(list(_arrays(batch)), reads)
        arrays = [as_numpy(value, tensor.name) for value, tensor in zip(values, reads, strict=True)]
        return [array[None] if self._one_sample else array for array in arrays]

    def _answer(self, parts: list[list[Array]]) -> Array | dict[str, Array]:
        return super()._answer([[output[0] for output in part] for part in parts] if self._one_sample else parts)

    @property
    def tensors(self) -> list[TensorInfo]:
        """Parameters, buffers and optimizer states, by the names of the module."""
        hidden = self._recipe.of if self._recipe is not None else {}
        return [tensor for tensor in super().tensors if tensor.name not in hidden]

    def resume(self, path: PathLike) -> None:
        if self._decided:
            self._refuse_decided(_tensors_of_file(path, self._decided), "resume")
        super().resume(path)

    def _refuse_decided(self, arrays: Mapping[str, Array], where: str) -> None:
        """Refuses other contents of a buffer that a shape or a branch of the step follows."""
        for name, (place, contents) in self._decided.items():
            if name in arrays and arrays[name].tobytes() != contents.tobytes():
                what = f"the step follows the buffer '{name}' as it was when it was captured ({place})"
                advice = "compile the module again with these contents: nothing has changed"
                raise InvalidInput("E0262", f"{what}, and these contents are others", where, advice)

    def _computed_of(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        self._refuse_decided(arrays, "load_state_dict")
        for name in self._narrow.keys() & arrays.keys():
            array, fits = arrays[name], self._narrow[name]
            if array.size and not fits.min <= array.min() <= array.max() <= fits.max:
                what = f"'{name}' is {fits.dtype} in the module, and has numbers from {array.min()} to {array.max()}"
                advice = f"give numbers from {fits.min} to {fits.max}: nothing has changed"
                raise InvalidInput("E0262", what, "load_state_dict", advice)
        recipe = self._recipe
        if recipe is None or not any(name in recipe.sources for name in arrays):
            return {}
        known = {tensor.name: tensor for tensor in super().tensors}
        now = {name: arrays[name] if name in arrays else self._read(known[name]) for name in recipe.sources}
        advice = "give contents of which it can be computed: nothing has changed"
        try:
            made = recipe.compute({name: torch.from_numpy(np.array(array)) for name, array in now.items()})
        except Exception as error:  # whatever an operator of PyTorch throws
            what = str(error).strip() or type(error).__name__
            message = f"PyTorch cannot compute what forward makes of {', '.join(now)}: {what.splitlines()[0]}"
            raise InvalidInput("E0262", message, "load_state_dict", advice) from error
        results = {}
        for name, tensor in made.items():
            if name not in known:
                continue  # no node reads it any more
            if tuple(tensor.shape) != known[name].shape:
                shapes = f"{list(tensor.shape)}, and the step was made for {list(known[name].shape)}"
                message = f"what forward makes of {', '.join(recipe.of[name])} has shape {shapes}"
                raise InvalidInput("E0262", message, "load_state_dict", "compile the module again with these buffers")
            results[name] = np.ascontiguousarray(tensor.numpy().astype(NUMPY_TYPES[known[name].dtype]))
        return results

    def state_dict(self, *, optimizer: bool = False) -> dict[str, Array]:
        """Copies of all tensors that `module.state_dict()` has, under its names, whatever the budget; of a loss module
        also its parameters, as "loss_module.NAME". `optimizer`: the optimizer's states too."""
        read = {tensor.name: self._read(tensor) for tensor in self.tensors if optimizer or not tensor.is_state}
        known = self._module_state
        state = {
            name: as_numpy(known.contents[name], name) if name in known.contents else read[known.sources[name]]
            for name in known.names
        }
        others = set(known.sources.values()) | known.unnamed
        return state | {name: array for name, array in read.items() if name not in others}

    def load_state_dict(self, state: Mapping[str, ArrayLike], *, strict: bool = True) -> None:
        """Writes tensors by the names of `module.state_dict()`; all are checked before the first is written. Tied names
        have to hold equal values. Buffers that are not persistent may be given by name, and are never missing.

        Raises:
            InvalidInput: E0262 shape, type, a name too many or too few, or tied names with different values.
        """
        expect(state, Mapping, "state", "give a dict of arrays by name")
        known = self._module_state
        given: dict[str, ArrayLike] = {}
        for name, value in state.items():
            source = known.sources.get(name, name)
            if source in given and not np.array_equal(as_numpy(given[source], source), as_numpy(value, name)):
                message = f"'{name}' and '{source}' are one tensor of the module, and their values differ"
                raise InvalidInput("E0262", message, "load_state_dict", "give equal values, or one of the names")
            if name not in known.contents:
                given[source] = value
        of_loss = [tensor.name for tensor in self.tensors if tensor.name.startswith(f"{LOSS}.")]
        self._load(given, [name for name in (*known.names, *of_loss) if strict and name not in state])

    def save(self, path: PathLike) -> None:
        self._take_rates()  # those that the next step would have
        super().save(path)

    def _before_step(self) -> None:
        if self._following is not None:
            self._following.check()
        self._take_rates()

    def _take_rates(self) -> None:
        for group, lr, weight_decay in () if self._following is None else self._following.changes():
            if group is None:
                continue
            if group == 0:
                self._core.set_learning_rate(lr)
            else:
                self._core.set_group_rate(group, lr)
            self._core.set_group_decay(group, weight_decay)

    def copy_to(self, module: nn.Module, loss: nn.Module | None = None) -> None:
        """Writes parameters and buffers into the module that was compiled, by name; a shared one once. Those of a loss
        module go into `loss`.

        Raises:
            InvalidInput: E0262, the module has no such tensor, one of another shape, or one that cannot be written (no
                memory, made in inference mode, expanded); E0701, a trained tensor is not finite. Nothing has changed
                then.
        """
        module = plain_module(module)
        own = named_tensors(module)
        if loss is not None:
            own |= {f"{LOSS}.{name}": tensor for name, tensor in named_tensors(loss).items()}
        trained = [tensor for tensor in self.tensors if tensor.name in self._computed and not tensor.is_state]
        trained = [tensor for tensor in trained if tensor.name in own or not tensor.name.startswith(f"{LOSS}.")]
        problems = [
            f"{tensor.name}: {list(tensor.shape)} here, {_shape(own.get(tensor.name))} in the module"
            for tensor in trained
            if _shape(own.get(tensor.name)) != list(tensor.shape)
        ]
        if problems:
            message = "the trainer's tensors are not those of this module"
            raise InvalidInput("E0262", message, type(module).__name__, "give the module that was compiled", problems)
        refused = [(tensor.name, cannot_be_written(own[tensor.name])) for tensor in trained]
        problems = [f"{name} {why}" for name, why in refused if why is not None]
        if problems:
            message = "tensors of this module cannot be written"
            advice = "give the module memory (to_empty on the meta device), or clone() these tensors"
            raise InvalidInput("E0262", message, type(module).__name__, advice, problems)
        learned = [each.name for each in trained if each.name in self._trained]
        spoilt = [name for name in learned if not np.isfinite(self.read(name)).all()]
        if spoilt:
            message, advice = "trained tensors are not finite", "a smaller learning rate; go back to a checkpoint"
            raise InvalidInput("E0701", message, type(module).__name__, advice, spoilt[:20])
        with torch.no_grad():
            for tensor in trained:
                own[tensor.name].copy_(torch.from_numpy(self.read(tensor.name)).reshape(own[tensor.name].shape))

    def _data(self, data: Any) -> Any:
        """Arrays in the plan's order, or batches that are adapted one by one."""
        data = arrays_inside(data)
        if is_torch_dataset(data):
            return data
        if isinstance(data, Mapping) or is_array(data) or (isinstance(data, (tuple, list)) and self._is_batch(data)):
            return tuple(self._adapted(data))
        return _Batches(self, data) if isinstance(data, Iterable) and not isinstance(data, (str, bytes)) else data

    def _is_batch(self, data: Any) -> bool:
        parts = list(_arrays(data))
        return len(parts) in (len(self.plan.batch), len(self._names)) and not any(
            isinstance(part, (tuple, list)) and self._is_batch(part) for part in data
        )

    def _by_names(self, named: Mapping[str, Any]) -> list[Any]:
        """Inputs by their names, then what else there is, where that is as many as there are targets. InvalidInput
        E0262: it is not."""
        wanted, known = [tensor.name for tensor in self.plan.batch], set(self._names)
        inputs = [named[name] for name in self._names]
        targets = len(wanted) - len(inputs)
        if targets <= 0 or (self._captured and len(named) == len(inputs)):
            return inputs
        rest = [value for name, value in named.items() if name not in known]
        labelled = [named[name] for name in named if name not in known and name in wanted]
        chosen = labelled if len(labelled) == targets else rest
        if len(chosen) == targets:
            return inputs + chosen
        message = f"the keys {', '.join(wanted)} are wanted; got {', '.join(named)}"
        raise InvalidInput("E0262", message, "", f"give those: {{{', '.join(f'{name!r}: ..' for name in wanted)}}}")

    def _adapted(self, batch: Any) -> list[Any]:
        """The arrays of a batch, as the plan wants them: by name, one sample where a step has one, a label where
        nothing reads it."""
        wanted = self.plan.batch
        named = {input_name(str(name)): value for name, value in batch.items()} if isinstance(batch, Mapping) else {}
        by_name = bool(named) and set(self._names) <= set(named)
        given = self._by_names(named) if by_name else list(_arrays(batch))
        arrays = [as_numpy(value, tensor.name) for value, tensor in zip(given, wanted, strict=False)] + given[
            len(wanted) :
        ]
        arrays = [
            array[None] if len(tensor.shape) == np.ndim(array) + 1 and tensor.shape[0] == 1 else array
            for array, tensor in zip(arrays, wanted, strict=False)
        ] + arrays[len(wanted) :]
        if self._captured and len(arrays) == len(self._names) == len(wanted) - 1:
            arrays.append(np.zeros((len(arrays[0]), *wanted[-1].shape[1:]), NUMPY_TYPES[wanted[-1].dtype]))
        return arrays


def _shape(tensor: Tensor | None) -> list[int] | str:
    return "nothing" if tensor is None else list(tensor.shape)


def _tensors_of_file(path: PathLike, names: Iterable[str]) -> dict[str, Array]:
    """The bytes of tensors of a safetensors file that has them; none where it is no such file, as resume will tell."""
    found: dict[str, Array] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError), open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        for name in names:
            if name in header:
                begin, end = header[name]["data_offsets"]
                file.seek(8 + size + begin)
                found[name] = np.frombuffer(file.read(end - begin), np.uint8)
    return found


class _Batches:
    """Batches of a loader, adapted; it can be gone through as often as the loader."""

    def __init__(self, trainer: TorchTrainer, data: Iterable[Any]) -> None:
        self.trainer, self.data = trainer, data

    def __iter__(self) -> Iterator[list[Any]]:
        for batch in self.data:
            yield self.trainer._adapted(batch)


def _arrays(value: Any) -> Iterator[Any]:
    """Tensors and arrays inside, depth first."""
    if isinstance(value, Tensor) or is_array(value):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _arrays(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _arrays(each)
    else:
        yield from (tensor for _, tensor in tensors_of(value))
