#!/usr/bin/env python3
"""Asks two builds of the program the same questions at a fixed effort and compares their plans. Standard library only.

usage: plans.py OLD NEW [--reference FOLDER]
FOLDER holds the reference questions as `make bench-planner` takes them; without it the models alone are asked.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

import models

COMPARED = ("instructions", "initial", "storage", "staging_at", "predicted", "bound", "status")
MODELS = (  # folder, name, words; at effort 2 where nothing else is said
    ("values", "cnn", "--batch 8 --ram 3MiB"), ("values", "cnn", "--batch 8 --ram 2MiB --params-in aux"),
    ("values", "cnn", "--batch 8 --ram 2MiB --no-paging"), ("values", "cnn", "--batch 8 --ram 2MiB --deadline 1.5x"),
    ("values", "cnn", "--batch 8 --ram 2MiB --small-saves --objective time"), ("values", "mlp", "--batch 8 --ram 64KiB --device m4"),
    ("values", "mlp", "--batch 8 --ram 8MiB --optimizer adam"), ("values", "transformer", "--ram 3MiB"),
    ("values", "transformer", "--ram 6MiB --no-remat"), ("values", "resnet18", "--batch 4 --ram 70MiB"), ("values", "lstm", "--ram 2MiB"),
    ("networks", "lenet5", "--batch 32 --ram 3MiB --optimizer adam --accumulate 2"), ("networks", "lenet5", "--batch 32 --ram 2MiB"),
    ("networks", "mobilenetv2", "--batch 2 --ram 30MiB --effort 1"), ("networks", "unet", "--batch 2 --ram 24MiB --effort 1"))


def reference_questions(folder, scratch):
    instances = os.path.join(folder, "anchors", "instances")
    for row in csv.DictReader(open(os.path.join(instances, "reference.csv"), encoding="utf-8")):
        words = ["--costgraph", os.path.join(instances, row["costgraph"]), "--ram", row["ram_bytes"] + "B", "--effort", "3"]
        words += ["--deadline", row["deadline_s"] + "s"] if row["deadline_s"] else []
        yield words + (["--no-paging"] if row["paging"] == "no" else [])
    made = set()
    for row in list(csv.DictReader(open(os.path.join(instances, "reference_sweep.csv"), encoding="utf-8")))[:8]:
        words = row["gen_costgraph.py arguments"].split()
        graph = os.path.join(scratch, "-".join(words) + ".json")
        if graph not in made:
            subprocess.run([sys.executable, os.path.join(folder, "tools", "gen_costgraph.py"), *words, "-o", graph], check=True)
            made.add(graph)
        for objective in ("energy", "time", "edp")[: 3 if len(made) == 1 else 1]:
            yield ["--costgraph", graph, "--ram", row["ram_bytes"] + "B", "--effort", "2", "--objective", objective]


def model_questions(scratch):
    for folder, name, words in MODELS:
        path = os.path.join(scratch, name, "net.onnx")
        if not os.path.exists(path):
            models.model(folder, name, os.path.dirname(path))
        yield [path, "--kernels", "portable", "--threads", "1", *words.split()] + ([] if "--effort" in words else ["--effort", "2"])


def ask(binary, words, out):
    done = subprocess.run([binary, "plan", *words, "-o", out], capture_output=True, text=True)
    if not os.path.exists(out):
        return {"exit": done.returncode}
    with open(out, encoding="utf-8") as file:
        plan = json.load(file)
    os.remove(out)
    return {"exit": done.returncode, "gap": plan["solver"].get("gap"), **{key: plan.get(key) for key in COMPARED}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--reference")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        questions = list(reference_questions(options.reference, scratch)) if options.reference else []
        questions += model_questions(scratch)

        def compare(number):
            both = [ask(binary, questions[number], os.path.join(scratch, f"{number}.{side}.plan.json"))
                    for side, binary in enumerate((options.old, options.new))]
            return both[0], [key for key in both[0] if both[0][key] != both[1].get(key)] + [key for key in both[1] if key not in both[0]]

        answers = list(pool.map(compare, range(len(questions))))
        for words, (_, differ) in zip(questions, answers):
            if differ:
                print("differ:", " ".join(words).replace(scratch + "/", ""), "in", ", ".join(differ))
        plans = sum("instructions" in old for old, _ in answers)
        differing = sum(bool(differ) for _, differ in answers)
        print(f"{len(questions)} questions, {plans} plans, {len(questions) - differing} equal, {differing} differ")
        sys.exit(differing > 0)


if __name__ == "__main__":
    main()
