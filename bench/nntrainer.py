"""Holds trainings of NNTrainer's model files against recorded ones: out/bench/nntrainer.json (docs/how-to/nntrainer.md).

`golden NAME` trains a network of NNTrainer's tests from the weights and the batch that Keras recorded for it. The figure is the largest difference of a loss, or of a
weight as a share of the largest weight, after any of the ten iterations: it holds at 1e-5, if a training in half of the unplanned peak (or in the least RAM, where that
is more) gives the same bits. `file NAME` reads a public model file: its layers, parameters and shapes are those that nntrainer_layers.py works out, and three steps on
made data give a loss each; the figure is the number of parameters. A file that is refused holds if the refusal names what is to be named. Files with the batch in
brackets are trained with a smaller one than theirs. `app NAME`: nntrainer_apps.py.
usage: nntrainer.py --pantoum PROGRAM --reference FOLDER [--only TEXT]
"""
import argparse
import collections
import csv
import json
import math
import os
import shutil
import subprocess
import tempfile

import numpy

import nntrainer_apps
import nntrainer_layers
from table import Table

try:
    import nntrainer_tflite
except ImportError:
    nntrainer_tflite = None

MOST = 1e-5
STEPS = 3
CONVOLUTIONAL = {"input": 1, "conv2d": 13, "pooling2d": 5, "flatten": 1, "fully_connected": 3, "batch_normalization": 3}


# What a file has: its layers by type; "batch" to train with; options that it needs; or what its refusal names.
FILES = {
    "AlexNet-alex": {"layers": {"input": 1, "conv2d": 5, "pooling2d": 3, "flatten": 1, "dropout": 2, "fully_connected": 3}, "parameters": 23640996, "batch": 4},
    "Custom-LayerClient-custom_layer_client": {"names": ("custom_pow", "mae_loss")},
    "Layers-Conv": {"layers": {"input": 1, "conv2d": 1}, "parameters": 84},
    "Layers-LSTM": {"layers": {"input": 1, "lstm": 1}, "parameters": 6021600},
    "Layers-Model_A_Conv": {"layers": {"input": 1, "conv2d": 3}, "parameters": 252},
    "Layers-Model_C_Linear": {"layers": {"input": 1, "fully_connected": 1, "flatten": 1}, "parameters": 1505290},
    "LogisticRegression-LogisticRegression": {"layers": {"input": 1, "fully_connected": 1}, "parameters": 3},
    "MNIST-mnist": {"layers": {"input": 1, "conv2d": 2, "pooling2d": 2, "flatten": 1, "fully_connected": 1}, "parameters": 3898},
    "ProductRatings-product_ratings_model": {"layers": {"input": 1, "split": 1, "embedding": 2, "concat": 1, "flatten": 1, "fully_connected": 3}, "parameters": 5629, "batch": 8},
    "ReinforcementLearning-DeepQ-DeepQ": {"layers": {"input": 1, "fully_connected": 3}, "parameters": 2902},
    "Resnet-resnet18": {"layers": {"input": 1, "conv2d": 21, "batch_normalization": 16, "output": 9, "addition": 8, "pooling2d": 2, "concat": 1, "flatten": 1, "activation": 1}, "parameters": 12552202, "batch": 4},
    "Tizen_native-CustomShortcut-model": {"layers": {"input": 1, "flatten": 1, "fully_connected": 1}, "parameters": 125442},
    "VGG-vgg_small": {"layers": CONVOLUTIONAL, "parameters": 967476, "batch": 8},
    "mnist": {"layers": {"input": 1, "conv2d": 2, "pooling2d": 2, "flatten": 1, "fully_connected": 1}, "parameters": 3898},
    "test-mnist_inf": {"layers": {"input": 1, "conv2d": 2, "pooling2d": 2, "flatten": 1, "fully_connected": 1}, "parameters": 3898, "options": ("--loss", "mse", "--optimizer", "sgd")},
}


