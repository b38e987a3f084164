#!/usr/bin/env python3
"""The shape of POET's figures 3, 4 and 5 and table 3 (Patil et al., ICML 2022), planned here. Standard library only.

usage: run.py --pantoum BINARY [--out DIR] [--effort N] [--points N] [--models ...] [--devices ...] [--planners ...]

Writes DIR/papers/*.csv, *.svg and tables.md, DIR/papers.json, and the sweeps themselves under DIR/papers/sweeps; what an earlier run of the
same question finished is taken as it is. docs/benchmarks.md says what the figures show. All figures are modelled.
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import charts
import graphs
import tables

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = ("resnet18", "vgg16", "bert")
DEVICES = ("m0", "m4", "a72", "tx2")
OWN = tables.OWN
LITERATURE = ("chen-sqrt", "chen-greedy", "griewank", "capuchin", "dtr", "checkmate-lp")  # compared where the binary has them
FIGURE4_RAM = 0.25              # of the way from the smallest budget to the unplanned peak
FIGURE4_SLACK = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)  # of the deadline: percent of the unplanned step
TABLE3_SHARE = 285873 / 311808  # POET's RAM over POFO's
INFEASIBLE, NOT_FOUND = 5, 6


class Bench:
    def __init__(self, args):
        self.args, self.commands = args, []
        self.folder = os.path.join(args.out, "papers")
        os.makedirs(os.path.join(self.folder, "graphs"), exist_ok=True)
        self.scratch = tempfile.TemporaryDirectory()
        known = self.run("sweep", "--help-all").stdout
        self.planners = [name for name in (args.planners or OWN + LITERATURE) if name in known.replace(",", " ").split()]

    def run(self, *words, accept=(0,)):
        done = subprocess.run([self.args.pantoum, *map(str, words)], capture_output=True, text=True)
        if done.returncode not in accept:
            raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr}")
        return done

    def graph(self, model, device):
        """The cost graph of a model on a device; returns its path."""
        path = os.path.join(self.folder, "graphs", f"{model}-{device}.json")
        name = f"{model}, batch 1"
        if model == "bert":
            shown = json.loads(self.run("devices", "show", device, "--format", "json").stdout)
            graph = graphs.bert(shown, name)
        else:
            graph = graphs.from_model(self.run, os.path.join(ROOT, "tests", "values", f"{model}.onnx"), device, name, self.scratch.name)
        with open(path, "w") as file:
            json.dump(graph, file)
        return path

    def range_of(self, graph):
        """(smallest budget for which a plan is known, unplanned peak), both in bytes."""
        least = json.loads(self.run("plan", "--costgraph", graph, "--ram", "1B", "--format", "json", accept=(INFEASIBLE,)).stdout)["min_ram_bytes"]
        peak = json.loads(self.run("plan", "--costgraph", graph, "--ram", "1GiB", "--effort", 1, "--format", "json").stdout)["unplanned_peak_bytes"]
        return least, peak

    def sweep(self, model, device, graph):
        least, peak = self.range_of(graph)
        folder = os.path.join(self.folder, "sweeps", f"{model}-{device}")
        words = ["sweep", "--costgraph", graph, "--ram", f"{least}B:{peak}B:{self.args.points}", "--planners", ",".join(self.planners),
                 "--effort", self.args.effort, "--time-limit", "60s", "-o", folder]
        if self.run(*words, accept=(0, 3)).returncode == 3:  # an earlier run asked something else
            shutil.rmtree(folder)
            self.run(*words)
        self.commands.append("pantoum " + " ".join(map(str, words)))
        with open(os.path.join(folder, "sweep.json")) as file:
            return json.load(file)

    def deadlines(self, graph, planner, ram):
        """Plans for ever later deadlines, each from the one before; the first from the fastest plan known."""
        flags = {"pantoum": [], "pantoum-paging-only": ["--no-remat"], "pantoum-remat-only": ["--no-paging"]}[planner]
        kept = os.path.join(self.scratch.name, f"{planner}.plan.json")
        words = ["plan", "--costgraph", graph, "--ram", f"{ram}B", "--effort", self.args.effort, "--format", "json", *flags, "-o", kept]
        warm = ["--warm-start", kept] if self.run(*words, "--objective", "time", accept=(0, INFEASIBLE, NOT_FOUND)).returncode == 0 else []
        for slack in FIGURE4_SLACK:
            done = self.run(*words, "--deadline", f"{1 + slack / 100:.6f}x", *warm, accept=(0, INFEASIBLE, NOT_FOUND))
            if done.returncode == 0:
                warm = ["--warm-start", kept]
            yield slack, json.loads(done.stdout) if done.returncode == 0 else None


def overhead(value, unplanned):
    return 100 * (value / unplanned - 1)


def sweep_rows(model, device, sweep):
    """One row per planner and budget, in the units of the figures: percent of the unplanned step."""
    base = sweep["unplanned"]
    for row in sweep["rows"]:
        planned = "energy_j" in row
        bound = row.get("bound_energy_j") if planned else None
        yield {"model": model, "device": device, "planner": row["planner"], "ram_bytes": row["ram_bytes"],
               "ram_percent": 100 * row["ram_bytes"] / base["peak_bytes"], "status": row["status"],
               "energy_overhead_percent": overhead(row["energy_j"], base["energy_j"]) if planned else None,
               "time_overhead_percent": overhead(row["time_s"], base["time_s"]) if planned else None,
               "bound_overhead_percent": overhead(bound, base["energy_j"]) if bound is not None else None,
               "min_ram_bytes": row.get("min_ram_bytes")}


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def curves(rows, x, y, bound=None):
    """A line per planner, and its bounds dashed."""
    lines = []
    for planner in dict.fromkeys(row["planner"] for row in rows):
        own = [row for row in rows if row["planner"] == planner]
        lines.append((planner, [(row[x], row[y]) for row in own if row[y] is not None], False))
        if bound and planner == "pantoum":
            lines.append((planner, [(row[x], row[bound]) for row in own if row[bound] is not None], True))
    return lines


def figure3(bench, swept):
    """Energy over RAM: models downward, devices to the right."""
    rows = [row for (model, device), sweep in swept.items() for row in sweep_rows(model, device, sweep)]
    write_csv(os.path.join(bench.folder, "figure3.csv"), rows)
    grid = []
    for model in dict.fromkeys(model for model, _ in swept):
        grid.append([charts.chart(f"{model} on {device}: energy over RAM (modelled)", "RAM, % of the unplanned peak", "energy overhead, %",
                                  curves([row for row in rows if (row["model"], row["device"]) == (model, device)],
                                         "ram_percent", "energy_overhead_percent", "bound_overhead_percent"))
                     for device in bench.args.devices if (model, device) in swept])
    write_text(os.path.join(bench.folder, "figure3.svg"), charts.page(grid))
    return rows


def figure4(bench, paths):
    """VGG16: energy over the deadline at one budget, for the three ablations."""
    rows, drawn = [], []
    for device in (device for model, device in paths if model == "vgg16"):
        graph, (least, peak) = paths["vgg16", device], bench.range_of(paths["vgg16", device])
        ram = int(least + FIGURE4_RAM * (peak - least))
        for planner in OWN:
            for slack, plan in bench.deadlines(graph, planner, ram):
                rows.append({"model": "vgg16", "device": device, "planner": planner, "ram_bytes": ram, "ram_percent": 100 * ram / peak,
                             "slack_percent": slack, "energy_overhead_percent": overhead(plan["energy_j"], plan["unplanned_energy_j"]) if plan else None,
                             "time_overhead_percent": overhead(plan["time_s"], plan["unplanned_time_s"]) if plan else None})
        own = [row for row in rows if row["device"] == device]
        drawn.append(charts.chart(f"vgg16 on {device} in {100 * ram / peak:.0f}% of the peak (modelled)",
                                  "deadline, % beyond the unplanned step", "energy overhead, %", curves(own, "slack_percent", "energy_overhead_percent"), log="x"))
    if rows:
        write_csv(os.path.join(bench.folder, "figure4.csv"), rows)
        write_text(os.path.join(bench.folder, "figure4.svg"), charts.page([drawn]))
    return rows


def figure5(bench, figure3_rows):
    """ResNet-18 on the A72: overhead over RAM, logarithmic."""
    rows = [row for row in figure3_rows if (row["model"], row["device"]) == ("resnet18", "a72")]
    if rows:
        write_csv(os.path.join(bench.folder, "figure5.csv"), rows)
        drawn = charts.chart("resnet18 on a72: energy over RAM (modelled, logarithmic)", "RAM, % of the unplanned peak", "energy overhead, %",
                             curves(rows, "ram_percent", "energy_overhead_percent"), log="y")
        write_text(os.path.join(bench.folder, "figure5.svg"), charts.page([[drawn]]))
    return rows


def table3(bench, paths):
    """ResNet-18 on the TX2: the fastest plan in the unplanned peak, in POET's share of it, and in ever less."""
    if ("resnet18", "tx2") not in paths:
        return []
    graph = paths["resnet18", "tx2"]
    least, peak = bench.range_of(graph)
    rows, warm = [], []
    for share in sorted({1.0, TABLE3_SHARE, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2}):
        ram, kept = int(share * peak), os.path.join(bench.scratch.name, "table3.plan.json")
        if ram < least:
            continue
        plan = json.loads(bench.run("plan", "--costgraph", graph, "--ram", f"{ram}B", "--objective", "time", "--effort", bench.args.effort, "--format", "json",
                                    "-o", kept, *warm).stdout)
        warm = ["--warm-start", kept]
        rows.append({"model": "resnet18", "device": "tx2", "planner": "pantoum", "ram_bytes": ram, "ram_percent": 100 * share, "arena_bytes": plan["arena_bytes"],
                     "time_s": plan["time_s"], "time_overhead_percent": overhead(plan["time_s"], plan["unplanned_time_s"])})
    write_csv(os.path.join(bench.folder, "table3.csv"), rows)
    return rows


