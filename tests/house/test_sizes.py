"""That `sizes` measures functions and finds long ones, long files and places alike, in small files."""
import re
import unittest

import functions
import sizes


def body(lines, name="f", step="  a{0} = b{0}(c, {0});"):
    return f"int {name}(int x) {{\n" + "".join(step.format(at) + "\n" for at in range(lines)) + "}\n"


class Sizes(unittest.TestCase):
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

    def test_long_functions_and_files_are_found(self):
        self.assertTrue(sizes.long_functions({"a.cc": body(61)}))
        self.assertFalse(sizes.long_functions({"a.cc": body(60)}))
        self.assertTrue(sizes.long_files({"a.cc": "int a;\n" * 801}))
        self.assertFalse(sizes.long_files({"a.cc": "int a;\n" * 800}))

    def test_places_of_one_shape_are_found(self):
        steps = ["  a = b(c);", "  if (a) return 1;", "  d += e * f;", "  for (int g : h) i(g);", "  j(k, l);"] * 3
        one = "int f() {\n" + "\n".join(steps[:13]) + "\n}\n"
        other = re.sub(r"\b([a-l])\b", r"x\1", one)
        self.assertTrue(sizes.places_alike({"a.cc": one, "b.cc": other}))
        self.assertFalse(sizes.places_alike({"a.cc": one, "b.cc": other.replace("xj(xk, xl)", "xj(xk + xl)")}))


if __name__ == "__main__":
    unittest.main()
