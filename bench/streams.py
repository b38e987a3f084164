"""Asks the reference questions of ops that stream: out/bench/streams.json (docs/design/semantics.md).

A reference row's figure is the plan's value over the best one known; where none is known, over the table's lower bound. It holds if the plan is accepted
by `pantoum verify` and by the reference checker, and if the ratio is at most 1 (proved optimal) or 1.02; where none is known, if there is a plan. A bound
row's figure is the bound that the plan proves over the best value known; it holds at 1. `least` is the RAM below which it is proved that nothing fits, beside that of a
known plan; `curve` rows plan budgets from there to the unplanned peak. `exhaustive` asks the tests against every
plan of tiny graphs. `resnet18 256KiB host` trains ResNet-18 for two steps on this machine: the figure is the share of tensors that have the bits of a training in
unlimited RAM. `step` is the time of such a step over that in unlimited RAM. `resnet18 256KiB m4f` trains it for two steps as firmware of a Cortex-M4F in QEMU: the
figure is the RAM in use, stack and tables included; it holds if parameters, states and losses have the host's bits. `plan of` such a row: the bytes of its binary plan in flash. `least model` is the least RAM in which a step of a network is planned on this machine, `least model bert_mini on m4` that of BERT-mini (128 words of 30,522, 4 layers of 256) on m4: it holds if there is a plan for that budget. `main job` is the share of the main job's
tensors that have the bits of unlimited RAM after an epoch of 20 steps in a quarter of its unplanned peak. `op NETWORK` compares slicings of single ops with enumerated
ones (streams_enumerated.py): bytes moved over the least that were enumerated within the same workspace, of the slices that a plan takes; and by kind of op the share of all slices
offered that move at most 5% more. `curve NETWORK on m4` sweeps a network from the least RAM to its unplanned peak. `patch NETWORK` trains it on this machine in the RAM that
PORT's patches leave (section 5.3 of its paper; what they are: section 4.1): the figure is the time of a step over that in unlimited RAM, in turns.
`large` rows train networks whose parameters and state take more than their budget, for two steps: the figure is the share of tensors that have the bits of
unlimited RAM; it holds at 1, if the process grew by the budget at most and the runtime counted the bytes that the plan tells. Their `time` rows are measured: a step over one in unlimited RAM,
and over the seconds that the step's transfers take by the storage as it was measured for the plan. `anonymous` is the most memory that the process had of its own at any
time, from its begin on (without pages of files, which the system takes back when it needs memory).
`sparse mobilenetv2` trains MobileNetV2 of width 0.35 (128 x 128, norms folded) for two steps as firmware of a Cortex-M7 in QEMU, with the published schedule whose tensors are whole: the figure is the RAM in use,
stack and tables included, and the published figure is its limit; it holds if parameters and losses have the host's bits, too. `sparse mobilenetv2 49kb` is the same
with the published schedule of the least memory, which trains shares of channels; of it no RAM is published, and the limit is the other row's. `resnet18 32KiB m0` (--long) trains one step of ResNet-18
as firmware of a Cortex-M0 with 32 KiB of RAM in all.
usage: streams.py --pantoum PROGRAM --plan-test PROGRAM --reference FOLDER [--time-limit SECONDS] [--only TEXT] [--long]
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import cifar_networks
import gtest_counts
import large_networks
import streams_enumerated
from house import make_data
from table import Table

EXACT = 1e-9
MOMENTUM = ["--optimizer", "sgd,momentum=0.9"]
WRITERS = {"resnet18": cifar_networks.write_resnet18, "vgg16": cifar_networks.write_vgg16}
OP_BUDGETS_KIB = (32, 256)
MOST_OVER_ENUMERATED = 1.05
PATCHES = {"resnet18": (0.8481, 3.52), "vgg16": (0.8057, 3.25)}  # of RAM saved, times slower: PORT's text, section 5.3; its table 2 has the rows of patch and inplace the other way round
NETWORK = "resnet18-cifar-momentum"
MOST_LEAST_BYTES = MOST_PLAN_BYTES = 24 << 10
PLAN_PARTS = ("plan_bytes", "tensor_table_bytes", "op_table_bytes", "instructions", "instruction_bytes")
# The schedule "138kb" of MobileNetV2 in the code of MCUNetV3 (github.com/mit-han-lab/tiny-training; n_bias_update 34, manual_weight_idx,
# every weight_update_ratio 1): the weights of these convolutions, the biases of the last 34 of 51, and the classifier. Its RAM is the published one of int8.
SPARSE_WEIGHTS, SPARSE_BIASES, CONVOLUTIONS = (27, 30, 33, 36, 39, 42, 45, 48), 34, 51
SPARSE_RAM_KIB = 206
# The schedule "49kb" there: n_bias_update 16, and by manual_weight_idx the weight_update_ratio, a share of input channels (of a depthwise convolution, of its channels).
SPARSE_SHARES, SPARSE_SHARES_BIASES = {36: "", 39: "", 41: "1/4", 42: "1/8", 45: "1/8", 48: "1/8", 49: "1/8"}, 16
ABSENT = " ".join(tool for tool in ("arm-none-eabi-gcc", "qemu-system-arm") if not shutil.which(tool))


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


def add_question(table, args, row, folder):
    name = f"{row['costgraph'].split('.')[0]}@{row['ram_bytes']}"
    if not table.wants(f"reference {name}"):
        return None
    best = row["best_known"] and float(row["best_known"])
    most = 1 + EXACT if row["status"] == "optimal" else 1.02
    target = "a plan" if not best else "optimal" if row["status"] == "optimal" else f"ratio <= {most}"
    graph, out = os.path.join(args.streams, row["costgraph"]), os.path.join(folder, "plan.json")
    words = [args.pantoum, "plan", "--costgraph", graph, "--ram", row["ram_bytes"] + "B", "--objective", row["objective"], "--time-limit", f"{args.time_limit}s", "-o", out]
    done = run(*words, *(["--one-slot"] if row["one_slot"] == "yes" else []))
    if done.returncode != 0:
        table.add(f"reference {name}", 0.0, "", target, False, f"no plan: {done.stderr.strip().splitlines()[0]}")
        return None
    with open(out) as file:
        plan = json.load(file)
    figure = "energy_j" if row["objective"] == "energy" else "time_s"
    value, bound = plan["predicted"][figure], plan["bound"][figure]
    checker = [sys.executable, os.path.join(args.reference, "tools", "check_plan.py"), graph, out, "--ram", row["ram_bytes"]]
    accepted = all(run(*each).returncode == 0 for each in ([args.pantoum, "verify", out], checker))
    ratio = value / (best or float(row["lower_bound"]))
    note = f"{row['status']}; gap {plan['solver']['gap']:.2%}" + ("" if accepted else "; a checker refuses the plan")
    table.add(f"reference {name}", ratio, "", target, accepted and (not best or ratio <= most), note)
    if best:
        table.add(f"bound {name}", bound / best, "", "bound <= 1", bound <= best * (1 + EXACT))
    return {"value": value, "bound": bound, "best_known": best or None, "accepted": accepted}


def add_network(table, args, raw, folder):
    graph = os.path.join(args.streams, f"{NETWORK}.costgraph.json")
    known = json.loads(run(args.pantoum, "plan", "--costgraph", graph, "--ram", "1KiB", "--format", "json").stdout)
    least, proved = known["min_ram_bytes"], known["min_ram_bound_bytes"]
    raw["least"] = {"known": least, "proved": proved}
    if table.wants(f"least {NETWORK}"):
        table.add(f"least {NETWORK}", least, "B", f"<= {MOST_LEAST_BYTES}", least <= MOST_LEAST_BYTES, f"below {proved} bytes it is proved that nothing fits")
    if not table.wants("curve"):
        return
    budgets = [least, 24 << 10, 32 << 10, 48 << 10, 64 << 10, 96 << 10, 128 << 10, 192 << 10, 256 << 10, 384 << 10, 512 << 10, 1 << 20, 2 << 20]
    done = run(args.pantoum, "sweep", "--costgraph", graph, "--ram", ",".join(f"{each}B" for each in budgets), "--time-limit", f"{args.time_limit}s", "-o", folder)
    if done.returncode != 0:
        return table.add("curve", 0.0, "", "plans", False, done.stderr.strip().splitlines()[0])
    with open(os.path.join(folder, "sweep.json")) as file:
        rows = json.load(file)["rows"]
    raw["curve"] = [{"ram_bytes": row["ram_bytes"], "time_s": row["time_s"]} for row in rows]
    before = float("inf")
    for row in rows:
        joules = row["energy_j"]
        table.add(f"curve {NETWORK}@{row['ram_bytes']}", joules, "J", "no more than with less RAM", joules <= before * (1 + EXACT), f"{row['time_s']:.4g} s, gap {row['gap']:.2%}")
        before = joules


def trained(args, folder, name, *more, network="resnet18"):
    """Trains two steps; the weights by name, the seconds of a step, and the plan. None: it failed, and what it said."""
    out, plan, log = (os.path.join(folder, name + end) for end in (".safetensors", ".json", ".jsonl"))
    words = ["--batch", "1", "--epochs", "1", *MOMENTUM, "--device", "host", "--kernels", "portable", "--threads", "1"]
    done = run(args.pantoum, "train", os.path.join(folder, f"{network}.onnx"), "--data", os.path.join(folder, "images.npz"), *words, *more, "-o", out,
               "--plan-out", plan, "--log", log)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0]
    with open(log) as lines, open(plan) as file:
        seconds = [each["seconds"] for each in map(json.loads, lines) if each.get("event") == "step"]
        return (cifar_networks.tensors(out), min(seconds), json.load(file)), ""


def write_network(folder, network):
    path = os.path.join(folder, f"{network}.onnx")
    if not os.path.exists(path):
        WRITERS[network](path)
    if not os.path.exists(os.path.join(folder, "images.npz")):
        cifar_networks.write_images(os.path.join(folder, "images.npz"), 2)
    return path


def add_ops(table, args, raw, folder, network):
    """Slices of a network's ops beside the enumerated ones, in two budgets."""
    known = os.path.join(args.streams, f"pareto-{network}-cifar-momentum.csv")
    if not table.wants(f"op {network}") or not os.path.exists(known):
        return
    rows, offered, absent = streams_enumerated.read_rows(known), [], []
    for kib in OP_BUDGETS_KIB:
        out = os.path.join(folder, f"op-{network}-{kib}.json")
        done = run(args.pantoum, "plan", write_network(folder, network), "--device", "m4", "--batch", "1", "--ram", f"{kib}KiB", "--params-in", "aux", *MOMENTUM,
                   "--time-limit", f"{args.time_limit}s", "-o", out)
        if done.returncode != 0:
            return table.add(f"op {network}", 0.0, "", "<= 1.05", False, done.stderr.strip().splitlines()[0])
        with open(out) as file:
            plan = json.load(file)
        taken = {step["op"]: step["choice"] for step in plan["instructions"] if step["do"] == "compute"}
        chosen, absent = streams_enumerated.points(rows, plan["graph"], taken)
        offered += streams_enumerated.points(rows, plan["graph"])[0]
        ratio = sum(each.bytes for each in chosen) / sum(each.best for each in chosen)
        worst = max(chosen, key=lambda each: each.bytes - each.best)
        table.add(f"op {network} {kib}KiB", ratio, "", "<= 1.05", ratio <= MOST_OVER_ENUMERATED,
                  f"{len(chosen)} ops; furthest off is {worst.op}: {worst.bytes} bytes, {worst.best} were enumerated ({worst.algorithm})")
    for kind in streams_enumerated.KINDS:
        ratios = sorted(each.bytes / each.best for each in set(offered) if each.kind == kind)
        if ratios:
            near = sum(ratio <= MOST_OVER_ENUMERATED for ratio in ratios) / len(ratios)
            table.add(f"op {network}, {kind}", near, "", "1", near == 1, f"share of {len(ratios)} slicings; median {ratios[len(ratios) // 2]:.3g}, most {ratios[-1]:.3g}")
    raw[f"op {network}"] = {"not compared": absent}


