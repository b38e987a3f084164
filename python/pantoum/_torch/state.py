"""The state of a torch module: which names `module.state_dict()` has, and which tensor of the trainer each one is."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from .structure import named_tensors


@dataclass
class ModuleState:
    """Names as `module.state_dict()` has them. Made while the module is captured: later changes of the module do not
    reach it."""

    names: list[str] = field(default_factory=list)
    """All of them, in the order of `module.state_dict()`."""
    sources: dict[str, str] = field(default_factory=dict)
    """Name in the state -> name of the tensor in the trainer. Tied parameters have several names and one tensor."""
    contents: dict[str, Tensor] = field(default_factory=dict)
    """Copies by name in the state: the forward's graph holds a tensor that no trainer has (no elements, a type that is
    not computed with)."""
    unnamed: set[str] = field(default_factory=set)
    """Tensors of the trainer that `module.state_dict()` leaves out: buffers that are not persistent."""

    @classmethod
    def of(cls, module: nn.Module, computed: set[str]) -> ModuleState:
        """The state of this module; `computed`: the names of the graph's parameters and buffers."""
        first: dict[int, str] = {}
        for name, tensor in named_tensors(module).items():
            if name in computed and tensor.numel() > 0:
                first.setdefault(id(tensor), name)
        state = cls()
        for name, value in module.state_dict(keep_vars=True).items():
            if isinstance(value, Tensor):
                state.names.append(name)
            if id(value) in first:
                state.sources[name] = first[id(value)]
            elif isinstance(value, Tensor):
                state.contents[name] = value.detach().cpu().clone()
        state.unnamed = set(first.values()) - set(state.sources.values())
        return state


def span_of(tensor: Tensor) -> int:
    """Number of elements of the storage from the tensor's first to its last element."""
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def has_values(tensor: Tensor) -> bool:
    """False: the tensor is a stand-in for a shape. It is on the meta device, not initialized yet, or its storage is
    smaller than its shape."""
    if tensor.device.type == "meta" or nn.parameter.is_lazy(tensor):
        return False
    if type(tensor) not in (Tensor, nn.Parameter) or tensor.layout != torch.strided or tensor.numel() == 0:
        return True
    needed = (int(tensor.storage_offset()) + span_of(tensor)) * tensor.element_size()
    return int(tensor.untyped_storage().nbytes()) >= needed


def without_values(module: nn.Module) -> list[str]:
    """Names of parameters and buffers that are stand-ins for shapes."""
    return [name for name, tensor in named_tensors(module).items() if not has_values(tensor)]


def cannot_be_written(tensor: Tensor) -> str | None:
    """Why `copy_` into the tensor would fail or reach other elements too; None: it can be written."""
    if not has_values(tensor):
        return "has no memory"
    if tensor.is_inference() and not torch.is_inference_mode_enabled():
        return "was made in inference mode"
    if tensor.numel() > 0 and span_of(tensor) < tensor.numel():
        return "is expanded: its elements share their memory"
    return None
