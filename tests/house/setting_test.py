#!/usr/bin/env python3
"""Adds one setting to a copy of the tree, in one place, and looks for it wherever users meet settings. Standard library only.

usage: setting_test.py [--keep FOLDER] [--jobs N]      `make setting-test`; builds the program: minutes
The copy has the files of git's index and the working tree's contents. FOLDER is kept and used again by the next run.
"""
import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = "include/pantoum/plan.hpp"
NAME, OPTION, HELP = "probe_setting", "--probe-setting", "number that the test of settings looks for"
FIELD = f"  std::optional<int64_t> {NAME} = {{}};\n"
DESCRIPTION = f'''  v.group("plan");
  v.field(o.{NAME}, {{.name = "{NAME}", .help = "{HELP}", .option = "{OPTION}", .otherwise = "none", .least = 1, .most = 99}});
'''


def run(*words, **more):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def copy_tree(to):
    for path in run("git", "-C", ROOT, "ls-files").splitlines():
        source, target = os.path.join(ROOT, path), os.path.join(to, path)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
                shutil.copy(source, target)


def add_setting(tree):
    """The one place: the public structure and its description."""
    path = os.path.join(tree, HEADER)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    hooks = "\n  std::stop_token stop = {};  // asks for the best plan so far\n"
    describes = text.index("void describe(Visitor& v, PlanOptions& o)")
    end = text.index("\n}\n", describes) + 1
    assert text.count(hooks) == 1
    text = (text[:end] + DESCRIPTION + text[end:]).replace(hooks, FIELD + hooks)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Looked:
    def __init__(self):
        self.missing = []

    def has(self, where, found):
        print(f"{'found  ' if found else 'MISSING'} {where}", flush=True)
        if not found:
            self.missing.append(where)


def look_at_program(tree, pantoum, scratch, looked):
    looked.has("help", re.search(rf"^  {OPTION} N\s", run(pantoum, "plan", "--help-all"), re.MULTILINE) is not None)
    run(pantoum, "man-pages", "-o", os.path.join(scratch, "man"))
    with open(os.path.join(scratch, "man", "pantoum-plan.1"), encoding="utf-8") as file:
        looked.has("man page", "Fl \\-" + OPTION[2:].replace("-", "\\-") in file.read())
    looked.has("completion", all(OPTION.lstrip("-") in run(pantoum, "completion", shell) for shell in ("bash", "zsh", "fish")))
    schema = json.loads(run(pantoum, "settings"))["record"]["x-request"]
    looked.has("JSON schema", schema["properties"].get(NAME, {}).get("maximum") == 99)
    plan = os.path.join(scratch, "plan.json")
    run(pantoum, "plan", os.path.join(tree, "examples", "fashion", "cnn.onnx"), "--batch", 8, "--ram", "8MiB", "--effort", 1, "--kernels", "portable", OPTION, 7, "-o", plan)
    with open(plan, encoding="utf-8") as file:
        looked.has("plan record", json.load(file)["x-request"].get(NAME) == 7)
    report = json.loads(run(pantoum, "report", plan, "--format", "json"))
    looked.has("report command", f"{OPTION} 7" in report["made_with"]["command"])
    refused = subprocess.run([pantoum, "plan", "x.onnx", OPTION, "100"], capture_output=True, text=True)
    looked.has("range", refused.returncode == 2 and "from 1 to 99" in refused.stderr)


def look_at_structure(tree, scratch, looked):
    source = os.path.join(scratch, "use.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write(f'#include "pantoum/pantoum.hpp"\nint main() {{ return pantoum::PlanOptions{{.{NAME} = 7}}.{NAME} == 7 ? 0 : 1; }}\n')
    done = subprocess.run(["g++", "-std=c++20", "-I", os.path.join(tree, "include"), "-fsyntax-only", source], capture_output=True, text=True)
    looked.has("C++ structure", done.returncode == 0)


def look_at_keyword(tree, pantoum, looked):
    run(sys.executable, os.path.join(tree, "python", "generate_keywords.py"), pantoum)
    with open(os.path.join(tree, "python", "pantoum", "keywords.py"), encoding="utf-8") as file:
        functions = {node.name: node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)}
    plan = functions["plan"]
    looked.has("Python keyword", NAME in [argument.arg for argument in plan.args.kwonlyargs] and f"{NAME}: {HELP}" in ast.get_docstring(plan))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tree = options.keep or os.path.join(scratch, "tree")
        copy_tree(tree)
        add_setting(tree)
        run("cmake", "--preset", "release", cwd=tree)
        run("cmake", "--build", "build/release", "-j", options.jobs, "--target", "pantoum", cwd=tree)
        looked = Looked()
        look_at_program(tree, os.path.join(tree, "build", "release", "bin", "pantoum"), scratch, looked)
        look_at_structure(tree, scratch, looked)
        look_at_keyword(tree, os.path.join(tree, "build", "release", "bin", "pantoum"), looked)
    sys.exit(f"not found: {', '.join(looked.missing)}" if looked.missing else 0)


if __name__ == "__main__":
    main()
