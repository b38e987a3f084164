"""What every verb prints with --format json, and every line of a run log, is as its schema in docs/schema says, for a stock validator."""
import copy
import glob
import json
import os
import re
import shutil
import sys
import unittest

from house import MODEL, ROOT, House, make_data, onnx_model, onnx_node

try:
    from jsonschema import Draft202012Validator, RefResolver
except ImportError:
    Draft202012Validator = None  # apt-get install python3-jsonschema

SCHEMAS = os.path.join(ROOT, "docs", "schema")


def load(name):
    with open(os.path.join(SCHEMAS, name + ".schema.json")) as file:
        return json.load(file)


def validator(name):
    schema = load(name)
    return Draft202012Validator(schema, resolver=RefResolver(f"file://{SCHEMAS}/{name}.schema.json", schema))


def objects_of(schema):
    """Every schema of an object inside a schema, with the way to it."""
    stack = [((), schema)]
    while stack:
        way, part = stack.pop()
        if isinstance(part, dict):
            if part.get("type") == "object" and "$ref" not in part:
                yield way, part
            stack += [(way + (key,), value) for key, value in part.items()]
        elif isinstance(part, list):
            stack += [(way + (at,), value) for at, value in enumerate(part)]


def mutants(document):
    """Documents that are none of its kind any more: a key too many, each key left out, each value of another type."""
    if isinstance(document, list):
        for at, entry in enumerate(document[:2]):
            for mutant in mutants(entry):
                yield document[:at] + [mutant] + document[at + 1:]
        return
    yield document | {"surprise": 1}
    for key, value in document.items():
        changed = copy.deepcopy(document)
        changed[key] = [["neither"]] if not isinstance(value, list) else "no list"
        yield changed


