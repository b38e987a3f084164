#!/usr/bin/env python3
"""The build for 64-bit Arm under QEMU's user emulation, beside the release build of this machine: `make aarch64-test`.

usage: run.py [--quick] [--only TEXT] [--here FOLDER] [--there FOLDER] [--out FOLDER]

--quick runs the unit tests of the C runtime and the kernels alone. The rows go into OUT/aarch64.json, as bench/README.md has them, with --only beside
those of an earlier run; one that misses its target makes the exit status 1. What QEMU cannot do is skipped by the tests themselves, or is in LEFT_OUT with its reason; the notes of the rows count both.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE), str(ROOT / "bench")]

import armhf  # noqa: E402
from jobs import EXAMPLES, FEATURES, NETWORKS, PLANS, write_data  # noqa: E402
from left_out import LEFT_OUT, QUICK_LEFT_OUT  # noqa: E402
from table import Table  # noqa: E402

NEAR = 1e-6  # of objective and bound, relative: linear programs may end at another point of the same value
LARGE_PAGES = 16384  # of a kernel for Raspberry Pi 5
FEWER_CASES = {"PANTOUM_AGREEMENT_CASES": "500"}  # of random plans, of which a native run asks ten thousand


class Failed(Exception):
    pass


class Side:
    """One build, and how its programs are run."""

    def __init__(self, build, emulator=()):
        self.build, self.emulator = pathlib.Path(build).absolute(), list(emulator)

    def program(self, name):
        return [*self.emulator, str(self.build / "bin" / name)]

    def run(self, *words, name="pantoum", timeout=1200, **options):
        words = [*self.program(name), *map(str, words)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, **options)
        if done.returncode != 0:
            raise Failed(f"{' '.join(words)}\n{done.stdout[-1000:]}\n{done.stderr[-1000:]}")
        return done.stdout

    def wrapper(self, folder):
        """A program that scripts can call by one name."""
        path = folder / "pantoum-there"
        path.write_text(f'#!/bin/sh\nexec {" ".join(self.program("pantoum"))} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def tests(self, room, chosen="*"):
        """passed, skipped, failed (names), seconds. A program that dies counts as a failure."""
        with tempfile.TemporaryDirectory() as folder:
            told, begin = pathlib.Path(folder) / "told.json", time.monotonic()
            words = [*self.program(f"{room}_test"), f"--gtest_filter={chosen}", f"--gtest_output=json:{told}", "--gtest_brief=1"]
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=3600, cwd=folder, env={**os.environ, **FEWER_CASES})
            seconds = time.monotonic() - begin
            if not told.exists():
                return 0, 0, [f"{room}_test ended with status {done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}"], seconds
            tests = [(f"{suite['name']}.{test['name']}", test) for suite in json.loads(told.read_text())["testsuites"] for test in suite["testsuite"]]
        failed = [name for name, test in tests if test.get("failures")]
        skipped = sum(test.get("result") == "SKIPPED" for _, test in tests)
        ran = sum(test.get("status") == "RUN" for _, test in tests)
        return ran - skipped - len(failed), skipped, failed, seconds


def without(tests):
    """The filter that leaves them out."""
    return "*" + ("-" + ":".join(tests) if tests else "")


def unit_tests(table, there, left_out):
    for room, tests in left_out.items():
        name = f"tests {room}"
        if not table.wants(name):
            continue
        passed, skipped, failed, seconds = there.tests(room, without(tests))
        note = f"{skipped} skipped by themselves, {len(tests)} left out, in {seconds:.0f} s"
        if failed:
            note = f"{len(failed)} fail: {' '.join(failed[:8])}; {note}"
        table.add(name, passed, "passed", "none fails", passed > 0 and not failed, note)


def examples(table, there, folder):
    """run.sh of each, which holds the run to what its README says."""
    program = there.wrapper(folder)
    for example in EXAMPLES:
        name = f"tests example {example}"
        if not table.wants(name):
            continue
        begin = time.monotonic()
        done = subprocess.run([ROOT / "examples" / example / "run.sh", program, folder / example], capture_output=True, text=True, timeout=1800, cwd=folder)
        said = (done.stdout + done.stderr).strip().splitlines() or [""]
        figure = next((line for line in said if " asked for: " in line), said[-1])
        table.add(name, done.returncode, "exit status", "0", done.returncode == 0, f"{figure}; {time.monotonic() - begin:.0f} s")


def same(a, b):
    return pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes()


def far(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-30)


def figures(path):
    """Objective and bound of a plan; the bound of a planner that proves nothing is 0."""
    plan = json.loads(path.read_text())
    key = "time_s" if plan["objective"] == "time" else "energy_j"
    return {"objective": plan["predicted"][key], "bound": plan["bound"].get(key, 0.0)}


def plan(side, model, words, path):
    side.run("plan", model, *words, "--kernels", "portable", "--measure", "off", "--threads", 2, "-o", path, "--binary-out", path.with_suffix(".bin"))
    return path


def plans(table, here, there, folder):
    """Proved plans are the same to a millionth, plans without a linear program to the byte; a plan with a gap may be another: each build verifies the other's."""
    for name, end, (model, *words) in PLANS:
        if not table.wants(f"plans {name}"):
            continue
        try:
            own, other = (plan(side, ROOT / "examples" / model, words, folder / f"{name}.{at}.json") for at, side in enumerate((here, there)))
            there.run("verify", own)
            here.run("verify", other)
        except (Failed, subprocess.TimeoutExpired) as failed:
            table.add(f"plans {name}", 0.0, "relative", "", False, str(failed)[-600:])
            continue
        one, two = figures(own), figures(other)
        worst, equal = max(far(one[key], two[key]) for key in one), same(own.with_suffix(".bin"), other.with_suffix(".bin"))
        target, ok = {"proved": (f"<= {NEAR:g}", worst <= NEAR), "simple": ("the same bytes", equal), "gap": ("each verifies", True)}[end]
        table.add(f"plans {name}", worst, "relative", target, ok,
                  f"objective {one['objective']:.9g} and {two['objective']:.9g}, bound {one['bound']:.9g} and {two['bound']:.9g}; {'the same' if equal else 'another'} plan")


