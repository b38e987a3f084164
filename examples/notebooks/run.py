#!/usr/bin/env python3
"""Runs every notebook of this folder from its first cell to its last, one on each core: `make notebooks`. A cell that fails is shown, and the exit
status is 1. What the cells print is not written back.

usage: run.py [NAME...]
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUSY = "The current node timed out during startup"  # Ray gives its processes 30 s, which a busy machine may exceed


def run(path: Path) -> str:
    """Why it failed; "": it ran."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        try:
            NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
        except CellExecutionError as error:
            return str(error)
    return ""


def timed(path: Path) -> tuple[str, float]:
    begin = time.monotonic()
    return run(path), time.monotonic() - begin


def main() -> int:
    asked = [HERE / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb"))
    lacking = [name for name in ("nbclient", "ipykernel", "torch", "flwr") if importlib.util.find_spec(name) is None]
    if lacking:
        print(f"skipped: {', '.join(lacking)} not installed (make notebooks installs them)")
        return 0
    failed = 0
    with ProcessPoolExecutor(os.cpu_count()) as side_by_side:
        found = side_by_side.map(timed, asked)
        for path, (why, seconds) in zip(asked, found):
            if BUSY in why:
                print(f"again {path.name}: the simulation's processes did not start in time", flush=True)
                why, seconds = timed(path)
            failed += bool(why)
            print(f"{'MISS' if why else 'ok  '} {path.name} {seconds:.1f} s {why}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
