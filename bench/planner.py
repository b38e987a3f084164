"""Benchmark of the planner on two cores: reference questions, placement, large graphs, every family against every baseline,
deadlines, measured times; a table and out/bench/planner.json, with the raw samples in planner-raw.json beside it.

usage: planner.py --pantoum BINARY --placement BINARY [--reference FOLDER] [--out FOLDER] [--only TEXT] [--quick] [--time-limit S]
--time-limit: of families, deadlines and measured, 30 s without it.
--quick: a few rows of families, deadlines and measured, the smallest of the large graphs, the small reference questions.
The reference questions, their tools and the synthetic cost graphs are not part of this repository: --reference names the
folder that holds tools/run_reference.py, tools/gen_costgraph.py and anchors/. What is missing is skipped and said.
Standard library only.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import time

import planner_deadlines
from planner_families import families
from planner_measured import measured
from table import Table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMITS = {"small": (1.0001, 1e-4), "sweep": (1.0001, 1e-3), "large": (1.0002, 3e-4)}  # ratio, gap
HUGE = [("transformer 72", 1e-3, 60), ("resnet 140", 1e-3, 60), ("chain 1000", 1e-3, 60), ("transformer 357", 2e-3, 180)]


def reference(table, args, kind, raw):
    name = f"reference {kind}"
    tool = os.path.join(args.reference, "tools", "run_reference.py")
    if not table.wants(name):
        return
    if not os.path.exists(tool):
        return table.skip(name, f"no {tool}")
    answers = os.path.join(args.out, f"planner-{kind}.json")
    subprocess.run([sys.executable, tool, "--pantoum", args.pantoum, "--set", kind, "--json", answers], stdout=subprocess.DEVNULL)
    with open(answers) as file:
        rows = json.load(file)
    raw[name] = rows
    ratio, gap = LIMITS[kind]
    answered = [row for row in rows if "ratio" in row]
    if not answered:
        return table.add(f"{name}: rows that answer with a valid plan", 0, "rows", len(rows), False)
    table.add(f"{name}: rows that answer with a valid plan", len(answered), "rows", len(rows), len(answered) == len(rows))
    table.add(f"{name}: worst plan over the best known", max(row["ratio"] for row in answered), "", f"<= {ratio}",
              all(row["ratio"] <= ratio for row in answered), f"{sum(row['ratio'] <= ratio for row in answered)} of {len(rows)} rows")
    table.add(f"{name}: worst proved gap", max(row["gap"] for row in answered), "", f"<= {gap}",
              all(row["gap"] <= gap for row in answered),
              f"{sum(row['gap'] <= gap for row in answered)} of {len(rows)} rows, {sum(row['gap'] <= 1e-4 for row in answered)} at 1e-4")
    table.add(f"{name}: longest", max(row["seconds"] for row in rows), "s", "the row's limit", not any("late" in row["why"] for row in rows),
              f"{sum(row['seconds'] < 1 for row in rows)} under 1 s")


def placement(table, args, raw):
    if not table.wants("placement"):
        return
    files = sorted(glob.glob(os.path.join(ROOT, "src", "place", "testdata", "*.csv")))
    done = subprocess.run([args.placement, "30", *files], capture_output=True, text=True)
    raw["placement"] = done.stdout.splitlines()
    for line in raw["placement"]:
        found = re.match(r"\s*([0-9.]+) s\s+(\S+\.csv)\s+(.*)", line)
        if found:
            table.add(f"placement {found[2]}", float(found[1]), "s", "<= 30", float(found[1]) <= 30 and "placed" in line, found[3])


def huge(table, args, raw):
    tool = os.path.join(args.reference, "tools", "gen_costgraph.py")
    for words, gap, limit in HUGE[:1] if args.quick else HUGE:
        for share in (0.5, 0.3):
            name = f"{words} at {share} of the unplanned peak"
            if not table.wants(name):
                continue
            if not os.path.exists(tool):
                table.skip(name, f"no {tool}")
                continue
            graph = os.path.join(args.out, words.replace(" ", "-") + ".json")
            subprocess.run([sys.executable, tool, *words.split(), "-o", graph], check=True)
            ask = [args.pantoum, "plan", "--costgraph", graph, "--format", "json"]
            peak = json.loads(subprocess.run([*ask, "--ram", "1000GiB", "--effort", "1"], capture_output=True, text=True).stdout)["unplanned_peak_bytes"]
            begin = time.monotonic()
            done = subprocess.run([*ask, "--ram", f"{int(share * peak)}B", "--time-limit", f"{limit}s"], capture_output=True, text=True)
            seconds = time.monotonic() - begin
            raw[name] = {"seconds": seconds, "answer": done.stdout, "error": done.stderr}
            if done.returncode != 0:
                table.add(f"{name}: proved gap", 1.0, "", f"<= {gap}", False, f"exit {done.returncode} after {seconds:.1f} s")
                continue
            plan = json.loads(done.stdout)
            table.add(f"{name}: proved gap", plan["gap"], "", f"<= {gap}", plan["gap"] <= gap, f"{plan['ops']} ops, {seconds:.1f} s")
            table.add(f"{name}: time", seconds, "s", f"<= {limit}", seconds <= limit)


def on_two_cores(table):
    """Keeps this process and all that it starts on two cores."""
    given = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, given[:2])
    table.add("cores", min(2, len(given)), "cores", "2", len(given) >= 2, f"of {len(given)}: nothing is asked on more")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--placement", required=True)
    parser.add_argument("--reference", default=os.path.join(ROOT, "..", "shared"))
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    planner_deadlines.add_arguments(parser)
    args = parser.parse_args()
    if args.quick:
        args.stride, args.small, args.time_limit = 36, True, 5
    os.makedirs(args.out, exist_ok=True)
    table, raw = Table(args.only), {}
    on_two_cores(table)
    placement(table, args, raw)
    for kind in ("small",) if args.quick else LIMITS:
        reference(table, args, kind, raw)
    huge(table, args, raw)
    families(table, args, raw)
    planner_deadlines.deadlines(table, args, raw)
    measured(table, args, raw)
    for name, value in (("planner.json", table.rows), ("planner-raw.json", raw)):
        with open(os.path.join(args.out, name), "w") as file:
            json.dump(value, file, indent=1)
    missed = sum(not row["ok"] and not row["skipped"] for row in table.rows)
    print(f"{len(table.rows)} figures, {missed} missed, {sum(row['skipped'] for row in table.rows)} skipped; {os.path.join(args.out, 'planner.json')}")


if __name__ == "__main__":
    main()
