"""No call writes over a file that a model, plan, data set or trainer was read from, by whatever name; nothing changes then."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pantoum
import pytest
from samples import IMAGES, MODELLED


def state_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Every name below, with its inode and its contents."""
    return {
        str(path): (path.lstat().st_ino, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("made")
    (folder / "net.onnx").write_bytes(IMAGES.read_bytes())
    first = pantoum.plan(pantoum.load_onnx(folder / "net.onnx", batch=8), ram="64MiB", **MODELLED)
    first.save(folder / "plan.json")
    first.save_initial_weights(folder / "w.safetensors")
    (folder / "data").mkdir()
    shape = first.batch[0].shape[1:]
    for split in ("train", "test"):
        np.save(folder / "data" / f"x_{split}.npy", np.zeros((16, *shape), np.float32))
        np.save(folder / "data" / f"y_{split}.npy", np.zeros(16, np.int64))
    (folder / "run.jsonl").write_text('{"event": "step", "step": 1, "loss": 1.0}\n')
    del first
    model = pantoum.load_onnx(folder / "net.onnx", batch=8, weights=folder / "w.safetensors")
    plan = pantoum.Plan.load(folder / "plan.json", model)
    data = pantoum.Dataset.open(folder / "data", plan)
    return {"folder": folder, "model": model, "plan": plan, "data": data, "trainer": pantoum.Trainer(plan)}


Write = Callable[[dict[str, Any], Path], object]
WRITES: dict[str, Write] = {
    "Trainer.save": lambda of, path: of["trainer"].save(path),
    "Trainer.fit checkpoint": lambda of, path: of["trainer"].fit(of["data"][0], epochs=1, checkpoint=path),
    "Trainer.fit keep_best": lambda of, path: of["trainer"].fit(
        of["data"][0], epochs=1, validation=of["data"][1], keep_best=path
    ),
    "Plan.save": lambda of, path: of["plan"].save(path),
    "Plan.save_binary": lambda of, path: of["plan"].save_binary(path),
    "Plan.save_initial_weights": lambda of, path: of["plan"].save_initial_weights(path),
    "Plan.report": lambda of, path: of["plan"].report(path, logs=[of["folder"] / "run.jsonl"]),
    "Model.save": lambda of, path: of["model"].save(path),
    "Model.export_onnx": lambda of, path: of["model"].export_onnx(of["folder"] / "w.safetensors", path),
}


def names_of(path: Path, beside: Path) -> list[Path]:
    """A file by its name, a hard link, a symbolic link and a linked folder."""
    os.link(path, beside / "hard")
    (beside / "soft").symlink_to(path)
    (beside / "folder").symlink_to(path.parent)
    return [path, beside / "hard", beside / "soft", beside / "folder" / path.name]


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("name", ["net.onnx", "plan.json", "w.safetensors", "data/x_train.npy", "data/y_test.npy"])
def test_no_call_writes_over_what_is_read(made: dict[str, Any], call: str, name: str, tmp_path: Path) -> None:
    folder = made["folder"]
    for alias in names_of(folder / name, tmp_path):
        before = state_of(folder), state_of(tmp_path)
        with pytest.raises(pantoum.UsageError) as refused:
            WRITES[call](made, alias)
        assert refused.value.code == "E0125", alias
        assert (state_of(folder), state_of(tmp_path)) == before, alias


def test_a_report_does_not_replace_its_log(made: dict[str, Any]) -> None:
    log = made["folder"] / "run.jsonl"
    before = log.read_text()
    with pytest.raises(pantoum.UsageError, match="E0125"):
        made["plan"].report(log, logs=[log])
    assert log.read_text() == before


def test_outputs_are_written_again_and_again(made: dict[str, Any], tmp_path: Path) -> None:
    trainer, plan = made["trainer"], made["plan"]
    for _ in range(2):
        trainer.save(tmp_path / "w.safetensors")
        trainer.resume(tmp_path / "w.safetensors")
        plan.save(tmp_path / "plan.json")


def test_a_file_is_free_when_nothing_reads_it_any_more(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(IMAGES.read_bytes())
    model = pantoum.load_onnx(path, batch=8)
    other = pantoum.load_onnx(IMAGES, batch=8)
    with pytest.raises(pantoum.UsageError, match="E0125"):
        other.save(path)
    del model
    other.save(path)
