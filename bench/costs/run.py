"""Benchmark of costs, graphs and algorithms: a table, and out/bench/costs.json with the raw figures.

usage: run.py --pantoum BINARY --rewrite-test BINARY [--out FOLDER] [--only TEXT] [--quick] [--minutes N]
--only: rows whose name begins with these words. --quick: few plans, one round. --minutes: of the whole, 45; where the pace exceeds it, the last section
(joint) plans for less time, and its notes say so. Nothing else may run on the machine meanwhile. The file is written after every section.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import costmodel  # noqa: E402
import energy  # noqa: E402
import joint  # noqa: E402
import layers  # noqa: E402
import substitutions  # noqa: E402
from ask import ROOT, Program, Refused  # noqa: E402
from table import Table  # noqa: E402


class Bench:
    def __init__(self, args):
        self.table, self.raw, self.quick = Table(args.only), {}, args.quick
        self.seconds = .5 if args.quick else 3  # of steps, of each plan
        self.folder, self.file = os.path.join(args.out, "costs"), os.path.join(args.out, "costs.json")
        self.end = time.monotonic() + 60 * args.minutes
        os.makedirs(self.folder, exist_ok=True)

    def section(self, program, name, act, minutes=math.inf):
        """One that fails says so, and the others go on. --only keeps those whose rows may have its words. After its minutes steps get as few rounds as may be."""
        asked, own = set(self.table.only.split()), set(name.split())
        if not (asked <= own or own <= asked):
            return
        begin = time.monotonic()
        program.until = begin + 60 * minutes
        try:
            act()
        except (Refused, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            self.table.add(name, float("nan"), "", "", False, f"failed: {error}")
        self.raw.setdefault("seconds", {})[name] = time.monotonic() - begin
        self.save()

    def save(self):
        with open(self.file, "w") as file:
            json.dump({"rows": self.table.rows, "raw": self.raw}, file, indent=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--rewrite-test", required=True)
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=float, default=45)
    args = parser.parse_args()
    bench = Bench(args)
    program = Program(os.path.abspath(args.pantoum), bench.folder, 1 if args.quick else 3)
    program.forget_times()
    bench.section(program, "peak", lambda: layers.peaks(bench, program))
    bench.section(program, "substitution", lambda: substitutions.run(bench, os.path.abspath(args.rewrite_test)))
    for name in costmodel.NETWORKS:
        bench.section(program, f"costmodel first train {name}", lambda name=name: costmodel.first_measuring(bench, program, name))
        bench.section(program, f"costmodel {name}", lambda name=name: costmodel.run(bench, program, name), 3)
    for name in energy.NETWORKS:
        bench.section(program, f"energy table {name}", lambda name=name: energy.run(bench, program, name), 4)
        bench.section(program, f"energy deadline {name}", lambda name=name: energy.deadline(bench, program, name))
    bench.section(program, "port layers", lambda: layers.port(bench, program))
    bench.section(program, "joint", lambda: joint.run(bench, program, len(os.sched_getaffinity(0))))
    bench.save()
    missed = sum(not row["ok"] for row in bench.table.rows)
    print(f"{len(bench.table.rows)} rows, {missed} missed; {bench.file}")


if __name__ == "__main__":
    main()
