"""docs/limits.md and the constants are the same numbers, and every limit of what is read stands there."""
import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
NAME = r"(?:kMost\w+|kMax\w*|kLongest\w+|kDeepest\w+|kLargest\w+|k\w+Limit|PT_IMAGE_\w+)"
# No limits of a file: how many lines a message shows, what a system call moves, how large a quantity is, a constant of ZIP.
OTHERS = {"PT_IMAGE_MESSAGE", "PT_IMAGE_H", "kMaxTransfer", "kMaxNotes", "kMostTold", "kMostNames", "kMostQuantity", "kMostLimit", "kMostBytes", "kLargestOffset", "kMostComment", "kMostGradients"}


def read(*names):
    with open(os.path.join(ROOT, *names)) as file:
        return file.read()


def value_of(path, name):
    found = re.search(rf"\b{name} = ([^;,/]+)", read(path))
    if not found:
        return None
    expression = re.sub(r"\bu?int\d+_t\{(\d+)\}|\bsize_t\{(\d+)\}", lambda each: each.group(1) or each.group(2), found.group(1)).replace("'", "")
    return eval(expression, {"__builtins__": {}})  # shifts and sums of numbers


def rows():
    for line in read("docs", "limits.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and "`" in cells[3]:
            path, name = cells[3].strip("`").split(": ")
            number, _, unit = cells[2].partition(" ")
            yield path, name, int(number.replace(",", "")) * UNITS[unit], cells[4]


class Limits(unittest.TestCase):
    def test_every_number_is_the_constants(self):
        self.assertGreater(len(list(rows())), 20)
        for path, name, number, _ in rows():
            self.assertEqual(value_of(path, name), number, f"{path}: {name}")

    def test_every_limit_of_what_is_read_is_told(self):
        told = {(path, name) for path, name, _, _ in rows()}
        for room in ("base", "data", "problem", "weights", "check"):
            for path in glob.glob(os.path.join(ROOT, "src", room, "*")):
                short = os.path.relpath(path, ROOT)
                if not path.endswith((".h", ".cc", ".c")) or "_test." in path:
                    continue
                for name in re.findall(rf"\b({NAME}) = ", read(short)):
                    self.assertTrue((short, name) in told or name in OTHERS, f"docs/limits.md lacks {short}: {name}")

    def test_codes_are_explained(self):
        errors = read("docs", "errors.md")
        for _, name, _, codes in rows():
            for code in codes.split(", "):
                number, spans = int(code[1:]), re.findall(r"E(0\d{3})(?: to E(0\d{3}))?", errors)
                self.assertTrue(any(int(first) <= number <= int(last or first) for first, last in spans), f"{name}: {code}")


if __name__ == "__main__":
    unittest.main()
