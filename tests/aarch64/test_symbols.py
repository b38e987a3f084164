"""The C runtime and the portable kernels need a few functions of C99 alone, which every C library has: glibc, musl, newlib, Android's bionic."""
import os
import pathlib
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PANTOUM = pathlib.Path(os.environ.get("PANTOUM", ROOT / "build" / "release" / "bin" / "pantoum")).absolute()
C99 = {"memcmp", "memcpy", "memmove", "memset", "strcmp", "sqrt", "sqrtf", "floor", "floorf", "ceil", "ceilf"}
COMPILER = {"_GLOBAL_OFFSET_TABLE_", "__cpu_model"}  # the linker's, and libgcc's on x86-64: which vectors the processor has
ROOMS = ("libroom_kernels_f32.a", "libroom_runtime.a")  # what libpantoum_rt is of


def symbols(nm, libraries):
    """What no library of these defines."""
    told = subprocess.run([nm, "--format=posix", *map(str, libraries)], capture_output=True, text=True, check=True, timeout=120).stdout
    kinds = [line.split()[:2] for line in told.splitlines() if len(line.split()) >= 2]
    defined = {name for name, kind in kinds if kind in "TDBRVWC"}
    return {name for name, kind in kinds if kind == "U"} - defined


class Symbols(unittest.TestCase):
    def check(self, nm, build):
        libraries = [build / "lib" / name for name in ROOMS]
        found = symbols(nm, libraries)
        self.assertIn("memcpy", found)
        self.assertEqual(found - C99 - COMPILER, set())

    def test_of_this_machine(self):
        self.check("nm", PANTOUM.parents[1])

    @unittest.skipUnless(all((ROOT / "build" / "aarch64" / "lib" / name).exists() for name in ROOMS) and shutil.which("aarch64-linux-gnu-nm"), "build/aarch64 is not built: `make aarch64-quick`")
    def test_of_64_bit_arm(self):
        self.check("aarch64-linux-gnu-nm", ROOT / "build" / "aarch64")


if __name__ == "__main__":
    unittest.main()
