"""Sizes and times carry their unit."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import pantoum
import pytest
from samples import MODELLED


@pytest.mark.parametrize(
    "ram", ["256KiB", "262144 B", "262.144kB", pantoum.KiB(256), pantoum.MiB(0.25), pantoum.Bytes(262144)]
)
def test_sizes(model: pantoum.Model, ram: Any) -> None:
    assert pantoum.plan(model, ram=ram, **MODELLED).budget_bytes == 262144


@pytest.mark.parametrize(
    ("ram", "code", "said"),
    [
        (256, "E0110", "256KiB, 256MiB or 256B"),
        ("256", "E0110", "256KiB"),
        (256.5, "E0110", "256.5KiB"),
        (True, "E0110", "True"),
        ("", "E0110", ""),
        ("-4KiB", "E0110", ""),
        ("nanMiB", "E0110", ""),
        ("64M", "E0110", "64MB or 64MiB"),
        ("9999999999GiB", "E0110", ""),
        (b"64MiB", "E0110", ""),
        (pantoum.Bytes(0), "E0300", ""),
        ("0B", "E0300", ""),
        (pantoum.Bytes(-5), "E0110", ""),
        ([64], "E0110", ""),
    ],
)
def test_sizes_that_are_none(model: pantoum.Model, ram: Any, code: str, said: str) -> None:
    with pytest.raises(pantoum.UsageError) as error:
        pantoum.plan(model, ram=ram, **MODELLED)
    assert error.value.code == code
    assert said in str(error.value)
    assert "--ram" not in str(error.value)


def test_arithmetic_keeps_the_unit() -> None:
    assert pantoum.MiB(1) + pantoum.KiB(1) == pantoum.Bytes(1049600)
    assert isinstance(pantoum.MiB(1) * 1.5, pantoum.Bytes)
    assert isinstance(2 * pantoum.MiB(1) - 5, pantoum.Bytes)
    assert pantoum.GiB(1) == 1 << 30
    assert f"{pantoum.MiB(24)}" == "24.00 MiB"
    assert f"{pantoum.MiB(24):d}" == "25165824"
    assert repr(pantoum.KiB(1)) == "Bytes(1024)"
    assert isinstance(pickle.loads(pickle.dumps(pantoum.KiB(3))), pantoum.Bytes)


@pytest.mark.parametrize("deadline", ["10s", "5x", datetime.timedelta(seconds=10)])
def test_deadlines(model: pantoum.Model, deadline: Any) -> None:
    assert pantoum.plan(model, ram="256KiB", deadline=deadline, **MODELLED).time_s < 10


@pytest.mark.parametrize("deadline", [10, "10", "x", "0s", "-1x", "1.3 y", 1.3])
def test_deadlines_that_are_none(model: pantoum.Model, deadline: Any) -> None:
    with pytest.raises(pantoum.UsageError) as error:
        pantoum.plan(model, ram="256KiB", deadline=deadline, **MODELLED)
    assert error.value.code == "E0111"
    assert error.value.where == "deadline"


def test_shares_times_and_energies(model: pantoum.Model) -> None:
    assert pantoum.plan(model, ram="256KiB", gap="50%", time_limit="2s", energy_limit_j="5J", **MODELLED).gap <= 0.5
    refused: list[tuple[str, Any, str]] = [
        ("gap", 0.5, "E0112"),
        ("time_limit", 60, "E0111"),
        ("energy_limit_j", 3, "E0121"),
    ]
    for name, value, code in refused:
        with pytest.raises(pantoum.UsageError) as error:
            pantoum.plan(model, ram="256KiB", **{name: value, **MODELLED})
        assert (error.value.code, error.value.where) == (code, name)
