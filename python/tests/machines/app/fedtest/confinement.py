"""A cgroup of this process's own: memory that it takes from now on counts against a limit, beyond which the kernel
kills it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


class Confinement:
    """Entered by ``enter``; what was in RAM before stays where it was counted."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._own: Path | None = None
        self._limit, self._peak, self.limit = "memory.max", "memory.peak", 0
        if (_V1 / "memory.limit_in_bytes").exists():
            self._root, self._limit, self._peak = _V1, "memory.limit_in_bytes", "memory.max_usage_in_bytes"
        elif (_V2 / "cgroup.controllers").exists():
            controlled = (_V2 / "cgroup.subtree_control").read_text(encoding="ascii").split()
            self._root = _V2 if "memory" in controlled else None

    def enter(self, limit: int) -> bool:
        """False: this machine has no memory cgroups for us."""
        if self._root is None:
            return False
        own = self._root / f"pantoum-{os.getpid()}"
        try:
            own.mkdir()
            (own / self._limit).write_text(str(limit), encoding="ascii")
            (own / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        except OSError:
            return False
        self._own, self.limit = own, limit
        return True

    def leave(self) -> int:
        """Bytes that were counted at most."""
        if self._root is None or self._own is None:
            raise RuntimeError("not inside")
        peak = int((self._own / self._peak).read_text(encoding="ascii"))
        (self._root / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        with suppress(OSError):  # pages that other processes use keep it
            self._own.rmdir()
        self._own = None
        return peak
