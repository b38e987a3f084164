"""The figures of the papers, in small: files are whole, bounds below values, later deadlines never dearer."""
import csv
import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from house import PANTOUM, ROOT, House


class Papers(House):
    def test_a_small_run_writes_every_figure(self):
        out = self.path("bench")
        words = [sys.executable, os.path.join(ROOT, "bench", "papers", "run.py"), "--pantoum", PANTOUM, "--out", out, "--effort", "2", "--points", "3",
                 "--planners", "pantoum", "pantoum-paging-only", "pantoum-remat-only", "--devices"]
        subprocess.run([*words, "a72", "--models", "vgg16", "resnet18"], check=True, capture_output=True, timeout=600)
        with open(os.path.join(out, "papers.json")) as file:
            document = json.load(file)
        for figure in ("figure3", "figure4", "figure5"):
            with open(os.path.join(out, "papers", f"{figure}.csv"), newline="") as file:
                self.assertEqual(len(list(csv.DictReader(file))), len(document[figure]))
            xml.etree.ElementTree.parse(os.path.join(out, "papers", f"{figure}.svg"))
        self.assertEqual(len(document["figure3"]), 2 * 3 * 3)
        self.assertEqual(len(document["figure5"]), 3 * 3)
        self.assertEqual(document["energy_source"], "modelled")
        last = {}
        for row in document["figure4"]:  # a later deadline never costs more
            value = row["energy_overhead_percent"]
            if value is not None:
                self.assertLessEqual(value, last.get(row["planner"], float("inf")))
                last[row["planner"]] = value
        for row in document["figure3"]:
            if row["bound_overhead_percent"] is not None:
                self.assertLessEqual(row["bound_overhead_percent"], row["energy_overhead_percent"] + 1e-9)


if __name__ == "__main__":
    unittest.main()
