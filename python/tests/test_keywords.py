"""Keywords are the settings of the library."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pathlib
import subprocess
import sys
from typing import Any

import pantoum
import pytest
from pantoum import _core, keywords, options
from samples import ROOT

PROGRAM = pathlib.Path(pantoum.__file__).parent / "pantoum"
DESCRIBED: dict[str, Any] = json.loads(subprocess.run([PROGRAM, "settings"], capture_output=True, check=True).stdout)


def test_the_generated_files_are_those_of_today(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("ruff", reason="what is generated is laid out by it")
    generator = pathlib.Path(ROOT) / "python" / "generate_keywords.py"
    subprocess.run([sys.executable, generator, PROGRAM, tmp_path], check=True)
    for module in (keywords, options):
        made, kept = tmp_path / pathlib.Path(str(module.__file__)).name, pathlib.Path(str(module.__file__))
        assert made.read_text() == kept.read_text(), (
            f"run python/generate_keywords.py build/release/bin/pantoum: {kept}"
        )


@pytest.mark.parametrize(
    ("structure", "function"),
    [
        ("model", pantoum.load_onnx),
        ("plan", pantoum.plan),
        ("plan", pantoum.plan_cost_graph),
        ("firmware", pantoum.emit),
        ("trainer", pantoum.Trainer.__init__),
        ("fit", pantoum.Trainer.fit),
    ],
)
def test_every_setting_is_a_keyword(structure: str, function: Any) -> None:
    names = {field["name"] for field in DESCRIBED[structure]}
    assert names <= set(inspect.signature(function).parameters)
    assert all(f"{name}:" in str(inspect.getdoc(function)) for name in names)


@pytest.mark.parametrize(
    "structure", ["ModelOptions", "PlanOptions", "TrainerOptions", "FitOptions", "FirmwareOptions"]
)
def test_every_default_is_read_back(structure: str) -> None:
    functions: dict[str, Any] = {
        "ModelOptions": pantoum.load_onnx,
        "PlanOptions": pantoum.plan,
        "TrainerOptions": pantoum.Trainer.__init__,
        "FitOptions": pantoum.Trainer.fit,
        "FirmwareOptions": pantoum.emit,
    }
    described = DESCRIBED[structure.removesuffix("Options").lower()]
    made = getattr(_core, structure)()
    for name, parameter in inspect.signature(functions[structure]).parameters.items():
        if parameter.default is not None and name in {field["name"] for field in described}:
            made.set(name, parameter.default)


@pytest.mark.parametrize("name", ["Loss", "Sgd", "Adam", "AdamW", "RmsProp", "Adagrad", "SparseAdam", "CustomUpdate"])
def test_values_have_the_attributes_of_the_library(name: str) -> None:
    made = getattr(_core, name)()
    for field, value in vars(getattr(options, name)()).items():
        if value is not None:
            made.set(field, value)
    assert dataclasses.is_dataclass(getattr(options, name))
    with pytest.raises(pantoum.UsageError, match="E0100"):
        made.set("bogus", 1)


def test_what_the_command_line_has_is_here_too(
    model: pantoum.Model, plan: pantoum.Plan, tmp_path: pathlib.Path
) -> None:
    plan.save(tmp_path / "start.json")
    modelled: dict[str, Any] = {"kernels": "portable", "measure": "off", "effort": 1}
    begun = pantoum.plan(model, ram="256KiB", warm_start=tmp_path / "start.json", **modelled)
    assert begun.energy_j <= plan.energy_j * (1 + 1e-9)
    weighed = pantoum.plan(model, ram="256KiB", objective="0.5*energy + 0.5*time", **modelled)
    assert weighed.peak_bytes <= 256 * 1024
    with pytest.raises(pantoum.UsageError) as raised:
        pantoum.plan(model, ram="256KiB", objective="beauty", **modelled)
    assert raised.value.where == "objective"
