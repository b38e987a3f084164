"""A reader of TensorBoard's event files, independent of the writer: records, their checksums, and scalars."""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Iterator


def crc32c(data: bytes) -> int:
    """Bit by bit, as the polynomial's definition has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
    return crc ^ 0xFFFFFFFF


def _checked(data: bytes, checksum: bytes) -> bytes:
    crc = crc32c(data)
    assert struct.unpack("<I", checksum)[0] == ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
    return data


def records_of(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (length,) = struct.unpack("<Q", _checked(data[at : at + 8], data[at + 8 : at + 12]))
        assert at + length + 16 <= len(data)
        yield _checked(data[at + 12 : at + 12 + length], data[at + 12 + length : at + 16 + length])
        at += 16 + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return value, at


def fields_of(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a message: numbers, and bytes of what has a length or a fixed width."""
    made: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            made.append((key >> 3, value))
            continue
        length = {1: 8, 5: 4}.get(kind, -1)
        if kind == 2:
            length, at = _varint(data, at)
        assert 0 <= length <= len(data) - at, f"wire type {kind}"
        made.append((key >> 3, data[at : at + length]))
        at += length
    return made


def figures_of(folder: pathlib.Path) -> dict[str, dict[int, float]]:
    """Tag -> step -> value, of all event files of a run."""
    made: dict[str, dict[int, float]] = {}
    for path in sorted(folder.iterdir()):
        for record in records_of(path.read_bytes()):
            event = dict(fields_of(record))
            summary = event.get(5, b"")
            assert isinstance(summary, bytes)
            for _, value in fields_of(summary):
                assert isinstance(value, bytes)
                parts = dict(fields_of(value))
                tag, number, step = parts[1], parts[2], event[2]
                assert isinstance(tag, bytes)
                assert isinstance(number, bytes)
                assert isinstance(step, int)
                made.setdefault(tag.decode(), {})[step] = struct.unpack("<f", number)[0]
    return made
