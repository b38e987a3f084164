"""Network namespaces joined by slow links: 40 ms both ways together, 2 Mbit/s each way, 1% of the packets lost.

The links are the kernel's (`tc netem`) where it has that queue, and otherwise a process that carries packets between
two TUN devices by the same three rules. Either way TCP meets delay, rate and loss. Needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import IO

DELAY_S, BITS_PER_S, LOSS = 0.020, 2_000_000, 0.01  # of one way
QUEUE_S = 0.5  # what waits longer for its turn is dropped, as by a router
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 1, 0x1000


def why_not() -> str | None:
    """The reason for which this machine allows no namespaces; None where it does."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            return f"the program {program} ({package}) is missing"
    name = f"pt{os.getpid()}p"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"ip netns: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=False)
    return None


def inside(namespace: str) -> list[str]:
    """What to put before a command. (`ip netns exec` would hide /sys/fs/cgroup.)"""
    return ["nsenter", f"--net=/var/run/netns/{namespace}"]


def _ip(*words: str, ok: bool = True) -> None:
    subprocess.run(["ip", *words], check=ok, capture_output=True)


class _Direction:
    """Packets of one way: each takes its turn at the rate, then the delay; some are lost."""

    def __init__(self, into: int, seed: int) -> None:
        self.into, self._free_at, self._waiting = into, 0.0, list[tuple[float, int, bytes]]()
        self._random, self._count = random.Random(seed), 0

    def take(self, packet: bytes, now: float) -> None:
        begin = max(now, self._free_at)
        if begin - now > QUEUE_S or self._random.random() < LOSS:
            return
        self._free_at = begin + len(packet) * 8 / BITS_PER_S
        self._count += 1
        heapq.heappush(self._waiting, (self._free_at + DELAY_S, self._count, packet))

    def give(self, now: float) -> float | None:
        """Sends what is due; seconds until the next is."""
        while self._waiting and self._waiting[0][0] <= now:
            with suppress(OSError):  # the device is down: the packet is lost
                os.write(self.into, heapq.heappop(self._waiting)[2])
        return self._waiting[0][0] - now if self._waiting else None


class _Carrier(threading.Thread):
    """Carries packets between pairs of TUN devices."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        super().__init__(daemon=True)
        self._ways = {}
        for at, (one, other) in enumerate(pairs):
            self._ways[one], self._ways[other] = _Direction(other, 2 * at), _Direction(one, 2 * at + 1)
        self._ending = False

    def run(self) -> None:
        while not self._ending:
            now = time.monotonic()
            waits = [wait for way in self._ways.values() if (wait := way.give(now)) is not None]
            ready, _, _ = select.select(list(self._ways), [], [], min([*waits, 0.2]))
            for device in ready:
                self._ways[device].take(os.read(device, 65536), time.monotonic())

    def end(self) -> None:
        self._ending = True
        self.join()
        for device in self._ways:
            os.close(device)


def _tun_in(namespace: str, name: str) -> int:
    """A TUN device inside the namespace; its descriptor stays with this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    made: list[int] = []

    def make() -> None:  # a thread has a namespace of its own: this one ends there
        with open(f"/var/run/netns/{namespace}", "rb") as file:
            if libc.setns(file.fileno(), _CLONE_NEWNET) != 0:
                return
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
        made.append(device)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if not made:
        raise OSError("no TUN device in a network namespace")
    return made[0]


class Star:
    """A namespace for the server and one for each client; every client has a slow link to the server."""

    def __init__(self, clients: int) -> None:
        tag = f"pt{os.getpid()}"
        self.server, self.clients = f"{tag}s", [f"{tag}c{at}" for at in range(clients)]
        self.kind = ""  # of the links: "netem", or "emulated"
        self._carrier: _Carrier | None = None
        self._started: list[subprocess.Popen[bytes]] = []

    def address(self, client: int) -> str:
        """Of the server, as this client sees it."""
        return f"10.77.{client}.1"

    def __enter__(self) -> Star:
        try:
            for namespace in (self.server, *self.clients):
                _ip("netns", "add", namespace)
                _ip("-n", namespace, "link", "set", "lo", "up")
            if not self._link_by_netem():
                self._link_by_carrier()
        except BaseException:
            self._remove()
            raise
        return self

    def _link_by_netem(self) -> bool:
        shaped = ["root", "netem", "delay", "20ms", "rate", "2mbit", "loss", "1%"]
        for at, client in enumerate(self.clients):
            _ip("link", "add", f"s{at}", "netns", self.server, "type", "veth", "peer", "name", "wan", "netns", client)
            for namespace, device in ((self.server, f"s{at}"), (client, "wan")):
                done = subprocess.run(
                    [*inside(namespace), "tc", "qdisc", "add", "dev", device, *shaped],
                    capture_output=True,
                    check=False,
                )
                if done.returncode != 0:  # this kernel has no netem
                    _ip("-n", self.server, "link", "del", f"s{at}")
                    return False
            self._number(at, f"s{at}", "wan")
        self.kind = "netem"
        return True

    def _link_by_carrier(self) -> None:
        pairs = []
        for at, client in enumerate(self.clients):
            pairs.append((_tun_in(self.server, f"s{at}"), _tun_in(client, "wan")))
            self._number(at, f"s{at}", "wan")
        self._carrier = _Carrier(pairs)
        self._carrier.start()
        self.kind = "emulated"

    def _number(self, at: int, at_server: str, at_client: str) -> None:
        _ip("-n", self.server, "addr", "add", f"10.77.{at}.1/24", "dev", at_server)
        _ip("-n", self.server, "link", "set", "dev", at_server, "up")
        _ip("-n", self.clients[at], "addr", "add", f"10.77.{at}.2/24", "dev", at_client)
        _ip("-n", self.clients[at], "link", "set", "dev", at_client, "up")

    def start(
        self, namespace: str, command: list[str], environment: dict[str, str], log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Runs a command inside; it and what it started ends with the namespaces."""
        process = subprocess.Popen(
            [*inside(namespace), *command], start_new_session=True, env=environment, stdout=log, stderr=log
        )
        self._started.append(process)
        return process

    @staticmethod
    def kill(namespace: str) -> None:
        """Every process inside, at once."""
        pids = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False).stdout
        for pid in pids.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        for process in self._started:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for namespace in (self.server, *self.clients):
            self.kill(namespace)
        if self._carrier:
            self._carrier.end()
        for namespace in (self.server, *self.clients):
            _ip("netns", "del", namespace, ok=False)
