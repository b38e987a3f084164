"""Parts of model files that repeat in time: their numbers and gradients, and the targets that they learn with, against a loop in float64."""
import json
import math
import os
import random
import struct
import unittest

from house import House, tensors
from test_ini_backbones import floats

STEPS, SAMPLES = 4, 2
QUICKLY = ("--kernels", "portable", "--threads", "1", "--effort", "1")

DECODER = """[prenet]
type = fully_connected
unit = 3
activation = tanh
[cell]
type = lstmcell
unit = 2
[frame]
type = fully_connected
unit = 2
"""
MODEL = """[Model]
loss = mse
batch_size = 2
epochs = 1
[Optimizer]
type = sgd
learning_rate = 0.1
[first]
type = input
input_shape = 1:1:2
[frames]
type = input
input_shape = 1:3:2
[each]
type = split
axis = 2
[decoder]
backbone = decoder.ini
input_layers = first
unroll_for = 4
recurrent_input = prenet, cell(1), cell(2)
recurrent_output = frame, cell, cell(1)
as_sequence = frame
teacher_input = prenet
teacher_layers = each
"""
NAMES = ("prenet.weight", "prenet.bias", "cell.weight_ih", "cell.weight_hh", "cell.bias_ih", "cell.bias_hh", "frame.weight", "frame.bias")
SHAPES = ((2, 3), (3,), (3, 8), (2, 8), (8,), (8,), (2, 2), (2,))
BY_HAND = """[Model]
loss = mse
batch_size = 2
epochs = 1
[Optimizer]
type = sgd
learning_rate = 0.1
[first]
type = input
input_shape = 1:1:2
[prenet0]
type = fully_connected
unit = 3
activation = tanh
[cell0]
type = lstmcell
unit = 2
[frame0]
type = fully_connected
unit = 2
[prenet1]
type = fully_connected
unit = 3
activation = tanh
shared_from = prenet0
[cell1]
type = lstmcell
unit = 2
input_layers = prenet1, cell0, cell0(1)
shared_from = cell0
[frame1]
type = fully_connected
unit = 2
shared_from = frame0
"""

# Its result is the target of step 0 where that was taken, else 0: the loss of a step is the share of the samples that took it.
DRAWN = """[Model]
loss = mse
batch_size = 50
[Optimizer]
type = sgd
learning_rate = 1e-9
[first]
type = input
input_shape = 1:1:1
[frames]
type = input
input_shape = 1:1:1
[part]
backbone = line.ini
input_layers = first
unroll_for = 2
recurrent_input = line
recurrent_output = line
teacher_input = line
teacher_layers = frames
teacher_forcing = 0.3
"""


def row_times(row, matrix, bias):
    return [sum(x * line[at] for x, line in zip(row, matrix)) + bias[at] for at in range(len(bias))]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def decoded(weights, first, frames, steps=STEPS):
    """The frames of all steps. `frames`: what a step reads in place of the frame before, or None."""
    taken, start = [], 0
    for shape in SHAPES:
        count = math.prod(shape)
        part = weights[start:start + count]
        taken.append(part if len(shape) == 1 else [part[row * shape[1]:(row + 1) * shape[1]] for row in range(shape[0])])
        start += count
    prenet, prenet_bias, of_input, of_state, bias_ih, bias_hh, frame, frame_bias = taken
    x, hidden, cell, made = first, [0.0] * 2, [0.0] * 2, []
    for step in range(steps):
        x = [math.tanh(each) for each in row_times(x, prenet, prenet_bias)]
        gates = [a + b for a, b in zip(row_times(x, of_input, bias_ih), row_times(hidden, of_state, bias_hh))]
        i, f, g, o = (gates[at:at + 2] for at in range(0, 8, 2))
        cell = [sigmoid(f[at]) * cell[at] + sigmoid(i[at]) * math.tanh(g[at]) for at in range(2)]
        hidden = [sigmoid(o[at]) * math.tanh(cell[at]) for at in range(2)]
        made.append(row_times(hidden, frame, frame_bias))
        x = made[-1] if frames is None or step + 1 == steps else frames[step]
    return sum(made, [])


