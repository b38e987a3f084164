"""Ten networks of tests/networks, planned with times measured on this machine, and trained by their plans.

A row is one network. `plan` begins with an empty profile store: measuring may take a tenth of --time-limit. The step that
the plan predicts is held against the median step of `train --plan` on the same thread, with RAM for everything and random
data; nothing else may run on the machine meanwhile. Standard library only.
"""
import array
import json
import os
import random
import shutil
import statistics
import struct
import subprocess

from planner_ask import Question

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NETWORKS = ("lenet5", "vgg16", "resnet18", "resnet50", "mobilenetv2", "unet", "convnext", "vit", "gpt2", "tcn")
WITHIN, TENTH = 0.25, 0.1
SECONDS, LEAST, MOST = 2.0, 30, 1000  # of training, and the steps that it may have


def write_npy(path, shape, kind, values):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array({"<f4": "f", "<i8": "q"}[kind], values).tobytes())


def write_data(path, spec, steps, chance):
    """One step's values again and again: a step's time does not depend on them."""
    count = 1
    for extent in spec["shape"]:
        count *= extent
    shape = (spec["shape"][0] * steps, *spec["shape"][1:])
    if spec["kind"] == "ids":
        return write_npy(path, shape, "<i8", [chance.randrange(spec["below"]) for _ in range(count)] * steps)
    write_npy(path, shape, "<f4", [chance.uniform(-1, 1) for _ in range(count)] * steps)


class Network:
    """The file of the newer exporter beside weights of the scale that its test has, and data for so many steps."""

    def __init__(self, name, folder):
        source = os.path.join(ROOT, "tests", "networks", name)
        with open(source + ".json") as file:
            self.spec = json.load(file)
        self.folder, self.model, self.chance = folder, os.path.join(folder, "model.onnx"), random.Random(name)
        os.makedirs(folder, exist_ok=True)
        shutil.copy(source + ".dynamo.onnx", self.model)
        with open(os.path.join(folder, "weights.bin"), "wb") as file:
            for _, _, offset, count, scale, shift in self.spec["weights"]:
                file.seek(offset)
                file.write(array.array("f", (shift + scale * self.chance.uniform(-1, 1) for _ in range(count))).tobytes())

    def losses(self):
        """One, or one of each output, which are y, y1 and so on."""
        if "terms" not in self.spec:
            return ["--loss", self.spec["loss"]]
        return [word for at, term in enumerate(self.spec["terms"]) for word in ("--loss", f"y{at or ''}={term['loss']},weight={term['weight']}")]

    def options(self):
        return [*self.losses(), "--optimizer", f"sgd,momentum={self.spec['momentum']}", "--threads", "1", "--page-file", self.folder]

    def make_data(self, steps):
        write_data(os.path.join(self.folder, "x_train.npy"), self.spec["inputs"][0], steps, self.chance)
        write_data(os.path.join(self.folder, "y_train.npy"), self.spec["label"], steps, self.chance)


def answer_of(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def plan(args, network):
    store = os.path.join(network.folder, "times.db")
    if os.path.exists(store):
        os.remove(store)
    return answer_of([args.pantoum, "plan", network.model, "--objective", "time", "--time-limit", f"{args.time_limit}s", "--profile-store", store,
                      "--format", "json", "-o", os.path.join(network.folder, "plan.json"), *network.options()])


def step_seconds(args, network, steps):
    """The median step of training, the first ones apart."""
    network.make_data(steps)
    log = os.path.join(network.folder, "run.jsonl")
    answer_of([args.pantoum, "train", network.model, "--data", network.folder, "--plan", os.path.join(network.folder, "plan.json"), "--lr", "1e-6", "--log-every", "1",
               "--log", log, "--format", "json", "-o", os.path.join(network.folder, "out.safetensors"), *network.options()])
    with open(log) as file:
        ends = [line["seconds"] for line in map(json.loads, file) if line["event"] == "step"]
    return [later - earlier for earlier, later in zip(ends, ends[1:])][5:]


def row(table, args, name, network, raw):
    planned = plan(args, network)
    steps = max(LEAST, min(MOST, int(SECONDS / planned["time_s"])))
    taken = step_seconds(args, network, steps)
    step = statistics.median(taken)
    off, limit = abs(planned["time_s"] / step - 1), TENTH * args.time_limit
    raw[name] = {"plan": planned, "steps_s": taken, "measuring": planned["measuring_s"] / limit}
    table.add(f"{name}: predicted step over the one measured", planned["time_s"] / step, "", "within 25%", off <= WITHIN,
              f"{planned['time_s'] * 1e3:.4g} of {step * 1e3:.4g} ms (quickest {min(taken) * 1e3:.4g}), {steps} steps; {planned['time_source']}; "
              f"measuring {planned['measuring_s']:.2f} of {limit:g} s")


def questions(asker, args):
    for words in NETWORKS:
        yield Question(f"measured {words}", args.time_limit + 3 * SECONDS + 5, _asking(asker, args, words))


def _asking(asker, args, words):
    def ask(table, raw):
        name = f"measured {words}"
        row(table, args, name, Network(words, os.path.join(asker.out, "measured", words)), raw)
    return ask


def summarise(table, raw):
    shares = [each["measuring"] for name, each in raw.items() if name.startswith("measured ") and "measuring" in each]
    if shares:  # one run of a kernel may be beyond
        table.add("measured: longest measuring over a tenth of the time limit", max(shares), "", "<= 1.05", max(shares) <= 1.05)
