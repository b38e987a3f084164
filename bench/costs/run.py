"""Benchmark of costs, graphs and algorithms: a table, and out/bench/costs.json with the raw figures.

usage: run.py --pantoum BINARY --rewrite-test BINARY [--out FOLDER] [--only TEXT] [--quick] [--minutes N]
--only: rows whose name begins with these words. --quick: few plans and rounds. --minutes: of the whole, 45, which the sections share; where the pace
exceeds it, they take fewer rounds, the last section (joint) plans for less time, and its notes say so. Nothing else may run on the machine meanwhile.
The file is written after every section.
"""
import argparse
import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import costmodel  # noqa: E402
import energy  # noqa: E402
import joint  # noqa: E402
import layers  # noqa: E402
import substitutions  # noqa: E402
from ask import ROOT, Program  # noqa: E402
from sections import Sections  # noqa: E402


class Bench(Sections):
    def __init__(self, args):
        super().__init__("costs", args)
        self.seconds = .5 if args.quick else 3  # of steps, of each plan

    def asked(self, sections):
        asked = set(self.table.only.split())
        return [of for of in sections if asked <= set(of[1].split()) or set(of[1].split()) <= asked]


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
    program = Program(os.path.abspath(args.pantoum), bench.folder, 1 if args.quick else 3, [sys.executable, os.path.join(HERE, "export.py")])
    program.forget_times()
    rewrite_test = os.path.abspath(args.rewrite_test)
    bench.run(bench.asked([
        (1, "peak", lambda: layers.peaks(bench, program)),
        (.5, "substitution", lambda: substitutions.run(bench, os.path.abspath(args.pantoum), rewrite_test)),
        *((.2, f"costmodel first train {name}", functools.partial(costmodel.first_measuring, bench, program, name)) for name in costmodel.NETWORKS),
        *((3, f"costmodel {name}", functools.partial(costmodel.run, bench, program, name)) for name in costmodel.NETWORKS),
        *((3, f"energy table {name}", functools.partial(energy.run, bench, program, name)) for name in energy.NETWORKS),
        *((.3, f"energy deadline {name}", functools.partial(energy.deadline, bench, program, name)) for name in energy.NETWORKS),
        (2, "port layers", lambda: layers.port(bench, program)),
        (20, "joint", lambda: joint.run(bench, program, len(os.sched_getaffinity(0))))]))
    bench.tell()


if __name__ == "__main__":
    main()
