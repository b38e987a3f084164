"""Deadlines from 1.0x to 2x of the unplanned step, for every pager, with and without idle power: a part of planner.py.

usage: planner_deadlines.py --pantoum BINARY [--reference FOLDER] [--out FOLDER] [--only TEXT] [--time-limit S] [--stride N] [--small]
Every combination of family, device, pager and idle power in turn, of which each `stride`-th is asked, at all deadlines; its size and its
budget go round. A plan counts when check_plan.py says that it is valid and in time. A deadline that is refused although an earlier one
was met is a miss, and so is an answer after the limit. Standard library only.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = {"resnet": (4, 8, 20), "chain": (30, 60, 150), "transformer": (2, 6, 12), "unet": (4, 8, 16)}  # the last: about 350 ops
DEVICES = ("m4", "jet", "a72", "m0")
PAGERS = (("sync", "half"), ("async", "half"), ("async", "full"))
IDLE = (0.0, 0.3)  # share of the computes' mean power
SHARES = (0.5, 0.3)  # of the unplanned peak
FACTORS = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0)
MOST_GAP = 0.01
LATE = 1.0  # seconds over the limit that starting and writing may take


def questions(stride, small):
    combinations = itertools.product(SIZES, DEVICES, PAGERS, IDLE)
    for number, (family, device, pager, idle) in enumerate(combinations):
        if number % stride:
            continue
        sizes = SIZES[family][:2] if small else SIZES[family]
        turn = number // stride
        yield family, sizes[turn % len(sizes)], device, pager, idle, SHARES[turn // len(sizes) % len(SHARES)]


def make_graph(args, family, size, device, pager, idle):
    """The generated cost graph with another pager and idle power; its file and what planning nothing takes."""
    path = os.path.join(args.out, f"deadlines-{family}-{size}-{device}-{'-'.join(pager)}-{idle}.json")
    tool = os.path.join(args.reference, "tools", "gen_costgraph.py")
    subprocess.run([sys.executable, tool, family, str(size), "--device", device, "-o", path], check=True)
    with open(path) as file:
        graph = json.load(file)
    choices = [op["choices"][0] for op in graph["ops"]]
    seconds = sum(choice["time_s"] for choice in choices)
    graph["device"]["pager"].update(mode=pager[0], duplex=pager[1])
    graph["device"]["idle_w"] = idle * sum(choice["energy_j"] for choice in choices) / seconds
    with open(path, "w") as file:
        json.dump(graph, file)
    ask = [args.pantoum, "plan", "--costgraph", path, "--ram", "1000GiB", "--effort", "1", "--format", "json"]
    return path, json.loads(subprocess.run(ask, capture_output=True, text=True).stdout)["unplanned_peak_bytes"], seconds, len(graph["ops"])


def ask(args, path, ram, deadline):
    """One deadline: what was answered, and what the checker says of it."""
    out = os.path.join(args.out, "deadlines-plan.json")
    if os.path.exists(out):
        os.remove(out)
    begin = time.monotonic()
    done = subprocess.run([args.pantoum, "plan", "--costgraph", path, "--ram", f"{ram}B", "--deadline", f"{deadline!r}s", "--time-limit",
                           f"{args.time_limit}s", "-o", out], capture_output=True, text=True)
    row = {"ram_bytes": ram, "deadline_s": deadline, "seconds": time.monotonic() - begin, "exit": done.returncode, "found": os.path.exists(out)}
    row["late"] = row["seconds"] > args.time_limit + LATE
    if not row["found"]:
        row["clean"] = "E0301" in done.stderr or "E0302" in done.stderr
        row["proved"] = "E0301" in done.stderr
        return row
    checker = os.path.join(args.reference, "tools", "check_plan.py")
    verdict = subprocess.run([sys.executable, checker, path, out, "--ram", str(ram), "--deadline", repr(deadline), "--json"],
                             capture_output=True, text=True)
    row["valid"] = verdict.returncode == 0
    if not row["valid"]:
        row["why"] = (verdict.stdout + verdict.stderr).strip()
        return row
    replay = json.loads(verdict.stdout)
    with open(out) as file:
        bound = json.load(file)["bound"].get("energy_j", 0)
    row.update(energy_j=replay["energy_j"], time_s=replay["time_s"], bound_j=bound, gap=max(0.0, 1 - bound / replay["energy_j"]))
    return row


def show(row):
    if not row["found"]:
        return ("none" if row["clean"] else f"exit {row['exit']}") + ("!" if row["proved"] else "")
    return f"{row['gap']:.5f}" if row["valid"] else f"INVALID {row['why']}"


def deadlines(table, args, raw):
    name = "deadlines"
    if not table.wants(name):
        return
    if not os.path.exists(os.path.join(args.reference, "tools", "gen_costgraph.py")):
        return table.skip(name, "no tools/gen_costgraph.py")
    rows = raw[name] = []
    for family, size, device, pager, idle, share in questions(args.stride, args.small):
        label = f"{family} {size} {device} {'-'.join(pager)} idle {idle} at {share}"
        if args.question not in label:
            continue
        path, peak, seconds, ops = make_graph(args, family, size, device, pager, idle)
        asked = [{"name": label, "ops": ops, "factor": factor, **ask(args, path, int(share * peak), factor * seconds)} for factor in FACTORS]
        rows += asked
        print(f"     {label:48} {ops:4} ops  " + "  ".join(show(row) for row in asked), f" {max(row['seconds'] for row in asked):.1f} s", flush=True)
    summarize(table, rows, name)


def summarize(table, rows, name):
    found = [row for row in rows if row["found"]]
    valid = [row for row in found if row["valid"]]
    by_name = {row["name"]: min(other["factor"] for other in rows if other["name"] == row["name"] and other["found"])
               for row in found}
    lost = sum(not row["found"] and row["factor"] > by_name.get(row["name"], 1e300) for row in rows)
    unclean = sum(not row["found"] and not row["clean"] for row in rows)
    table.add(f"{name}: plans that are valid and in time", len(valid), "plans", len(found), len(valid) == len(found),
              f"of {len(rows)} questions; {sum(row.get('proved', False) for row in rows)} refused with a proof")
    table.add(f"{name}: refused though an earlier one is met", lost, "", 0, lost == 0)
    table.add(f"{name}: neither a plan nor E0301 or E0302", unclean, "", 0, unclean == 0)
    table.add(f"{name}: answers after the limit", sum(row["late"] for row in rows), "", 0, not any(row["late"] for row in rows))
    if valid:
        close = sum(row["gap"] <= MOST_GAP for row in valid)
        table.add(f"{name}: worst proved gap", max(row["gap"] for row in valid), "", f"<= {MOST_GAP}", close == len(valid),
                  f"{close} of {len(valid)} plans")


def add_arguments(parser):
    parser.add_argument("--stride", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="sizes up to about 180 ops")
    parser.add_argument("--time-limit", type=float, default=30)
    parser.add_argument("--question", default="", help="only those whose name contains it")


class Lines:
    """Stands for planner.py's table."""

    def wants(self, name):
        return True

    def skip(self, name, why):
        print(f"skipped {name}: {why}")

    def add(self, name, value, unit, target, ok, note=""):
        print(f"{'ok  ' if ok else 'MISS'} {name:58} {value:>12.6g} {unit}  target {target}  {note}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--reference", default=os.path.join(ROOT, "..", "shared"))
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    add_arguments(parser)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    raw = {}
    deadlines(Lines(), args, raw)
    with open(os.path.join(args.out, "planner-deadlines.json"), "w") as file:
        json.dump(raw.get("deadlines", []), file, indent=1)


if __name__ == "__main__":
    main()