class IniUnrolled(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(2)
        cls.weights = [draw.uniform(-1, 1) for _ in range(sum(math.prod(shape) for shape in SHAPES))]
        cls.weights = list(struct.unpack(f"<{len(cls.weights)}f", struct.pack(f"<{len(cls.weights)}f", *cls.weights)))
        cls.samples = [[draw.uniform(-1, 1) for _ in range(2 + 6 + 8)] for _ in range(SAMPLES)]
        cls.put("decoder.ini", DECODER)
        cls.put("line.ini", "[line]\ntype = fully_connected\nunit = 1\ndisable_bias = true\nweight_initializer = ones\n")
        cls.put("first.bin", struct.pack(f"<{len(cls.weights)}f", *cls.weights) + bytes(8))
        cls.put("train.dat", b"".join(struct.pack("<16f", *sample) for sample in cls.samples))
        cls.put("x.dat", b"".join(struct.pack("<8f", *sample[:8]) for sample in cls.samples))
        cls.put("drawn.dat", struct.pack("<3f", 0, 1, 0) * 200)
        cls.drawn = cls.put("drawn.ini", DRAWN)

    @classmethod
    def put(cls, name, data):
        with open(os.path.join(cls.folder, name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return os.path.join(cls.folder, name)

    def near(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=1e-5)

    def predicted(self, model, data="x.dat"):
        self.succeed("predict", model, "--weights", self.path("first.bin"), "--data", self.path(data), "-o", self.path("y.npy"), *QUICKLY[:4])
        return floats(self.path("y.npy"))

    def test_frames_are_those_of_a_loop(self):
        expected = sum((decoded(self.weights, sample[:2], None) for sample in self.samples), [])
        for forcing in ("1", "0.5", "0"):
            self.near(self.predicted(self.put("net.ini", MODEL + f"teacher_forcing = {forcing}\n")), expected)

    def step_is_that_of_a_loop(self, forcing, taught):
        def loss(weights):
            total = 0.0
            for sample in self.samples:
                frames = [sample[2 + 2 * at:4 + 2 * at] for at in range(3)] if taught else None
                total += sum((a - b) ** 2 for a, b in zip(decoded(weights, sample[:2], frames), sample[8:]))
            return total / (8 * SAMPLES)

        expected = []
        for at, weight in enumerate(self.weights):
            moved = [[*self.weights[:at], weight + by, *self.weights[at + 1:]] for by in (1e-5, -1e-5)]
            expected.append(weight - 0.1 * (loss(moved[0]) - loss(moved[1])) / 2e-5)
        model, out = self.put("net.ini", MODEL + forcing), self.path("after.safetensors")
        log = self.path("after.log")
        self.succeed("train", model, "--weights", self.path("first.bin"), "--data", self.path("train.dat"), "-o", out, "--log", log, "--log-every", "1", *QUICKLY)
        kept = tensors(out)
        found = []
        for name in NAMES:
            data = kept[f"decoder/{name}"]
            found += struct.unpack(f"<{len(data) // 4}f", data)
        self.near(found, expected)
        losses = [each["loss"] for each in self.log_of(log) if each.get("event") == "step"]
        self.near(losses, [loss(self.weights)])

    def test_a_training_with_targets(self):
        self.step_is_that_of_a_loop("", True)
        self.step_is_that_of_a_loop("teacher_forcing = 1\n", True)

    def test_a_training_without_targets(self):
        self.step_is_that_of_a_loop("teacher_forcing = 0\n", False)

    def test_layers_with_shared_weights_are_the_same_network(self):
        text = MODEL[:MODEL.index("teacher_input")].replace("unroll_for = 4", "unroll_for = 2").replace("as_sequence = frame\n", "")
        short = text[:text.index("[frames]")] + text[text.index("[decoder]"):]
        self.put("one.dat", b"".join(struct.pack("<2f", *sample[:2]) for sample in self.samples))
        by_hand, unrolled = self.put("hand.ini", BY_HAND), self.put("short.ini", short)
        self.assertEqual(self.predicted(by_hand, "one.dat"), self.predicted(unrolled, "one.dat"))
        self.put("two.dat", b"".join(struct.pack("<4f", *sample[:4]) for sample in self.samples))
        for model, out in ((by_hand, "hand.bin"), (unrolled, "short.bin")):
            self.succeed("train", model, "--weights", self.path("first.bin"), "--data", self.path("two.dat"), "-o", self.path(out), *QUICKLY)
        with open(self.path("hand.bin"), "rb") as one, open(self.path("short.bin"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_a_bin_file_has_each_weight_once(self):
        model = self.put("net.ini", MODEL)
        self.succeed("train", model, "--weights", self.path("first.bin"), "--data", self.path("train.dat"), "-o", self.path("after.bin"), *QUICKLY)
        self.assertEqual(os.path.getsize(self.path("after.bin")), 4 * len(self.weights) + 8)

    def shares(self, out, *words, model=None):
        log = self.path(out + ".log")
        self.succeed("train", model or self.drawn, "--data", self.path("drawn.dat"), "-o", self.path(out), "--log", log, "--log-every", "1",
                     "--effort", "1", *words)
        return [each["loss"] for each in self.log_of(log) if each.get("event") == "step"]

    def test_samples_take_their_targets_with_the_probability(self):
        for forcing, least, most in (("0.3", 0.25, 0.35), ("0.8", 0.75, 0.85)):
            model = self.put("share.ini", DRAWN.replace("0.3", forcing))
            found = self.shares("share.safetensors", "--epochs", "10", model=model)
            self.assertEqual(len(found), 40)
            self.assertTrue(least < sum(found) / len(found) < most, found)
            self.assertGreater(len(set(found)), 5, "steps draw anew")
        self.assertAlmostEqual(sum(self.shares("all.safetensors", "--epochs", "1", model=self.put("share.ini", DRAWN.replace("0.3", "1")))), 4, places=5)

    def test_draws_follow_the_seed_alone(self):
        peak = json.loads(self.succeed("inspect", self.drawn, "--format", "json").stdout)["unplanned_peak_bytes"]
        least = json.loads(self.run_cli("plan", self.drawn, "--ram", "1B", "--format", "json").stdout)["min_ram_bytes"]
        self.assertLess(least, peak)
        found = self.shares("free.safetensors", "--epochs", "5", "--seed", "4")
        self.assertNotEqual(found, self.shares("other.safetensors", "--epochs", "5", "--seed", "5"))
        half = max(least, peak // 2)
        for words in (("--ram", f"{half}B"), ("--ram", f"{least}B"), ("--threads", "1")):
            self.assertEqual(self.shares("less.safetensors", "--epochs", "5", "--seed", "4", *words), found)
            self.same_bits(tensors(self.path("less.safetensors")), tensors(self.path("free.safetensors")))

    def test_a_resumed_training_draws_on(self):
        whole = self.shares("whole.safetensors", "--epochs", "3", "--seed", "4")
        checkpoint = self.path("parts.checkpoint")
        self.shares("parts.safetensors", "--epochs", "1", "--seed", "4", "--checkpoint", checkpoint, "--checkpoint-every", "3")
        rest = self.shares("rest.safetensors", "--epochs", "3", "--seed", "4", "--resume", checkpoint)
        self.assertEqual(rest, whole[-len(rest):])
        self.assertEqual(len(rest), 9, "it goes on behind step 3 of 4 of the first epoch")
        self.same_bits(tensors(self.path("rest.safetensors")), tensors(self.path("whole.safetensors")))

    def test_mistakes_have_lines(self):
        for change, words in ((("unroll_for = 4", "unroll_for = 0"), ("net.ini:20", "unroll_for")), (("= frame, cell, cell(1)", "= frame, cell"), ("net.ini:22", "3 recurrent inputs and 2")),
                              (("axis = 2", "axis = 3"), ("its target 1:3:1",)), (("prenet, cell(1)", "prent, cell(1)"), ("net.ini:21", "did you mean prenet?"))):
            told = self.refuse(3, "E0214", "inspect", self.put("net.ini", MODEL.replace(*change))).stderr
            for word in words:
                self.assertIn(word, told)


if __name__ == "__main__":
    unittest.main()
