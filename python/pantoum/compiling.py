"""Model, example and budget in, trainer out."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, overload

from pantoum.errors import UsageError, named_options
from pantoum.estimates import model_of
from pantoum.keywords import load_onnx, plan
from pantoum.model import Model
from pantoum.options import Losses
from pantoum.quantities import Options, PathLike, Size
from pantoum.trainer import Trainer

if TYPE_CHECKING:
    from torch import nn

    from pantoum._torch import TorchTrainer


@overload
def compile(  # noqa: A001
    model: nn.Module,
    example: Any,
    *,
    loss: Losses | Any = ...,
    optimizer: Any = ...,
    ram: Size | None = ...,
    plan_options: Options | None = ...,
    trainer_options: Options | None = ...,
    **options: Any,
) -> TorchTrainer: ...


@overload
def compile(  # noqa: A001
    model: Model | PathLike,
    example: Any = ...,
    *,
    loss: Losses | Any = ...,
    optimizer: Any = ...,
    ram: Size | None = ...,
    plan_options: Options | None = ...,
    trainer_options: Options | None = ...,
    **options: Any,
) -> Trainer: ...


def compile(  # noqa: A001 (the word that users of torch.compile and Keras expect)
    model: Model | PathLike | Any,
    example: Any = None,
    *,
    loss: Losses | Any = None,
    optimizer: Any = None,
    ram: Size | None = None,
    plan_options: Options | None = None,
    trainer_options: Options | None = None,
    **options: Any,
) -> Trainer:
    """A trainer that stays inside ``ram``: captures or loads the model, plans its step, and opens a ``Trainer``.

    Args:
        model: a ``torch.nn.Module``, a ``pantoum.Model`` or the path of an ONNX file.
        example: of a batch; for a torch module.
        loss: a name or a ``pantoum.Loss``; of a torch module also a function or module of torch. None:
            "cross_entropy", or what the
            ``Model`` has.
        optimizer: a name or a value as ``pantoum.Adam()``; of a torch module also a ``torch.optim`` instance.
        ram: the budget, everything in all: "64MiB".
        plan_options: further arguments of ``pantoum.plan``.
        trainer_options: further arguments of ``Trainer``.
        **options: further arguments of ``load_onnx`` (or of the capture of a torch module).

    Raises:
        Error: as ``load_onnx``, ``plan`` and ``Trainer`` have them.
    """
    _check_whose(options)
    named = {name: value for name, value in (("loss", loss), ("optimizer", optimizer)) if value is not None}
    made = model_of(model, example, {**named, **options})
    planned = plan(made, ram, **named_options(plan_options, "plan_options"))
    more = named_options(trainer_options, "trainer_options")
    if hasattr(made, "graph") and hasattr(made, "following"):  # of a torch module
        trainer: Trainer = importlib.import_module("pantoum._torch").TorchTrainer(
            planned, made.graph, made.following, **more
        )
        return trainer
    return Trainer(planned, **more)


def _check_whose(options: Options) -> None:
    """UsageError E0100: an option is none of the model but of the plan or of the trainer."""
    functions: dict[str, Any] = {"plan_options": plan, "trainer_options": Trainer.__init__}
    of_models = {*inspect.signature(load_onnx).parameters, "self", "model", "plan"}
    for name, value in options.items():
        for place, function in functions.items():
            if name in inspect.signature(function).parameters and name not in of_models:
                raise UsageError("E0100", f"'{name}' is none of the model", name, f"{place}={{{name!r}: {value!r}}}")