def add_network_curve(table, args, raw, folder, network):
    name = f"curve {network} on m4"
    if not table.wants(name):
        return
    words = [write_network(folder, network), "--device", "m4", "--batch", "1", "--params-in", "aux", *MOMENTUM, "--time-limit", f"{args.time_limit}s"]
    told = json.loads(run(args.pantoum, "plan", *words, "--ram", "8KiB", "--format", "json").stdout)
    whole = json.loads(run(args.pantoum, "inspect", words[0], "--device", "m4", "--batch", "1", "--params-in", "aux", *MOMENTUM, "--format", "json").stdout)
    budgets = [told["min_ram_bytes"], *(kib << 10 for kib in (32, 64, 128, 256, 512, 2048, 8192, 24576)), whole["unplanned_peak_bytes"]]
    out = os.path.join(folder, f"sweep-{network}")
    done = run(args.pantoum, "sweep", *words, "--ram", ",".join(f"{each}B" for each in budgets), "-o", out)
    if done.returncode != 0:
        return table.add(name, 0.0, "", "plans", False, done.stderr.strip().splitlines()[0])
    with open(os.path.join(out, "sweep.json")) as file:
        rows = json.load(file)["rows"]
    raw[name] = [{key: row.get(key) for key in ("ram_bytes", "energy_j", "time_s", "gap")} for row in rows]
    before = float("inf")
    for row in rows:
        joules = row["energy_j"]
        table.add(f"{name}@{row['ram_bytes']}", joules, "J", "no more than with less RAM", joules <= before * (1 + EXACT), f"{row['time_s']:.4g} s, gap {row['gap']:.2%}")
        before = joules


