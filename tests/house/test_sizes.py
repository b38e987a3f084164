"""Functions, files and repetition stay small, or a reason is told.

A reason is a comment `why: ...`: above the function, among the first lines of the file, or just above one of two places alike.
Tests and fixtures may be longer; what is shipped may not.
"""
import os
import re
import unittest

import functions
import rooms
import shapes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LONG_FUNCTION, LONG_FILE, ALIKE = 60, 500, 13
FIRST_LINES = 15  # of a file, for its reason


def house():
    found = {f"src/{path}": text for path, text in rooms.files_below(os.path.join(ROOT, "src")).items()}
    found |= {f"include/{path}": text for path, text in rooms.files_below(os.path.join(ROOT, "include")).items()}
    return {path: text for path, text in found.items() if not rooms.is_test(path)}


def told_near(text, line):
    return functions.WHY.search("\n".join(text.splitlines()[max(0, line - 13):line])) or told_first(text)


def told_first(text):
    return functions.WHY.search("\n".join(text.splitlines()[:FIRST_LINES]))


def long_functions(files):
    return [f"{path}:{line}: {lines} lines" for path, text in files.items() for line, lines in functions.functions_of(text)
            if lines > LONG_FUNCTION and not functions.reason_above(text, line)]


def long_files(files):
    return [f"{path}: {text.count(chr(10))} lines" for path, text in files.items()
            if text.count("\n") > LONG_FILE and not told_first(text)]


def places_alike(files):
    return [f"{one}:{at} and {other}:{again}: {lines} lines" for one, at, other, again, lines in shapes.repeated(files, ALIKE)
            if not told_near(files[one], at) and not told_near(files[other], again)]


def body(lines, name="f", step="  a{0} = b{0}(c, {0});"):
    return f"int {name}(int x) {{\n" + "".join(step.format(at) + "\n" for at in range(lines)) + "}\n"


class Rules(unittest.TestCase):
    """What the rules must find, and what not, in small files."""

    def test_functions_are_measured(self):
        text = "namespace n {\nclass C {\n public:\n  int one() const { return 1; }\n  C(int a)\n      : a_(a) {\n    b();\n    c();\n  }\n};\n" \
               "constexpr int kTable[] = {\n    1,\n    2,\n};\n" + body(3) + "}\n"
        self.assertEqual([lines for _, lines in functions.functions_of(text)], [1, 2, 3])

    def test_a_lambda_belongs_to_its_function(self):
        text = "int f() {\n  const auto g = [&](int a) {\n    return a;\n  };\n  return g(1);\n}\n"
        self.assertEqual([lines for _, lines in functions.functions_of(text)], [4])

    def test_braces_in_comments_and_texts_do_not_count(self):
        text = 'int f() {\n  // {\n  const char* a = "{{";\n  return \'{\';\n}\n' + body(2)
        self.assertEqual([lines for _, lines in functions.functions_of(text)], [3, 2])

    def test_a_long_function_is_found_unless_a_reason_is_told(self):
        self.assertTrue(long_functions({"a.cc": body(61)}))
        self.assertFalse(long_functions({"a.cc": body(60)}))
        self.assertFalse(long_functions({"a.cc": "// why: a table of cases.\n" + body(61)}))

    def test_a_long_file_is_found_unless_a_reason_is_told(self):
        self.assertTrue(long_files({"a.cc": "int a;\n" * 501}))
        self.assertFalse(long_files({"a.cc": "// why: one table.\n" + "int a;\n" * 501}))

    def test_places_of_one_shape_are_found_unless_a_reason_is_told(self):
        steps = ["  a = b(c);", "  if (a) return 1;", "  d += e * f;", "  for (int g : h) i(g);", "  j(k, l);"] * 3
        one = "int f() {\n" + "\n".join(steps[:13]) + "\n}\n"
        other = re.sub(r"\b([a-l])\b", r"x\1", one)
        self.assertTrue(places_alike({"a.cc": one, "b.cc": other}))
        self.assertFalse(places_alike({"a.cc": "// why: two hot loops.\n" + one, "b.cc": other}))
        self.assertFalse(places_alike({"a.cc": one, "b.cc": other.replace("xj(xk, xl)", "xj(xk + xl)")}))


class House(unittest.TestCase):
    def test_functions_are_short(self):
        sizes = sorted(lines for text in house().values() for _, lines in functions.functions_of(text))
        self.assertGreater(len(sizes), 3000)
        self.assertLessEqual(sizes[len(sizes) // 2], 6, "the median")
        self.assertLessEqual(sizes[int(0.99 * len(sizes))], 40, "99 of 100")
        long = long_functions(house())
        self.assertEqual(long, [], "\n" + "\n".join(long))

    def test_files_are_short(self):
        long = long_files(house())
        self.assertEqual(long, [], "\n" + "\n".join(long))

    def test_nothing_stands_twice(self):
        alike = places_alike(house())
        self.assertEqual(alike, [], "\n" + "\n".join(alike))


if __name__ == "__main__":
    unittest.main()
