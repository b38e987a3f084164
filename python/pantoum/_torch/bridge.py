"""Gives a torch module to the compiler: `capture_model`, `compile_module`."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

from torch import nn

from pantoum.errors import named_options
from pantoum.keywords import plan as make_plan
from pantoum.model import Model
from pantoum.quantities import Size

from .capture import capture, plain_module
from .graph_file import TorchGraph
from .losses import choose_loss
from .optimizers import OptimizerChoice, choose_optimizer
from .trainer import TorchTrainer

log = logging.getLogger("pantoum")

_IN_RAM = 64 << 20  # bytes of contents: a larger graph goes through a file, so that it is not in RAM twice


def capture_model(
    module: nn.Module,
    example: Any = None,
    *,
    loss: Any = None,
    optimizer: Any = None,
    target: Any = None,
    freeze: Any = (),
    **options: Any,
) -> Model:
    """A pantoum.Model of a torch module: captured, with its loss and its optimizer.

    Args:
        module: as `capture` takes it.
        example: of a batch, as `capture` takes it.
        loss: as `capture` takes it.
        target: as `capture` takes it.
        optimizer: a torch.optim optimizer of the module's parameters, one of pantoum's, or a name.
        freeze: globs over parameters that are not trained, beside those without requires_grad and those that the
            optimizer lacks.
        **options: further arguments of `load_onnx`.

    Raises:
        Unsupported: E0407, what cannot be captured; E0408, what of the optimizer is not here; E0401, operators without
            a gradient.
        UsageError: E0115, E0116, loss, optimizer or example do not fit.
    """
    return captured(module, example, loss=loss, optimizer=optimizer, target=target, freeze=freeze, **options)[1]


def captured(
    module: nn.Module,
    example: Any,
    *,
    loss: Any = None,
    optimizer: Any = None,
    target: Any = None,
    freeze: Any = (),
    **options: Any,
) -> tuple[TorchGraph, Model]:
    """The graph and the model; arguments as `capture_model` has them."""
    module = plain_module(module)
    chosen = choose_optimizer("sgd" if optimizer is None else optimizer, module, loss)
    graph = capture(module, example, loss, target)
    for note in (*graph.notes, *chosen.notes):
        log.info("%s: %s", graph.name, note)
    return graph, model_of_graph(graph, loss, chosen, freeze, options)


def model_of_graph(
    graph: TorchGraph, loss: Any, chosen: OptimizerChoice, freeze: Any, options: dict[str, Any]
) -> Model:
    """The compiler's model of a captured graph."""
    named = choose_loss(loss).named
    globs = [freeze] if isinstance(freeze, str) else list(freeze or ())
    known: dict[str, Any] = {"loss": "captured" if named is None else named, "optimizer": chosen.optimizer, **options}
    frozen = [*globs, *(_exactly(name) for name in chosen.frozen)]
    if frozen:
        known["freeze"] = frozen
    if chosen.decays:
        known["decays"] = [(_exactly(name), decay) for name, decay in chosen.decays]
    if sum(tensor.numel() * 4 for tensor in graph.tensors.values()) <= _IN_RAM:
        contents = io.BytesIO()
        graph.write(contents)
        return Model.from_bytes(contents.getvalue(), **known)
    descriptor, path = tempfile.mkstemp(suffix=".safetensors", prefix="pantoum-")
    os.close(descriptor)
    graph.save(path)
    model = Model.from_file(path, **known)
    weakref.finalize(model, _remove, path)
    return model


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _exactly(name: str) -> str:
    """A glob that names one tensor alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def compile_module(
    module: nn.Module,
    example: Any = None,
    *,
    loss: Any = None,
    optimizer: Any = None,
    ram: Size | None = None,
    plan_options: Mapping[str, Any] | None = None,
    trainer_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> TorchTrainer:
    """A trainer of a torch module that stays inside `ram`; arguments as `pantoum.compile` and `capture_model` have
    them."""
    graph, model = captured(module, example, loss=loss, optimizer=optimizer, **options)
    return TorchTrainer(
        make_plan(model, ram, **named_options(plan_options, "plan_options")),
        graph,
        **named_options(trainer_options, "trainer_options"),
    )


__all__ = ["capture_model", "compile_module"]
