"""The walls between rooms: no file includes a room that stands after its own, and some rooms are stricter. The order is read from
docs/design/architecture.md."""
import os
import unittest

import rooms

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PAGE = "```\nsrc/kernels/   a\nsrc/base/      b\nsrc/problem/   c\nsrc/plan/      d\n    simulate/  e\n    bound/     f\nsrc/check/     g\n```\n"
ORDER = ["kernels", "base", "problem", "plan/simulate", "plan/bound", "plan", "check"]


def house():
    with open(os.path.join(ROOT, "docs", "design", "architecture.md"), encoding="utf-8") as page:
        return rooms.order_of(page.read())


class Rules(unittest.TestCase):
    """The rules, on small houses: what they must find."""

    def found(self, files):
        return rooms.faults(files, ORDER)

    def test_the_page_gives_the_order(self):
        self.assertEqual(rooms.order_of(PAGE), ORDER)
        with self.assertRaises(ValueError):
            rooms.order_of("no list")

    def test_a_room_that_stands_after_is_found(self):
        self.assertTrue(self.found({"base/a.h": '#include "problem/b.h"', "problem/b.h": ""}))
        self.assertTrue(self.found({"plan/simulate/a.cc": '#include "plan/b.h"', "plan/b.h": ""}))
        self.assertTrue(self.found({"plan/simulate/a.cc": '#include "plan/bound/b.h"', "plan/bound/b.h": ""}))
        self.assertFalse(self.found({"plan/a.cc": '#include "plan/bound/b.h"', "plan/bound/b.h": ""}))
        self.assertFalse(self.found({"base/a.cc": '#include "kernels/k.h"', "kernels/k.h": ""}))

    def test_a_stricter_room_is_found(self):
        self.assertTrue(self.found({"check/a.cc": '#include "plan/bound/b.h"', "plan/bound/b.h": ""}))
        self.assertFalse(self.found({"check/a.cc": '#include "problem/b.h"', "problem/b.h": ""}))

    def test_tests_may_include_anything(self):
        self.assertFalse(self.found({"base/a_test.cc": '#include "plan/b.h"', "plan/b.h": ""}))

    def test_a_folder_that_is_no_room_is_found(self):
        self.assertTrue(self.found({"misc/a.h": ""}))

    def test_headers_reach_through_headers(self):
        files = {"plan/a.cc": '#include "plan/b.h"', "plan/b.h": '#include "c.h"', "plan/c.h": '#include "plan/b.h"', "plan/d.cc": ""}
        self.assertEqual(rooms.closures(files), {"plan/a.cc": {"plan/b.h", "plan/c.h"}, "plan/d.cc": set()})
        self.assertEqual(rooms.rebuilt_by(rooms.closures(files)), {"plan/b.h": {"plan/a.cc"}, "plan/c.h": {"plan/a.cc"}})


class House(unittest.TestCase):
    def test_no_room_includes_one_that_stands_after_it(self):
        faults = rooms.faults(rooms.files_below(os.path.join(ROOT, "src")), house())
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_every_room_of_the_page_is_there(self):
        for room in house():
            self.assertTrue(os.path.isdir(os.path.join(ROOT, "src", room)), f"src/{room}")


if __name__ == "__main__":
    unittest.main()
