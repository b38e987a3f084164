"""32-bit Arm under Linux: emitted projects give the bits of this machine; kernels and C runtime compile without a warning where size_t has 32 bits."""
import glob
import os
import re
import subprocess
import sys
import unittest

import armhf

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "firmware"))
from projects import Projects  # noqa: E402

ABSENT = armhf.missing()
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wno-missing-field-initializers")
LARGE_STORAGE = 3 << 30  # more than a signed offset of 32 bits can tell


@unittest.skipIf(ABSENT, f"not on this machine: {ABSENT}")
class Armhf(Projects):
    def run_there(self, plan, name, *words):
        folder, _ = self.emit(plan, name, ("posix",), *words)
        env = armhf.environment(armhf.write_compiler(self.folder))
        self.succeed("run-firmware", folder, "--log", self.path(f"{name}.jsonl"), "--format", "json", env=env)  # it compares losses, state and test with this machine's
        with open(os.path.join(folder, "firmware.arm"), "rb") as file:
            self.assertEqual(file.read(19)[4:19:14], bytes([1, 40]))  # ELF of 32 bits, Arm
        return folder, env

    def test_what_fits_in_ram_has_the_bits_of_this_machine(self):
        plan = self.plan("kept", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "sgd,momentum=0.9")
        self.run_there(plan, "kept")

    def test_what_is_paged_has_them_too_and_a_storage_may_be_larger_than_an_offset_of_32_bits(self):
        plan = self.plan("paged", "--batch", 4, "--ram", "64KiB", "--reserve", "8KiB", "--params-in", "aux")
        folder, env = self.run_there(plan, "paged", "--ram", "256KiB")
        large = self.path("large.img")
        os.remove(os.path.join(folder, "storage.img"))
        subprocess.run(["make", "-s", "-C", folder, "storage.img"], env=env, check=True, timeout=300)
        os.rename(os.path.join(folder, "storage.img"), large)
        os.truncate(large, LARGE_STORAGE)
        done = subprocess.run([os.path.join(folder, "firmware")], env={**os.environ, "PT_STORAGE": large}, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^step 12 loss ")

    def test_kernels_and_runtime_compile_without_a_warning(self):
        sources = [path for folder in ("src/kernels/portable", "src/runtime") for path in glob.glob(os.path.join(ROOT, folder, "*.c"))]
        self.assertGreater(len(sources), 100)
        includes = [word for folder in ("include", "src") for word in ("-I", os.path.join(ROOT, folder))]
        done = subprocess.run([armhf.COMPILER, *WARNINGS, *includes, "-fsyntax-only", *sources], capture_output=True, text=True, timeout=600)
        self.assertEqual((done.returncode, re.findall(r"(?m)^.*(?:warning|error):.*$", done.stderr)[:5]), (0, []))


if __name__ == "__main__":
    unittest.main()
