#!/usr/bin/env python3
"""The figures of the Python package: `make bench-python`. Prints a table, and writes out/bench/python.json.

usage: run.py [--out FOLDER] [--only PART,PART]
Parts: models, memory, trainer, machines, install. Each is a program of this folder, and runs by itself. A part that
ends without its rows is a missed row. The interpreter that runs this needs pantoum with its extras [torch] and
[flower].
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PARTS = {
    "models": ("models.py", "python-models.json"),
    "memory": ("torch_budget.py", "python-torch-budget.json"),
    "trainer": ("trainer.py", "python-trainer.json"),
    "machines": ("many_machines.py", "python-many-machines.json"),
    "install": ("install.py", "python-install.json"),
}


def run_part(name: str, folder: Path) -> dict[str, Any]:
    """The rows of one part; what it prints is shown as it comes."""
    program, written = PARTS[name]
    begin = time.monotonic()
    ended = subprocess.run([sys.executable, str(HERE / program), "--out", str(folder)], check=False).returncode
    try:
        answer = json.loads((folder / written).read_text(encoding="utf-8"))
        rows, raw = list(answer["rows"]), answer.get("raw")
    except (OSError, ValueError, KeyError):
        rows, raw = [], None
    if not rows:
        note = f"{program} ended with {ended} and wrote no rows"
        rows = [{"name": name, "value": 0.0, "unit": "", "target": "", "ok": False, "skipped": True, "note": note}]
        print(f"MISS {name}: {note}", flush=True)
    return {"rows": rows, "raw": raw, "seconds": time.monotonic() - begin}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default="out/bench", type=Path)
    options.add_argument("--only", default=",".join(PARTS))
    asked = options.parse_args()
    names = asked.only.split(",")
    for name in names:
        if name not in PARTS:
            options.error(f"there is no part '{name}': {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        found = {name: run_part(name, Path(folder)) for name in names}
    rows = [row for part in found.values() for row in part["rows"]]
    raw = {name: {"seconds": part["seconds"], "raw": part["raw"]} for name, part in found.items()}
    asked.out.mkdir(parents=True, exist_ok=True)
    with open(asked.out / "python.json", "w", encoding="utf-8") as file:
        json.dump({"rows": rows, "raw": raw}, file, indent=1)
    missed = [row["name"] for row in rows if not row["ok"]]
    print(
        f"{len(rows) - len(missed)} of {len(rows)} rows as they should{'; not: ' + ', '.join(missed) if missed else ''}"
    )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