def train(side, network, folder, planned, out, *more):
    side.run("train", network.model, "--plan", planned, "--data", folder / "data" / network.data, "--page-file", folder, "--seed", 1, "-o", out, *more)
    return out


def bits(table, here, there, folder):
    """By the plan of this machine both train."""
    for network in NETWORKS:
        name = f"bits {network.name}"
        if not table.wants(name):
            continue
        try:
            planned = plan(here, network.model, (*network.step, "--effort", 5), folder / f"{network.name}.plan.json")
            own, other = (train(side, network, folder, planned, folder / f"{network.name}.{at}.safetensors") for at, side in enumerate((here, there)))
        except (Failed, subprocess.TimeoutExpired) as failed:
            table.add(name, 0.0, "equal", "1", False, str(failed)[-600:])
            continue
        table.add(name, float(same(own, other)), "equal", "1", same(own, other), f"{own.stat().st_size} bytes of trained weights: {network.about}")


def thirty_two_bits(table, here, folder):
    """A CNN's project of the target posix, built for armhf; `run-firmware` compares what it prints with this machine's run."""
    name, network = "bits armhf", NETWORKS[1]
    if not table.wants(name):
        return
    if armhf.missing():
        table.skip(name, f"not on this machine: {armhf.missing()}")
        return
    try:
        planned = plan(here, network.model, (*network.step, "--params-in", "aux", "--effort", 2), folder / "armhf.plan.json")
        here.run("emit", planned, "--target", "posix", "--data", folder / "data" / network.data, "--steps", 4, "--test-samples", 16, "--ram", "8MiB", "-o", folder / "armhf")
        told = json.loads(here.run("run-firmware", folder / "armhf", "--format", "json", env=armhf.environment(armhf.write_compiler(folder))).splitlines()[-1])
    except (Failed, subprocess.TimeoutExpired) as failed:
        table.add(name, 0.0, "equal", "1", False, str(failed)[-600:])
        return
    table.add(name, float(told["equal"]), "equal", "1", told["equal"], f"32-bit Arm, parameters in a file: {told['losses_compared']} losses, state {told['state']}, test {told['test']}")


class Exchange:
    """What one build writes and the other reads."""

    def __init__(self, here, there, folder):
        self.here, self.there, self.folder = here, there, folder
        self.network = NETWORKS[0]

    def path(self, name):
        return self.folder / name

    def planned(self):
        path = self.path("exchange.plan.json")
        return path if path.exists() else self.plan(self.here, path)

    def plan(self, side, path):
        return plan(side, self.network.model, (*self.network.step, "--effort", 2), path)

    def train(self, side, out, *more, planned=None):
        return train(side, self.network, self.folder, planned or self.planned(), self.path(out), *more)

    def plans(self):
        """Each build verifies the other's plan, and trains by it."""
        theirs = self.plan(self.there, self.path("exchange.there.plan.json"))
        self.there.run("verify", self.planned())
        self.here.run("verify", theirs)
        return same(self.train(self.here, "by-theirs.safetensors", planned=theirs), self.train(self.there, "by-own.safetensors", planned=theirs))

    def checkpoints(self):
        """Begun on one and resumed on the other: the weights of the run that one of them made alone."""
        every = ("--checkpoint-every", 3)  # in the middle of an epoch
        whole = self.train(self.here, "whole.safetensors", *every, "--epochs", 2)
        equal = True
        for first, then, name in ((self.here, self.there, "to-there"), (self.there, self.here, "to-here")):
            out = self.train(first, f"{name}.safetensors", *every, "--epochs", 1)
            self.train(then, out.name, *every, "--epochs", 2, "--resume", f"{out}.checkpoint")
            equal = equal and same(out, whole)
        return equal

    def encryption(self):
        """Paged with each build's own cipher, and without one: the same weights."""
        made = [self.train(side, f"cipher-{at}.safetensors", *more)
                for at, (side, more) in enumerate([(self.here, ()), (self.there, ()), (self.there, ("--page-encryption", "off"))])]
        return all(same(made[0], other) for other in made[1:])

    def ciphers(self):
        """The same key, nonce and text give the same bytes, those of the cipher's paper."""
        for side in (self.here, self.there):
            passed, _, failed, _ = side.tests("host", "CipherEngine.*")
            if failed or not passed:
                return False
        return True

    def weights(self):
        """Predictions by the other's weights."""
        images = self.folder / "data" / self.network.data
        for at, side in enumerate((self.here, self.there)):
            side.run("predict", self.network.model, "--data", images, "--weights", self.train(self.here, "given.safetensors"), "--ram", "16MiB", "--kernels", "portable",
                     "-o", self.path(f"predicted-{at}.npy"))
        return same(self.path("predicted-0.npy"), self.path("predicted-1.npy"))

    def feature_caches(self):
        """Features of a frozen part, computed once and kept: the same weights."""
        made = []
        for at, side in enumerate((self.here, self.there)):
            out = self.path(f"features-{at}.safetensors")
            side.run("train", FEATURES.model, "--data", self.folder / "data" / FEATURES.data, *FEATURES.step, "--kernels", "portable", "--measure", "off", "--threads", 1,
                     "--effort", 2, "--seed", 1, "--epochs", 3, "-o", out)
            made.append(out)
        return same(*made)


