"""Exceptions by class, with code, place, notes and help, in the words of Python."""

from __future__ import annotations

import copy
import pathlib
import pickle
import re
from typing import Any

import pantoum
import pytest
from pantoum.errors import from_core, in_python_words
from samples import MODELLED, SPIRALS


@pytest.mark.parametrize(
    ("exit_code", "code", "kind"),
    [
        (1, "E0001", pantoum.InternalError),
        (2, "E0116", pantoum.UsageError),
        (3, "E0262", pantoum.InvalidInput),
        (4, "E0401", pantoum.Unsupported),
        (5, "E0301", pantoum.Infeasible),
        (6, "E0302", pantoum.LimitReached),
        (7, "E0303", pantoum.GapNotReached),
        (8, "E0801", pantoum.VerificationFailed),
        (9, "E0903", pantoum.DeviceError),
        (130, "E0999", pantoum.Interrupted),
    ],
)
def test_a_class_for_each_exit_code_which_pickles(exit_code: int, code: str, kind: type[pantoum.Error]) -> None:
    error = from_core(code, "it failed", "net.onnx", ["a reason"], "try --ram 2KiB", exit_code, 2048)
    assert type(error) is kind
    assert error.exit_code == exit_code
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is kind
        assert (twin.code, twin.message, twin.where, twin.notes, twin.help) == (
            code,
            "it failed",
            "net.onnx",
            ["a reason"],
            'try ram="2KiB"',
        )
        assert getattr(twin, "min_ram", None) == getattr(error, "min_ram", None)
        assert str(twin) == str(error)


def test_infeasible_names_a_budget_that_works(model: pantoum.Model) -> None:
    with pytest.raises(pantoum.Infeasible) as caught:
        pantoum.plan(model, ram="2KiB", **MODELLED)
    error = caught.value
    assert error.code == "E0301"
    assert isinstance(error.min_ram, pantoum.Bytes)
    assert pantoum.plan(model, ram=error.min_ram, **MODELLED).peak_bytes <= error.min_ram
    assert pickle.loads(pickle.dumps(error)).min_ram == error.min_ram
    assert error.notes
    assert "ram=" in error.help


def test_a_reserve_is_part_of_the_least_ram(model: pantoum.Model) -> None:
    with pytest.raises(pantoum.Infeasible) as caught:
        pantoum.plan(model, ram="20KiB", reserve="16KiB", **MODELLED)
    assert caught.value.min_ram is not None
    assert pantoum.plan(model, ram=caught.value.min_ram, reserve="16KiB", **MODELLED)
    with pytest.raises(pantoum.Infeasible) as bare:
        pantoum.plan(model, ram="4KiB", **MODELLED)
    assert bare.value.min_ram is not None
    assert caught.value.min_ram == bare.value.min_ram + pantoum.KiB(16)


@pytest.mark.parametrize(
    ("said", "python"),
    [
        ("--ram 172KiB | --batch 4 (103 KiB) | --freeze conv3", 'ram="172KiB" | batch=4 (103 KiB) | freeze conv3'),
        ("give a smaller --batch", "give a smaller batch"),
        ("use --kernels portable", 'use kernels="portable"'),
        ("--no-paging keeps all in RAM", "paging=False keeps all in RAM"),
        ("--accept-folded trains it", "accept_folded=True trains it"),
        ("PlanOptions::deadline", "deadline"),
        ("pantoum::KiB(256)", "pantoum.KiB(256)"),
        ("Trainer::tensors() names them all", "Trainer.tensors() names them all"),
        ("a -- b --unknown-option 4", "a -- b --unknown-option 4"),
    ],
)
def test_words_of_the_command_line_become_python(said: str, python: str) -> None:
    assert in_python_words(said) == python


def test_a_missing_file(tmp_path: object) -> None:
    with pytest.raises(pantoum.InvalidInput) as error:
        pantoum.load_onnx(f"{tmp_path}/none.onnx")
    assert error.value.code == "E0201"
    assert "none.onnx" in error.value.where
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    "arguments",
    [
        {"loss": "hinge"},
        {"optimizer": "lion"},
        {"optimizer": 3},
        {"batch": "16"},
        {"batch": -1},
        {"lr": -1.0},
        {"lr": "fast"},
    ],
)
def test_options_that_are_none(arguments: dict[str, object]) -> None:
    with pytest.raises(pantoum.UsageError) as error:
        pantoum.load_onnx(SPIRALS, **arguments)  # type: ignore[arg-type]
    assert re.match(r"E01\d\d", error.value.code)


def test_an_unknown_option_names_the_known_ones() -> None:
    with pytest.raises(pantoum.UsageError, match="accumulate, batch"):
        pantoum.Model.from_file(SPIRALS, bach=3)
    with pytest.raises(TypeError):
        pantoum.load_onnx(SPIRALS, bach=3)  # type: ignore[call-arg]


def test_things_of_another_kind_are_named(plan: pantoum.Plan, tmp_path: pathlib.Path) -> None:
    wrong: Any = SPIRALS
    for call in (
        lambda: pantoum.plan(wrong, ram="1MiB"),
        lambda: pantoum.plan(None, ram="1MiB"),  # type: ignore[arg-type]
        lambda: pantoum.sweep(wrong, "1MiB"),
        lambda: pantoum.Trainer(wrong),
        lambda: pantoum.emit(3, tmp_path),  # type: ignore[arg-type]
    ):
        with pytest.raises(pantoum.UsageError, match=r"is no (Model|Plan)") as error:
            call()
        assert error.value.code == "E0116"
    with pytest.raises(pantoum.DeviceError):
        pantoum.load_onnx(SPIRALS).save(tmp_path / "none" / "net.onnx")
    with pytest.raises(pantoum.InvalidInput, match="E0201"):
        pantoum.Plan.load(tmp_path / "none.json", plan.model)
