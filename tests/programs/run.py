#!/usr/bin/env python3
"""Trains random PyTorch modules in Pantoum and in PyTorch, and compares: `make programs`.

usage: run.py --pantoum PROGRAM [--family NAME[,NAME..]] [--seeds FIRST:END] [--jobs N] [--keep FOLDER] [--out FOLDER]
Needs torch, onnx, onnxscript, numpy; FAMILIES tells the families. Every module is exported by both exporters (the newer one with and without its
optimizer). Of all and parameters two steps of SGD whose losses are within 1e-4 of PyTorch's in float64 are equal; inside.py and rates.py say what the other
families compare. An error with code 3 or 4 that names a place is a refusal; anything else is a fault, and the exit status is 1. A module whose losses in
PyTorch's own float32 are further away than a fifth of the bound is left out. A family has two rows in OUT/programs.json, as bench/README.md has them.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import copy
import functools
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "bench"))
from table import Table  # noqa: E402

# By name: what it asks, and the seeds of a run that names none.
FAMILIES = {
    "all": ("chains of layers, functions, masks, buffers, shared weights and index arithmetic", "1:2001"),
    "parameters": ("functions of parameters alone, before they meet data", "1:2001"),
    "kinks": ("operators where they have no derivative, and what acts in backward alone", "0:328"),
    "buffers": ("what is derived of buffers that are replaced and resumed", "1:91"),
    "rates": ("optimizers with groups, schedulers, decays that change", "1:101"),
}
INSIDE = ("kinks", "buffers", "rates")  # also by the Python package's capture, and in two budgets

BOUND, STEPS, RATE = 1e-4, 2, 0.05
EXPORTERS = {"script": {"dynamo": False, "do_constant_folding": False, "opset_version": 17}, "export": {"dynamo": True, "optimize": False}, "default": {"dynamo": True}}


def losses_of(torch, module, x, y, dtype):
    module = copy.deepcopy(module).to(dtype)
    x = x.to(dtype) if x.is_floating_point() else x
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x), y.to(dtype))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def far(a, b):
    return max(abs(p - q) / max(abs(p), 1e-3) if p == p and q == q else float("inf") for p, q in zip(a, b))


@functools.cache
def share_operator_library():
    """The newer exporter builds its library of operators anew in each call, three quarters of its time; it only reads it: here all calls share one."""
    from torch.onnx._internal.exporter import _registration
    _registration.ONNXRegistry.from_torchlib = staticmethod(functools.cache(_registration.ONNXRegistry.from_torchlib))


def export(torch, module, x, exporter, path):
    share_operator_library()
    settings = dict(EXPORTERS[exporter])
    if settings["dynamo"]:
        settings |= {"external_data": False, "verbose": False}
    else:
        settings["training"] = torch.onnx.TrainingMode.TRAINING
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = x if isinstance(x, tuple) else (x,)
        torch.onnx.export(copy.deepcopy(module), inputs, path, input_names=["x", *(f"x{k}" for k in range(1, len(inputs)))], output_names=["y"], **settings)


def fixed(pantoum, module, net):
    """--freeze for the module's buffers that would train: a file of the older exporter does not tell them from parameters."""
    told = subprocess.run([pantoum, "inspect", net, "--format", "json"], capture_output=True, text=True, timeout=60).stdout
    tensors = json.loads(told)["tensors"] if told else []
    trained = {tensor["name"] for tensor in tensors if tensor["trains"] != "no"}
    return [word for name, _ in module.named_buffers() if name in trained for word in ("--freeze", name)]


def kept_statistics(torch, module):
    """--freeze-stats for batch norms that the program evaluates: a file with no others does not tell whether they are to train."""
    if any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in module.modules()):
        return []
    names = {id(piece): name for name, piece in module.named_modules()}
    return [word for piece in module.pieces if piece.told == "frozen batch norm" for word in ("--freeze-stats", f"{names[id(piece)]}.m")]


