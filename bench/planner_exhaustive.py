"""Rows `exhaustive`: bounds and refusals on 5,000 tiny graphs against exhaustive search over all orders, and the planner
against exhaustive search of the given order. The searching is done by tests of src/plan; this runs them and reads their counts.
"""
import gtest_counts
from planner_ask import Question

ANY_ORDER, GIVEN_ORDER = "AnyOrder*", "*Exhaustive*"
SECONDS = {ANY_ORDER: 120, GIVEN_ORDER: 600}
GRAPHS = 5000
NONE = ("false_refusals", "bounds_above_optimum")


def questions(asker, plan_test, long):
    yield Question("exhaustive any order", SECONDS[ANY_ORDER], lambda table, raw: any_order(table, raw, plan_test, not asker.quick))
    if long:
        yield Question("exhaustive given order", SECONDS[GIVEN_ORDER], lambda table, raw: given_order(table, raw, plan_test))


def any_order(table, raw, plan_test, everything):
    found = gtest_counts.tests(plan_test, ANY_ORDER, everything)
    if len(found) != 1 or not all(key in found[0][1] for key in NONE):
        return table.skip("exhaustive any order", f"{plan_test} tells no counts")
    (_, counts, passed), = found
    raw["exhaustive any order"] = {**counts, "passed": passed}
    enough = GRAPHS - 50 if everything else 1  # a few graphs have no unplanned step
    table.add("exhaustive any order: graphs", counts["graphs"], "graphs", f">= {enough}", counts["graphs"] >= enough)
    table.add("exhaustive any order: questions", counts["questions"], "questions", "all tests pass", passed and counts["questions"] > 0,
              f"{counts['bounds']} bounds, {counts['tight']} of them the optimum; {counts['planned']} planned")
    table.add("exhaustive any order: false refusals", counts["false_refusals"], "", "0", counts["false_refusals"] == 0, f"of {counts['refused']}")
    table.add("exhaustive any order: bounds above the optimum", counts["bounds_above_optimum"], "", "0", counts["bounds_above_optimum"] == 0)
    table.add("exhaustive any order: refusals whose certificate was checked", counts["refusals_checked"], "", counts["refused"],
              counts["refusals_checked"] == counts["refused"] > 0)


def given_order(table, raw, plan_test):
    found = gtest_counts.tests(plan_test, GIVEN_ORDER, True)
    if not found:
        return table.skip("exhaustive given order", f"{plan_test} tells no counts")
    raw["exhaustive given order"] = {name: {**counts, "passed": passed} for name, counts, passed in found}
    failed = [name for name, _, passed in found if not passed]
    asked = sum(counts.get("asked", 0) for _, counts, _ in found)
    table.add("exhaustive given order: tests that fail", len(failed), "tests", "0", not failed, ", ".join(failed) or f"of {len(found)}; {asked} questions")
