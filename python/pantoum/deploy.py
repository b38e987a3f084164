"""Devices, and C projects for microcontrollers."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from pantoum import _core
from pantoum.errors import expect
from pantoum.model import refuse_stand_ins
from pantoum.planning import Plan, device_of
from pantoum.quantities import PathLike, structure_of


@dataclasses.dataclass(frozen=True)
class Device:
    """A device profile: its name goes into ``plan(device=...)``.

    Attributes:
        name, description, source: the source is where its constants come from.
        ram_bytes: the budget of a plan that is given none.
        rom_bytes: memory that kernels read frozen parameters from; 0: none.
        align_bytes: offsets in the arena are multiples of it.
        storage: "none", "sync", "async".
        is_measured: its times are measured on this machine.
    """

    name: str
    description: str
    source: str
    ram_bytes: int
    rom_bytes: int
    align_bytes: int
    storage: str
    is_measured: bool


@dataclasses.dataclass(frozen=True)
class FirmwareSizes:
    """Bytes of an emitted project."""

    ram_bytes: int
    stack_bytes: int
    arena_bytes: int
    plan_bytes: int
    weight_bytes: int
    sample_bytes: int


def devices(name: str | None = None) -> list[Device]:
    """The profiles that are compiled in; with ``name`` (or the path of a .toml file) that one alone. InvalidInput
    E0270, E0271.
    """
    rows = _core.devices() if name is None else [_core.describe_device(device_of(name))]
    return [Device(**row) for row in rows]


def emit_project(plan: Plan | PathLike, folder: PathLike, options: dict[str, Any]) -> FirmwareSizes:
    """See ``pantoum.emit``."""
    asked = structure_of(_core.FirmwareOptions, options)
    if isinstance(plan, (str, bytes, os.PathLike)):
        return FirmwareSizes(**_core.emit_file(plan, folder, asked))
    expect(plan, Plan, "plan", "make one: pantoum.plan(model, ram=..., device=...)")
    if not options.get("weights"):
        refuse_stand_ins(plan.model._stand_ins if plan.model else ())
    return FirmwareSizes(**_core.emit_plan(plan._core, folder, asked))
