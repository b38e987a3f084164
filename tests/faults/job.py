"""What the programs of this folder share: their options, the rows that they show, and how the program under test is called."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))


class Job:
    """pantoum: the program's path; quick: a sample, a few seconds a row; folder: scratch, gone afterwards; draw: random numbers of --seed."""

    def __init__(self, options, folder, table):
        self.pantoum, self.quick, self.seed, self.folder, self.table = os.path.abspath(options.pantoum), options.quick, options.seed, folder, table
        self.draw = random.Random(options.seed)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def call(self, *words, timeout=300, **more):
        return subprocess.run([self.pantoum, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=timeout, **more)

    def row(self, name, tried, faults, unit="points", target="all as they should", note=""):
        """One row: how many were tried, and whether none of them failed. `faults`: a line for each that did."""
        for fault in faults[:20]:
            print(f"     {name}: {fault}", flush=True)
        self.table.add(name, tried, unit, target, tried > 0 and not faults, f"{len(faults)} failed; {note}" if faults else note)


def main(run):
    """The main function of a program of this folder; `run` takes a Job and adds its rows."""
    from table import Table
    options = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pantoum", default=os.environ.get("PANTOUM", os.path.join(ROOT, "build", "release", "bin", "pantoum")))
    options.add_argument("--quick", action="store_true", help="a sample, as in make test")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--json", help="file for the rows")
    options = options.parse_args()
    os.environ["PANTOUM"] = os.path.abspath(options.pantoum)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        run(Job(options, folder, table))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table.rows, file)
    sys.exit(any(not row["ok"] for row in table.rows))
