#!/usr/bin/env python3
"""What encrypting the page file costs: ResNet-18 at half its RAM, one plan, runs with and without in turns; the bits of both are compared.

usage: encryption.py [--pantoum PROGRAM] [--quick] [--json FILE]
"""
import array
import json
import os
import random
import statistics
import sys

import job

sys.path.insert(0, os.path.join(job.ROOT, "tests", "e2e"))
from house import field, npy, onnx_model, onnx_node, tensors  # noqa: E402

BATCH, CLASSES = 32, 10
THREADS = len(os.sched_getaffinity(0))  # as without --threads; the harder case: no core is left for the cipher
MOST = 1.10


class Network:
    """ResNet-18 for images of 32 x 32, as bench/runtime/networks.py has it, node by node."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.block = [draw.uniform(-1, 1) for _ in range(4096)]
        self.nodes, self.tensors = [], []

    def tensor(self, name, dims, values):
        raw = array.array("f", values).tobytes()
        self.tensors.append(b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name.encode()) + field(9, raw))
        return name

    def weight(self, name, dims):
        """As PyTorch draws them: uniform within 1 / sqrt(inputs). One block of numbers, again and again: time does not depend on them."""
        count, inputs = 1, 1
        for dim in dims:
            count *= dim
        for dim in dims[1:]:
            inputs *= dim
        scaled = array.array("f", [value * inputs ** -0.5 for value in self.block])
        return self.tensor(name, dims, (scaled * (count // len(scaled) + 1))[:count])

    def node(self, op, name, inputs, **ints):
        self.nodes.append(onnx_node(op, inputs, [name], name, **ints))
        return name

    def conv_norm(self, name, x, inputs, outputs, size, stride):
        y = self.node("Conv", name + ".conv", [x, self.weight(name + ".weight", (outputs, inputs, size, size))], kernel_shape=[size, size],
                      strides=[stride, stride], pads=[size // 2] * 4)
        scale, shift, mean, variance = (self.tensor(f"{name}.{part}", (outputs,), [value] * outputs)
                                        for part, value in (("scale", 1.0), ("shift", 0.0), ("running_mean", 0.0), ("running_var", 1.0)))
        self.nodes.append(onnx_node("BatchNormalization", [y, scale, shift, mean, variance], [name, name + ".new_mean", name + ".new_var"], name + ".norm",
                                    training_mode=1))
        return name

    def residual(self, name, x, inputs, outputs, stride):
        y = self.node("Relu", name + ".relu1", [self.conv_norm(name + ".first", x, inputs, outputs, 3, stride)])
        y = self.conv_norm(name + ".second", y, outputs, outputs, 3, 1)
        past = x if stride == 1 and inputs == outputs else self.conv_norm(name + ".past", x, inputs, outputs, 1, stride)
        return self.node("Relu", name + ".relu2", [self.node("Add", name + ".add", [y, past])])

    def resnet18(self):
        x, inputs = self.node("Relu", "stem.relu", [self.conv_norm("stem", "x", 3, 64, 3, 1)]), 64
        for stage, (width, stride) in enumerate([(64, 1), (128, 2), (256, 2), (512, 2)]):
            for block in range(2):
                x = self.residual(f"stage{stage}.{block}", x, inputs, width, stride if block == 0 else 1)
                inputs = width
        x = self.node("Flatten", "flat", [self.node("GlobalAveragePool", "pooled", [x])], axis=1)
        self.nodes.append(onnx_node("Gemm", [x, self.weight("head.weight", (CLASSES, 512)), self.tensor("head.bias", (CLASSES,), [0.0] * CLASSES)], ["y"],
                                    "head", transB=1))
        return onnx_model(self.nodes, ["N", 3, 32, 32], self.tensors)


def make(folder, steps, seed):
    os.makedirs(folder)
    with open(os.path.join(folder, "net.onnx"), "wb") as file:
        file.write(Network(seed).resnet18())
    draw = random.Random(seed)
    for part, count in (("train", steps * BATCH), ("test", BATCH)):
        with open(os.path.join(folder, f"x_{part}.npy"), "wb") as file:
            file.write(npy("<f4", (count, 3, 32, 32), array.array("f", (byte / 255 for byte in draw.randbytes(count * 3072))).tobytes()))
        with open(os.path.join(folder, f"y_{part}.npy"), "wb") as file:
            file.write(npy("<i8", (count,), array.array("q", (draw.randrange(CLASSES) for _ in range(count))).tobytes()))


class Bench:
    def __init__(self, run, steps):
        self.run, self.steps, self.folder = run, steps, run.path("resnet18")
        make(self.folder, steps, run.seed)
        found = self.succeed("plan", self.path("net.onnx"), "--batch", BATCH, "--ram", "8GiB", "--effort", 1, "--threads", THREADS, "--format", "json")
        self.ram = json.loads(found.stdout.splitlines()[0])["unplanned_peak_bytes"] // 2

    def path(self, name):
        return os.path.join(self.folder, name)

    def succeed(self, *words):
        done = self.run.call(*words, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done

    def train(self, encryption, *more):
        """Seconds of every step but the first, the last line of the log, the trained weights."""
        out = self.path("out.safetensors")
        self.succeed("train", self.path("net.onnx"), "--data", self.folder, "--batch", BATCH, "--ram", f"{self.ram}B", "--threads", THREADS, "--objective", "time",
                     "--effort", 10, "--log-every", 1, "--page-encryption", encryption, "-o", out, *more)
        with open(out + ".jsonl") as file:
            lines = [json.loads(line) for line in file]
        ends = [line["seconds"] for line in lines if line["event"] == "step"]
        return [after - before for before, after in zip(ends, ends[1:])], lines[-1], tensors(out)

    def faults(self, ends, weights):
        """What the runs must have done for their times to say anything."""
        (on, off), paged = ends, {end["bytes_paged_out"] for end in ends}
        if on["page_encryption"] == "off" or off["page_encryption"] != "off":
            yield "the runs were not with and without encryption"
        if len(paged) != 1 or 0 in paged:
            yield f"bytes paged out: {paged}"
        if weights[0] != weights[1]:
            yield "encryption changed the bits"


def run(job):
    rounds, steps = (1, 4) if job.quick else (11, 6)
    bench = Bench(job, steps)
    bench.train("on", "--plan-out", bench.path("plan.json"))
    seconds, ratios = {"on": [], "off": []}, []
    for turn in range(rounds):
        taken = {way: bench.train(way, "--plan", bench.path("plan.json")) for way in (("on", "off") if turn % 2 == 0 else ("off", "on"))}
        for way, (times, _, _) in taken.items():
            seconds[way] += times
        ratios.append(statistics.median(taken["on"][0]) / statistics.median(taken["off"][0]))
    ends, weights = zip(*(taken[way][1:] for way in ("on", "off")))
    faults = list(bench.faults(ends, weights))
    on, off = (statistics.median(seconds[way]) for way in ("on", "off"))
    ratio = statistics.median(ratios)  # of runs side by side: what else the machine does has its part in both
    moved = (ends[0]["bytes_paged_out"] + ends[0]["bytes_paged_in"]) / ends[0]["steps"]
    job.table.add("page encryption", ratio, "x", "at most 1.10", ratio <= MOST and not faults,
                  "; ".join([*faults, f"{on * 1e3:.0f} ms against {off * 1e3:.0f} ms a step, medians of {len(seconds['on'])}; {rounds} rounds from {min(ratios):.3f} to {max(ratios):.3f}",
                             f"{moved / 2**20:.0f} MiB paged a step, {moved / on / 2**20:.0f} MiB/s", ends[0]["page_encryption"],
                             f"{THREADS} threads, {ends[0]['encryption_bytes'] / 2**20:.2f} MiB of RAM for it beside {ends[0]['arena_bytes'] / 2**20:.0f} MiB"]))


if __name__ == "__main__":
    job.main(run)
