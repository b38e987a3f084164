"""Steps on several engines of this machine's processors: the bits are those of one engine, whatever is planned and run."""
import json
import os
import random
import struct
import subprocess
import sys
import unittest

from house import CHECKER, House, npy, onnx_model, onnx_node, onnx_tensor, tensors

ENGINES = ("--engines", "cpu0,cpu1")
# Modelled times: the plans of these tests do not depend on the machine.
PLANNED = ("--kernels", "portable", "--measure", "off", "--effort", "1")
BATCH, WIDTH, CLASSES, SAMPLES = 8, 24, 10, 40


def towers(path, layers, branches=2, seed=1):
    """Chains of small products side by side, which end in one sum: [N, WIDTH] -> [N, CLASSES]."""
    draw = random.Random(seed)
    weights, nodes, ends = [], [], []

    def weight(name, *dims):
        count = dims[0] * (dims[1] if len(dims) > 1 else 1)
        weights.append(onnx_tensor(name, dims, [draw.gauss(0, 0.25) for _ in range(count)]))
        return name

    for branch in range(branches):
        last = "x"
        for layer in range(layers):
            name = f"b{branch}l{layer}"
            nodes.append(onnx_node("Gemm", [last, weight(name + "w", WIDTH, WIDTH), weight(name + "b", WIDTH)], [name], name))
            last = name + "a"
            nodes.append(onnx_node(["Tanh", "Sigmoid", "Relu"][(layer + branch) % 3], [name], [last], last))
        ends.append(last)
    while len(ends) > 1:
        total = f"sum{len(ends)}"
        nodes.append(onnx_node("Add", [ends.pop(), ends.pop()], [total], total))
        ends.append(total)
    nodes.append(onnx_node("Gemm", [ends[0], weight("hw", WIDTH, CLASSES), weight("hb", CLASSES)], ["y"], "head"))
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ["N", WIDTH], weights))
    return path


def make_data(folder, seed=3):
    draw = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for split in ("train", "test"):
        values = [draw.uniform(-1, 1) for _ in range(SAMPLES * WIDTH)]
        with open(os.path.join(folder, f"x_{split}.npy"), "wb") as file:
            file.write(npy("<f4", (SAMPLES, WIDTH), struct.pack(f"<{len(values)}f", *values)))
        with open(os.path.join(folder, f"y_{split}.npy"), "wb") as file:
            file.write(npy("<i8", (SAMPLES,), struct.pack(f"<{SAMPLES}q", *(draw.randrange(CLASSES) for _ in range(SAMPLES)))))
    return folder


class EngineSteps(House):
    """Plans steps by modelled times, and trains."""

    def plan(self, model, *more, batch=BATCH):
        """The plan as JSON, and its file."""
        path = self.path(f"plan{len(os.listdir(self.folder))}.json")
        self.succeed("plan", model, "--batch", batch, *PLANNED, *more, "-o", path)
        self.succeed("verify", path)
        with open(path) as file:
            return json.load(file), path

    def train(self, model, *more, data=None):
        path = self.path(f"trained{len(os.listdir(self.folder))}.safetensors")
        self.succeed("train", model, "--batch", BATCH, "--data", data or self.data, "--epochs", 2, *more, "-o", path)
        return tensors(path)


