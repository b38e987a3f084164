"""Benchmark of costs, graphs and algorithms: a table, and out/bench/costs.json with the raw figures.

usage: run.py --pantoum BINARY --rewrite-test BINARY [--out FOLDER] [--only TEXT] [--quick] [--minutes N]
--only: rows whose name begins with these words. --quick: few plans and rounds. --minutes: of the whole, 45, which the sections share; where the pace
exceeds it, they take fewer rounds, the last section (joint) plans for less time, and its notes say so. Nothing else may run on the machine meanwhile.
The file is written after every section.
"""
import argparse
import functools
import json
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

    def run(self, program, sections):
        """Each (weight, name, act) that --only keeps. What is left of the time is shared by weight; after its share a section's steps get as few rounds as may be."""
        asked = set(self.table.only.split())
        sections = [of for of in sections if asked <= set(of[1].split()) or set(of[1].split()) <= asked]
        weights = sum(weight for weight, _, _ in sections)
        for weight, name, act in sections:
            begin = time.monotonic()
            program.until = begin + max(0, self.end - begin) * weight / weights
            weights -= weight
            self.section(name, act)
            self.raw.setdefault("seconds", {})[name] = time.monotonic() - begin
            self.save()

    def section(self, name, act):
        """One that fails says so, and the others go on."""
        try:
            act()
        except (Refused, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            self.table.add(name, float("nan"), "", "", False, f"failed: {error}")

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
    rewrite_test = os.path.abspath(args.rewrite_test)
    bench.run(program, [
        (1, "peak", lambda: layers.peaks(bench, program)),
        (.5, "substitution", lambda: substitutions.run(bench, rewrite_test)),
        *((.2, f"costmodel first train {name}", functools.partial(costmodel.first_measuring, bench, program, name)) for name in costmodel.NETWORKS),
        *((3, f"costmodel {name}", functools.partial(costmodel.run, bench, program, name)) for name in costmodel.NETWORKS),
        *((3, f"energy table {name}", functools.partial(energy.run, bench, program, name)) for name in energy.NETWORKS),
        *((.3, f"energy deadline {name}", functools.partial(energy.deadline, bench, program, name)) for name in energy.NETWORKS),
        (2, "port layers", lambda: layers.port(bench, program)),
        (20, "joint", lambda: joint.run(bench, program, len(os.sched_getaffinity(0))))])
    bench.save()  # also where --only keeps nothing
    missed = sum(not row["ok"] for row in bench.table.rows)
    print(f"{len(bench.table.rows)} rows, {missed} missed; {bench.file}")


if __name__ == "__main__":
    main()
