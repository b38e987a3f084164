"""Steps of this machine on one engine of all threads and on two engines, in turns.

A row is one network of tests/networks and one kind of kernels. Its figure is the measured step of the plan that `--engines cpu0,cpu1` gives over that of the
plan for one engine of two threads. A second process of that plan is the control: the figure holds up to 1.03, and the control's distance from 1. Rows
`cores predicted` hold the step that the plan of engines predicts against the measured one. Standard library only.
"""
import json
import os
import random
import statistics

import turns
from planner_measured import Network, answer_of

NETWORKS = ("inceptionv3", "unet", "bidirectional", "gpt_fused", "deepfm")
ENGINES = "cpu0,cpu1"
MOST, WITHIN = 1.03, 0.15
SECONDS = 8.0


def plan(args, network, name, words):
    path = os.path.join(network.folder, f"{name}.json")
    said = answer_of([args.pantoum, "plan", network.model, *network.losses(), "--objective", "time", "--time-limit", f"{args.time_limit}s", "--measure",
                      "--profile-store", os.path.join(network.folder, f"{name}.db"), "--page-file", network.folder, "--format", "json", "-o", path, *words])
    with open(path) as file:
        several = len(json.load(file)["graph"]["device"]["engines"]) > 1
    return path, said, several


def stepping(args, network, path):
    return [args.pantoum, "profile", network.model, "--plan", path, "--on-request", "--steps", 1000000, "--measure", "known", "--profile-store",
            path.replace(".json", ".db"), "--page-file", network.folder, "--format", "json"]


def add_network(table, args, raw, name, kernels):
    folder = os.path.join(os.environ.get("PANTOUM_OUT", "out"), "bench", "cores", f"{name}-{kernels}")
    network = Network(name, folder)
    words = ["--kernels", kernels, *(["--allow-numerics-change"] if kernels == "onednn" else [])]
    one, _, _ = plan(args, network, "one", [*words, "--threads", "2"])
    two, said, several = plan(args, network, "two", [*words, "--engines", ENGINES])
    commands = [stepping(args, network, path) for path in (one, two, one)]
    order = list(range(3))
    random.Random(name).shuffle(order)
    taken, ends = turns.in_turns([commands[at] for at in order], SECONDS)
    of = {at: taken[place] for place, at in enumerate(order)}
    figure, control = turns.ratio(of[1], of[0]), turns.ratio(of[2], of[0])
    most = MOST + abs(control - 1)
    predicted = ends[order.index(1)]["steps"]["predicted_s"]
    step = statistics.median(of[1])
    raw[f"{name} {kernels}"] = {"figure": figure, "control": control, "several": several, "turns": of, "predicted_s": predicted, "plan": said}
    table.add(f"cores {name} {kernels}", figure, "", f"<= {most:.3f}", figure <= most,
              f"{'two engines' if several else 'one engine is the plan'}; {statistics.median(of[0]) * 1e3:.4g} to {step * 1e3:.4g} ms, control {control:.3f}, {len(of[0])} rounds")
    table.add(f"cores predicted {name} {kernels}", predicted / step, "", "within 15%", abs(predicted / step - 1) <= WITHIN, f"{predicted * 1e3:.4g} of {step * 1e3:.4g} ms")


def add_rows(table, args, raw):
    if os.cpu_count() < 2:
        return table.skip("cores", "the machine has one processor")
    for name in NETWORKS:
        for kernels in ("portable", "onednn"):
            if table.wants(f"cores {name} {kernels}"):
                try:
                    add_network(table, args, raw, name, kernels)
                except (RuntimeError, turns.Refused) as refused:
                    table.add(f"cores {name} {kernels}", 0.0, "", "a plan and steps", False, str(refused))
    return None
