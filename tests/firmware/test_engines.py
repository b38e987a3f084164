"""Projects of plans of several engines: the bits of `pantoum train`, in C99 with POSIX threads alone, without a race; what fails, and where they are refused."""
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import unittest

import workshop
from projects import E_IO, Projects
from test_layouts import CMAKE
from house import onnx_model, onnx_node, onnx_tensor, tensors

E_DATA, E_STATE = 7, 8
BATCH, STEPS = 4, 10
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wmissing-field-initializers")
ENGINES = ("--engines", "cpu0,cpu1")


class Net:
    """Nodes over "x" [N, 1, 28, 28]; weights are drawn. Each method returns the name of what it makes."""

    def __init__(self, path, seed):
        self.path, self.draw, self.nodes, self.weights = path, random.Random(seed), [], []

    def weight(self, *dims, width=0.2):
        self.weights.append(onnx_tensor(f"w{len(self.weights)}", dims, [self.draw.gauss(0, width) for _ in range(math.prod(dims))]))
        return f"w{len(self.weights) - 1}"

    def numbers(self, *values, dtype=7):
        self.weights.append(onnx_tensor(f"n{len(self.weights)}", (len(values),), values, dtype=dtype))
        return f"n{len(self.weights) - 1}"

    def node(self, op, *inputs, outputs=1, **ints):
        made = [f"v{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(onnx_node(op, inputs, made, f"node{len(self.nodes)}", **ints))
        return made[-1]

    def linear(self, at, inputs, outputs):
        return self.node("Gemm", at, self.weight(inputs, outputs), self.weight(outputs))

    def conv(self, at, inputs, outputs, size=3, stride=1):
        return self.node("Relu", self.node("Conv", at, self.weight(outputs, inputs, size, size), self.weight(outputs), pads=[size // 2] * 4, strides=[stride] * 2))

    def end(self, parts, width):
        """A sum of [N, width] each, a linear layer, the file."""
        while len(parts) > 1:
            parts.append(self.node("Add", parts.pop(0), parts.pop(0)))
        self.nodes.append(onnx_node("Gemm", [parts[0], self.weight(width, 10), self.weight(10)], ["y"], "head"))
        with open(self.path, "wb") as file:
            file.write(onnx_model(self.nodes, ("N", 1, 28, 28), self.weights))
        return self.path


def images(path):
    """Convolutions of several sizes side by side, twice."""
    net = Net(path, 1)
    at = net.conv("x", 1, 12, stride=2)
    for _ in range(2):
        at = net.node("Concat", net.conv(at, 12, 4, 1), net.conv(net.conv(at, 12, 8, 1), 8, 4), net.conv(net.conv(at, 12, 8, 1), 8, 4, 5), axis=1)
    return net.end([net.node("Flatten", net.node("GlobalAveragePool", at))], 12)


def sequences(path):
    """An LSTM over the rows of an image, another over its columns."""
    net, ends = Net(path, 2), []
    one, first = net.numbers(1), net.numbers(0)
    for order in ([1, 0, 2], [2, 0, 1]):
        steps = net.node("Transpose", net.node("Squeeze", "x", one), perm=order)
        for _ in range(2):
            state = net.node("LSTM", steps, net.weight(1, 24, 28), net.weight(1, 24, 6), net.weight(1, 48), outputs=2, hidden_size=6)
            ends.append(net.node("Squeeze", state, first))
    return net.end(ends, 6)


def attention(path):
    """Four heads of attention over the rows of a quarter image, each with its own products, twice; layer norms."""
    net = Net(path, 3)
    at = net.node("Squeeze", net.node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]), net.numbers(1))
    for _ in range(2):
        heads = []
        for _ in range(4):
            q, k, v = (net.node("MatMul", at, net.weight(14, 7)) for _ in range(3))
            scores = net.node("Softmax", net.node("MatMul", q, net.node("Transpose", k, perm=[0, 2, 1])), axis=-1)
            heads.append(net.node("MatMul", scores, v))
        mixed = net.node("MatMul", net.node("Concat", *heads, axis=2), net.weight(28, 14))
        at = net.node("LayerNormalization", net.node("Add", at, mixed), net.weight(14), net.weight(14), axis=-1)
    return net.end([net.node("ReduceMean", at, axes=[1], keepdims=0)], 14)


def towers(path, layers=10):
    """Chains of products side by side."""
    net, ends = Net(path, 4), []
    flat = net.node("Flatten", net.node("MaxPool", "x", kernel_shape=[4, 4], strides=[4, 4]))
    for _ in range(2):
        last = flat
        for layer in range(layers):
            last = net.node(["Tanh", "Sigmoid"][layer % 2], net.linear(last, 49 if layer == 0 else 32, 32))
        ends.append(last)
    return net.end(ends, 32)


def around(path):
    """A large activation that the way back needs, many small products side by side, then large tensors again."""
    net, ends = Net(path, 6), []
    small = net.node("Flatten", net.node("MaxPool", net.conv("x", 1, 6, stride=2), kernel_shape=[7, 7], strides=[7, 7]))
    for _ in range(2):
        last = small
        for layer in range(20):
            last = net.node(["Tanh", "Sigmoid"][layer % 2], net.linear(last, 24 if layer == 0 else 12, 12 if layer < 19 else 6))
        ends.append(last)
    gate = net.node("Reshape", net.node("Add", *ends), net.numbers(-1, 6, 1, 1))
    large = net.node("Relu", net.node("Mul", net.conv("x", 1, 6, stride=2), gate))
    return net.end([net.node("Flatten", net.node("GlobalAveragePool", large))], 6)


def rows_of_a_table(path):
    """Rows that pixels name, beside a chain of products."""
    net = Net(path, 5)
    small = net.node("Flatten", net.node("MaxPool", "x", kernel_shape=[7, 7], strides=[7, 7]))
    scale = net.numbers(7.0, dtype=1)
    taken = net.node("Gather", net.weight(8, 12), net.node("Cast", net.node("Mul", small, scale), to=7), axis=0)
    last = small
    for layer in range(8):
        last = net.node("Tanh", net.linear(last, 16 if layer == 0 else 12, 12))
    return net.end([net.node("ReduceMean", taken, axes=[1], keepdims=0), last], 12)


class Engines(Projects):
    def plan_for(self, name, build, *words):
        """The model, and its plan on two engines: where these gain little, by a deadline that one misses."""
        model, plan = build(self.path(f"{name}.onnx")), self.path(f"{name}.plan.json")
        question = ("plan", model, "--batch", BATCH, "--kernels", "portable", "--measure", "off", "--effort", 1, "--lr", 0.05, *words, "-o", plan)
        self.succeed(*question, *ENGINES)
        for share in (0.97, 0.99, 0.995):
            with open(plan) as file:
                made = json.load(file)
            if len(made["graph"]["device"]["engines"]) > 1:
                return model, plan, made
            self.run_cli(*question, *ENGINES, "--deadline", f"{made['predicted']['time_s'] * share * 1e6}us")
        self.fail(f"{name}: no plan of two engines")

    def emit_engines(self, name, plan, *words):
        folder, sizes = self.emit(plan, f"{name}-project", ("posix",), *words, steps=STEPS)
        shutil.copy(os.path.join(workshop.PROGRAMS, "weights.c"), os.path.join(folder, "main.c"))
        return folder, sizes

    def build(self, folder, *flags, name="own", sanitize=""):
        """The project's program in C99 proper, with every warning an error."""
        done = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", folder, f"PROGRAM={name}", f"FLAGS={sanitize}", f"MORE={' '.join([*STRICT, *flags])}"],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return os.path.join(folder, name)

    def run_program(self, folder, program, status=0, **environment):
        """What it printed. A storage is made anew."""
        image = os.path.join(folder, "storage.img")
        if os.path.exists(image):
            os.remove(image)
        subprocess.run(["make", "-s", "-C", folder, "storage.img"], capture_output=True, timeout=60)
        done = subprocess.run([program], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def weights_of(self, folder):
        found, names = {}, workshop.tensor_names(os.path.join(folder, "model", "plan.bin"))
        with open(os.path.join(folder, "weights"), "rb") as file:
            while line := file.readline():
                tensor, size = map(int, line.split())
                found[names[tensor]] = file.read(size)
        return found

    def train(self, model, plan, name):
        """Losses and weights of the same steps on the host."""
        out, log = self.path(f"{name}.safetensors"), self.path(f"{name}.jsonl")
        self.succeed("train", model, "--plan", plan, "--data", self.path("data"), "--epochs", 1, "--shuffle", "off", "--log", log, "--log-every", 1, "-o", out)
        with open(log) as file:
            steps = [each for each in map(json.loads, file) if each.get("event") == "step"]
        return [struct.pack(">f", each["loss"]).hex() for each in steps], tensors(out)

    def check_same(self, name, folder, told, losses, weights):
        self.assertEqual(re.findall(r"loss (\w{8})", told), losses)
        found = self.weights_of(folder)
        self.same_bits({key: found[key] for key in weights}, weights, name)

    CASES = {"images": (images, "--ram", "8MiB"), "sequences": (sequences, "--ram", "8MiB"), "attention": (attention, "--ram", "8MiB", "--optimizer", "adam"),
             "towers": (towers, "--ram", "8MiB"), "table": (rows_of_a_table, "--ram", "8MiB", "--optimizer", "sgd,momentum=0.9"),
             "paged": (around, "--ram", "166KiB", "--no-remat")}

    def test_families_have_the_bits_of_the_host(self):
        """The second time without a race, after trainings that a kernel's error ended."""
        for name, (build, *words) in self.CASES.items():
            with self.subTest(name):
                model, plan, made = self.plan_for(name, build, *words)
                folder, sizes = self.emit_engines(name, plan)
                self.assertEqual(sizes["arena_bytes"], made["predicted"]["arena_bytes"])
                pages = any(step["do"] in ("page_in", "page_out") for step in made["instructions"])
                self.assertEqual(sizes["storage_blocks"] > 0, pages)
                self.assertTrue(pages or name != "paged")
                losses, weights = self.train(model, plan, name)
                self.assertEqual(len(losses), STEPS)
                self.check_same(name, folder, self.run_program(folder, self.build(folder)), losses, weights)
                os.remove(os.path.join(folder, "weights"))
                told = self.run_program(folder, self.build(folder, name="raced", sanitize="-fsanitize=thread"), SPOIL="3")
                self.check_same(name, folder, told, losses, weights)
                self.assertEqual(re.findall(r"spoilt status (\d+), then (\d+)", told), [(str(E_DATA), str(E_STATE))] * 3)
                if name == "paged":
                    self.check_storage(plan, folder)

    def check_storage(self, plan, folder):
        """A storage that fails ends all threads; `run-firmware` runs the same engines here."""
        failing = self.build(folder, "-DBOARD_FAIL_AFTER_WRITES=400", name="failing", sanitize="-fsanitize=thread")
        self.assertRegex(self.run_program(folder, failing, E_IO), rf"loss \w{{8}}\nstatus {E_IO}\n")
        told = self.run_equal(self.emit(plan, "paged-told", ("posix",), steps=STEPS)[0])
        self.assertGreater(int(told["paged"].split()[1]), 0)

    def test_more_threads_than_engines_have_and_both_builds_give_the_same_bits(self):
        _, plan, _ = self.plan_for("many", towers, "--ram", "8MiB")
        folder, _ = self.emit(plan, "many-project", ("posix",), steps=STEPS)
        state = self.run_equal(folder)["state"]
        memory = os.path.join(folder, "model", "memory.c")
        with open(memory) as file:
            text = file.read()
        self.assertIn("    PT_TEAM(1),\n", text, "no op takes both engines")
        with open(memory, "w") as file:
            file.write(text.replace("    PT_TEAM(1),\n", "    PT_TEAM(6),\n").replace("{&teams[0], 2,", "{&teams[0], 7,"))
        self.assertIn(f"state {state}\n", self.make_run(folder).stdout)
        cmake, _ = self.emit(plan, "many-cmake", ("posix",), "--layout", "cmake", steps=STEPS)
        for words in ("--preset", "host"), ("--build", "--preset", "host"):
            subprocess.run([CMAKE, *words], cwd=cmake, capture_output=True, check=True, timeout=300)
        done = subprocess.run([os.path.join(cmake, "build", "host", "firmware")], capture_output=True, text=True, timeout=120)
        self.assertIn(f"state {state}\n", done.stdout)

    def test_targets_without_threads_are_refused(self):
        _, plan, _ = self.plan_for("refused", towers, "--ram", "8MiB")
        for words in ("--target", "cortex-m4f", "--ram", "1MiB"), ("--target", "cortex-m55", "--ram", "1MiB"), ("--target", "posix", "--layout", "zephyr"):
            done = self.refuse(3, "E0291", "emit", plan, *words, "-o", self.path("none"))
            self.assertIn("--target posix", done.stderr)


if __name__ == "__main__":
    unittest.main()
