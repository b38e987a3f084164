#!/usr/bin/env python3
"""Trains random PyTorch modules in Pantoum for two steps and compares the losses with PyTorch's: `make programs`.

usage: run.py --pantoum PROGRAM [--seeds FIRST:END] [--jobs N] [--keep FOLDER] [--family all|parameters|kinks|buffers]
Needs torch, onnx, onnxscript, numpy. Every module is exported by both exporters (the newer one with and without its optimizer). Two steps of SGD
whose losses are within 1e-4 of PyTorch's in float64 are equal; an error with code 3 or 4 that names a place is a refusal; anything else is a
fault, and the exit status is 1. A module whose losses in PyTorch's own float32 are further away than a fifth of the bound is left out.
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
import warnings

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
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line["loss"] for line in lines if "loss" in line and "step" in line][:STEPS], 0, done.stdout + done.stderr


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
    told, found = inside.kink(seed) if family == "kinks" else inside.buffer_program(seed)
    return seed, told, found


def quiet():
    """What an exporter prints from its own core is for nobody: the main process tells what was found."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--seeds", default="1:2001")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--family", default="all", choices=("all", "parameters", "kinks", "buffers"),
                        help="parameters: functions of parameters alone, before they meet data; kinks: operators where they have no derivative; buffers: what is derived of buffers that are replaced; the last two also by the Python package's capture")
    parser.add_argument("--told", action="store_true", help="a line for every refusal too")
    options = parser.parse_args()
    first, end = map(int, options.seeds.split(":"))
    counts, reasons = collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=quiet) as pool:
        one = program_inside if options.family in ("kinks", "buffers") else program
        for seed, told, found in pool.map(one, [options.pantoum] * (end - first), range(first, end), [options.keep] * (end - first), [options.family] * (end - first)):
            for exporter, verdict, why in found:
                counts[verdict] += 1
                if verdict == "refused":
                    reasons[re.sub(r"'[^']*'|/\S+|\d+", "*", why)] += 1
                if verdict not in ("equal", "refused") and not verdict.startswith("left out") or options.told and verdict != "equal":
                    print(f"{seed} {exporter}: {verdict}: {why}\n    {told}", flush=True)
    for why, count in reasons.most_common(20):
        print(f"{count:6} refused: {why}")
    for verdict, count in counts.most_common():
        print(f"{count:6} {verdict}")
    faults = sum(count for verdict, count in counts.items() if verdict not in ("equal", "refused") and not verdict.startswith("left out"))
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
