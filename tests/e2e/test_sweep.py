"""Budgets times planners: never worse with more RAM, never below a bound, resumable, and refused where the question is another."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree

from house import MODEL, PANTOUM, ROOT, House, m4_costgraph

PLANNERS = "pantoum,pantoum-paging-only,pantoum-remat-only"
BUDGETS = 7
FILES = ("sweep.csv", "sweep.json", "sweep.svg", "sweep.jsonl")


class Sweep(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph, cls.peak = m4_costgraph(cls.folder)

    def words(self, folder, *more, effort=2, low=30, planners=PLANNERS):
        return ("sweep", "--costgraph", self.graph, "--ram", f"{self.peak * low // 100}B:{self.peak}B:{BUDGETS}", "--planners", planners,
                "--effort", effort, "-o", self.path(folder), *more)

    def rows(self, folder):
        return json.loads(pathlib.Path(self.path(folder, "sweep.json")).read_text())["rows"]

    def test_budgets_by_themselves(self):
        """--ram auto: from the least RAM that is known to the unplanned peak, and all of them have a plan."""
        self.succeed("sweep", "--costgraph", self.graph, "--ram", "auto", "--effort", 2, "-o", self.path("auto"))
        rows = self.rows("auto")
        budgets = [row["ram_bytes"] for row in rows]
        self.assertEqual((len(budgets), budgets), (8, sorted(set(budgets))))
        self.assertTrue(all("energy_j" in row and row["ram_bytes"] % 1024 == 0 for row in rows))
        self.assertLess(budgets[-1] - self.peak, 1024)

    def test_more_ram_is_never_worse_and_no_value_is_below_its_bound(self):
        self.succeed(*self.words("curve"))
        rows = self.rows("curve")
        self.assertEqual(len(rows), 3 * BUDGETS)
        last, seen = {}, set()
        for row in rows:
            seen.add(row["status"])
            if "min_ram_bytes" in row:
                self.assertNotIn(row["planner"], last, "a budget above one that has a plan has none")
                if row["status"] == "infeasible":
                    self.assertLess(row["ram_bytes"], row["min_ram_bound_bytes"])
                self.assertGreaterEqual(row["min_ram_bytes"], row["min_ram_bound_bytes"])
                continue
            self.assertLessEqual(row["arena_bytes"], row["ram_bytes"])
            self.assertLessEqual(row["bound_energy_j"], row["energy_j"])
            self.assertLessEqual(row["bound_time_s"], row["time_s"])
            self.assertLessEqual(row["energy_j"], last.get(row["planner"], float("inf")))
            last[row["planner"]] = row["energy_j"]
        self.assertIn("infeasible", seen)
        self.assertIn("optimal", seen)
        self.assertEqual(len(set(round(value, 9) for value in last.values())), 1, "with all the RAM nothing is paged or computed again")

    def test_every_point_of_the_curve_is_a_plan_that_verifies(self):
        self.succeed(*self.words("curve"))
        for row in self.rows("curve"):
            plan = self.path("curve", "plans", f"{row['planner']}-{row['ram_bytes']}.plan.json")
            self.assertEqual(os.path.exists(plan), "energy_j" in row)
            if "energy_j" in row:
                found = json.loads(self.succeed("verify", plan, "--format", "json").stdout)
                self.assertEqual((found["energy_j"], found["arena_bytes"]), (row["energy_j"], row["arena_bytes"]))

    def order(self, row):
        """In which the row's plan first computes its ops."""
        plan = json.loads(pathlib.Path(self.path("near", "plans", f"pantoum-{row['ram_bytes']}.plan.json")).read_text())
        return list(dict.fromkeys(step["op"] for step in plan["instructions"] if step["do"] == "compute"))

    def test_a_bound_for_more_ram_is_one_for_less(self):
        words = ("sweep", "--costgraph", self.graph, "--ram", f"{self.peak * 50 // 100}B:{self.peak * 55 // 100}B:25", "--effort", 1,
                 "--without", "covers,rounding", "-o", self.path("near"))
        self.succeed(*words)
        rows = [row for row in self.rows("near") if "energy_j" in row]
        lines = pathlib.Path(self.path("near", "sweep.jsonl")).read_text().splitlines()[1:]
        self.assertGreater(len(lines), len(self.rows("near")), "none was carried down: the test wants budgets nearer to each other")
        for less, more in zip(rows, rows[1:]):
            if self.order(less) == self.order(more):  # a bound of one order says nothing of plans in another
                self.assertGreaterEqual(less["bound_energy_j"], more["bound_energy_j"])
            self.assertLessEqual(less["bound_energy_j"], less["energy_j"])
            self.succeed("verify", self.path("near", "plans", f"pantoum-{less['ram_bytes']}.plan.json"))
        before = self.contents("near")
        self.succeed(*words)
        self.assertEqual(self.contents("near"), before)

    def test_csv_json_and_svg_agree(self):
        out = self.succeed(*self.words("curve", "--format", "json")).stdout
        document = json.loads(pathlib.Path(self.path("curve", "sweep.json")).read_text())
        self.assertEqual(json.loads(out), document)
        self.assertEqual(document["schema"], "pantoum.sweep/1")
        self.assertEqual(document["unplanned"]["peak_bytes"], self.peak)
        with open(self.path("curve", "sweep.csv"), newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(len(table), len(document["rows"]))
        for line, row in zip(table, document["rows"]):
            for key in ("planner", "status", "ram_bytes", "energy_j", "time_s", "bound_energy_j", "min_ram_bytes"):
                self.assertEqual(line[key], "" if row.get(key) is None else str(row[key]), key)
        svg = xml.etree.ElementTree.parse(self.path("curve", "sweep.svg")).getroot()
        self.assertTrue(svg.tag.endswith("svg"))
        paths = list(svg.iter("{http://www.w3.org/2000/svg}path"))
        self.assertEqual(len(paths), 2 * 3 * 2)  # energy and time: a line and a dashed bound for each planner
        self.assertEqual(sum("stroke-dasharray" in path.attrib for path in paths), 2 * 3)
        steps = [path for path in paths if "stroke-dasharray" not in path.attrib]
        self.assertFalse([path.attrib["d"] for path in steps if "L" in path.attrib["d"]], "a value holds until the next budget")
        marks = [each for each in svg.iter() if each.attrib.get("class", "").startswith("mark ")]
        planned = sum("energy_j" in row for row in document["rows"])
        self.assertEqual(len(marks), 2 * (planned + 3))  # every plan, and a sample in the legend
        crosses = [each for each in svg.iter() if each.attrib.get("class", "").startswith("cross-mark")]
        self.assertEqual(len(crosses), 2 * 2 * (len(document["rows"]) - planned))  # two strokes for each budget without one

    def test_the_schema_names_every_key(self):
        self.succeed(*self.words("curve"))
        with open(os.path.join(ROOT, "docs", "schema", "sweep-1.schema.json")) as file:
            schema = json.load(file)
        document = json.loads(pathlib.Path(self.path("curve", "sweep.json")).read_text())
        self.assertEqual(set(document), set(schema["properties"]) - {"numerics", "weights"})
        for row in document["rows"]:
            self.assertEqual(set(row), set(schema["$defs"]["planned" if "energy_j" in row else "refused"]["properties"]) - {"bound_weighted"})

    def contents(self, folder):
        return {name: pathlib.Path(self.path(folder, name)).read_bytes() for name in (*FILES, *(f"plans/{plan}" for plan in sorted(os.listdir(self.path(folder, "plans")))))}

    def interrupt(self, folder, how, after):
        """Starts a sweep and ends it once `after` rows are there; returns its exit code."""
        process = subprocess.Popen([PANTOUM, *map(str, self.words(folder, effort=25))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        log, deadline = pathlib.Path(self.path(folder, "sweep.jsonl")), time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline and (not log.exists() or log.read_bytes().count(b"\n") <= after):
            time.sleep(0.005)
        process.send_signal(how)
        return process.wait(timeout=60)

    def test_a_sweep_that_was_killed_goes_on_to_the_same_files(self):
        self.succeed(*self.words("whole", effort=25))
        self.assertEqual(self.interrupt("killed", signal.SIGKILL, 6), -signal.SIGKILL)
        done = pathlib.Path(self.path("killed", "sweep.jsonl"))
        kept = done.read_bytes()
        kept = kept[:kept.rfind(b"\n") + 1]
        self.assertLess(kept.count(b"\n"), 1 + 3 * BUDGETS)
        done.write_bytes(kept + kept.splitlines(keepends=True)[-1][:-9])  # a line cut short
        pathlib.Path(self.path("killed", "plans", "half.plan.json.part1")).write_text("{")  # and a plan
        self.succeed(*self.words("killed", effort=25))
        self.assertTrue(done.read_bytes().startswith(kept))
        self.assertEqual(self.contents("killed"), self.contents("whole"))

    def test_ctrl_c_keeps_what_is_there(self):
        self.assertEqual(self.interrupt("stopped", signal.SIGINT, 5), 130)
        rows = self.rows("stopped")
        self.assertGreaterEqual(len(rows), 5)
        self.assertLess(len(rows), 3 * BUDGETS)

    def test_a_second_run_plans_nothing(self):
        first = self.succeed(*self.words("twice")).stdout
        before = self.contents("twice")
        self.assertEqual(self.succeed(*self.words("twice")).stdout, first)
        self.assertEqual(self.contents("twice"), before)

    def test_planners_may_join_later(self):
        self.succeed(*self.words("joined", planners="pantoum-remat-only"))
        self.assertEqual(len(self.rows("joined")), BUDGETS)
        self.succeed(*self.words("joined"))
        self.succeed(*self.words("curve"))
        for name in ("sweep.csv", "sweep.json", "sweep.svg"):
            self.assertEqual(pathlib.Path(self.path("joined", name)).read_bytes(), pathlib.Path(self.path("curve", name)).read_bytes())

    def test_a_model_is_swept_as_its_cost_graph_is(self):
        budgets = f"{self.peak // 2}B,{self.peak}B"
        self.succeed("sweep", MODEL, "--batch", 8, "--device", "m4", "--ram", budgets, "--effort", 2, "--disable", "rewriting", "-o", self.path("model"))
        self.succeed("sweep", "--costgraph", self.graph, "--ram", budgets, "--effort", 2, "-o", self.path("bare"))
        self.assertEqual(self.rows("model"), self.rows("bare"))

    def test_deadline_objective_and_reserve_count(self):
        def values(folder, *more):
            self.succeed("sweep", "--costgraph", self.graph, "--ram", f"{self.peak * 7 // 10}B", "--effort", 2, "-o", self.path(folder), *more)
            return json.loads(pathlib.Path(self.path(folder, "sweep.json")).read_text())
        late = values("late")
        limit = late["unplanned"]["time_s"] * 1.2
        soon = values("soon", "--deadline", "1.2x")
        self.assertAlmostEqual(soon["deadline_s"], limit)
        self.assertLessEqual(soon["rows"][0]["time_s"], limit)
        self.assertEqual(values("fast", "--objective", "time")["objective"], "time")
        reserved = values("reserved", "--reserve", f"{self.peak // 10}B")
        self.assertLessEqual(reserved["rows"][0]["arena_bytes"], self.peak * 6 // 10)

    def test_refusals(self):
        graph = ("sweep", "--costgraph", self.graph, "-o", self.path("refused"))
        self.refuse(2, "E0110", *graph, "--ram", "1000")
        self.refuse(2, "E0110", *graph, "--ram", "64KiB:1MiB")
        self.refuse(2, "E0110", *graph, "--ram", "64:1024:4")
        self.refuse(2, "E0110", *graph, "--ram", "1MiB:64KiB:4")
        self.refuse(2, "E0110", *graph, "--ram", "64KiB:1MiB:1")
        self.refuse(2, "E0300", *graph, "--ram", "0B,1KiB")
        self.refuse(2, "E0300", *graph, "--ram", "1KiB:1MiB:4", "--reserve", "2KiB")
        self.refuse(2, "E0115", *graph, "--ram", "1MiB", "--planners", "pantoum,oracle")
        self.refuse(2, "E0119", "sweep", "--ram", "1MiB", "-o", self.path("refused"))
        self.refuse(2, "E0113", "sweep", MODEL, "--batch", 8, "--params-in", "auto", "--ram", "1MiB", "-o", self.path("refused"))
        self.refuse(2, "E0100", "sweep", "--costgraph", self.graph, "--ram", "1MiB")
        self.refuse(9, "E0901", "sweep", "--costgraph", self.graph, "--ram", "1MiB", "-o", os.path.join(self.graph, "below-a-file"))

    def test_another_question_in_the_same_folder_is_refused(self):
        self.succeed(*self.words("kept"))
        before = self.contents("kept")
        done = self.refuse(3, "E0280", *self.words("kept", effort=3))
        self.assertIn("effort: 2 there, 3 asked for", done.stderr)
        self.refuse(3, "E0280", *self.words("kept", low=31))
        self.refuse(3, "E0280", *self.words("kept", "--no-remat"))
        self.assertEqual(self.contents("kept"), before)
        log = pathlib.Path(self.path("kept", "sweep.jsonl"))
        log.write_text(log.read_text().replace('"status"', '"mood"', 1))
        self.refuse(3, "E0281", *self.words("kept"))


if __name__ == "__main__":
    unittest.main()
