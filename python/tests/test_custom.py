"""Operators and optimizers that are functions of Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pantoum
import pytest
import small_onnx as onnx
from samples import BATCH, MODELLED, SPIRALS, Floats, Labels

Batch = tuple[Floats, Labels]


def network(op_type: str, domain: str, **reals: float) -> bytes:
    """Linear, the operator, linear: 2 -> 16 -> 3."""
    random = np.random.default_rng(3)
    first = random.standard_normal((16, 2)).astype(np.float32)
    second = random.standard_normal((3, 16)).astype(np.float32)
    nodes = [
        onnx.node("MatMul", ["x", "w1"], ["h"]),
        onnx.node(op_type, ["h"], ["a"], domain, **reals),
        onnx.node("MatMul", ["a", "w2"], ["y"]),
    ]
    weights = [onnx.tensor("w1", first.T.copy()), onnx.tensor("w2", second.T.copy())]
    return onnx.model(
        nodes, weights, [onnx.value("x", ["N", 2])], [onnx.value("y", ["N", 3])], [domain] if domain else []
    )


def leaky(inputs: list[Any], outputs: list[Any], settings: pantoum.Settings) -> None:
    outputs[0][...] = np.where(inputs[0] > 0, inputs[0], np.float32(settings.reals[0]) * inputs[0])


def leaky_gradient(inputs: list[Any], outputs: list[Any], settings: pantoum.Settings) -> None:
    outputs[0][...] = np.where(inputs[1] > 0, inputs[0], np.float32(settings.reals[0]) * inputs[0])


@pytest.fixture(scope="module", autouse=True)
def operators() -> None:
    pantoum.custom_operator(
        "test.python::Leaky",
        lambda types, ints, reals: [types[0]],
        leaky,
        gradients=[pantoum.Gradient(of=[0], reads_inputs=[0], kernel=leaky_gradient)],
        reals={"alpha": 0.01},
    )


def losses_of(contents: bytes, batch: Batch, ram: str = "64KiB", steps: int = 5) -> list[float]:
    plan = pantoum.plan(pantoum.Model.from_bytes(contents, batch=BATCH), ram=ram, **MODELLED)
    with pantoum.Trainer(plan) as trainer:
        return [trainer.step(*batch) for _ in range(steps)]


def test_an_operator_trains_as_the_library_s_own(batch: Batch) -> None:
    own = losses_of(network("LeakyRelu", "", alpha=0.25), batch)
    ours = losses_of(network("Leaky", "test.python", alpha=0.25), batch)
    assert ours == pytest.approx(own, rel=1e-6)
    assert losses_of(network("Leaky", "test.python"), batch) != ours


def test_an_exception_of_a_kernel_is_an_error_with_its_text(batch: Batch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("mine")

    pantoum.custom_operator(
        "test.python::Fails", lambda types, ints, reals: types, fail, gradients=[pantoum.Gradient([0], fail)]
    )
    with pytest.raises(pantoum.UsageError, match="ZeroDivisionError") as error:
        losses_of(network("Fails", "test.python"), batch)
    assert error.value.code == "E0107"


def test_a_shape_that_is_none(batch: Batch) -> None:
    pantoum.custom_operator("test.python::Shapeless", lambda types, ints, reals: [("f16", [1])], leaky)
    pantoum.custom_operator("test.python::Typeless", lambda types, ints, reals: 3, leaky)  # type: ignore[arg-type, return-value]
    for name in ("Shapeless", "Typeless"):
        with pytest.raises(pantoum.Error):
            losses_of(network(name, "test.python"), batch)


def test_the_end_of_the_interpreter_is_quiet() -> None:
    code = f"""
import pantoum
model = pantoum.load_onnx({str(SPIRALS)!r}, batch=4)
plan = pantoum.plan(model, ram="256KiB", kernels="portable", measure="off", effort=1)
pantoum.custom_optimizer("test.python::Nothing", lambda inputs, outputs, settings: (model, plan))
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_are_none_or_taken() -> None:
    for name in ("Swish", "", "test.python::Leaky"):
        with pytest.raises(pantoum.UsageError) as error:
            pantoum.custom_operator(name, lambda types, ints, reals: types, leaky)
        assert error.value.code == "E0106"
    with pytest.raises(pantoum.UsageError, match="no function"):
        pantoum.custom_operator("test.python::Other", 3, leaky)  # type: ignore[arg-type]


def test_an_optimizer_makes_the_steps_of_sgd_with_momentum(batch: Batch) -> None:
    def momentum(inputs: list[Any], outputs: list[Any], settings: pantoum.Settings) -> None:
        weight, gradient, velocity = inputs
        new = np.float32(settings.reals[0]) * velocity + gradient
        outputs[0][...] = weight - np.float32(settings.lr) * new
        outputs[1][...] = new

    pantoum.custom_optimizer("test.python::Momentum", momentum, states=["velocity"])
    states = []
    for optimizer in (
        pantoum.CustomUpdate("test.python::Momentum", lr=0.05, settings=(0.9,)),
        pantoum.Sgd(lr=0.05, momentum=0.9),
    ):
        model = pantoum.Model.from_bytes(network("Relu", ""), batch=BATCH, optimizer=optimizer)
        with pantoum.Trainer(pantoum.plan(model, ram="64KiB", **MODELLED)) as trainer:
            for _ in range(4):
                trainer.step(*batch)
            states.append(trainer.state_dict())
    for name, array in states[0].items():
        assert np.allclose(array, states[1][name], rtol=1e-5, atol=1e-7), name


def test_a_plugin_adds_layers_of_model_files(tmp_path: Path) -> None:
    root, compiler = Path(__file__).resolve().parents[2], shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library, source = tmp_path / "layer_client.so", root / "examples" / "plugins" / "layer_client.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-I", root / "include", source, "-o", library], check=True)
    net = root / "examples" / "plugins" / "layer_client.ini"
    for missing in ("none.so", "layer_client.c"):
        with pytest.raises(pantoum.Error) as error:
            pantoum.load_plugin(tmp_path / missing)
        assert error.value.code == "E0106"
    pantoum.load_plugin(library)
    pantoum.load_plugin(str(library))
    model = pantoum.load_onnx(net, batch=4, loss="captured")
    with pantoum.Trainer(pantoum.plan(model, ram="64KiB", **MODELLED)) as trainer:
        random = np.random.default_rng(1)
        x = random.standard_normal((4, 1, 1, 100)).astype(np.float32)
        label = np.eye(10, dtype=np.float32)[:4].reshape(4, 1, 1, 10)
        losses = [trainer.step(x, label) for _ in range(20)]
    assert losses[-1] < losses[0]
