"""Steps on processors and an OpenCL device: the bits of the processors, and what fails ends in an error that loses nothing."""
import contextlib
import math
import os
import random
import struct
import subprocess
import unittest

from house import ALL_CASES, MODEL, PANTOUM, make_data, npy, onnx_model, onnx_node, onnx_tensor, some, tensors
from test_bit_identity import recurrent_model
from test_engines import BATCH, PLANNED, WIDTH, EngineSteps, towers
from test_engines import make_data as make_rows

ENGINES = ("--engines", "cpu,opencl")
FAKE = os.environ.get("FAKE_OPENCL_LIBRARY", os.path.join(os.path.dirname(PANTOUM), "..", "src", "kernels", "opencl", "libfake_opencl.so"))


def why_no_device():
    """None: there is one."""
    for line in subprocess.run([PANTOUM, "doctor"], capture_output=True, text=True).stdout.splitlines():
        if line.startswith("OpenCL devices"):
            return None if line.split()[2] == "yes" else line
    return "doctor lists no devices"


def images(path, kind):
    """Two branches over images, with what `kind` names in both: [N, 1, 28, 28] -> [N, 10]."""
    draw = random.Random(9)
    made, nodes, ends = [onnx_tensor("ratio", (), [0.4]), onnx_tensor("training", (), [1], dtype=9)], [], []

    def weight(name, *dims, values=None):
        made.append(onnx_tensor(name, dims, values or [draw.gauss(0, 0.3) for _ in range(math.prod(dims))]))
        return name

    def node(op, inputs, name, **more):
        nodes.append(onnx_node(op, inputs, [name], name, **more))
        return name

    for branch in "ab":
        at = node("Conv", ["x", weight(f"{branch}w", 7, 1, 5, 3)], f"{branch}c", pads=[2, 1, 1, 2], strides=[2, 3])
        at = node("Relu", [at], f"{branch}r")
        if kind == "norm":
            statistics = [weight(f"{branch}{part}", 7, values=[value] * 7) for part, value in (("s", 1.5), ("o", 0.1), ("mean", 0.0), ("var", 1.0))]
            nodes.append(onnx_node("BatchNormalization", [at, *statistics], [f"{branch}n", *(s + "_next" for s in statistics[2:])], f"{branch}n", training_mode=1))
            at = node("Conv", [f"{branch}n", weight(f"{branch}d", 7, 1, 3, 3)], f"{branch}depth", group=7, pads=[1] * 4)
        elif kind == "dropout":
            at = node("Dropout", [at, "ratio", "training"], f"{branch}drop")
        elif kind == "pooled":
            at = node("MaxPool", [at], f"{branch}p", kernel_shape=[3, 2], strides=[2, 1])
            at = node("Softmax", [at], f"{branch}s", axis=1)
        ends.append(node("GlobalAveragePool", [at], f"{branch}g"))
    node("Add", ends, "sum")
    node("Flatten", ["sum"], "flat")
    node("Gemm", ["flat", weight("fc", 7, 10), weight("fcb", 10)], "y")
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


class OpenCl(EngineSteps):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = make_rows(os.path.join(cls.folder, "rows"))
        cls.images = make_data(os.path.join(cls.folder, "images"), 40)
        cls.towers = towers(os.path.join(cls.folder, "towers.onnx"), 12)
        cls.why_not = why_no_device()

    @contextlib.contextmanager
    def variables(self, **values):
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)

    def on_device(self, plan):
        """How many computes are on the device, of how many."""
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        engines = [ops[each["op"]]["choices"][each["choice"]].get("engine", "cpu") for each in plan["instructions"] if each["do"] == "compute"]
        return sum("opencl0" in (used if isinstance(used, list) else [used]) for used in engines), len(engines)


