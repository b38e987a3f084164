"""Tensors inside the values that a module takes and gives: tuples, lists, mappings, dataclasses, objects of
Hugging Face's kind."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree


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


def replace_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same value with each tensor, depth first, changed."""
    if isinstance(value, Tensor):
        return change(value)
    children = _children(value)
    if children is None:
        return value
    changed = [replace_tensors(each, change) for _, each in children]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*changed)
    if isinstance(value, (list, tuple)):
        return type(value)(changed)
    if isinstance(value, Mapping):
        return _mapping(value, changed)
    if dataclasses.is_dataclass(value):
        answer = copy.copy(value)
        for (name, _), each in zip(children, changed, strict=True):
            object.__setattr__(answer, name, each)
        return answer
    kind = pytree.SUPPORTED_NODES[type(value)]
    return kind.unflatten_fn(changed, kind.flatten_fn(value)[1])


def _mapping(value: Any, changed: list[Any]) -> Any:
    if type(value) is dict:
        return dict(zip(value.keys(), changed, strict=True))
    answer = copy.copy(value)
    for key, each in zip(list(value.keys()), changed, strict=True):
        answer[key] = each
    return answer


def as_tensors(value: Any) -> Any:
    """numpy arrays inside a value as tensors that share their memory where they can."""
    import numpy

    if isinstance(value, numpy.ndarray):
        return torch.from_numpy(value if value.flags.writeable else value.copy())
    if isinstance(value, Tensor):
        return value
    children = _children(value)
    if children is None or not any(
        isinstance(each, numpy.ndarray) or _children(each) is not None for _, each in children
    ):
        return value
    changed = [as_tensors(each) for _, each in children]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*changed)
    if isinstance(value, (list, tuple)):
        return type(value)(changed)
    return _mapping(value, changed) if isinstance(value, Mapping) else value