def add_patch(table, args, raw, folder, network, saved, slower):
    """`saved`, `slower`: the share of RAM that PORT's patches save, and how many times a step takes then."""
    if not table.wants(f"patch {network}"):
        return
    write_network(folder, network)
    whole, why = trained(args, folder, f"{network}.whole", network=network)
    if not whole:
        return table.add(f"patch {network}", 0.0, "", f"<= {slower}", False, why)
    peak = whole[2]["x-unplanned"]["peak_bytes"]
    ram = int((1 - saved) * peak)
    words = ["--ram", f"{ram}B", "--params-in", "aux", "--time-limit", f"{3 * args.time_limit}s"]
    sliced, why = trained(args, folder, f"{network}.sliced", *words, network=network)
    again, _ = trained(args, folder, f"{network}.again", network=network)
    if not sliced or not again:
        return table.add(f"patch {network}", 0.0, "", f"<= {slower}", False, why)
    arena = sliced[2]["predicted"]["arena_bytes"]
    ops = {op["id"]: op for op in sliced[2]["graph"]["ops"]}
    count = sum("slices" in ops[step["op"]]["choices"][step["choice"]] for step in sliced[2]["instructions"] if step["do"] == "compute")
    ratio = sliced[1] / min(whole[1], again[1])
    same = all(sliced[0][name] == value for name, value in whole[0].items())
    raw[f"patch {network}"] = {"unplanned_bytes": peak, "arena_bytes": arena, "seconds": [whole[1], sliced[1], again[1]], "in_slices": count}
    table.add(f"patch {network}", ratio, "", f"<= {slower}, the same bits", ratio <= slower and same,
              f"{arena} of {peak} bytes, {1 - arena / peak:.1%} less; {count} computes in slices; {sliced[1]:.2f} s a step, whole {whole[1]:.2f} s and {again[1]:.2f} s before and after")


