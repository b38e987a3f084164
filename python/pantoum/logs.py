"""Callbacks of fit that write what a training says: for TensorBoard, and as CSV."""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
import pathlib
import socket
import struct
import time
from collections.abc import Iterator
from typing import IO, Any, Union

import numpy as np

from pantoum.errors import DeviceError, UsageError, expect, text_of, whole_of
from pantoum.fitting import Callback, Logs
from pantoum.quantities import PathLike

_NUMBERS = itertools.count()


@contextlib.contextmanager
def _writing(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DeviceError("E0901", f"cannot write: {error.strerror or error}", str(path), "another folder") from error


def _path_of(value: Any, where: str) -> pathlib.Path:
    return pathlib.Path(text_of(os.fspath(value) if isinstance(value, os.PathLike) else value, where))


# Event files ----------------------------------------------------------------------------------------------------------
# A file of TensorBoard is a sequence of records (TFRecord): the length of the data in 8 bytes, its checksum in 4, the
# data, their checksum in 4, all little-endian. The data are one message of Google's protocol buffers, `Event`
# (tensorflow/core/util/event.proto): 1 wall_time double, 2 step int64, 3 file_version string, 5 summary; a summary is
# a sequence of values (field 1) of 1 tag string and 2 simple_value float.


def _table() -> tuple[int, ...]:
    """What each byte adds to a CRC-32C: the polynomial of Castagnoli, reflected."""
    made = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        made.append(byte)
    return tuple(made)


_CRC = _table()


def masked_crc32c(data: bytes) -> int:
    """The checksum of a record: CRC-32C, rotated and shifted, because data may hold checksums of their own."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record_of(data: bytes) -> bytes:
    """A record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def _varint(number: int) -> bytes:
    number &= 2**64 - 1  # int64 in two's complement
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def _delimited(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def event_of(step: int, figures: Logs) -> bytes:
    """The message of figures by name."""
    with np.errstate(over="ignore"):  # what is too large for a float is infinite there
        values = {tag: np.float32(value).astype("<f4").tobytes() for tag, value in figures.items()}
    summary = b"".join(_delimited(1, _delimited(1, tag.encode()) + b"\x15" + value) for tag, value in values.items())
    return b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + _delimited(5, summary)


class _EventFile:
    """An event file in a folder, with the name by which TensorBoard finds it."""

    def __init__(self, folder: pathlib.Path) -> None:
        words = "out.tfevents", f"{int(time.time()):010d}", socket.gethostname(), os.getpid(), next(_NUMBERS)
        self._path = folder / ".".join(["events", *map(str, words)])
        with _writing(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._path.open("ab")
        self._write(b"\x09" + struct.pack("<d", time.time()) + _delimited(3, b"brain.Event:2"))

    def _write(self, event: bytes) -> None:
        with _writing(self._path):
            self._file.write(record_of(event))
            self._file.flush()

    def add(self, step: int, figures: Logs) -> None:
        self._write(event_of(step, figures))

    def close(self) -> None:
        with _writing(self._path):
            self._file.close()


class TensorBoard(Callback):
    """Writes the figures of a training for TensorBoard; that package is not needed to write them.

    ::

        trainer.fit(data, epochs=5, validation=test, callbacks=pantoum.TensorBoard("logs"))
        # tensorboard --logdir logs

    The runs are ``train`` and, where there are validation data, ``validation``. Tags: ``epoch_loss`` and other figures
    of epochs by their number; ``batch_loss`` and ``batch_lr`` by the number of the step.

    Args:
        log_dir: a folder; it is made. A second training there adds files of its own.
        update_freq: "epoch": figures of epochs alone. "batch": those of every step too; a number N: of every N-th step.

    Raises:
        UsageError: E0116 an argument that does not fit.
        DeviceError: E0901 a file cannot be written; ``fit`` raises it.
    """

    def __init__(self, log_dir: PathLike = "logs", update_freq: Union[int, str] = "epoch") -> None:
        self._folder = _path_of(log_dir, "log_dir")
        if isinstance(update_freq, str) and update_freq not in ("epoch", "batch"):
            advice = '"epoch", "batch" or a number of steps'
            raise UsageError("E0116", f"update_freq={update_freq!r} is no frequency", "update_freq", advice)
        words = {"epoch": 0, "batch": 1}
        self._every = words[update_freq] if isinstance(update_freq, str) else whole_of(update_freq, "update_freq", 1)
        self._files: dict[str, _EventFile] = {}

    def _add(self, run: str, step: int, figures: Logs) -> None:
        if figures:
            if run not in self._files:
                self._files[run] = _EventFile(self._folder / run)
            self._files[run].add(step, figures)

    def _close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def on_train_begin(self) -> None:
        """Ends the files of a training that did not come to its end."""
        self._close()

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        """Writes the figures of a step, where its turn is."""
        if self._every and (batch + 1) % self._every == 0:
            self._add("train", batch, {f"batch_{name}": value for name, value in logs.items()})

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Writes the figures of an epoch."""
        own = {name: value for name, value in logs.items() if not name.startswith("val_")}
        self._add("train", epoch, {f"epoch_{name}": value for name, value in own.items()})
        others = {f"epoch_{name[4:]}": value for name, value in logs.items() if name not in own}
        self._add("validation", epoch, others)

    def on_train_end(self, logs: Logs) -> None:
        """Closes the files."""
        self._close()


class CSVLogger(Callback):
    """Writes a line for each epoch into a CSV file: epoch, loss, and val_loss and other figures where there are
    validation data.

    Args:
        filename: the file; one that is there is written anew, unless ``append``.
        separator: between two columns.
        append: add to the file; its columns must be those of this training.

    Raises:
        UsageError: E0116 an argument that does not fit, or other columns; ``fit`` raises the latter.
        DeviceError: E0901 the file cannot be written; ``fit`` raises it.
    """

    def __init__(self, filename: PathLike, separator: str = ",", append: bool = False) -> None:
        self._path = _path_of(filename, "filename")
        if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
            raise UsageError("E0116", f"separator={separator!r} is no character that separates", "separator")
        expect(append, bool, "append", "True or False")
        self._separator, self._append, self._columns = separator, append, list[str]()

    def on_train_begin(self) -> None:
        """Begins the file, or finds its columns."""
        self._columns = []
        with _writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not self._append:
                self._path.write_text("", encoding="utf-8")
            elif self._path.exists():
                with self._path.open(encoding="utf-8", newline="") as file:
                    self._columns = next(csv.reader(file, delimiter=self._separator), [])

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Writes the line of an epoch; before the first one, the names of the columns."""
        row: dict[str, Any] = {"epoch": epoch, **logs}
        if self._columns and self._columns != list(row):
            raise UsageError(
                "E0116",
                f"the columns of the file are {', '.join(self._columns)}, and this training's {', '.join(row)}",
                str(self._path),
                "another file, or append=False",
            )
        with _writing(self._path), self._path.open("a", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, delimiter=self._separator, lineterminator="\n")
            if not self._columns:
                self._columns = list(row)
                lines.writerow(self._columns)
            lines.writerow(row.values())