def train(pantoum, folder, net, freeze):
    """(losses or None, exit status, what was told)."""
    out = os.path.join(folder, "out")
    os.makedirs(out)
    words = ["train", net, "--data", os.path.join(folder, "data"), "--epochs", STEPS, "--loss", "mse", "--lr", RATE, "--threads", 1, "--kernels", "portable", "--ram", "64MiB",
             "--effort", 1, "--log-every", 1, "--log", os.path.join(out, "log.jsonl"), "-o", os.path.join(out, "w.safetensors"), *freeze]
    done = subprocess.run([pantoum, *map(str, words)], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return None, done.returncode, done.stderr.strip()
    return losses_of_log(os.path.join(out, "log.jsonl"))[:STEPS], 0, done.stdout + done.stderr


def losses_of_log(path):
    """Of every step."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line["loss"] for line in lines if "loss" in line and "step" in line]


def loss_of_file(folder, net):
    """The first step's loss by onnx's own reference, or None: an exporter may write another program than the module."""
    import numpy
    import onnx.reference
    x, y = (numpy.load(os.path.join(folder, "data", f"{name}_train.npy")) for name in "xy")
    try:
        found = onnx.reference.ReferenceEvaluator(net).run(["y"], {"x": x})[0]
    except Exception:  # what it does not compute it cannot tell
        return None
    return float(numpy.square(found.astype(float) - y).mean()) if found.shape == y.shape else None


def judge(pantoum, folder, expected, net, freeze):
    losses, status, told = train(pantoum, folder, net, freeze)
    if status in (3, 4):
        why = "; ".join(line.strip() for line in told.splitlines() if not line.startswith(("note:", "warning:")))
        return ("refused" if "/" in told or "'" in told or "node_" in told else "refused without a place"), why[:300]
    if losses is None:
        return f"fault: exit {status}", told[-400:]
    if len(losses) < STEPS or far(expected, losses) > BOUND:
        told = loss_of_file(folder, net)
        if told is not None and far(expected[:1], [told]) > BOUND and far([told], losses[:1]) <= BOUND:
            return "left out: the file is of another program", f"its first loss by onnx's reference is {told}"
        return "differs", f"{losses} in place of {expected}"
    return "equal", ""


def program(pantoum, seed, keep, family):
    import numpy
    import torch

    import programs
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    module, x = programs.FAMILIES[family](seed)
    y = torch.randn(programs.BATCH, programs.TARGETS, generator=torch.Generator().manual_seed(seed))
    try:
        exact, rounded = (losses_of(torch, module, x, y, dtype) for dtype in (torch.float64, torch.float32))
    except RuntimeError as error:
        return seed, module.told(), [("", "left out: PyTorch does not train it", str(error)[:100])]
    if far(exact, rounded) > BOUND / 5:
        return seed, module.told(), [("", "left out: float32 is too far away", "")]
    found = []
    for exporter in EXPORTERS:
        folder = tempfile.mkdtemp()
        net = os.path.join(folder, "net.onnx")
        os.makedirs(os.path.join(folder, "data"))
        for name, array in (("x", x), ("y", y)):
            for part in ("train", "test"):
                numpy.save(os.path.join(folder, "data", f"{name}_{part}.npy"), array.numpy())
        try:
            export(torch, module, x, exporter, net)
        except Exception as error:  # whatever an exporter throws
            found.append((exporter, "left out: not exported", str(error).splitlines()[0][:100] if str(error) else type(error).__name__))
            shutil.rmtree(folder)
            continue
        told = kept_statistics(torch, module) + (fixed(pantoum, module, net) if exporter == "script" else [])
        found.append((exporter, *judge(pantoum, folder, exact, net, told)))
        if keep and found[-1][1] not in ("equal", "refused"):
            shutil.copytree(folder, os.path.join(keep, f"{seed}-{exporter}"), dirs_exist_ok=True)
        shutil.rmtree(folder)
    return seed, module.told(), found


def program_inside(pantoum, seed, keep, family):
    import torch

    import inside
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    if family == "rates":
        import rates
        return seed, *rates.program(seed, pantoum)
    return seed, *(inside.kink(seed) if family == "kinks" else inside.buffer_program(seed))


def quiet():
    """What an exporter prints from its own core is for nobody: the main process tells what was found."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def is_fault(verdict):
    return verdict not in ("equal", "refused") and not verdict.startswith("left out")


def count_kinks():
    import kinks
    return len(kinks.KINKS)


def ask(pool, options, family, table, raw):
    """All seeds of a family."""
    first, end = map(int, (options.seeds or FAMILIES[family][1]).split(":"))
    end = min(end, count_kinks()) if family == "kinks" else end
    counts, reasons, faults, began = collections.Counter(), collections.Counter(), [], time.monotonic()
    one = program_inside if family in INSIDE else program
    for seed, told, found in pool.map(one, *([each] * (end - first) if not isinstance(each, range) else each for each in (options.pantoum, range(first, end), options.keep, family))):
        for exporter, verdict, why in found:
            counts[verdict] += 1
            if verdict == "refused":
                reasons[re.sub(r"'[^']*'|/\S+|\d+", "*", why)] += 1
            if is_fault(verdict):
                faults.append({"seed": seed, "road": exporter, "verdict": verdict, "why": why, "module": told})
            if is_fault(verdict) or options.told and verdict != "equal":
                print(f"{family} {seed} {exporter}: {verdict}: {why}\n    {told}", flush=True)
    for why, count in reasons.most_common(20):
        print(f"{count:6} refused: {why}")
    for verdict, count in counts.most_common():
        print(f"{count:6} {verdict}")
    depends = counts["depends on the budget"]
    compared = counts["equal"] + sum(count for verdict, count in counts.items() if is_fault(verdict))
    note = f"{compared} compared of {end - first} modules, {counts['refused']} refused, {sum(count for verdict, count in counts.items() if verdict.startswith('left out'))} left out"
    table.add(f"{family}: differ", len(faults) - depends, "", "0", len(faults) == depends and compared > 0, note)
    if family in INSIDE:
        table.add(f"{family}: depend on the budget", depends, "", "0", depends == 0, "in the least RAM and in 64 MiB")
    table.add(f"{family}: time", (time.monotonic() - began) / 60, "min", "", True)
    raw[family] = {"counts": counts, "faults": faults, "seeds": [first, end]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog="\n".join(f"{name}: {what}" for name, (what, _) in FAMILIES.items()))
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--family", default="all", help="one or more of those below, with a comma between")
    parser.add_argument("--told", action="store_true", help="a line for every refusal too")
    options = parser.parse_args()
    families = options.family.split(",")
    if unknown := [family for family in families if family not in FAMILIES]:
        parser.error(f"no family {', '.join(unknown)}")
    import onnx  # noqa: F401 (without them every file is left out)
    import onnxscript  # noqa: F401
    table, raw = Table(), {}
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=quiet) as pool:
        for family in families:
            ask(pool, options, family, table, raw)
            os.makedirs(options.out, exist_ok=True)
            with open(os.path.join(options.out, "programs.json"), "w", encoding="utf-8") as file:
                json.dump({"rows": table.rows, "raw": raw}, file, indent=1)
    sys.exit(not all(row["ok"] for row in table.rows))


if __name__ == "__main__":
    main()