def add_training(table, args, raw, folder):
    if not table.wants("resnet18 256KiB host"):
        return
    write_network(folder, "resnet18")
    whole, why = trained(args, folder, "whole")
    sliced, why = trained(args, folder, "sliced", "--ram", "256KiB", "--params-in", "aux", "--time-limit", f"{3 * args.time_limit}s") if whole else (None, why)
    if not sliced:
        return table.add("resnet18 256KiB host", 0.0, "", "the same bits", False, why)
    expected, whole_s, _ = whole
    found, seconds, plan = sliced
    same = sum(found[name] == expected[name] for name in expected) / len(expected)
    ops = {op["id"]: op for op in plan["graph"]["ops"]}
    streams = [ops[step["op"]]["choices"][step["choice"]].get("stream") for step in plan["instructions"] if step["do"] == "compute"]
    moved = {way: sum(each.get(f"bytes_{way}", 0) for each in streams if each) for way in ("in", "out")}
    arena = plan["predicted"]["arena_bytes"]
    raw["resnet18 256KiB"] = {"arena_bytes": arena, "step_s": seconds, "whole_step_s": whole_s, **{f"slices_{way}_bytes": each for way, each in moved.items()}}
    table.add("resnet18 256KiB host", same, "", "the same bits", same == 1 and arena <= 256 << 10,
              f"{arena} bytes of arena; {sum(map(bool, streams))} computes stream {moved['in'] / 2**20:.0f} MiB in and {moved['out'] / 2**20:.0f} MiB out a step")
    table.add("step resnet18 256KiB", seconds / whole_s, "", "", True, f"measured: {seconds:.2f} s, in unlimited RAM {whole_s:.2f} s")


