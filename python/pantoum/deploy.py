"""Devices, and C projects for microcontrollers."""

from __future__ import annotations

import dataclasses
import os

from pantoum import _core
from pantoum.errors import expect
from pantoum.model import PathLike
from pantoum.options import set_checked
from pantoum.planning import Plan, device_of
from pantoum.quantities import Size, bytes_of

__all__ = ["Device", "FirmwareSizes", "devices", "emit"]


@dataclasses.dataclass(frozen=True)
class Device:
    """A device profile: its name goes into ``plan(device=...)``.

    Attributes:
        name, description, source: the source is that of its constants.
        ram_bytes: the budget where none is given.
        rom_bytes: what kernels read in place; 0: there is none.
        align_bytes: offsets are multiples of it.
        storage: "none", "sync", "async".
        is_measured: its times are those of this machine.
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


def emit(
    plan: Plan | PathLike,
    folder: PathLike,
    *,
    target: str = "",
    board: str = "",
    weights: PathLike | None = None,
    data: PathLike | None = None,
    samples: int | None = None,
    test_samples: int | None = None,
    steps: int | None = None,
    lr: float | None = None,
    ram: Size | None = None,
) -> FirmwareSizes:
    """Writes a C project that trains as planned (docs/firmware.md).

    Args:
        plan: for a device of that kind; or the file of one.
        folder: of the project.
        target: "cortex-m4f"; or ``board``, a board's name.
        weights: safetensors to begin with; None: the model's own.
        data: samples that go into the project.
        samples: how many of the training set.
        test_samples: how many of the test set.
        steps: of the training.
        lr: of the training.
        ram: of the device, everything in all.

    Raises:
        InvalidInput: E0291 to E0297.
    """
    if not isinstance(plan, (str, bytes, os.PathLike)):
        expect(plan, Plan, "plan", "make one: pantoum.plan(model, ram=..., device=...)")
    options = _core.FirmwareOptions()
    options.set_folder(folder)
    if weights is not None:
        options.set_weights(weights)
    if data is not None:
        options.set_data(data)
    if ram is not None:
        options.set_ram(bytes_of(ram, "ram"))
    named = {
        "target": target,
        "board": board,
        "samples": samples,
        "test_samples": test_samples,
        "steps": steps,
        "lr": lr,
    }
    for name, value in named.items():
        if value is not None:
            set_checked(options, name, value)
    sizes = _core.emit_plan(plan._core, options) if isinstance(plan, Plan) else _core.emit_file(plan, options)
    return FirmwareSizes(**sizes)
