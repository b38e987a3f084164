"""Rows of forged plans and refusals: how many of each the checker was shown, and how many it believed more than is true.

usage: planner_forged.py --plan-test BINARY [--all]      prints a table and, last, the rows as JSON
--all: a million plans in place of 20,000 (some minutes). The forging is src/plan/forged_test.cc; this runs it and reads its counts.
Standard library only.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from table import Table

SUITE = "Forged"


def counts(binary, everything):
    """What the tests recorded, and whether they passed; None where they cannot be run."""
    with tempfile.TemporaryDirectory() as folder:
        told = os.path.join(folder, "told.json")
        own = {key: value for key, value in os.environ.items() if key != "PANTOUM_ALL_CASES"}
        done = subprocess.run([binary, f"--gtest_filter={SUITE}.*", f"--gtest_output=json:{told}"], stdout=subprocess.DEVNULL,
                              env={**own, "PANTOUM_ALL_CASES": "1"} if everything else own)
        if not os.path.exists(told):
            return None
        with open(told) as file:
            tests = [test for suite in json.load(file)["testsuites"] for test in suite["testsuite"]]
    found = {key: int(value) for test in tests for key, value in test.items() if key.startswith(("plans_", "refusals_"))}
    return {**found, "passed": done.returncode == 0} if found else None


def forged(table, binary, everything=False):
    found = counts(binary, everything) if os.path.exists(binary) else None
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
