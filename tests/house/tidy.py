"""Runs the checks of .clang-tidy over every C++ file of src/ that is no test and no oneDNN: sixteen files at a time, as a unity build compiles them, in a fifth of the
time. usage: tidy.py BUILD JOBS"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files_of(unit):
    """Those that a file of the unity build includes, or the file itself."""
    if "/Unity/" not in unit:
        return [unit]
    with open(unit) as file:
        return re.findall(r'^#include "(.*)"', file.read(), re.MULTILINE)


def faults_of(build, unit):
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", unit], cwd=ROOT, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if re.search(r"warning:|error:", line)] or ([f"{unit}: {done.stderr}"] if done.returncode else [])


def main(build, jobs):
    listed = subprocess.run(["git", "ls-files", "src/*.cc"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    asked = {os.path.join(ROOT, path) for path in listed if not path.endswith("_test.cc") and not path.startswith("src/kernels/onednn/")}
    with open(os.path.join(build, "compile_commands.json")) as file:
        units = {unit: set(files_of(unit)) for unit in sorted({entry["file"] for entry in json.load(file)})}
    units = {unit: files for unit, files in units.items() if files & asked}
    left_out = asked.difference(*units.values())
    if left_out:
        sys.exit(f"clang-tidy: not built by the preset, so not checked: {', '.join(sorted(left_out))}")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        faults = sorted({fault for found in pool.map(lambda unit: faults_of(build, unit), units) for fault in found})
    print("\n".join(faults) if faults else f"clang-tidy: {len(asked)} files, clean")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]))
