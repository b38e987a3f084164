"""Tensors inside the values that a module takes and gives: tuples, lists, mappings, dataclasses, objects of
Hugging Face's kind."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

Args: TypeAlias = tuple[Any, ...]
"""Positional arguments."""


def named_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers of a module; one that is at two places has both names."""
    buffers = module.named_buffers(remove_duplicate=False)
    return {**dict(module.named_parameters(remove_duplicate=False)), **dict(buffers)}


def member(value: Any, name: str) -> Any:
    """The attribute or the dict entry of this name; None where there is none."""
    found = getattr(value, name, None)
    return value.get(name) if found is None and isinstance(value, dict) else found


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a function; None: its signature is not known."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def positional(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


def _children(value: Any) -> list[tuple[str, Any]] | None:
    """Names and values inside a container; None of anything else."""
    if isinstance(value, Mapping):
        return [(str(key), each) for key, each in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    if isinstance(value, (list, tuple)):
        return [(str(index), each) for index, each in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if type(value) in pytree.SUPPORTED_NODES:
        return [
            (str(index), each) for index, each in enumerate(pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0])
        ]
    return None


def tensors_of(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every tensor inside, depth first, with its path: "hidden.0"."""
    if isinstance(value, Tensor):
        yield path, value
        return
    for name, each in _children(value) or ():
        yield from tensors_of(each, f"{path}.{name}" if path else name)


def _rebuilt(value: Any, changed: list[Any]) -> Any:
    """The container with other values inside."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*changed)
    if isinstance(value, (list, tuple)) or type(value) is dict:
        return type(value)(zip(value, changed, strict=True) if type(value) is dict else changed)
    answer = copy.copy(value)
    if isinstance(value, Mapping):
        for key, each in zip(list(value.keys()), changed, strict=True):
            answer[key] = each
        return answer
    if dataclasses.is_dataclass(value):
        for (name, _), each in zip(_children(value) or (), changed, strict=True):
            object.__setattr__(answer, name, each)
        return answer
    kind = pytree.SUPPORTED_NODES[type(value)]
    return kind.unflatten_fn(changed, kind.flatten_fn(value)[1])


def replace_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same value with each tensor, depth first, changed."""
    if isinstance(value, Tensor):
        return change(value)
    children = _children(value)
    return value if children is None else _rebuilt(value, [replace_tensors(each, change) for _, each in children])


def as_tensors(value: Any) -> Any:
    """numpy arrays inside a value as tensors, which share their memory where they can."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value if value.flags.writeable else value.copy())
    children = None if isinstance(value, Tensor) else _children(value)
    if not any(isinstance(each, np.ndarray) or _children(each) is not None for _, each in children or ()):
        return value
    return _rebuilt(value, [as_tensors(each) for _, each in children or ()])
