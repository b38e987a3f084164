"""Runs the checks of .clang-tidy over every C++ file of src/ that is no test and no oneDNN. Cold rooms are checked several files at a time, grouped as the release
build groups them: a name that two files of another grouping share is no finding. usage: tidy.py BUILD JOBS [BASE]

With BASE (a commit) only over the units that hold a file that changed since then, or for a header that changed, one file that includes it."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

import check
import rooms

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


def changed_since(base, asked):
    """Those of the files that a change since `base` asks for."""
    changed = {path for path in check.changed_since(base) if path.startswith(("src/", "include/")) and path.endswith((".cc", ".h", ".hpp"))}
    wanted = {os.path.join(ROOT, path) for path in changed} & asked
    files = rooms.files_below(os.path.join(ROOT, "src")) | rooms.files_below(os.path.join(ROOT, "include"))
    included = rooms.closures(files)
    for header in sorted(re.sub(r"^(src|include)/", "", path) for path in changed if not path.endswith(".cc")):
        users = sorted(path for path, headers in included.items() if header in headers and os.path.join(ROOT, "src", path) in asked)
        own = re.sub(r"\.h(pp)?$", ".cc", header)
        wanted |= {os.path.join(ROOT, "src", path) for path in ([own] if own in users else users[:1])}
    return wanted


def main(build, jobs, base=None):
    listed = subprocess.run(["git", "ls-files", "src/*.cc"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    asked = {os.path.join(ROOT, path) for path in listed if not path.endswith("_test.cc") and not path.startswith("src/kernels/onednn/") and os.path.exists(os.path.join(ROOT, path))}
    if base:
        asked = changed_since(base, asked)
    with open(os.path.join(build, "compile_commands.json")) as file:
        units = {unit: set(files_of(unit)) for unit in sorted({entry["file"] for entry in json.load(file)})}
    units = {unit: files for unit, files in units.items() if files & asked}
    left_out = asked.difference(*units.values())
    if left_out:
        sys.exit(f"clang-tidy: not built by the preset, so not checked: {', '.join(sorted(left_out))}")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        faults = sorted({fault for found in pool.map(lambda unit: faults_of(build, unit), units) for fault in found})
    print("\n".join(faults) if faults else f"clang-tidy: {len(set().union(*units.values()))} files in {len(units)} units, clean")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
