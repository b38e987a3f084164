"""Gives a torch module to the compiler: `capture_model`, `compile_module`."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import weakref
from typing import Any

from torch import nn

from pantoum.errors import UsageError, warn
from pantoum.model import Model

from .capture import capture, plain_module
from .following import Following
from .graph_file import TorchGraph
from .losses import choose_loss
from .optimizers import OptimizerChoice, choose_optimizer, exactly

log = logging.getLogger("pantoum")

_DIFFER_IN_TRAINING = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
_IN_RAM = 64 << 20  # bytes of contents: a larger graph goes through a file, so that it is not in RAM twice


class TorchModel(Model):
    """A model of a captured module; `graph` is what was captured, `following` what its trainer looks at before every
    step."""

    graph: TorchGraph
    following: Following | None = None


def capture_model(
    module: nn.Module,
    example: Any = None,
    *,
    loss: Any = None,
    optimizer: Any = None,
    target: Any = None,
    freeze: Any = (),
    **options: Any,
) -> TorchModel:
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
    module = plain_module(module)
    chosen = choose_optimizer("sgd" if optimizer is None else optimizer, module, loss)
    graph = capture(module, example, loss, target)
    if not module.training and any(isinstance(each, _DIFFER_IN_TRAINING) for each in module.modules()):
        warn(
            f"{graph.name} is in evaluation mode: dropout does nothing and running statistics stay as they are; call "
            f"module.train() before to train with them"
        )
    for note in (*graph.notes, *chosen.notes):
        log.info("%s: %s", graph.name, note)
    model = model_of_graph(graph, loss, chosen, freeze, options)
    model.following = Following(module, loss, chosen)
    return model


def model_of_graph(
    graph: TorchGraph, loss: Any, chosen: OptimizerChoice, freeze: Any, options: dict[str, Any]
) -> TorchModel:
    """The compiler's model of a captured graph."""
    named = choose_loss(loss).named
    globs = [freeze] if isinstance(freeze, str) else list(freeze or ())
    known: dict[str, Any] = {"loss": "captured" if named is None else named, "optimizer": chosen.optimizer, **options}
    frozen = [*globs, *(exactly(name) for name in chosen.frozen)]
    if frozen:
        known["freeze"] = frozen
    if chosen.groups:
        for name in ("lr", "weight_decay", "groups"):
            if options.get(name) is not None:
                remedy = f"leave {name}= out, and set it in the optimizer's param_groups"
                raise UsageError("E0116", f"the optimizer has its own '{name}'", name, remedy)
        known["groups"] = chosen.groups
    if sum(tensor.numel() * 4 for tensor in graph.tensors.values()) <= _IN_RAM:
        contents = io.BytesIO()
        graph.write(contents)
        model = TorchModel.from_bytes(contents.getvalue(), **known)
        model.graph, model._stand_ins = graph, graph.stand_ins
        return model
    descriptor, path = tempfile.mkstemp(suffix=".safetensors", prefix="pantoum-")
    os.close(descriptor)
    graph.save(path)
    model = TorchModel.from_file(path, **known)
    model.graph, model._stand_ins = graph, graph.stand_ins
    weakref.finalize(model, _remove, path)
    return model


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
