"""Writes small ONNX files without the package onnx: the few fields of protobuf messages that a test needs."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(data)) + data


def _float(number: int, value: float) -> bytes:
    return _number(number << 3 | 5) + struct.pack("<f", value)


def node(op_type: str, inputs: list[str], outputs: list[str], domain: str = "", **reals: float) -> bytes:
    """A NodeProto; attributes are reals."""
    made = b"".join(_field(1, name) for name in inputs) + b"".join(_field(2, name) for name in outputs)
    made += _field(3, f"node_{outputs[0]}") + _field(4, op_type)
    for name, value in reals.items():
        made += _field(5, _field(1, name) + _float(2, value) + _field(20, 1))
    return made + _field(7, domain)


def tensor(name: str, array: npt.NDArray[Any]) -> bytes:
    """A TensorProto of floats, or of whole numbers of 64 bits."""
    dims = b"".join(_field(1, size) for size in array.shape)
    whole = array.dtype == np.int64
    return (
        dims
        + _field(2, 7 if whole else 1)
        + _field(8, name)
        + _field(9, array.astype("<i8" if whole else "<f4").tobytes())
    )


def value(name: str, shape: list[int | str]) -> bytes:
    """A ValueInfoProto of floats; a dimension with a name is the batch."""
    dims = b"".join(_field(1, _field(2, size) if isinstance(size, str) else _field(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, dims)))


def model(
    nodes: list[bytes], weights: list[bytes], inputs: list[bytes], outputs: list[bytes], domains: list[str]
) -> bytes:
    """A ModelProto."""
    graph = b"".join(_field(1, each) for each in nodes) + _field(2, "small")
    graph += b"".join(_field(5, each) for each in weights)
    graph += b"".join(_field(11, each) for each in inputs) + b"".join(_field(12, each) for each in outputs)
    opsets = b"".join(_field(8, _field(1, domain) + _field(2, 1)) for domain in domains) + _field(
        8, _field(1, "") + _field(2, 17)
    )
    return _field(1, 8) + _field(7, graph) + opsets
