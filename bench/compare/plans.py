#!/usr/bin/env python3
"""Asks two builds of the program the same questions at a fixed effort and compares their plans. Standard library only.

usage: plans.py OLD NEW [--reference FOLDER] [--effort-times N] [--times]
FOLDER holds the reference questions as `make bench-planner` takes them; without it the models alone are asked.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

import models

COMPARED = ("instructions", "initial", "storage", "staging_at", "predicted", "bound", "status")
MODELS = (  # folder, name, words; at effort 2 where nothing else is said
    ("values", "cnn", "--batch 8 --ram 3MiB"), ("values", "cnn", "--batch 8 --ram 2MiB --params-in aux"),
    ("values", "cnn", "--batch 8 --ram 2MiB --no-paging"), ("values", "cnn", "--batch 8 --ram 2MiB --deadline 1.5x"),
    ("values", "cnn", "--batch 8 --ram 2MiB --compact-activations --objective time"), ("values", "mlp", "--batch 8 --ram 64KiB --device m4"),
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


def more_effort(words, times):
    at = words.index("--effort") + 1
    return [*words[:at], str(int(words[at]) * times), *words[at + 1:]]


def ask(binary, words, out):
    """The answer, and the CPU seconds that it took."""
    with subprocess.Popen([binary, *models.words_for(binary, ["plan", *words]), "-o", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as asked:
        _, status, used = os.wait4(asked.pid, 0)
        asked.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    if not os.path.exists(out):
        return {"exit": asked.returncode}, seconds
    with open(out, encoding="utf-8") as file:
        plan = json.load(file)
    os.remove(out)
    return {"exit": asked.returncode, "gap": plan["solver"].get("gap"), **{key: plan.get(key) for key in COMPARED}}, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--reference")
    parser.add_argument("--effort-times", type=int, default=1, help="so many times the effort, where speed is what is compared")
    parser.add_argument("--times", action="store_true", help="a line of CPU times for every question")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        questions = list(reference_questions(options.reference, scratch)) if options.reference else []
        questions += model_questions(scratch)
        questions = [more_effort(words, options.effort_times) for words in questions]

        def compare(number):
            both = [ask(binary, questions[number], os.path.join(scratch, f"{number}.{side}.plan.json"))
                    for side, binary in enumerate((options.old, options.new))]
            (old, before), (new, after) = both
            return old, [key for key in old if old[key] != new.get(key)] + [key for key in new if key not in old], before, after

        answers = list(pool.map(compare, range(len(questions))))
        for words, (_, differ, before, after) in zip(questions, answers):
            told = " ".join(words).replace(scratch + "/", "")
            if options.times:
                print(f"{before:8.2f} s {after:8.2f} s  {after / before:5.2f}  {told}")
            if differ:
                print("differ:", told, "in", ", ".join(differ))
        plans = sum("instructions" in old for old, *_ in answers)
        differing = sum(bool(differ) for _, differ, *_ in answers)
        print(f"{len(questions)} questions, {plans} plans, {len(questions) - differing} equal, {differing} differ")
        before, after = (sum(answer[side] for answer in answers) for side in (2, 3))
        print(f"CPU time: {before:.1f} s before, {after:.1f} s after, ratio {after / before:.3f}, "
              f"median ratio {statistics.median(answer[3] / answer[2] for answer in answers):.3f}")
        sys.exit(differing > 0)


if __name__ == "__main__":
    main()
