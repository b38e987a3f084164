"""Models: from files and bytes, other options, pickles, names of files."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import shutil
from typing import Any

import numpy as np
import pantoum
import pytest
import small_onnx
from samples import BATCH, IMAGES, MODELLED, RECOMMENDER, SPIRALS


def test_inspect_tells_nodes_and_weights() -> None:
    info = pantoum.inspect(SPIRALS)
    assert info.inputs == ["point f32[N,2]"]
    assert [node.op_type for node in info.nodes] == ["Gemm", "Relu", "Gemm", "Relu", "Gemm"]
    assert all(node.trains and not node.problem for node in info.nodes)
    assert "0.weight" in [weight.name for weight in info.weights if weight.trains]
    assert info.refusal == ""


def test_bytes_are_the_same_model() -> None:
    contents = SPIRALS.read_bytes()
    model = pantoum.Model.from_bytes(contents, batch=BATCH)
    assert model.contents == contents
    assert model.path is None
    assert pantoum.plan(model, ram="256KiB", **MODELLED).batch[0].name == "point"


@pytest.mark.parametrize("contents", [b"", b"not a model", SPIRALS.read_bytes()[:500]])
def test_damaged_bytes(contents: bytes) -> None:
    with pytest.raises(pantoum.InvalidInput):
        pantoum.Model.from_bytes(contents)


def test_other_options_leave_the_first_model_alone(model: pantoum.Model) -> None:
    other = model.with_options(batch=8, optimizer="adam", lr=0.003)
    assert pantoum.plan(other, ram="1MiB", **MODELLED).samples_per_step == 8
    assert model.options["batch"] == BATCH
    assert "lr" not in model.options
    assert model.with_options(batch=4).options["optimizer"] == model.options["optimizer"]


def test_pickles_of_both_kinds(model: pantoum.Model) -> None:
    for made in (model, pantoum.Model.from_bytes(SPIRALS.read_bytes(), batch=BATCH, loss=pantoum.Loss(smoothing=0.1))):
        twin = pickle.loads(pickle.dumps(made))
        assert twin.options == made.options
        assert repr(twin) == repr(made)
        assert twin.contents == made.contents


def test_several_inputs_and_a_regression() -> None:
    model = pantoum.load_onnx(RECOMMENDER, batch=8, loss="mse", optimizer=pantoum.Adam(lr=0.01))
    names = [
        (tensor.name, tensor.dtype, tensor.is_target) for tensor in pantoum.plan(model, ram="1MiB", **MODELLED).batch
    ]
    assert names[:2] == [("user", "i64", False), ("item", "i64", False)]
    assert names[2][1:] == ("f32", True)


def test_names_that_are_no_utf8(tmp_path: pathlib.Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.mkdir(folder)
    name = folder + b"/m\xe4del.onnx"
    shutil.copy(os.fsencode(SPIRALS), name)
    model = pantoum.load_onnx(name, batch=BATCH)
    assert pantoum.load_onnx(os.fsdecode(name), batch=BATCH).contents == model.contents
    plan = pantoum.plan(model, ram="256KiB", **MODELLED)
    plan.save(folder + b"/step.json")
    assert pantoum.Plan.load(os.fsdecode(folder + b"/step.json"), model).peak_bytes == plan.peak_bytes
    with pantoum.Trainer(plan) as trainer:
        trainer.save(folder + b"/w.safetensors")
        trainer.resume(folder + b"/w.safetensors")
    with pytest.raises(pantoum.InvalidInput):
        pantoum.load_onnx(folder + b"/none.onnx")


def test_a_trained_model_is_exported(tmp_path: pathlib.Path, model: pantoum.Model, trainer: pantoum.Trainer) -> None:
    trainer.save(tmp_path / "w.safetensors")
    model.export_onnx(tmp_path / "w.safetensors", tmp_path / "out.onnx")
    assert pantoum.inspect(tmp_path / "out.onnx").parameter_count == pantoum.inspect(model).parameter_count


def test_everything_of_an_image_model_that_can_be_said() -> None:
    model = pantoum.load_onnx(
        IMAGES,
        batch=4,
        loss=[pantoum.Loss("cross_entropy", smoothing=0.1)],
        optimizer=pantoum.RmsProp(lr=0.01, momentum=0.5, centered=True),
        accumulate=2,
        clip_norm=1.0,
        clip_value=5.0,
        freeze="conv1*" if any(w.name.startswith("conv1") for w in pantoum.inspect(IMAGES).weights) else (),
        metrics=["top5"],
    )
    assert pantoum.plan(model, ram="4MiB", **MODELLED).samples_per_step == 8


def write_safetensors(path: pathlib.Path, tensors: dict[str, np.ndarray]) -> None:
    header, data = {}, b""
    for name, array in tensors.items():
        end = len(data) + array.nbytes
        kind = "I64" if array.dtype == np.int64 else "F32"
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def of_computed_constants() -> bytes:
    """(x @ w) * scale * places[order]: of four tensors one is trained, two are constants before the program runs."""
    nodes = [
        small_onnx.node("MatMul", ["x", "w"], ["h"]),
        small_onnx.node("Mul", ["h", "scale"], ["scaled"]),
        small_onnx.node("Gather", ["places", "order"], ["picked"]),
        small_onnx.node("CumSum", ["picked", "axis"], ["summed"]),
        small_onnx.node("Mul", ["scaled", "scale"], ["again"]),
        small_onnx.node("Equal", ["summed", "order"], ["mask"]),
        small_onnx.node("Where", ["mask", "scaled", "again"], ["y"]),
    ]
    weights = [
        small_onnx.tensor("w", np.ones((3, 2), np.float32)),
        small_onnx.tensor("scale", np.full((1, 2), 0.5, np.float32)),
        small_onnx.tensor("places", np.array([0, 1])),
        small_onnx.tensor("order", np.array([0, 1])),
        small_onnx.tensor("axis", np.array(0)),
    ]
    shapes = [small_onnx.value("x", ["N", 3])], [small_onnx.value("y", ["N", 2])]
    return small_onnx.model(nodes, weights, *shapes, [])


def test_inspect_says_that_what_the_file_leaves_open_trains() -> None:
    nodes = [small_onnx.node("Mul", ["x", "w"], ["y"])]
    weights = [small_onnx.tensor("w", np.ones(2, np.float32))]
    shapes = [small_onnx.value("x", ["N", 2])], [small_onnx.value("y", ["N", 2])]
    contents = small_onnx.model(nodes, weights, *shapes, [])
    model = pantoum.Model.from_bytes(contents, loss="mse", batch=2)
    trained = {weight.name for weight in model.inspect().weights if weight.trains}
    plan = pantoum.plan(model, ram="1MiB", **MODELLED)
    with pantoum.Trainer(plan) as trainer:
        before = trainer.state_dict()["w"]
        trainer.step(np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32))
        assert trained == ({"w"} if (trainer.state_dict()["w"] != before).any() else set())
        assert trained == {"w"}


@pytest.mark.parametrize("name", ["places", "order", "axis"])
def test_weights_replace_no_tensor_that_the_program_was_made_with(name: str, tmp_path: pathlib.Path) -> None:
    """Constants that were computed from it would be those of the file."""
    asked = {"loss": "mse", "batch": 2, "freeze": "scale"}
    given = {"w": np.full((3, 2), 2, np.float32), "scale": np.full((1, 2), 0.25, np.float32)}
    places = {"places": np.array([0, 1]), "order": np.array([0, 1]), "axis": np.array(0)}
    path = tmp_path / "weights.safetensors"
    for tensors in (given, given | places):
        write_safetensors(path, tensors)
        pantoum.plan(pantoum.Model.from_bytes(of_computed_constants(), weights=path, **asked), ram="1MiB", **MODELLED)
    write_safetensors(path, given | places | {name: places[name] - 1})
    model = pantoum.Model.from_bytes(of_computed_constants(), weights=path, **asked)
    plan = pantoum.plan(model.with_options(keep_init=name), ram="1MiB", **MODELLED)
    for act in (lambda: pantoum.plan(model, ram="1MiB", **MODELLED), lambda: pantoum.Trainer(plan, weights=path)):
        with pytest.raises(pantoum.InvalidInput, match=f"'{name}'") as caught:
            act()
        assert caught.value.code == "E0242"


@pytest.mark.parametrize(
    "shapes",
    [{"x": ("N", 3, 4)}, {"x": ["N", 3, np.int64(4)]}, {"T": 4}, "x=N,3,4", ["T=4"], {"x": "N,3,4"}],
)
def test_open_dimensions_are_bound(shapes: Any) -> None:
    contents = small_onnx.model(
        [small_onnx.node("Mul", ["x", "w"], ["y"])],
        [small_onnx.tensor("w", np.ones((3, 4), np.float32))],
        [small_onnx.value("x", ["N", 3, "T"])],
        [small_onnx.value("y", ["N", 3, "T"])],
        [],
    )
    with pytest.raises(pantoum.InvalidInput, match="numbers in place of T"):
        pantoum.Model.from_bytes(contents, batch=2)
    made = pantoum.Model.from_bytes(contents, batch=2, shapes=shapes)
    assert made.inspect().inputs == ["x f32[N,3,4]"]
    with pytest.raises(pantoum.InvalidInput, match="fixes dimension 1"):
        made.with_options(shapes={"x": ("N", 5, 4)})


def test_what_is_no_file_is_refused_at_once(model: pantoum.Model, tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name in (pipe, "/dev/zero"):
        for act in (pantoum.load_onnx, pantoum.inspect, pantoum.Plan.load):
            with pytest.raises(pantoum.InvalidInput, match=r"named pipe|device"):
                act(name)
        with pytest.raises(pantoum.DeviceError, match=r"named pipe|device"):
            model.save(name)
