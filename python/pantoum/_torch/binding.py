"""Splits an example into the arguments of the module's forward and the target, by the signature of forward."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pantoum.errors import UsageError

from .structure import Args, as_tensors, parameters_of, positional, tensors_of

_TARGET_KEYS = ("labels", "label", "targets", "target", "y")


@dataclass
class Bound:
    args: Args
    kwargs: dict[str, Any]
    target: Any = None


def bind(module: nn.Module, example: Any, target: Any, needs_target: bool) -> Bound:
    """Arguments of forward and the target, of an example or of a batch as a loader gives it.

    Raises:
        UsageError: E0116, the example does not fit forward, or could mean two things.
    """
    example, target = as_tensors(example), as_tensors(target)
    if example is None:
        raise UsageError(
            "E0116",
            "a torch module needs an example",
            "example",
            "give a batch as the loader gives it, or the inputs alone",
        )
    found = _bind(module, example, target, needs_target)
    if not any(True for _ in tensors_of((found.args, found.kwargs))):
        raise UsageError("E0116", "the example has no tensor", "example", "give tensors or numpy arrays of one batch")
    for path, tensor in tensors_of((found.args, found.kwargs, found.target)):
        if tensor.layout != torch.strided or tensor.is_nested:
            raise UsageError("E0116", f"a tensor of the example is {tensor.layout}", path, "give dense tensors")
        if tensor.numel() == 0:
            raise UsageError("E0116", f"a tensor of the example is empty: {tuple(tensor.shape)}", path, "give a batch")
    return found


def _bind(module: nn.Module, example: Any, target: Any, needs_target: bool) -> Bound:
    if isinstance(example, Mapping):
        return _of_mapping(module, example, target, needs_target)
    if isinstance(example, (tuple, list)) and not hasattr(example, "_fields"):
        return _of_sequence(module, list(example), target, needs_target)
    if _fits(module, (example,), {}):
        return Bound((example,), {}, target)
    raise _misfit(module, (example,))


def _of_mapping(module: nn.Module, example: Mapping[Any, Any], target: Any, needs_target: bool) -> Bound:
    named = {str(key): value for key, value in example.items()}
    if _fits(module, (), named):
        return Bound((), named, target)
    labels = [key for key in _TARGET_KEYS if key in named]
    if needs_target and target is None and len(labels) == 1:
        rest = {key: value for key, value in named.items() if key != labels[0]}
        if _fits(module, (), rest):
            return Bound((), rest, named[labels[0]])
    if _most(module) == 1 and _fits(module, (example,), {}):
        return Bound((example,), {}, target)
    raise _misfit(module, tuple(named))


def _of_sequence(module: nn.Module, values: list[Any], target: Any, needs_target: bool) -> Bound:
    everything = Bound(tuple(values), {}, target) if _fits(module, tuple(values), {}) else None
    batch = _as_batch(module, values) if needs_target and target is None and len(values) > 1 else None
    if batch is not None and len(values) == 2 and not isinstance(values[0], Tensor):
        return batch  # ((a, b), target): no forward takes a tuple and a target
    if everything is not None and batch is not None:
        words = f"forward{_signature(module)} takes {len(values) - 1} inputs and a target, or {len(values)} inputs"
        raise UsageError(
            "E0116",
            f"the example could mean two things: {words}",
            "example",
            "give target= beside it, or inputs by name in a dict",
        )
    found = everything or batch
    if found is not None:
        return found
    if _most(module) == 1 and _fits(module, (values,), {}):
        return Bound((values,), {}, target)
    raise _misfit(module, tuple(values))


def _as_batch(module: nn.Module, values: list[Any]) -> Bound | None:
    """Inputs, then the target."""
    *inputs, target = values
    tries = [Bound(tuple(inputs), {}, target)]
    first = inputs[0] if len(inputs) == 1 else None
    if isinstance(first, (tuple, list)) and not hasattr(first, "_fields"):
        tries.insert(0, Bound(tuple(first), {}, target))
    elif isinstance(first, Mapping):
        tries.insert(0, Bound((), {str(name): value for name, value in first.items()}, target))
    return next((bound for bound in tries if _fits(module, bound.args, bound.kwargs)), None)


def _signature(module: nn.Module) -> inspect.Signature | str:
    try:
        return inspect.signature(module.forward)
    except (TypeError, ValueError):
        return "(...)"


def _most(module: nn.Module) -> int:
    parameters = parameters_of(module.forward)
    if parameters is None or any(each.kind == each.VAR_POSITIONAL for each in parameters):
        return 99
    return len(positional(parameters))


def _fits(module: nn.Module, args: Args, kwargs: dict[str, Any]) -> bool:
    signature = _signature(module)
    if isinstance(signature, str):
        return True
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _misfit(module: nn.Module, given: Args) -> UsageError:
    words = ", ".join(
        value
        if isinstance(value, str)
        else f"{tuple(value.shape)}"
        if isinstance(value, Tensor)
        else type(value).__name__
        for value in given
    )
    where = f"{type(module).__name__}.forward{_signature(module)}"
    return UsageError(
        "E0116",
        f"the example ({words}) does not fit forward",
        where,
        "give its inputs in order, or by name in a dict; then the target where the loss has one",
    )


def what_was_meant(module: nn.Module, example: Any, needs_target: bool) -> UsageError | None:
    """What is likely to be wrong with an example that forward takes as one argument, and does not compute with."""
    if _most(module) != 1 or isinstance(example, Tensor) or hasattr(example, "_fields"):
        return None
    signature = f"{type(module).__name__}.forward{_signature(module)}"
    if isinstance(example, Mapping):
        names = [each.name for each in positional(parameters_of(module.forward) or [])][:1]
        keys, wanted = ", ".join(map(str, example)), ", ".join(names) or "one argument"
        advice = f"name the input {wanted}, and the target y: {{'{wanted}': .., 'y': ..}}; or give (inputs, target)"
        return UsageError("E0116", f"the keys {keys} were wanted as {wanted}", signature, advice)
    if not needs_target and isinstance(example, (tuple, list)) and len(example) > 1:
        advice = 'loss="cross_entropy", or a function of output and target'
        return UsageError("E0116", "no loss is given, and the example is a batch with its target", "loss", advice)
    return None
