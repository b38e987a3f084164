"""A name that a source file takes from another namespace is used in that file. (Headers hand some on. clang-tidy asks this of one file at a time alone, and make tidy
compiles five as one.)"""
import os
import re
import unittest

import functions
import rooms

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TAKEN = re.compile(r"^\s*(?:using (?:\w*::)+(\w+);|namespace (\w+) = )", re.MULTILINE)


def unused(code):
    names = [one or other for one, other in TAKEN.findall(code)]
    return [name for name in names if len(re.findall(rf"\b{name}\b", code)) == 1]


class NamesTaken(unittest.TestCase):
    def test_every_name_taken_is_used(self):
        files = {path: text for path, text in rooms.files_below(os.path.join(ROOT, "src")).items() if path.endswith(".cc")}
        self.assertGreater(len(files), 500)
        self.assertEqual([f"src/{path}: {name}" for path, text in files.items() for name in unused(functions.code_of(text))], [])

    def test_what_is_found(self):
        self.assertEqual(unused("using a::b;\nusing std::swap;\nnamespace c = d::e;\nint x = b(c::f);\n"), ["swap"])
        self.assertEqual(unused("namespace c = d::e;\n  using ::a::b;\n"), ["c", "b"])


if __name__ == "__main__":
    unittest.main()
