"""How long an installation takes: rows `install wheel` and `install source` of out/bench/python.json.

usage: install.py [--out FOLDER] [--only TEXT]

wheel   what `make wheel` made, into a fresh virtual environment; the five lines of README.md run in it, without torch
source  `pip install .` in a fresh clone of this tree (after `make setup`), with both processors

The time of a loaded machine is no fault of the build: the processor's time is in the note.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from table import Table  # noqa: E402

DATA = """import numpy as np
x = np.random.default_rng(0).standard_normal((320, 2)).astype(np.float32)
y = (x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 0)
"""
CHECK = """
import sys
assert "torch" not in sys.modules and history.history["loss"][-1] < history.history["loss"][0]
"""


def five_lines() -> str:
    """Of README.md."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    return next(block for block in blocks if "import pantoum" in block)


def environment(folder: Path) -> Path:
    """The interpreter of a fresh virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


def installed(python: Path, what: str, cwd: Path) -> tuple[float, float]:
    """Seconds, and seconds of the processors, of an installation."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([python, "-m", "pip", "install", "--quiet", what], cwd=cwd, check=True)
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lines_run(python: Path, folder: Path) -> bool:
    """Do README's lines train the example's network there?"""
    (folder / "net.onnx").write_bytes((ROOT / "examples" / "c" / "spirals.onnx").read_bytes())
    done = subprocess.run([python, "-I", "-c", DATA + five_lines() + CHECK], cwd=folder, check=False)
    return done.returncode == 0


def wheel(table: Table, folder: Path) -> None:
    wheels = sorted((ROOT / "out" / "wheel").glob(f"*-cp3{min(sys.version_info[1], 12)}-*.whl"))
    if not wheels:
        return table.skip("install wheel", "there is no wheel for this Python: `make wheel` makes one")
    python = environment(folder / "wheel")
    seconds, _ = installed(python, str(wheels[-1]), folder)
    runs = lines_run(python, folder)
    note = "README's lines run" if runs else "README's lines FAIL"
    return table.add("install wheel", seconds, "s", "<= 20", seconds <= 20 and runs, note)


def source(table: Table, folder: Path) -> None:
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    python = environment(folder / "source")
    os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = "2"
    seconds, worked = installed(python, ".", clone)
    runs = lines_run(python, folder)
    note = f"{worked:.0f} s of the processors; {'README lines run' if runs else 'README lines FAIL'}"
    table.add("install source", seconds, "s", "<= 360", seconds <= 360 and runs, note)


def main() -> None:
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--out", type=Path, default=Path("out/bench"))
    line.add_argument("--only", default="")
    words = line.parse_args()
    table = Table(words.only)
    made: list[tuple[str, Any]] = [("install wheel", wheel), ("install source", source)]
    with tempfile.TemporaryDirectory(prefix="pantoum-install-") as folder:
        for name, measure in made:
            if table.wants(name):
                measure(table, Path(folder))
    words.out.mkdir(parents=True, exist_ok=True)
    (words.out / "python-install.json").write_text(json.dumps({"rows": table.rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
