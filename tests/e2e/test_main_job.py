"""The main job (examples/fashion/run.sh), one epoch: terminal, log and report say the same figures, and the plan's time is near the measured one."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from house import PANTOUM, ROOT, House

DATA = "/usr/share/datasets/fashion-mnist"


class MainJob(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = pathlib.Path(cls.folder) / "main job"
        run = subprocess.run([os.path.join(ROOT, "examples", "fashion", "run.sh"), PANTOUM, DATA, "1"], env={**os.environ, "PANTOUM_OUT": str(cls.out)},
                             capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        cls.shown = run.stderr + run.stdout
        cls.end = [json.loads(line) for line in (cls.out / "run.jsonl").read_text().splitlines()][-1]
        cls.plan = json.loads((cls.out / "plan.json").read_text())

    def setUp(self):
        self.report = json.loads(self.succeed("report", str(self.out / "plan.json"), str(self.out / "run.jsonl"), "--format", "json").stdout)

    def in_terminal(self, pattern):
        found = re.search(pattern, self.shown)
        self.assertTrue(found, f"{pattern}\n{self.shown}")
        return found.groups()

    def page(self):
        """The page, and its tiles: label to value."""
        page = (self.out / "report.html").read_text()
        return page, {label: re.sub("<[^>]*>", "", value) for label, value in re.findall(r"<li><span class='label'>([^<]*)</span><b>(.*?)</b>", page)}

    def test_terminal_log_and_report_say_the_same(self):
        page, tiles = self.page()
        accuracy, = self.in_terminal(r"trained .* test accuracy (0\.\d{4})")
        self.assertEqual(accuracy, f"{self.end['test_accuracy']:.4f}")
        measured, planned = self.in_terminal(r", (\S+ ms) a step \(planned: (\S+ ms)\)")
        self.assertEqual(measured, f"{self.end['step_s'] * 1e3:.1f} ms")
        self.assertEqual(planned, f"{self.plan['predicted']['time_s'] * 1e3:.1f} ms")
        unplanned, = self.in_terminal(r"of the unplanned (\S+ MiB)\)")
        self.assertEqual(unplanned, f"{self.end['unplanned_peak_bytes'] / 2**20:.2f} MiB")
        self.assertEqual(self.report["outcome"]["unplanned"]["peak_bytes"], self.end["unplanned_peak_bytes"])
        self.assertEqual(max(self.report["memory"]["unplanned"]["bytes"]), self.end["unplanned_peak_bytes"])
        self.assertEqual(list(tiles)[0], "Test accuracy", tiles)
        self.assertEqual((tiles["Test accuracy"], tiles["Time of a step"]), (accuracy, measured))
        self.assertTrue(f"planned: {planned}" in page and f"unplanned step&#39;s {unplanned}" in page)

    def test_it_pages_and_keeps_its_budget(self):
        self.assertGreater(self.end["bytes_paged_out"], 0)
        self.assertLessEqual(self.end["arena_bytes"], 10 * 2**20)

    def test_the_planned_step_is_near_the_measured_one(self):
        """Other tests run beside this one and take cores from the run, not from the measuring: a factor of four."""
        self.assertNotEqual(self.report["outcome"]["time_source"], "modelled")
        self.assertLess(self.end["step_s"], 4 * self.plan["predicted"]["time_s"])
        self.assertGreater(self.end["step_s"], 0.25 * self.plan["predicted"]["time_s"])

    def test_joules_that_nobody_measured_are_no_headline(self):
        self.assertNotIn("Energy of a step", self.page()[1])
        self.assertNotRegex(self.report["headline"] + self.report["lead"], r"\d m?J\b")
        self.assertNotRegex(self.shown, r"\d m?J a step")


if __name__ == "__main__":
    unittest.main()
