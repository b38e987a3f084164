"""The charts of docs/ and the tables of docs/benchmarks.md are those of the checked-in JSON; pictures of docs/ are readable in both schemes."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

CHARTS = os.path.join(pages.ROOT, "bench", "charts")
sys.path.insert(0, CHARTS)
import keep  # noqa: E402
import rows  # noqa: E402
import tables  # noqa: E402

sys.path.insert(0, os.path.join(pages.ROOT, "bench", "costs"))
import substitutions  # noqa: E402

PYTHON = os.path.join(pages.ROOT, "build", "docs-venv", "bin", "python")
RESULTS = os.path.join(pages.ROOT, "docs", "results")
IMAGES = os.path.join(pages.ROOT, "docs", "images")


def draw(*words):
    return subprocess.run([PYTHON, os.path.join(CHARTS, "draw.py"), *words], capture_output=True, text=True, timeout=300)


class Tables(unittest.TestCase):
    def test_benchmarks_has_the_figures_of_the_json(self):
        page = pages.read("docs", "benchmarks.md")
        self.assertEqual(tables.page(page, lambda name: rows.read(RESULTS, name)), page, "make charts")
        self.assertEqual(set(re.findall(r"<!-- end ([\w-]+) -->", page)), set(tables.TABLES))

    def test_another_figure_is_noticed(self):
        page = pages.read("docs", "benchmarks.md")
        for changed in {name for name, _ in tables.TABLES.values()}:
            def read(name):
                results = rows.read(RESULTS, name)
                for row in results["rows"] if name == changed else []:
                    row["value"] += 1
                return results
            self.assertNotEqual(tables.page(page, read), page, changed)

    def test_every_run_says_when_where_and_how(self):
        for path in glob.glob(os.path.join(RESULTS, "*.json")):
            for run in rows.read(RESULTS, os.path.basename(path)).get("measured", []):
                self.assertRegex(run["date"], r"^\d{4}-\d\d-\d\d$")
                self.assertTrue(run["machine"])
                self.assertRegex(run["command"], r"^(make|python3) \w")

    def test_a_run_replaces_its_rows_and_leaves_the_others(self):
        old = {"measured": [{"command": "a"}, {"command": "b"}], "rows": [{"name": "x", "value": 1}, {"name": "y", "value": 2}], "raw": {"x": 1, "y": 2}}
        new = keep.merged(old, {"rows": [{"name": "y", "value": 3}], "raw": {"y": 3}}, {"command": "b", "date": "today"})
        self.assertEqual(new, {"measured": [{"command": "a"}, {"command": "b", "date": "today"}], "rows": [{"name": "x", "value": 1}, {"name": "y", "value": 3}],
                               "raw": {"x": 1, "y": 3}})

    def test_the_machine_is_told_in_words(self):
        self.assertRegex(keep.machine(), r", \d+ cores$")
        self.assertNotIn(os.uname().nodename, json.dumps(rows.read(RESULTS, "runtime.json")))

    def test_budgets_are_said_as_a_reader_says_them(self):
        self.assertEqual([rows.rounded("8GiB"), rows.rounded("107520000B")], ["8 GiB", "103 MiB"])


class Substitutions(unittest.TestCase):
    def test_the_page_has_the_gains_of_the_json_and_each_is_worth_its_code(self):
        kept, page = rows.read(RESULTS, "substitutions.json"), pages.read("docs", "substitutions.md")
        self.assertEqual(substitutions.page(page, kept["rows"], kept["algorithms"]), page, "python3 bench/costs/substitutions.py --pantoum build/release/bin/pantoum --keep")
        for rows_of, mark in (("rows", "`"), ("algorithms", "**")):
            named = re.findall(rf"^\| {re.escape(mark)}([\w-]+){re.escape(mark)} \|", page, re.MULTILINE)
            self.assertEqual({row["rule"] for row in kept[rows_of]}, set(named))
            self.assertEqual([row for row in kept[rows_of] if row["gain"] < substitutions.WORTH], [])


@unittest.skipUnless(os.path.exists(PYTHON), "matplotlib is not here: make docs-tools (it needs PyPI)")
class Charts(unittest.TestCase):
    def test_they_are_drawn_from_the_json(self):
        with tempfile.TemporaryDirectory() as folder:
            done = draw("--to", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("left out", done.stdout)
            for name in os.listdir(folder):
                with self.subTest(name), open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), pages.read("docs", "images", name), "make charts")

    def test_what_was_not_measured_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("left out: bench-resnet18.svg: there is no", draw("--from", folder, "--to", folder).stdout)
            with open(os.path.join(folder, "runtime.json"), "w", encoding="utf-8") as file:
                json.dump({"rows": [], "raw": {}}, file)
            self.assertIn("left out: bench-table-4.svg: no row 'Table 4'", draw("--from", folder, "--to", folder).stdout)


class Pictures(unittest.TestCase):
    def pictures(self):
        found = [path for kind in ("bench", "concept") for path in glob.glob(os.path.join(IMAGES, f"{kind}-*.svg"))]
        self.assertGreater(len(found), 10)
        return found

    def test_they_are_svg_with_a_title_and_a_dark_scheme_and_load_nothing(self):
        for path in self.pictures():
            with self.subTest(os.path.basename(path)), open(path, encoding="utf-8") as file:
                text = file.read()
                root = xml.etree.ElementTree.fromstring(text)
                self.assertTrue(root.find("{http://www.w3.org/2000/svg}title").text)
                self.assertIn("prefers-color-scheme: dark", text)
                self.assertNotRegex(text, r"(href|src)=\"(?!#)|url\((?!#)|@import")

    def test_every_one_is_shown(self):
        shown = set(re.findall(r"images/([\w-]+\.svg)", "".join(pages.read(page) for page in pages.pages())))
        self.assertEqual({os.path.basename(path) for path in self.pictures()} - shown, set())

    def test_every_concept_has_one(self):
        for path in glob.glob(os.path.join(pages.ROOT, "docs", "concepts", "*.md")):
            with open(path, encoding="utf-8") as file:
                self.assertEqual(len(re.findall(r"!\[", file.read())), 1, path)


if __name__ == "__main__":
    unittest.main()
