"""Steps on processors and an OpenCL device: the bits of the processors, and what fails ends in an error that loses nothing."""
import contextlib
import json
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
SHIM = os.path.join(os.path.dirname(FAKE), "libshim_opencl.so")


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
        cls.deep = towers(os.path.join(cls.folder, "deep.onnx"), 8)
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

    def rows_of(self, count):
        folder, draw = self.path("many"), random.Random(4)
        os.makedirs(folder, exist_ok=True)
        for split in "train", "test":
            with open(os.path.join(folder, f"x_{split}.npy"), "wb") as file:
                file.write(npy("<f4", (count, WIDTH), struct.pack(f"<{count * WIDTH}f", *(draw.uniform(-1, 1) for _ in range(count * WIDTH)))))
            with open(os.path.join(folder, f"y_{split}.npy"), "wb") as file:
                file.write(npy("<i8", (count,), struct.pack(f"<{count}q", *(draw.randrange(10) for _ in range(count)))))
        return folder

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

    def test_profile_tells_what_ops_take_on_the_device(self):
        words = ("profile", towers(self.path("small.onnx"), 2), "--batch", BATCH, "--kernels", "portable", "--ram", "4MiB", "--profile-store", self.path("profiled.db"), *ENGINES)
        told = json.loads(self.succeed(*words, "--format", "json").stdout)
        device = told["device"]
        self.assertGreater(told["hand_off_s"], 0)
        self.assertGreater(device["launch_s"], 0)
        self.assertEqual((device["engine"], len(device["ops"])), ("opencl0", device["kernels"]))
        self.assertEqual(device["known"] + device["measured_now"], device["kernels"])
        self.assertGreater(device["kernels"], 5)
        for op in device["ops"]:
            self.assertLessEqual(op["low_s"], op["seconds"], op)
            self.assertLessEqual(op["seconds"], op["high_s"], op)
            self.assertGreater(min(op["processors_s"], op["ops"], op["low_s"]), 0, op)
        text = self.succeed(*words, "--steps", 2).stdout
        self.assertRegex(text, r"engines  hand-off [\d.]+ \w+; a launch on opencl0 takes [\d.]+ \w+")
        self.assertRegex(text, rf"opencl0  .*: {device['kernels']} kernels: \d+ known")
        self.assertRegex(text, r"matmul opencl  f32")
        self.assertRegex(text, r"steps    2 run")

    def test_two_programs_share_the_device(self):
        _, path = self.plan(self.towers, "--ram", "4MiB", *ENGINES)
        outs = [self.path(f"beside{each}.safetensors") for each in range(2)]
        running = [subprocess.Popen([PANTOUM, "train", self.towers, "--batch", str(BATCH), "--data", self.data, "--ram", "4MiB", "--plan", path, "--epochs", "2", "-o", out],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for out in outs]
        for each in running:
            _, told = each.communicate(timeout=300)
            self.assertEqual(each.returncode, 0, told)
        for out in outs:
            self.same_bits(tensors(out), self.train(self.towers, "--ram", "4MiB", *PLANNED))

    def test_a_time_that_is_none_is_told(self):
        _, path = self.plan(self.towers, "--ram", "4MiB", *ENGINES)
        made = ("plan", self.towers, "--batch", BATCH, "--ram", "4MiB", *PLANNED, *ENGINES)
        trains = ("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", "--plan", path, "--epochs", 1, "-o", self.path("late.safetensors"))
        for seconds in some(("abc", "5x", "-3", "0", "nan", "1e999", "100000"), 3):
            with self.subTest(seconds), self.variables(PANTOUM_OPENCL_SECONDS=seconds):
                for words in made, trains:
                    self.assertIn("--> PANTOUM_OPENCL_SECONDS", self.refuse(2, "E0111", *words).stderr)
        # A device that goes on computing, though it counts as lost, writes to memory that is still there.
        for _ in range(10 if ALL_CASES else 0):  # PoCL's thread crashed in about one of sixty processes that ended while it computed
            with self.variables(PANTOUM_OPENCL_SECONDS="1e-9"):
                self.refuse(4, "E0413", *trains)

    def test_nothing_of_the_arena_is_copied(self):
        """The RAM of two runs, driver and all, differs as their arenas do."""
        if not ALL_CASES:
            self.skipTest("a minute: make e2e-long runs it")
        samples, width, found = 4096, 2048, []
        rows = self.rows_of(samples)
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


class Shim(OpenCl):
    """The device that is here, which computes with bits of its own, or fails, as it is told."""
    def setUp(self):
        super().setUp()
        if self.why_not or not os.path.exists(SHIM):
            self.skipTest(self.why_not or f"no {SHIM}: this build made none")

    def shim(self, words="", **more):
        return self.variables(PANTOUM_OPENCL=SHIM, SHIM_OPENCL=words, **more)

    def words(self, *more):
        return ("train", self.towers, "--batch", BATCH, "--data", self.data, *more)

    def logged(self, name, *words):
        """Trains into NAME.safetensors, and gives the losses of its steps and epochs, by their numbers, and its weights."""
        log, out = self.path(name + ".jsonl"), self.path(name + ".safetensors")
        self.succeed(*words, "--log", log, "--log-every", 1, "-o", out)
        losses = {}
        for line in self.log_of(log):
            if line["event"] in ("step", "epoch"):
                losses[line["event"], line[line["event"]]] = [line[each] for each in ("loss", "test_loss", "test_accuracy") if each in line]
        return losses, tensors(out)

    def goes_on_as(self, whole, name, *words):
        """Goes on from NAME's checkpoint, and has the losses and weights of a training that nothing interrupted."""
        losses, weights = self.logged(name + "on", *words, "--resume", self.path(name + ".safetensors.checkpoint"))
        self.assertTrue(losses, "nothing was left to train")
        self.assertEqual(losses, {key: whole[0][key] for key in losses})
        self.same_bits(weights, whole[1], name)

    def test_a_device_of_other_bits_trains_and_goes_on_with_them(self):
        for more in some(((), ("--optimizer", "adam"), ("--accumulate", "2"), ("--clip-norm", "0.5")), 2):
            with self.subTest(more), self.shim("loose"):
                plan, path = self.plan(self.towers, "--ram", "4MiB", *ENGINES, "--allow-numerics-change", *more)
                self.assertGreater(self.on_device(plan)[0], 0)
                words = self.words("--ram", "4MiB", *more, "--plan", path)
                whole = self.logged("whole" + "".join(more), *words, "--epochs", 2)
                name = "half" + "".join(more)
                self.logged(name, *words, "--epochs", 1, "--checkpoint-every", 2)
                self.goes_on_as(whole, name, *words, "--epochs", 2)
                outputs, weights = [], self.path("whole" + "".join(more) + ".safetensors")
                for by in path, self.plan(self.towers, "--ram", "4MiB", *more)[1]:
                    out = self.path(f"outputs{len(outputs)}.npy")
                    self.succeed("predict", by, "--weights", weights, "--data", self.data, "-o", out)
                    with open(out, "rb") as file:
                        outputs.append(file.read())
                self.assertEqual(*outputs)
            self.assertNotEqual(whole[1], self.train(self.towers, "--ram", "4MiB", *more, *PLANNED), "the device has the bits of the processors")
            # Without the device the weights serve, and what goes on with its bits does not.
            self.succeed("eval", self.towers, "--weights", weights, "--data", self.data, "--ram", "4MiB")
            self.refuse(4, "E0404", *self.words("--ram", "4MiB", *more, *PLANNED), "--epochs", 2, "--resume", self.path(name + ".safetensors.checkpoint"), "-o", self.path("none.safetensors"))

    def test_a_device_that_fails_beside_the_pager_leaves_the_last_checkpoint(self):
        batch, rows = 256, self.rows_of(768)
        one, _ = self.plan(self.deep, "--ram", "4MiB", batch=batch)
        tight = ("--ram", f"{int(one['predicted']['peak_bytes'] * 0.9)}B", "--no-remat")
        plan, path = self.plan(self.deep, *tight, *ENGINES, batch=batch)
        self.assertGreater(self.on_device(plan)[0], 0)
        self.assertLessEqual({"page_in", "page_out"}, {each["do"] for each in plan["instructions"]})
        pages = self.path("pages")
        os.makedirs(pages)
        words = ("train", self.deep, "--batch", batch, "--data", rows, "--page-file", pages, *tight, "--plan", path)
        whole = self.logged("paged", *words, "--epochs", 2)
        kernels = self.on_device(plan)[0]
        kinds = ("launch", "lost", "hang", "no_svm map", "flush", "argument", "mute", "no_svm buffer", "no_svm elsewhere")
        for at, kind in enumerate(some(kinds, 3)):
            for part in some((0.1, 0.4, 0.7), 1):
                # The bits are checked, the kernels prepared, two steps done, and the third is under way.
                name, after = f"failed{at}{int(10 * part)}", int((3 + part + 0.2 * (at % 4)) * kernels)
                with self.subTest(kind, after=after):
                    log, out = self.path(name + ".jsonl"), self.path(name + ".safetensors")
                    with self.shim(f"{kind} after:{after}", PANTOUM_OPENCL_SECONDS="0.5"):
                        self.refuse(4, "E0414", *words, "--epochs", 2, "--checkpoint-every", 1, "--log", log, "-o", out)
                    self.assertFalse(os.path.exists(out))
                    self.assertEqual(os.listdir(pages), [])
                    self.assertFalse([left for left in os.listdir(self.folder) if left.startswith(name) and "tmp" in left])
                    self.goes_on_as(whole, name, *words, "--epochs", 2)


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
            self.assertIn("one device here, opencl0", self.refuse(4, "E0413", *words, "--engines", "cpu,opencl7").stderr)
            self.refuse(2, "E0115", *words, *ENGINES, "--device", "m4")
        for text, told in (("opencl,cpu", "did you mean cpu,opencl?"), ("opencl0", "did you mean cpu,opencl0?"), ("cpu,opencl0,opencl0", "two engines are OpenCL devices"),
                           ("cpu,OpenCL0", "did you mean opencl0?"), ("cpu, opencl1", "did you mean opencl1?"), ("CPU,opencl", "did you mean cpu?"), ("cpu,opencl0x", "is no engine")):
            with self.subTest(text):
                self.assertIn(told, self.refuse(2, "E0115", *words, "--engines", text).stderr)

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
        weights = self.path("weights.safetensors")
        self.succeed("train", self.towers, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", *PLANNED, "--epochs", 1, "--checkpoint-every", 2, "-o", weights)
        with self.fake("no_device"):
            for words in (words, (*words, "--resume", weights + ".checkpoint"), ("predict", path, "--weights", weights, "--data", self.data, "-o", self.path("none.npy")),
                          ("eval", path, "--weights", weights, "--data", self.data), ("emit", path, "--target", "posix", "-o", self.path("emitted")),
                          ("profile", self.towers, "--batch", BATCH, "--ram", "4MiB", "--plan", path)):
                with self.subTest(words[0]):
                    self.assertIn("without opencl0: leave it out of --engines", self.refuse(4, "E0412", *words).stderr)
            for words in ("verify", path), ("explain", path, "--effort", 1), ("report", path, "-o", self.path("page.html")):
                self.succeed(*words)
        with self.fake():
            self.assertIn("without an OpenCL device in --engines", self.refuse(3, "E0291", "emit", path, "--target", "posix", "-o", self.path("emitted")).stderr)

    def test_a_device_that_allocates_less_than_the_arena_is_left_out(self):
        wide = towers(self.path("wide.onnx"), 3, seed=4)
        words = ("--ram", "64MiB")
        with self.fake():
            plan, path = self.plan(wide, *words, *ENGINES, batch=2048)
            self.assertGreater(self.on_device(plan)[0], 0)
        self.assertGreater(plan["predicted"]["arena_bytes"], 1 << 20)
        with self.fake("small"):
            found, _ = self.plan(wide, *words, *ENGINES, batch=2048)
            self.assertEqual(self.on_device(found)[0], 0)
            told = self.succeed("plan", wide, "--batch", 2048, *PLANNED, *words, *ENGINES, "-o", self.path("left.json"))
            self.assertIn("allocates at most 1.00 MiB at a time", told.stdout + told.stderr)
            self.assertIn("--ram 1048576B", self.refuse(4, "E0413", "train", wide, "--batch", 2048, "--data", self.rows_of(4096), *words, "--plan", path, "--epochs", 1, "-o", self.path("none.safetensors")).stderr)

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