@unittest.skipIf(Draft202012Validator is None, "python3-jsonschema is not installed")
class Schemas(House):
    def holds(self, name, document, required=True):
        wrong = validator(name)
        errors = [f"{list(error.path)}: {error.message[:200]}" for error in wrong.iter_errors(document)]
        self.assertEqual(errors, [], name)
        for mutant in mutants(document):
            self.assertFalse(wrong.is_valid(mutant), f"{name} accepts {str(mutant)[:300]}")
        if required and isinstance(document, dict):
            needed = [key for key in document if not wrong.is_valid({k: v for k, v in document.items() if k != key})]
            self.assertGreaterEqual(len(needed), min(3, len(document)), name)

    def answer(self, name, *words, exit_code=0):
        done = self.run_cli(*words, "--format", "json")
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.holds(name, json.loads(done.stdout))
        return done

    def error(self, *words, exit_code=2):
        done = self.run_cli(*words, "--format", "json")
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.holds("error-1", json.loads(done.stderr.splitlines()[-1]))
        return done

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = make_data(os.path.join(cls.folder, "data"), 64)

    def test_schemas_are_schemas(self):
        names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(SCHEMAS, "*.json")))
        self.assertGreater(len(names), 15)
        for name in names:
            schema = load(name.removesuffix(".schema.json"))
            Draft202012Validator.check_schema(schema)
            self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", name)
            self.assertEqual(schema["$id"], name, "a reference to a file beside it leads there")
            self.assertTrue(schema["title"] and schema["description"], name)
            for way, part in objects_of(schema):
                closed = "additionalProperties" in part or way == ()
                self.assertTrue(closed, f"{name}: {way} lets every key pass")

    def test_the_record_of_a_plan_is_as_the_settings_are_described(self):
        described = json.loads(self.succeed("settings").stdout)["record"]
        if UPDATE:
            path = os.path.join(SCHEMAS, "plan-2.schema.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for name in ("model", "request"):  # a line each
                text = re.sub(rf'^    "{name}": .*$', lambda _, name=name: f'    "{name}": {json.dumps(described["x-" + name])},', text, flags=re.MULTILINE)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        for name in ("model", "request"):
            self.assertEqual(load("plan-2")["$defs"][name], described["x-" + name], "write it anew: test_schemas.py --update")

    def test_inspect(self):
        self.answer("inspected-1", "inspect", MODEL, "--batch", 8)
        self.answer("inspected-1", "inspect", MODEL, "--nodes", "--loss", "mse", exit_code=0)
        with open(self.path("odd.onnx"), "wb") as file:
            file.write(onnx_model([onnx_node("Frobnicate", ["x"], ["y"], name="lonely")], (1, 4)))
        self.answer("inspected-1", "inspect", self.path("odd.onnx"), exit_code=4)
        self.error("inspect", self.path("absent.onnx"), exit_code=3)

    def test_devices_and_operators(self):
        self.answer("devices-1", "devices", "list")
        self.answer("devices-1", "devices")
        for name in ("host", "m0", "m4", "m7", "a72", "tx2", "jetson-orin", "iphone-13", "iphone-15", "a53", "pi4", "pi5"):
            self.answer("devices-1", "devices", "show", name)
        self.error("devices", "show", "toaster", exit_code=3)
        self.answer("operators-1", "operators")
        self.error("operators", "--surprise")

    def test_plan(self):
        quick = ("plan", MODEL, "--batch", 8, "--effort", 1)
        self.answer("planned-1", *quick, "--ram", "4MiB")
        self.answer("planned-1", *quick, "--ram", "1MiB", "--accumulate", 2, "--kernels", "portable", "-o", self.path("plan.json"))
        for bad in (("--ram", "16KiB"), ("--ram", "16KiB", "--no-reorder"), ("--ram", "1MiB", "--deadline", "1us")):
            done = self.run_cli(*quick, *bad, "--format", "json")
            self.assertIn(done.returncode, (5, 6))
            self.holds("planned-1", json.loads(done.stdout))
            self.holds("error-1", json.loads(done.stderr.splitlines()[-1]))
        with open(self.path("plan.json")) as file:
            self.holds("plan-2", json.load(file), required=False)

    def test_a_plan_with_cases_and_a_refusal(self):
        self.run_cli("plan", MODEL, "--batch", 4, "--device", "m4", "--ram", "260KiB", "--effort", 30, "-o", self.path("cases.json"))
        with open(self.path("cases.json")) as file:
            plan = json.load(file)
        plan["x-certificate"] = plan.get("x-certificate") or {
            "question": plan["question"], "bound": 1.0, "order": [0], "boundaries": [1], "rows": []}
        plan["x-certificate"]["cases"] = [["in_ram", 1, 2], ["rows", 0, 1.5, 3, 0.25], ["rows"]]
        self.holds("plan-2", plan, required=False)
        plan["x-certificate"]["cases"] = [["guessed", 1, 2]]
        self.assertFalse(validator("plan-2").is_valid(plan))
        self.run_cli("plan", MODEL, "--batch", 4, "--device", "m4", "--ram", "16KiB", "--effort", 1, "--write-refusal", self.path("no.json"))
        with open(self.path("no.json")) as file:
            self.holds("refusal-1", json.load(file), required=False)
        self.answer("verified-1", "verify", self.path("no.json"))

    def test_sweep_explain_verify(self):
        self.answer("sweep-1", "sweep", MODEL, "--batch", 4, "--ram", "16KiB,512KiB", "--device", "m4", "--effort", 1, "-o", self.path("sweep"))
        self.error("sweep", MODEL, "--ram", "64", "-o", self.path("sweep"))
        plan = self.path("tight.json")
        self.succeed("plan", MODEL, "--batch", 4, "--device", "m4", "--ram", "400KiB", "--deadline", "2x", "--effort", 5, "-o", plan)
        self.answer("explained-1", "explain", plan)
        self.error("explain", MODEL, exit_code=3)
        self.answer("verified-1", "verify", plan)
        self.error("verify", plan, "--ram", "1KiB", exit_code=8)

    def test_train_its_log_and_export(self):
        weights = self.path("w.safetensors")
        words = ("train", MODEL, "--data", self.data, "--batch", 16, "--ram", "4MiB", "--effort", 1, "-o", weights)
        self.answer("trained-1", *words, "--checkpoint-every", 2, "--metrics", "top5,perplexity", "--early-stop", 3, "--keep-best", self.path("best"))
        log = self.log_of(weights + ".jsonl")
        self.assertEqual(log[0]["command"][:8], [str(word) for word in words[:8]])
        self.succeed(*words, "--epochs", 2, "--resume", weights + ".checkpoint")
        frozen = ("--freeze", "stage*", "--freeze-stats", "stage*", "--feature-cache", "64MiB")
        self.succeed(*words[:-1], self.path("f.safetensors"), *frozen)
        log += self.log_of(weights + ".jsonl") + self.log_of(self.path("f.safetensors.jsonl"))
        events = {}
        for line in log:
            self.holds("runlog-1", line)
            events[line["event"]] = line
        self.assertEqual(set(events), {"plan", "data", "step", "checkpoint", "epoch", "resume", "features", "end"})
        self.holds("runlog-1", events["end"] | {"event": "interrupted"})
        self.error("train", MODEL, "--data", self.data, "-o", weights, "--resume", self.path("absent"), exit_code=3)
        done = self.run_cli(*words, "--ram", "16KiB", "--format", "json")
        self.holds("error-1", json.loads(done.stderr.splitlines()[-1]))
        small = [word if word != "4MiB" else "16KiB" for word in words]
        self.holds("trained-1", json.loads(self.run_cli(*small, "--format", "json").stdout))
        self.answer("predicted-1", "predict", MODEL, "--weights", weights, "--data", self.data, "-o", self.path("outputs.npz"))
        self.answer("evaluated-1", "eval", MODEL, "--weights", weights, "--data", self.data, "--batch", 16)
        self.answer("exported-1", "export", MODEL, "--weights", weights, "-o", self.path("out.onnx"))
        self.error("export", MODEL, "--weights", MODEL, "-o", self.path("out.onnx"), exit_code=3)

    def test_firmware(self):
        plan, project = self.path("m4.json"), self.path("project")
        self.succeed("plan", MODEL, "--batch", 2, "--device", "m4", "--ram", "3MiB", "--effort", 1, "-o", plan)
        self.answer("emitted-1", "emit", plan, "--target", "posix", "--data", self.data, "--samples", 8, "--steps", 2, "-o", project)
        self.error("emit", plan, "--target", "toaster", "-o", project)
        self.error("run-firmware", self.path("absent"), exit_code=3)
        if shutil.which("make") and shutil.which("cc"):
            self.answer("firmware-run-1", "run-firmware", project)
        else:
            print("skipped: a run of the project (no make or no cc here)")

    def test_doctor(self):
        done = self.run_cli("doctor", "--format", "json")
        self.assertIn(done.returncode, (0, 1))
        findings = json.loads(done.stdout)
        self.holds("doctor-1", findings)
        self.assertEqual(done.returncode, 1 if any(finding["stops_train"] for finding in findings) else 0)
        bad = self.run_cli("doctor", "--page-file", self.path("no", "such", "folder"), "--format", "json")
        self.assertEqual(bad.returncode, 1)
        self.holds("doctor-1", json.loads(bad.stdout))
        self.assertTrue(any(finding["stops_train"] and finding["mend"] for finding in json.loads(bad.stdout)))
        self.error("doctor", "--page-file")

    def test_report(self):
        self.error("report", self.path("absent.json"), "-o", self.path("r.html"), exit_code=3)
        if os.path.exists(os.path.join(SCHEMAS, "report-1.schema.json")):
            plan = self.path("reported.json")
            self.succeed("plan", MODEL, "--batch", 4, "--device", "m4", "--ram", "1MiB", "--effort", 1, "-o", plan)
            self.answer("report-1", "report", plan)

    def test_a_comparison(self):
        logs = [self.path(name) for name in ("one.jsonl", "other.jsonl", "third.jsonl")]
        for at, log in enumerate(logs):
            events = [{"event": "plan", "command": ["train", "net.onnx", "--lr", str(at)], "time_s": 0.1, "device": "host", "peak_bytes": 100}, {"event": "step", "step": 1, "loss": 0.5, "lr": 0.1},
                      {"event": "epoch", "epoch": 1, "step": 1, "test_accuracy": 0.5}, {"event": "end", "step_s": 0.1, "kernels": "portable", "arena_bytes": 100}]
            with open(log, "w", encoding="ascii") as file:
                file.write("".join(json.dumps(event) + "\n" for event in events[:4 - at]))
        self.answer("comparison-1", "report", "--compare", *logs)
        for few in (logs[:1], logs * 5):
            self.assertIn("2 to 12 run logs are compared", self.error("report", "--compare", *few).stderr)
        self.error("report", "--compare", *logs, "--next-ram", "1s", "-o", self.path("c.html"))
        self.error("report", "--compare", logs[0], self.path("absent.jsonl"), exit_code=3)


UPDATE = "--update" in sys.argv

if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--update"]
    unittest.main()
