"""What every rule keeps, by its tests on random graphs: a row each."""
import json
import os
import re
import subprocess

from ask import ROOT


def run(bench, test):
    out = os.path.join(bench.folder, "rewrite.json")
    subprocess.run([test, f"--gtest_output=json:{out}", "--gtest_filter=*ubstitution*"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    with open(out) as file:
        suites = json.load(file)["testsuites"]
    rules = {}
    for suite in suites:
        for case in suite["testsuite"]:
            name = case.get("value_param") or case["name"]
            found = re.search(r"[a-z]+(?:-[a-z]+)+", name)
            if found:
                rules.setdefault(found.group(), []).append(not case.get("failures"))
    for rule, passed in sorted(rules.items()):
        bench.table.add(f"substitution {rule}", sum(passed) / len(passed), "of tests", "1", all(passed), f"{len(passed)} tests: forward, gradients, near misses")
    if not rules:
        bench.table.skip("substitution", f"{test} has no test for a rule")
