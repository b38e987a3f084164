"""Steps of this machine on one engine of all threads, on two engines without gangs and on two with them, in turns.

A row is one network of tests/networks and one kind of kernels. The figure of `cores` is the measured step of the plan that `--engines cpu0,cpu1` gives over
that of the plan for one engine of two threads; that of `cores apart` is of the plan with `--no-gangs`, whose ops each take one engine. A second process of the
plan for one engine is the control: a figure holds up to 1.03, and the control's distance from 1. Rows `cores predicted` and `cores apart predicted` hold
the step that the plan of engines predicts against the measured one. Standard library only.
"""
import json
import os
import random
import statistics

import turns
from planner_measured import Network, answer_of

NETWORKS = ("inceptionv3", "unet", "bidirectional", "gpt_fused", "deepfm")
ENGINES = "cpu0,cpu1"
CASES = {"cores": (), "cores apart": ("--no-gangs",)}  # of two engines
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
    planned = {case: plan(args, network, case.replace(" ", "-"), [*words, "--engines", ENGINES, *more]) for case, more in CASES.items()}
    commands = [stepping(args, network, path) for path in (one, one, *(path for path, _, _ in planned.values()))]
    order = list(range(len(commands)))
    random.Random(name).shuffle(order)
    taken, ends = turns.in_turns([commands[at] for at in order], SECONDS)
    of = {at: taken[place] for place, at in enumerate(order)}
    control = turns.ratio(of[1], of[0])
    most = MOST + abs(control - 1)
    raw[f"{name} {kernels}"] = {"control": control, "turns": of}
    for at, (case, (_, said, several)) in enumerate(planned.items(), 2):
        figure, step, predicted = turns.ratio(of[at], of[0]), statistics.median(of[at]), ends[order.index(at)]["steps"]["predicted_s"]
        raw[f"{name} {kernels}"][case] = {"figure": figure, "several": several, "predicted_s": predicted, "plan": said}
        table.add(f"{case} {name} {kernels}", figure, "", f"<= {most:.3f}", figure <= most,
                  f"{'two engines' if several else 'one engine is the plan'}; {statistics.median(of[0]) * 1e3:.4g} to {step * 1e3:.4g} ms, control {control:.3f}, {len(of[0])} rounds")
        table.add(f"{case} predicted {name} {kernels}", predicted / step, "", "within 15%", abs(predicted / step - 1) <= WITHIN, f"{predicted * 1e3:.4g} of {step * 1e3:.4g} ms")


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
