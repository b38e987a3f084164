"""Projects that `pantoum emit` writes: every bit as on the host, on every processor; how they are built, counted and refused."""
import json
import math
import os
import random
import subprocess
import unittest

import workshop
from projects import Projects
from house import ALL_CASES, onnx_model, onnx_node, onnx_tensor, some

TARGETS = [("cortex-m0", "--board", "mps2-an385"), ("cortex-m3", "--board", "mps2-an385"), ("cortex-m4f",), ("cortex-m7",), ("cortex-m55",), ("posix",)]
MOST_STATIC_BYTES = 544  # of session, trainer and model on a processor of 32 bits, without storage


def perceptron(path):
    """Two linear layers; the first one's weight is most of what it needs."""
    draw = random.Random(5)
    made = [onnx_tensor(name, dims, [draw.gauss(0, 0.1) for _ in range(math.prod(dims))]) for name, dims in (("w", (784, 12)), ("v", (12, 10)))]
    nodes = [onnx_node("Flatten", ["x"], ["flat"]), onnx_node("MatMul", ["flat", "w"], ["h"]), onnx_node("Relu", ["h"], ["r"]),
             onnx_node("MatMul", ["r", "v"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


def normalized(path):
    """Convolutions, each with a norm and an activation behind it; a skip connection."""
    draw = random.Random(6)
    made, nodes, at = [], [], "x"

    def weight(name, *dims, middle=0.0):
        made.append(onnx_tensor(name, dims, [draw.gauss(middle, 0.2) for _ in range(math.prod(dims))]))
        return name

    def norm(name, channels):
        names = [weight(f"{name}.{part}", channels, middle=0.0 if part in ("b", "m") else 2.0) for part in "sbmv"]
        nodes.append(onnx_node("BatchNormalization", [f"{name}.c", *names], [f"{name}.n"]))
        return f"{name}.n"

    for layer, (inputs, outputs) in enumerate([(1, 6), (6, 6), (6, 6), (6, 6)]):
        name = f"layer{layer}"
        nodes.append(onnx_node("Conv", [at, weight(f"{name}.w", outputs, inputs, 3, 3)], [f"{name}.c"], pads=[1] * 4, strides=[2 if layer == 0 else 1] * 2))
        summed = norm(name, outputs)
        if layer == 2:
            nodes.append(onnx_node("Add", [summed, "layer0.r"], ["sum"]))
            summed = "sum"
        nodes.append(onnx_node("Relu", [summed], [f"{name}.r"]))
        at = f"{name}.r"
    nodes += [onnx_node("GlobalAveragePool", [at], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("MatMul", ["flat", weight("out", 6, 10)], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


def skipping(path):
    """Convolutions with a bias, each with a sum or an activation behind it, or both; a grouped one, a strided one."""
    draw = random.Random(7)
    made, nodes = [], []

    def conv(name, at, inputs, outputs, stride=1, group=1):
        for part, dims in ("w", (outputs, inputs // group, 3, 3)), ("b", (outputs,)):
            made.append(onnx_tensor(f"{name}.{part}", dims, [draw.gauss(0, 0.2) for _ in range(math.prod(dims))]))
        nodes.append(onnx_node("Conv", [at, f"{name}.w", f"{name}.b"], [name], pads=[1] * 4, strides=[stride] * 2, group=group))
        return name

    def relu(at):
        nodes.append(onnx_node("Relu", [at], [f"{at}.r"]))
        return f"{at}.r"

    def add(a, b):
        nodes.append(onnx_node("Add", [a, b], [f"{a}.{b}"]))
        return f"{a}.{b}"

    first = relu(conv("first", "x", 1, 8, stride=2))
    second = relu(add(conv("third", relu(conv("second", first, 8, 8)), 8, 8, group=2), first))
    last = add(conv("fifth", relu(conv("fourth", second, 8, 8, group=8)), 8, 8), second)
    made.append(onnx_tensor("out", (8, 10), [draw.gauss(0, 0.2) for _ in range(80)]))
    nodes += [onnx_node("GlobalAveragePool", [last], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("MatMul", ["flat", "out"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


class Firmware(Projects):
    def test_convolutions_with_what_follows_them_give_the_bits_of_the_ops_apart(self):
        skipping(self.path("skipping.onnx"))
        states = set()
        for name, more in ("fused", ()), ("apart", ("--disable", "fusions")):
            plan = self.path(f"skips-{name}.json")
            told = self.succeed("plan", self.path("skipping.onnx"), "--batch", 2, "--device", "m4", "--ram", "1MiB", *more, "--dump-after", "rewrite", "-o", plan)
            self.assertEqual("conv2d_act" in told.stdout + told.stderr, name == "fused")
            for target in (("posix",), ("cortex-m4f",)) if name == "fused" or ALL_CASES else (("posix",),):
                folder, _ = self.emit(plan, f"skips-{name}-{target[0]}", target, "--ram", "2MiB", steps=4)
                states.add(self.run_equal(folder)["state"])
        self.assertEqual(len(states), 1)

    def test_norms_with_their_activations_give_the_bits_of_the_ops_apart_in_less_ram(self):
        normalized(self.path("normalized.onnx"))
        peaks, states = [], set()
        for name, more in ("fused", ()), ("apart", ("--disable", "fusions")):
            plan = self.path(f"norms-{name}.json")
            told = self.succeed("plan", self.path("normalized.onnx"), "--batch", 2, "--device", "m4", "--ram", "1MiB", "--disable", "rewriting", *more, "--format", "json", "-o", plan)
            peaks.append(json.loads(told.stdout.splitlines()[-1])["unplanned_peak_bytes"])
            with open(plan) as file:
                self.assertEqual(".again" in file.read(), name == "fused")
            for target in (("posix",), ("cortex-m4f",)) if name == "fused" or ALL_CASES else (("posix",),):
                folder, _ = self.emit(plan, f"norms-{name}-{target[0]}", target, "--ram", "2MiB", steps=4)
                states.add(self.run_equal(folder)["state"])
        self.assertEqual(len(states), 1)
        self.assertLess(peaks[0], 0.8 * peaks[1])

    def test_every_processor_gives_the_bits_of_the_host(self):
        plan = self.plan("kept", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "sgd,momentum=0.9")
        states = set()
        for target in TARGETS:
            folder, sizes = self.emit(plan, f"on-{target[0]}", target)
            told = self.run_equal(folder)
            states.add((told["state"], told["test"]))
            self.assertLessEqual(sizes["instruction_bytes"], 4 * sizes["instructions"])
            _, tensors, ops, _, names_at = workshop.plan_header(os.path.join(folder, "model", "plan.bin"))
            self.assertEqual(sizes["plan_bytes"], names_at)  # all but the names
            if target[0] == "cortex-m4f":  # the plan is read in place: RAM has where tensors are and the kernels of ops, beside what every plan takes
                self.assertLessEqual(told["device"]["static_bytes"] - 5 * tensors - 2 * ops, MOST_STATIC_BYTES)
            self.assertEqual(sizes["storage_blocks"], 0)
        self.assertEqual(len(states), 1)

    def test_a_gradient_that_its_update_alone_reads_takes_no_ram(self):
        perceptron(self.path("perceptron.onnx"))
        for optimizer in ("sgd", "adam"):
            least, states = [], set()
            for name, target, more in ("fused", "cortex-m4f", ()), ("apart", "posix", ("--disable", "updates")):
                plan = self.path(f"{name}.json")
                words = ("plan", self.path("perceptron.onnx"), "--batch", 2, "--device", "m4", "--lr", "0.01", "--optimizer", optimizer, *more, "-o", plan)
                least.append(json.loads(self.run_cli(*words, "--ram", "1B", "--format", "json").stdout.splitlines()[0])["min_ram_bytes"])
                self.succeed(*words, "--ram", f"{least[-1]}B")
                with open(plan) as file:
                    self.assertEqual('"h.dw"' in file.read(), name == "apart")
                folder, _ = self.emit(plan, f"{name}-{optimizer}", (target,), "--ram", "1MiB", steps=5)
                states.add(self.run_equal(folder)["state"])
            self.assertEqual(len(states), 1)
            gradient, strip = 4 * 784 * 12, 1024
            self.assertGreater(least[1] - least[0], gradient - 2 * strip)

    def test_a_schedule_gives_the_same_rates_on_every_processor(self):
        plan = self.plan("schedule", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "sgd,momentum=0.9")
        rates = {"constant": (), "linear": ("--schedule", "linear,to=0.001,warmup=10%"), "step": ("--schedule", "step,every=25%"),
                 "cosine": ("--schedule", "cosine,to=0.003,warmup=3"), "exponential": ("--schedule", "exponential,gamma=0.9"),
                 "multi_step": ("--schedule", "multi_step,at=4:70%,gamma=0.3"), "waves": ("--schedule", "cosine,every=5"),
                 "rates": ("--schedule", "multi_step,at=4:9,to=0.02:0.001")}
        told, asked = {}, dict(some(rates.items(), 5))
        for name, words in asked.items():
            folder, _ = self.emit(plan, f"rate-{name}", ("posix",), *words)
            told[name] = self.run_equal(folder)
            self.assertEqual(told[name]["losses_compared"], 12)
        self.assertEqual(len({each["state"] for each in told.values()}), len(asked))
        for target in ("cortex-m0", "--board", "mps2-an385"), ("cortex-m4f",), ("cortex-m55",):
            folder, _ = self.emit(plan, f"rate-{target[0]}", target, *rates["cosine"])
            there = self.run_equal(folder)
            self.assertEqual((there["state"], there["test"]), (told["cosine"]["state"], told["cosine"]["test"]))
        self.refuse(2, "E0115", "emit", plan, "--target", "posix", "--schedule", "poly", "-o", self.path("none"))

    def test_groups_have_their_rates_and_decays_on_the_device(self):
        common = ("--batch", 2, "--ram", "56KiB", "--reserve", "8KiB", "--optimizer", "adam,amsgrad")
        plans = {"plain": self.plan("in-no-group", *common, "--weight-decay", "0.01"),
                 "groups": self.plan("in-groups", *common, "--group", "w*|b0,lr=0.05,weight_decay=0.01", "--group", "fc,lr=0.05,weight_decay=0.01"),
                 "other": self.plan("in-others", *common, "--group", "*,lr=0.05,weight_decay=0.01", "--group", "fc,lr=0.01")}
        states = {}
        for name, target, *schedule in (("plain", "posix"), ("groups", "cortex-m4f"), ("plain", "posix", "--schedule", "cosine,to=0.003,warmup=3"),
                                        ("groups", "posix", "--schedule", "cosine,to=0.003,warmup=3"), ("other", "posix")):
            rate = () if name == "plain" else ("--lr", "9")  # of what is in no group
            folder, _ = self.emit(plans[name], f"{name}-{target}-{len(schedule)}", (target,), *rate, *schedule)
            states[name, len(schedule)] = self.run_equal(folder)["state"]
        self.assertEqual(states["plain", 0], states["groups", 0])
        self.assertEqual(states["plain", 2], states["groups", 2])
        self.assertEqual(len(set(states.values())), 3)

    def test_a_run_that_goes_on_is_compared_whatever_its_steps(self):
        plan = self.plan("goes-on", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        folder, _ = self.emit(plan, "goes-on", ("posix",), "--schedule", "cosine")
        self.assertEqual([self.run_equal(folder, *more)["steps_run"] for more in ((), ("--steps", 18), ("--steps", 5))], [12, 6, 0])
        self.assertEqual(self.make_run(folder, "STEPS=20").returncode, 0)
        told = json.loads(self.succeed("run-firmware", folder, "--steps", 20, "--format", "json").stdout)
        self.assertIsNone(told["equal"], "what make ran is not known, and the schedule asks for it")
        self.assertEqual(self.run_equal(folder, "--fresh", "--steps", 20)["steps_run"], 20)

    def test_a_run_is_logged_and_one_that_goes_on_continues_the_log(self):
        plan = self.plan("logged", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        folder, sizes = self.emit(plan, "logged", ("cortex-m3",))

        def events(path, *words):
            told = self.run_equal(folder, *words)
            self.assertEqual(told["log"], path)
            with open(path, encoding="utf-8") as file:
                return told, [json.loads(line) for line in file]

        log = os.path.join(folder, "run.jsonl")
        told, first = events(log)
        self.assertEqual([event["event"] for event in first], ["device"] + ["step"] * 12 + ["end"])
        device, end = first[0], first[-1]
        self.assertEqual({key: device[key] for key in device if key not in ("event", "step")}, told["device"])
        self.assertEqual(device["step"], 12)
        self.assertEqual((device["board"], device["arena_bytes"], device["stack_reserved_bytes"]), ("lm3s6965evb", sizes["arena_bytes"], 4096))
        self.assertEqual(device["ram_bytes"], device["arena_bytes"] + device["static_bytes"] + device["stack_bytes"])
        self.assertEqual(device["storage_written_bytes"], int(told["written"]))
        self.assertEqual([[event["step"], event["loss"]] for event in first[1:-1]], told["losses"])
        self.assertEqual((end["test_right"], end["test_counted"], end["test_loss"]), (told["test_right"], told["test_counted"], told["test_loss"]))
        _, both = events(log, "--steps", 14)
        self.assertEqual(both[:len(first)], first)
        self.assertEqual([event["step"] for event in both[len(first):] if event["event"] == "step"], [13, 14])
        other = self.path("new folder", "a log.jsonl")
        os.makedirs(os.path.dirname(other), exist_ok=True)
        _, anew = events(other, "--fresh", "--steps", 2, "--log", other)
        self.assertEqual(anew[0]["steps"], 2)
        self.succeed("report", plan, log, "-o", self.path("report.html"))
        self.refuse(9, "E0901", "run-firmware", folder, "--log", folder)
        self.refuse(3, "E0294", "run-firmware", self.path("nowhere"))
        self.assertFalse(os.path.exists(self.path("nowhere")))

    def test_cmake_builds_what_make_builds(self):
        plan = self.plan("cmake", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        for target in some((("cortex-m3",), ("posix",)), 1):
            folder, _ = self.emit(plan, f"cmake-{target[0]}", target)
            with open(os.path.join(folder, "CMakeLists.txt")) as file:
                text = file.read()
            for flag in "-Wall", "-Wextra", "-Werror", "-Wconversion", "-ffp-contract=off":
                self.assertIn(f";{flag};", text)
            made = self.make_run(folder)
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            os.remove(os.path.join(folder, "storage.img"))
            build = os.path.join(folder, "build", "cmake")
            alone = {name: word for name, word in os.environ.items() if not name.startswith("CMAKE_")}
            for words in ["-S", folder, "-B", build], ["--build", build, "--target", "run"]:
                done = subprocess.run(["cmake", *words], env=alone, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            told = [line for line in made.stdout.splitlines() if line.split(" ")[0] in ("step", "state", "written")]
            self.assertEqual([line.split(" ")[0] for line in told], ["step"] * 12 + ["state", "written"])
            self.assertEqual([line for line in done.stdout.splitlines() if line.split(" ")[0] in ("step", "state", "written")], told)

    def test_labels_of_64_bits_lie_where_a_processor_of_32_reads_them(self):
        graph = self.path("labels.json")
        self.plan("labels", "--batch", 4, "--ram", "64KiB", "--costgraph-out", graph)
        with open(graph) as file:
            self.assertEqual(json.load(file)["device"]["align_bytes"], 8)

    def test_a_project_is_as_long_as_its_plan_says(self):
        planned = self.plan("length", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--steps", 7, "--samples", 64)
        for words, steps in ((), 7), (("--steps", 5), 5):
            folder = self.path(f"length-{steps}")
            self.succeed("emit", planned, "--target", "posix", "--data", self.path("data"), "--samples", 6, *words, "-o", folder)
            self.assertIn(f"step {steps} loss", self.make_run(folder).stdout)
            with open(os.path.join(folder, "model", "run.json")) as file:
                run = json.load(file)
            self.assertEqual((run["steps"], run["training"]["count"]), (steps, 6))

    def test_instructions_of_a_step_by_kernel(self):
        plan = self.plan("counted", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB")
        folder, _ = self.emit(plan, "counted", ("cortex-m4f",))
        told = {steps: self.run_equal(folder, "--count", "--steps", steps)["count"] for steps in (2, 12)}
        for steps, count in told.items():
            kernels = count["kernels"]
            self.assertEqual(count["steps"], steps - 1)
            self.assertGreater(count["instructions"], sum(kernel["instructions"] for kernel in kernels.values()))
            # every weight of the convolutions meets its image, forward and backward: 3 taps at every place but one that lies in the padding
            macs = {op: sum(kernel.get("macs_needed", 0) for kernel in kernels.values() if kernel["op"] in (op, f"{op}_update", f"{op}_act"))
                    for op in ("conv2d", "conv2d_dw", "matmul")}
            image = 2 * 8 * (14 * 3 - 1) ** 2 + 2 * 8 * 8 * (7 * 3 - 1) ** 2
            self.assertEqual(macs, {"conv2d": image, "conv2d_dw": image, "matmul": 3 * 2 * 8 * 10})
            self.assertGreater(count["products"]["ratio"], 1)
            self.assertGreater(count["energy_modelled_j"], 0)
        # soft-float of double precision and activations apart, instructions do not depend on data
        gradients = [name for name, kernel in told[2]["kernels"].items() if kernel["op"].startswith("conv2d_dw")]
        self.assertTrue(gradients)
        for name in gradients:
            self.assertEqual(told[2]["kernels"][name], told[12]["kernels"][name])

    def test_what_is_computed_again_is_told_apart(self):
        plan = self.plan("again", "--batch", 4, "--ram", "57KiB", "--reserve", "8KiB", "--no-paging")
        folder, _ = self.emit(plan, "again", ("cortex-m7",))
        count = self.run_equal(folder, "--count", "--steps", 3)["count"]
        self.assertGreater(count["products"]["macs_done"], count["products"]["macs_needed"])

    def test_what_cannot_be_counted_is_told(self):
        plan = self.plan("uncounted", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB")
        here, _ = self.emit(plan, "uncounted-here", ("posix",))
        self.refuse(3, "E0298", "run-firmware", here, "--count")
        there, _ = self.emit(plan, "uncounted-there", ("cortex-m4f",))
        self.refuse(3, "E0298", "run-firmware", there, "--count", "--steps", 1)

    def test_a_plan_for_the_host_is_emitted_where_its_kernels_are_portable(self):
        words = ("--batch", 4, "-o", self.path("host.plan.json"), "--lr", "0.05", "--measure", "off", "--effort", 4)
        for kernels in "portable", "auto":
            self.succeed("plan", self.path("net.onnx"), "--kernels", kernels, *words)
            with open(self.path("host.plan.json")) as file:
                text = file.read()
            if '"algorithm":"onednn"' in text:
                self.refuse(3, "E0291", "emit", self.path("host.plan.json"), "--target", "posix", "--data", self.path("data"), "-o", self.path("host"))
                continue
            self.assertIn('"algorithm":"blocked"', text)
            for target in ("posix",), ("cortex-m55", "--ram", "512KiB"):
                self.run_equal(self.emit(self.path("host.plan.json"), f"host-{target[0]}", target, stack="64KiB")[0])
        self.succeed("plan", self.path("net.onnx"), "--kernels", "portable", "--ram", "68KiB", "--params-in", "aux", *words)
        self.run_equal(self.emit(self.path("host.plan.json"), "host-paged", ("posix",), stack="64KiB")[0])

    def test_what_cannot_be_emitted_is_told(self):
        plan = self.plan("small", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB")
        words = ("--data", self.path("data"), "-o", self.path("none"))
        self.refuse(3, "E0297", "emit", plan, "--target", "cortex-m3", "--board", "toaster", *words)
        self.refuse(3, "E0292", "emit", plan, "--target", "cortex-m0", *words)
        self.refuse(3, "E0294", "run-firmware", self.path("data"))
        parts = self.plan("parts", "--batch", 2, "--accumulate", 4, "--ram", "48KiB", "--reserve", "8KiB")
        self.refuse(3, "E0291", "emit", parts, "--target", "posix", *words)
        with open(plan) as file:
            text = json.load(file)
        self.assertEqual(text["x-model"]["batch"], 2)
        text["x-model"]["bach"] = 2
        with open(self.path("bach.json"), "w") as file:
            json.dump(text, file)
        refused = self.refuse(3, "E0230", "emit", self.path("bach.json"), "--target", "posix", *words)
        self.assertIn("x-model", refused.stderr)
        del text["x-model"]
        with open(self.path("bare.json"), "w") as file:
            json.dump(text, file)
        self.refuse(3, "E0293", "emit", self.path("bare.json"), "--target", "posix", *words)


if __name__ == "__main__":
    unittest.main()
