#!/usr/bin/env python3
"""Faults at every call: `make faults`. Runs the programs of this folder, prints their table and writes out/bench/faults.json.

usage: run.py [--pantoum PROGRAM] [--quick] [--seed N] [--only injection,kills] [--jobs N]
--only asks some, and replaces their rows in the file; --quick tries a sample of each, and writes no file. A program that fails to show its rows, and a row that is skipped, are faults: the exit status is 1.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SIDE_BY_SIDE = ("injection", "power_loss", "power_loss_firmware", "kills", "bit_flips", "hostile", "names")
ALONE = ("encryption", "fuzzers")  # they measure time, or take every core
NOT_QUICK = ("encryption", "fuzzers")  # make test runs the fuzzers by themselves, and asserts no times


def ask(name, options, folder):
    """The rows of one program, and what it printed."""
    path = os.path.join(folder, name + ".json")
    words = [sys.executable, os.path.join(HERE, name + ".py"), "--pantoum", options.pantoum, "--seed", str(options.seed), "--json", path]
    done = subprocess.run(words + ["--quick"] * options.quick, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(done.stdout, end="", flush=True)
    if not os.path.exists(path):
        return [{"name": name, "value": 0, "unit": "", "target": "its rows", "ok": False, "skipped": False, "note": f"ended with {done.returncode}, without rows"}]
    with open(path) as file:
        return json.load(file)


def keep(rows, options):
    """Writes out/bench/faults.json; with --only the other rows stay."""
    path = os.path.join(ROOT, "out", "bench", "faults.json")
    before = []
    if options.only and os.path.exists(path):
        with open(path) as file:
            before = json.load(file)["rows"]
    asked = {row["name"] for row in rows}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump({"rows": [row for row in before if row["name"] not in asked] + rows, "raw": {"seed": options.seed}}, file, indent=1)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pantoum", default=os.path.join(ROOT, "build", "release", "bin", "pantoum"))
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options = options.parse_args()
    wanted = set(options.only.split(",")) if options.only else set(SIDE_BY_SIDE + ALONE) - (set(NOT_QUICK) if options.quick else set())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for found in pool.map(lambda name: ask(name, options, folder), [name for name in SIDE_BY_SIDE if name in wanted]):
                rows += found
        for name in ALONE:
            if name in wanted:
                rows += ask(name, options, folder)
    missed = [row["name"] for row in rows if not row["ok"]]
    print(f"{len(rows) - len(missed)} of {len(rows)} rows as they should" + (f"; not: {', '.join(missed)}" if missed else ""))
    if not options.quick:
        keep(rows, options)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
