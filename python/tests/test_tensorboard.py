"""pantoum.TensorBoard, read by the package tensorboard itself."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any

import numpy as np
import pantoum
import pytest
from samples import Floats, Labels

pytest.importorskip("tensorboard", reason="TensorBoard is not installed: pip install tensorboard")


@pytest.mark.parametrize("update_freq", ["epoch", "batch", 3])
def test_its_reader_gives_the_figures(
    plan: pantoum.Plan, data: tuple[Floats, Labels], tmp_path: pathlib.Path, update_freq: int | str
) -> None:
    reader: Any = importlib.import_module("tensorboard.backend.event_processing.event_multiplexer")
    with pantoum.Trainer(plan) as trainer:
        board = pantoum.TensorBoard(tmp_path, update_freq=update_freq)
        history = trainer.fit(data, epochs=3, validation=data, callbacks=board)
    read = reader.EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    read.Reload()
    steps = {"epoch": [], "batch": list(range(30)), 3: list(range(2, 30, 3))}[update_freq]
    tags = {"epoch_loss"} | ({"batch_loss", "batch_lr"} if steps else set())
    assert {run: set(kinds["scalars"]) for run, kinds in read.Runs().items()} == {
        "train": tags,
        "validation": {"epoch_loss", "epoch_accuracy"},
    }
    for run, prefix in (("train", ""), ("validation", "val_")):
        scalars = read.Scalars(run, "epoch_loss")
        assert [(scalar.step, scalar.value) for scalar in scalars] == list(
            enumerate(np.array(history.history[prefix + "loss"], np.float32).tolist())
        )
    if steps:
        assert [scalar.step for scalar in read.Scalars("train", "batch_loss")] == steps
