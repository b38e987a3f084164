"""Asks the reference questions with several engines: out/bench/engines.json (docs/design/semantics.md).

A reference row's figure is the plan's value over the best one known, or over the optimum where that is proved. It holds if the plan is accepted by
`pantoum verify` and by the reference checker, and if the ratio is at most 1 (proved), 1.01 (up to 100 ops) or 1.02. A bound row's figure is what is
proved over what chain and loads prove (`simple` of the table, or `lp` where the objective is energy); it holds at 1. `exhaustive` and `forged` ask
the tests against every plan of tiny graphs, all of them. engine_cores.py has the rows `cores`, engine_opencl.py the rows `opencl`, engine_port.py the rows
`port`. usage: engines.py --pantoum PROGRAM --plan-test PROGRAM --reference FOLDER
[--time-limit SECONDS] [--only TEXT]
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import engine_cores
import engine_opencl
import engine_port
import gtest_counts
from table import Table

EXACT = 1e-9
FEW_OPS = 100


def ask(pantoum, graph, row, limit, out):
    words = [pantoum, "plan", "--costgraph", graph, "--ram", row["ram_bytes"] + "B", "--objective", row["objective"], "--allow-numerics-change", "--time-limit", f"{limit}s", "-o", out]
    words += ["--deadline", row["deadline_s"] + "s"] if row["deadline_s"] else []
    words += ["--no-paging"] if row["paging"] == "no" else []
    return subprocess.run(words, capture_output=True, text=True)


def add_row(table, args, row, folder):
    name = f"reference {row['question']}"
    if not table.wants(name):
        return None
    most = 1 + EXACT if row["proved_optimal"] == "yes" else 1.01 if int(row["ops"]) <= FEW_OPS else 1.02
    target = "optimal" if row["proved_optimal"] == "yes" else f"ratio <= {most}"
    graph, out = os.path.join(args.reference, "anchors", "engines", row["costgraph"]), os.path.join(folder, "plan.json")
    done = ask(args.pantoum, graph, row, args.time_limit, out)
    if done.returncode != 0:
        table.add(name, 0.0, "", target, False, f"no plan: {done.stderr.strip().splitlines()[0]}")
        return None
    with open(out) as file:
        plan = json.load(file)
    figure = "energy_j" if row["objective"] == "energy" else "time_s"
    ratio, bound = plan["predicted"][figure] / float(row["best_known"]), plan["bound"][figure] / float(row["bound_lp" if figure == "energy_j" else "bound_simple"])
    checker = [sys.executable, os.path.join(args.reference, "tools", "check_plan.py"), graph, out, "--ram", row["ram_bytes"]]
    accepted = all(subprocess.run(words, capture_output=True).returncode == 0 for words in ([args.pantoum, "verify", out], checker))
    table.add(name, ratio, "", target, accepted and ratio <= most,
              f"{row['ops']} ops, gap {plan['solver']['gap']:.1%}{', proved' if plan['status'] == 'optimal' else ''}" + ("" if accepted else "; a checker refuses the plan"))
    best = plan["bound"][figure] / float(row["bound_lp"])
    table.add(f"bound {row['question']}", bound, "", "bound >= 1", bound >= 1 - EXACT, f"{best:.4f} of the program of load, precedence and intervals")
    return {"ratio": ratio, "bound": bound, "bound_of_lp": best, "accepted": accepted, "status": plan["status"]}


def checked(folder, reference):
    """Plans that a test wrote: how many, and how many the reference checker refuses."""
    plans = sorted(name for name in os.listdir(folder) if name.endswith(".plan.json"))
    checker = os.path.join(reference, "tools", "check_plan.py")
    refused = 0
    for name in plans:
        paths = [os.path.join(folder, name.replace(".plan.json", kind)) for kind in (".graph.json", ".plan.json")]
        refused += subprocess.run([sys.executable, checker, *paths], capture_output=True).returncode != 0
    return len(plans), refused


def add_test_rows(table, args, raw):
    if table.wants("exhaustive"):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PANTOUM_ENGINE_PLANS"] = folder
            for name, counts, held in gtest_counts.tests(args.plan_test, "EngineExhaustiveSearch.AgreesWithBoundsPlansAndRefusals", True):
                plans, refused = checked(folder, args.reference)
                raw[name] = {**counts, "reference_checked": plans, "reference_refused": refused}
                known = max(1, counts["known"])
                table.add("exhaustive", counts["equal"] / known, "", "no bound above, no false refusal", held and plans > 0 and refused == 0,
                          f"share of {known} optima that the plan is; {counts['asked']} graphs, {counts['refused']} refused, {counts['optimal']} proved, {plans} checked by the reference")
    if table.wants("forged"):
        for name, counts, held in gtest_counts.tests(args.plan_test, "ForgedEngines.*", True):
            raw[name] = counts
            table.add("forged", counts["false"], "", "0 false ones", held and counts["false"] == 0, f"{counts['accepted']} accepted, {counts['refused']} refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--plan-test", default="")
    parser.add_argument("--reference", required=True)
    parser.add_argument("--time-limit", type=float, default=20)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    table, raw = Table(args.only), {}
    questions = os.path.join(args.reference, "anchors", "engines", "reference.csv")
    if not os.path.exists(questions):
        table.skip("reference", f"no {questions}")
    else:
        with tempfile.TemporaryDirectory() as folder, open(questions) as file:
            for row in csv.DictReader(file):
                raw[row["question"]] = add_row(table, args, row, folder)
    add_test_rows(table, args, raw)
    engine_port.add_rows(table, args, raw)
    engine_cores.add_rows(table, args, raw)
    engine_opencl.add_rows(table, args, raw)
    out = os.path.join(os.environ.get("PANTOUM_OUT", "out"), "bench")
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "engines.json"), "w") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)


if __name__ == "__main__":
    main()
