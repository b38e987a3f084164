"""Every --planner of the literature plans a real model or says why not, and its plan is checked."""
import json
import os
import re
import subprocess
import unittest

from house import CHECKER, MODEL, PANTOUM, House


class Planners(House):
    def words(self, *more):
        return [PANTOUM, "plan", MODEL, "--batch", "16", "--device", "a72", "--disable", "rewriting", "--format", "json", *more]

    def names(self):
        refused = subprocess.run([PANTOUM, "plan", MODEL, "--planner", "?"], capture_output=True, text=True).stderr
        return re.split(r", | or ", re.search(r"help: use (.*)", refused).group(1))

    def test_each_plans_or_says_why_not(self):
        graph = self.path("graph.json")
        peak = json.loads(subprocess.run(self.words("--ram", "1GiB", "--effort", "1", "--costgraph-out", graph), capture_output=True, check=True).stdout)["unplanned_peak_bytes"]
        planned = []
        for name in self.names():
            plan = self.path(f"{name}.json")
            done = subprocess.run(self.words("--ram", f"{peak * 85 // 100}B", "--planner", name, "--time-limit", "8s", "-o", plan), capture_output=True, text=True)
            if done.returncode:
                self.assertIn(json.loads(done.stderr)["error"], ("E0302", "E0304"), name)
                self.assertEqual(done.returncode, 6, name)
                self.assertFalse(os.path.exists(plan), name)
                continue
            planned.append(name)
            if os.path.exists(CHECKER):
                subprocess.run(["python3", CHECKER, graph, plan], check=True, capture_output=True)
        self.assertLessEqual({"pantoum", "dtr", "capuchin"}, set(planned))

    def test_an_unknown_one_is_refused(self):
        done = subprocess.run(self.words("--ram", "1GiB", "--planner", "magic"), capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("E0100", done.stderr)


if __name__ == "__main__":
    unittest.main()
