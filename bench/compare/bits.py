#!/usr/bin/env python3
"""Trains the same networks with two builds of the program, on the host and in QEMU, and compares every bit. Standard library only.

usage: bits.py OLD NEW
"""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import models

sys.path[:0] = [os.path.join(models.ROOT, "tests", folder) for folder in ("firmware", "e2e")]
from house import make_data  # noqa: E402
from projects import network  # noqa: E402

NETWORKS = (  # folder, name, a sample's shape, words
    ("values", "mlp", [64], "--batch 4 --optimizer adam --ram 2MiB"), ("values", "cnn", [3, 28, 28], "--batch 4 --ram 3MiB --optimizer sgd,momentum=0.9"),
    ("values", "transformer", [16, 32], "--optimizer adamw --ram 4MiB --prefetch 1"), ("values", "resnet18", [3, 32, 32], "--batch 4 --ram 220MiB"),
    ("networks", "lenet5", [1, 28, 28], "--batch 4 --ram 1500KiB --accumulate 2"))
BOARDS = (("cortex-m4f", ""), ("cortex-m55", "--optimizer adam"))


def sha(data):
    return hashlib.sha256(data).hexdigest()


def tensors_of(path):
    """The hash of every tensor of a safetensors file, by name: not of the metadata, which tells times and versions."""
    with open(path, "rb") as file:
        contents = file.read()
    size = struct.unpack("<Q", contents[:8])[0]
    header = json.loads(contents[8:8 + size])
    return {name: sha(contents[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


def run(binary, *words):
    done = subprocess.run([binary, *models.words_for(binary, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{binary} {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def on_the_host(binary, folder):
    for place, name, shape, words in NETWORKS:
        work = os.path.join(folder, name)
        net, data = models.model(place, name, work), models.classes(os.path.join(work, "data"), shape, 32)
        for kernels in ("portable", "auto"):
            out = os.path.join(work, kernels + ".safetensors")
            run(binary, "train", net, "--data", data, "--epochs", 2, "--lr", 0.01, "--threads", 1, "--kernels", kernels, "--effort", 2, "--seed", 3,
                *words.split(), "-o", out)
            yield f"{name}, {kernels} kernels", tensors_of(out)


def on_boards(binary, folder):
    if not shutil.which("qemu-system-arm"):
        print("boards: skipped, qemu-system-arm is not there")
        return
    make_data(os.path.join(folder, "images"), 40, 16)
    net = network(os.path.join(folder, "net.onnx"))
    for board, words in BOARDS:
        plan, project = os.path.join(folder, board + ".plan.json"), os.path.join(folder, board)
        run(binary, "plan", net, "--device", "m4", "--effort", 4, "--lr", "0.05", "--ram", "40KiB", *words.split(), "-o", plan)
        run(binary, "emit", plan, "--target", board, "--data", os.path.join(folder, "images"), "--test-samples", 8, "--steps", 12, "--stack", "4KiB", "-o", project)
        told = json.loads(run(binary, "run-firmware", project, "--format", "json"))
        yield f"{board}, in QEMU", {key: told[key] for key in ("equal", "losses", "state", "host_state")}


def results(binary):
    with tempfile.TemporaryDirectory() as folder:
        return dict([*on_the_host(binary, folder), *on_boards(binary, folder)])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    old, new = map(results, sys.argv[1:])
    for name in old:
        print("equal " if old[name] == new[name] else "DIFFER", name)
    sys.exit(old != new)


if __name__ == "__main__":
    main()
