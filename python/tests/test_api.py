"""The names that users see."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pantoum
import pytest
from pantoum import _core


@pytest.mark.parametrize("name", pantoum.__all__)
def test_every_public_name_is_there_and_explained(name: str) -> None:
    value = getattr(pantoum, name)
    assert inspect.getdoc(value), f"{name} has no docstring"
    if inspect.isclass(value) and value.__module__.startswith("pantoum.") and "_core" not in value.__module__:
        for member, method in vars(value).items():
            if inspect.isfunction(method) and not member.startswith("_") and value.__name__ != "Bytes":
                assert method.__doc__, f"{name}.{member} has no docstring"


def test_version_is_that_of_the_library() -> None:
    assert pantoum.__version__.count(".") == 2
    assert pantoum.__version__ == _core.version()


def test_import_brings_neither_torch_nor_flower() -> None:
    code = "import sys, pantoum; print([m for m in ('torch', 'flwr', 'tqdm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
    assert done.stderr == ""


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'from_keras'"):
        pantoum.from_keras  # noqa: B018


def test_devices_have_ram_and_a_source() -> None:
    devices = {device.name: device for device in pantoum.devices()}
    assert devices["host"].is_measured
    assert all(device.ram_bytes > 0 and device.source for device in devices.values())
    assert pantoum.devices("m4") == [devices["m4"]]
    with pytest.raises(pantoum.InvalidInput) as error:
        pantoum.devices("no-such-device")
    assert error.value.code == "E0270"
