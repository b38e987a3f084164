"""What every rule and every fusion keeps, by its tests on random graphs: a row each."""
import json
import os
import subprocess

from ask import ROOT

RULES = "Substitutions/EveryRule"


def run(bench, test):
    out = os.path.join(bench.folder, "rewrite.json")
    subprocess.run([test, f"--gtest_output=json:{out}", f"--gtest_filter={RULES}.*:*Fus*:CompactActivations.*"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    with open(out) as file:
        suites = json.load(file)["testsuites"]
    rules = {}
    for suite in suites:
        for case in suite["testsuite"]:
            of_rule = suite["name"] == RULES
            name = case["name"].split("/")[-1].replace("_", "-") if of_rule else f"fusion {suite['name']}"
            rules.setdefault(name, []).append(not case.get("failures"))
    for rule, passed in sorted(rules.items()):
        bench.table.add(f"substitution {rule}", sum(passed) / len(passed), "of tests", "1", all(passed), f"{len(passed)} tests on random graphs: forward, gradients, where it does not fit")
    if not rules:
        bench.table.skip("substitution", f"{test} has no test for a rule")
