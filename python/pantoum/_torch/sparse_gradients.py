# mypy: disable-error-code="no-untyped-call"
"""Sparse gradients of every parameter that PyTorch reads by rows, as the compiler's SparseAdam takes them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class SparseGradients(TorchFunctionMode):
    """Embeddings and indices along the first axis of a parameter give it a sparse gradient, whatever `sparse` is."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is functional.embedding:
            return _embedding(*args, **kwargs)
        if function is Tensor.__getitem__ and _is_table(args[0], args[1]):
            return _Rows.apply(*args)
        if function in (torch.index_select, Tensor.index_select):
            named = dict(zip(("input", "dim", "index"), args, strict=False)) | kwargs
            if named["dim"] == 0 and _is_table(named["input"], named["index"]):
                return _Rows.apply(named["input"], named["index"])
        return function(*args, **kwargs)


def _is_table(table: Any, index: Any) -> bool:
    whole = isinstance(index, Tensor) and index.dtype in (torch.int32, torch.int64)
    return whole and isinstance(table, Tensor) and table.is_leaf and table.requires_grad and table.is_floating_point()


def _embedding(indices: Tensor, weight: Tensor, padding_idx: int | None = None, *args: Any, **kwargs: Any) -> Tensor:
    named = dict(zip(("max_norm", "norm_type", "scale_grad_by_freq", "sparse"), args, strict=False)) | kwargs
    if named.get("max_norm") is not None or not _is_table(weight, indices):
        return functional.embedding(indices, weight, padding_idx, **named)
    rows: Tensor = _Rows.apply(weight, indices)
    if named.get("scale_grad_by_freq"):
        counts = torch.bincount(indices.flatten(), minlength=len(weight))[indices].unsqueeze(-1)
        rows = rows.detach() + (rows - rows.detach()) / counts
    if padding_idx is None:
        return rows
    return torch.where((indices == padding_idx % len(weight)).unsqueeze(-1), rows.detach(), rows)


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        return table[index]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (index,) = ctx.saved_tensors
        rows = gradients[0].reshape(-1, *ctx.shape[1:])
        return torch.sparse_coo_tensor(
            index.reshape(1, -1) % ctx.shape[0], rows, ctx.shape, check_invariants=True
        ), None
