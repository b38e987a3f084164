"""Counts the bytes of live tensors while a step runs, and what each op's kernel takes on the way.

A storage counts from the op that makes it until it dies, unless it is the caller's: given to the step, or returned.
"""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .costs import allocator_peak


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode for what runs under it, and a log of storages with their lives.

    peak_bytes       the most bytes of tensors at once, kernels' own temporaries included
    tensor_bytes     the same without temporaries
    held_bytes       what was made and is the caller's: outputs and gradients, which no budget counts
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.log: list[tuple[int, int]] = []  # (serial of a storage, bytes that it adds); serial -1: a temporary
        self.serials: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self.next_serial = 0
        self.graphs = 0  # compiled graphs that ran under it
        self.callers: set[int] = set()
        self.given: set[int] = set()

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in pytree.tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor):
                self._note(leaf, made=False)
        peak, result = allocator_peak(lambda: func(*args, **(kwargs or {})))
        before = len(self.log)
        made = sum(self._note(leaf, made=True) for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor))
        if peak > made:
            self.log[before:] = [*self.log[before:], (-1, peak - made), (-1, made - peak)]
        return result

    def _note(self, tensor: Tensor, made: bool) -> int:
        """Enters a storage that is new here. Returns the bytes that it adds."""
        if tensor.layout is not torch.strided:
            return 0
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.serials and self.serials[key][1]() is not None:
            return 0
        serial, self.next_serial = self.next_serial, self.next_serial + 1
        size = storage.nbytes()
        self.serials[key] = (serial, weakref.ref(storage, lambda _: self._died(key, serial, size)))
        if not made:
            self.given.add(serial)
        self.log.append((serial, size))
        return size

    def _died(self, key: int, serial: int, size: int) -> None:
        self.log.append((serial, -size))
        if key in self.serials and self.serials[key][0] == serial:
            del self.serials[key]

    def hold(self, values: Iterable[Any]) -> None:
        """These tensors are the caller's: outputs, gradients, tangents."""
        for leaf in pytree.tree_leaves(list(values)):
            if isinstance(leaf, Tensor):
                self._note(leaf, made=False)
                self.callers.add(self.serials[leaf.untyped_storage()._cdata][0])

    @property
    def peak_bytes(self) -> int:
        return self._peak(temporaries=True)

    @property
    def tensor_bytes(self) -> int:
        return self._peak(temporaries=False)

    @property
    def held_bytes(self) -> int:
        return sum(size for serial, size in self.log if serial in self.callers - self.given and size > 0)

    def _peak(self, temporaries: bool) -> int:
        live = peak = 0
        for serial, size in self.log:
            if serial in self.callers or serial in self.given or (serial == -1 and not temporaries):
                continue
            live += size
            peak = max(peak, live)
        return peak


_ACTIVE: list[LiveBytes] = []

BoxedCall: TypeAlias = Callable[[list[Any]], Any]
"""A compiled graph, which empties the list of its arguments."""


def boxed_call(call: BoxedCall) -> BoxedCall:
    """Marks a call as boxed, for AOTAutograd."""
    call._boxed_call = True  # type: ignore[attr-defined]
    return call


class Measurement:
    """`with measure() as seen:` around steps. Figures are bytes.

    live         the counter of live tensor bytes
    rss_growth   how much larger the process's resident set was at its largest than before
    """

    def __init__(self) -> None:
        self.live = LiveBytes()
        self.rss_growth = 0

    def __enter__(self) -> Measurement:
        gc.collect()
        with contextlib.suppress(OSError):  # else the peak is that of the process's whole life
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _status("VmRSS")
        _ACTIVE.append(self.live)
        return self

    def __exit__(self, *_: object) -> None:
        _ACTIVE.remove(self.live)
        self.rss_growth = max(0, _status("VmHWM") - self._before)

    @property
    def peak_bytes(self) -> int:
        return self.live.peak_bytes


def metered(run: BoxedCall, returned: int | None) -> BoxedCall:
    """A boxed call that counts while someone measures. `returned`: how many results are the caller's; None: all."""

    @boxed_call
    def call(args: list[Any]) -> Any:
        if not _ACTIVE:
            return run(args)
        meter = _ACTIVE[-1]
        meter.graphs += 1
        with meter:
            results = run(args)
        meter.hold(results[:returned])
        return results

    return call


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0
