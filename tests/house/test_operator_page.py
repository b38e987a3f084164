"""The tutorial of docs/adding-an-operator.md is true: its code stands where it says, its checks exist, and no place is missing."""
import os
import re
import subprocess
import unittest

from operator_page import PAGE, ROOT, place_of, places_of, spot_of, text_of, without

OP = "hard_swish"
# What the builder of models calls by ONNX's name is a choice of its own.
BUILDER = {"include/pantoum/layer_types.hpp", "tests/install/abi/libpantoum.txt"}
NOT_PLACES = {"src/aten/lower_elements.cc", "src/tflite/operators.cc", PAGE, "CHANGELOG.md", "tests/house/test_operator_page.py", "tests/house/leave_one_out.py"} | BUILDER
# Of the page's last section.
NOBODY_ASKS = {"src/kernels/portable/unary_test.cc", "src/kernels/opencl/table.cc", "src/kernels/opencl/programs/products.cl"}


def files_that_know(word):
    command = ["git", "-C", ROOT, "grep", "-lI", "--untracked", "-e", word, "--", ".", ":!*.onnx", ":!*.json"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def has_test(suite, name):
    pattern = re.compile(rf"TEST(?:_F|_P)?\({suite}, {name}\)")
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        if any(file.endswith("_test.cc") and pattern.search(text_of(os.path.join(folder, file))) for file in files):
            return True
    return False


class Reading(unittest.TestCase):
    BODY = "[a.h](../src/a.h)\n\n```c\nROW(x,\n    1)\n\nint y;\n```\n\nLeft out: `ir_test --gtest_filter=A.B` says \"x\".\n"

    def test_a_place(self):
        place = place_of("Rows", self.BODY)
        self.assertEqual((place.file, place.code, place.target, place.says), ("src/a.h", ["ROW(x,\n    1)", "int y;"], "ir_test", "x"))

    def test_pieces_are_found_once_whatever_the_space(self):
        self.assertEqual(spot_of("ROW(x, 1)", "a ROW(x,\n 1) b"), (2, 12))
        self.assertIsNone(spot_of("b;", "a b; b;"))
        self.assertIsNone(spot_of("b;", "ab;"))
        self.assertEqual(without(["ROW(x, 1)", "b"], "a ROW(x, 1) b").split(), ["a"])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = text_of(PAGE)
        cls.places = places_of(cls.text)

    def test_every_section_is_a_place_with_a_check(self):
        self.assertEqual(len(self.places), len(re.findall(r"^## \d+\.", self.text, re.MULTILINE)))
        numbers = [int(number) for number in re.findall(r"^## (\d+)\.", self.text, re.MULTILINE)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertGreaterEqual(len(numbers), 10)

    def test_the_code_stands_where_the_page_says(self):
        for place in self.places:
            self.assertTrue(place.code, place.title)
            for piece in place.code:
                self.assertIsNotNone(spot_of(piece, text_of(place.file)), f"{place.file} has not, or not once:\n{piece}")

    def test_the_checks_exist(self):
        for place in self.places:
            if not place.run:
                continue
            if place.run[0].endswith(".py"):
                case = place.run[1].split(".")[-1]
                self.assertIn(f"def {case}(", text_of(place.run[0]), place.title)
            else:
                suite, name = place.run[1].split("=")[1].split(".")
                self.assertTrue(has_test(suite, name), f"{place.title}: there is no TEST({suite}, {name})")

    def test_no_place_is_missing(self):
        linked = {os.path.normpath(os.path.join("docs", link)) for link in re.findall(r"\]\(([^)#]+)\)", self.text)}
        self.assertEqual(files_that_know(OP) - linked - NOT_PLACES, set(), f"these know {OP}, and {PAGE} does not say so")
        self.assertEqual({place.file for place in self.places} - files_that_know(OP), set())

    def test_what_knows_the_gradient_is_told_of_the_gradient(self):
        told = {place.file for place in self.places if any(f"{OP}_grad" in piece for piece in place.code)}
        self.assertEqual(files_that_know(f"{OP}_grad") - told - NOT_PLACES - NOBODY_ASKS, set())


if __name__ == "__main__":
    unittest.main()
