"""Asks the reference questions with several engines: out/bench/engines.json (docs/design/semantics.md).

A row's figure is the plan's value over the best one known, or over the optimum where that is proved. It holds if the plan is accepted by
`pantoum verify` and by the reference checker, if its bound is no lower than longest chain and loads allow, and if the ratio is at most 1 (proved), 1.01
(up to 100 ops) or 1.02. usage: engines.py --pantoum PROGRAM --reference FOLDER [--time-limit SECONDS] [--only TEXT]
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

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
    ratio, bound = plan["predicted"][figure] / float(row["best_known"]), plan["bound"]["time_s"] / float(row["bound_simple"])
    checker = [sys.executable, os.path.join(args.reference, "tools", "check_plan.py"), graph, out, "--ram", row["ram_bytes"]]
    accepted = all(subprocess.run(words, capture_output=True).returncode == 0 for words in ([args.pantoum, "verify", out], checker))
    table.add(name, ratio, "", target, accepted and ratio <= most,
              f"{row['ops']} ops, bound {bound:.4f} of chain and load, gap {plan['solver']['gap']:.1%}" + ("" if accepted else "; a checker refuses the plan"))
    return {"ratio": ratio, "bound_of_simple": bound, "accepted": accepted}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum", required=True)
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
    out = os.path.join(os.environ.get("PANTOUM_OUT", "out"), "bench")
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "engines.json"), "w") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)


if __name__ == "__main__":
    main()
