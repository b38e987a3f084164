"""Many machines: rows `federated` and `distributed` of out/bench/python.json.

usage: many_machines.py [--out FOLDER] [--only TEXT] [--rounds N]

federated    the tests of python/tests/machines: three network namespaces, slow links, budgets of 24 and 9 MiB
distributed  samples/s of two ranks with unequal budgets over those of one rank, each with one kernel thread
             (examples/distributed), by the step that one in ten is quicker than: other programs slow the others down

The interpreter that runs this needs pantoum with its extras [torch] and [flower], and pytest.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from table import Table  # noqa: E402

TARGET = 1.6
SAMPLES, BATCH = 12800, 128
TRAIN = ROOT / "examples" / "distributed" / "train.py"


def has(module: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def federated(table: Table) -> None:
    """Every test is a part of what must be shown; a skipped one is a missed one."""
    if not has("flwr"):
        return table.skip("federated", "Flower is not installed")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        str(ROOT / "python" / "tests" / "machines"),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    count = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", answer.stdout)}
    if count.get("skipped"):
        return table.skip("federated", "; ".join(re.findall(r"SKIPPED.*: (.*)", answer.stdout)))
    note = "of the shown: equal bits, learning, caps, the kernel's own count, a killed client"
    table.add(
        "federated", count.get("passed", 0), "of 5", "5 of 5", answer.returncode == 0 and count.get("passed") == 5, note
    )
    if answer.returncode != 0:
        print(answer.stdout[-3000:])
    return None


def rate(ranks: int, rams: list[str], folder: str) -> dict[str, Any]:
    """One training of `ranks` processes; each has one thread, and a core of its own where there are as many."""
    path = os.path.join(folder, "figures.json")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(ranks),
        str(TRAIN),
    ]
    command += ["--ram", *rams, "--batch", str(BATCH), "--samples", str(SAMPLES), "--json", path]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    with open(path, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def distributed(table: Table, rounds: int) -> dict[str, Any]:
    """Turn by turn, the best of each counts: what else the machine does slows them down."""
    raw: dict[str, list[dict[str, Any]]] = {"one": [], "two": [], "equal": []}
    if not has("torch"):
        table.skip("distributed", "PyTorch is not installed")
        return raw
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            raw["one"].append(rate(1, ["24MiB"], folder))
            raw["two"].append(rate(2, ["24MiB", "12MiB"], folder))
        raw["equal"].append(rate(2, ["all"], folder))
    one, two = (max(each["undisturbed_samples_per_s"] for each in raw[name]) for name in ("one", "two"))
    mean_one, mean_two = (max(each["samples_per_s"] for each in raw[name]) for name in ("one", "two"))
    bits = {each["digest"] for name in ("two", "equal") for each in raw[name]}
    same = "the weights of equal budgets to the bit" if len(bits) == 1 else "OTHER WEIGHTS than with equal budgets"
    note = f"{two:.0f} against {one:.0f} samples/s (all steps: {mean_two:.0f} and {mean_one:.0f}); {same}"
    table.add("distributed", two / one, "x", f">= {TARGET}", two / one >= TARGET and len(bits) == 1, note)
    return raw


def main() -> None:
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--out", type=Path, default=Path("out/bench"))
    line.add_argument("--only", default="")
    line.add_argument("--rounds", type=int, default=3)
    words = line.parse_args()
    table, raw = Table(words.only), {}
    if table.wants("distributed"):
        raw["distributed"] = distributed(table, words.rounds)
    if table.wants("federated"):
        federated(table)
    words.out.mkdir(parents=True, exist_ok=True)
    (words.out / "python-many-machines.json").write_text(
        json.dumps({"rows": table.rows, "raw": raw}, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
