"""Memory that two tensors of a module share: PyTorch moves both when it moves one, a step here has them apart."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .problems import Problems

_ADVICE = "use one Parameter at both places (b.weight = a.weight), and views of it in forward"


def refuse_shared_memory(module: nn.Module, problems: Problems) -> None:
    """Tells of each trained parameter that has memory in common with another tensor of the module, or with itself."""
    named: dict[int, tuple[str, Tensor]] = {}
    for path, each in module.named_modules():
        for name, value in (*each._parameters.items(), *each._buffers.items()):
            if isinstance(value, Tensor) and _has_memory(value):
                named.setdefault(id(value), (f"{path}.{name}" if path else name, value))
    tensors = sorted(named.values(), key=lambda pair: (_storage(pair[1]), int(pair[1].storage_offset())))
    end, last = 0, ("", -1, False)
    for name, tensor in tensors:
        if tensor.requires_grad and _span(tensor) < tensor.numel():
            problems.add(f"elements of parameter {name} share their memory", "", "contiguous() gives each its own")
        begin, trains = int(tensor.storage_offset()), isinstance(tensor, nn.Parameter) and tensor.requires_grad
        before, storage, trained = last
        if storage == _storage(tensor) and begin < end and (trains or trained):
            problems.add(f"{before} and {name} share their memory, and are two tensors", "", _ADVICE)
        if storage != _storage(tensor) or begin + _span(tensor) > end:
            end, last = begin + _span(tensor), (name, _storage(tensor), trains)


def is_of_trained(constant: Tensor, module: nn.Module) -> bool:
    """Whether a constant that forward reads lies in the memory of a parameter that trains."""
    return _has_memory(constant) and any(
        parameter.requires_grad and _has_memory(parameter) and _storage(parameter) == _storage(constant)
        for parameter in module.parameters()
    )


def _span(tensor: Tensor) -> int:
    """Elements from its first to its last one."""
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _has_memory(tensor: Tensor) -> bool:
    """Whether the memory can be compared: not of lazy, sparse or wrapped tensors."""
    return type(tensor) in (Tensor, nn.Parameter) and tensor.layout == torch.strided and tensor.numel() > 0
