"""`pantoum::page_out` and `pantoum::page_in`: one activation to a file, and back.

The file is private to the process: it has no name once it is open, its bytes are reserved before the first step, and
what it holds is gone when the process ends. It is not encrypted. A slot lives as long as its token, so several calls
before one backward each have their own, and a graph that is dropped without backward gives its slots back.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import faults
from .planner import PagerSpeed

_MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_PROBE_BYTES = 8 << 20
_LATENCY_S = 5e-5

_LIBRARY: Any = torch.library.Library("pantoum", "FRAGMENT")  # type: ignore[no-untyped-call]
_LIBRARY.define("page_out(Tensor x, int pager) -> Tensor")
_LIBRARY.define(
    "page_in(Tensor token, int[] size, int[] stride, int offset, int count, ScalarType dtype, int pager) -> Tensor"
)


class FilePager:
    """Slots in one unlinked file. Thread-safe; unusable in a forked child."""

    def __init__(self, folder: str) -> None:
        self.folder, self.owner, self.lock = folder, os.getpid(), threading.Lock()
        self.free: dict[int, list[int]] = {}
        self.slots: list[tuple[int, int]] = []  # offset and size by number
        self.reserved = self.end = self.bytes_out = self.bytes_in = 0
        try:
            self.file, name = tempfile.mkstemp(prefix="pantoum-", dir=folder)
            os.unlink(name)
        except OSError as error:
            raise faults.device(
                f"no page file can be made: {error}", folder, "name another folder with page_dir"
            ) from error
        weakref.finalize(self, os.close, self.file)

    def reserve(self, size: int) -> None:
        """Takes disk space for `size` bytes more than what is in use now."""
        if self.end + size > self.reserved:
            try:
                os.posix_fallocate(self.file, 0, self.end + size)
            except OSError as error:
                raise faults.device(
                    f"the page file cannot grow to {self.end + size} bytes: {error}",
                    self.folder,
                    "free some space, or name another folder with page_dir",
                ) from error
            self.reserved = self.end + size

    def take(self, size: int) -> int:
        """The number of a free slot of this size."""
        with self.lock:
            if self.free.get(size):
                return self.free[size].pop()
            self.reserve(size)
            self.slots.append((self.end, size))
            self.end += size
            return len(self.slots) - 1

    def give_back(self, slot: int) -> None:
        with self.lock:
            self.free.setdefault(self.slots[slot][1], []).append(slot)

    def write(self, storage: torch.UntypedStorage) -> int:
        """Writes a storage's bytes and returns their slot."""
        self._check_owner()
        slot = self.take(storage.nbytes())
        try:
            self._transfer(storage, self.slots[slot][0], os.pwrite, "written")
        except faults.DeviceError:
            self.give_back(slot)
            raise
        self.bytes_out += storage.nbytes()
        return slot

    def read(self, slot: int, storage: torch.UntypedStorage) -> None:
        """Fills a storage with a slot's bytes."""
        self._check_owner()
        self._transfer(storage, self.slots[slot][0], lambda file, memory, at: os.preadv(file, [memory], at), "read")
        self.bytes_in += storage.nbytes()

    def _transfer(self, storage: torch.UntypedStorage, offset: int, move: Any, done: str) -> None:
        size, moved = storage.nbytes(), 0
        memory = (
            memoryview((ctypes.c_char * size).from_address(storage.data_ptr())).cast("B") if size else memoryview(b"")
        )
        while moved < size:
            try:
                step = move(self.file, memory[moved:], offset + moved)
            except OSError as error:
                raise faults.device(
                    f"the page file cannot be {done}: {error}", self.folder, "name another folder"
                ) from error
            if step == 0:
                raise faults.device("the page file is shorter than what was written to it", self.folder, "")
            moved += step

    def _check_owner(self) -> None:
        if os.getpid() != self.owner:
            raise faults.device(
                "the page file belongs to the process that this one was forked from",
                "",
                "compile the module in this process, or start it with spawn",
            )

    def speed(self) -> PagerSpeed:
        """Measures the disk and not the system's cache of it: the write is flushed, and the cache is dropped before the
        read."""
        storage = torch.ones(_PROBE_BYTES, dtype=torch.uint8).untyped_storage()
        start = time.perf_counter()
        slot = self.write(storage)
        os.fdatasync(self.file)
        written = time.perf_counter()
        os.posix_fadvise(self.file, *self.slots[slot], os.POSIX_FADV_DONTNEED)
        fetched = time.perf_counter()
        self.read(slot, storage)
        ended = time.perf_counter()
        self.give_back(slot)
        self.bytes_out = self.bytes_in = 0
        return PagerSpeed(_LATENCY_S, _PROBE_BYTES / (written - start), _PROBE_BYTES / (ended - fetched))


_PAGERS: list[FilePager] = []


def open_pager(folder: str | None) -> int | None:
    """The number of a pager in this folder; None where the folder is memory (tmpfs): paging frees nothing there."""
    folder = folder or _temporary_folder()
    if not os.path.isdir(folder):
        raise faults.usage(f"page_dir: {folder} is no folder", "name a folder on a disk, or page_dir=None")
    if _file_system(folder) in _MEMORY_FILE_SYSTEMS:
        return None
    for number, pager in enumerate(_PAGERS):
        if pager.folder == folder and pager.owner == os.getpid():
            return number
    _PAGERS.append(FilePager(folder))
    return len(_PAGERS) - 1


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise faults.device(f"there is no temporary folder: {error}", "", "set TMPDIR, or page_dir=None") from error


def pager_of(number: int) -> FilePager:
    return _PAGERS[number]


def _file_system(folder: str) -> str:
    best, kind, place = "", "", os.path.realpath(folder)
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, found, *_ = line.split()
        if len(mount) >= len(best) and (place + "/").startswith(mount.rstrip("/") + "/"):
            best, kind = mount, found
    return kind


def _page_out(x: Tensor, pager: int) -> Tensor:
    slot = _PAGERS[pager].write(x.untyped_storage())
    token = torch.empty((0, slot + 1), dtype=torch.uint8)  # no bytes; its shape is the slot
    weakref.finalize(token.untyped_storage(), _PAGERS[pager].give_back, slot)
    return token


def _page_in(
    token: Tensor, size: list[int], stride: list[int], offset: int, count: int, dtype: torch.dtype, pager: int
) -> Tensor:
    flat = torch.empty(count, dtype=torch.uint8)
    _PAGERS[pager].read(token.shape[1] - 1, flat.untyped_storage())
    return torch.empty(0, dtype=dtype).set_(flat.untyped_storage(), offset, size, stride)


_LIBRARY.impl("page_out", _page_out, "CompositeExplicitAutograd")
_LIBRARY.impl("page_in", _page_in, "CompositeExplicitAutograd")


def fake_token(like: Tensor) -> Tensor:
    """A tensor that stands for a token while compiling."""
    with like.fake_mode:  # type: ignore[attr-defined]
        return torch.empty((0, 1), dtype=torch.uint8)