class Engines(EngineSteps):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = make_data(os.path.join(cls.folder, "data"))
        cls.model = towers(os.path.join(cls.folder, "towers.onnx"), 12)
        cls.wide = towers(os.path.join(cls.folder, "wide.onnx"), 5, branches=4, seed=2)

    def engines_of(self, plan):
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        return {tuple([used] if isinstance(used := ops[each["op"]]["choices"][each["choice"]].get("engine", "cpu0"), str) else used)
                for each in plan["instructions"] if each["do"] == "compute"}

    def test_every_way_to_train_has_the_bits_of_one_engine(self):
        several = 0
        for model in (self.model, self.wide):
            for way in ((), ("--optimizer", "adam"), ("--accumulate", "2"), ("--params-in", "aux")):
                one, _ = self.plan(model, "--ram", "4MiB", *way)
                expected = self.train(model, "--ram", "4MiB", *PLANNED, *way)
                for ram in (4 << 20, int(one["predicted"]["peak_bytes"] * 0.9)):
                    with self.subTest(os.path.basename(model), way=way, ram=ram):
                        budget = ("--ram", f"{ram}B")
                        plan, path = self.plan(model, *budget, *ENGINES, *way)
                        self.assertLessEqual(plan["predicted"]["arena_bytes"], ram)
                        several += len(self.engines_of(plan)) > 1
                        self.same_bits(self.train(model, *budget, *way, "--plan", path), expected)
        self.assertGreaterEqual(several, 5, "too few plans take several engines")

    def test_a_plan_of_several_engines_takes_less_modelled_time(self):
        one, _ = self.plan(self.model, "--ram", "4MiB", "--threads", "2")
        two, path = self.plan(self.model, "--ram", "4MiB", *ENGINES)
        self.assertLess(two["predicted"]["time_s"], 0.9 * one["predicted"]["time_s"])
        self.assertLessEqual({("cpu0",), ("cpu1",)}, self.engines_of(two))
        if os.path.exists(CHECKER):
            graph = self.path("graph.json")
            with open(graph, "w") as file:
                json.dump(two["graph"], file)
            checked = subprocess.run([sys.executable, CHECKER, graph, path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_no_op_takes_several_engines_where_gangs_are_forbidden(self):
        gangs = set()
        for model in (self.model, self.wide):
            for ram in ("4MiB", "80KiB"):
                gangs |= {used for used in self.engines_of(self.plan(model, "--ram", ram, *ENGINES)[0]) if {"cpu0", "cpu1"} <= set(used)}
                plan, path = self.plan(model, "--ram", ram, *ENGINES, "--no-gangs")
                for used in self.engines_of(plan):
                    self.assertEqual(len(set(used) - {"memory"}), 1, used)
        self.assertTrue(gangs, "no plan has a gang")
        self.assertLessEqual({("cpu0",), ("cpu1",)}, self.engines_of(self.plan(self.model, "--ram", "4MiB", *ENGINES, "--no-gangs")[0]))
        budget = ("--ram", "4MiB")
        _, path = self.plan(self.model, *budget, *ENGINES, "--no-gangs")
        self.same_bits(self.train(self.model, *budget, "--plan", path), self.train(self.model, *budget, *PLANNED))
        self.succeed("explain", path, "--effort", 1)
        self.refuse(2, "E0117", "plan", self.model, "--batch", BATCH, *budget, "--no-gangs")

    def test_resume_evaluation_and_outputs(self):
        _, path = self.plan(self.model, "--ram", "4MiB", *ENGINES)
        trained, checkpoint = self.path("whole.safetensors"), self.path("half.safetensors.checkpoint")
        words = ("train", self.model, "--batch", BATCH, "--data", self.data, "--ram", "4MiB", "--plan", path)
        self.succeed(*words, "--epochs", 1, "--checkpoint-every", 2, "-o", self.path("half.safetensors"))
        self.succeed(*words, "--epochs", 2, "--resume", checkpoint, "-o", trained)
        self.same_bits(tensors(trained), self.train(self.model, "--ram", "4MiB", *PLANNED))
        outputs = []
        for made_by in ("--threads", "2"), ENGINES:
            _, by = self.plan(self.model, "--ram", "4MiB", *made_by)
            out = self.path(f"outputs{len(outputs)}.npy")
            self.succeed("predict", by, "--weights", trained, "--data", self.data, "-o", out)
            with open(out, "rb") as file:
                outputs.append(file.read())
        self.assertEqual(*outputs)

    def test_a_deadline_that_one_engine_misses_is_met_by_two(self):
        one, _ = self.plan(self.model, "--ram", "4MiB", "--threads", "2")
        two, _ = self.plan(self.model, "--ram", "4MiB", *ENGINES)
        least, known = one["predicted"]["time_s"], two["predicted"]["time_s"]
        self.assertLess(known, 0.9 * least)
        deadline = 0.1 * least + 0.9 * known
        limit = ("--deadline", f"{deadline * 1e6:.3f}us")
        self.refuse(5, "E0301", "plan", self.model, "--batch", BATCH, *PLANNED, "--ram", "4MiB", "--threads", "2", *limit)
        plan, path = self.plan(self.model, "--ram", "4MiB", *ENGINES, *limit)
        self.assertLessEqual(plan["predicted"]["time_s"], deadline)
        self.assertNotIn("x-one-engine", plan)
        said = self.succeed("plan", self.model, "--batch", BATCH, *PLANNED, "--ram", "4MiB", *ENGINES, *limit, "-o", path)
        self.assertIn("2 engines meet the limits, which no plan on one engine of 2 threads was found to meet", said.stdout + said.stderr)
        self.same_bits(self.train(self.model, "--ram", "4MiB", "--plan", path), self.train(self.model, "--ram", "4MiB", *PLANNED))
        for limits in limit, ():
            self.refuse(5, "E0301", "plan", self.model, "--batch", BATCH, *PLANNED, "--ram", "20KiB", *ENGINES, *limits)
        below = ("--deadline", f"{two['bound']['time_s'] * 0.5e6:.3f}us")
        self.refuse(6, "E0302", "plan", self.model, "--batch", BATCH, *PLANNED, "--ram", "4MiB", *ENGINES, *below)

    def test_what_a_kept_plan_claims_holds_for_several_engines(self):
        """No plan of several engines that another question finds costs less than the bound of a plan of one engine that was kept."""
        kept = 0
        for model in (self.model, self.wide):
            for ram in ("4MiB", "80KiB"):
                several, _ = self.plan(model, "--ram", ram, *ENGINES, "--objective", "time")
                plan, _ = self.plan(model, "--ram", ram, *ENGINES, "--objective", "energy")
                if len(self.engines_of(plan)) == 1:
                    kept += 1
                    self.assertLessEqual(plan["bound"]["time_s"], several["predicted"]["time_s"] * (1 + 1e-9))
        self.assertGreater(kept, 0, "no plan of one engine was kept")

    def test_a_back_end_trains_on_engines(self):
        """Fewer threads are another class of a back end's bits: without the freedom its ops stay on all engines together."""
        words = ("--ram", "4MiB", "--measure", "off", "--effort", "1", *ENGINES)
        self.assertTrue(self.train(self.model, *words))
        self.same_bits(self.train(self.model, *words, "--allow-numerics-change"), self.train(self.model, *words, "--allow-numerics-change"))
        path, words = self.path("apart.json"), ("plan", self.model, "--batch", BATCH, *words, "--no-gangs")
        self.succeed(*words, "--allow-numerics-change", "-o", path)
        with open(path) as file:
            plan = json.load(file)
        for used in self.engines_of(plan):
            self.assertEqual(len(set(used) - {"memory"}), 1, used)
        if any("@1t" in choice.get("numerics", "") for op in plan["graph"]["ops"] for choice in op["choices"]):
            self.refuse(2, "E0117", *words)

    def test_what_several_engines_do_is_told(self):
        """Every engine computes or has a reason not to, in explain, report and trace; what several bought."""
        two, path = self.plan(self.model, "--ram", "4MiB", *ENGINES)
        told = json.loads(self.succeed("explain", path, "--effort", 1, "--format", "json").stdout)["time"]
        self.assertEqual([each["name"] for each in told["engines"]], ["cpu0", "cpu1", "memory"])
        for each in told["engines"][:2]:
            self.assertAlmostEqual(each["busy_s"] + sum(each["idle_s"].values()), told["makespan_s"], delta=1e-9 * told["makespan_s"])
        self.assertGreater(sum(sum(each["idle_s"].values()) for each in told["engines"][:2]), 0)
        self.assertEqual(two["x-one-engine"]["time_s"], told["one_engine_s"])
        self.assertLess(told["makespan_s"], told["one_engine_s"])
        text = self.succeed("explain", path, "--effort", 1).stdout
        self.assertIn("cpu1 computes; waits ", text)
        self.assertRegex(text, r"on one engine: \d+\.\d% less by several")
        page, trace = self.path("page.html"), self.path("trace.json")
        self.succeed("report", path, "--trace", trace, "-o", page)
        with open(page) as file:
            text = file.read()
        self.assertIn('"names":["cpu0","cpu1","memory"]', text)
        self.assertIn("On one engine the step takes", text)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        tracks = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
        for engine in told["engines"][:2]:
            for why, seconds in engine["idle_s"].items():
                found = sum(each["dur"] for each in events if each["ph"] == "X" and each["name"] == f"idle: {why}" and tracks[each["tid"]] == engine["name"])
                self.assertAlmostEqual(found * 1e-6, seconds, delta=1e-9)

    def test_what_names_no_engines_is_refused(self):
        for text in ("", "cpu0", "cpu0,", "gpu0,cpu1", "cpu0,cpu0", "cpu0-2,cpu2", "cpu1-0,cpu2", "cpu0;cpu1", "cpu-1,cpu0", "cpu0,cpu99999", ",".join(f"cpu{n}" for n in range(9))):
            with self.subTest(text):
                self.refuse(2, "E0115", "plan", self.model, "--batch", BATCH, "--ram", "4MiB", "--engines", text)
        self.refuse(2, "E0117", "plan", self.model, "--batch", BATCH, "--ram", "4MiB", *ENGINES, "--threads", 3)
        self.refuse(2, "E0115", "plan", self.model, "--batch", BATCH, "--ram", "4MiB", *ENGINES, "--device", "m4")


if __name__ == "__main__":
    unittest.main()
