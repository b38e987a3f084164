"""Which tests `make check` runs for a change."""
import unittest

import check

ORDER = ["base", "plan/bound", "plan", "cli"]
FILES = {"base/a.h": "", "base/a.cc": '#include "base/a.h"', "plan/b.h": '#include "base/a.h"', "plan/b.cc": '#include "plan/b.h"', "plan/bound/c.cc": "",
         "cli/d.cc": '#include "pantoum/e.hpp"', "cli/d_test.cc": '#include "base/a.h"', "pantoum/e.hpp": ""}
KNOWN = ["base/a_test", "plan/b_test", "plan_bound/c_test", "cli/d_test", "house/walls", "house/references", "house/devices", "e2e/one_training", "e2e/data", "networks/lenet"]


class Check(unittest.TestCase):
    def rooms(self, *changed):
        return check.rooms_of(changed, FILES, ORDER)

    def more(self, *changed):
        return set(check.tests_of(changed, self.rooms(*changed), KNOWN)) - check.ALWAYS

    def test_a_source_touches_its_room(self):
        self.assertEqual(self.rooms("src/plan/bound/c.cc", "docs/x.md"), ["plan/bound"])
        self.assertEqual(self.more("src/plan/bound/c.cc"), {"plan_bound/c_test"})

    def test_a_header_touches_the_rooms_that_include_it(self):
        self.assertEqual(self.rooms("src/base/a.h"), ["base", "plan"])
        self.assertEqual(self.rooms("include/pantoum/e.hpp"), ["cli"])

    def test_what_is_not_in_src_asks_for_its_tests(self):
        self.assertEqual(self.more("tests/e2e/test_data.py"), {"e2e/data"})
        self.assertEqual(self.more("devices/host.toml"), {"house/devices"})
        self.assertEqual(self.more("tests/networks/lenet.json"), {"networks/lenet"})
        self.assertEqual(self.more("CHANGELOG.md"), set())

    def test_some_tests_are_always_run(self):
        self.assertEqual(check.tests_of([], [], KNOWN), sorted(check.ALWAYS))


if __name__ == "__main__":
    unittest.main()
