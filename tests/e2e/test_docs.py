"""What the documents say is so: every error code, every operator, every link. Command lines: tests/docs/test_commands.py."""
import glob
import os
import re
import sys
import unittest

from house import MODEL, ROOT, House


def read(*names):
    with open(os.path.join(ROOT, *names)) as file:
        return file.read()


def sources(*patterns):
    return "\n".join(read(path) for pattern in patterns for path in glob.glob(os.path.join(ROOT, "src", pattern)))


def documents():
    return [path for path in glob.glob(os.path.join(ROOT, "**", "*.md"), recursive=True)
            if os.path.relpath(path, ROOT).split(os.sep)[0] not in ("build", "out")]


class Documents(House):
    def verbs(self):
        """Those that --help names, from the groups between its first lines and its last."""
        groups = self.succeed("--help").stdout.split("\nlook (")[1].split("\nhelp:")[0]
        return re.findall(r"^  ([a-z][\w-]*) ", groups, re.MULTILINE)

    def test_every_error_code_is_explained(self):
        text = read("docs", "errors.md")
        explained = set(re.findall(r"E0\d{3}", text))
        for first, last in re.findall(r"E(0\d{3}) to E(0\d{3})", text):
            explained |= {f"E{code:04d}" for code in range(int(first), int(last) + 1)}
        used = set(re.findall(r'"(E0\d{3})"', sources("*/*.cc", "*/*.h")))
        self.assertGreater(len(used), 50)
        self.assertEqual(used - explained, set())

    def test_every_operator_of_the_opset_is_listed_once(self):
        onnx = self.succeed("operators").stdout.split("## Ops of Pantoum")[0]
        listed = re.findall(r"^\| ([A-Z]\w+) \|", onnx, re.MULTILINE)
        known = set(re.findall(r'^\{"(\w+)"', read("src", "import", "operator_forms.inc"), re.MULTILINE)) | {"Scatter", "Upsample"}
        self.assertGreater(len(known), 190)
        self.assertEqual(sorted(listed), sorted(known))

    def test_the_forms_of_operators_are_those_of_onnx(self):
        sys.path.insert(0, os.path.join(ROOT, "tests", "onnx"))
        try:
            import list_forms
        except ImportError:
            self.skipTest("the Python package onnx is not installed")
        if not list_forms.onnx.__version__.startswith("1.16."):
            self.skipTest("the Python package onnx is of another release than the table")
        self.assertEqual(read("src", "import", "operator_forms.inc").splitlines(), list(list_forms.table()))

    def test_every_switch_is_explained(self):
        refused = self.refuse(2, "E0115", "plan", MODEL, "--without", "in-out,gravity").stderr
        self.assertIn("'gravity'", refused)
        names = re.search(r"use one of ([a-z, -]+)", refused).group(1).split(", ")
        self.assertEqual(names, re.findall(r"^\| `([a-z-]+)` \|", read("docs", "switches.md"), re.MULTILINE))
        self.assertIn("in-out", names)

    def test_every_verb_that_is_declared_is_there(self):
        declared = re.findall(r"^void add_(\w+)\(CommandLine& line\);", read("src", "cli", "cli.h"), re.MULTILINE)
        self.assertGreater(len(declared), 10)
        hidden = {"man-pages", "reference", "settings"}  # of no use to a user; they work all the same
        self.assertEqual(sorted(self.verbs()), sorted({name.replace("_", "-") for name in declared} - hidden))

    def test_links_lead_somewhere(self):
        for document in documents():
            prose = re.sub(r"^```.*?^```", "", read(document), flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r"\]\(([^)#]+)\)", prose):
                if "://" not in link:
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(document), link)), f"{document}: {link}")


if __name__ == "__main__":
    unittest.main()
