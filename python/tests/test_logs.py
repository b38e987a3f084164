"""What callbacks write: event files of TensorBoard, read by a small reader here and by the package in test_tensorboard.py; CSV."""

from __future__ import annotations

import csv
import math
import pathlib
import struct
from typing import Any

import numpy as np
import pantoum
import pytest
from event_files import figures_of, records_of
from pantoum import logs
from samples import Floats, Labels

Data = tuple[Floats, Labels]


def epochs_of(history: pantoum.History, name: str) -> dict[int, float]:
    return dict(zip(history.epoch, np.array(history.history[name], np.float32).tolist(), strict=True))


@pytest.mark.parametrize(
    ("data", "crc"),
    # RFC 3720, B.4: zeros, ones, a count upwards and one downwards
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_the_checksum_is_that_of_its_standard(data: bytes, crc: int) -> None:
    rotated = (logs.masked_crc32c(data) - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == crc


@pytest.mark.parametrize("validation", [False, True])
def test_figures_of_epochs_and_steps_are_those_of_the_history(
    plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path, validation: bool
) -> None:
    seen: list[float] = []

    class Losses(pantoum.Callback):
        def on_batch_end(self, batch: int, logs: dict[str, float]) -> None:
            seen.append(logs["loss"])

    with pantoum.Trainer(plan) as trainer:
        callbacks = [pantoum.TensorBoard(tmp_path / "logs", update_freq=3), Losses()]
        history = trainer.fit(data, epochs=3, validation=data if validation else None, callbacks=callbacks)
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["train", "validation"][: 1 + validation]
    train = figures_of(tmp_path / "logs" / "train")
    assert train["epoch_loss"] == epochs_of(history, "loss")
    assert train["batch_loss"] == {at: float(np.float32(loss)) for at, loss in enumerate(seen) if (at + 1) % 3 == 0}
    assert set(train["batch_lr"].values()) == {float(np.float32(0.1))}
    if validation:
        other = figures_of(tmp_path / "logs" / "validation")
        assert other["epoch_accuracy"] == epochs_of(history, "val_accuracy")
        assert other["epoch_loss"] == epochs_of(history, "val_loss")


@pytest.mark.parametrize(("update_freq", "steps"), [("epoch", 0), ("batch", 10), (4, 2), (100, 0)])
def test_how_often(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path, update_freq: int | str, steps: int) -> None:
    with pantoum.Trainer(plan) as trainer:
        trainer.fit(data, callbacks=pantoum.TensorBoard(tmp_path, update_freq))
    assert len(figures_of(tmp_path / "train").get("batch_loss", {})) == steps


def test_a_second_training_adds_a_file(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    board = pantoum.TensorBoard(tmp_path)
    with pantoum.Trainer(plan) as trainer:
        trainer.fit(data, callbacks=board)
        trainer.fit(data, callbacks=board)
    files = list((tmp_path / "train").iterdir())
    assert [path.name.split(".")[1:3] for path in files] == [["out", "tfevents"]] * 2
    assert sorted(figures_of(tmp_path / "train")["epoch_loss"]) == [0, 1]


def test_what_was_written_is_there_after_an_exception(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    def fails(epoch: int, logs: dict[str, float]) -> None:
        if epoch == 1:
            raise RuntimeError("enough")

    with pantoum.Trainer(plan) as trainer, pytest.raises(RuntimeError, match="enough"):
        trainer.fit(
            data, epochs=3, callbacks=[pantoum.TensorBoard(tmp_path), pantoum.CSVLogger(tmp_path / "log.csv"), fails]
        )
    assert sorted(figures_of(tmp_path / "train")["epoch_loss"]) == [0, 1]
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-45, 1e39, -1e39, math.inf, math.nan, 0.1, 2**53])
@pytest.mark.parametrize("step", [0, 127, 128, 2**40, 2**63 - 1])
def test_every_number(tmp_path: pathlib.Path, value: float, step: int) -> None:
    name = "täg\n" + "x" * 300
    (tmp_path / "events.out.tfevents.0").write_bytes(logs.record_of(logs.event_of(step, {name: value, "": 1.0})))
    with np.errstate(over="ignore"):
        wanted = float(np.float32(value))
    read = figures_of(tmp_path)
    assert struct.pack("<f", read[name][step]) == struct.pack("<f", wanted)
    assert read[""] == {step: 1.0}


def test_a_damaged_byte_is_seen() -> None:
    record = bytearray(logs.record_of(logs.event_of(3, {"loss": 0.5})))
    assert len(list(records_of(bytes(record)))) == 1
    for at in range(len(record)):
        record[at] ^= 4
        with pytest.raises(AssertionError):
            list(records_of(bytes(record)))
        record[at] ^= 4


def test_lines_of_csv(plan: pantoum.Plan, data: Data, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new folder" / "log.csv"
    with pantoum.Trainer(plan) as trainer:
        first = trainer.fit(data, epochs=2, validation=data, callbacks=pantoum.CSVLogger(path))
        then = trainer.fit(data, epochs=2, validation=data, callbacks=pantoum.CSVLogger(path, append=True))
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [int(row["epoch"]) for row in rows] == [0, 1, 2, 3]
        for name, values in first.history.items():
            assert [float(row[name]) for row in rows] == [*values, *then.history[name]]
        with pytest.raises(pantoum.UsageError, match="the columns of the file are epoch, loss, val_loss") as raised:
            trainer.fit(data, callbacks=pantoum.CSVLogger(path, append=True))
        assert raised.value.where == str(path)
        assert path.read_text().count("\n") == 5
        trainer.fit(data, callbacks=pantoum.CSVLogger(path, separator="\t"))
        assert path.read_text().splitlines()[0] == "epoch\tloss"


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: pantoum.TensorBoard(3), "log_dir"),  # type: ignore[arg-type]
        (lambda: pantoum.TensorBoard("x", "often"), "update_freq"),
        (lambda: pantoum.TensorBoard("x", 0), "update_freq"),
        (lambda: pantoum.TensorBoard("x", 0.5), "update_freq"),  # type: ignore[arg-type]
        (lambda: pantoum.CSVLogger(None), "filename"),  # type: ignore[arg-type]
        (lambda: pantoum.CSVLogger("x", ""), "separator"),
        (lambda: pantoum.CSVLogger("x", '"'), "separator"),
        (lambda: pantoum.CSVLogger("x", append=1), "append"),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_do_not_fit(make: Any, where: str) -> None:
    with pytest.raises(pantoum.UsageError, match="E0116") as raised:
        make()
    assert raised.value.where == where


@pytest.mark.parametrize("kind", [pantoum.TensorBoard, pantoum.CSVLogger])
def test_where_nothing_can_be_written(trainer: pantoum.Trainer, data: Data, tmp_path: pathlib.Path, kind: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pantoum.DeviceError, match="E0901") as raised:
        trainer.fit(data, callbacks=kind(tmp_path / "file" / "logs"))
    assert str(tmp_path / "file") in raised.value.where
