"""Rows of forged plans and refusals: how many of each the checker was shown, and how many it believed more than is true.

usage: planner_forged.py --plan-test BINARY [--all]      prints a table and, last, the rows as JSON
--all: a million plans in place of 20,000 (some minutes). The forging is src/plan/forged_test.cc; this runs it and reads its counts.
Standard library only.
"""
import argparse
import json
import sys

import gtest_counts
from planner_ask import Question
from table import Table

SUITE = "Forged"


def counts(binary, everything):
    """What the tests recorded, and whether they passed; None where they cannot be run."""
    tests = gtest_counts.tests(binary, f"{SUITE}.*", everything)
    found = {key: value for _, each, _ in tests for key, value in each.items() if key.startswith(("plans_", "refusals_"))}
    return {**found, "passed": all(passed for _, _, passed in tests)} if found else None


def questions(asker, plan_test, long):
    yield Question("forged", 600 if long else 60, lambda table, raw: forged(table, plan_test, long))


def forged(table, binary, everything=False):
    found = counts(binary, everything)
    for kind in ("plans", "refusals"):
        name = f"forged {kind} believed more than is true"
        if not table.wants(name):
            continue
        if found is None:
            table.skip(name, f"{binary} tells no counts")
            continue
        shown, accepted, false = (found[f"{kind}_{what}"] for what in ("forged", "accepted", "false"))
        table.add(name, false, kind, "0", false == 0 and found["passed"] and shown > 0, f"of {shown}; {accepted} true ones accepted")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-test", required=True)
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    table = Table()
    forged(table, args.plan_test, args.all)
    print(json.dumps(table.rows))
    return any(not row["ok"] and not row["skipped"] for row in table.rows)


if __name__ == "__main__":
    sys.exit(main())
