#!/usr/bin/env python3
"""Makes a wheel for each Python that is found here, installs each into a fresh environment, and tries it there.

    packaging/wheels.py --built PREFIX --tools PYTHON --out FOLDER [--only 3.12,3.13]

PREFIX    where `cmake --install` put Pantoum, with the stub of the extension in share/pantoum
PYTHON    has auditwheel and abi3audit
FOLDER    gets the wheels that ran

Looks on the PATH and in pyenv. CPython 3.10 and 3.11 get wheels of their own. From 3.12 on one wheel of the stable ABI serves all, where 3.12 and a
later version are here and both ran it; else every one gets its own. A wheel that failed is not in FOLDER, and the exit code is 1.
"""
import argparse
import glob
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEAST, STABLE = (3, 10), (3, 12)
ASK = """
import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
whole = sys.implementation.name == "cpython" and os.path.exists(header) and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(*sys.version_info[:2], int(whole), os.path.realpath(sys.executable))
"""
# What a user does first: a plan of a model from its file, a step, outputs; then the program. numpy alone is beside it.
TRY = """
import subprocess, sys
import numpy as np
import pantoum

assert "site-packages" in pantoum.__file__, pantoum.__file__
random = np.random.default_rng(1)
x, y = random.standard_normal((64, 2), dtype=np.float32), random.integers(0, 3, 64)
with pantoum.compile(sys.argv[1], batch=16, ram="1MiB", lr=0.1, plan_options={"effort": 1}) as trainer:
    before = trainer.step(x[:16], y[:16])
    history = trainer.fit((x, y), epochs=5)
    assert history.history["loss"][-1] < before
    assert trainer.predict(x).shape[0] == 64
subprocess.run([sys.executable, "-m", "pantoum", "doctor"], check=True, capture_output=True)
"""


def interpreters():
    """Version -> interpreter, the first found of each that can compile an extension."""
    folders = [pathlib.Path(path) for path in os.environ["PATH"].split(os.pathsep) if path]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found = {}
    for folder in [each for each in folders if each.name != "shims"] + sorted(pyenv.glob("*/bin")):  # shims are scripts that lead there
        for path in sorted(folder.glob("python3*")):
            if not path.name.removeprefix("python3").removeprefix(".").isdigit() and path.name != "python3":
                continue
            done = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, cwd="/")
            words = done.stdout.split()
            if done.returncode == 0 and len(words) == 4 and words[2] == "1" and (int(words[0]), int(words[1])) >= LEAST:
                found.setdefault((int(words[0]), int(words[1])), words[3])
    return dict(sorted(found.items()))


def run(words, log, **options):
    """Runs a command; what it says goes to the log. Returns whether it succeeded."""
    with open(log, "ab") as file:
        return subprocess.run([str(word) for word in words], stdout=file, stderr=subprocess.STDOUT, **options).returncode == 0


class Maker:
    def __init__(self, words):
        self.built, self.out, self.tools = words.built.resolve(), words.out, pathlib.Path(words.tools).absolute()  # a link stays: it is an environment's
        self.work = ROOT / "build" / "wheel"

    def log(self, version):
        return self.work / f"{version[0]}.{version[1]}.log"

    def environment(self, python, folder, log):
        run([python, "-m", "venv", "--clear", folder], log)
        return folder / "bin" / "python"

    def make(self, version, python, stable):
        """The wheel, with the libraries that it needs inside; None: the log tells why."""
        folder, log = self.work / f"{version[0]}.{version[1]}", self.log(version)
        shutil.rmtree(folder, ignore_errors=True)
        maker = self.environment(python, folder / "make", log)
        settings = [f"cmake.define.PANTOUM_BUILT={self.built}", f"build-dir={folder / 'build'}"] + ([] if stable else ["wheel.py-api="])
        words = [maker, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder / "raw", *(f"--config-settings={each}" for each in settings), ROOT]
        if not run(words, log):
            return None
        path = os.pathsep.join([str(self.tools.parent), os.environ["PATH"]])
        raw = glob.glob(str(folder / "raw" / "*.whl"))
        repair = [self.tools, "-m", "auditwheel", "repair", "--wheel-dir", folder / "repaired", *raw]
        made = run(repair, log, env={**os.environ, "PATH": path}) and sorted((folder / "repaired").glob("*.whl"))
        return made[0] if made else None

    def runs(self, version, python, wheel):
        """Whether a fresh environment of this interpreter takes the wheel and trains with it."""
        folder, log = self.work / f"{version[0]}.{version[1]}", self.log(version)
        folder.mkdir(parents=True, exist_ok=True)
        trier = self.environment(python, folder / "try", log)
        return run([trier, "-m", "pip", "install", wheel], log) and run(
            [trier, "-I", "-c", TRY, ROOT / "examples" / "c" / "spirals.onnx"], log, cwd=folder)

    def keep(self, wheel, versions):
        self.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, self.out)
        print(f"{self.out / wheel.name}: made, installed and run by {', '.join(f'{a}.{b}' for a, b in versions)}", flush=True)

    def failed(self, version, what):
        print(f"Python {version[0]}.{version[1]}: {what}; the log: {self.log(version)}", flush=True)
        return False

    def own(self, version, python):
        """A wheel for one version."""
        print(f"Python {version[0]}.{version[1]} ({python}): makes its wheel", flush=True)
        wheel = self.make(version, python, stable=False)
        if wheel is None:
            return self.failed(version, "no wheel")
        if not self.runs(version, python, wheel):
            return self.failed(version, "its wheel does not run")
        self.keep(wheel, [version])
        return True

    def stable(self, several):
        """One wheel for several versions, made by the first of them."""
        first, *others = several
        print(f"Python {first[0]}.{first[1]} ({several[first]}): makes a wheel of the stable ABI", flush=True)
        wheel = self.make(first, several[first], stable=True)
        if wheel is None:
            return self.failed(first, "no wheel")
        if not run([self.tools, "-m", "abi3audit", "--strict", wheel], self.log(first)):
            return self.failed(first, "the wheel is not of the stable ABI")
        for version in several:
            self.log(version).touch()
            if not self.runs(version, several[version], wheel):
                return self.failed(version, "the wheel of the stable ABI does not run")
        self.keep(wheel, [first, *others])
        return True


def main():
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--built", type=pathlib.Path, required=True)
    line.add_argument("--tools", required=True)
    line.add_argument("--out", type=pathlib.Path, required=True)
    line.add_argument("--only", default="", help="versions, as 3.10,3.12; all that are found, where it is left out")
    words = line.parse_args()
    wanted = [tuple(map(int, each.split("."))) for each in words.only.split(",") if each]
    found = {version: path for version, path in interpreters().items() if not wanted or version in wanted}
    if not found:
        return "no CPython from 3.10 on with its headers was found"
    maker = Maker(words)
    shutil.rmtree(maker.work, ignore_errors=True)
    shutil.rmtree(words.out, ignore_errors=True)
    maker.work.mkdir(parents=True)
    later = {version: path for version, path in found.items() if version >= STABLE}
    serves_all = STABLE in later and len(later) > 1
    done = [maker.own(version, path) for version, path in found.items() if version not in later or not serves_all]
    if serves_all:
        done.append(maker.stable(later))
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