def exchange(table, here, there, folder):
    between = Exchange(here, there, folder)
    for name in ("plans", "checkpoints", "weights", "encryption", "ciphers", "feature_caches"):
        row = f"exchange {name.replace('_', ' ')}"
        if not table.wants(row):
            continue
        try:
            equal, note = getattr(between, name)(), getattr(between, name).__doc__.strip().splitlines()[0]
        except (Failed, subprocess.TimeoutExpired) as failed:
            equal, note = False, str(failed)[-600:]
        table.add(row, float(equal), "equal", "1", equal, note)
    if table.wants("exchange page file"):
        table.skip("exchange page file", "no page file outlives its run: it has no name, and its key is in RAM alone")


def on_large_pages(there, folder):
    """The build for Arm on pages of LARGE_PAGES, with direct I/O (old_statx.c)."""
    library = folder / "libold_statx.so"
    subprocess.run(["aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "old_statx.c"], check=True)
    emulator, *words = there.emulator
    return Side(there.build, [emulator, "-p", str(LARGE_PAGES), "-E", f"LD_PRELOAD={library}", *words])


def pages(table, here, there, folder):
    """The tests of pagers and arenas, and a training that pages."""
    paged = on_large_pages(there, folder)
    if table.wants("pages tests"):
        passed, skipped, failed, _ = paged.tests("host", f"Arena.*:FilePagerOpen.*:Pagers/*{without(LEFT_OUT['host'])[1:]}")
        table.add("pages tests", passed, "passed", "none fails", passed > 0 and not failed, f"pages of {LARGE_PAGES}; {skipped} skipped by themselves {' '.join(failed[:6])}")
    if table.wants("pages bits"):
        between, log = Exchange(here, there, folder), folder / "pages.jsonl"
        try:
            equal = same(between.train(here, "pages-here.safetensors"), between.train(paged, "pages-there.safetensors", "--log", log))
            end = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
            equal = equal and end["direct_io"]
            note = f"trained weights beside those of this machine; {'' if end['direct_io'] else 'NO '}direct I/O, {end['page_encryption']}"
        except (Failed, subprocess.TimeoutExpired) as failed:
            equal, note = False, str(failed)[-600:]
        table.add("pages bits", float(equal), "equal", "1", equal, note)


def keep(table, path, only):
    """Writes the rows; with --only those of an earlier run stay that were not asked again."""
    rows = {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]} if only and path.exists() else {}
    rows.update({row["name"]: row for row in table.rows})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": list(rows.values())}, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--here", default="build/release")
    parser.add_argument("--there", default="build/aarch64")
    parser.add_argument("--out", default="out/bench")
    options = parser.parse_args()
    emulator = [shutil.which("qemu-aarch64"), "-L", f"{os.path.abspath(options.there)}-sysroot"]
    here, there = Side(options.here), Side(options.there, emulator)
    table = Table(options.only)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        if options.quick:
            unit_tests(table, there, QUICK_LEFT_OUT)
        else:
            write_data(folder)
            for part in (plans, bits, exchange, pages):
                part(table, here, there, folder)
            thirty_two_bits(table, here, folder)
            examples(table, there, folder)
            unit_tests(table, there, LEFT_OUT)
            keep(table, pathlib.Path(options.out) / "aarch64.json", options.only)
    missed = [row["name"] for row in table.rows if not row["ok"] and not row["skipped"]]
    print(f"{len(table.rows) - len(missed)} of {len(table.rows)} rows as they should" + (f"; not: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
