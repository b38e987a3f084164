"""Errors of this package, as `pantoum.errors` has them."""

from __future__ import annotations

from torch.fx import Node

from pantoum.errors import DeviceError, Error, Infeasible, LimitReached, Unsupported, UsageError
from pantoum.quantities import Bytes

__all__ = ["Bytes", "DeviceError", "Error", "Infeasible", "LimitReached", "Unsupported", "UsageError"]


def usage(message: str, help_: str = "") -> Error:
    return UsageError("E0110", message, "", help_)


def unsupported(message: str, node: Node | None = None, help_: str = "") -> Error:
    return Unsupported("E0401", message, "" if node is None else place_of(node), help_)


def device(message: str, where: str = "", help_: str = "") -> Error:
    return DeviceError("E0902", message, where, help_)


def infeasible(message: str, min_ram: int, notes: tuple[str, ...], help_: str) -> Error:
    error = Infeasible("E0301", message, "", help_, notes)
    error.min_ram = Bytes(min_ram)
    return error


def place_of(node: Node) -> str:
    """The user's line that a node comes from, as far as PyTorch kept it."""
    trace = node.meta.get("stack_trace") or ""
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File ")]
    return lines[-1] if lines else node.name
