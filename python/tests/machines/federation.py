"""A Flower federation over slow links: a SuperLink and SuperNodes, each in a network namespace of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from network import Star, inside

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BIN = Path(sys.executable).parent
_CONFIG = '[superlink]\ndefault = "there"\n[superlink.there]\naddress = "127.0.0.1:9093"\ninsecure = true\n'


class Federation:
    """Starts the engine inside the namespaces of ``star``; what it prints lies in ``folder``."""

    def __init__(self, star: Star, folder: Path, rams: list[str | None]) -> None:
        self._star, self._folder = star, folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(_CONFIG, encoding="ascii")
        path = os.pathsep.join([str(ROOT / "examples" / "federated"), os.environ.get("PYTHONPATH", "")])
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "FLWR_HOME": str(folder),
            "FLWR_TELEMETRY_ENABLED": "0",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": path,
            "PYTHONUNBUFFERED": "1",
        }
        self._start(
            star.server, "server", "flower-superlink", "--insecure", "--disable-runtime-dependency-installation"
        )
        self._wait_for_port(star.server, 9092)
        self.nodes = []
        for at, ram in enumerate(rams):
            config = f"partition-id={at}" + (f' ram="{ram}"' if ram else "")
            self.nodes.append(
                self._start(
                    star.clients[at],
                    f"client{at}",
                    "flower-supernode",
                    "--insecure",
                    "--superlink",
                    f"{star.address(at)}:9092",
                    "--node-config",
                    config,
                )
            )

    def _start(self, namespace: str, name: str, *command: str) -> subprocess.Popen[bytes]:
        with open(self._folder / f"{name}.log", "wb") as log:
            return self._star.start(namespace, [str(BIN / command[0]), *command[1:]], self._environment, log)

    def _wait_for_port(self, namespace: str, port: int) -> None:
        probe = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1).close()"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            tried = [*inside(namespace), sys.executable, "-c", probe]
            if subprocess.run(tried, capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.5)
        raise TimeoutError("the SuperLink does not listen:\n" + self.log("server"))

    def run(self, **settings: object) -> subprocess.Popen[bytes]:
        """Submits the app; the process ends with the run."""
        words = [f"{name.replace('_', '-')}={_toml(value)}" for name, value in settings.items()]
        return self._start(
            self._star.server,
            "run",
            "flwr",
            "run",
            str(HERE / "app"),
            "there",
            "--stream",
            "--run-config",
            " ".join(words),
        )

    def log(self, name: str) -> str:
        """What ``server``, ``client0``, .. or ``run`` has printed so far, without colours."""
        text = (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        return re.sub(r"\x1b\[[0-9;]*m", "", text)

    def wait_for(self, name: str, words: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while words not in self.log(name):
            if time.monotonic() > end:
                raise TimeoutError(f"'{words}' is not in the log of {name}:\n{self.log(name)[-4000:]}")
            time.sleep(0.1)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, (str, Path)) else str(value)
