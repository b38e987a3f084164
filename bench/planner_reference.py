"""Rows `reference`: the reference questions, asked one by one by tools/run_reference.py, which judges plan, bound and time.

A row's figure is the proved gap. Up to 100 ops it is to be 1e-4 at most, whatever the set allows.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

from planner_ask import LATE, Question

LIMITS = {"small": (1.0001, 1e-4), "sweep": (1.0001, 1e-3), "large": (1.0002, 3e-4)}  # ratio, gap; run_reference.py allows more from 1,500 ops
TABLES = {"small": "reference.csv", "sweep": "reference_sweep.csv", "large": "reference_large.csv"}
SECONDS = {"small": 10, "sweep": 30, "large": 20}  # as run_reference.py allows
FEW_OPS, FEW_GAP = 100, 1e-4
ARGUMENTS = "gen_costgraph.py arguments"


def rows_of(asker, kind):
    """The questions of a set as its table has them."""
    folder = os.path.join(asker.tools, "..", "anchors", "instances")
    path = os.path.join(folder, TABLES[kind])
    if not os.path.exists(path):
        return []
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return [{**row, "costgraph": os.path.abspath(os.path.join(folder, row["costgraph"]))} if "costgraph" in row else row for row in rows]


def label(kind, row):
    graph = row[ARGUMENTS].replace("--device ", "") if ARGUMENTS in row else os.path.basename(row["costgraph"]).replace(".costgraph.json", "")
    words = [f"{row['deadline_s']} s" if row.get("deadline_s") else "", "no paging" if row.get("paging") == "no" else ""]
    return " ".join(["reference", kind, graph, "in", row["ram_bytes"], "B", *filter(None, words)])


def graph_of(asker, row):
    if "costgraph" in row:
        return row["costgraph"]
    words, device = row[ARGUMENTS].split(" --device ")
    return asker.graph(words, device)


def questions(asker, long):
    for kind in TABLES:
        for row in rows_of(asker, kind):
            yield Question(label(kind, row), SECONDS[kind] + LATE, _asking(asker, kind, row))


def answer_of(asker, kind, row):
    """What run_reference.py says of a set with this row alone."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, TABLES[kind]), "w", newline="") as file:
            table = csv.DictWriter(file, row.keys())
            table.writeheader()
            table.writerow(row)
        out = os.path.join(folder, "answers.json")
        words = [sys.executable, asker.tool("run_reference.py"), "--pantoum", asker.pantoum, "--set", folder, "--json", out]
        subprocess.run(words + (["--time-limit", str(asker.limit(SECONDS[kind]))] if asker.quick else []), stdout=subprocess.DEVNULL)
        with open(out) as file:
            return json.load(file)[0]


def _asking(asker, kind, row):
    def ask(table, raw):
        name = label(kind, row)
        found = raw[name] = answer_of(asker, kind, row)
        ratio, gap = LIMITS[kind]
        if found["ops"] <= FEW_OPS:
            gap = min(gap, FEW_GAP)
        if "gap" not in found:
            return table.add(name, 1.0, "", f"gap <= {gap}", False, found["why"])
        held = found["ok"] and (found["ops"] > FEW_OPS or found["gap"] <= FEW_GAP)
        table.add(name, found["gap"], "", f"gap <= {gap}, ratio <= {ratio}", held,
                  "; ".join(filter(None, [found["why"], f"{found['ops']} ops, {found['ratio']:.6f} of the best known, {found['seconds']} s"])))
    return ask