def write_text(path, text):
    with open(path, "w") as file:
        file.write(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--effort", type=int, default=60, help="of every plan: the same figures everywhere")
    parser.add_argument("--points", type=int, default=9, help="budgets per curve")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--devices", nargs="*", choices=DEVICES, default=list(DEVICES))
    parser.add_argument("--planners", nargs="*", help="in place of this house's and the literature's")
    return parser.parse_args()


def main():
    bench, began, swept, paths = Bench(arguments()), time.monotonic(), {}, {}
    for model in bench.args.models:
        for device in bench.args.devices:
            paths[model, device] = bench.graph(model, device)
            swept[model, device] = bench.sweep(model, device, paths[model, device])
            print(f"{time.monotonic() - began:6.1f} s  {model} on {device}: {len(swept[model, device]['rows'])} plans", file=sys.stderr)
    rows = figure3(bench, swept)
    document = {"schema": "pantoum.bench.papers/1", "energy_source": "modelled", "effort": bench.args.effort, "planners": bench.planners,
                "version": bench.run("--version").stdout.strip(), "commands": bench.commands, "figure3": rows, "figure4": figure4(bench, paths),
                "figure5": figure5(bench, rows), "table3": table3(bench, paths)}
    write_text(os.path.join(bench.args.out, "papers.json"), json.dumps(document, indent=1) + "\n")
    write_text(os.path.join(bench.folder, "tables.md"), tables.page(document))
    print(f"{time.monotonic() - began:6.1f} s  {bench.args.out}/papers.json, {bench.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
