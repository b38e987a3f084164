"""Builds and runs the tests that a change asks for: `make check BASE=COMMIT`. usage: check.py BUILD JOBS BASE

The change is everything since BASE, committed or not. It touches
  the room of every file of src/ that changed: its unit tests are run;
  the rooms that include a header that changed (of src/ or include/, directly or through others): theirs are run too;
  the tests that changed, and those that read a page, device or example that changed.
Whatever changed, the walls, the references and one end-to-end training are run. What is not run is told.
"""
import glob
import os
import re
import subprocess
import sys

import rooms

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALWAYS = {"house/walls", "house/references", "e2e/one_training"}
# What a changed file outside src/ asks for: the first pattern that matches.
BESIDE = (
    (r"tests/(\w+)/test_(\w+)\.py$", r"\1/\2"),
    (r"tests/(networks)/.*", r"\1/"), (r"tests/(values|link)/.*", r"\1"), (r"tests/(firmware)/.*", r"\1/"),
    (r"docs/.*|README\.md", "docs/pages"), (r"devices/.*", "house/devices"), (r"examples/([\w-]+)/.*", "examples/"),
)
LATER = ((r"python/", "make python-test python-style"), (r"tests/faults/", "make faults-quick"), (r"tests/fuzz/", "make fuzz"), (r"bench/", "make bench-..."),
         (r"examples/notebooks/", "make notebooks"))


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


def changed_since(base):
    return sorted(set(git("diff", "--name-only", base, "--")) | set(git("ls-files", "--others", "--exclude-standard")))


def rooms_of(changed, files, order):
    """The rooms whose tests a change asks for. `files`: {path below src/ or include/: text}."""
    headers = {re.sub(r"^(src|include)/", "", path) for path in changed if path.startswith(("src/", "include/")) and path.endswith((".h", ".hpp"))}
    touched = {rooms.room_of(path[4:], order) for path in changed if path.startswith("src/")}
    for source, included in rooms.closures(files).items():
        if not rooms.is_test(source) and headers & included:
            touched.add(rooms.room_of(source, order))
    return sorted(touched - {None})


def tests_of(changed, touched, known):
    """The ctest names out of `known`."""
    asked = set(ALWAYS)
    for room in touched:
        asked |= {name for name in known if name.startswith(room.replace("/", "_") + "/")}
    for path in changed:
        for pattern, name in BESIDE:
            if match := re.fullmatch(pattern, path):
                wanted = match.expand(name)
                asked |= {name for name in known if name == wanted or (wanted.endswith("/") and name.startswith(wanted))}
                break
    return sorted(asked & set(known))


def programs_of(build):
    """{name of a test: its program}, as CMake wrote them. (ctest itself tells no program that is not built yet.)"""
    found = {}
    for path in glob.glob(os.path.join(build, "**", "CTestTestfile.cmake"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found |= dict(re.findall(r'^add_test\("?(?:\[=*\[)?([^"\]]+)(?:\]=*\])?"? "([^"]+)"', file.read(), re.M))
    return found


def main(build, jobs, base):
    changed = changed_since(base)
    with open(os.path.join(ROOT, "docs", "design", "architecture.md"), encoding="utf-8") as page:
        order = rooms.order_of(page.read())
    files = rooms.files_below(os.path.join(ROOT, "src")) | rooms.files_below(os.path.join(ROOT, "include"))
    touched = rooms_of(changed, files, order)
    known = programs_of(build)
    names = tests_of(changed, touched, known)
    programs = {os.path.relpath(known[name], build) for name in names if known[name].startswith(build + os.sep)}
    later = sorted({target for pattern, target in LATER if any(re.match(pattern, path) for path in changed)})
    print(f"{len(changed)} files changed since {base}: rooms {', '.join(touched) or 'none'}; {len(names)} tests", flush=True)
    if programs:
        subprocess.run(["ninja", "--quiet", "-C", build, "-j", jobs, *sorted(programs)], check=True)
    chosen = "^(" + "|".join(map(re.escape, names)) + ")$"
    status = subprocess.run(["ctest", "--test-dir", build, "-R", chosen, "-j", jobs, "--output-on-failure"]).returncode
    if later:
        print(f"not run here: {', '.join(later)}")
    sys.exit(status)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3])
