"""The torch graph file: a safetensors file with the graph as one of its tensors (format "pantoum.torch_graph/1")."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import torch
from torch import Tensor

from .computed import Computed
from .state import ModuleState

FORMAT = "pantoum.torch_graph/1"
GRAPH = "pantoum.graph"  # the u8 tensor that holds the graph as JSON

Document: TypeAlias = dict[str, Any]
"""A JSON object: a graph, or one of its nodes or tensors."""

# What the compiler computes in; wider and narrower reals become f32.
DTYPES = {
    torch.float32: "f32",
    torch.float64: "f32",
    torch.float16: "f32",
    torch.bfloat16: "f32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.bool: "bool",
}
# Of constants and of buffers that no step changes: exact in a wider type, in which a step may read them beside data.
WIDENED = {torch.int8: torch.int32, torch.int16: torch.int32}
STORED = {
    "f32": torch.float32,
    "i64": torch.int64,
    "i32": torch.int32,
    "u8": torch.uint8,
    "bool": torch.bool,
}


OWN_NAMES = ("label", "loss", "eval", "optim", "accumulate", "accumulated")
"""First parts of the names of a training step's own tensors."""


def input_name(name: str) -> str:
    """The name of an input in the graph: a training step has names of its own, which an argument of forward may
    have too."""
    first, *rest = name.split(".")
    return ".".join([first + "_" * (first in OWN_NAMES), *rest])


def dtype_name(dtype: torch.dtype) -> str | None:
    """The compiler's name of a type, or None where it has none."""
    return DTYPES.get(dtype)


@dataclass
class TorchGraph:
    """A captured module: its graph, and the contents of its parameters, buffers and constants by name."""

    document: Document
    tensors: dict[str, Tensor] = field(default_factory=dict)
    state: ModuleState = field(default_factory=ModuleState)
    """The names of `module.state_dict()`. They are no part of the file."""
    computed: Computed | None = None
    """How PyTorch computes buffers of the file that the module does not have. No part of the file."""
    decided: dict[str, str] = field(default_factory=dict)
    """Buffers whose values a shape, a branch or a constant of the graph follows, and where. No part of the file."""
    stand_ins: list[str] = field(default_factory=list)
    """Parameters and buffers that had no values when they were captured: their contents are zeros, for plans alone."""
    notes: list[str] = field(default_factory=list)
    """Sentences about what the capture changed or assumed, such as types that became f32."""

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def batch(self) -> int:
        return int(self.document["batch"])

    def operators(self) -> dict[str, int]:
        """Every ATen operator of the graph, and how often it is there."""
        counts: dict[str, int] = {}
        for node in self.document["nodes"]:
            counts[node["op"]] = counts.get(node["op"], 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def _header(self) -> tuple[bytes, list[tuple[str, Tensor]]]:
        entries: Document = {"__metadata__": {"format": FORMAT}}
        stored, end = [], 0
        graph = json.dumps(self.document, separators=(",", ":"), allow_nan=False).encode()
        contents = {**self.tensors, GRAPH: torch.frombuffer(bytearray(graph), dtype=torch.uint8)}
        for name, tensor in contents.items():
            word = DTYPES[WIDENED.get(tensor.dtype, tensor.dtype)]
            size = tensor.numel() * STORED[word].itemsize
            entries[name] = {"dtype": word.upper(), "shape": list(tensor.shape), "data_offsets": [end, end + size]}
            stored.append((name, tensor))
            end += size
        text = json.dumps(entries, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text, stored

    def write(self, file: BinaryIO) -> None:
        """Writes the file's bytes; tensors go through memory one at a time."""
        header, stored = self._header()
        file.write(header)
        for _, tensor in stored:
            if tensor.numel():
                file.write(plain(tensor).reshape(-1).numpy().view("u1").data)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file."""
        with open(path, "wb") as file:
            self.write(file)
        return Path(path)


def plain(tensor: Tensor) -> Tensor:
    """The contents as the file has them: of the compiler's type, on the CPU, contiguous."""
    dtype = STORED[DTYPES[WIDENED.get(tensor.dtype, tensor.dtype)]]
    return tensor.detach().to(device="cpu", dtype=dtype).resolve_neg().contiguous()
