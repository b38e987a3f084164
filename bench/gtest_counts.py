"""What a GoogleTest binary's tests recorded (RecordProperty), as whole numbers. Standard library only."""
import json
import os
import subprocess
import tempfile

STANDARD = {"name", "file", "line", "status", "result", "timestamp", "time", "classname", "value_param", "type_param", "failures"}


def tests(binary, chosen, everything):
    """A list of (test, its counts, did it pass?); empty where the binary tells nothing. everything: all random cases."""
    if not os.path.exists(binary):
        return []
    with tempfile.TemporaryDirectory() as folder:
        told = os.path.join(folder, "told.json")
        own = {key: value for key, value in os.environ.items() if key != "PANTOUM_ALL_CASES"}
        subprocess.run([binary, f"--gtest_filter={chosen}", f"--gtest_output=json:{told}"], stdout=subprocess.DEVNULL,
                       env={**own, "PANTOUM_ALL_CASES": "1"} if everything else own)
        if not os.path.exists(told):
            return []
        with open(told) as file:
            suites = json.load(file)["testsuites"]
    return [(f"{suite['name']}.{test['name']}", counts_of(test), not test.get("failures")) for suite in suites for test in suite["testsuite"]]


def counts_of(test):
    return {key: int(value) for key, value in test.items() if key not in STANDARD and str(value).isdecimal()}