class Device(OpenCl):
    def setUp(self):
        super().setUp()
        if self.why_not:
            self.skipTest(self.why_not)

    def test_every_way_to_train_has_the_bits_of_the_processors(self):
        families = [(self.towers, self.data), *((images(self.path(kind + ".onnx"), kind), self.images) for kind in ("norm", "dropout", "pooled")),
                    (recurrent_model(self.path("recurrent.onnx"), beside=True), self.images), (MODEL, self.images)]
        ways = ((), ("--optimizer", "adam"), ("--accumulate", "2"), ("--params-in", "aux"), ("--clip-norm", "0.5"))
        mixed, asked = 0, 0
        for model, data in some(families, 4):
            for way in some(ways, 1 if model != self.towers else 2):
                one, _ = self.plan(model, "--ram", "16MiB", *way)
                expected = self.train(model, "--ram", "16MiB", *PLANNED, *way, data=data)
                for ram in some((16 << 20, int(one["predicted"]["peak_bytes"] * 1.05)), 2 if model == self.towers else 1):
                    with self.subTest(os.path.basename(model), way=way, ram=ram):
                        plan, path = self.plan(model, "--ram", f"{ram}B", *ENGINES, *way)
                        self.assertLessEqual(plan["predicted"]["arena_bytes"], ram)
                        there, computes = self.on_device(plan)
                        asked, mixed = asked + 1, mixed + (0 < there < computes)
                        self.same_bits(self.train(model, "--ram", f"{ram}B", *way, "--plan", path, data=data), expected)
        self.assertGreaterEqual(mixed, asked // 2, f"too few of {asked} plans mix the engines")

    def test_a_mixed_plan_resumes_evaluates_and_gives_outputs(self):
        plan, path = self.plan(self.towers, "--ram", "4MiB", *ENGINES)
        self.assertGreater(self.on_device(plan)[0], 0)
        trained, checkpoint = self.path("whole.safetensors"), self.path("half.safetensors.checkpoint")
        words = ("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", "--plan", path)
        self.succeed(*words, "--epochs", 1, "--checkpoint-every", 2, "-o", self.path("half.safetensors"))
        self.succeed(*words, "--epochs", 2, "--resume", checkpoint, "-o", trained)
        expected = self.train(self.towers, "--ram", "4MiB", *PLANNED)
        self.same_bits(tensors(trained), expected)
        # A checkpoint of the device goes on without it.
        without = self.path("without.safetensors")
        self.succeed("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", *PLANNED, "--epochs", 2, "--resume", checkpoint, "-o", without)
        self.same_bits(tensors(without), expected)
        outputs = []
        for by in path, self.plan(self.towers, "--ram", "4MiB")[1]:
            out = self.path(f"outputs{len(outputs)}.npy")
            self.succeed("predict", by, "--weights", trained, "--data", self.data, "-o", out)
            with open(out, "rb") as file:
                outputs.append(file.read())
        self.assertEqual(*outputs)

    def test_kernels_are_measured_once(self):
        words = ("--kernels", "portable", "--ram", "4MiB", "--profile-store", self.path("times.db"), "--time-limit", "20s", *ENGINES)
        told = self.succeed("plan", self.towers, "--batch", BATCH, *words, "-o", self.path("measured.json")).stderr
        self.assertRegex(told, r"opencl0: [1-9]\d* of \d+ kernels were measured")
        table = self.path("times.csv")
        self.succeed("profile", "--profile-store", self.path("times.db"), "--export", table)
        with open(table) as file:
            rows = [line for line in file if ",opencl," in line]
        self.assertGreater(len(rows), 5)

    def rows_of(self, count):
        folder, draw = self.path("many"), random.Random(4)
        os.makedirs(folder, exist_ok=True)
        for split in "train", "test":
            with open(os.path.join(folder, f"x_{split}.npy"), "wb") as file:
                file.write(npy("<f4", (count, WIDTH), struct.pack(f"<{count * WIDTH}f", *(draw.uniform(-1, 1) for _ in range(count * WIDTH)))))
            with open(os.path.join(folder, f"y_{split}.npy"), "wb") as file:
                file.write(npy("<i8", (count,), struct.pack(f"<{count}q", *(draw.randrange(10) for _ in range(count)))))
        return folder

    def test_nothing_of_the_arena_is_copied(self):
        """The RAM of two runs, driver and all, differs as their arenas do."""
        if not ALL_CASES:
            self.skipTest("a minute: make e2e-long runs it")
        samples, width, found = 4096, 2048, []
        rows = self.data_of(samples)
        for branches in 3, 3, 8:  # the first one has the driver compile its programs, which takes memory
            draw = random.Random(2)
            made, nodes, total = [], [], "o0"
            for branch in range(branches):
                made += [onnx_tensor(f"in{branch}", (WIDTH, width), [draw.gauss(0, 0.3) for _ in range(WIDTH * width)]),
                         onnx_tensor(f"out{branch}", (width, 10), [draw.gauss(0, 0.02) for _ in range(10 * width)])]
                nodes += [onnx_node("MatMul", ["x", f"in{branch}"], [f"m{branch}"]), onnx_node("Tanh", [f"m{branch}"], [f"t{branch}"]), onnx_node("MatMul", [f"t{branch}", f"out{branch}"], [f"o{branch}"])]
                if branch:
                    nodes.append(onnx_node("Add", [total, f"o{branch}"], ["y" if branch == branches - 1 else f"s{branch}"]))
                    total = f"s{branch}"
            model = self.path(f"wide{branches}.onnx")
            with open(model, "wb") as file:
                file.write(onnx_model(nodes, ("N", WIDTH), made))
            plan, path = self.plan(model, "--ram", "1GiB", *ENGINES, batch=samples)
            words = ("train", model, "--batch", samples, "--data", rows, "--ram", "1GiB", "--plan", path, "--epochs", 1, "-o", self.path("wide.safetensors"))
            child = subprocess.Popen([PANTOUM, *map(str, words)], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            found.append((plan["predicted"]["arena_bytes"], used.ru_maxrss << 10, self.on_device(plan)[0]))
        _, (small, less, here), (large, more, there) = found
        self.assertGreater(large - small, 250 << 20, found)
        self.assertGreater(min(there, here), 0, "nothing ran on the device")
        self.assertLess(abs((more - less) - (large - small)), 0.02 * (large - small), found)


class Failures(OpenCl):
    """A library that answers as OpenCL does, and fails as it is told."""
    def setUp(self):
        super().setUp()
        if not os.path.exists(FAKE):
            self.skipTest(f"no {FAKE}: this build made none")

    def fake(self, words="", **more):
        return self.variables(PANTOUM_OPENCL=FAKE, FAKE_OPENCL=words, **more)

    def test_what_is_not_there_is_told_before_planning(self):
        words = ("plan", self.towers, "--batch", BATCH, "--ram", "4MiB", *PLANNED)
        with self.variables(PANTOUM_OPENCL="/nowhere/libOpenCL.so"):
            self.assertIn("cannot be loaded", self.refuse(4, "E0412", *words, *ENGINES).stderr)
        for told, code, text in (("no_platform", "E0412", "no platform"), ("no_device", "E0412", "has a device"), ("no_memory_shared", "E0413", "shares no memory"),
                                 ("unavailable", "E0413", "not available"), ("odd", "E0413", "no power of two"), ("compile", "E0413", "the fake wants it so")):
            with self.subTest(told), self.fake(told):
                self.assertIn(text, self.refuse(4, code, *words, *ENGINES).stderr)
        with self.fake():
            self.refuse(4, "E0413", *words, "--engines", "cpu,opencl7")
            self.refuse(2, "E0115", *words, *ENGINES, "--device", "m4")
        self.refuse(2, "E0115", *words, "--engines", "opencl,cpu")

    def test_a_device_of_other_bits_needs_the_freedom(self):
        with self.fake("inexact"):
            self.assertEqual(self.on_device(self.plan(self.towers, "--ram", "4MiB", *ENGINES)[0])[0], 0)
            self.assertGreater(self.on_device(self.plan(self.towers, "--ram", "4MiB", *ENGINES, "--allow-numerics-change")[0])[0], 0)

    def test_a_plan_is_refused_where_its_device_is_gone(self):
        with self.fake():
            _, path = self.plan(self.towers, "--ram", "4MiB", *ENGINES)
        words = ("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", "--plan", path, "--epochs", 1, "-o", self.path("none.safetensors"))
        for told, code in (("no_device", "E0412"), ("compile", "E0413"), ("svm", "E0413"), ("kernel", "E0413")):
            with self.subTest(told), self.fake(told):
                self.refuse(4, code, *words)
        self.assertFalse(os.path.exists(self.path("none.safetensors")))

    def test_a_failure_in_a_step_leaves_the_last_checkpoint(self):
        for way in some(((), ("--accumulate", "2")), 1):
            with self.fake():
                plan, path = self.plan(self.towers, "--ram", "4MiB", *ENGINES, *way)
            kernels = self.on_device(plan)[0]
            self.assertGreater(kernels, 0)
            ways_to_fail = (("launch", "does not start"), ("lost", "failed in a kernel"), ("hang", "did not end within"), ("no_svm map", "maps no memory"), ("flush", "takes no commands"),
                            ("argument", "a kernel takes no"), ("mute", "does not say"))
            for told, text in ways_to_fail if ALL_CASES else ways_to_fail[:4]:
                with self.subTest(told, way=way):
                    name = self.path(f"{told.split()[-1]}{len(way)}.safetensors")
                    # The bits are checked, the kernels prepared, two steps done, and the third is under way.
                    words = ("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", *way, "--plan", path, "--checkpoint-every", 1, "-o", name)
                    with self.fake(f"{told} after:{4 * kernels + 2}", PANTOUM_OPENCL_SECONDS="0.5"):
                        told_error = self.refuse(4, "E0414", *words, "--epochs", 2).stderr
                    self.assertIn(text, told_error)
                    self.assertFalse(os.path.exists(name))
                    # The checkpoint serves on processors alone.
                    self.succeed("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", *way, *PLANNED, "--epochs", 2, "--resume", name + ".checkpoint", "-o", name)


if __name__ == "__main__":
    unittest.main()