def trained_as_firmware(args, folder, name, model, images, ram_kib, reserve, steps, plan_words, emit_words, count=()):
    """What the plan predicts, what emit tells, and what run-firmware tells. None: it failed, and what it said."""
    plan, project = os.path.join(folder, "firmware.json"), os.path.join(folder, name.replace(" ", "-"))
    commands = (
        ["plan", model, "--batch", "1", "--ram", f"{ram_kib}KiB", "--reserve", reserve, "--params-in", "aux", "--time-limit", f"{3 * args.time_limit}s", "-o", plan, *plan_words],
        ["emit", plan, *emit_words, "--data", images, "--samples", "2", "--steps", str(steps), "--storage-image", "--format", "json", "-o", project],
        ["run-firmware", project, "--format", "json", *count])
    told = []
    for words in commands:
        done = run(args.pantoum, *words)
        if done.returncode != 0:
            return None, next(line for line in done.stderr.splitlines() if line.startswith(("error", "{")))
        told.append(done.stdout)
    with open(plan) as file:
        return (json.load(file)["predicted"], json.loads(told[1]), json.loads(told[2])), ""


def add_firmware(table, args, raw, folder, name, ram_kib, reserve_kib, steps, target):
    if not table.wants(name):
        return
    write_network(folder, "resnet18")
    found, why = trained_as_firmware(args, folder, name, os.path.join(folder, "resnet18.onnx"), os.path.join(folder, "images.npz"), ram_kib, f"{reserve_kib}KiB", steps,
                                     ["--device", "m4", "--optimizer", "sgd,momentum=0.9"], target)
    if not found:
        return table.add(name, 0.0, "B", f"<= {ram_kib << 10}", False, why)
    predicted, emitted, told = found
    used = told["device"]["ram_bytes"]
    raw[name] = {"plan": predicted, "emitted": {part: emitted[part] for part in PLAN_PARTS}, "run": told}
    table.add(f"plan of {name}", emitted["plan_bytes"], "B", f"<= {MOST_PLAN_BYTES}", emitted["plan_bytes"] <= MOST_PLAN_BYTES,
              f"{emitted['instructions']} instructions in {emitted['instruction_bytes']} bytes")
    table.add(name, used, "B", f"<= {ram_kib << 10}, the host's bits", told["equal"] and used <= ram_kib << 10,
              f"{steps} steps in QEMU; {told['device']['storage_read_bytes'] / steps / 2**20:.0f} MiB in and {told['worn'] / steps / 2**20:.0f} MiB out a step; m4's model says of a step: {predicted['time_s']:.4g} s, {predicted['energy_j']:.3g} J")


