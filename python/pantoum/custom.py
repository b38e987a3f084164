"""Operators and optimizers of your own, with kernels on numpy arrays (docs/custom-operators.md has the C++ ones)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pantoum import _core
from pantoum.data import Array
from pantoum.errors import UsageError, names_of, text_of, whole_of
from pantoum.quantities import Options

TensorType: TypeAlias = tuple[str, Sequence[int]]
"""("f32", shape): types are f32, i64, i32, u8 and bool."""

Kernel: TypeAlias = Callable[[list[Array], list[Array], "Settings"], object]
"""A function that is called with inputs (read only), outputs (write every element: ``y[...] = ``) and settings. The
arrays are views of the arena that end with the call: keep none of them. Memory that it takes is not part of the
budget."""

Shape: TypeAlias = Callable[[list[TensorType], list[int], list[float]], Sequence[TensorType]]
"""A function of the types of the inputs and the attributes that gives those of the outputs, or raises ValueError."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values for a kernel beside its arrays: attributes in order, learning rate, step (from 1) and seed."""

    ints: list[int]
    reals: list[float]
    lr: float
    step: int
    seed: int


@dataclasses.dataclass(frozen=True)
class Gradient:
    """Makes gradients of inputs.

    Its kernel reads the gradients of all outputs, then the inputs and outputs that are named here, and writes the
    gradients of ``of``. What it does not name need not be kept until backward: name little.

    Attributes:
        of: inputs, by position.
        kernel: as the operator's.
        reads_inputs, reads_outputs: of the operator, by position.
        flops_per_element: of what it writes; for devices whose kernels are not measured.
    """

    of: Sequence[int]
    kernel: Kernel
    reads_inputs: Sequence[int] = ()
    reads_outputs: Sequence[int] = ()
    flops_per_element: float = 1.0


def custom_operator(
    name: str,
    shape: Shape,
    kernel: Kernel,
    *,
    gradients: Sequence[Gradient] = (),
    ints: Mapping[str, int | None] | None = None,
    reals: Mapping[str, float | None] | None = None,
    flops: Callable[[list[TensorType], list[int], list[float]], float] | None = None,
    in_place: Sequence[tuple[int, int]] = (),
    deterministic: bool = True,
    version: int = 1,
) -> None:
    """Makes an operator known to this process, until it ends; before models that use it are loaded.

    Args:
        name: "my.company::Swish": ONNX nodes of domain my.company and type Swish name it.
        shape: function that gives the types of the outputs.
        kernel: function that computes the outputs.
        gradients: inputs that none names get no gradient: a model that needs it is refused.
        ints: attributes of nodes, with the value where a node lacks it; None: a node must have it.
        reals: as ``ints``.
        flops: of one call; for devices whose kernels are not measured. None: one per output element.
        in_place: (output, input) of one type: it may be written over it.
        deterministic: False: it is never computed again.
        version: another one where results or costs change: plans and measured times are then made anew.

    Raises:
        UsageError: E0106 the name is none or is taken, or a rule is missing. While models are loaded and trained:
            E0107 a
            function raised an exception.
    """
    _check_callable(shape=shape, kernel=kernel)
    rows = [
        (
            list(each.of),
            list(each.reads_inputs),
            list(each.reads_outputs),
            _of_core(each.kernel),
            each.flops_per_element,
        )
        for each in gradients
    ]
    _core.add_operator(
        text_of(name, "name"),
        whole_of(version, "version", 0),
        shape,
        _of_core(kernel),
        rows,
        list((ints or {}).items()),
        list((reals or {}).items()),
        flops,
        [(output, of_input) for output, of_input in in_place],
        deterministic,
    )


def load_plugin(path: str | os.PathLike[str]) -> None:
    """Loads a shared object that adds operators, and layer types of NNTrainer's model files, to this process.

    The interface is pantoum/plugin.h. Does nothing if the file was loaded before. Raises ``pantoum.Error`` (E0106) for
    a file that is no plug-in, one of another ABI version, and names that are taken; nothing is added then.
    """
    _core.load_plugin(os.fspath(path))


def custom_optimizer(name: str, kernel: Kernel, *, states: Sequence[str] = (), version: int = 1) -> None:
    """Makes an optimizer known to this process, for ``pantoum.CustomUpdate(name, lr, settings)``.

    Args:
        name: "my.company::Lion".
        kernel: reads parameter, gradient and states, and writes the new parameter and states, all float32 of one
            shape, outputs
            perhaps in the memory of their inputs; element by element. ``settings.reals`` are those of CustomUpdate.
        states: zeros at first; kept in checkpoints.
        version: as an operator's.

    Raises:
        UsageError: E0106 as ``custom_operator``.
    """
    _check_callable(kernel=kernel)
    _core.add_optimizer(
        text_of(name, "name"), whole_of(version, "version", 0), names_of(states, "states"), _of_core(kernel)
    )


def _of_core(kernel: Kernel) -> Callable[[list[Array], list[Array], Options], None]:
    def run(inputs: list[Array], outputs: list[Array], settings: Options) -> None:
        kernel(inputs, outputs, Settings(**settings))

    return run


def _check_callable(**functions: Any) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise UsageError(
                "E0106", f"{function!r} is no function", name, "give a function; see help(pantoum.custom_operator)"
            )
