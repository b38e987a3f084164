"""Trains many small networks at the least budgets, in many ways, and compares by how much RAM grew with the promise of
docs/concepts/ram-budget.md: the budget rounded up to pages, CONSTANT, and 1 KiB for each tensor of a checkpoint.

    python3 rss.py RUNS     prints the worst runs; exit 1 if one of them broke the promise. RUNS of `pantoum train`, and as many of Python's Trainer where PYTHON names an interpreter with the package
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from exporters import NETWORKS, Network, chain
from house import MODEL, PANTOUM, ROOT, make_data, npy, tensors

PAGE, KIB = os.sysconf("SC_PAGESIZE"), 1024
# As docs/concepts/ram-budget.md names it.
CONSTANT = int(re.search(r"plus (\d+) KiB", pathlib.Path(ROOT, "docs/concepts/ram-budget.md").read_text()).group(1)) << 10
PYTHON = os.environ.get("PYTHON", "")


def perceptron(depth, width, classes=0):
    """`depth` layers of `width`, for inputs of 6 numbers."""
    nodes, weights, last, size = [], {}, "x", 6
    for layer in range(depth):
        to = (classes or 2) if layer == depth - 1 else width
        weights |= {f"w{layer}": ([size, to], None), f"b{layer}": ([to], None)}
        nodes += [("MatMul", [last, f"w{layer}"], f"m{layer}"), ("Add", [f"m{layer}", f"b{layer}"], "y" if layer == depth - 1 else f"a{layer}")]
        if layer < depth - 1:
            nodes.append(("Relu", [f"a{layer}"], f"h{layer}"))
        last, size = f"h{layer}", to
    return Network(f"perceptron_{depth}_{width}", "tf2onnx", [4, 6], chain(*nodes), weights, {}, loss="cross_entropy" if classes else "mse", classes=classes)


def networks(folder):
    """(name, model, data, batch, loss) of 20 networks: of other exporters, perceptrons from narrow to wide and of many tensors, convolutions."""
    found = []
    made = [*NETWORKS, *(perceptron(depth, width, classes) for depth, width, classes in
                         ((1, 2, 0), (2, 8, 3), (2, 64, 0), (3, 200, 5), (2, 700, 0), (8, 16, 0), (20, 8, 4), (60, 4, 0), (4, 128, 2)))]
    for net in made:
        path, data = os.path.join(folder, net.name + ".onnx"), os.path.join(folder, net.name)
        pathlib.Path(path).write_bytes(net.onnx())
        os.makedirs(data)
        rows = net.shape[0] * 6
        targets = (rows,) if net.classes else (rows, 2)
        for stem, values, dims in (("x", net.x, (rows, *net.shape[1:])), ("y", net.y, targets)):
            for split in ("train", "test"):
                pathlib.Path(data, f"{stem}_{split}.npy").write_bytes(npy("<i8" if isinstance(values[0], int) else "<f4", dims, net.bytes_of(values) * 6))
        found.append((net.name, path, data, net.shape[0], net.loss))
    return [*found, ("fashion", MODEL, make_data(os.path.join(folder, "pictures"), 256, 32), 32, "cross_entropy")]


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def least_ram(words):
    done = run(PANTOUM, "plan", *words, "--ram", "1B", "--effort", 1, "--measure", "off", "--format", "json")
    return json.loads(done.stdout)["min_ram_bytes"]


# What a run may do beside steps.
WAYS = ((), ("--threads", 1), ("--threads", 4), ("--kernels", "portable"), ("--page-encryption", "off"), ("--params-in", "aux"), ("--checkpoint-every", 3), ("--keep-best", "best"),
        ("--prefetch", 2), ("--resume",))
OF_STEP = ("--threads", "--kernels", "--params-in")


def train(folder, draw, network):
    """(bytes over the budget's pages, words) of one run."""
    name, model, data, batch, loss = network
    way = draw.choice(WAYS)
    step = [model, "--batch", batch, "--loss", loss, "--optimizer", draw.choice(("sgd", "sgd,momentum=0.9", "adam")), *(way if way and way[0] in OF_STEP else ())]
    ram = least_ram(step) + draw.choice((0, 0, 100, 5000)) + (1 << 20 if way == ("--prefetch", 2) else 0)
    out = os.path.join(folder, "w")
    more = [os.path.join(folder, word) if word == "best" else word for word in way if way[0] not in (*OF_STEP, "--resume")]
    words = ["train", *step, "--ram", f"{ram}B", "--effort", 1, "--measure", "off", "--data", data, "-o", out, "--log", out + ".jsonl", *more]
    for epochs in ((2, 4) if way == ("--resume",) else (2,)):
        resumed = ["--resume", out + ".checkpoint"] if epochs == 4 else ["--checkpoint-every", 4] if way == ("--resume",) else []
        done = run(PANTOUM, *words, "--epochs", epochs, *resumed)
        if done.returncode:
            raise RuntimeError(f"{name}: {words}: {done.stderr}")
    end = json.loads(pathlib.Path(out + ".jsonl").read_text().splitlines()[-1])
    stored = sorted(pathlib.Path(folder).glob("w.checkpoint"))
    saved = KIB * len(tensors(stored[0])) if stored else KIB * len(tensors(out)) if "--keep-best" in way else 0
    for path in stored:
        path.unlink()
    return end["rss_growth_bytes"] - (-(-end["budget_bytes"] // PAGE) * PAGE + end["queue_bytes"] + saved), [name, *way, ram]


IN_PYTHON = """
import json, pathlib, sys
import numpy as np, pantoum
for line in sys.stdin:
    model, data, batch, loss, ram, optimizer, folder = json.loads(line)
    plan = pantoum.plan(pantoum.load_onnx(model, batch=batch, loss=loss, optimizer=optimizer), ram=f"{ram}B", effort=1, measure="off")
    samples = [np.load(f"{data}/{stem}_train.npy") for stem in "xy"]
    trainer = pantoum.Trainer(plan)
    for epoch in range(2):
        for at in range(0, len(samples[0]) - batch + 1, batch):
            trainer.step(*(each[at:at + batch] for each in samples))
        trainer.fit(tuple(samples), epochs=epoch + 1, verbose=0)
        trainer.save(folder + "/python.safetensors")
    print(json.dumps(trainer.usage.rss_growth_bytes), flush=True)
    trainer.close()
"""


class Python:
    """Trainers in one process of Python, one after another."""
    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen([PYTHON, "-c", IN_PYTHON], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def train(self, draw, network):
        name, model, data, batch, loss = network
        optimizer = draw.choice(("sgd", "adam"))
        ram = least_ram([model, "--batch", batch, "--loss", loss, "--optimizer", optimizer]) + draw.choice((0, 0, 100, 5000))
        self.process.stdin.write(json.dumps([model, data, batch, loss, ram, optimizer, self.folder]) + "\n")
        self.process.stdin.flush()
        grown = json.loads(self.process.stdout.readline())
        return grown - -(-ram // PAGE) * PAGE - KIB * len(tensors(os.path.join(self.folder, "python.safetensors"))), ["python", name, optimizer, ram]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def worst_of(runs, seed=1):
    """The runs, the one that grew most above its budget first."""
    with tempfile.TemporaryDirectory() as folder:
        nets, draw = networks(folder), random.Random(seed)
        python = Python(folder) if PYTHON else None
        if python:
            python.train(draw, nets[0])  # the interpreter takes memory by the mebibyte, for modules that a first call loads
        found = []
        for number in range(runs):
            found.append(train(folder, draw, nets[number % len(nets)]))
            if python and number % len(nets) != len(nets) - 1:  # whose data are no arrays
                found.append(python.train(draw, nets[number % len(nets)]))
        if python:
            python.end()
        return sorted(found, key=lambda each: -each[0])


if __name__ == "__main__":
    worst = worst_of(int(sys.argv[1]))
    for over, words in worst[:15]:
        print(f"{over:8} bytes above the budget's pages: {' '.join(map(str, words))}")
    print(f"{len(worst)} runs; promised are {CONSTANT} bytes")
    sys.exit(1 if worst[0][0] > CONSTANT else 0)