def add_sparse(table, args, raw, folder, name, shares, biases, ram_kib):
    """A published schedule: `shares` of the channels, by convolution ("": all), and the biases of the last convolutions."""
    if not table.wants(name):
        return
    model = cifar_networks.write_sparse_mobilenet_v2(os.path.join(folder, "sparse.onnx"))
    images = cifar_networks.write_images(os.path.join(folder, "sparse.npz"), 2, 128)
    frozen = [f"c{at}.w" for at in range(CONVOLUTIONS) if at not in shares] + [f"c{at}.b" for at in range(CONVOLUTIONS - biases)]
    words = ["--device", "m7", "--optimizer", "sgd", "--effort", "60", *(word for tensor in frozen for word in ("--freeze", tensor)),
             *(word for at, share in shares.items() if share for word in ("--train-channels", f"c{at}.w={share}"))]
    found, why = trained_as_firmware(args, folder, name, model, images, ram_kib, "12.5KiB", 2, words, ["--target", "cortex-m7"], ["--count", "--fresh"])
    if not found:
        return table.add(name, 0.0, "B", f"<= {ram_kib << 10}", False, why)
    predicted, _, told = found
    published = f"published, of int8: {ram_kib} KB; " if biases == SPARSE_BIASES else ""
    device = told["device"]
    raw[name] = {"plan": predicted, "run": told}
    table.add(name, device["ram_bytes"], "B", f"<= {ram_kib << 10}, the host's bits", told["equal"] and device["ram_bytes"] <= ram_kib << 10,
              f"float32, arena {device['arena_bytes']}, stack {device['stack_bytes']}, tables {device['static_bytes']} bytes; {published}flash {device['flash_bytes']} bytes, "
              f"frozen weights in it as floats; {told['count']['instructions'] / 1e6:.0f} M instructions a step, {told['count']['products']['macs_done'] / 1e6:.1f} M multiply-accumulates; {told['worn'] / 2 / 2**20:.1f} MiB out and {device['storage_read_bytes'] / 2 / 2**20:.1f} MiB in a step; m7's model says of a step: "
              f"{predicted['time_s']:.3g} s, {predicted['energy_j']:.3g} J")


