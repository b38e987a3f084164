"""`pantoum report` without a browser: its JSON against the schema, its trace, where it writes, what it refuses."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import pages
from pages import DATA, PANTOUM, log, pantoum, step

ROOT = os.path.dirname(os.path.dirname(pages.HERE))
SCHEMA = os.path.join(ROOT, "docs", "schema", "report-1.schema.json")

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        with open(SCHEMA) as file:
            cls.schema = json.load(file)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def json(self, *words):
        return json.loads(pantoum("report", *words, "--format", "json"))

    def refuse(self, exit_code, code, *words):
        done = subprocess.run([PANTOUM, "report", *map(str, words)], capture_output=True, text=True, cwd=DATA, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (exit_code, ""), done.stderr)
        self.assertIn(f"error[{code}]", done.stderr)
        self.assertIn("help:", done.stderr)

    def objects(self, schema):
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for each in schema.values():
                yield from self.objects(each)
        elif isinstance(schema, list):
            for each in schema:
                yield from self.objects(each)

    def test_the_schema_is_closed_and_has_a_name(self):
        self.assertEqual(self.schema["$id"], "report-1.schema.json")
        for each in self.objects(self.schema):
            self.assertIs(each.get("additionalProperties"), False, str(each)[:80])
        if jsonschema:
            jsonschema.Draft202012Validator.check_schema(self.schema)

    @unittest.skipUnless(jsonschema, "no jsonschema (apt-get install python3-jsonschema): documents are not validated")
    def test_documents_are_as_the_schema_says(self):
        strange = log(self.path("strange"), step(1, None), '{"event":"step","step":2,"loss":NaN}', {"event": "device", "board": "b", "ram_bytes": 7}, {"event": "end", "kernels": "<b>"})
        hostile = pages.hostile_plan(self.folder)
        validator = jsonschema.Draft202012Validator(self.schema)
        for words in (("plan.json",), ("plan.json", "run.jsonl", "board.jsonl", "--sweep", "sweep"), ("plan.json", strange), (hostile, strange), ("plan.json", "--next-ram", "200ms")):
            document = self.json(*words)
            faults = [f"{'/'.join(map(str, each.absolute_path))}: {each.message[:200]}" for each in validator.iter_errors(document)]
            self.assertEqual(faults, [], words)
        document["outcome"]["strange"] = 1
        self.assertTrue(list(validator.iter_errors(document)))

    def test_columns_are_of_one_length_and_name_what_is_there(self):
        schedule = self.json("plan.json")["schedule"]
        for name in ("ops", "tensors", "bars", "computes", "transfers"):
            self.assertEqual(len({len(column) for column in schedule[name].values()}), 1, name)
        ops, tensors = len(schedule["ops"]["name"]), len(schedule["tensors"]["name"])
        self.assertLess(max(schedule["bars"]["tensor"]), tensors)
        self.assertLess(max(schedule["bars"]["by"] + schedule["bars"]["last"] + schedule["computes"]["op"]), ops)

    def test_bars_in_ram_sum_to_the_curve(self):
        report = self.json("plan.json")
        schedule, outcome = report["schedule"], report["outcome"]
        bars, sizes = schedule["bars"], schedule["tensors"]["bytes"]
        middle = [(begin + end) / 2 for begin, end in zip(schedule["computes"]["begin"], schedule["computes"]["end"])]
        most = max(sum(sizes[tensor] for tensor, how, begin, end in zip(bars["tensor"], bars["how"], bars["begin"], bars["end"]) if how < 4 and begin <= at < end) for at in middle)
        self.assertLessEqual(most, outcome["peak_bytes"])
        self.assertGreater(most, 0.9 * outcome["peak_bytes"])  # workspace is beside them
        self.assertEqual(max(report["memory"]["planned"]["bytes"]), outcome["peak_bytes"])

    def test_a_trace_is_what_perfetto_reads(self):
        path = self.path("trace.json")
        for plan in ("plan.json", pages.hostile_plan(self.folder)):
            pantoum("report", plan, "--trace", path)
            with open(path, encoding="ascii") as file:
                trace = json.load(file)
            tracks, end, counted = {}, {}, -1
            for event in trace["traceEvents"]:
                self.assertIn(event["ph"], "MXC")
                if event["ph"] == "M":
                    tracks.setdefault(event.get("tid"), event["args"].get("name"))
                    continue
                self.assertIsInstance(event["ts"], (int, float))
                if event["ph"] == "C":
                    self.assertGreaterEqual(event["ts"], counted)
                    counted = event["ts"]
                    continue
                self.assertGreaterEqual(event["ts"], end.get(event["tid"], 0) - 1e-6, "slices of a track overlap")
                self.assertGreaterEqual(event["dur"], 0)
                end[event["tid"]] = event["ts"] + event["dur"]
            self.assertLessEqual(set(end), set(tracks))
            self.assertLessEqual({"page out", "page in", "cpu"}, set(tracks.values()))
            found = self.json(plan)["outcome"]
            self.assertAlmostEqual(max(end.values()), found["time_s"] * 1e6, delta=1)
            self.assertEqual(max(event["args"]["bytes"] for event in trace["traceEvents"] if event["ph"] == "C"), found["peak_bytes"])

    def test_a_dash_is_stdout(self):
        pantoum("report", "plan.json", "-o", self.path("page.html"))
        page = pathlib.Path(self.path("page.html")).read_bytes()
        self.assertEqual(pantoum("report", "plan.json", "-o", "-"), page)
        document = self.path("report.json")
        pantoum("report", "plan.json", "--format", "json", "-o", document)
        self.assertEqual(pantoum("report", "plan.json", "--format", "json"), pathlib.Path(document).read_bytes())
        self.assertIn("traceEvents", json.loads(pantoum("report", "plan.json", "--trace", "-")))

    def test_the_same_figures_make_the_same_page(self):
        self.assertEqual(pantoum("report", "plan.json", "run.jsonl", "-o", "-"), pantoum("report", "plan.json", "run.jsonl", "-o", "-"))

    def test_a_sweep_is_found_by_a_plan_that_lies_in_it(self):
        graph = self.path("graph.json")
        with open(graph, "w", encoding="ascii") as file:
            json.dump(pages.chain(5), file)
        pantoum("sweep", "--costgraph", graph, "--ram", "300KiB:1MiB:4", "--effort", 1, "-o", self.path("swept"))
        plans = sorted(os.listdir(self.path("swept/plans")))
        plan = self.path("swept/plans/" + plans[0])
        self.assertEqual(len(self.json(plan)["more_ram"]["sweep"]["rows"]), 4)
        shutil.copy(plan, self.path("alone.plan.json"))
        self.assertIsNone(self.json(self.path("alone.plan.json"))["more_ram"]["sweep"])
        self.refuse(3, "E0280", "plan.json", "--sweep", self.path("swept"), "-o", "-")

    def test_a_sweep_of_another_question_is_refused_and_not_found(self):
        graph = self.path("asked.json")
        with open(graph, "w", encoding="ascii") as file:
            json.dump(pages.chain(5), file)
        sweep = lambda title, *words: (pantoum("sweep", "--costgraph", graph, "--ram", "300KiB:1MiB:3", "--effort", 1, "-o", self.path(title), *words), self.path(title))[1]
        same = sweep("asked")
        pantoum("plan", "--costgraph", graph, "--ram", "1MiB", "--effort", 1, "-o", self.path("same.plan.json"))
        self.assertEqual(len(self.json(self.path("same.plan.json"), "--sweep", same)["more_ram"]["sweep"]["rows"]), 3)
        for at, words in enumerate((("--objective", "time"), ("--deadline", "1s"), ("--no-paging",), ("--no-reorder",))):
            other = sweep(f"other{at}", *words)
            self.refuse(3, "E0280", self.path("same.plan.json"), "--sweep", other, "-o", "-")
            shutil.copy(self.path("same.plan.json"), os.path.join(other, "plans", "strange.json"))
            self.assertIsNone(self.json(os.path.join(other, "plans", "strange.json"))["more_ram"]["sweep"], words)
            self.assertEqual(len(self.json(os.path.join(other, "plans", "pantoum-1048576.plan.json"))["more_ram"]["sweep"]["rows"]), 3, words)

    def test_a_log_of_another_plan_is_told(self):
        with open(os.path.join(DATA, "run.jsonl"), encoding="utf-8") as file:
            ops = next(event["ops"] for event in map(json.loads, file) if event["event"] == "plan")
        of_plan = {"event": "plan", "ops": 7, "device": "host", "budget_bytes": 10485760, "arena_bytes": 10485760}
        path = log(self.path("other.jsonl"), of_plan, step(1, 1.0), "")
        done = subprocess.run([PANTOUM, "report", "plan.json", path, "-o", self.path("other.html")], capture_output=True, text=True, cwd=DATA, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"ops 7 instead of {ops}", done.stderr)
        with open(self.path("other.html"), encoding="utf-8") as file:
            self.assertIn(f"ops 7 instead of {ops}", file.read().split("<h2")[0])
        self.assertEqual(self.json("plan.json", "run.jsonl", "board.jsonl")["warnings"], [])

    def test_more_ram_is_planned_where_that_is_asked_for(self):
        probes = self.json("plan.json", "--next-ram", "500ms")["more_ram"]["probes"]
        self.assertEqual([probe["more"] for probe in probes], [0, 0.01, 0.05, 0.1])
        self.assertLessEqual(probes[-1]["energy_j"], probes[0]["energy_j"])

    def test_refusals(self):
        self.refuse(2, "E0100", "plan.json")
        self.refuse(2, "E0111", "plan.json", "--next-ram", "10", "-o", "-")
        self.refuse(3, "E0201", "plan.json", "no-such-log", "-o", "-")
        self.refuse(3, "E0201", "plan.json", "--sweep", self.folder, "-o", "-")
        self.refuse(3, "E0290", "plan.json", log(self.path("no-log"), "no log", "at all", ""), "-o", "-")
        self.refuse(3, "E0281", "plan.json", "--sweep", self.empty_sweep(), "-o", "-")

    def empty_sweep(self):
        os.makedirs(self.path("empty"), exist_ok=True)
        log(self.path("empty/sweep.jsonl"))
        return self.path("empty")


if __name__ == "__main__":
    unittest.main()
