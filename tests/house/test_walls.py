"""The walls between rooms, and how much a header rebuilds.

The order of the rooms is read from docs/design/architecture.md. What a header rebuilds follows from the includes of each file, and
the dependency files that the compiler wrote in BUILD (build/release without it) show that nothing else is included; all of src/ must
have been built there, tests too.
"""
import os
import re
import subprocess
import unittest

import rooms

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build", "release"))
CUTS = ("separator", "path_cuts", "flow_cuts", "memory_cuts", "knapsack_cuts")
MOST_BY_A_CUT, MOST_BY_A_HEADER = 12, 40
# What all of the planner speaks of, and the options that its callers hold by value. They reach more; they shall not reach yet more.
WIDE = {"plan/simulate/indices.h": 90, "plan/simulate/model.h": 89, "plan/planner.h": 51, "plan/simulate/plan_options.h": 124, "plan/simulate/policy.h": 44, "plan/simulate/event.h": 41, "plan/simulate/without.h": 163}

PAGE = "```\nsrc/kernels/   a\nsrc/base/      b\nsrc/problem/   c\nsrc/plan/      d\n    simulate/  e\n    bound/     f\nsrc/check/     g\n```\n"
ORDER = ["kernels", "base", "problem", "plan/simulate", "plan/bound", "plan", "check"]


def house():
    with open(os.path.join(ROOT, "docs", "design", "architecture.md"), encoding="utf-8") as page:
        return rooms.order_of(page.read())


def compiled(dependencies):
    """{object: {files below src/ that the compiler read for it}} from the text of `ninja -t deps`."""
    read, target = {}, None
    for line in dependencies.splitlines():
        if line and not line.startswith(" "):
            target = line.split(":")[0] if line.rstrip().endswith("(VALID)") else None
        elif target and (match := re.search(r"/src/(\S+\.(?:h|cc|c))$", line)):
            read.setdefault(target, set()).add(match[1])
    return read


def unforeseen(read, closures):
    """Headers that the compiler read for an object and that the includes of its sources do not name; an object may hold several."""
    found = set()
    for files in read.values():
        sources = files & closures.keys()
        if sources:
            found |= {file for file in files - sources if file.endswith(".h")} - set().union(*(closures[source] for source in sources))
    return found


def rebuilt_by(closures):
    """{header: {sources}}."""
    users = {}
    for source, headers in closures.items():
        for header in headers:
            users.setdefault(header, set()).add(source)
    return users


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

    def test_dependency_files_are_read(self):
        text = "a.o: #deps 2, deps mtime 1 (VALID)\n    ../../src/plan/x.h\n    /usr/include/y.h\n\nb.o: #deps 1, deps mtime 1 (STALE)\n    ../../src/plan/x.h\n"
        self.assertEqual(compiled(text), {"a.o": {"plan/x.h"}})

    def test_headers_reach_through_headers(self):
        files = {"plan/a.cc": '#include "plan/b.h"', "plan/b.h": '#include "c.h"', "plan/c.h": '#include "plan/b.h"', "plan/d.cc": ""}
        self.assertEqual(rooms.closures(files), {"plan/a.cc": {"plan/b.h", "plan/c.h"}, "plan/d.cc": set()})
        self.assertEqual(rebuilt_by(rooms.closures(files)), {"plan/b.h": {"plan/a.cc"}, "plan/c.h": {"plan/a.cc"}})

    def test_what_no_include_names_is_found(self):
        self.assertEqual(unforeseen({"u.o": {"a.cc", "b.cc", "x.h"}}, {"a.cc": {"x.h"}, "b.cc": set()}), set())
        self.assertEqual(unforeseen({"a.o": {"a.cc", "x.h"}}, {"a.cc": set()}), {"x.h"})


class House(unittest.TestCase):
    def test_no_room_includes_one_that_stands_after_it(self):
        faults = rooms.faults(rooms.files_below(os.path.join(ROOT, "src")), house())
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_every_room_of_the_page_is_there(self):
        for room in house():
            self.assertTrue(os.path.isdir(os.path.join(ROOT, "src", room)), f"src/{room}")

    def test_at_the_top_of_plan_stand_a_dozen_pairs(self):
        top = {name.rsplit(".", 1)[0] for name in os.listdir(os.path.join(ROOT, "src", "plan"))
               if name.endswith((".h", ".cc")) and not rooms.is_test(name)}
        self.assertLessEqual(len(top), 12, sorted(top))

    def test_few_files_are_rebuilt_for_a_header_of_plan(self):
        if not os.path.exists(os.path.join(BUILD, "build.ninja")):
            self.skipTest(f"{BUILD} is no Ninja build; `make unit` makes one")
        told = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
        read = compiled(told)
        for built in ("room_plan_bound.dir", "plan_bound_test.dir", "room_pipeline.dir"):
            self.assertTrue(any(built in target for target in read), f"{built} has not been built in {BUILD}")
        closures = rooms.closures(rooms.files_below(os.path.join(ROOT, "src")))
        self.assertEqual({header for header in unforeseen(read, closures) if header.startswith("plan/")}, set())
        users = rebuilt_by(closures)
        reach = {header: len(some) for header, some in users.items() if header.startswith("plan/")}
        self.assertGreater(len(reach), 40)
        far = {header: count for header, count in reach.items() if count > WIDE.get(header, MOST_BY_A_HEADER)}
        self.assertEqual(far, {}, f"headers that reach more than {MOST_BY_A_HEADER} translation units")
        cuts = {cut: reach.get(f"plan/bound/{cut}.h") for cut in CUTS}
        self.assertTrue(all(count is not None and count <= MOST_BY_A_CUT for count in cuts.values()), cuts)


if __name__ == "__main__":
    unittest.main()