def add_main_job(table, args, raw, folder):
    if not table.wants("main job"):
        return
    examples = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples", "fashion", "cnn.onnx")
    make_data(os.path.join(folder, "clothes"), 20 * 128, 128)
    common = ["--device", "host", "--kernels", "portable", "--batch", "128", "--optimizer", "sgd,momentum=0.9", "--weight-decay", "1e-4"]
    peak = json.loads(run(args.pantoum, "plan", examples, *common, "--format", "json").stdout)["unplanned_peak_bytes"]
    seconds, found = {}, {}
    for ram, words in ((peak, []), (peak // 4, ["--params-in", "aux"])):
        out, log = os.path.join(folder, f"main{ram}.safetensors"), os.path.join(folder, f"main{ram}.jsonl")
        done = run(args.pantoum, "train", examples, "--data", os.path.join(folder, "clothes"), *common, "--ram", f"{ram}B", *words, "--epochs", "1", "--lr", "0.05", "--seed", "1",
                   "--threads", "2", "-o", out, "--log", log)
        if done.returncode != 0:
            return table.add("main job", 0.0, "", "the same bits", False, done.stderr.strip().splitlines()[0])
        found[ram] = cifar_networks.tensors(out)
        with open(log) as lines:
            seconds[ram] = min(each["seconds"] for each in map(json.loads, lines) if each.get("event") == "step")
    whole, part = found.values()
    same = sum(part[name] == whole[name] for name in whole) / len(whole)
    ratio = seconds[peak // 4] / seconds[peak]
    raw["main job"] = {"peak_bytes": peak, "ram_bytes": peak // 4, "seconds": list(seconds.values())}
    table.add("main job", same, "", "the same bits", same == 1, f"in {peak // 4} of {peak} bytes; a step takes {ratio:.1f} times that in the whole peak (measured)")


class Memory:
    """Runs a program and looks at the memory that it has of its own: `most`, in bytes."""

    def __init__(self, *words):
        self.most, process = 0, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        looking = threading.Thread(target=self.look, args=(process.pid,))
        looking.start()
        _, self.stderr = process.communicate()
        self.returncode = process.returncode
        looking.join()

    def look(self, pid):
        while True:
            try:
                with open(f"/proc/{pid}/status") as status:
                    own = [line.split()[1] for line in status if line.startswith("RssAnon:")]
            except OSError:
                return
            if not own:  # it has ended
                return
            self.most = max(self.most, int(own[0]) << 10)
            time.sleep(0.02)


def train_large(args, folder, name, data, *words):
    """Trains two steps: what the run log says at its begin and end, the plan's pager, the file of the weights, the process's own memory. None: it failed, and what it said."""
    out, plan, log = (os.path.join(folder, name + end) for end in (".safetensors", ".plan.json", ".jsonl"))
    done = Memory(args.pantoum, "train", *words, "--data", data, "--epochs", "1", "--device", "host", "--kernels", "portable", "--threads", "2", "-o", out, "--plan-out", plan, "--log", log)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1]
    with open(log) as lines, open(plan) as file:
        events = [json.loads(line) for line in lines]
        return {"planned": events[0], "end": events[-1], "pager": json.load(file)["graph"]["device"]["pager"], "out": out, "anonymous_bytes": done.most}, ""


def share_of_same(expected, found):
    """The share of the tensors of one safetensors file that are in the other, with the same bits. One tensor at a time is read."""
    with open(expected, "rb") as a, open(found, "rb") as b:
        heads = []
        for file in (a, b):
            size = int.from_bytes(file.read(8), "little")
            heads.append((8 + size, {name: entry["data_offsets"] for name, entry in json.loads(file.read(size)).items() if name != "__metadata__"}))

        def bits(file, head, name):
            begin, end = head[1][name]
            file.seek(head[0] + begin)
            return file.read(end - begin)

        return sum(name in heads[1][1] and bits(a, heads[0], name) == bits(b, heads[1], name) for name in heads[0][1]) / len(heads[0][1])


def storage_seconds(pager, planned):
    """What a step's bytes take by the storage's measured rates, and nothing for their latencies."""
    return sum(planned[f"bytes_paged_{way}"] / pager[way]["bytes_per_s"] for way in ("in", "out"))


def add_large(table, args, raw, folder, name, model, parameters, copies, data, ram_mib, *words):
    row = f"large {name}"
    whole, why = train_large(args, folder, "whole", data, model, *words)
    part, why = train_large(args, folder, "part", data, model, *words, "--ram", f"{ram_mib}MiB", "--params-in", "aux") if whole else (None, why)
    if not part:
        return table.add(row, 0.0, "", "the same bits", False, why)
    same = share_of_same(whole["out"], part["out"])
    end, planned, steps = part["end"], part["planned"], part["end"]["steps"]
    counted = all(end[f"bytes_paged_{way}"] == steps * planned[f"bytes_paged_{way}"] for way in ("in", "out"))
    grew, seconds = end["rss_growth_bytes"], storage_seconds(part["pager"], planned)
    raw[row] = {"parameters": parameters, "state_bytes": 4 * copies * parameters, "storage_s": seconds, "pager": part["pager"],
                **{key: {"end": each["end"], "anonymous_bytes": each["anonymous_bytes"]} for key, each in (("whole", whole), ("part", part))}, "planned": planned}
    table.add(row, same, "", f"the same bits, the process grows by {ram_mib} MiB", same == 1 and counted and grew <= ram_mib << 20,
              f"{parameters / 1e6:.0f} M parameters, {4 * copies * parameters / 1e9:.2f} GB with their state; it grew by {grew / 2**20:.1f} MiB; {planned['bytes_paged_in'] / 2**20:.0f} MiB in and "
              f"{planned['bytes_paged_out'] / 2**20:.0f} MiB out a step, {'as' if counted else 'not as'} the runtime counted; planned in {planned['seconds']:.0f} s")
    table.add(f"time large {name}", end["step_s"] / whole["end"]["step_s"], "", "", True,
              f"measured: {end['step_s']:.2f} s a step, in unlimited RAM {whole['end']['step_s']:.2f} s; its bytes take {seconds:.2f} s of this storage ({end['step_s'] / seconds:.1f} times that)")
    table.add(f"anonymous large {name}", part["anonymous_bytes"], "B", "", True, f"in unlimited RAM {whole['anonymous_bytes']} bytes")


def add_large_networks(table, args, raw, folder):
    model, data = os.path.join(folder, "large.onnx"), os.path.join(folder, "large.npz")
    if table.wants("large transformer"):
        parameters = large_networks.write_transformer(model)
        large_networks.write_words(data, 2)
        add_large(table, args, raw, folder, "transformer", model, parameters, 3, data, 256, "--batch", "1", "--optimizer", "adam", "--loss", "cross_entropy,classes_last", "--freeze", "causal")
    if table.wants("large layers"):
        parameters = large_networks.write_layers(model)
        large_networks.write_rows(data, 16)
        add_large(table, args, raw, folder, "layers", model, parameters, 2, data, 64, "--batch", "8", "--optimizer", "sgd,momentum=0.9", "--lr", "0.01")


def add_least(table, args, raw, folder):
    """The least RAM for a training step with a batch of one, SGD with momentum and parameters in storage: on this machine, and of BERT-mini on m4 too."""
    bert = large_networks.write_bert_mini
    for name, network, device, write, most in (
            ("least model resnet18", "resnet18", "host", cifar_networks.write_resnet18, 24), ("least model vgg16", "vgg16", "host", cifar_networks.write_vgg16, 24),
            ("least model mobilenetv2", "mobilenetv2", "host", cifar_networks.write_mobilenet_v2, 36), ("least model bert_mini", "bert_mini", "host", bert, 28),
            ("least model bert_mini on m4", "bert_mini", "m4", bert, 28)):
        if not table.wants(name):
            continue
        path = write(os.path.join(folder, f"{network}.onnx"))
        words = ["plan", path, "--device", device, "--batch", "1", "--kernels", "portable", "--threads", "1", "--params-in", "aux", "--optimizer", "sgd,momentum=0.9",
                 "--measure", "off", "--time-limit", f"{args.time_limit}s", "--format", "json"]
        told = json.loads(run(args.pantoum, *words, "--ram", "4KiB").stdout)
        least = told["min_ram_bytes"]
        planned = run(args.pantoum, *words, "--ram", f"{least}B").returncode == 0
        raw[name] = told
        table.add(name, least, "B", f"<= {most << 10}", planned and least <= most << 10,
                  f"below {told['min_ram_bound_bytes']} bytes no plan has the slices that were tried: {told['why']}")


def add_exhaustive(table, args, raw):
    for name, counts, held in gtest_counts.tests(args.plan_test, "EngineExhaustiveSearch.AgreesOnOpsThatStream", True):
        raw[name] = counts
        known = max(1, counts["known"])
        table.add("exhaustive", counts["equal"] / known, "", "no bound above, no false refusal", held,
                  f"share of {known} optima that the plan is; {counts['asked']} graphs, {counts['refused']} refused, {counts['optimal']} proved")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--plan-test", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--time-limit", type=float, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true")
    args = parser.parse_args()
    args.streams = os.path.join(args.reference, "anchors", "streams")
    table, raw = Table(args.only), {}
    questions = os.path.join(args.streams, "reference.csv")
    if os.path.exists(questions):
        with tempfile.TemporaryDirectory() as folder, open(questions) as file:
            for row in csv.DictReader(file):
                if answer := add_question(table, args, row, folder):
                    raw[f"{row['costgraph']}@{row['ram_bytes']}"] = answer
            add_network(table, args, raw, os.path.join(folder, "sweep"))
    else:
        table.skip("reference", f"no {questions}")
    with tempfile.TemporaryDirectory() as folder:
        add_training(table, args, raw, folder)
        add_main_job(table, args, raw, folder)
        add_large_networks(table, args, raw, folder)
        add_least(table, args, raw, folder)
        for network, port in PATCHES.items():
            add_ops(table, args, raw, folder, network)
            add_patch(table, args, raw, folder, network, *port)
        add_network_curve(table, args, raw, folder, "resnet18")
        if ABSENT:
            table.skip("resnet18 256KiB m4f", f"not on this machine: {ABSENT}")
            for name in ("sparse mobilenetv2", "sparse mobilenetv2 49kb"):
                table.skip(name, f"not on this machine: {ABSENT}")
        else:
            add_sparse(table, args, raw, folder, "sparse mobilenetv2", dict.fromkeys(SPARSE_WEIGHTS, ""), SPARSE_BIASES, SPARSE_RAM_KIB)
            add_sparse(table, args, raw, folder, "sparse mobilenetv2 49kb", SPARSE_SHARES, SPARSE_SHARES_BIASES, SPARSE_RAM_KIB)
            add_firmware(table, args, raw, folder, "resnet18 256KiB m4f", 256, 16, 2, ["--target", "cortex-m4f"])
            if args.long:
                add_firmware(table, args, raw, folder, "resnet18 32KiB m0", 32, 11, 1, ["--target", "cortex-m0", "--board", "mps2-an385", "--stack", "4KiB"])
    if table.wants("exhaustive"):
        add_exhaustive(table, args, raw)
    out = os.path.join(os.environ.get("PANTOUM_OUT", "out"), "bench")
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "streams.json"), "w") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)


if __name__ == "__main__":
    main()