class Refused(Exception):
    pass


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def file(self, name):
        return os.path.join(self.folder, name)

    def answers(self, *words):
        done = subprocess.run([self.path, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return done.stdout

    def asked(self, *words):
        """The JSON that it answers, or why it refuses, as JSON."""
        done = subprocess.run([self.path, *words, "--format", "json"], capture_output=True, text=True)
        return json.loads(done.stdout)

    def losses(self, model, output, *words):
        self.answers("train", model, "-o", self.file(output), "--log", self.file("log"), "--log-every", "1", "--shuffle", "off", "--effort", "1", *words)
        with open(self.file("log")) as lines:
            return [each["loss"] for each in map(json.loads, lines) if each.get("event") == "step"]

    def bin(self, name):
        """The numbers of a file of weights, without epoch and iteration."""
        return numpy.fromfile(self.file(name), "<f4")[:-2]


def least_ram(program, model, words):
    """Half of the unplanned peak, or the least RAM where that is more; and the peak."""
    peak = program.asked("inspect", model)["unplanned_peak_bytes"]
    least = program.asked("plan", model, *words, "--ram", "1B", "--effort", "1")["min_ram_bytes"]
    return max(peak // 2, least), peak


def add_golden(table, program, raw, folder, case):
    name = f"golden {case['ini']}"
    if not table.wants(name):
        return
    model = os.path.join(folder, case["ini"] + ".ini")
    recorded = numpy.fromfile(os.path.join(folder, case["info"]), "<f4")
    batch = int(nntrainer_layers.sections_of(model)["model"]["batch_size"])
    layers = nntrainer_layers.read(model)
    samples = batch * nntrainer_layers.elements(layers[0].shapes)
    labels = math.prod(int(each) for each in case["label_shape"].split(":"))
    weights = sum(nntrainer_layers.elements(layer.weights) for layer in layers)
    parts = numpy.split(recorded, numpy.cumsum([samples, labels, weights]))
    numpy.hstack([part.reshape(batch, -1) for part in parts[:2]]).tofile(program.file("batch.dat"))
    parts[2].tofile(program.file("first.bin"))
    places, size = nntrainer_layers.blocks(model, layers, batch)
    iterations = parts[3].reshape(-1, size)[:int(case["iterations"])]
    common = ["--weights", program.file("first.bin"), "--data", program.file("batch.dat")]
    off_loss = off_weight = 0.0
    for done, iteration in enumerate(iterations, 1):
        losses = program.losses(model, "whole.bin", *common, "--epochs", str(done))
        off_loss = max(off_loss, abs(losses[-1] - float(iteration[-1]))) if len(losses) == done else math.inf
        expected = numpy.concatenate([iteration[at:at + count] for at, count in places])
        off_weight = max(off_weight, float(abs(program.bin("whole.bin") - expected).max() / abs(expected).max()))
    ram, peak = least_ram(program, model, [])
    program.losses(model, "planned.bin", *common, "--epochs", str(len(iterations)), "--ram", f"{ram}B")
    same = numpy.array_equal(program.bin("whole.bin").view("u4"), program.bin("planned.bin").view("u4"))
    raw[name] = {"loss": off_loss, "weight": off_weight, "peak_bytes": peak, "ram_bytes": ram, "same_bits": bool(same)}
    table.add(name, max(off_loss, off_weight), "", f"<= {MOST:g}, same bits in less RAM", max(off_loss, off_weight) <= MOST and same,
              f"{len(iterations)} losses to {off_loss:.2g}, weights to {off_weight:.2g}; {ram} of {peak} bytes" + ("" if same else ": other bits"))


def made_samples(layers, count):
    """Inputs and labels that fit the network."""
    draw = numpy.random.default_rng(7)
    inputs = draw.random((count, nntrainer_layers.elements(layers[0].shapes)), dtype="f4")
    rows = min((layer.weights[0][0] for layer in layers if layer.type == "embedding"), default=0)
    if rows:
        inputs = draw.integers(0, rows, inputs.shape).astype("f4")
    classes = nntrainer_layers.elements(layers[-1].shapes)
    labels = numpy.eye(classes, dtype="f4")[draw.integers(0, classes, count)] if 1 < classes <= 1000 else draw.integers(0, 2, (count, classes)).astype("f4")
    return numpy.hstack([inputs, labels])


def check_file(program, model, expected):
    """The losses of three steps, and what is not as it should be."""
    layers, wrong = nntrainer_layers.read(model), []
    found = collections.Counter(layer.type for layer in layers)
    if found != collections.Counter(expected["layers"]):
        wrong.append(f"the layers {dict(found)}")
    told = program.asked("inspect", model)
    if told["parameters"] != expected["parameters"] or told["parameters"] != sum(nntrainer_layers.elements(layer.weights[layer.statistics:]) for layer in layers):
        wrong.append(f"{told['parameters']} parameters")
    shapes = [each["type"] for each in told["tensors"]]
    if sorted(shapes) != sorted(f"f32[{','.join(map(str, shape))}]" for layer in layers for shape in layer.weights):
        wrong.append(f"the tensors {shapes}")
    outputs = [text[text.index("[N") + 3:-1] for text in told["outputs"]]
    shape = layers[-1].shapes[0]
    if outputs != [",".join(map(str, shape[2:] if shape[:2] == [1, 1] else shape))]:
        wrong.append(f"the outputs {told['outputs']}")
    batch = expected.get("batch", told["batch"])
    made_samples(layers, STEPS * batch).tofile(program.file("made.dat"))
    options = [*(["--batch", str(batch)] if "batch" in expected else []), *expected.get("options", ())]
    losses = program.losses(model, "made.bin", "--data", program.file("made.dat"), "--epochs", "1", *options)
    if len(losses) != STEPS or not all(map(math.isfinite, losses)):
        wrong.append(f"the losses {losses}")
    return losses, wrong


def add_plugin(table, program, model):
    """The same model file with the plug-in of the examples that has its layers: 100 numbers, ten classes."""
    row = "plug-in LayerClient"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return table.skip(row, "no C compiler")
    root, library, data = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), program.file("layer_client.so"), program.file("made.dat")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-I", os.path.join(root, "include"), os.path.join(root, "examples", "plugins", "layer_client.c"), "-o", library], check=True)
    numpy.random.default_rng(1).random((STEPS * 10, 110), numpy.float32).tofile(data)
    try:
        losses = program.losses(model, "made.bin", "--plugin", library, "--data", data, "--epochs", "1")
    except Refused as refused:
        return table.add(row, 0, "parameters", "trains", False, str(refused).splitlines()[0])
    told = program.asked("inspect", model, "--plugin", library)
    table.add(row, told["parameters"], "parameters", "1010, trains", told["parameters"] == 1010 and len(losses) == STEPS and all(map(math.isfinite, losses)),
              f"losses {', '.join(f'{each:.4g}' for each in losses)}")


def add_file(table, program, raw, folder, name):
    expected, model = FILES[name], os.path.join(folder, name + ".ini")
    row = f"file {name}" + (f" ({expected['batch']})" if "batch" in expected else "")
    if not table.wants(row):
        return
    if "names" in expected:
        try:
            program.answers("inspect", model)
            told = "it was read"
        except Refused as refused:
            told = str(refused)
        holds = told.startswith("error[E0214]") and all(f"'{each}'" in told for each in expected["names"])
        table.add(row, 0, "", f"refused, with {' and '.join(expected['names'])}", holds, told.splitlines()[0])
        return add_plugin(table, program, model)
    try:
        losses, wrong = check_file(program, model, expected)
    except Refused as refused:
        return table.add(row, 0.0, "", "trains", False, next(line for line in str(refused).splitlines() if line.startswith("error")))
    raw[row] = {"losses": losses}
    note = "; ".join(wrong) or f"{sum(expected['layers'].values())} layers; losses {', '.join(f'{each:.4g}' for each in losses)}"
    table.add(row, expected["parameters"], "parameters", "its layers, trains", not wrong, note)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    table, raw = Table(args.only), {}
    anchors = os.path.join(args.reference, "anchors", "nntrainer")
    with tempfile.TemporaryDirectory() as folder:
        program = Program(os.path.abspath(args.pantoum), folder)
        cases = os.path.join(anchors, "golden", "cases.csv")
        if os.path.exists(cases):
            with open(cases) as file:
                for case in csv.DictReader(file):
                    add_golden(table, program, raw, os.path.dirname(cases), case)
            for name in FILES:
                add_file(table, program, raw, os.path.join(anchors, "files"), name)
        else:
            table.skip("golden", f"no {cases}")
        nntrainer_apps.add_apps(table, program.path, folder, anchors)
        if nntrainer_tflite and (not args.only or "tflite" in args.only):
            for row in nntrainer_tflite.rows(args):
                if table.wants(row["name"]):
                    table.add(**row)
    out = os.path.join(os.environ.get("PANTOUM_OUT", "out"), "bench")
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "nntrainer.json"), "w") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)
    missed = [row["name"] for row in table.rows if not row["ok"] and not row["skipped"]]
    print(f"{len(table.rows)} rows, {len(missed)} missed")


if __name__ == "__main__":
    main()
